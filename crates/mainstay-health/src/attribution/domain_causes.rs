//! Which rules a failure domain can cause: `catalogue/shared.tsv`.

use std::sync::LazyLock;

use mainstay_model::{Level, RuleName};

const TABLE: &str = include_str!("../../catalogue/shared.tsv");

/// A kind of domain, and the rules that it can cause: full names, or beginnings with a star.
static ROWS: LazyLock<Vec<(Level, Vec<&'static str>)>> = LazyLock::new(|| TABLE.lines().filter_map(row).collect());

/// Returns whether a domain of this level can cause what a rule finds.
pub(super) fn can_cause(level: Level, rule: &RuleName) -> bool {
    let matches = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(beginning) => rule.as_str().starts_with(beginning),
        None => rule.as_str() == *pattern,
    };
    ROWS.iter().any(|(of, rules)| *of == level && rules.iter().any(matches))
}

fn row(line: &'static str) -> Option<(Level, Vec<&'static str>)> {
    let mut fields = line.split('\t');
    let (level, rules) = (fields.next()?, fields.next()?);
    let level = Level::ALL.into_iter().find(|one| format!("{one:?}") == level)?;
    Some((level, rules.split(' ').collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_causes_lost_links_and_no_memory_errors() {
        let rule = |name: &str| RuleName::parse(name).unwrap();
        for (level, name, is_possible) in [
            (Level::Leaf, "node-unreachable", true),
            (Level::Leaf, "port-down", true),
            (Level::Leaf, "gpu-off-the-bus", true),
            (Level::Leaf, "memory-contained", false),
            (Level::Rack, "gpu-off-the-bus", true),
            (Level::NvlinkDomain, "nvlink-hardware", true),
            (Level::NvlinkDomain, "memory-uncontained", false),
            (Level::Pdu, "memory-uncontained", false),
        ] {
            assert_eq!(can_cause(level, &rule(name)), is_possible, "{level:?} {name}");
        }
    }

    #[test]
    fn every_row_is_read_and_names_known_rules() {
        let rows = TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).count();
        assert_eq!(ROWS.len(), rows);
        let known: Vec<&str> = crate::rule_names().collect();
        for pattern in ROWS.iter().flat_map(|(_, rules)| rules) {
            let is_known = match pattern.strip_suffix('*') {
                Some(beginning) => known.iter().any(|name| name.starts_with(beginning)),
                None => known.contains(pattern),
            };
            assert!(is_known, "{pattern}");
        }
    }
}
