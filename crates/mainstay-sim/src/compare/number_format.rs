//! Formats numbers with thousands separators and a fixed number of decimals.

/// Thousandths as a number with commas between thousands and so many digits after the point (at most three), rounded.
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
