//! What people did to a live fleet, so that any moment of its past can be lived through again from an older clone: a few
//! clones and this list stand for a clone of every minute.

use std::collections::VecDeque;
use std::sync::Arc;

use mainstay_model::{Mode, Request, Timestamp};

use super::{Injection, Live};

/// Acts that are kept: more than a person does in an evening.
const ACTS_MAX: usize = 4_096;

/// One act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    Inject(Injection, u32),
    Ask(u32, Option<Request>),
    Mode(Mode),
}

/// The latest acts.
#[derive(Debug, Clone, Default)]
pub(super) struct Acts {
    kept: VecDeque<Arc<(Timestamp, Act)>>,
    /// How many there were before those.
    forgotten: usize,
}

impl Live {
    pub(super) fn did(&mut self, act: Act) {
        if self.acts.kept.len() >= ACTS_MAX {
            self.acts.kept.pop_front();
            self.acts.forgotten += 1;
        }
        self.acts.kept.push_back(Arc::new((self.now(), act)));
    }

    /// The fleet as it stood at a moment, lived through again from an older clone of it with everything that people did
    /// since. The same to the byte. None where the clone is younger than that, or so old that what was done is forgotten.
    #[must_use]
    pub fn replay(&self, from: &Self, at: Timestamp) -> Option<Self> {
        let done = from.acts.forgotten + from.acts.kept.len();
        let first = done.checked_sub(self.acts.forgotten)?;
        if from.now() > at || first > self.acts.kept.len() {
            return None;
        }
        let mut live = from.clone();
        for act in self.acts.kept.range(first..).take_while(|act| act.0 <= at) {
            live.advance(act.0);
            match &act.1 {
                Act::Inject(injection, node) => live.inject_at(*injection, *node).map(|_| ()).ok()?,
                Act::Ask(node, request) => {
                    live.world.is_asked(*node, request.clone());
                    live.did(act.1.clone());
                }
                Act::Mode(mode) => {
                    live.set_mode(*mode);
                }
            }
        }
        live.advance(at);
        Some(live)
    }
}
