//! Proofs of a release: a new user gets an explanation of a fault from the tarball alone, and two clones of a commit
//! give the same files.

mod first_five_minutes;
mod reproduce;

use crate::prove::{Context, Proof};

pub(super) const FIRST_FIVE_MINUTES: Proof =
    Proof { name: "first-five-minutes", run: |context: &Context| Box::pin(first_five_minutes::measure(context)) };

pub(super) const RELEASE: Proof =
    Proof { name: "release", run: |context: &Context| Box::pin(reproduce::measure(context)) };
