//! Driver unloads, GPU resets and MIG changes are never refused because of the agent, and the agent stops in time during any
//! hang.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use fake_kernel::Files;
use fake_nvml::state::{MigInstance, MigMode};
use fake_nvml::{Effect, HangMode, Problem, Profile};
use serde_json::Value;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use super::gpus::Gpus;
use super::program::{self, Agent};
use super::sysfs::Sysfs;
use crate::prove::{Context, Measurement};

const ROUNDS: u32 = 200;
/// Of each ten: six after an order, three after a sign that the driver goes, one after a sign of a reset.
const TEN: u32 = 10;
const LOG_BYTES: usize = 1 << 20;
const BACK_MOST: Duration = Duration::from_secs(30);
/// Longest time until a signal is noticed: one wait, one look, and a busy machine.
const LET_GO_MOST: Duration = Duration::from_secs(5);
const END_MOST: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(20);

/// Functions at every point of a visit.
const HANGS: [&str; 13] = [
    "*",
    "nvmlInit_v2",
    "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetSerial",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetGpuFabricInfoV",
    "nvmlEventSetCreate",
    "nvmlDeviceRegisterEvents",
    "nvmlEventSetWait_v2",
    "nvmlEventSetFree",
    "nvmlShutdown",
];

/// A driver operation that an operator starts and the agent must not block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DriverOperation {
    Unload,
    Reset,
    Mig,
}

/// The order or signal after which the agent must release the driver.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReleaseTrigger {
    /// `mainstay-agent release`.
    Order,
    /// The module on top of the driver goes.
    Stripped,
    /// The persistence daemon ends.
    Unkept,
    /// The driver wants a reset.
    Wanted,
    /// A mode of MIG waits for one.
    Pending,
    /// A GPU fell off the bus.
    Lost,
}

fn plan(round: u32) -> (ReleaseTrigger, DriverOperation) {
    match round % TEN {
        0 | 3 => (ReleaseTrigger::Order, DriverOperation::Unload),
        1 | 4 => (ReleaseTrigger::Order, DriverOperation::Reset),
        2 | 5 => (ReleaseTrigger::Order, DriverOperation::Mig),
        6 | 8 => (ReleaseTrigger::Stripped, DriverOperation::Unload),
        7 => (ReleaseTrigger::Unkept, DriverOperation::Unload),
        _ => match round / TEN % 3 {
            0 => (ReleaseTrigger::Wanted, DriverOperation::Reset),
            1 => (ReleaseTrigger::Pending, DriverOperation::Reset),
            _ => (ReleaseTrigger::Lost, DriverOperation::Reset),
        },
    }
}

pub(super) async fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let program = program::build(context).await?;
    let files = Files::serve(LOG_BYTES)?;
    let sysfs = Sysfs::new(None)?;
    let gpus = Gpus::new(&sysfs)?;
    let mut args = [program::reads(&files.log_path(), sysfs.path()), gpus.args()].concat();
    let state = gpus.folder().join("state.json");
    args.extend(["--state".into(), state.clone().into_os_string(), "--listen".into(), "127.0.0.1:0".into()]);
    let mut agent = Agent::start(&program, "run", &args)?;
    let (address, pid) = (agent.listening().await?, agent.pid()?);
    let mut host = Host { program: program.clone(), gpus, pid, address, state, seen: WorstCase::default() };
    host.wait_until_recovered().await?;
    let first_kib = host.resident_kib()?;
    let rounds_before = host.rounds().await?;
    for round in 0..ROUNDS {
        let (before, act) = plan(round);
        host.round(round, before, act).await.with_context(|| format!("round {round}"))?;
    }
    let rounds_after = host.rounds().await?;
    for (source, before) in &rounds_before {
        let after = rounds_after.iter().find(|(name, _)| name == source).map_or(0, |(_, count)| *count);
        ensure!(after > *before || source.contains("versions"), "{source} stood still");
    }
    let last_kib = host.resident_kib()?;
    let stop = agent.terminate().await?;
    ensure!(stop <= END_MOST, "SIGTERM took {stop:?}");
    let worst_end = hangs(&program, &files, &sysfs).await?;
    let WorstCase { refused, by_order, by_sign, back } = host.seen;
    let detail = format!(
        "{ROUNDS} rounds: let go within {} ms of an order and {} ms of a signal, all sources back within {:.1} s; resident {first_kib} KiB before and {last_kib} KiB after; SIGTERM took {} ms without a hang and at most {} ms in {} hangs",
        by_order.as_millis(),
        by_sign.as_millis(),
        back.as_secs_f64(),
        stop.as_millis(),
        worst_end.as_millis(),
        HANGS.len() * 2,
    );
    Ok(Measurement { value: i64::from(refused), detail })
}

