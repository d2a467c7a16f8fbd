//! One excerpt, the tables that it is judged by, and what `mainstay assess` makes of it.

use std::collections::BTreeSet;
use std::io::Cursor;

use anyhow::{Context as _, anyhow};
use mainstay_assess::{Assessment, Log, Zone};
use mainstay_model::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// When every excerpt was copied.
const COPIED_AT: Timestamp = Timestamp(1_794_700_800_000);

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Excerpt {
    pub(super) id: String,
    pub(super) lines: Vec<String>,
    pub(super) label: String,
    pub(super) component_kind: String,
    pub(super) confidence: String,
}

/// What came of an excerpt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Codes with their components.
    pub(super) evidence: Vec<(String, String)>,
    /// Whether a rule flags the node for removal from service.
    pub(super) flagged: bool,
    /// Templates of error lines that no parser knows.
    pub(super) templates: usize,
}

/// The committed tables.
pub(super) struct Tables {
    components: Vec<(String, BTreeSet<String>)>,
    elsewhere: BTreeSet<String>,
}

pub(super) fn read(line: &str) -> anyhow::Result<Excerpt> {
    serde_json::from_str(line).with_context(|| format!("an excerpt cannot be read: {line}"))
}

/// Runs an assessment of one excerpt, as of a file that an operator copied.
pub(super) fn assess(excerpt: &Excerpt) -> anyhow::Result<Outcome> {
    let bytes = format!("{}\n", excerpt.lines.join("\n")).into_bytes();
    let assessment = Assessment {
        logs: vec![Log::Stream { name: excerpt.id.clone(), from: Box::new(Cursor::new(bytes)) }],
        prometheus: None,
        nodes: None,
        tickets: None,
        cluster: None,
        since: None,
        until: None,
        node: None,
        booted: None,
        zone: Zone { offset_minutes: 0, until: COPIED_AT },
        gpus_per_node: 8,
        max_unavailable_percent: 100,
    };
    // A file without any entry is an error of the command, and here an excerpt without evidence.
    let Ok(report) = assessment.run(&|_| {}) else { return Ok(Outcome::default()) };
    let report = serde_json::to_value(&report)?;
    let lines = report["evidence"].as_array().ok_or_else(|| anyhow!("the report has no evidence"))?;
    let text = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let evidence = lines.iter().map(|line| (text(line, "code"), text(line, "component"))).collect();
    let flagged = report["findings"].as_array().is_some_and(|findings| !findings.is_empty());
    let templates = report["unrecognised"]["templates"].as_array().map_or(0, Vec::len);
    Ok(Outcome { evidence, flagged, templates })
}

// === impl Excerpt ===

impl Excerpt {
    pub(super) fn is_harmless(&self) -> bool {
        self.label == "noise/benign"
    }

    pub(super) fn is_fault(&self) -> bool {
        !self.is_harmless() && self.label != "unknown"
    }

    pub(super) fn is_guess(&self) -> bool {
        self.confidence == "guess"
    }
}

// === impl Outcome ===

impl Outcome {
    /// Whether any evidence is about a component that the table allows for the excerpt's words.
    pub(super) fn has_component(&self, tables: &Tables, words: &str) -> bool {
        let words = words.to_lowercase();
        let row = tables.components.iter().find(|(phrase, _)| words.contains(phrase));
        row.is_some_and(|(_, kinds)| self.evidence.iter().any(|(_, component)| kinds.contains(component)))
    }
}

// === impl Tables ===

impl Tables {
    pub(super) fn read() -> anyhow::Result<Self> {
        let components = rows(include_str!("components.tsv"))
            .map(|row| {
                let (phrase, kinds) = row.split_once('\t').with_context(|| format!("no kinds in {row}"))?;
                Ok((phrase.to_owned(), kinds.split('|').map(str::to_owned).collect()))
            })
            .collect::<anyhow::Result<_>>()?;
        let elsewhere = rows(include_str!("elsewhere.tsv")).filter_map(|row| Some(row.split_once('\t')?.0.to_owned()));
        Ok(Self { components, elsewhere: elsewhere.collect() })
    }

    pub(super) fn is_elsewhere(&self, id: &str) -> bool {
        self.elsewhere.contains(id)
    }
}

fn rows(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}
