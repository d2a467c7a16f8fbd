//! Memory and CPU time of the shipped agent, idle and in a flood of unknown lines; CPU time inside NVML calls is counted
//! separately.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use fake_kernel::{Files, Line};
use tokio::time::{Instant, interval, sleep};
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
/// An idle node: an irrelevant line now and then.
const IDLE: Chatter = Chatter { pause: Duration::from_secs(5), lines: 1, line: irrelevant };
/// A thousand lines a second, in bursts as drivers print them.
const UNKNOWN: Chatter = Chatter { pause: Duration::from_millis(10), lines: 10, line: unknown };
const IRRELEVANT: Chatter = Chatter { line: irrelevant, ..UNKNOWN };
const THROUGH_FLOOD: Duration = Duration::from_mins(2);
/// Lines of a tenth of a second.
const LATE_LINES_MAX: u64 = 100;
const BUILD_LIMIT: Duration = Duration::from_mins(15);

pub(super) async fn idle(context: &Context) -> anyhow::Result<Measurement> {
    let node = Node::new(context).await?;
    let held = node.through(&[], &IDLE, THROUGH).await?;
    let opening = node.through(&["--nvml-hold", "nothing"], &IDLE, THROUGH_OPENING).await?;
    held.check_memory()?;
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
        std::fs::metadata(&node.program)?.len() / 1024,
    );
    Ok(Measurement { value: i64::try_from(held.share(held.ours_micros))?, detail })
}

/// A node that prints a thousand unknown error lines a second, compared with one that prints as many irrelevant lines.
pub(super) async fn unknown_lines(context: &Context) -> anyhow::Result<Measurement> {
    let node = Node::new(context).await?;
    let irrelevant = node.through(&[], &IRRELEVANT, THROUGH_FLOOD).await?;
    let unknown = node.through(&[], &UNKNOWN, THROUGH_FLOOD).await?;
    unknown.check_memory()?;
    let detail = format!(
        "through {} s: {} lines a second, by thread in millionths: {}; resident at most {} KiB; with as many irrelevant lines {} millionths, by thread {}, at most {} KiB",
        THROUGH_FLOOD.as_secs(),
        unknown.lines_a_second,
        unknown.by_thread.join(", "),
        unknown.peak_kib,
        irrelevant.share(irrelevant.ours_micros),
        irrelevant.by_thread.join(", "),
        irrelevant.peak_kib,
    );
    Ok(Measurement { value: i64::try_from(unknown.share(unknown.ours_micros))?, detail })
}

/// What a node prints to its kernel log.
struct Chatter {
    pause: Duration,
    /// Lines after each pause.
    lines: u64,
    line: fn(u64) -> String,
}

fn irrelevant(number: u64) -> String {
    format!("usb 1-{}: new high-speed USB device number {number} using xhci_hcd", number % 9)
}

fn unknown(number: u64) -> String {
    format!("newaccel 0000:13:00.0: lane {number} failed with status 0x{number:08x}")
}

/// The agent as it ships, and a node with GPUs and adapters for it.
struct Node {
    program: PathBuf,
    files: Files,
    sysfs: Sysfs,
    gpus: Gpus,
}

impl Node {
    async fn new(context: &Context) -> anyhow::Result<Self> {
        let program = build(context).await?;
        let sysfs = Sysfs::full()?;
        Ok(Self { program, files: Files::serve(LOG_BYTES)?, gpus: Gpus::new(&sysfs)?, sysfs })
    }

    async fn through(&self, more: &[&str], chatter: &Chatter, length: Duration) -> anyhow::Result<Footprint> {
        // The last two say that GPUs are looked at every second, for other proofs.
        let nvml = self.gpus.args().into_iter().take(4);
        let reads = program::reads(&self.files.log_path(), self.sysfs.path()).into_iter().take(4);
        let state = self.gpus.folder().join("state.json").into_os_string();
        let daemon = ["--state".into(), state, "--listen".into(), "127.0.0.1:0".into()];
        let args: Vec<OsString> = reads.chain(nvml).chain(daemon).chain(more.iter().map(OsString::from)).collect();
        through(&self.program, &args, &self.files, chatter, length).await
    }
}

/// CPU time and memory of one agent process.
struct Footprint {
    wall_micros: u128,
    ours_micros: u64,
    nvml_micros: u64,
    by_thread: Vec<String>,
    lines_a_second: u128,
    now_kib: u64,
    peak_kib: u64,
}

impl Footprint {
    /// In millionths of a core.
    fn share(&self, micros: u64) -> u128 {
        u128::from(micros) * 1_000_000 / self.wall_micros.max(1)
    }

    fn check_memory(&self) -> anyhow::Result<()> {
        ensure!(self.peak_kib <= RESIDENT_MOST_KIB, "the agent held {} KiB", self.peak_kib);
        Ok(())
    }
}

async fn through(
    program: &Path,
    args: &[OsString],
    files: &Files,
    chatter: &Chatter,
    length: Duration,
) -> anyhow::Result<Footprint> {
    let mut agent = Agent::start(program, "run", args)?;
    let (address, pid) = (agent.listening().await?, agent.pid()?);
    sleep(BEFORE).await;
    let begun = Instant::now();
    let (before, nvml_before, read_before) = (threads(pid)?, nvml_micros(&address).await?, lines_read(&address).await?);
    let mut written = 0;
    let mut pauses = interval(chatter.pause);
    while begun.elapsed() < length {
        pauses.tick().await;
        for _ in 0..chatter.lines {
            files.write(Line::text(&(chatter.line)(written)));
            written += 1;
        }
    }
    let (after, nvml_after) = (threads(pid)?, nvml_micros(&address).await?);
    let wall_micros = begun.elapsed().as_micros();
    // The last lines may still be on their way.
    let read = lines_read(&address).await? - read_before;
    ensure!(read + LATE_LINES_MAX >= written, "the agent read {read} of {written} lines");
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
        lines_a_second: u128::from(written) * 1_000_000 / wall_micros.max(1),
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

async fn lines_read(address: &str) -> anyhow::Result<u64> {
    Ok(program::counter(&program::metrics(address).await?, "mainstay_agent_kernel_records_read_total"))
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
