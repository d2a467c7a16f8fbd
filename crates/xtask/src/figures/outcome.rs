//! The JSON line that a proof prints, and what CI makes of it.

use serde::{Deserialize, Serialize};

use super::Figure;

/// The outcome of one run. Scripts may rely on these six fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// Name of figure and proof.
    pub name: String,
    /// The measured value; absent where the measurement failed.
    pub value: Option<i64>,
    /// Unit of the measured value.
    pub unit: String,
    /// The goal as text: `<= 60`.
    pub goal: String,
    /// Whether the value keeps the goal.
    pub holds: bool,
    /// Duration of the whole run.
    pub seconds: f64,
}

/// What CI makes of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passes,
    /// A time goal is missed, which CI prints and does not enforce.
    Printed,
    Fails,
}

/// A missed time goal is printed only. A proof that measured nothing fails whatever its unit, and so does one without an
/// outcome.
pub(crate) fn verdict_in_ci(figure: &Figure, outcome: Option<&Outcome>) -> Verdict {
    match outcome.map(|outcome| (outcome.holds, outcome.value)) {
        Some((true, _)) => Verdict::Passes,
        Some((false, Some(_))) if figure.is_wall_clock() => Verdict::Printed,
        Some((false, _)) | None => Verdict::Fails,
    }
}
