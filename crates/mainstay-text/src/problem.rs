//! An error as a user reads it: the problem, a detail and a hint.

/// An error for users: what failed, the detail, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {detail} {hint}")]
pub struct Problem {
    /// The failure in a few words, without a full stop.
    pub what: String,
    /// The cause as a sentence.
    pub detail: String,
    /// The next step for the user, as a sentence.
    pub hint: String,
}

/// The innermost cause of an error: "connection refused" rather than "client error".
#[must_use]
pub fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.last().map_or_else(String::new, ToString::to_string)
}
