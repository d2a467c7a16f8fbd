//! The program's report and what the engine makes of it: GPUs that the agent cannot list are not missing, and GPUs that a
//! working NVML does not list are.

#![cfg(test)]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use fake_nvml::{FakeNode, Profile, State};
use mainstay_api::NodeReportSpec;
use mainstay_engine::Engine;
use mainstay_model::{
    CellFacts, Epoch, Fact, Mode, NodeFacts, NodeName, Observation, PlannedWork, Ready, Report, Schedulable, Timestamp,
};
use testbed::{SOON, TestProcess};

fn asked(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200").then(|| body.to_owned())
}

/// The first report of an agent on a node with a loaded driver, its metrics, and its log so far.
fn report(library: &Path) -> (NodeReportSpec, String, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (sys, root) = (folder.path().join("sys"), folder.path().join("root"));
    fs::create_dir_all(sys.join("module/nvidia")).unwrap();
    fs::create_dir_all(sys.join("bus/pci/devices")).unwrap();
    fs::create_dir_all(&root).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay-agent"));
    command.arg("run").arg("--sys").arg(&sys).arg("--root").arg(&root).arg("--nvml").arg(library);
    command.args(["--log-format", "json", "--disable", "kernel-log", "--listen", "127.0.0.1:0", "--state"]);
    let mut agent = TestProcess::start(command.arg(folder.path().join("state.json"))).unwrap();
    let address = agent.next_text("listen").unwrap();
    let begun = Instant::now();
    loop {
        if let Some(report) = asked(&address, "/report") {
            let metrics = asked(&address, "/metrics").unwrap();
            return (serde_json::from_str(&report).unwrap(), metrics, agent.remaining_lines());
        }
        assert!(begun.elapsed() < SOON, "no report");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

/// The rules that the engine finds on a node which should have eight GPUs.
fn rules(report: &NodeReportSpec) -> Vec<String> {
    decided(report).found(&"n1".parse().unwrap()).iter().map(|finding| finding.rule.to_string()).collect()
}

/// An engine that decided on one node with this report.
fn decided(report: &NodeReportSpec) -> Engine {
    let (node, now): (NodeName, Timestamp) = ("n1".parse().unwrap(), Timestamp(1_772_705_472_000));
    let report = Report::try_from(report).unwrap();
    let facts = NodeFacts {
        uid: report.uid.clone(),
        domains: std::collections::BTreeMap::new(),
        pool: "train".parse().unwrap(),
        gpus: 8,
        ready: Ready::Yes,
        schedulable: Schedulable::Yes,
        planned: PlannedWork::Nothing,
        avoided: false,
        power: mainstay_model::Power::Unknown,
    };
    let mut engine = Engine::new();
    for fact in [
        Fact::Cell(CellFacts { epoch: Epoch(1), mode: Mode::Observe, ..CellFacts::default() }),
        Fact::Node { node: node.clone(), facts: Box::new(facts) },
        Fact::Report { node, report: Box::new(report) },
        Fact::Synced { as_of: now },
    ] {
        engine.observe(&Observation { at: now, fact });
    }
    let _ = engine.decide(now);
    engine
}

fn library(state: &State) -> (tempfile::TempDir, FakeNode) {
    let folder = tempfile::tempdir().unwrap();
    let node = FakeNode::create(&folder.path().join("node"), state).unwrap();
    (folder, node)
}

#[test]
fn an_agent_without_nvml_reports_unknown_gpus_and_none_is_missing() {
    let path = "/opt/nowhere/libnvidia-ml.so.1";
    let (report, metrics, log) = report(Path::new(path));
    let why = report.inventory.gpus_unavailable.clone().unwrap().to_string();
    assert!(why.starts_with(&format!("NVML library not found at {path}")), "{why}");
    assert_eq!(rules(&report), Vec::<String>::new());
    assert_eq!(decided(&report).agents().without_gpus, 1, "an operator is asked to look");
    let blind = metrics.lines().find(|line| line.contains("source_") && line.ends_with("{source=\"nvml\"} 1"));
    assert!(blind.is_some(), "{metrics}");
    let logged = log.iter().filter(|line| line.contains("source unavailable") && line.contains("not found at")).count();
    assert_eq!(logged, 1, "{log:?}");
}

#[test]
fn a_driver_that_lists_no_gpu_is_a_node_whose_gpus_are_missing() {
    let (_folder, node) = library(&State { gpus: Vec::new(), ..Profile::H100.state() });
    let (report, ..) = report(&node.library());
    assert_eq!(report.inventory.gpus_unavailable, None);
    assert_eq!(rules(&report), ["gpu-missing"]);
}

#[test]
fn a_driver_that_lists_every_gpu_is_a_node_without_findings() {
    let (_folder, node) = library(&Profile::H100.state());
    let (report, ..) = report(&node.library());
    assert_eq!((report.inventory.gpus.as_slice().len(), report.inventory.gpus_unavailable.clone()), (8, None));
    assert_eq!(rules(&report), Vec::<String>::new());
}