/// Refused operations, and the longest release and recovery times.
#[derive(Default)]
struct WorstCase {
    refused: u32,
    by_order: Duration,
    by_sign: Duration,
    back: Duration,
}

/// The node, and the agent on it.
struct Host {
    program: PathBuf,
    gpus: Gpus,
    pid: u32,
    address: String,
    state: PathBuf,
    seen: WorstCase,
}

impl Host {
    async fn round(&mut self, round: u32, before: ReleaseTrigger, act: DriverOperation) -> anyhow::Result<()> {
        let gpu = round / TEN % 8;
        let begun = Instant::now();
        match before {
            ReleaseTrigger::Order => self.ask("release", &["--for", "25s"]).await?,
            ReleaseTrigger::Stripped => self.gpus.strip()?,
            ReleaseTrigger::Unkept => self.gpus.stop_keeper()?,
            ReleaseTrigger::Wanted => self.fault(gpu, Effect::RecoveryAction { action: 1 })?,
            ReleaseTrigger::Lost => self.fault(gpu, Effect::GpuLost)?,
            ReleaseTrigger::Pending => self.gpus.node.change(|state| {
                if let Some(mig) = state.gpus.get_mut(gpu as usize).and_then(|gpu| gpu.mig.as_mut()) {
                    mig.pending = if mig.current == MigMode::Enabled { MigMode::Disabled } else { MigMode::Enabled };
                }
            })?,
        }
        if before == ReleaseTrigger::Order {
            // Who asked is answered when it is so, and acts at once.
            self.seen.by_order = self.seen.by_order.max(begun.elapsed());
        } else {
            while self.gpus.held_by(self.pid)?.is_some() && begun.elapsed() < LET_GO_MOST {
                sleep(POLL).await;
            }
            self.seen.by_sign = self.seen.by_sign.max(begun.elapsed());
        }
        self.act(round, gpu, act).await?;
        if before == ReleaseTrigger::Unkept {
            self.gpus.start_keeper()?;
        }
        let begun = Instant::now();
        if before == ReleaseTrigger::Order {
            self.ask("hold", &[]).await?;
        }
        self.wait_until_recovered().await?;
        self.seen.back = self.seen.back.max(begun.elapsed());
        Ok(())
    }

    fn fault(&self, gpu: u32, effect: Effect) -> anyhow::Result<()> {
        self.gpus.node.change(|state| state.fault(gpu, state.now_ms(), effect))?;
        Ok(())
    }

    /// The operator's act. Refused is refused: nothing is tried again, except to leave the node as the next round needs it.
    async fn act(&mut self, round: u32, gpu: u32, act: DriverOperation) -> anyhow::Result<()> {
        let node = &self.gpus.node;
        let answer = match act {
            DriverOperation::Unload => node.unload_driver(),
            DriverOperation::Reset => node.reset_gpu(gpu),
            DriverOperation::Mig => {
                let whole = node.state()?.gpus.get(gpu as usize).is_none_or(|gpu| gpu.instances().is_empty());
                let (mode, into) =
                    if whole { (MigMode::Enabled, instances(round)) } else { (MigMode::Disabled, Vec::new()) };
                node.set_mig(gpu, mode, into)
            }
        };
        match answer {
            Ok(()) => {}
            Err(Problem::InUse { by }) => {
                ensure!(by.iter().all(|holder| holder.pid == self.pid), "another process holds the driver: {by:?}");
                self.seen.refused += 1;
                return Ok(());
            }
            Err(problem) => return Err(problem.into()),
        }
        if act == DriverOperation::Unload {
            self.gpus.unload_module()?;
            // As long as it takes to load another one, or nearly.
            sleep(Duration::from_millis(u64::from(round % 5) * 200)).await;
            let version = if round.is_multiple_of(2) { "580.105.08" } else { "580.95.05" };
            self.gpus.node.load_driver(Some(version))?;
            self.gpus.load_module()?;
        }
        Ok(())
    }

