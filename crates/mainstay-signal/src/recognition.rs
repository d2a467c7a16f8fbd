//! What a line means to the parsers, and who wrote it. This is the entry point for one text line of any log: the agent,
//! `assess` and the counting of unknown lines use it alike.

use crate::kernel::words;
use crate::{Signal, daemons, kernel};

/// Who wrote a line. A tenant may log whatever it likes under its own name, so a parser trusts a line only if it comes
/// from the kernel or from the service that the parser knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer<'a> {
    /// The kernel or one of its drivers.
    Kernel,
    /// A program, by the name under which it logs.
    Program(&'a str),
    /// The line does not name its writer, as in a text that an operator copied. Only `assess` reads such lines.
    Unstated,
}

/// What a line means to the parsers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognition {
    /// The line reports a fault.
    Fault(Signal),
    /// A parser knows the line, and it reports no fault of its own: it continues another line, or identifies hardware.
    Harmless,
    /// No parser knows the line.
    Unknown,
}

/// Returns what a line means. Text beyond the length limits is ignored. Line breaks within a record, also those that a
/// log shipper wrote as `#012`, fold into one line.
#[must_use]
pub fn recognise(line: &str, writer: Writer<'_>) -> Recognition {
    match writer {
        Writer::Kernel => kernel::recognise(line),
        Writer::Program(name) => daemons::recognise(name, line),
        // A kernel line may begin with the name of a process, which a tenant chooses: no other reader searches it.
        Writer::Unstated if words::begins_with_process(&kernel::text_of(line)) => kernel::recognise(line),
        // A copied text may wrap a kernel line in the words of a script or in JSON.
        Writer::Unstated => {
            let readers = [kernel::recognise, kernel::recognise_wrapped, daemons::recognise_unstated];
            let known = readers.into_iter().map(|read| read(line)).find(|known| *known != Recognition::Unknown);
            known.unwrap_or(Recognition::Unknown)
        }
    }
}

// === impl Recognition ===

impl Recognition {
    /// Returns the signal of a line that reports a fault.
    #[must_use]
    pub fn signal(self) -> Option<Signal> {
        match self {
            Self::Fault(signal) => Some(signal),
            Self::Harmless | Self::Unknown => None,
        }
    }
}

impl From<Option<Signal>> for Recognition {
    fn from(signal: Option<Signal>) -> Self {
        signal.map_or(Self::Unknown, Self::Fault)
    }
}
