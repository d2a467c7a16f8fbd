//! Published figures: what is measured, in which unit, against which goal, and how often. The measurements themselves are in
//! the crate `proofs`; here is what `tidy`, `prove --list` and `docs/reference/figures.md` read without building the
//! product.

pub mod claims;
mod list;
pub mod machine;
pub mod outcome;
pub mod record;
pub mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use serde::Serialize;

pub use list::ALL;

/// A published figure, measured by the proof of the same name.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// As in `cargo xtask prove NAME`; also the key of its claim.
    pub name: &'static str,
    /// Whether CI measures it with every change.
    pub runs: Schedule,
    /// Unit of the figure, in the plural: `seconds`, `arrows`.
    pub unit: &'static str,
    /// The bound that the figure must keep.
    pub goal: Goal,
    /// A proof that takes longer is stopped and does not hold.
    pub limit: Duration,
    /// Test servers that must exist before the clock of the proof starts.
    pub servers: TestServers,
}

impl Figure {
    /// The figure of that name, if there is one.
    pub fn of(name: &str) -> Option<&'static Figure> {
        ALL.iter().find(|figure| figure.name == name)
    }

    /// Whether the figure depends on how fast the machine is. CI machines are shared, so CI prints such a goal and fails
    /// on counts, sizes and ratios only; a recorded run enforces it.
    pub(crate) fn is_wall_clock(&self) -> bool {
        WALL_CLOCK_UNITS.contains(&self.unit)
    }
}

/// Units of times, and of rates per time.
const WALL_CLOCK_UNITS: &[&str] = &["seconds", "milliseconds", "ms", "µs", "transitions a second"];

/// Whether a proof runs in CI or by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// In CI, with every change.
    InCi,
    /// By hand: it needs a larger machine, or more time.
    ByHand,
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Schedule::InCi => "CI",
            Schedule::ByHand => "by hand",
        })
    }
}

/// The Kubernetes servers that a proof starts. They are built once per machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestServers {
    /// The proof starts no Kubernetes server.
    Unused,
    /// The Kubernetes version that the tests use.
    Newest,
    /// The oldest Kubernetes version that is supported.
    Oldest,
}

/// The bound that the figure must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The value or a smaller one.
    AtMost(i64),
    /// The value or a larger one.
    AtLeast(i64),
    /// The value and no other.
    Exactly(i64),
}

impl Goal {
    /// Whether a measured value keeps the bound.
    pub fn holds(self, value: i64) -> bool {
        match self {
            Goal::AtMost(most) => value <= most,
            Goal::AtLeast(least) => value >= least,
            Goal::Exactly(exact) => value == exact,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Goal::AtMost(most) => write!(f, "<= {most}"),
            Goal::AtLeast(least) => write!(f, ">= {least}"),
            Goal::Exactly(exact) => write!(f, "= {exact}"),
        }
    }
}