    /// Waits until NVML is held again with every GPU and its events, and no source is blind or hangs.
    async fn wait_until_recovered(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let held = self.gpus.held_by(self.pid)?;
            if held.is_some_and(|(gpus, sets)| gpus == 8 && sets > 0) {
                let metrics = program::metrics(&self.address).await?;
                let trouble = |name: &&String| {
                    name.starts_with("mainstay_agent_source_unavailable")
                        || name.starts_with("mainstay_agent_source_stalled")
                };
                if metrics.iter().filter(|(name, _)| trouble(name)).all(|(_, value)| *value == 0) {
                    return Ok(());
                }
            }
            ensure!(begun.elapsed() < BACK_MOST, "not every source is back: NVML {held:?}");
            sleep(POLL).await;
        }
    }

    async fn ask(&self, word: &str, more: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new(&self.program);
        let socket = self.state.with_extension("sock");
        command.arg(word).args(more).arg("--control").arg(socket).args(["-o", "json"]).kill_on_drop(true);
        let answer = command.output().await?;
        ensure!(answer.status.success(), "{word}: {}", String::from_utf8_lossy(&answer.stderr));
        let answer: Value = serde_json::from_slice(&answer.stdout)?;
        ensure!(word != "release" || answer["free"] == true, "{answer}");
        Ok(())
    }

    /// How often each source came back.
    async fn rounds(&self) -> anyhow::Result<Vec<(String, u64)>> {
        let metrics = program::metrics(&self.address).await?;
        let rounds = metrics.into_iter().filter(|(name, _)| name.starts_with("mainstay_agent_source_rounds_total"));
        Ok(rounds.collect())
    }

    fn resident_kib(&self) -> anyhow::Result<u64> {
        program::status_kib(self.pid, "VmRSS:")
    }
}

fn instances(round: u32) -> Vec<MigInstance> {
    let cut = Profile::A100Mig.state();
    cut.gpus.get((round % 2) as usize).map(|gpu| gpu.instances().to_vec()).unwrap_or_default()
}

/// SIGTERM while a function hangs, each in both ways; the worst it took.
async fn hangs(program: &Path, files: &Files, sysfs: &Sysfs) -> anyhow::Result<Duration> {
    let mut worst = Duration::ZERO;
    for (symbol, manner) in HANGS.iter().flat_map(|symbol| [(*symbol, HangMode::Sleep), (*symbol, HangMode::Spin)]) {
        let gpus = Gpus::new(sysfs)?;
        gpus.hang_so(symbol, manner)?;
        let mut args: Vec<OsString> = [program::reads(&files.log_path(), sysfs.path()), gpus.args()].concat();
        let state = gpus.folder().join("state.json").into_os_string();
        args.extend(["--state".into(), state, "--listen".into(), "127.0.0.1:0".into()]);
        let mut agent = Agent::start(program, "run", &args)?;
        let address = agent.listening().await?;
        sleep(Duration::from_millis(1_500)).await;
        // The others go on meanwhile.
        program::metrics(&address).await?;
        let taken = agent.terminate().await.with_context(|| format!("{symbol} hangs"))?;
        ensure!(taken <= END_MOST, "SIGTERM took {taken:?} while {symbol} hung");
        ensure!(gpus.node.holders()?.is_empty(), "a process that ended holds the driver");
        worst = worst.max(taken);
    }
    Ok(worst)
}
