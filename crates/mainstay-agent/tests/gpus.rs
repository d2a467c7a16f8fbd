//! The program on a fake node: what an operator sees of GPUs, and how the running agent is asked to close NVML.

#![cfg(test)]

use std::ffi::OsStr;
use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use fake_nvml::{Effect, FakeNode, Problem, Profile, State};
use serde_json::Value;
use tempfile::TempDir;
use testbed::TestProcess;

struct Fixture {
    node: FakeNode,
    folder: TempDir,
}

impl Fixture {
    fn new(state: &State) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("sys/module/nvidia/holders/nvidia_uvm")).unwrap();
        fs::create_dir_all(folder.path().join("sys/bus/pci/devices")).unwrap();
        fs::create_dir_all(folder.path().join("root")).unwrap();
        Self { node: FakeNode::create(&folder.path().join("node"), state).unwrap(), folder }
    }

    fn command(&self, word: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay-agent"));
        command.arg(word).stdin(Stdio::null());
        command
    }

    /// With the sources that a folder can be.
    fn reads(&self, word: &str) -> Command {
        let mut command = self.command(word);
        let (sys, root) = (self.folder.path().join("sys"), self.folder.path().join("root"));
        command.arg("--sys").arg(sys).arg("--root").arg(root).args(["--disable", "kernel-log,journal"]);
        command.arg("--nvml").arg(self.node.library());
        command
    }

    fn scan(&self, more: &[&str]) -> Output {
        self.reads("scan").args(more).output().unwrap()
    }

    fn ask(&self, args: &[&str]) -> Output {
        let socket = self.folder.path().join("state.sock");
        let (word, more) = args.split_first().unwrap();
        self.command(word).args(more).args([OsStr::new("--control"), socket.as_os_str()]).output().unwrap()
    }
}

fn wait_until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

#[test]
fn a_scan_shows_gpus_and_holds_none_afterwards() {
    let bench = Fixture::new(&Profile::H100.state());
    let calm = bench.scan(&["-o", "json"]);
    let seen: Value = serde_json::from_slice(&calm.stdout).unwrap();
    assert_eq!(calm.status.code(), Some(0), "{seen}");
    assert_eq!(seen["gpus"].as_array().unwrap().len(), 8);
    assert_eq!(seen["gpus"][3]["celsius"], 34);
    assert_eq!(seen["versions"]["driver"], "580.95.05");
    assert!(bench.node.holders().unwrap().is_empty());

    bench.node.change(|state| state.fault(3, state.now_ms(), Effect::RemapFailed)).unwrap();
    let sick = bench.scan(&[]);
    let text = String::from_utf8(sick.stdout).unwrap();
    assert_eq!(sick.status.code(), Some(4), "{text}");
    assert!(text.contains("remap-failed") && text.contains("18/18") && text.contains("700 W"), "{text}");
}

#[test]
fn a_tray_says_where_in_the_rack_it_is_and_a_node_without_a_rack_does_not() {
    let chassis = |profile: Profile| {
        let scan = Fixture::new(&profile.state()).scan(&["-o", "json"]);
        let seen: Value = serde_json::from_slice(&scan.stdout).unwrap();
        seen["versions"]["more"]["chassis of GPUs"].clone()
    };
    assert_eq!(chassis(Profile::Gb200Tray), "1820224N0A7 slot 12 tray 4");
    assert_eq!(chassis(Profile::H100), Value::Null);
}

#[test]
fn a_scan_of_a_driver_that_hangs_says_where_and_ends() {
    let bench = Fixture::new(&Profile::H100.state());
    let hang = Effect::Hang { symbol: "nvmlDeviceGetUUID".to_owned(), manner: fake_nvml::HangMode::Sleep };
    bench.node.change(|state| state.fault(2, 0, hang)).unwrap();
    let begun = Instant::now();
    let hung = bench.scan(&[]);
    let text = String::from_utf8(hung.stdout).unwrap();
    assert_eq!(hung.status.code(), Some(5), "{text}");
    assert!(text.contains("identity of GPU 2"), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(15));
}

#[test]
fn the_running_agent_lets_go_when_asked_and_takes_it_up_again() {
    let bench = Fixture::new(&Profile::H100.state());
    let refused = bench.ask(&["release"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("cannot reach the agent"));

    let mut command = bench.reads("run");
    command.arg("--state").arg(bench.folder.path().join("state.json")).args(["--listen", "127.0.0.1:0"]);
    let agent = TestProcess::start(&mut command).unwrap();
    let holds = || bench.node.holders().unwrap().iter().any(|holder| holder.pid == agent.id());
    wait_until(holds);
    assert!(matches!(bench.node.unload_driver(), Err(Problem::InUse { .. })));
    let said = bench.ask(&["release", "--for", "1m"]);
    assert!(said.status.success() && String::from_utf8_lossy(&said.stdout).contains("NVML closed"), "{said:?}");
    bench.node.unload_driver().unwrap();
    bench.node.load_driver(None).unwrap();
    let wrong = bench.ask(&["release", "--for", "2d"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(bench.ask(&["hold"]).status.success());
    wait_until(holds);

    // An order outlives the agent that took it, also one that is killed.
    assert!(bench.ask(&["release", "--for", "1m"]).status.success());
    drop(agent);
    let mut command = bench.reads("run");
    command.arg("--state").arg(bench.folder.path().join("state.json")).args(["--listen", "127.0.0.1:0"]);
    let again = TestProcess::start(&mut command).unwrap();
    // Without the order it has NVML open within half a second.
    std::thread::park_timeout(Duration::from_secs(2));
    assert!(bench.node.holders().unwrap().is_empty(), "it took NVML up against the order");
    assert!(bench.ask(&["hold"]).status.success());
    wait_until(|| bench.node.holders().unwrap().iter().any(|holder| holder.pid == again.id()));
}

/// Processor time of a process so far, in seconds.
fn cpu_seconds(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: f64 = [11, 12].iter().map(|at| fields[*at].parse::<f64>().unwrap()).sum();
    ticks / 100.0
}

#[test]
fn an_agent_with_a_plain_file_as_kernel_log_waits_and_reports_it() {
    let bench = Fixture::new(&Profile::H100.state());
    let log = bench.folder.path().join("kern.log");
    fs::write(&log, "[Thu Mar  5 10:11:12 2026] NVRM: Xid (PCI:0000:1b:00): 79, x\n").unwrap();
    let (sys, root) = (bench.folder.path().join("sys"), bench.folder.path().join("root"));
    let reads = |word: &str| {
        let mut command = bench.command(word);
        command.arg("--sys").arg(&sys).arg("--root").arg(&root).arg("--kmsg").arg(&log);
        command.arg("--nvml").arg(bench.node.library());
        command
    };
    let scan = reads("scan").output().unwrap();
    let text = String::from_utf8(scan.stdout).unwrap();
    assert_eq!(scan.status.code(), Some(5), "{text}");
    assert!(text.contains("not a kernel log device; set --kmsg to /dev/kmsg"), "{text}");
    let state = bench.folder.path().join("state.json");
    let mut run = reads("run");
    run.arg("--state").arg(&state).args(["--listen", "127.0.0.1:0"]);
    let running = TestProcess::start(&mut run).unwrap();
    wait_until(|| state.exists());
    let before = cpu_seconds(running.id());
    std::thread::park_timeout(Duration::from_secs(3));
    let spent = cpu_seconds(running.id()) - before;
    assert!(spent < 0.5, "{spent} s of processor time in 3 s");
}
