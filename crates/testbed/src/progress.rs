//! Progress of long work, for its caller. The caller decides how to show it; tests show builds only.

use std::io::Write as _;

use crate::servers::Program;

/// One step that began or advanced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressEvent {
    /// A program is being built from source because the cache does not hold it.
    Building {
        /// What is being built.
        program: Program,
        /// How many are built already.
        done: usize,
        /// How many are built in all.
        of: usize,
    },
    /// Another process builds the servers, and this one waits for it.
    WaitingForBuild,
    /// A program was started.
    Starting(Program),
    /// Node objects exist so far.
    Creating {
        /// How many exist.
        done: usize,
        /// How many there will be.
        of: usize,
    },
    /// Nodes are Ready so far.
    Readying {
        /// How many are Ready.
        done: usize,
        /// How many there are.
        of: usize,
    },
}

/// Where steps go.
pub type Progress<'a> = &'a (dyn Fn(ProgressEvent) + Send + Sync);

/// Prints first-use builds of servers to stderr, because they take minutes, and nothing else. For tests and proofs.
pub fn builds_only(step: ProgressEvent) {
    match step {
        ProgressEvent::Building { program, done, of } => {
            note(&format!("building {program} ({} of {of}), once per machine", done + 1));
        }
        ProgressEvent::WaitingForBuild => note("waiting for another process that builds them"),
        ProgressEvent::Starting(_) | ProgressEvent::Creating { .. } | ProgressEvent::Readying { .. } => {}
    }
}

/// Prints a line to stderr. A closed stderr does not stop a test.
pub(crate) fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "test servers: {line}");
}
