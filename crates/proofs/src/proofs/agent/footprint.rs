//! Memory and CPU time of an idle agent; CPU time inside NVML calls is counted separately.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use fake_kernel::{Files, Line};
use tokio::time::{Instant, sleep};
use xtask::command;
use xtask::exit::Exit;

use super::gpus::Gpus;
use super::program::{self, Agent};
use super::sysfs::Sysfs;
use crate::prove::{Context, Measurement};

const LOG_BYTES: usize = 1 << 20;
const THROUGH: Duration = Duration::from_mins(10);
/// Until every source has looked twice.
const BEFORE: Duration = Duration::from_secs(40);
/// The same without anything held between looks, for comparison.
const THROUGH_OPENING: Duration = Duration::from_mins(2);
const RESIDENT_MOST_KIB: u64 = 32 * 1024;
/// How often an irrelevant line is logged.
const CHATTER: Duration = Duration::from_secs(5);
const BUILD_LIMIT: Duration = Duration::from_mins(15);

pub(super) async fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let program = build(context).await?;
    let files = Files::serve(LOG_BYTES)?;
    let sysfs = Sysfs::full()?;
    let gpus = Gpus::new(&sysfs)?;
    // The last two say that GPUs are looked at every second, for other proofs.
    let nvml = gpus.args().into_iter().take(4);
    let reads = program::reads(&files.log_path(), sysfs.path()).into_iter().take(4);
    let state = gpus.folder().join("state.json").into_os_string();
    let daemon = ["--state".into(), state, "--listen".into(), "127.0.0.1:0".into()];
    let mut args: Vec<OsString> = reads.chain(nvml).chain(daemon).collect();
    let held = through(&program, &args, &files, THROUGH).await?;
    args.extend(["--nvml-hold".into(), "nothing".into()]);
    let opening = through(&program, &args, &files, THROUGH_OPENING).await?;
    ensure!(held.peak_kib <= RESIDENT_MOST_KIB, "the agent held {} KiB", held.peak_kib);
    let detail = format!(
        "through {} s: {} ms on a processor without NVML and {} ms within it ({} millionths; the fake's own work), by thread in millionths: {}; resident {} KiB, at most {} KiB; with NVML opened for every look {} millionths without and {} within it, at most {} KiB; the program has {} KiB",
        THROUGH.as_secs(),
        held.ours_micros / 1_000,
        held.nvml_micros / 1_000,
        held.share(held.nvml_micros),
        held.by_thread.join(", "),
        held.now_kib,
        held.peak_kib,
        opening.share(opening.ours_micros),
        opening.share(opening.nvml_micros),
        opening.peak_kib,
        std::fs::metadata(&program)?.len() / 1024,
    );
    Ok(Measurement { value: i64::try_from(held.share(held.ours_micros))?, detail })
}

/// CPU time and memory of one agent process.
struct Footprint {
    wall_micros: u128,
    ours_micros: u64,
    nvml_micros: u64,
    by_thread: Vec<String>,
    now_kib: u64,
    peak_kib: u64,
}

impl Footprint {
    /// In millionths of a core.
    fn share(&self, micros: u64) -> u128 {
        u128::from(micros) * 1_000_000 / self.wall_micros.max(1)
    }
}

async fn through(program: &Path, args: &[OsString], files: &Files, length: Duration) -> anyhow::Result<Footprint> {
    let mut agent = Agent::start(program, "run", args)?;
    let (address, pid) = (agent.listening().await?, agent.pid()?);
    sleep(BEFORE).await;
    let begun = Instant::now();
    let (before, nvml_before) = (threads(pid)?, nvml_micros(&address).await?);
    while begun.elapsed() < length {
        sleep(CHATTER).await;
        files.write(Line::text("usb 1-1: new high-speed USB device number 7 using xhci_hcd"));
    }
    let (after, nvml_after) = (threads(pid)?, nvml_micros(&address).await?);
    let wall_micros = begun.elapsed().as_micros();
    let of = |threads: &[(String, u64)], name: &str| {
        threads.iter().filter(|(other, _)| other == name).map(|(_, nanos)| nanos / 1_000).sum::<u64>()
    };
    let names: BTreeSet<&String> = after.iter().map(|(name, _)| name).collect();
    let each: Vec<(&String, u64)> =
        names.into_iter().map(|name| (name, of(&after, name).saturating_sub(of(&before, name)))).collect();
    let nvml_micros = nvml_after - nvml_before;
    let mut taken = Footprint {
        wall_micros,
        ours_micros: each.iter().map(|(_, micros)| micros).sum::<u64>().saturating_sub(nvml_micros),
        nvml_micros,
        by_thread: Vec::new(),
        now_kib: program::status_kib(pid, "VmRSS:")?,
        peak_kib: program::status_kib(pid, "VmHWM:")?,
    };
    taken.by_thread = each.iter().map(|(name, micros)| format!("{name} {}", taken.share(*micros))).collect();
    agent.terminate().await?;
    Ok(taken)
}

/// The agent as it ships.
async fn build(context: &Context) -> anyhow::Result<PathBuf> {
    let mut cargo = command::cargo(&context.workspace.root);
    let args = ["build", "--quiet", "--release", "--package", "mainstay-agent"];
    let built = command::holds(cargo.args(args), BUILD_LIMIT).await?;
    ensure!(built == Exit::Holds, "mainstay-agent could not be built");
    Ok(context.workspace.target_dir.join("release/mainstay-agent"))
}

async fn nvml_micros(address: &str) -> anyhow::Result<u64> {
    let metrics = program::metrics(address).await?;
    metrics.get("mainstay_agent_nvml_cpu_microseconds_total").copied().context("no time within NVML")
}

/// Time on a processor, of every thread, in the scheduler's own nanoseconds.
fn threads(pid: u32) -> anyhow::Result<Vec<(String, u64)>> {
    let mut threads = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/task")).context("the agent ended")? {
        let folder = entry?.path();
        let name = std::fs::read_to_string(folder.join("comm"))?.trim().to_owned();
        let text = std::fs::read_to_string(folder.join("schedstat"))?;
        let nanos = text.split_whitespace().next().context("no schedstat")?.parse()?;
        threads.push((name, nanos));
    }
    Ok(threads)
}
