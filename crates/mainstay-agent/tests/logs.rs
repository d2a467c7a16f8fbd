//! The log of the running daemon: one event is one line in both formats, whatever a value contains.

#![cfg(test)]

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use testbed::{SOON, TestProcess};

/// A directory whose name forges a log line, if it were written as it is.
const FORGES_A_LINE: &str = "a\n{\"level\":\"error\",\"message\":\"forged\"}\n";

fn daemon(folder: &TempDir, more: &[&str]) -> Command {
    let (sys, state) = (folder.path().join("sys"), folder.path().join(FORGES_A_LINE));
    fs::create_dir_all(sys.join("bus/pci/devices")).unwrap();
    fs::create_dir_all(&state).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay-agent"));
    command.arg("run").arg("--sys").arg(&sys).arg("--root").arg(folder.path()).arg("--state").arg(state.join("s.json"));
    command.args(["--nvml", "/opt/nowhere/libnvidia-ml.so.1", "--disable", "kernel-log,infiniband"]);
    command.args(["--listen", "127.0.0.1:0"]).arg("--control").arg(folder.path().join("c.sock")).args(more);
    command.env_remove("KUBERNETES_SERVICE_HOST");
    command
}

#[test]
fn json_lines_have_time_level_target_and_message_and_an_injected_line_break_stays_escaped() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("sys/module/nvidia")).unwrap();
    let mut agent = TestProcess::start(&mut daemon(&folder, &["--log-format", "json"])).unwrap();
    let mut lines = vec![agent.next_json().unwrap()];
    lines.push(agent.wait_for(|line| line["message"] == "source unavailable").unwrap());
    assert!(agent.terminate().unwrap().success());
    let rest = agent.remaining_lines();
    lines.extend(rest.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    for line in &lines {
        let time = line["time"].as_str().and_then(|time| time.parse::<jiff::Timestamp>().ok());
        assert!(time.is_some() && line["target"].as_str().unwrap().starts_with("mainstay_agent"), "{line}");
        assert!(["info", "warn"].contains(&line["level"].as_str().unwrap()) && line["message"].is_string(), "{line}");
    }
    let state = folder.path().join(FORGES_A_LINE).join("s.json");
    assert_eq!((&lines[0]["message"], &lines[0]["state"]), (&"agent started".into(), &state.to_str().unwrap().into()));
    assert_eq!((&lines[1]["level"], &lines[1]["source"]), (&"warn".into(), &"nvml".into()));
    let last = lines.last().unwrap();
    assert_eq!((&last["message"], &last["signal"]), (&"agent stopping".into(), &"SIGTERM".into()));
}

#[test]
fn text_has_one_line_for_each_event_and_a_problem_is_an_event_of_level_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = TestProcess::start(&mut daemon(&folder, &["--disable", "nvml"])).unwrap();
    // Written by the loop that also waits for signals.
    let state = folder.path().join(FORGES_A_LINE).join("s.json");
    let began = Instant::now();
    while !state.exists() {
        assert!(began.elapsed() < SOON, "{}", agent.standard_error());
        std::thread::park_timeout(Duration::from_millis(10));
    }
    // A second agent with the same state file ends at once.
    let second = daemon(&folder, &["--log-format", "json"]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let log: Vec<Value> =
        String::from_utf8(second.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [failed] = log.as_slice() else { panic!("{log:?}") };
    assert_eq!((&failed["level"], &failed["message"]), (&"error".into(), &"agent failed".into()));
    assert!(failed["what"].as_str().unwrap().starts_with("another agent uses "), "{failed}");
    assert!(String::from_utf8(second.stderr).unwrap().starts_with("problem: another agent uses "));

    assert!(agent.terminate().unwrap().success());
    let lines = agent.remaining_lines();
    assert!(lines.len() >= 2, "{lines:?}");
    for line in &lines {
        let mut words = line.split_whitespace();
        let time = words.next().and_then(|time| time.parse::<jiff::Timestamp>().ok());
        assert!(time.is_some() && ["INFO", "WARN"].contains(&words.next().unwrap()), "{lines:?}");
        assert!(words.next().unwrap().starts_with("mainstay_agent"), "{lines:?}");
    }
    assert!(
        lines[0].contains(": agent started version=") && lines[0].contains(r#"\n{\"level\":\"error\""#),
        "{lines:?}"
    );
}
