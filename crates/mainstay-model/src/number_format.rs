//! Formats numbers for texts that users read: thousands separators, decimals and nouns in the right number.

#[cfg(test)]
mod tests;

/// Formats thousandths with commas between thousands, rounded to `decimals` digits after the point, at most three.
#[must_use]
pub fn format_milli(milli: i64, decimals: u32) -> String {
    let decimals = decimals.min(3);
    let step = 10_u64.pow(3 - decimals);
    let units = (milli.unsigned_abs() + step / 2) / step;
    let parts = 10_u64.pow(decimals);
    let whole = (units / parts).to_string();
    let mut text = String::new();
    if milli < 0 && units > 0 {
        text.push('-');
    }
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if decimals > 0 {
        let width = usize::try_from(decimals).unwrap_or(0);
        text.push_str(&format!(".{:0width$}", units % parts));
    }
    text
}

/// Formats a number with commas between thousands. Numbers above `i64::MAX / 1_000` have no commas.
#[must_use]
pub fn thousands(number: u64) -> String {
    i64::try_from(number)
        .ok()
        .and_then(|number| number.checked_mul(1_000))
        .map_or_else(|| number.to_string(), |milli| format_milli(milli, 0))
}

/// Formats a number with its noun in singular or plural.
#[must_use]
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(count), if count == 1 { one } else { many })
}
