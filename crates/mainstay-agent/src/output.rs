//! The only place that writes to standard output and standard error, besides the daemon's log; and what exit codes mean.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::ValueEnum;
use serde::Serialize;

use crate::sources::nvml::{NvmlSession, end_at_once};

/// Shown at the end of `--help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  success: scan found nothing, bundle is complete, all tests passed
  1  failed; standard error has the problem, detail and hint
  2  invalid command line
  3  standard output closed before the output was complete
  4  scan found evidence, or a test of qualify failed
  5  incomplete: scan could not read a source, bundle lacks a part, or
     a test of qualify has no result";

/// Exit code when another program could not be started; `env` and `timeout` use the same.
pub(crate) const NOT_STARTED: u8 = 125;

/// Output format of a subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for a terminal
    Text,
    /// JSON for other programs
    Json,
}

/// Text for standard output, and the result that decides the exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// The text for standard output.
    pub text: String,
    /// The result, which decides the exit code.
    pub outcome: Outcome,
}

/// Result of a subcommand, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing found, and every source was read.
    Nothing,
    /// Evidence was found.
    Evidence,
    /// Nothing found, and a source could not be read.
    Unseen,
    /// Standard output was closed.
    Closed,
    /// Another program could not be started.
    NotBegun,
}

/// An error for the user: what failed, why, and what helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What failed, without a full stop.
    pub what: String,
    /// The cause of the failure.
    pub detail: String,
    /// What the user can do about it.
    pub hint: String,
}

/// The cause of a failure as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail(String);

impl From<String> for Detail {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Detail {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<std::io::Error> for Detail {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<serde_json::Error> for Detail {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

// === impl Problem ===

impl Problem {
    /// A problem with its detail and hint.
    pub fn new(what: impl Into<String>, detail: impl Into<Detail>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), detail: detail.into().0, hint: hint.into() }
    }
}

/// One JSON document, on one line or many.
///
/// # Errors
/// Never for what is written here.
pub fn json(value: &impl Serialize, pretty: bool) -> Result<String, Problem> {
    let text = if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    text.map(|text| text + "\n").map_err(|error| {
        Problem::new("cannot serialise the output", error, "this is a bug in mainstay-agent: please report it.")
    })
}

/// Writes a line while a command goes on; false where nobody listens.
#[must_use]
pub fn line(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

/// Shows how far a command is, on standard error and only where a person looks at it; no words clear the line.
pub fn progress(text: &str) {
    /// Lines that wrap cannot be written over.
    const CHARS_MAX: usize = 78;
    let mut error = std::io::stderr().lock();
    if error.is_terminal() {
        let text: String = text.chars().take(CHARS_MAX).collect();
        let _ = write!(error, "\r\x1b[K{text}").and_then(|()| error.flush());
    }
}

/// Prints the output of a subcommand.
#[must_use]
pub fn print(said: &CommandOutput) -> ExitCode {
    let written = said.text.is_empty() || line(&said.text);
    end(match (written, said.outcome) {
        (false, _) | (true, Outcome::Closed) => 3,
        (true, Outcome::Nothing) => 0,
        (true, Outcome::Evidence) => 4,
        (true, Outcome::Unseen) => 5,
        (true, Outcome::NotBegun) => NOT_STARTED,
    })
}

/// Prints a problem to standard error.
#[must_use]
pub fn fail(problem: &Problem) -> ExitCode {
    let Problem { what, detail, hint } = problem;
    // Nothing is left to be told where standard error itself is closed.
    let _ = write!(std::io::stderr(), "problem: {what}\n  detail: {detail}\n  hint:   {hint}\n");
    end(1)
}

/// The end of the program. Where a call of NVML hangs, the destructors of its library could wait for it for ever.
fn end(code: u8) -> ExitCode {
    if NvmlSession::open_anywhere() {
        end_at_once(code);
    }
    ExitCode::from(code)
}
