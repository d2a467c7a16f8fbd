//! What programs of nccl-tests print: a line for each GPU, a head that names the columns, a row for each size. Columns are
//! found by their names, because versions differ in them; those that come twice are out of place and in place.

use super::ParsedOutput;

/// Reads the table. The bandwidth is the lower one of the largest size; in MB/s, because figures are whole numbers.
pub(super) fn parse(text: &str) -> ParsedOutput {
    let mut parsed = ParsedOutput::default();
    let (mut gpus, mut columns): (i64, Option<Columns>) = (0, None);
    let mut largest: Option<(u64, i64)> = None;
    let mut wrong: Option<i64> = None;
    let mut is_checked = true;
    for line in text.lines() {
        if let Some(comment) = line.trim_start().strip_prefix('#') {
            let words: Vec<&str> = comment.split_whitespace().collect();
            match words.as_slice() {
                ["Rank", _, "Group", ..] | ["Rank", _, "Pid", ..] => gpus = gpus.saturating_add(1),
                ["size", "count", ..] => columns = Some(Columns::of(&words)),
                _ => {}
            }
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(columns), Some(size)) = (&columns, words.first().and_then(|word| word.parse::<u64>().ok())) else {
            continue;
        };
        let told = |column: &usize| words.get(*column).copied();
        let bandwidth = columns.busbw.iter().map(|column| told(column).and_then(thousandths)).min().flatten();
        if let Some(bandwidth) = bandwidth.filter(|_| largest.is_none_or(|(other, _)| size >= other)) {
            largest = Some((size, bandwidth));
        }
        for column in &columns.wrong {
            match told(column).and_then(|word| word.parse::<i64>().ok()) {
                Some(count) => wrong = Some(wrong.unwrap_or(0).saturating_add(count)),
                // `N/A`: values were not checked.
                None => is_checked = false,
            }
        }
    }
    match largest {
        Some((_, bandwidth)) => drop(parsed.figures.insert("bus-bandwidth-mbps".to_owned(), bandwidth)),
        None => parsed.lacks = Some("no row of a size with its bandwidth".to_owned()),
    }
    if let Some(wrong) = wrong.filter(|wrong| is_checked || *wrong > 0) {
        parsed.figures.insert("wrong".to_owned(), wrong);
    }
    parsed.figures.insert("gpus".to_owned(), gpus);
    parsed
}

/// Which columns hold what.
struct Columns {
    busbw: Vec<usize>,
    wrong: Vec<usize>,
}

impl Columns {
    fn of(words: &[&str]) -> Self {
        let at = |name: &str| words.iter().zip(0..).filter(|(word, _)| **word == name).map(|(_, at)| at).collect();
        Self { busbw: at("busbw"), wrong: at("#wrong") }
    }
}

/// `480.36` as 480360.
fn thousandths(word: &str) -> Option<i64> {
    let (whole, part) = word.split_once('.').unwrap_or((word, ""));
    if part.len() > 3 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part: i64 = format!("{part:0<3}").parse().ok()?;
    whole.parse::<u32>().ok().map(|whole| i64::from(whole) * 1000 + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = include_str!("../../../tests/said/nccl-h100.txt");

    fn figures(text: &str) -> Vec<(String, i64)> {
        parse(text).figures.into_iter().collect()
    }

    #[test]
    fn the_lower_bandwidth_of_the_largest_size_counts() {
        let told = |bandwidth, gpus, wrong| {
            [("bus-bandwidth-mbps", bandwidth), ("gpus", gpus), ("wrong", wrong)]
                .map(|(name, value)| (name.to_owned(), value))
        };
        assert_eq!(figures(GOOD), told(481_670, 8, 0));
        assert_eq!(figures(&GOOD.replace("  482.11      0", "   48.21      7")), told(48_210, 8, 7));
    }

    #[test]
    fn what_was_not_checked_or_did_not_come_to_a_row_is_not_told() {
        let unchecked = parse(&GOOD.replace("482.11      0", "482.11    N/A"));
        assert!(!unchecked.figures.contains_key("wrong"));
        let cut = GOOD.split("17179869184").next().unwrap_or_default();
        let parsed = parse(&format!("{cut}\nn1: Test NCCL failure common.cu:1279 'unhandled cuda error'"));
        assert_eq!(parsed.lacks.as_deref(), Some("no row of a size with its bandwidth"));
        assert_eq!(parse("").figures["gpus"], 0);
    }

    #[test]
    fn numbers_with_a_point_become_whole() {
        assert_eq!(["480.36", "0.01", "7", "1.234"].map(thousandths), [480_360, 10, 7000, 1234].map(Some));
        assert_eq!(["", "x", "-1", "1.2345", "1.x", "99999999999"].map(thousandths), [None; 6]);
    }
}
