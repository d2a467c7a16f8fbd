//! Splits Markdown into blocks: headings, paragraphs, list items and table cells. Code blocks, comments and link targets
//! are no prose and are dropped.

use super::text::{Kind, Text};

/// The blocks of a document, with their lines.
pub(super) fn texts(source: &str) -> Vec<Text> {
    let mut blocks = Blocks::default();
    let mut fence: Option<&str> = None;
    let mut in_comment = false;
    for (line, number) in source.lines().zip(1..) {
        let trimmed = line.trim_start().trim_start_matches("> ");
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => {
                blocks.end();
                fence = Some(mark);
                continue;
            }
            (Some(open), Some(mark)) if open == mark => {
                fence = None;
                continue;
            }
            (Some(_), _) => continue,
            (None, None) => {}
        }
        if in_comment || trimmed.starts_with("<!--") {
            in_comment = !trimmed.contains("-->");
            continue;
        }
        blocks.line(trimmed, number);
    }
    blocks.end();
    blocks.done
}

#[derive(Default)]
struct Blocks {
    done: Vec<Text>,
    open: Option<Text>,
}

impl Blocks {
    fn line(&mut self, line: &str, number: usize) {
        if line.is_empty() || line == ">" || is_rule(line) || is_definition(line) {
            self.end();
        } else if line.starts_with('#') {
            self.end();
            let text = line.trim_start_matches('#').trim().to_owned();
            self.done.push(Text { line: number, kind: Kind::Heading, text });
        } else if line.starts_with('|') {
            self.end();
            self.row(line, number);
        } else if let Some(item) = list_item(line) {
            self.end();
            self.begin(item, number);
        } else if let Some(open) = &mut self.open {
            open.text.push('\n');
            open.text.push_str(line);
        } else {
            self.begin(line, number);
        }
    }

    fn begin(&mut self, text: &str, line: usize) {
        self.open = Some(Text { line, kind: Kind::Document, text: text.to_owned() });
    }

    fn end(&mut self) {
        self.done.extend(self.open.take());
    }

    fn row(&mut self, line: &str, number: usize) {
        if line.chars().all(|c| "|-: ".contains(c)) {
            return;
        }
        let masked = super::sentence::mask(line).replace("\\|", "xx");
        let mut start = 0;
        for (at, _) in masked.match_indices('|').chain([(line.len(), "")]) {
            let cell = line.get(start..at).unwrap_or_default().trim();
            if cell.chars().any(char::is_alphabetic) {
                self.done.push(Text { line: number, kind: Kind::Document, text: cell.to_owned() });
            }
            start = at + 1;
        }
    }
}

fn is_rule(line: &str) -> bool {
    line.len() >= 3 && (line.chars().all(|c| c == '-') || line.chars().all(|c| c == '='))
}

/// `[name]: target`.
fn is_definition(line: &str) -> bool {
    line.starts_with('[') && line.find("]: ").is_some_and(|at| !line.get(..at).unwrap_or_default().contains("]("))
}

fn list_item(line: &str) -> Option<&str> {
    if let Some(item) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
        return Some(item);
    }
    let (number, item) = line.split_once(". ")?;
    (number.len() <= 2 && number.chars().all(|c| c.is_ascii_digit())).then_some(item)
}
