//! The only place that writes to standard output and standard error.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

use crate::called::Called;

/// How documents are printed.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// YAML documents with `---` between them
    Yaml,
    /// One JSON List
    Json,
}

/// How what is seen of a cluster is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For people
    Table,
    /// For people with a wide screen
    Wide,
    /// For programs
    Json,
    /// For programs, and for people with an editor
    Yaml,
}

/// What a command has to say.
pub(crate) struct Said {
    text: String,
    found: Found,
}

/// Whether what was found is good news: it decides the exit code.
enum Found {
    Nothing,
    BrokenPromise,
    NoReader,
    NeedsPerson,
}

impl Said {
    pub(crate) const fn done(text: String) -> Self {
        Self { text, found: Found::Nothing }
    }

    /// The command did what it was asked for, and found a promise broken.
    pub(crate) const fn broken(text: String) -> Self {
        Self { text, found: Found::BrokenPromise }
    }

    /// The command did what it was asked for, and found something that only a person can end.
    pub(crate) const fn needs_person(text: String) -> Self {
        Self { text, found: Found::NeedsPerson }
    }

    /// Nobody reads any more.
    pub(crate) const fn closed() -> Self {
        Self { text: String::new(), found: Found::NoReader }
    }

    /// The same for somebody who calls the program by another name.
    pub(crate) fn under(self, called: Called) -> Self {
        Self { text: called.named(&self.text), ..self }
    }

    const fn exit_code(&self) -> u8 {
        match self.found {
            Found::Nothing => 0,
            Found::NoReader => 3,
            Found::BrokenPromise => 4,
            Found::NeedsPerson => 5,
        }
    }
}

/// Something that could not be done, for a person.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) what: String,
    pub(crate) detail: String,
    pub(crate) hint: String,
}

impl Problem {
    /// The same for somebody who calls the program by another name.
    pub(crate) fn under(self, called: Called) -> Self {
        Self { hint: called.named(&self.hint), ..self }
    }

    fn of_writing(error: &dyn std::fmt::Display) -> Self {
        Self {
            what: "a document could not be written out".into(),
            detail: error.to_string(),
            hint: "this is a defect of mainstay: please report it with the command you ran.".into(),
        }
    }
}

pub(crate) fn json(value: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| Problem::of_writing(&error))
}

/// One object in one line, for programs that read as it comes.
pub(crate) fn json_line(value: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string(value).map(|text| text + "\n").map_err(|error| Problem::of_writing(&error))
}

pub(crate) fn yaml(value: &impl Serialize) -> Result<String, Problem> {
    serde_saphyr::to_string(value).map_err(|error| Problem::of_writing(&error))
}

/// Whether somebody looks at it, rather than a program.
pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Prints something while the command goes on. It fails where nobody reads any more.
pub(crate) fn line(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

pub(crate) fn documents(documents: &[Value], format: Format) -> Result<String, Problem> {
    match format {
        Format::Json => json(&serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": documents })),
        Format::Yaml => {
            let texts: Result<Vec<_>, _> = documents.iter().map(serde_saphyr::to_string).collect();
            Ok(texts.map_err(|error| Problem::of_writing(&error))?.join("---\n"))
        }
    }
}

/// A reader that went away (`| head`) is not an error worth a message, but it is not success either.
pub(crate) fn print(said: &Said) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(said.text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::from(said.exit_code()),
        Err(_) => ExitCode::from(3),
    }
}

pub(crate) fn fail(problem: &Problem) -> ExitCode {
    let Problem { what, detail, hint } = problem;
    // Nothing is left to be told where standard error itself is closed.
    let _ = write!(std::io::stderr(), "problem: {what}\n  detail: {detail}\n  hint:   {hint}\n");
    ExitCode::FAILURE
}

/// The innermost cause of an error: "connection refused" rather than "client error".
pub(crate) fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.last().map_or_else(String::new, ToString::to_string)
}
