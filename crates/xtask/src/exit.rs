//! The exit codes of `cargo xtask`. Scripts and CI rely on them.

use std::process::{ExitCode, ExitStatus};

use crate::output;

/// How a subcommand ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The check holds, or the task is done.
    Holds,
    /// A check, a rule or a goal does not hold.
    DoesNotHold,
    /// The command line has an unknown subcommand, option or name.
    Usage,
    /// The task could not run: a program is missing, a file cannot be read.
    CouldNotRun,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        match exit {
            Exit::Holds => ExitCode::SUCCESS,
            Exit::DoesNotHold => ExitCode::from(1),
            // The code that clap exits with.
            Exit::Usage => ExitCode::from(2),
            Exit::CouldNotRun => ExitCode::from(3),
        }
    }
}

impl From<ExitStatus> for Exit {
    /// How a program ended that has the same codes. Cargo's own code for a failed build is 101.
    fn from(status: ExitStatus) -> Exit {
        match status.code() {
            Some(0) => Exit::Holds,
            Some(1) => Exit::DoesNotHold,
            Some(2) => Exit::Usage,
            Some(_) | None => Exit::CouldNotRun,
        }
    }
}

/// The exit code of a program; an error is printed first.
pub fn code(result: anyhow::Result<Exit>) -> ExitCode {
    result
        .unwrap_or_else(|error| {
            output::note(format_args!("error: {error:#}"));
            Exit::CouldNotRun
        })
        .into()
}

/// Shown at the end of `--help`.
pub const CODES: &str = "\
Exit codes:
  0  holds, or done
  1  does not hold: a check failed, a rule is broken, a goal is missed
  2  usage: unknown subcommand, option or name
  3  could not run: a program is missing, a file cannot be read";
