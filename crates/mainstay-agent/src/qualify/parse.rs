//! What tests say, as figures. A parser that does not find what it looks for says so; it never takes silence for health.

mod dcgm;
mod nccl;

use std::collections::BTreeMap;

use super::suite::Parser;

/// More figures than any test has.
const FIGURES_MAX: usize = 64;

/// Measurements and failures that a parser read from the output of a test.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedOutput {
    /// What was measured.
    pub figures: BTreeMap<String, i64>,
    /// The first failure that the test itself tells.
    pub failure: Option<String>,
    /// Something without which there is no pass.
    pub lacks: Option<String>,
}

/// Reads what a test said.
#[must_use]
pub fn parse(parser: &Parser, text: &str) -> ParsedOutput {
    match parser {
        Parser::ExitCode => ParsedOutput::default(),
        Parser::Figures => figures(text),
        Parser::DcgmDiag { must_pass } => dcgm::parse(text, must_pass),
        Parser::NcclTests => nccl::parse(text),
    }
}

/// Lines `figure NAME NUMBER`; others are for people. A figure that is told twice counts as its last.
fn figures(text: &str) -> ParsedOutput {
    let mut parsed = ParsedOutput::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some("figure"), Some(name), Some(value)) = (words.next(), words.next(), words.next()) else { continue };
        let Ok(value) = value.parse() else {
            parsed.lacks = parsed.lacks.or_else(|| Some(format!("{name} is not a number")));
            continue;
        };
        if parsed.figures.len() < FIGURES_MAX || parsed.figures.contains_key(name) {
            parsed.figures.insert(name.to_owned(), value);
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_and_other_lines_are_not() {
        let parsed = figures("figure a 1\nwords\nfigure b\nfigure a -2\n  figure c 3 MB\n");
        let told: Vec<_> = parsed.figures.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        assert_eq!((told, parsed.lacks), (vec![("a", -2), ("c", 3)], None));
        assert_eq!(figures("figure a 1.5").lacks.as_deref(), Some("a is not a number"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_a_parser_panic_or_pass(text in "\\PC{0,200}") {
            let dcgm = Parser::DcgmDiag { must_pass: vec![vec!["memory".to_owned()]] };
            for parser in [dcgm, Parser::NcclTests] {
                proptest::prop_assert!(parse(&parser, &text).lacks.is_some());
            }
            figures(&text);
        }
    }
}
