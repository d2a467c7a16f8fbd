//! The coverage page: no row disappears, every row has a known kind, the counts are right, and every reference exists.

#![cfg(test)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

const FOLDER: &str = "docs/concepts";
const PAGE: &str = "docs/concepts/coverage.md";
const HEADER: &str = "| id | what practice asks for | covered by | where |";
/// Letters of an id and the number of rows with them: `("R", 3)` is R1, R2 and R3. A row cannot disappear unnoticed.
const IDS: [(&str, usize); 10] =
    [("M", 21), ("F", 20), ("D", 14), ("AL", 10), ("C", 15), ("R", 3), ("G", 3), ("RT", 10), ("E", 18), ("W", 6)];
/// A row of one of these kinds needs at least one reference of its own kind.
const COVERED: [&str; 7] = ["series", "rule", "alert", "runbook", "command", "dashboard", "page"];
const PLANNED: &str = "planned";
const LEFT_TO: &str = "left to";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(root().join(path)).with_context(|| path.to_owned())
}

// === The page ===

/// One row of a table with [`HEADER`].
struct Row<'a> {
    id: &'a str,
    kind: &'a str,
    place: &'a str,
}

fn rows(page: &str) -> Result<Vec<Row<'_>>> {
    let mut rows = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        is_inside = line.starts_with('|') && (is_inside || line == HEADER);
        if !is_inside || line == HEADER || line.starts_with("|--") {
            continue;
        }
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let [id, asked, kind, place] = cells[..] else { bail!("{} cells instead of 4: {line}", cells.len()) };
        ensure!(!asked.is_empty(), "{id}: the second column is empty");
        rows.push(Row { id, kind, place });
    }
    ensure!(!rows.is_empty(), "no table has the header {HEADER}");
    Ok(rows)
}

/// A number of the table of counts.
fn count_of(page: &str, name: &str) -> Result<usize> {
    let begin = format!("| {name} | ");
    let number = page.lines().find_map(|line| line.strip_prefix(&begin)?.strip_suffix(" |"));
    number.with_context(|| format!("the table of counts has no {name}"))?.parse().with_context(|| name.to_owned())
}

/// What is wrong with the kind of a row, or with the first words that its kind asks for.
fn wrong_text(row: &Row<'_>) -> Option<String> {
    let Row { id, kind, place } = row;
    match *kind {
        LEFT_TO if !place.starts_with("Left to ") => Some(format!("{id}: does not begin with \"Left to\"")),
        LEFT_TO if !place.contains("because ") => Some(format!("{id}: gives no reason with \"because\"")),
        PLANNED if !place.starts_with("Not yet: ") => Some(format!("{id}: does not begin with \"Not yet:\"")),
        LEFT_TO | PLANNED => None,
        kind if COVERED.contains(&kind) => None,
        kind => Some(format!("{id}: \"{kind}\" is no kind")),
    }
}

// === References ===

/// The kind and the text of everything that a cell refers to: inline code and targets of links.
fn references(place: &str) -> Vec<(&'static str, &str)> {
    let code = place.split('`').skip(1).step_by(2).map(|code| (kind_of_code(code), code));
    let links = place.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    code.chain(links.map(|link| (kind_of_link(link), link))).collect()
}

fn kind_of_code(code: &str) -> &'static str {
    if code.starts_with("mainstay ") {
        "command"
    } else if code.starts_with("mainstay_") || code.starts_with("DCGM_FI_") || code.contains(':') {
        "series"
    } else if code.starts_with(char::is_uppercase) {
        "alert"
    } else {
        "rule"
    }
}

fn kind_of_link(link: &str) -> &'static str {
    if link.contains("/runbooks/") {
        "runbook"
    } else if link.contains("/dashboards/") {
        "dashboard"
    } else {
        "page"
    }
}

/// The texts in which a reference must exist.
struct Known {
    series: String,
    /// Every file of `deploy/alerts`.
    rules: String,
    faults: String,
    /// Alerts of objectives are generated for each objective, so no file of `deploy/alerts` has them.
    objectives: String,
    commands: String,
    options: String,
}

impl Known {
    fn read() -> Result<Self> {
        let mut rules = String::new();
        for entry in std::fs::read_dir(root().join("deploy/alerts"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                rules.push_str(&std::fs::read_to_string(&path)?);
            }
        }
        Ok(Self {
            series: read("docs/reference/metrics.md")? + &read("docs/reference/gpu-series.md")?,
            rules,
            faults: read("docs/reference/faults.md")?,
            objectives: read("docs/operate/slo.md")?,
            commands: read("docs/reference/cli.md")?,
            options: read("docs/reference/options.md")?,
        })
    }

    fn has(&self, kind: &str, text: &str) -> bool {
        let has_line = |wanted: String| self.rules.lines().any(|line| line.trim() == wanted);
        let first_cell = format!("\n| `{text}` |");
        match kind {
            "series" => self.series.contains(&format!("`{text}`")) || has_line(format!("- record: {text}")),
            "alert" => self.objectives.contains(&first_cell) || has_line(format!("- alert: {text}")),
            "rule" => self.faults.contains(&first_cell),
            "command" => self.has_command(text),
            // A link; `cargo xtask tidy` checks its anchor.
            _ => text.split('#').next().is_some_and(|path| root().join(FOLDER).join(path).is_file()),
        }
    }

