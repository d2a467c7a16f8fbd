//! Formats numbers, durations, bars, tables and wrapped lines as plain text.

#[cfg(test)]
mod tests;

use mainstay_model::{format_milli, thousands};

/// GPU-seconds as thousandths of a GPU-hour.
fn gpu_hours_milli(gpu_seconds: u64) -> i64 {
    i64::try_from((u128::from(gpu_seconds) * 1_000 + 1_800) / 3_600).unwrap_or(i64::MAX)
}

/// The text with its first letter as a capital.
#[must_use]
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// GPU-hours, with one digit after the point below a hundred.
#[must_use]
pub fn gpu_hours(gpu_seconds: u64) -> String {
    gpu_hours_beside(gpu_seconds, gpu_seconds)
}

/// GPU-hours with as many digits after the point as the largest figure of their column; little is not nothing.
#[must_use]
pub fn gpu_hours_beside(gpu_seconds: u64, largest: u64) -> String {
    let decimals = u32::from(gpu_hours_milli(largest) < 99_950);
    let smallest = if decimals == 0 { (500, "<1") } else { (50, "<0.1") };
    match gpu_hours_milli(gpu_seconds) {
        _ if gpu_seconds == 0 => "0".to_owned(),
        little if little < smallest.0 => smallest.1.to_owned(),
        milli => format_milli(milli, decimals),
    }
}

/// A length of time with its two largest units: `42 s`, `21 min 45 s`, `4 h 12 min`, `7 d`.
#[must_use]
pub fn duration(seconds: u64) -> String {
    let (large, small) = match seconds {
        0..60 => return format!("{seconds} s"),
        60..3_600 => ((60, "min"), (1, "s")),
        3_600..86_400 => ((3_600, "h"), (60, "min")),
        86_400.. => ((86_400, "d"), (3_600, "h")),
    };
    match seconds % large.0 / small.0 {
        0 => format!("{} {}", thousands(seconds / large.0), large.1),
        rest => format!("{} {} {rest} {}", thousands(seconds / large.0), large.1, small.1),
    }
}

/// A percentage without its sign, with a number of decimals; a dash where the whole is 0.
#[must_use]
pub fn percent(part: u64, whole: u64, decimals: u32) -> String {
    let milli = (u128::from(part) * 100_000 + u128::from(whole) / 2).checked_div(whole.into());
    milli
        .and_then(|milli| i64::try_from(milli).ok())
        .map_or_else(|| "–".to_owned(), |milli| format_milli(milli, decimals))
}

/// `part` of `whole` in eighths of `width` places, rounded; something is never nothing.
fn eighths(part: u64, whole: u64, width: usize) -> usize {
    let places = u128::try_from(width * 8).unwrap_or(0);
    let all = (u128::from(part) * places + u128::from(whole) / 2).checked_div(whole.into()).unwrap_or(0);
    usize::try_from(all.min(places)).unwrap_or(0).max(usize::from(part > 0))
}

/// A bar as long as `part` of `whole`, at most `width` columns.
#[must_use]
pub fn bar(part: u64, whole: u64, width: usize) -> String {
    const ENDS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = eighths(part, whole, width);
    let end = ENDS.get(eighths % 8).copied().unwrap_or_default();
    format!("{}{end}", "█".repeat(eighths / 8))
}

/// One column a value, as high as its share of the largest; nothing is a dot on the ground.
#[must_use]
pub fn sparkline(values: &[u64]) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().max().unwrap_or(0);
    let height = |value: u64| match eighths(value, most, 1) {
        0 => '·',
        eighths => HEIGHTS.get(eighths - 1).copied().unwrap_or('█'),
    };
    values.iter().map(|value| height(*value)).collect()
}

/// Alignment of the cells in a column.
#[derive(Clone, Copy, Debug)]
pub enum Align {
    /// Text starts at the left edge.
    Left,
    /// Numbers end at the right edge.
    Right,
}

/// Rows under headers, without borders; two blanks between columns and none at the end of a line.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with these column headers.
    #[must_use]
    pub fn new(headers: &[(&str, Align)]) -> Self {
        let first = headers.iter().map(|(header, _)| (*header).to_owned()).collect();
        Self { columns: headers.iter().map(|(_, align)| *align).collect(), rows: vec![first] }
    }

    /// Adds a row, with one cell per column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table as lines of text.
    #[must_use]
    pub fn text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::from(" ");
            for ((cell, align), width) in row.iter().zip(&self.columns).zip(&widths) {
                match align {
                    Align::Left => line.push_str(&format!(" {cell:<width$} ")),
                    Align::Right => line.push_str(&format!(" {cell:>width$} ")),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// A text cut to a number of columns, with an ellipsis.
#[must_use]
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// The first names of a list, and how many more there are.
#[must_use]
pub fn few(names: &[String], most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let told = names.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    if more == 0 { told } else { format!("{told} and {} more", thousands(u64::try_from(more).unwrap_or(u64::MAX))) }
}

/// Text in lines of at most `width` columns that all begin in the same column, which the first is in already.
#[must_use]
pub fn hung(text: &str, width: usize, column: usize) -> String {
    wrapped(text, width.saturating_sub(column), "").trim_end().replace('\n', &format!("\n{}", " ".repeat(column)))
        + "\n"
}

/// Text in lines of at most `width` columns, the second and every further one indented. A number keeps its `%`.
#[must_use]
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(number) if word.starts_with('%') => number.push_str(&format!(" {word}")),
            Some(_) | None => words.push(word.to_owned()),
        }
    }
    let mut lines = vec![String::new()];
    for word in words {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(&word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            Some(_) | None => lines.push(format!("{indent}{word}")),
        }
    }
    lines.join("\n") + "\n"
}
