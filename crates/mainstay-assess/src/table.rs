//! Tables of comma-separated values (RFC 4180), read row by row by the names of their columns. A quote that is never closed
//! ends with the bound of a row, not with the file.

use std::collections::BTreeMap;

use mainstay_text::Problem;

/// A table is held whole: tickets of years are tens of megabytes.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Rows that are read.
const ROWS_MAX: usize = 1_000_000;
/// Bytes of a cell: a ticket's text, not its attachments.
const CELL_BYTES_MAX: usize = 64 * 1024;
const COLUMNS_MAX: usize = 256;

/// A table of comma-separated values, read by the names of its columns.
#[derive(Debug)]
pub struct CsvTable {
    name: String,
    columns: BTreeMap<String, usize>,
    rows: Vec<Vec<String>>,
}

/// One row.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    columns: &'a BTreeMap<String, usize>,
    cells: &'a [String],
}

impl CsvTable {
    /// Reads a file, up to a bound.
    ///
    /// # Errors
    /// If the file cannot be read or is too large.
    pub fn read(path: &std::path::Path) -> Result<Self, Problem> {
        let refused = |detail: String| Problem {
            what: format!("cannot read {} as CSV", path.display()),
            detail,
            hint: "use comma-separated values with the column names in the first line.".to_owned(),
        };
        let bytes = path.metadata().map_err(|error| refused(format!("{error}.")))?.len();
        if bytes > FILE_BYTES_MAX {
            return Err(refused(format!("the file has {bytes} bytes; the limit is {FILE_BYTES_MAX}.")));
        }
        let text = std::fs::read(path).map_err(|error| refused(format!("{error}.")))?;
        Ok(Self::parse(&path.display().to_string(), &String::from_utf8_lossy(&text)))
    }

    /// Parses text; the first line has the column names. Problems refer to the table by `name`.
    #[must_use]
    pub fn parse(name: &str, text: &str) -> Self {
        let mut rows = rows(text.trim_start_matches('\u{feff}'));
        let header = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
        let plain = |name: &String| name.trim().to_lowercase().replace([' ', '-'], "_");
        let columns = header.iter().map(plain).zip(0..).collect();
        Self { name: name.to_owned(), columns, rows }
    }

    /// File name, for messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { columns: &self.columns, cells })
    }

    pub(super) fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.columns.contains_key(*name))
    }

    pub(super) fn header(&self) -> String {
        self.columns.keys().cloned().collect::<Vec<_>>().join(", ")
    }
}

impl<'a> Row<'a> {
    /// The first of these columns that has something in it.
    pub(super) fn get(&self, names: &[&str]) -> Option<&'a str> {
        let cell = |name: &&str| self.cells.get(*self.columns.get(*name)?).map(|cell| cell.trim());
        names.iter().filter_map(cell).find(|cell| !cell.is_empty())
    }
}

fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' if is_quoted => is_quoted = false,
            '"' if cell.is_empty() => is_quoted = true,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                let row = std::mem::take(&mut row);
                if row.iter().any(|cell| !cell.is_empty()) {
                    rows.push(row);
                }
                if rows.len() > ROWS_MAX {
                    return rows;
                }
            }
            '\r' => {}
            other => cell.push(other),
        }
        if cell.len() > CELL_BYTES_MAX {
            cell.clear();
            is_quoted = false;
        }
        row.truncate(COLUMNS_MAX);
    }
    row.push(cell);
    if row.iter().any(|cell| !cell.is_empty()) {
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_may_hold_commas_quotes_and_lines() {
        let table = CsvTable::parse("t.csv", "\u{feff}Id,Opened At,Cause\r\n7,x,\"a, \"\"b\"\"\nc\"\n\n8,,\n");
        let rows: Vec<_> = table.rows().map(|row| (row.get(&["key", "id"]), row.get(&["cause"]))).collect();
        assert_eq!(rows, [(Some("7"), Some("a, \"b\"\nc")), (Some("8"), None)]);
        assert!(table.has(&["opened_at"]) && !table.has(&["opened"]));
    }

    #[test]
    fn a_quote_that_is_never_closed_does_not_swallow_the_file() {
        let text = format!("id,cause\n1,\"{}\n2,b\n", "x".repeat(CELL_BYTES_MAX + 10));
        assert_eq!(CsvTable::parse("t.csv", &text).rows().filter_map(|row| row.get(&["id"])).last(), Some("2"));
    }
}
