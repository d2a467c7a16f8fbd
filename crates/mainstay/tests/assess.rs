//! `mainstay assess` on the command line, with the logs of a small virtual fleet, compared with the ground truth.

#![cfg(test)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn mainstay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mainstay")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A fleet with high fault rates, so that a month shows every kind of fault.
fn fleet(into: &Path) {
    let into = into.display().to_string();
    let arguments = "sim logs --gpus 512 --days 45 --seed 5 --rates high --noise 2 --out";
    let arguments: Vec<&str> = arguments.split(' ').chain([into.as_str()]).collect();
    stdout(&mainstay(&arguments));
}

fn assess(fleet: &Path, more: &[&str]) -> String {
    let of = |name: &str| fleet.join(name).display().to_string();
    let (logs, nodes, tickets) = (of("logs"), of("nodes.csv"), of("tickets.csv"));
    let mut arguments = vec!["assess", &logs, "--nodes", &nodes, "--tickets", &tickets];
    arguments.extend(more);
    stdout(&mainstay(&arguments))
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn what_it_counts_is_what_the_machines_printed_by_serial() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("fleet");
    fleet(&at);
    let report: Value = serde_json::from_str(&assess(&at, &["-o", "json"])).unwrap();
    let truth = json(&at.join("truth.json"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut counted: BTreeMap<(String, String, String), u64> = BTreeMap::new();
    for part in report["parts"].as_array().unwrap() {
        for said in part["said"].as_array().unwrap() {
            let is_xid = said["source"] == "Xid";
            let code = if is_xid { text(&said["code"]) } else { "mlx5".to_owned() };
            let who = if is_xid { text(&part["serial"]) } else { text(&part["slot"]) };
            *counted.entry((text(&part["node"]), who, code)).or_default() += said["count"].as_u64().unwrap();
        }
    }
    let mut printed: BTreeMap<(String, String, String), u64> = BTreeMap::new();
    for said in truth["evidence"].as_array().unwrap() {
        let who = if said["code"] == "mlx5" { &said["slot"] } else { &said["serial"] };
        let key = (text(&said["node"]), text(who), text(&said["code"]));
        *printed.entry(key).or_default() += said["count"].as_u64().unwrap();
    }
    assert!(printed.len() > 100, "{}", printed.len());
    assert_eq!(counted, printed);
    assert_eq!(report["fleet"]["nodes"], 64);
    let ids = |list: &Value| -> Vec<String> { list.as_array().unwrap().iter().map(|one| text(&one["id"])).collect() };
    let review = &report["tickets"];
    for (planted, found) in [("wrongCause", "differentCause"), ("aboutNothing", "withoutFinding")] {
        let found = ids(&review[found]);
        for id in truth["planted"][planted].as_array().unwrap() {
            assert!(found.contains(&text(id)), "{planted} {id}: {found:?}");
        }
    }
}

#[test]
fn the_terminal_shows_one_screen_and_the_page_needs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("fleet");
    fleet(&at);
    let page = folder.path().join("fleet.html");
    let text = assess(&at, &["--html", &page.display().to_string()]);
    for said in
        ["Mainstay would have removed", "GPU-hours exposed", "tickets:", "GPU serials known", "Complete report: "]
    {
        let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(unwrapped.contains(said.trim()), "{said}\n{text}");
    }
    assert!(text.lines().count() <= 45, "{text}");
    let fleet = at.display().to_string();
    assert!(text.lines().all(|line| line.chars().count() <= 100 || line.contains(&fleet)), "{text}");
    let page = std::fs::read_to_string(page).unwrap();
    for said in ["<svg", "What Mainstay would have done", "Tickets compared with findings", "prefers-color-scheme:dark"]
    {
        assert!(page.contains(said), "{said}");
    }
    for fetched in ["<script", "http://", "https://", "url(", "@import", "<link", "<img"] {
        assert!(!page.contains(fetched), "{fetched}");
    }
}

#[test]
fn one_log_on_standard_input_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("r1n1.log");
    let line = "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";
    std::fs::write(&log, format!("[Thu Mar  5 10:11:12 2026] {line}\n[Fri Mar  6 23:00:00 2026] eth0: up\n")).unwrap();
    let text = stdout(&mainstay(&["assess", &log.display().to_string()]));
    assert!(text.starts_with("1 node over 2 days: Mainstay would have removed 1 node from service, 1 time."), "{text}");
    assert!(text.contains("drain, reboot"), "{text}");
}

#[test]
fn what_cannot_be_done_says_what_detail_and_hint() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("r1n1.log");
    std::fs::write(&log, "no time at all\n").unwrap();
    let untimed = stdout(&mainstay(&["assess", &log.display().to_string()]));
    assert!(untimed.contains("1 time estimated"), "{untimed}");
    let log = log.display().to_string();
    for (arguments, said) in [
        (vec!["assess"], "no input given"),
        (vec!["assess", "/no/such/file"], "cannot read /no/such/file"),
        (vec!["assess", &log, "--since", "yesterday"], "invalid time: yesterday"),
        (vec!["assess", "--prometheus", "http://127.0.0.1:9", "--since", "2026-01-01"], "cannot reach Prometheus"),
        (vec!["assess", "--prometheus", "http://127.0.0.1:9"], "needs a start time"),
        (vec!["assess", "--prometheus", "https://127.0.0.1:9", "--since", "2026-01-01"], "only http://"),
    ] {
        let output = mainstay(&arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(said) && error.contains("hint:"), "{arguments:?}: {error}");
    }
}

const OFF_THE_BUS: &str =
    "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";

#[test]
fn a_fault_in_the_last_line_of_a_log_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("r1n1.log");
    for before in ["", "[Thu Mar  5 09:00:00 2026] eth0: up\n"] {
        std::fs::write(&log, format!("{before}[Thu Mar  5 10:11:12 2026] {OFF_THE_BUS}\n")).unwrap();
        let text = stdout(&mainstay(&["assess", &log.display().to_string()]));
        assert!(
            text.starts_with("1 node over 1 day: Mainstay would have removed 1 node from service, 1 time."),
            "{text}"
        );
    }
}

#[test]
fn help_groups_options_under_the_right_heading_and_fits_its_width() {
    let help = stdout(&mainstay(&["assess", "--help"]));
    let (before, cluster) = help.split_once("\nCluster:\n").unwrap();
    for option in ["--tickets", "--since", "--boot-time", "--max-unavailable", "--html", "--output", "--help"] {
        assert!(before.contains(option), "{option} belongs to the options above:\n{help}");
    }
    for option in ["--cluster", "--kubeconfig", "--context"] {
        assert!(cluster.contains(option), "{option} belongs to the cluster:\n{help}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
}
