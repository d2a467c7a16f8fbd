//! Gathers all parts, a few at a time. Each has a thread, and none is waited for longer than its limit: a thread that does
//! not come back is left, and its place is given to the next.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;

use super::items::{Item, ItemSource, Program};
use super::{EntryStatus, Plan, Progress, builtin_items};
use crate::redact::{RedactionSummary, Redactor};
use crate::rlimits::Limits;
use crate::shutdown::ShutdownSignal;
use crate::subprocess::{self, Capacity, Invocation, Stream};
use crate::tools::Tools;

/// How many at once. The node may be at work, and its disk is shared; three that hang leave one for the rest.
const AT_ONCE: usize = 4;

/// What a tool complains about is worth this much.
const ERRORS_BYTES_MAX: u64 = 64 * 1024;

/// With less time than this nothing is begun any more.
const WORTH_BEGINNING: Duration = Duration::from_secs(1);

/// Left for packing and writing when everything is had; enough for some hundred megabytes.
const PACKING: Duration = Duration::from_secs(2);

/// How much later than it should a thread may come back before it is said to hang.
const SLACK: Duration = Duration::from_millis(500);

/// One collected part: its file, status, duration and number of redacted names.
#[derive(Debug)]
pub(super) struct CollectedItem {
    pub(super) item: Item,
    /// Where what was had is; it need not be there.
    pub(super) file: PathBuf,
    pub(super) ended: EntryStatus,
    pub(super) detail: Option<String>,
    pub(super) took: Duration,
    pub(super) redacted: u64,
}

/// How a part ended, and more about that.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) ended: EntryStatus,
    pub(super) detail: Option<String>,
    pub(super) redacted: u64,
}

/// Where and for how long one part is gathered.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) plan: Plan,
    tools: Tools,
    pub(super) item: Item,
    pub(super) file: PathBuf,
    folder: PathBuf,
    time: Duration,
    stop: ShutdownSignal,
}

/// A part whose collector thread has not finished yet, with the time when it is abandoned.
struct RunningTask {
    number: usize,
    name: String,
    begun: Instant,
    /// When its thread is given up.
    given_up_at: Instant,
}

/// Gathers everything that can be had until then.
pub(super) fn all(
    plan: &Plan,
    tools: &Tools,
    items: Vec<Item>,
    scratch: &Path,
    end_at: Instant,
    stop: &ShutdownSignal,
    progress: &mut dyn FnMut(&Progress),
) -> Vec<CollectedItem> {
    let (done, results) = mpsc::channel();
    let mut waiting: VecDeque<usize> = (0..items.len()).collect();
    let mut running: Vec<RunningTask> = Vec::new();
    let mut gathered: Vec<CollectedItem> = items
        .into_iter()
        .zip(0..)
        .map(|(item, number)| CollectedItem {
            file: scratch.join(format!("{number}.part")),
            item,
            ended: EntryStatus::NotBegun,
            detail: Some("not started before the time limit".to_owned()),
            took: Duration::ZERO,
            redacted: 0,
        })
        .collect();
    loop {
        while running.len() < AT_ONCE && !stop.has_fired() {
            let left =
                end_at.saturating_duration_since(Instant::now()).saturating_sub(PACKING + subprocess::ENDING + SLACK);
            let Some(number) = waiting.front().copied().filter(|_| left >= WORTH_BEGINNING) else { break };
            waiting.pop_front();
            let Some(part) = gathered.get_mut(number) else { continue };
            let task = Task {
                plan: plan.clone(),
                tools: tools.clone(),
                item: part.item.clone(),
                file: part.file.clone(),
                folder: scratch.join(number.to_string()),
                time: part.item.time.min(left),
                stop: stop.clone(),
            };
            let begun = Instant::now();
            let given_up_at = begun + task.time + subprocess::ENDING + SLACK;
            running.push(RunningTask { number, name: part.item.name.clone(), begun, given_up_at });
            let its = done.clone();
            let thread = std::thread::Builder::new().name("bundle-part".to_owned());
            if let Err(error) = thread.spawn(move || drop(its.send((number, task.gather())))) {
                let _ = done.send((number, Outcome::failed(&error)));
            }
        }
        let names = running.iter().map(|part| part.name.clone()).collect();
        let of = gathered.len();
        progress(&Progress { done: of - waiting.len() - running.len(), of, running: names });
        let Some(given_up_at) = running.iter().map(|part| part.given_up_at).min() else { break };
        let heard = results.recv_timeout(given_up_at.saturating_duration_since(Instant::now()));
        let now = Instant::now();
        let (number, outcome) = match heard {
            Ok(heard) => heard,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let Some(late) = running.iter().find(|part| part.given_up_at <= now) else { continue };
                (late.number, Outcome::of(EntryStatus::Hangs, "its thread hangs and was abandoned"))
            }
        };
        // Who was given up and comes back after all is heard no more.
        let Some(at) = running.iter().position(|part| part.number == number) else { continue };
        let begun = running.swap_remove(at).begun;
        if let Some(part) = gathered.get_mut(number) {
            let Outcome { ended, detail, redacted } = outcome;
            (part.ended, part.detail, part.redacted, part.took) = (ended, detail, redacted, now - begun);
        }
    }
    if stop.has_fired() {
        for part in gathered.iter_mut().filter(|part| part.ended == EntryStatus::NotBegun) {
            (part.ended, part.detail) = (EntryStatus::Stopped, None);
        }
    }
    gathered
}

// === impl Outcome ===

