//! The only place that writes to standard output and standard error, and what exit codes mean.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::ValueEnum;
use serde::Serialize;

use crate::sources::nvml::{Guest, end_at_once};

/// Shown at the end of `--help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done; `scan` found nothing, `bundle` is complete, every test of `qualify` passed
  1  could not do it; standard error says what, detail and hint
  2  the command line was not understood
  3  standard output was closed before everything was written
  4  `scan` found evidence or a state that should not be; a test of `qualify` failed
  5  `scan` found nothing and could not look everywhere; `bundle` was written and lacks something; no test of `qualify`
     failed, and not every one passed";

/// How it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person
    Text,
    /// For a program
    Json,
}

/// What a command has to say at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The words.
    pub text: String,
    /// What was found.
    pub found: Found,
}

/// What was found; it decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing, and everything was looked at.
    Nothing,
    /// Evidence.
    Evidence,
    /// Nothing, and something could not be looked at or had.
    Unseen,
    /// Whoever listened went away.
    Closed,
    /// Another program was to be started, and was not.
    NotBegun,
}

/// Something that could not be done, for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What could not be done.
    pub what: String,
    /// Why.
    pub detail: String,
    /// What would help.
    pub hint: String,
}

/// Why something could not be done.
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
    /// In words.
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
        Problem::new(
            "a document could not be written out",
            error,
            "this is a defect of mainstay-agent: please report it.",
        )
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

/// Writes what a command has to say.
#[must_use]
pub fn print(said: &Said) -> ExitCode {
    let written = said.text.is_empty() || line(&said.text);
    end(match (written, said.found) {
        (false, _) | (true, Found::Closed) => 3,
        (true, Found::Nothing) => 0,
        (true, Found::Evidence) => 4,
        (true, Found::Unseen) => 5,
        (true, Found::NotBegun) => crate::limited::NOT_BEGUN,
    })
}

/// Tells a problem.
#[must_use]
pub fn fail(problem: &Problem) -> ExitCode {
    let Problem { what, detail, hint } = problem;
    // Nothing is left to be told where standard error itself is closed.
    let _ = write!(std::io::stderr(), "problem: {what}\n  detail: {detail}\n  hint:   {hint}\n");
    end(1)
}

/// The end of the program. Where a call of NVML hangs, the destructors of its library could wait for it for ever.
fn end(code: u8) -> ExitCode {
    if Guest::open_anywhere() {
        end_at_once(code);
    }
    ExitCode::from(code)
}
