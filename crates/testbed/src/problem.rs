//! The shape of this crate's errors: what went wrong, the detail, and a hint. Not a type to match on: whatever a caller
//! may decide about is a value, such as [`crate::fleet::Readiness`].

/// An error in three lines.
pub(crate) fn problem(
    what: impl std::fmt::Display,
    detail: impl std::fmt::Display,
    hint: impl std::fmt::Display,
) -> anyhow::Error {
    anyhow::anyhow!("{what}\n  detail: {detail}\n  hint:   {hint}")
}
