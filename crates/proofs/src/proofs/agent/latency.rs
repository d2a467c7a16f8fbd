//! How soon the agent knows: from the write into the log, or into a counter, to the line that `watch` prints of it. What NVML
//! tells is in `latency/nvml.rs`.

mod nvml;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use fake_kernel::{Files, Line};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::gpus::Gpus;
use super::program::{self, Agent, Rng};
use super::sysfs::{self, Sysfs};
use crate::prove::{Context, Measurement};

const LOG_BYTES: usize = 1 << 20;
/// Counters are read every second here, every 30 in life; what is measured is the look and what follows.
const LOOK: Duration = Duration::from_secs(1);
/// A hang is reported after 10 s, by a watchdog that looks every second.
const TOLD: Duration = Duration::from_secs(15);
const END_MOST: Duration = Duration::from_secs(2);
const XID: &str = "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";

/// A line that `watch` printed, and when it arrived.
struct WatchLine {
    at: Instant,
    code: String,
    detail: String,
    times: u64,
}

/// Half of the lines are written while nothing hangs, a quarter during each of two hangs.
pub(super) async fn measure(context: &Context, lines: usize) -> anyhow::Result<Measurement> {
    let (half, quarter) = (lines / 2, lines / 4);
    let program = program::build(context).await?;
    let files = Files::serve(LOG_BYTES)?;
    files.set_text(&sysfs::fatal(0));
    let sysfs = Sysfs::new(Some(&files.text_path()))?;
    let gpus = Gpus::new(&sysfs)?;
    let reads = [program::reads(&files.log_path(), sysfs.path()), gpus.args()].concat();
    let watch = Agent::start(&program, "watch", &[reads.clone(), vec!["-o".into(), "json".into()]].concat())?;
    let (tell, mut told) = mpsc::unbounded_channel();
    let Agent { mut child, lines: output } = watch;
    tokio::spawn(listen(output, tell));
    // The first look of every source, and the log opened at its end.
    sleep(LOOK * 3).await;

    let calm = xids(&files, &mut told, half).await?;
    sysfs.correctable(5_000)?;
    let storm = until(&mut told, "aer-correctable", 5_000, LOOK * 3).await?;
    sysfs.link_downed(1)?;
    let flap = until(&mut told, "link-downed", 1, LOOK * 3).await?;
    files.hang();
    let hang = until(&mut told, "source-stalled", 1, TOLD).await?;
    let hung = xids(&files, &mut told, quarter).await?;
    ensure!(files.hanging() > 0, "nothing hung");
    let fault = gpus.hang("*")?;
    let driver = until_of(&mut told, "source-stalled", "nvml", nvml::TOLD).await?;
    let driver_hung = xids(&files, &mut told, quarter).await?;
    gpus.node.change(|state| state.mend(fault))?;
    let end = end_while_hung(&program, &reads, &files).await?;
    context.within("shutdown by SIGTERM while a source hung", end, END_MOST)?;
    child.kill().await?;
    let by_nvml = nvml::measure(context, &program).await?;

    let worst = [&calm, &hung, &driver_hung].into_iter().map(|taken| percentile(taken, 99)).max().unwrap_or_default();
    let detail = format!(
        "{half} XIDs without a hang: median {} us, p99 {} us, worst {} us; {quarter} while a read of sysfs hung: median {} us, p99 {} us, worst {} us; {quarter} while the driver hung as well: median {} us, p99 {} us, worst {} us; AER storm reported after {} ms and a flap after {} ms (counters read every second), the hang of sysfs after {} ms, of the driver after {} ms; SIGTERM then took {} ms; {by_nvml}",
        percentile(&calm, 50).as_micros(),
        percentile(&calm, 99).as_micros(),
        percentile(&calm, 100).as_micros(),
        percentile(&hung, 50).as_micros(),
        percentile(&hung, 99).as_micros(),
        percentile(&hung, 100).as_micros(),
        percentile(&driver_hung, 50).as_micros(),
        percentile(&driver_hung, 99).as_micros(),
        percentile(&driver_hung, 100).as_micros(),
        storm.as_millis(),
        flap.as_millis(),
        hang.as_millis(),
        driver.as_millis(),
        end.as_millis(),
    );
    Ok(Measurement { value: i64::try_from(worst.as_micros().div_ceil(1_000))?, detail })
}

