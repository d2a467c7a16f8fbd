//! `summary:` and `description:` of YAML files. Read from the lines, because a parser drops their numbers.

use super::text::{Kind, Text};

/// Every summary and description, with its continuation lines.
pub(super) fn texts(source: &str, kind: Kind) -> Vec<Text> {
    let mut found: Vec<Text> = Vec::new();
    // The indent of the key whose text is being read.
    let mut open: Option<usize> = None;
    for (line, number) in source.lines().zip(1..) {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        let value = ["summary:", "description:"].iter().find_map(|key| trimmed.strip_prefix(key));
        if let (Some(value), None) = (value, open.filter(|key| indent > *key)) {
            let text = value.trim().trim_start_matches(['|', '>', '-']).trim_matches(['"', '\'']).to_owned();
            found.push(Text { line: number, kind, text });
            open = Some(indent);
        } else if let (Some(key), Some(last)) = (open, found.last_mut()) {
            if indent > key || trimmed.is_empty() {
                last.text.push('\n');
                last.text.push_str(trimmed);
            } else {
                open = None;
            }
        }
    }
    found.retain(|text| text.text.chars().any(char::is_alphabetic));
    found
}
