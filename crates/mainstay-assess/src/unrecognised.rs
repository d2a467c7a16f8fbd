//! Error lines that no parser knows, counted by template over all nodes. The list is for an operator and for an issue: a
//! template has no host, no address and no number.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_model::{Code, Component, Template, Timestamp};
use mainstay_signal::LineTemplate;
use mainstay_text::{Align, Table, counted, thousands};
use serde::Serialize;

/// Templates that are counted separately; a hostile log may make up more. The rest is a number.
const TEMPLATES_MAX: usize = 10_000;
/// Templates in the report.
const LISTED_MAX: usize = 200;
/// The format of the list of templates that this version writes.
const FORMAT: u32 = 1;

/// Lines with one template: how many, on which nodes, and when.
#[derive(Debug, Clone)]
struct Counted {
    template: Template,
    component: Component,
    lines: u64,
    nodes: BTreeSet<u32>,
    first_at: Timestamp,
    last_at: Timestamp,
}

/// All templates, by code.
#[derive(Debug, Clone, Default)]
pub(super) struct Templates {
    counted: BTreeMap<Code, Counted>,
    more: u64,
}

/// The section of the report about lines that no parser knows.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UnrecognisedSection {
    /// Templates, those of most nodes first.
    pub(super) templates: Vec<TemplateLine>,
    /// Lines of further templates.
    pub(super) more_lines: u64,
}

/// One template with its counts.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TemplateLine {
    /// Driver and digest of the template; a FleetPolicy refers to it by this code.
    pub(super) code: String,
    pub(super) component: Component,
    pub(super) template: String,
    pub(super) lines: u64,
    pub(super) nodes: u64,
    /// Time of the first line, in milliseconds since the Unix epoch.
    pub(super) first_ms: i64,
    /// Time of the last line, in milliseconds since the Unix epoch.
    pub(super) last_ms: i64,
}

/// The templates alone, fit to be sent to others: without hosts and times.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnrecognisedList<'a> {
    format: u32,
    version: &'static str,
    templates: Vec<SharedTemplate<'a>>,
    more_lines: u64,
}

/// One template as it is sent to others.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SharedTemplate<'a> {
    code: &'a str,
    component: Component,
    template: &'a str,
    lines: u64,
    nodes: u64,
}

impl Templates {
    pub(super) fn note(&mut self, node: u32, at: Timestamp, line: LineTemplate) {
        let LineTemplate { code, template, component } = line;
        if self.counted.len() >= TEMPLATES_MAX && !self.counted.contains_key(&code) {
            self.more += 1;
            return;
        }
        let new = Counted { template, component, lines: 0, nodes: BTreeSet::new(), first_at: at, last_at: at };
        let counted = self.counted.entry(code).or_insert(new);
        counted.lines += 1;
        counted.nodes.insert(node);
        counted.first_at = counted.first_at.min(at);
        counted.last_at = counted.last_at.max(at);
    }

    /// Adds the templates of another source, whose nodes have other numbers.
    pub(super) fn merge(&mut self, other: Self, node_of: impl Fn(u32) -> Option<u32>) {
        self.more = self.more.saturating_add(other.more);
        for (code, theirs) in other.counted {
            if self.counted.len() >= TEMPLATES_MAX && !self.counted.contains_key(&code) {
                self.more = self.more.saturating_add(theirs.lines);
                continue;
            }
            let nodes: BTreeSet<u32> = theirs.nodes.iter().filter_map(|node| node_of(*node)).collect();
            let ours = self.counted.entry(code).or_insert_with(|| Counted {
                lines: 0,
                nodes: BTreeSet::new(),
                ..theirs.clone()
            });
            ours.lines = ours.lines.saturating_add(theirs.lines);
            ours.nodes.extend(nodes);
            ours.first_at = ours.first_at.min(theirs.first_at);
            ours.last_at = ours.last_at.max(theirs.last_at);
        }
    }

    /// The section of the report.
    pub(super) fn section(&self) -> UnrecognisedSection {
        let line = |(code, counted): (&Code, &Counted)| TemplateLine {
            code: code.to_string(),
            component: counted.component,
            template: counted.template.to_string(),
            lines: counted.lines,
            nodes: u64::try_from(counted.nodes.len()).unwrap_or(u64::MAX),
            first_ms: counted.first_at.0,
            last_ms: counted.last_at.0,
        };
        let mut templates: Vec<TemplateLine> = self.counted.iter().map(line).collect();
        templates.sort_by(|a, b| (b.nodes, b.lines, &a.code).cmp(&(a.nodes, a.lines, &b.code)));
        let cut = templates.split_off(LISTED_MAX.min(templates.len()));
        let more_lines = cut.iter().map(|line| line.lines).fold(self.more, u64::saturating_add);
        UnrecognisedSection { templates, more_lines }
    }
}

impl UnrecognisedSection {
    /// The templates alone, without hosts and times.
    pub(super) fn list(&self) -> UnrecognisedList<'_> {
        let shared = self.templates.iter().map(|line| {
            let TemplateLine { code, component, template, lines, nodes, .. } = line;
            SharedTemplate { code, component: *component, template, lines: *lines, nodes: *nodes }
        });
        let templates = shared.collect();
        UnrecognisedList { format: FORMAT, version: env!("CARGO_PKG_VERSION"), templates, more_lines: self.more_lines }
    }

    /// The first templates as a table for the terminal; empty without any.
    pub(super) fn text(&self, rows: usize) -> String {
        let lines: u64 = self.templates.iter().map(|line| line.lines).sum::<u64>().saturating_add(self.more_lines);
        if lines == 0 {
            return String::new();
        }
        let all = counted(u64::try_from(self.templates.len()).unwrap_or(0), "template", "templates");
        let lines = counted(lines, "line", "lines");
        let mut text = format!("Unrecognised: {lines} of drivers report an error that no parser knows, {all}\n");
        let columns =
            [("code", Align::Left), ("nodes", Align::Right), ("lines", Align::Right), ("template", Align::Left)];
        let mut table = Table::new(&columns);
        for line in self.templates.iter().take(rows) {
            table.row([line.code.clone(), thousands(line.nodes), thousands(line.lines), line.template.clone()]);
        }
        text.push_str(&table.text());
        text
    }
}
