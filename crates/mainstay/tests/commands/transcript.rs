//! Golden transcripts: what somebody typed and what they saw, as files that are documentation as well. They are kept as they
//! were printed; times, spans and ids of a run are left out of the comparison. `UPDATE=1` writes them anew.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::test_cluster;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cli")
}

/// Documents that show transcripts, each with a transcript that it must have.
const DOCS: [(&str, &str); 2] = [("reference/cli.md", "status"), ("operate/on-call.md", "on-call-status")];

fn doc(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// The page with every transcript that it names, as it is kept.
fn shown(page: &str) -> Result<String> {
    let mut text = String::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        let Some(name) = line.strip_prefix("<!-- golden: ").and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        if lines.peek() == Some(&"```text") {
            lines.by_ref().skip(1).find(|line| *line == "```");
        }
        let kept = std::fs::read_to_string(folder().join(format!("{name}.txt"))).unwrap_or_default();
        text.push_str(&format!("```text\n{kept}```\n"));
    }
    Ok(text)
}

#[test]
fn the_documents_show_what_is_kept() -> Result<()> {
    if std::env::var_os("UPDATE").is_some() {
        return Ok(());
    }
    for (name, transcript) in DOCS {
        let page = std::fs::read_to_string(doc(name))?;
        let has = page.contains(&format!("<!-- golden: {transcript} -->"));
        ensure!(has && shown(&page)? == page, "UPDATE=1 writes docs/{name} again");
    }
    Ok(())
}

/// Several commands, one after the other, under one name.
pub(crate) struct Transcript<'a> {
    pub(crate) name: &'a str,
    text: String,
}

impl<'a> Transcript<'a> {
    pub(crate) fn new(name: &'a str) -> Self {
        Self { name, text: String::new() }
    }

    /// Runs a command as somebody and keeps what they see; the exit code is part of it where it is not 0.
    pub(crate) fn run(&mut self, kubeconfig: &Path, words: &str) -> Result<String> {
        let output = test_cluster::mainstay(kubeconfig, words)?;
        let seen = String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?;
        let code = output.status.code().context("it was killed")?;
        let code = if code == 0 { String::new() } else { format!("[exit code {code}]\n") };
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let who = match kubeconfig.file_stem().and_then(|name| name.to_str()) {
            Some(who @ ("viewer" | "operator" | "surveyor")) => who,
            Some(_) | None => "administrator",
        };
        self.text.push_str(&format!("$ mainstay {words}    # as {who}\n{seen}{code}"));
        Ok(seen)
    }

    /// Compares with what is kept, or keeps it.
    pub(crate) fn check(self) -> Result<()> {
        let path = folder().join(format!("{}.txt", self.name));
        for line in self.text.lines() {
            // What was typed, and the server's own words, are as long as they are.
            let is_free = ["$ ", "  detail: ", "  hint:   "].iter().any(|begins| line.starts_with(begins));
            ensure!(is_free || line.chars().count() <= 100, "{}: wider than 100 columns: {line}", self.name);
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(folder())?;
            std::fs::write(&path, &self.text)?;
            for (name, _) in DOCS {
                let shown = shown(&std::fs::read_to_string(doc(name))?)?;
                std::fs::write(doc(name), shown)?;
            }
            return Ok(());
        }
        let kept = std::fs::read_to_string(&path).with_context(|| format!("{} is not there", path.display()))?;
        ensure!(
            plain(&kept) == plain(&self.text),
            "{}: it is kept as\n{kept}\nand was now\n{}\nUPDATE=1 keeps what it was now",
            self.name,
            self.text
        );
        Ok(())
    }
}

/// Without what is another in every run, and without how columns and lines are set because of it.
fn plain(text: &str) -> String {
    let mut kept: Vec<String> = Vec::new();
    let mut words = text.split_whitespace().map(word).peekable();
    while let Some(word) = words.next() {
        let is_unit = |next: &String| ["s", "min", "h", "d"].contains(&next.trim_end_matches([',', '.', ';', ':']));
        if word.parse::<u32>().is_ok() && words.peek().is_some_and(is_unit) {
            let unit = words.next().unwrap_or_default();
            let end: String = unit.chars().filter(|c| !c.is_alphanumeric()).collect();
            if kept.last().is_some_and(|last| last == "SPAN") {
                kept.pop();
            }
            kept.push(format!("SPAN{end}"));
        } else if kept.last().is_some_and(|last| last == "epoch") {
            // A controller on a busy machine may lose its lease and take it again.
            let end: String = word.chars().filter(|c| !c.is_ascii_digit()).collect();
            kept.push(format!("EPOCH{end}"));
        } else {
            kept.push(word);
        }
    }
    kept.join(" ")
}

/// One word without what is another in every run.
fn word(word: &str) -> String {
    let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let named = |with: &str| word.replacen(bare, with, 1);
    let parts: Vec<&str> = bare.split(':').collect();
    if (2..=3).contains(&parts.len()) && parts.iter().all(|part| part.len() == 2 && is_digits(part)) {
        return named("CLOCK");
    }
    let is_id = |id: &str| id.len() == 16 && id.bytes().all(|b| b.is_ascii_hexdigit());
    if bare.rsplit_once('_').is_some_and(|(_, id)| is_id(id)) {
        return named("CONTROLLER");
    }
    let dashes: Vec<&str> = bare.split('-').collect();
    match dashes.as_slice() {
        [year, month, day] if year.len() == 4 && is_digits(year) && is_digits(month) && is_digits(day) => named("DATE"),
        [.., date, time] if date.len() == 8 && is_digits(date) && time.len() == 6 && is_digits(time) => {
            named(&bare.replace(&format!("{date}-{time}"), "WHEN"))
        }
        _ if bare.len() == 13 && is_digits(bare) => named("MOMENT"),
        _ => word.to_owned(),
    }
}

#[test]
fn what_a_run_has_of_its_own_is_left_out_and_nothing_else() {
    let one = "a  for 12 s, leaf-1-x-20261115-031200  host-7_0123456789abcdef at 12:01:03, 3 nodes";
    assert_eq!(plain(one), "a for SPAN, leaf-1-x-WHEN CONTROLLER at CLOCK, 3 nodes");
    assert_eq!(plain("1 min 2 s"), "SPAN");
    assert_eq!(plain("epoch 12, 3 nodes"), "epoch EPOCH, 3 nodes");
    assert_eq!(plain("\"at\": 1794712345678,"), "\"at\": MOMENT,");
}
