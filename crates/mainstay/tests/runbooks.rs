//! The runbooks: every page has the same sections, every alert leads to one, and every command for a cluster runs on a real
//! API server with the real controller and a GPU off the bus.

#![cfg(test)]

#[path = "tour/document.rs"]
mod document;
#[path = "commands/test_cluster.rs"]
#[expect(dead_code, reason = "the test of commands uses the rest")]
mod test_cluster;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use test_cluster::CommandCluster;
use testbed::eventually;
use tokio::process::Command;

/// The last section is for the vendor, or for the report where no vendor is involved.
const SECTIONS: [&str; 7] = [
    "What you see",
    "Why it happens",
    "What Mainstay does",
    "What you do",
    "How to verify",
    "When to escalate",
    "What to collect",
];
const RULES: [&str; 2] = ["rules.yaml", "fleet-rules.yaml"];
const SICK: usize = 2;
/// Alert rules of one file, and commands of all pages; more are a mistake of this test.
const ALERTS_MIN: usize = 30;
const COMMANDS_MIN: usize = 20;
const COMMAND_LIMIT: Duration = Duration::from_mins(1);
/// `status` and `doctor` report with it that an operator is needed, which is what a runbook is for.
const NEEDS_OPERATOR: i32 = 5;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All runbooks by name, without the index.
fn pages() -> Result<BTreeMap<String, String>> {
    let mut pages = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("docs/operate/runbooks"))? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).context("a name")?.to_owned();
        if name != "README" {
            pages.insert(name, std::fs::read_to_string(&path)?);
        }
    }
    Ok(pages)
}

#[test]
fn every_page_has_the_same_sections() -> Result<()> {
    for (name, text) in pages()? {
        let whom = [" for the vendor", " for the report"];
        let short = |title| whom.iter().find_map(|whom| str::strip_suffix(title, whom)).unwrap_or(title);
        let sections: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).map(short).collect();
        assert_eq!(sections, SECTIONS, "{name}");
    }
    Ok(())
}

#[test]
fn the_index_names_every_page() -> Result<()> {
    let index = std::fs::read_to_string(root().join("docs/operate/runbooks/README.md"))?;
    let missing: Vec<String> = pages()?.into_keys().filter(|name| !index.contains(&format!("({name}.md)"))).collect();
    assert_eq!(missing, Vec::<String>::new());
    Ok(())
}

#[test]
fn every_alert_leads_to_the_page_that_lists_it() -> Result<()> {
    let pages = pages()?;
    let mut alerts = 0;
    for file in RULES {
        let text = std::fs::read_to_string(root().join("deploy/alerts").join(file))?;
        let rules: Value = serde_saphyr::from_str(&text)?;
        let groups = rules["groups"].as_array().context("groups")?;
        for rule in groups.iter().flat_map(|group| group["rules"].as_array().into_iter().flatten()) {
            let Some(alert) = rule["alert"].as_str() else { continue };
            alerts += 1;
            let url = rule["annotations"]["runbook_url"].as_str().with_context(|| format!("{alert} has no runbook"))?;
            let page = url.strip_prefix("docs/operate/runbooks/").and_then(|page| page.strip_suffix(".md"));
            let page = page.with_context(|| format!("{alert}: {url} is no runbook"))?;
            let text = pages.get(page).with_context(|| format!("{alert}: {page} does not exist"))?;
            ensure!(text.contains(&format!("\n- `{alert}`: ")), "{page} does not list {alert}");
        }
    }
    ensure!(alerts >= ALERTS_MIN, "{alerts} alerts");
    Ok(())
}

#[tokio::test]
async fn every_command_runs() -> Result<()> {
    let bed = CommandCluster::start(4).await?;
    bed.install().await?;
    bed.report(&[0, 1, 2, 3], 1, &[]).await?;
    bed.gang("train-7", &[1, SICK, 3]).await?;
    bed.report(&[SICK], 2, &[("79", 3)]).await?;
    let record = tempfile::tempdir()?;
    let _served = bed.serve(record.path()).await?;
    eventually("an incident", async || Ok(bed.cluster.get_json(&["incidents"]).await?["items"][0].is_object())).await?;
    let stored = bed.cluster.get_json(&["incidents"]).await?;
    let incident = stored["items"][0]["metadata"]["name"].as_str().context("no name")?.to_owned();
    bed.cluster.run_kubectl(&["apply", "-f", &root().join("deploy/examples/slo.yaml").to_string_lossy()]).await?;
    let node = bed.nodes[SICK].name.clone();
    let names = [
        ("INCIDENT", incident.as_str()),
        ("NAMESPACE", "default"),
        ("NODE", &node),
        ("POD", "train-7-1"),
        ("JOB", "train-7-1"),
        ("QUEUE", "default"),
        ("RULE", "gpu-off-the-bus"),
        ("SLO", "research-jobs"),
    ];
    let mut commands = BTreeSet::new();
    for (page, text) in pages()? {
        // The blocks of a numbered step are indented.
        let plain: String = text
            .lines()
            .map(|line| format!("{}\n", line.strip_prefix("   ").or_else(|| line.strip_prefix("  ")).unwrap_or(line)))
            .collect();
        commands
            .extend(document::blocks(&page, &plain)?.into_iter().flat_map(|block| block.commands).map(|one| one.text));
    }
    ensure!(commands.len() >= COMMANDS_MIN, "{} commands", commands.len());
    let (mut failed, mut path) = (Vec::new(), std::ffi::OsString::new());
    for program in [bed.cluster.kubectl(), PathBuf::from(env!("CARGO_BIN_EXE_mainstay"))] {
        path.push(program.parent().context("a folder")?);
        path.push(":");
    }
    path.push(std::env::var_os("PATH").unwrap_or_default());
    for printed in &commands {
        let text = names.iter().fold(printed.clone(), |text, (name, value)| replaced(&text, name, value));
        let mut bash = Command::new("bash");
        bash.args(["-c", &text]).env("PATH", &path).env("KUBECONFIG", bed.cluster.kubeconfig());
        bash.current_dir(root()).stdin(Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(COMMAND_LIMIT, bash.output()).await;
        let output = output.with_context(|| format!("{text} did not end"))??;
        let may_need_operator = text.starts_with("mainstay status") || text.starts_with("mainstay doctor");
        let code = output.status.code().unwrap_or(-1);
        if code != 0 && !(may_need_operator && code == NEEDS_OPERATOR) {
            failed.push(format!("{text}: exit code {code}: {}", String::from_utf8_lossy(&output.stderr)));
        }
    }
    ensure!(failed.is_empty(), "{} of {} commands fail:\n{}", failed.len(), commands.len(), failed.join("\n"));
    Ok(())
}

/// Replaces a placeholder, but not where it is a part of a longer name.
fn replaced(text: &str, name: &str, value: &str) -> String {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let (mut done, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        done.push_str(before);
        let is_word = !is_part(before.chars().last()) && !is_part(after.chars().next());
        done.push_str(if is_word { value } else { name });
        rest = after;
    }
    done + rest
}
