//! Fleet metrics of the agent on a fake node: every value of a GPU, at most twenty series per GPU, and counters of the node.

#![cfg(test)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use fake_nvml::state::{EccCounter, LinkCounter, Process};
use fake_nvml::{Effect, FakeNode, Growth, Profile};
use tempfile::TempDir;
use testbed::TestProcess;

/// Series that one GPU may have, by the issue that asked for them.
const SERIES_MAX: usize = 20;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{text}\n")).unwrap();
}

/// Host files with one adapter and one OOM kill.
fn host(folder: &Path) {
    fs::create_dir_all(folder.join("sys/module/nvidia")).unwrap();
    fs::create_dir_all(folder.join("sys/bus/pci/devices")).unwrap();
    fs::create_dir_all(folder.join("root")).unwrap();
    let device = folder.join("sys/devices/0000:18:00.0");
    fs::create_dir_all(&device).unwrap();
    let class = folder.join("sys/class/infiniband/mlx5_0");
    write(&class.join("ports/1/state"), "4: ACTIVE");
    write(&class.join("ports/1/hw_counters/np_cnp_sent"), "41");
    std::os::unix::fs::symlink(&device, class.join("device")).unwrap();
    // Longer than a page, as the real one is.
    let padding: String = (0..600).map(|number| format!("nr_other_{number} 7\n")).collect();
    write(&folder.join("proc/vmstat"), &format!("{padding}oom_kill 3\nnr_last 1"));
    write(&folder.join("proc/sys/kernel/random/boot_id"), "00000000-0000-4000-8000-000000000001");
}

fn scrape(address: &str) -> BTreeMap<String, i64> {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let body = text.split_once("\r\n\r\n").unwrap().1;
    let series = body.lines().filter(|line| !line.starts_with('#'));
    series
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

/// Scrapes until a series has this value.
fn wait_for(address: &str, series: &str, value: i64) -> BTreeMap<String, i64> {
    let begun = Instant::now();
    loop {
        let all = scrape(address);
        if all.get(series) == Some(&value) {
            return all;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{series} is not {value}: {all:#?}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

#[test]
fn a_gpu_has_every_value_in_at_most_twenty_series_and_the_node_has_its_counters() {
    let folder = TempDir::new().unwrap();
    host(folder.path());
    let mut state = Profile::H100.state();
    let size = state.gpus[3].memory_bytes;
    state.gpus[3].processes.push(Process { pid: 7, name: "train".to_owned(), memory_bytes: 5_000_000_000 });
    let uuid = state.gpus[3].uuid.clone();
    let once = |by: u64| Growth { every_ms: 0, by, up_to: by };
    state.fault(3, 0, Effect::Ecc { counter: EccCounter::SramCorrected, growth: once(2) });
    state.fault(3, 0, Effect::Ecc { counter: EccCounter::DramCorrected, growth: once(5) });
    state.fault(3, 0, Effect::NvlinkErrors { link: 4, counter: LinkCounter::CrcFlit, growth: once(11) });
    state.fault(3, 0, Effect::NvlinkErrors { link: 9, counter: LinkCounter::Recovery, growth: once(1) });
    state.fault(3, 0, Effect::PcieReplays { growth: once(6) });
    let node = FakeNode::create(&folder.path().join("node"), &state).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay-agent"));
    command.args(["run", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    command.args(["--disable", "kernel-log", "--disable", "journal"]);
    for (option, path) in [("--sys", "sys"), ("--root", "root"), ("--proc", "proc"), ("--state", "state.json")] {
        command.arg(option).arg(folder.path().join(path));
    }
    let agent = TestProcess::start(command.arg("--nvml").arg(node.library())).unwrap();
    let address = agent.next_json().unwrap()["listen"].as_str().unwrap().to_owned();

    let of = |name: &str| format!("mainstay_agent_gpu_{name}{{gpu=\"3\",uuid=\"{uuid}\"}}");
    wait_for(&address, "mainstay_agent_rdma_cnp_sent_total", 41);
    let all = wait_for(&address, &of("memory_used_bytes"), 5_000_000_000);
    for (name, value) in [
        ("memory_size_bytes", i64::try_from(size).unwrap()),
        ("celsius", 34),
        ("watts_enforced", 700),
        ("busy_percent", 0),
        ("pcie_transmit_bytes_total", 3_000_000_003),
        ("pcie_receive_bytes_total", 9_000_000_003),
        ("pcie_replays_total", 6),
        ("nvlinks_up", 18),
        ("nvlink_errors_total", 12),
        ("ecc_corrected_total", 7),
        ("ecc_uncorrected_total", 0),
    ] {
        assert_eq!(all.get(&of(name)), Some(&value), "{name}: {all:#?}");
    }
    for gpu in 0..8 {
        let series = all.keys().filter(|name| name.contains(&format!("{{gpu=\"{gpu}\""))).count();
        assert!((15..=SERIES_MAX).contains(&series), "GPU {gpu} has {series} series: {all:#?}");
    }
    assert_eq!(all["mainstay_agent_oom_kills_total"], 3);
    assert_eq!(all["mainstay_agent_driver_restarts_total"], 0);
    assert!(!all.contains_key("mainstay_agent_rdma_cnp_handled_total"), "no port counts it");

    // The driver goes and comes back, as an upgrade does.
    fs::remove_dir(folder.path().join("sys/module/nvidia")).unwrap();
    wait_for(&address, "mainstay_agent_nvml_open", 0);
    std::thread::park_timeout(Duration::from_secs(1));
    fs::create_dir_all(folder.path().join("sys/module/nvidia")).unwrap();
    wait_for(&address, "mainstay_agent_driver_restarts_total", 1);
}