async fn listen(
    mut lines: tokio::io::Lines<tokio::io::BufReader<tokio::process::ChildStdout>>,
    tell: mpsc::UnboundedSender<WatchLine>,
) {
    while let Ok(Some(line)) = lines.next_line().await {
        let at = Instant::now();
        let Ok(line) = serde_json::from_str::<Value>(&line) else { return };
        let code = line["code"].as_str().unwrap_or_default().to_owned();
        let detail = line["detail"].as_str().unwrap_or_default().to_owned();
        if tell.send(WatchLine { at, code, detail, times: line["times"].as_u64().unwrap_or(0) }).is_err() {
            return;
        }
    }
}

/// Writes XIDs a few milliseconds apart, and returns how long each took to be reported.
async fn xids(
    files: &Files,
    told: &mut mpsc::UnboundedReceiver<WatchLine>,
    count: usize,
) -> anyhow::Result<Vec<Duration>> {
    let mut chance = Rng(7);
    let mut written = Vec::with_capacity(count);
    for _ in 0..count {
        files.write(Line::text(XID));
        written.push(Instant::now());
        sleep(Duration::from_micros(500 + chance.below(9_500))).await;
    }
    reported(told, &written).await
}

/// Waits until every XID was reported, and returns how long each took, shortest first.
async fn reported(told: &mut mpsc::UnboundedReceiver<WatchLine>, written: &[Instant]) -> anyhow::Result<Vec<Duration>> {
    let mut taken = Vec::with_capacity(written.len());
    while taken.len() < written.len() {
        let next = timeout(LOOK * 5, told.recv()).await.context("an XID was not reported")?;
        let next = next.context("the agent ended")?;
        if next.code == "79" {
            for _ in 0..next.times {
                let at = written.get(taken.len()).context("an XID was reported twice")?;
                taken.push(next.at.saturating_duration_since(*at));
            }
        }
    }
    taken.sort_unstable();
    Ok(taken)
}

/// Waits for a code with a detail, and returns how long that took.
async fn until_of(
    told: &mut mpsc::UnboundedReceiver<WatchLine>,
    code: &str,
    detail: &str,
    at_most: Duration,
) -> anyhow::Result<Duration> {
    let (took, _) = first(told, code, |line| line.detail == detail, at_most).await?;
    Ok(took)
}

/// Waits until a code has a given count, and returns how long that took.
async fn until(
    told: &mut mpsc::UnboundedReceiver<WatchLine>,
    code: &str,
    times: u64,
    at_most: Duration,
) -> anyhow::Result<Duration> {
    let (took, line) = first(told, code, |_| true, at_most).await?;
    ensure!(line.times == times, "{code} was reported {} times, not {times}", line.times);
    Ok(took)
}

/// Waits for the first line with the code that matches, and returns how long that took.
async fn first(
    told: &mut mpsc::UnboundedReceiver<WatchLine>,
    code: &str,
    matches: impl Fn(&WatchLine) -> bool,
    at_most: Duration,
) -> anyhow::Result<(Duration, WatchLine)> {
    let begun = Instant::now();
    loop {
        let left = at_most.saturating_sub(begun.elapsed());
        let next =
            timeout(left, told.recv()).await.with_context(|| format!("{code} was not reported in {at_most:?}"))?;
        let next = next.context("the agent ended")?;
        if next.code == code && matches(&next) {
            return Ok((next.at.saturating_duration_since(begun), next));
        }
    }
}

/// Starts the daemon with a source that hangs from its first look on, and ends it.
async fn end_while_hung(program: &Path, reads: &[OsString], files: &Files) -> anyhow::Result<Duration> {
    let others = files.hanging();
    let folder = TempDir::new()?;
    let state = folder.path().join("state.json").into_os_string();
    let more = ["--state".into(), state, "--listen".into(), "127.0.0.1:0".into()];
    let mut daemon = Agent::start(program, "run", &[reads, &more].concat())?;
    daemon.listening().await?;
    sleep(LOOK).await;
    ensure!(files.hanging() > others, "the daemon's source does not hang");
    daemon.terminate().await
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default()
}
