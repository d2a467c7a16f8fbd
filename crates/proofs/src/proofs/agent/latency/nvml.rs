//! Latency of evidence from NVML with the kernel log disabled, and detection of a GPU that is missing after a boot.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use fake_nvml::Effect;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::super::gpus::Gpus;
use super::super::program::{self, Agent, Rng};
use super::super::sysfs::Sysfs;
use super::{LOOK, WatchLine, listen, percentile, reported, until_of};
use crate::prove::Context;

/// A call may take 20 s before it is said to hang.
pub(super) const TOLD: Duration = Duration::from_secs(25);

const EVENTS: usize = 300;
const EVENT_MOST: Duration = Duration::from_secs(1);
/// Three looks, 20 s by the meter, and a start.
const MISSING_MOST: Duration = Duration::from_secs(40);
/// Ten seconds between the start and the first evidence of anything else.
const SOON: Duration = Duration::from_secs(10);

/// XIDs and a recovery action by event, a GPU that is lost, and one that is gone after a boot.
pub(super) async fn measure(context: &Context, program: &Path) -> anyhow::Result<String> {
    let sysfs = Sysfs::new(None)?;
    let gpus = Gpus::new(&sysfs)?;
    let nowhere = gpus.folder().join("no-kmsg");
    let mut args = [program::reads(&nowhere, sysfs.path()), gpus.args()].concat();
    args.extend(["--disable".into(), "kernel-log".into(), "-o".into(), "json".into()]);
    args.extend(["--nvml-hold".into(), "events".into()]);
    let Agent { mut child, lines } = Agent::start(program, "watch", &args)?;
    let (tell, mut told) = mpsc::unbounded_channel();
    tokio::spawn(listen(lines, tell));
    let pid = child.id().context("the agent ended")?;
    let begun = Instant::now();
    while gpus.held_by(pid)?.is_none_or(|(count, sets)| count < 8 || sets == 0) {
        ensure!(begun.elapsed() < SOON, "the agent does not open NVML");
        sleep(Duration::from_millis(20)).await;
    }
    sleep(LOOK).await;

    let events = xids(&gpus, &mut told).await?;
    let worst = percentile(&events, 99);
    context.within("an XID by NVML event (p99)", worst, EVENT_MOST)?;
    gpus.node.change(|state| state.fault(6, state.now_ms(), Effect::RecoveryAction { action: 2 }))?;
    let action = until_of(&mut told, "recovery-action", "to 0x2", SOON).await?;
    context.within("a recovery action by NVML event", action, EVENT_MOST)?;
    gpus.node.change(|state| {
        let at = state.now_ms();
        state.fault(7, at, Effect::GpuLost)
    })?;
    // The agent is away for ten seconds, because a GPU is about to be reset.
    let lost = until_of(&mut told, "gpu-missing", "does not answer", LOOK * 15).await?;
    child.kill().await?;
    let missing = missing_after_boot(program).await?;
    Ok(format!(
        "by NVML, the log unread: {EVENTS} XIDs median {} us, p99 {} us, worst {} us, a recovery action {} ms, a lost GPU {} ms; a GPU missing after a boot {:.1} s after the start",
        percentile(&events, 50).as_micros(),
        worst.as_micros(),
        percentile(&events, 100).as_micros(),
        action.as_millis(),
        lost.as_millis(),
        missing.as_secs_f64(),
    ))
}

async fn xids(gpus: &Gpus, told: &mut mpsc::UnboundedReceiver<WatchLine>) -> anyhow::Result<Vec<Duration>> {
    let mut chance = Rng(11);
    let mut written = Vec::with_capacity(EVENTS);
    for number in 0..EVENTS {
        let gpu = u32::try_from(number % 6)?;
        let begun = Instant::now();
        gpus.node.change(|state| {
            // Those of long ago only make the script longer.
            let keep = state.faults.len().saturating_sub(50);
            state.faults.drain(..keep);
            state.fault(gpu, state.now_ms(), Effect::xid(79))
        })?;
        written.push(begun);
        sleep(Duration::from_millis(20 + chance.below(60))).await;
    }
    reported(told, &written).await
}

/// A life with eight GPUs, a boot, and a life with seven.
async fn missing_after_boot(program: &Path) -> anyhow::Result<Duration> {
    let sysfs = Sysfs::new(None)?;
    let gpus = Gpus::new(&sysfs)?;
    let proc = gpus.folder().join("proc");
    fs::create_dir_all(proc.join("sys/kernel/random"))?;
    fs::write(proc.join("sys/kernel/osrelease"), "6.8.0\n")?;
    let boot = |id: &str| fs::write(proc.join("sys/kernel/random/boot_id"), id);
    boot("00000000-0000-4000-8000-000000000001\n")?;
    let nowhere = gpus.folder().join("no-kmsg");
    let mut args = [program::reads(&nowhere, sysfs.path()), gpus.args()].concat();
    let state = gpus.folder().join("state.json").into_os_string();
    args.extend(["--proc".into(), proc.clone().into_os_string(), "--disable".into(), "kernel-log".into()]);
    args.extend(["--state".into(), state, "--listen".into(), "127.0.0.1:0".into()]);
    let mut first = Agent::start(program, "run", &args)?;
    let address = first.listening().await?;
    let begun = Instant::now();
    let uuid = gpus.node.change(|state| state.gpus[7].uuid.clone())?;
    let last = format!("mainstay_agent_gpu_nvlinks_up{{gpu=\"7\",uuid=\"{uuid}\"}}");
    while program::counter(&program::metrics(&address).await?, &last) == 0 {
        ensure!(begun.elapsed() < SOON, "eight GPUs are not listed");
        sleep(Duration::from_millis(50)).await;
    }
    first.terminate().await?;

    boot("00000000-0000-4000-8000-000000000002\n")?;
    let serial = gpus.node.change(|state| state.gpus.remove(3).serial)?;
    let begun = Instant::now();
    let mut second = Agent::start(program, "run", &args)?;
    let address = second.listening().await?;
    let wanted = format!("code=\"gpu-missing\",device=\"{serial}\"");
    loop {
        let metrics = program::metrics(&address).await?;
        let missing: Vec<&String> = metrics.keys().filter(|name| name.contains("gpu-missing")).collect();
        if missing.iter().any(|name| name.contains(&wanted)) {
            ensure!(missing.len() == 1, "more than one GPU is said to be missing: {missing:?}");
            break;
        }
        ensure!(begun.elapsed() < MISSING_MOST, "the GPU is not said to be missing: {missing:?}");
        sleep(Duration::from_millis(50)).await;
    }
    let taken = begun.elapsed();
    second.terminate().await?;
    Ok(taken)
}
