//! The only place that writes to standard output and standard error, besides the controller's log, and the one definition
//! of formats and exit codes.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::ValueEnum;
use indicatif::ProgressStyle;
use serde::Serialize;
use serde_json::Value;

use crate::argv0::ProgramName;

pub(crate) use mainstay_text::Problem;

/// Formats of Kubernetes documents.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// YAML documents, separated by `---`
    Yaml,
    /// One JSON List
    Json,
}

/// Output formats of commands that read a cluster.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// Text, at most 100 columns
    Table,
    /// Text with more columns
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
}

/// Output formats of commands that print text or JSON.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextFormat {
    /// Text
    Text,
    /// JSON; a command that keeps running prints one object per line
    Json,
}

/// The exit codes, as every help shows them. [`CommandOutput::exit_code`] returns them.
macro_rules! exit_codes {
    () => {
        "\
Exit codes:
  0  success; `status` and `doctor`: no operator action needed
  1  failure: standard error shows the problem, a detail and a hint
  2  invalid command line
  3  standard output closed before all output was written
  4  `sim replay` and `gameday run`: a check failed
  5  `status` and `doctor`: operator action needed"
    };
}
pub(crate) use exit_codes;

/// Text that a command prints, with its exit status.
pub(crate) struct CommandOutput {
    text: String,
    found: ExitStatus,
}

/// Reason for the exit code of a command that did not fail.
enum ExitStatus {
    Nothing,
    BrokenPromise,
    NoReader,
    NeedsPerson,
}

impl CommandOutput {
    pub(crate) const fn success(text: String) -> Self {
        Self { text, found: ExitStatus::Nothing }
    }

    /// The command succeeded, and a check failed.
    pub(crate) const fn check_failed(text: String) -> Self {
        Self { text, found: ExitStatus::BrokenPromise }
    }

    /// The command succeeded, and found something that needs operator action.
    pub(crate) const fn needs_operator(text: String) -> Self {
        Self { text, found: ExitStatus::NeedsPerson }
    }

    /// Standard output was closed.
    pub(crate) const fn closed() -> Self {
        Self { text: String::new(), found: ExitStatus::NoReader }
    }

    /// The same text for a program that was called by another name.
    pub(crate) fn for_program(self, called: ProgramName) -> Self {
        Self { text: called.with_program_name(&self.text), ..self }
    }

    pub(crate) const fn exit_code(&self) -> u8 {
        match self.found {
            ExitStatus::Nothing => 0,
            ExitStatus::NoReader => 3,
            ExitStatus::BrokenPromise => 4,
            ExitStatus::NeedsPerson => 5,
        }
    }
}

/// A problem with hints for a program that was called by another name.
pub(crate) fn under(problem: Problem, called: ProgramName) -> Problem {
    Problem { hint: called.with_program_name(&problem.hint), ..problem }
}

fn of_writing(error: &dyn std::fmt::Display) -> Problem {
    Problem {
        what: "a document could not be serialised".into(),
        detail: error.to_string(),
        hint: "this is a defect of Mainstay: please report it with the command you ran.".into(),
    }
}

pub(crate) fn json(value: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| of_writing(&error))
}

/// One object on one line.
pub(crate) fn json_line(value: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string(value).map(|text| text + "\n").map_err(|error| of_writing(&error))
}

pub(crate) fn yaml(value: &impl Serialize) -> Result<String, Problem> {
    serde_saphyr::to_string(value).map_err(|error| of_writing(&error))
}

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Prints a line while the command keeps running. It fails when standard output is closed.
pub(crate) fn line(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

pub(crate) fn documents(documents: &[Value], format: Format) -> Result<String, Problem> {
    match format {
        Format::Json => json(&serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": documents })),
        Format::Yaml => {
            let texts: Result<Vec<_>, _> = documents.iter().map(serde_saphyr::to_string).collect();
            Ok(texts.map_err(|error| of_writing(&error))?.join("---\n"))
        }
    }
}

/// A reader that went away (`| head`) is not an error worth a message, but it is not success either.
pub(crate) fn print(said: &CommandOutput) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(said.text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::from(said.exit_code()),
        Err(_) => ExitCode::from(3),
    }
}

pub(crate) fn fail(problem: &Problem) -> ExitCode {
    let Problem { what, detail, hint } = problem;
    // A closed standard error leaves nowhere to report to.
    let _ = write!(std::io::stderr(), "problem: {what}\n  detail: {detail}\n  hint:   {hint}\n");
    ExitCode::FAILURE
}

/// Style of a progress bar. An invalid template would show as indicatif's own bar.
pub(crate) fn progress_style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("█▉▊▋▌▍▎▏ ")
}
