//! Kills at random times while events are injected: in a log that holds everything, where every count must come out right, and in one
//! that is overwritten all the time, where what is not counted must be reported lost.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::ensure;
use fake_kernel::{Files, Line};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::program::{self, Agent, Rng};
use super::sysfs::Sysfs;
use crate::prove::{Context, Measurement};

const HELD: u64 = 200;
const OVERWRITTEN: u64 = 50;
/// More than all injected events.
const HELD_BYTES: usize = 1 << 30;
const OVERWRITTEN_BYTES: usize = 1 << 16;
/// The longest life of an agent: kills fall before, into and after the writes of the store, which are a second apart.
const LIFE_MILLIS: u64 = 1_300;
const CATCH_UP: Duration = Duration::from_mins(2);
/// Lines per burst and the pause after it: a rate that an agent can just follow, and one that it cannot.
const BURST: u64 = 20;
const REST: Duration = Duration::from_millis(4);

pub(super) async fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let program = program::build(context).await?;
    let held = inject_and_kill(&program, HELD, HELD_BYTES).await?;
    ensure!(held.lost == 0, "{} records were lost that the log held", held.lost);
    let mut wrong = held.fatal_written.abs_diff(held.fatal_counted);
    for (key, written) in &held.written {
        wrong += written.abs_diff(held.counted.get(key).copied().unwrap_or(0));
    }
    let overwritten = inject_and_kill(&program, OVERWRITTEN, OVERWRITTEN_BYTES).await?;
    ensure!(overwritten.lost > 0, "nothing was overwritten");
    wrong += overwritten.lines.abs_diff(overwritten.read + overwritten.lost);
    for (key, counted) in &overwritten.counted {
        wrong += counted.saturating_sub(overwritten.written.get(key).copied().unwrap_or(0));
    }
    let detail = format!(
        "{HELD} kills while {} XIDs and {} errors of a counter came, {wrong} events counted wrongly in all; {OVERWRITTEN} kills while {} came, {} read and {} reported lost",
        held.lines, held.fatal_written, overwritten.lines, overwritten.read, overwritten.lost,
    );
    Ok(Measurement { value: i64::try_from(wrong)?, detail })
}

/// Lines written, read, counted and lost in one injection phase.
#[derive(Default)]
struct InjectionResult {
    lines: u64,
    written: BTreeMap<String, u64>,
    counted: BTreeMap<String, u64>,
    read: u64,
    lost: u64,
    fatal_written: u64,
    fatal_counted: u64,
}

async fn inject_and_kill(program: &Path, kills: u64, log_bytes: usize) -> anyhow::Result<InjectionResult> {
    let files = Files::serve(log_bytes)?;
    let (sysfs, folder) = (Sysfs::new(None)?, TempDir::new()?);
    let mut args = program::reads(&files.log_path(), sysfs.path());
    let state = folder.path().join("state.json").into_os_string();
    args.extend(["--state".into(), state, "--listen".into(), "127.0.0.1:0".into()]);
    // One run without kills, so that counters have a past.
    let mut first = Agent::start(program, "run", &args)?;
    first.listening().await?;
    sleep(Duration::from_secs(3)).await;
    first.terminate().await?;

    let over = AtomicBool::new(false);
    let mut storm = InjectionResult::default();
    let (files, sysfs) = (&files, &sysfs);
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let writing = scope.spawn(|| write(files, sysfs, &over));
        let killed =
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(kill(program, &args, kills)));
        over.store(true, Ordering::Relaxed);
        let written = writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        storm = written;
        killed
    })?;
    settle(program, &args, &mut storm).await?;
    Ok(storm)
}

/// Lives that end at a random moment.
async fn kill(program: &Path, args: &[OsString], kills: u64) -> anyhow::Result<()> {
    let mut chance = Rng(2026);
    for _ in 0..kills {
        let mut agent = Agent::start(program, "run", args)?;
        sleep(Duration::from_millis(chance.below(LIFE_MILLIS))).await;
        agent.kill().await?;
    }
    Ok(())
}

/// The injection: XIDs of six GPUs and five codes, which all have room in the evidence, and a counter that rises.
fn write(files: &Files, sysfs: &Sysfs, over: &AtomicBool) -> anyhow::Result<InjectionResult> {
    let mut storm = InjectionResult::default();
    let mut chance = Rng(1);
    while !over.load(Ordering::Relaxed) {
        for _ in 0..BURST {
            let (gpu, code) = (0x10 + chance.below(6), 100 + chance.below(5));
            files.write(Line::text(&format!("NVRM: Xid (PCI:0000:{gpu:02x}:00): {code}, x")));
            *storm.written.entry(format!("xid=\"{code}\",pci=\"0000:{gpu:02x}:00.0\"")).or_default() += 1;
            storm.lines += 1;
        }
        storm.fatal_written += chance.below(3);
        sysfs.fatal(storm.fatal_written)?;
        std::thread::park_timeout(REST);
    }
    Ok(storm)
}

/// A last life, until everything is counted.
async fn settle(program: &Path, args: &[OsString], storm: &mut InjectionResult) -> anyhow::Result<()> {
    let mut agent = Agent::start(program, "run", args)?;
    let address = agent.listening().await?;
    let begun = Instant::now();
    loop {
        sleep(Duration::from_millis(200)).await;
        let metrics = program::metrics(&address).await?;
        let records = |what: &str| program::counter(&metrics, &format!("mainstay_agent_kernel_records_{what}_total"));
        // What was gone before the agent first found anything is lost as well.
        (storm.read, storm.lost) = (records("read"), records("lost") + records("before"));
        storm.counted = xids(&metrics);
        let evidence = metrics.iter().find(|(name, _)| name.contains("code=\"aer-fatal\""));
        storm.fatal_counted = evidence.map_or(0, |(_, count)| *count);
        let done = storm.read + storm.lost >= storm.lines && storm.fatal_counted >= storm.fatal_written;
        if done || begun.elapsed() > CATCH_UP {
            break;
        }
    }
    // The evidence of the report and the series of every XID are counted apart, and must agree.
    let metrics = program::metrics(&address).await?;
    let evidence = metrics.iter().filter(|(name, _)| name.contains("source=\"Xid\""));
    let (evidence, series): (u64, u64) = (evidence.map(|(_, count)| count).sum(), storm.counted.values().sum());
    ensure!(evidence == series, "{evidence} XIDs as evidence, {series} as series");
    agent.terminate().await?;
    Ok(())
}

fn xids(metrics: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let inside = |name: &str| Some(name.strip_prefix("mainstay_agent_xid_total{")?.strip_suffix('}')?.to_owned());
    metrics.iter().filter_map(|(name, count)| Some((inside(name)?, *count))).collect()
}
