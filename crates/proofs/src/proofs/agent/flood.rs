//! A flood: a million lines at full speed, most of them irrelevant.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use fake_kernel::{Files, Line};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::program::{self, Agent};
use super::sysfs::Sysfs;
use crate::prove::{Context, Measurement};

const LINES: u64 = 1_000_000;
/// What most distributions give the log.
const LOG_BYTES: usize = 1 << 20;
const RESIDENT_MOST_KIB: u64 = 32 * 1024;
const READ_WITHIN: Duration = Duration::from_mins(3);
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub(super) async fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let program = program::build(context).await?;
    let files = Files::serve(LOG_BYTES)?;
    let (sysfs, folder) = (Sysfs::new(None)?, TempDir::new()?);
    let state = folder.path().join("state.json");
    let mut args = program::reads(&files.log_path(), sysfs.path());
    args.extend(["--state".into(), state.clone().into_os_string(), "--listen".into(), "127.0.0.1:0".into()]);
    let begun = Instant::now();
    let mut agent = Agent::start(&program, "run", &args)?;
    let (address, pid) = (agent.listening().await?, agent.pid()?);
    // The output of the agent must be read, or the pipe fills.
    let mut lines = agent.lines;
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    let mut seen = PeakUsage::default();
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let writing = scope.spawn(|| (0..LINES).map(|number| files.write(line(number))).max());
        while !writing.is_finished() {
            seen.look(pid, &state)?;
            std::thread::park_timeout(LOOK_EVERY);
        }
        Ok(())
    })?;
    let written_in = begun.elapsed();
    let (read, lost, writes) = loop {
        let metrics = program::metrics(&address).await?;
        let [read, lost, before] = ["read", "lost", "before"]
            .map(|what| program::counter(&metrics, &format!("mainstay_agent_kernel_records_{what}_total")));
        // Written before the agent opened the log, so it could not read them.
        if read + lost + before >= LINES || begun.elapsed() > READ_WITHIN {
            break (read, lost + before, program::counter(&metrics, "mainstay_agent_store_writes_total"));
        }
        seen.look(pid, &state)?;
        sleep(LOOK_EVERY).await;
    };
    let seconds = begun.elapsed().as_secs();
    agent.child.kill().await?;
    let resident_kib = seen.resident_kib;
    ensure!(resident_kib <= RESIDENT_MOST_KIB, "the agent held {resident_kib} KiB");
    ensure!(
        writes <= seconds + 1 && seen.replaced <= seconds + 1,
        "{writes} writes, {} seen, in {seconds} s",
        seen.replaced
    );
    let detail = format!(
        "{LINES} lines written in {:.1} s, {read} read, {lost} reported lost, resident at most {:.1} MiB, {writes} writes of the store in {seconds} s",
        written_in.as_secs_f64(),
        f64::from(u32::try_from(resident_kib)?) / 1024.0,
    );
    Ok(Measurement { value: i64::try_from(LINES.abs_diff(read + lost))?, detail })
}

/// One line in ten is an XID, of eight GPUs and a few codes.
fn line(number: u64) -> Line {
    let text = if number.is_multiple_of(10) {
        let (gpu, code) = (0x10 + number / 10 % 8, [13, 31, 43, 79][usize::try_from(number / 80 % 4).unwrap_or(0)]);
        format!("NVRM: Xid (PCI:0000:{gpu:02x}:00): {code}, pid=4242, name=python, Ch 00000008")
    } else {
        format!("usb 1-{}: new high-speed USB device number {number} using xhci_hcd", number % 9)
    };
    Line { at_micros: number, ..Line::text(&text) }
}

/// Peak memory of the agent, and how often its state file was replaced.
#[derive(Default)]
struct PeakUsage {
    resident_kib: u64,
    inode: u64,
    replaced: u64,
}

impl PeakUsage {
    fn look(&mut self, pid: u32, state: &Path) -> anyhow::Result<()> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).context("the agent ended")?;
        // The kernel keeps the most it ever was.
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
        self.resident_kib = line.trim().trim_end_matches(" kB").trim().parse()?;
        if let Ok(file) = std::fs::metadata(state)
            && file.ino() != self.inode
        {
            self.inode = file.ino();
            self.replaced += 1;
        }
        Ok(())
    }
}