impl Outcome {
    fn of(ended: EntryStatus, detail: &str) -> Self {
        Self { ended, detail: Some(detail.to_owned()), redacted: 0 }
    }

    pub(super) fn failed(error: &io::Error) -> Self {
        Self::of(EntryStatus::Failed, &error.to_string())
    }

    /// A part that was written as a whole, or as far as there was room.
    pub(super) fn whole(sum: RedactionSummary, bytes_max: u64) -> Self {
        let detail = sum.cut.then(|| format!("truncated at {bytes_max} bytes"));
        Self { ended: if sum.cut { EntryStatus::Cut } else { EntryStatus::Complete }, detail, redacted: sum.names }
    }
}

// === impl Task ===

impl Task {
    fn gather(&self) -> Outcome {
        let gathered = match &self.item.from {
            ItemSource::Program(program) => self.program(program),
            ItemSource::KernelLog => builtin_items::kernel_log(self),
            ItemSource::Store => builtin_items::store(self),
            ItemSource::Report => builtin_items::report(self),
            ItemSource::Scan => builtin_items::scan(self),
            ItemSource::Tail(path) => builtin_items::tail(self, path),
        };
        gathered.unwrap_or_else(|error| Outcome::failed(&error))
    }

    /// A writer without names, to the part's own file.
    pub(super) fn redactor(&self) -> io::Result<Redactor<io::BufWriter<File>>> {
        Ok(Redactor::new(io::BufWriter::new(File::create(&self.file)?), self.item.bytes_max))
    }

    fn program(&self, program: &Program) -> io::Result<Outcome> {
        let Some(path) = program.path.clone() else {
            return Ok(Outcome::of(EntryStatus::NoTool, &format!("{} not found", program.name)));
        };
        std::fs::create_dir(&self.folder)?;
        let job = Invocation {
            launcher: &self.plan.launcher,
            program: path,
            arguments: program.arguments.clone(),
            folder: &self.folder,
            search_path: self.tools.search_path(),
            limits: Limits {
                // The work on the node goes first.
                nice: 10,
                file_mib: Some(self.item.bytes_max.div_ceil(1024 * 1024)),
                ..Limits::default()
            },
            time: self.time,
        };
        let mut out = self.redactor()?;
        let mut complaints = Vec::new();
        let mut errors = Redactor::new(&mut complaints, ERRORS_BYTES_MAX);
        let ran = subprocess::run(&job, &self.stop, |stream, bytes| match stream {
            Stream::Output => out.take(bytes),
            // Of complaints the first ones are kept, and many are no reason to end.
            Stream::Error => errors.take(bytes).map(|_| Capacity::More),
        });
        let mut sum = out.finish()?;
        sum.names += errors.finish()?.names;
        if !program.writes.is_empty() {
            sum = self.written(program.writes)?;
        }
        Ok(self.outcome(&ran, sum, &String::from_utf8_lossy(&complaints)))
    }

    /// What the program left in a file, instead of what it said.
    fn written(&self, names: &[&str]) -> io::Result<RedactionSummary> {
        let found = names.iter().find_map(|name| File::open(self.folder.join(name)).ok());
        let Some(mut file) = found else { return Ok(RedactionSummary::default()) };
        let mut magic = [0; 2];
        let is_gzip = io::Read::read_exact(&mut file, &mut magic).is_ok() && magic == [0x1f, 0x8b];
        io::Seek::rewind(&mut file)?;
        let mut out = self.redactor()?;
        if is_gzip {
            pour(MultiGzDecoder::new(file), &mut out)?;
        } else {
            pour(file, &mut out)?;
        }
        out.finish()
    }

    fn outcome(&self, ran: &subprocess::RunResult, sum: RedactionSummary, complaints: &str) -> Outcome {
        let first = complaints.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let mut outcome = match &ran.ended {
            subprocess::ExitStatus::Exited(0) => Outcome::whole(sum, self.item.bytes_max),
            subprocess::ExitStatus::TooMuch => {
                Outcome::whole(RedactionSummary { cut: true, ..sum }, self.item.bytes_max)
            }
            subprocess::ExitStatus::Exited(code) => {
                Outcome::of(EntryStatus::Failed, &format!("exit code {code}: {first}"))
            }
            subprocess::ExitStatus::Signalled(signal) => {
                Outcome::of(EntryStatus::Failed, &format!("ended by signal {signal}: {first}"))
            }
            subprocess::ExitStatus::OutOfTime => {
                Outcome::of(EntryStatus::OutOfTime, &format!("ended after {} s", self.time.as_secs()))
            }
            subprocess::ExitStatus::Stopped => Outcome { ended: EntryStatus::Stopped, detail: None, redacted: 0 },
            subprocess::ExitStatus::Unending => Outcome::of(EntryStatus::Hangs, "killed, but hangs in the kernel"),
            subprocess::ExitStatus::Failed(why) => Outcome::of(EntryStatus::Failed, why),
        };
        outcome.redacted = sum.names;
        if ran.left_behind {
            let more = "a child process left its process group and may still run";
            outcome.detail = Some(outcome.detail.map_or_else(|| more.to_owned(), |detail| format!("{detail}; {more}")));
        }
        outcome
    }
}

/// Until there is no more, or no more room. Where a stream ends too early, what there was is taken.
pub(super) fn pour<W: io::Write>(mut from: impl io::Read, to: &mut Redactor<W>) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let bytes = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput) => {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if to.take(buffer.get(..bytes).unwrap_or_default())? == Capacity::Full {
            return Ok(());
        }
    }
}
