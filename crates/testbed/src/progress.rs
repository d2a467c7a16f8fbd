//! What long work tells its caller while it runs. How it is shown is the caller's business.

use crate::servers::Program;

/// One step of a long task that started or advanced.
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

/// For callers who do not want to know.
pub fn silent(_: ProgressEvent) {}
