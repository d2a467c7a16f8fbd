//! `bundle`: what a vendor asks for, gathered before a repair destroys it, in one archive. It finishes within its limit
//! whatever hangs, and says of each part how it ended; tenants' names are taken out on the way, so that none is written.

mod archive;
mod builtin_items;
mod gather;
mod items;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use mainstay_model::BootId;
use mainstay_telemetry::shutdown::TerminationSignals;
use serde::Serialize;

use crate::output::{self, CommandOutput, Format, Outcome, Problem};
use crate::scratch::Scratch;
use crate::settings::Settings;
use crate::shutdown::ShutdownSignal;
use crate::span::{Span, StartTime};
use crate::tools::Tools;

/// What a bundle is made with.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Output folder of the archive
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub out: PathBuf,
    /// Start of the journals, as age (6h, 2d) or time (2026-11-17T10:00:00Z)
    #[arg(long, value_name = "WHEN", default_value = "1d")]
    pub since: StartTime,
    /// Time limit; parts not finished by then are incomplete
    #[arg(long, value_name = "SPAN", default_value = "120s")]
    pub limit: Span,
    /// Folder with tools, instead of PATH; repeatable
    #[arg(long, value_name = "FOLDER")]
    pub tools: Vec<PathBuf>,
    /// State file of the running agent
    #[arg(long, value_name = "FILE", default_value = "/var/lib/mainstay-agent/state.json")]
    pub state: PathBuf,
}

/// The shortest limit: what is begun must be ended, and written.
const LIMIT_MIN: Duration = Duration::from_secs(10);

/// Everything that gathering needs to know.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What was asked for.
    pub options: Options,
    /// Where the kernel's files are.
    pub settings: Settings,
    /// This boot.
    pub boot: BootId,
    /// This program, which sets limits.
    pub launcher: PathBuf,
}

/// Whether a part of the bundle is complete, and why it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryStatus {
    /// It is whole.
    Complete,
    /// It is cut where its room ended.
    Cut,
    /// It was not done in its time; what it had said is there.
    OutOfTime,
    /// There was no time left to begin with it.
    NotBegun,
    /// The tool is not on this machine.
    NoTool,
    /// The tool, or the file, says that it cannot; what it said is there.
    Failed,
    /// Everything was told to stop.
    Stopped,
    /// It does not come back, not even killed.
    Hangs,
}

/// One part of a bundle.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its file in the archive; not there where nothing was had.
    pub name: String,
    /// The command that said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// How it ended.
    pub ended: EntryStatus,
    /// More about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How much it is.
    pub bytes: u64,
    /// Its SHA-256; none where there is no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// How long it took.
    pub seconds: f64,
    /// How many names were taken out.
    pub redacted: u64,
}

/// A bundle.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bundle {
    /// The archive.
    pub path: String,
    /// How much it is.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: String,
    /// How long everything took.
    pub seconds: f64,
    /// Whether every part is whole.
    pub complete: bool,
    /// Its parts.
    pub entries: Vec<Entry>,
}

/// What is told while it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// How many parts are done.
    pub done: usize,
    /// How many there are.
    pub of: usize,
    /// What runs now.
    pub running: Vec<String>,
}

/// Makes a bundle. It blocks until it is there, at most as long as the limit.
///
/// # Errors
/// Where the archive cannot be written.
pub fn make(plan: &Plan, stop: &ShutdownSignal, progress: &mut dyn FnMut(&Progress)) -> Result<Bundle, Problem> {
    let (begun, limit) = (Instant::now(), plan.options.limit.0);
    if limit < LIMIT_MIN {
        let detail = format!("{} s is not enough to run the tools and write the archive.", limit.as_secs());
        let hint = format!("use --limit {}s or more.", LIMIT_MIN.as_secs());
        return Err(Problem::new("--limit is too short", detail, hint));
    }
    let end_at = begun + limit;
    let no_folder = |error: std::io::Error| {
        let what = format!("cannot write to {}", plan.options.out.display());
        Problem::new(what, error, "choose another --out, with a few hundred MB free.")
    };
    let scratch = Scratch::new(&plan.options.out).map_err(no_folder)?;
    let tools = Tools::new(plan.options.tools.clone());
    let items = items::all(plan, &tools);
    let gathered = gather::all(plan, &tools, items, scratch.path(), end_at, stop, progress);
    archive::write(plan, gathered, begun).map_err(no_folder)
}

/// `mainstay-agent bundle`.
pub(crate) async fn run(plan: Plan, format: Format) -> Result<CommandOutput, Problem> {
    let no_start = |error: std::io::Error| {
        Problem::new("the agent cannot start", error, "check the resource limits of the process (ulimit).")
    };
    let stop = ShutdownSignal::new().map_err(no_start)?;
    let mut signals = TerminationSignals::new().map_err(no_start)?;
    let (done, mut made) = tokio::sync::oneshot::channel();
    let its = stop.clone();
    let work = std::thread::Builder::new().name("bundle".to_owned()).spawn(move || {
        let bundle = make(&plan, &its, &mut |progress| output::progress(&progress.line()));
        let _ = done.send(bundle);
    });
    drop(work.map_err(no_start)?);
    let bundle = loop {
        tokio::select! {
            bundle = &mut made => break bundle,
            // What there is by then is written all the same.
            _ = signals.received() => stop.fire(),
        }
    };
    output::progress("");
    let defect = |_| {
        Problem::new(
            "no bundle was made",
            "the worker thread ended.",
            "this is a bug in mainstay-agent: please report it.",
        )
    };
    let bundle = bundle.map_err(defect)??;
    let text = match format {
        Format::Text => bundle.line(),
        Format::Json => output::json(&bundle, true)?,
    };
    Ok(CommandOutput { text, outcome: if bundle.complete { Outcome::Nothing } else { Outcome::Unseen } })
}

// === impl EntryStatus ===

impl EntryStatus {
    const fn words(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Cut => "truncated",
            Self::OutOfTime => "timed out",
            Self::NotBegun => "not started",
            Self::NoTool => "tool not found",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Hangs => "hangs",
        }
    }
}

// === impl Bundle ===

impl Bundle {
    fn line(&self) -> String {
        let whole = self.entries.iter().filter(|entry| entry.ended == EntryStatus::Complete).count();
        let lacks: Vec<String> = self
            .entries
            .iter()
            .filter(|entry| entry.ended != EntryStatus::Complete)
            .map(|entry| format!("{} ({})", entry.name, entry.ended.words()))
            .collect();
        let lacks = if lacks.is_empty() { String::new() } else { format!("; incomplete: {}", lacks.join(", ")) };
        let (path, kilobytes, seconds) = (&self.path, self.bytes.div_ceil(1000), self.seconds);
        format!("{path}  {whole} of {} parts, {kilobytes} kB, {seconds:.0} s{lacks}\n", self.entries.len())
    }
}

// === impl Progress ===

impl Progress {
    fn line(&self) -> String {
        format!("{}/{}  {}", self.done, self.of, self.running.join(" "))
    }
}
