//! Something in the workspace that does not hold, told as code, what, detail and hint. Finding problems is the
//! business of the rules; here is only how one is told.

use std::fmt;

use serde::Serialize;

/// One thing that does not hold, and how to mend it.
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
