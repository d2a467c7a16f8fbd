//! The exit codes of `cargo xtask`. Scripts and CI rely on them.

use std::process::ExitCode;

/// How a subcommand ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The check holds, or the task is done.
    Holds,
    /// A check, a rule or a goal does not hold.
    DoesNotHold,
    /// The task could not run: a program is missing, a file cannot be read.
    CouldNotRun,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        match exit {
            Exit::Holds => ExitCode::SUCCESS,
            Exit::DoesNotHold => ExitCode::from(1),
            // 2 is clap's, for usage.
            Exit::CouldNotRun => ExitCode::from(3),
        }
    }
}

/// Shown at the end of `--help`.
pub(crate) const CODES: &str = "\
Exit codes:
  0  holds, or done
  1  does not hold: a check failed, a rule is broken, a goal is missed
  2  usage: unknown subcommand, option or name
  3  could not run: a program is missing, a file cannot be read";
