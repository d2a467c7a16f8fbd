//! The texts of the rules: what is at fault, what it does, one sentence that explains it, and its runbook. Data is in
//! `catalogue/rules.tsv`; rules of the engine that no table of the catalogue has are there as well.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::Problem;
use super::parse::{Reader, lines};

const TABLE: &str = "catalogue/rules.tsv";
const COLUMNS: [&str; 6] = ["rule", "kind", "part", "title", "runbook", "explanation"];

static BUILT_IN: LazyLock<BTreeMap<&'static str, RuleText>> = LazyLock::new(|| match built_in() {
    Ok(texts) => texts,
    Err(problems) => unreachable!("the built-in texts are sound (a test reads them): {problems:?}"),
});

/// Whether a rule names a fault or repeats a recommendation of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// The rule names what is wrong.
    Fault,
    /// The rule names what the driver recommends; a fault of the same part is more specific.
    Verdict,
}

/// What a rule means, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleText {
    /// Whether it names a fault or a recommendation.
    pub kind: RuleKind,
    /// What is at fault, for example `GPU`.
    pub part: &'static str,
    /// What the part does, for example `fell off the bus`.
    pub title: &'static str,
    /// Name of its runbook in `docs/operate/runbooks`.
    pub runbook: &'static str,
    /// One sentence for an operator.
    pub explanation: &'static str,
}

/// The text of a rule; none for a rule that no table has.
#[must_use]
pub fn rule_text(rule: &str) -> Option<RuleText> {
    BUILT_IN.get(rule).copied()
}

/// Every rule with a text, by name.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.keys().copied()
}

fn built_in() -> Result<BTreeMap<&'static str, RuleText>, Vec<Problem>> {
    read(include_str!("../../catalogue/rules.tsv"))
}

fn read(text: &'static str) -> Result<BTreeMap<&'static str, RuleText>, Vec<Problem>> {
    let (mut texts, mut problems) = (BTreeMap::new(), Vec::new());
    for (line, text) in lines(text) {
        let mut reader = Reader::new(TABLE, line, &mut problems);
        let Some([rule, kind, part, title, runbook, explanation]) = reader.columns(text, COLUMNS) else { continue };
        let kind = match kind {
            "fault" => RuleKind::Fault,
            "verdict" => RuleKind::Verdict,
            other => {
                reader.wrong("the kind is unknown", &format!("it is {other}"), "write fault or verdict");
                continue;
            }
        };
        if texts.insert(rule, RuleText { kind, part, title, runbook, explanation }).is_some() {
            reader.wrong("a rule has two texts", &format!("{rule} has a row already"), "keep one of the two");
        }
    }
    if problems.is_empty() { Ok(texts) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalogue::Catalogue;

    /// Rules that the engine gives by itself.
    const OF_THE_ENGINE: [&str; 5] =
        ["evidence", "node-unreachable", "planned-work", "request", "unconfirmed-unreachable"];

    #[test]
    fn every_rule_has_one_short_sentence_of_explanation() {
        let catalogue = Catalogue::built_in();
        let rules: BTreeSet<&str> = catalogue.rows().map(|row| row.rule.as_str()).chain(OF_THE_ENGINE).collect();
        for rule in &rules {
            let text = rule_text(rule).unwrap_or_else(|| panic!("{rule} has no text"));
            let words = text.explanation.split_whitespace().count();
            assert!(text.explanation.ends_with('.') && words <= 25, "{rule}: {words} words: {}", text.explanation);
            assert!(!text.title.ends_with('.') && !text.title.is_empty(), "{rule}: {}", text.title);
        }
        let texts = built_in().unwrap();
        let unused: Vec<&&str> = texts.keys().filter(|rule| !rules.contains(**rule)).collect();
        assert_eq!(unused, Vec::<&&str>::new(), "no rule has this name");
    }

    #[test]
    fn a_rule_has_one_text_of_a_known_kind() {
        let wrong = |text: &'static str| -> Vec<String> {
            read(text).err().unwrap_or_default().into_iter().map(|problem| problem.what).collect()
        };
        assert_eq!(wrong("a\tfault\tGPU\tx\tz\ty\na\tfault\tGPU\tx\tz\ty"), ["a rule has two texts"]);
        assert_eq!(wrong("a\tjoke\tGPU\tx\tz\ty"), ["the kind is unknown"]);
        assert_eq!(wrong("a\tfault"), ["the row is not complete"]);
    }

    #[test]
    fn a_repeated_fault_has_a_text_of_its_own() {
        let title = |rule: &str| rule_text(rule).map(|text| text.title);
        assert_eq!(title("copy-engine"), Some("had a copy engine error"));
        assert_eq!(title("copy-engine-repeated"), Some("keeps having copy engine errors"));
        assert_eq!(rule_text("gpu-off-the-bus-repeated"), None);
        assert_eq!(title("gpu-off-the-bus"), Some("fell off the bus"));
        assert_eq!(rule_text("no-such-rule"), None);
    }
}
