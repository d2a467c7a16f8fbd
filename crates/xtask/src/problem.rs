//! A problem in the workspace: code, what, detail and hint, and how it is printed. The rules find problems; this file only
//! prints them.

use std::fmt;

use serde::Serialize;

/// One thing that does not hold, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Problem {
    /// Stable, so that it can be searched for.
    pub(crate) code: &'static str,
    pub(crate) what: String,
    pub(crate) detail: String,
    pub(crate) hint: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "problem {}: {}", self.code, self.what)?;
        writeln!(f, "  detail: {}", self.detail)?;
        write!(f, "  hint:   {}", self.hint)
    }
}