    /// Whether the reference describes the subcommand, and its help has every flag.
    fn has_command(&self, command: &str) -> bool {
        let words: Vec<&str> = command.split_whitespace().collect();
        let Some(subcommand) = words.get(1) else { return false };
        let usages = [format!("mainstay {subcommand}"), format!("\n## {subcommand}"), format!("\n| `{subcommand}")];
        let is_described = usages.iter().any(|usage| has_word(&self.commands, usage));
        let flags: Vec<&str> = words.iter().copied().filter(|word| word.starts_with("--")).collect();
        let help = self.help(&words);
        is_described && help.is_some_and(|help| flags.iter().all(|flag| has_word(help, flag)))
    }

    /// Help of the longest beginning of a command that has a section of its own.
    fn help(&self, words: &[&str]) -> Option<&str> {
        (2..=words.len()).rev().find_map(|count| {
            let heading = format!("\n## {}\n", words[..count].join(" "));
            let (_, rest) = self.options.split_once(heading.as_str())?;
            rest.split("\n## ").next()
        })
    }

    /// Everything that is wrong with the references of a row.
    fn problems(&self, row: &Row<'_>) -> Vec<String> {
        let Row { id, kind, place } = row;
        let references = references(place);
        let missing = references.iter().filter(|(kind, text)| !self.has(kind, text));
        let mut problems: Vec<String> = missing.map(|(kind, text)| format!("{id}: {kind} {text} not found")).collect();
        if COVERED.contains(kind) && !references.iter().any(|(found, _)| found == kind) {
            problems.push(format!("{id}: is covered by a {kind} and names none"));
        }
        problems
    }
}

/// Whether the text has a name that is no beginning of a longer name.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.match_indices(name).any(|(at, _)| !text[at + name.len()..].starts_with(is_part))
}

// === Tests ===

#[test]
fn every_id_is_there_once() -> Result<()> {
    let page = read(PAGE)?;
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows(&page)? {
        *found.entry(row.id.to_owned()).or_default() += 1;
    }
    let ids = IDS.iter().flat_map(|(letters, count)| (1..=*count).map(move |number| format!("{letters}{number}")));
    let expected: BTreeMap<String, usize> = ids.map(|id| (id, 1)).collect();
    let missing: Vec<&String> = expected.keys().filter(|id| !found.contains_key(*id)).collect();
    let unknown: Vec<&String> = found.keys().filter(|id| !expected.contains_key(*id)).collect();
    let repeated: Vec<&String> = found.iter().filter(|(_, count)| **count > 1).map(|(id, _)| id).collect();
    ensure!(found == expected, "{PAGE}: missing {missing:?}, not in the test {unknown:?}, repeated {repeated:?}");
    Ok(())
}

#[test]
fn every_row_has_a_kind_and_its_reason() -> Result<()> {
    let page = read(PAGE)?;
    let problems: Vec<String> = rows(&page)?.iter().filter_map(wrong_text).collect();
    ensure!(problems.is_empty(), "{PAGE}:\n{}", problems.join("\n"));
    Ok(())
}

#[test]
fn every_reference_exists() -> Result<()> {
    let (page, known) = (read(PAGE)?, Known::read()?);
    let problems: Vec<String> = rows(&page)?.iter().flat_map(|row| known.problems(row)).collect();
    ensure!(problems.is_empty(), "{PAGE}:\n{}", problems.join("\n"));
    Ok(())
}

#[test]
fn the_counts_are_those_of_the_rows() -> Result<()> {
    let page = read(PAGE)?;
    let rows = rows(&page)?;
    let count = |is_kind: fn(&str) -> bool| rows.iter().filter(|row| is_kind(row.kind)).count();
    for (name, counted) in [
        ("covered", count(|kind| COVERED.contains(&kind))),
        ("planned", count(|kind| kind == PLANNED)),
        ("left to others", count(|kind| kind == LEFT_TO)),
    ] {
        let stated = count_of(&page, name)?;
        ensure!(stated == counted, "{PAGE}: the table of counts has {stated} rows {name}, the page {counted}");
    }
    Ok(())
}

#[test]
fn wrong_rows_are_found() -> Result<()> {
    let known = Known::read()?;
    for (kind, place) in [
        ("series", "`mainstay_gpu`"),
        ("series", "[metrics](../reference/metrics.md)"),
        ("alert", "`FleetGpu`"),
        ("rule", "`no-such-rule`"),
        ("command", "`mainstay nosuch`"),
        ("command", "`mainstay status --nosuch`"),
        ("runbook", "[none](../operate/runbooks/none.md)"),
        ("page", "no reference"),
        ("planned", "Not yet: `no-such-rule` is missing."),
    ] {
        let row = Row { id: "X1", kind, place };
        ensure!(!known.problems(&row).is_empty(), "{kind} {place} is accepted");
    }
    for (kind, place) in [("left to", "Left to X."), ("left to", "X, because Y"), ("planned", "Later"), ("maybe", "")] {
        ensure!(wrong_text(&Row { id: "X1", kind, place }).is_some(), "{kind} {place} is accepted");
    }
    let three_cells = format!("{HEADER}\n|---|---|---|---|\n| X1 | a | page |\n");
    ensure!(rows("| a | b |\n").is_err(), "a page without a table is accepted");
    ensure!(rows(&three_cells).is_err(), "a row with three cells is accepted");
    Ok(())
}
