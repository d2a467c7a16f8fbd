//! Bundle parts that the agent reads without another program: the kernel log, stored evidence, a scan, and the ends of
//! files. Evidence holds no names of processes (`mainstay-signal` leaves them out), so only logs go through the
//! redactor.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use mainstay_model::NodeUid;

use super::EntryStatus;
use super::gather::{Outcome, Task, pour};
use crate::kmsg::{Kmsg, ReadResult, StartPosition};
use crate::output::Format;
use crate::redact::RedactionSummary;
use crate::scan;
use crate::store::state_file;
use crate::subprocess::Capacity;

/// All that the kernel still holds of this boot.
pub(super) fn kernel_log(task: &Task) -> io::Result<Outcome> {
    let mut log = Kmsg::open(&task.plan.settings.kmsg, StartPosition::Oldest)?;
    let mut out = task.redactor()?;
    let mut line = String::new();
    loop {
        line.clear();
        match log.read()? {
            ReadResult::Record { record, lost } => {
                if lost > 0 {
                    let _ = writeln!(line, "[{lost} entries were overwritten before they were read]");
                }
                let (seconds, micros) = (record.at_micros / 1_000_000, record.at_micros % 1_000_000);
                // A record is one line, whatever is in it, and names keep their length, by which they are known.
                let text = record.text.replace(char::is_control, "?");
                let _ = writeln!(line, "[{seconds:5}.{micros:06}] {text}");
            }
            ReadResult::Unreadable => line.push_str("[an entry that could not be parsed]\n"),
            ReadResult::Nothing => return Ok(Outcome::whole(out.finish()?, task.item.bytes_max)),
        }
        if out.take(line.as_bytes())? == Capacity::Full {
            return Ok(Outcome::whole(out.finish()?, task.item.bytes_max));
        }
    }
}

/// The file of the daemon as it is.
pub(super) fn store(task: &Task) -> io::Result<Outcome> {
    let mut text = Vec::new();
    File::open(&task.plan.options.state)?.take(task.item.bytes_max + 1).read_to_end(&mut text)?;
    written(task, &text)
}

/// The same as a report.
pub(super) fn report(task: &Task) -> io::Result<Outcome> {
    let Some(mut store) = state_file::look(&task.plan.options.state, &task.plan.boot)? else {
        return Err(io::Error::other("the agent has no state of this boot"));
    };
    let report = store.report(&const { NodeUid::literal("bundle") }.get(), crate::now());
    written(task, &serde_json::to_vec_pretty(&report)?)
}

/// One look, as `scan` does it: versions, serials, states and counters as they are now.
pub(super) fn scan(task: &Task) -> io::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (settings, boot) = (task.plan.settings.clone(), task.plan.boot.clone());
    let said = runtime.block_on(scan::run(settings, boot, false, Format::Json));
    runtime.shutdown_background();
    let said = said.map_err(|problem| io::Error::other(format!("{}: {}", problem.what, problem.detail)))?;
    written(task, said.text.as_bytes())
}

/// The end of a log, from the first whole line.
pub(super) fn tail(task: &Task, path: &Path) -> io::Result<Outcome> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let skipped = length.saturating_sub(task.item.bytes_max);
    file.seek(SeekFrom::Start(skipped))?;
    let mut out = task.redactor()?;
    pour(file.take(task.item.bytes_max), &mut out)?;
    let mut outcome = Outcome::whole(out.finish()?, task.item.bytes_max);
    if skipped > 0 {
        outcome.ended = EntryStatus::Cut;
        outcome.detail = Some(format!("the first {skipped} bytes were omitted"));
    }
    Ok(outcome)
}

/// A document as it is, if there is room for all of it.
fn written(task: &Task, text: &[u8]) -> io::Result<Outcome> {
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    let fits = bytes <= task.item.bytes_max;
    let mut file = File::create(&task.file)?;
    file.write_all(
        text.get(..usize::try_from(task.item.bytes_max).unwrap_or(usize::MAX)).filter(|_| !fits).unwrap_or(text),
    )?;
    Ok(Outcome::whole(RedactionSummary { bytes, names: 0, cut: !fits }, task.item.bytes_max))
}
