//! The one place where the tasks print: data on stdout, everything for a reader on stderr, so that `-o json` is
//! never mixed with other lines.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;

/// How data is written on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Text for a reader
    Text,
    /// JSON for a program
    Json,
}

/// A line for the reader, on stderr. A closed stderr does not stop the task.
pub fn note(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// A line of data, on stdout.
pub fn line(line: impl Display) -> anyhow::Result<()> {
    writeln!(io::stdout().lock(), "{line}").context("stdout is closed")
}

/// A value as one line of JSON, on stdout.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    line(serde_json::to_string(value).context("the value has no JSON form")?)
}

/// Seconds with one decimal, the resolution at which steps are compared.
pub fn seconds(took: Duration) -> String {
    let tenths = took.as_millis() / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}
