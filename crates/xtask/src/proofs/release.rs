//! Proofs of a release: a new user gets an explanation of a fault from the tarball alone, and two clones of a commit
//! give the same files.

mod first_five_minutes;
mod reproduce;

use std::time::Duration;

use crate::prove::{Context, Goal, Proof, Schedule};

pub(super) const FIRST_FIVE_MINUTES: Proof = Proof {
    name: "first-five-minutes",
    runs: Schedule::InCi,
    unit: "seconds",
    goal: Goal::AtMost(300),
    limit: Duration::from_mins(60),
    run: |context: &Context| Box::pin(first_five_minutes::measure(context)),
};

pub(super) const RELEASE: Proof = Proof {
    name: "release",
    // It builds both programs for both architectures, twice.
    runs: Schedule::ByHand,
    unit: "files that differ",
    goal: Goal::Exactly(0),
    limit: Duration::from_hours(4),
    run: |context: &Context| Box::pin(reproduce::measure(context)),
};
