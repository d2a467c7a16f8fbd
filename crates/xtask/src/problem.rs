//! A problem in the workspace: code, what, detail and hint, and how it is printed. The rules find problems; this file only
//! prints them.

use std::fmt;

use serde::Serialize;

/// One thing that does not hold, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// Stable code, so that it can be searched for.
    pub code: &'static str,
    /// The place and what is wrong there.
    pub what: String,
    /// Facts that explain the problem.
    pub detail: String,
    /// How to fix the problem.
    pub hint: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "problem {}: {}", self.code, self.what)?;
        writeln!(f, "  detail: {}", self.detail)?;
        write!(f, "  hint:   {}", self.hint)
    }
}
