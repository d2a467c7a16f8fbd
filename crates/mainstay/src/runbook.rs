//! `mainstay runbook`: the runbooks of `docs/operate/runbooks`, embedded in the program, because a page at 3 am should not depend
//! on a wiki that is down.

use clap::Args;
use mainstay_health::rule_text;
use mainstay_text::{Align, Table};
use rust_embed::RustEmbed;
use serde::Serialize;

use crate::output::{self, CommandOutput, Problem, TextFormat};

pub(crate) const HELP: &str = "\
NAME is a runbook, a rule or an alert. Without NAME the command lists all runbooks.

Examples:
  mainstay runbook
  mainstay runbook gpu-off-the-bus
  mainstay runbook FleetGpuHot
  mainstay runbook nvlink -o json";

/// The index of the folder, for readers of the files.
const INDEX: &str = "README";

#[derive(RustEmbed)]
#[folder = "../../docs/operate/runbooks/"]
struct Files;

/// Arguments of `mainstay runbook`.
#[derive(Args)]
pub(crate) struct RunbookArgs {
    /// Runbook, rule or alert [default: list all]
    name: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    output: TextFormat,
}

/// One runbook.
#[derive(Serialize)]
pub(crate) struct Runbook {
    name: String,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    markdown: Option<String>,
}

#[derive(Serialize)]
struct Items {
    items: Vec<Runbook>,
}

impl RunbookArgs {
    pub(crate) fn run(&self) -> Result<CommandOutput, Problem> {
        let text = match (&self.name, self.output) {
            (None, TextFormat::Text) => list(),
            (None, TextFormat::Json) => output::json(&Items { items: all() })?,
            (Some(name), TextFormat::Text) => known(name)?.1,
            (Some(name), TextFormat::Json) => {
                let (name, text) = known(name)?;
                output::json(&Runbook { name, title: title(&text), markdown: Some(text) })?
            }
        };
        Ok(CommandOutput::success(text))
    }
}

/// The line of `why` and of incidents that names the runbook.
pub(crate) fn command(name: &str) -> String {
    format!("mainstay runbook {name}")
}

/// Whether a runbook, a rule or an alert of this name leads to a runbook.
pub(crate) fn exists(name: &str) -> bool {
    known(name).is_ok()
}

fn all() -> Vec<Runbook> {
    let names =
        Files::iter().filter_map(|file| file.strip_suffix(".md").map(str::to_owned)).filter(|name| name != INDEX);
    let mut all: Vec<Runbook> =
        names.filter_map(|name| Some(Runbook { title: title(&text(&name)?), name, markdown: None })).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn text(name: &str) -> Option<String> {
    let file = Files::get(&format!("{name}.md"))?;
    Some(String::from_utf8_lossy(&file.data).into_owned())
}

fn title(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned()
}

/// Name and text of the runbook for a name, a rule or an alert.
fn known(name: &str) -> Result<(String, String), Problem> {
    let by_rule = || rule_text(name).map(|rule| rule.runbook.to_owned());
    let by_alert = || {
        let item = format!("- `{name}`: ");
        let lists =
            |one: &Runbook| text(&one.name).is_some_and(|text| text.lines().any(|line| line.starts_with(&item)));
        all().into_iter().find(lists).map(|one| one.name)
    };
    let found = text(name).map(|_| name.to_owned()).or_else(by_rule).or_else(by_alert);
    found.and_then(|found| text(&found).map(|text| (found, text))).ok_or_else(|| Problem {
        what: format!("there is no runbook for {name}"),
        detail: "no runbook, rule or alert of Mainstay's own rules has this name.".to_owned(),
        hint: "`mainstay runbook` lists all runbooks; an alert of an objective links the runbook of its Slo."
            .to_owned(),
    })
}

fn list() -> String {
    let mut table = Table::new(&[("RUNBOOK", Align::Left), ("SYMPTOM", Align::Left)]);
    for one in all() {
        table.row([one.name, one.title]);
    }
    let lines: String = table.text().lines().map(|line| format!("{}\n", line.trim_start())).collect();
    lines + "\nOne of them: mainstay runbook NAME\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runbook_is_found_by_its_name_a_rule_and_an_alert() {
        for name in ["gpu-off-the-bus", "thermal", "adapter-failed", "FleetGpuHot", "MainstayAbsent"] {
            let (runbook, text) = known(name).unwrap_or_else(|problem| unreachable!("{name}: {}", problem.what));
            assert!(text.starts_with("# "), "{runbook}");
        }
        assert_eq!(known("FleetGpuHot").map(|(name, _)| name).ok().as_deref(), Some("thermal"));
        assert!(known("no-such-fault").is_err());
    }

    #[test]
    fn every_rule_has_a_runbook_that_exists() {
        let missing: Vec<String> = mainstay_health::rule_names()
            .filter(|rule| rule_text(rule).is_none_or(|text| super::text(text.runbook).is_none()))
            .map(str::to_owned)
            .collect();
        assert_eq!(missing, Vec::<String>::new());
    }
}
