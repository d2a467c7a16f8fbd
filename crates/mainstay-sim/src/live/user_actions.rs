//! User actions on a live fleet, kept so that an older clone can replay any later time.

use std::collections::VecDeque;
use std::sync::Arc;

use mainstay_model::{Mode, Request, Timestamp};

use super::{Injection, LiveFleet};

/// Acts that are kept: more than a person does in an evening.
const ACTS_MAX: usize = 4_096;

/// One injection, node request or mode change by a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UserAction {
    Inject(Injection, u32),
    Ask(u32, Option<Request>),
    Mode(Mode),
}

/// The latest actions of users on a live fleet, for replay.
#[derive(Debug, Clone, Default)]
pub(super) struct UserActions {
    kept: VecDeque<Arc<(Timestamp, UserAction)>>,
    /// How many there were before those.
    forgotten: usize,
}

impl LiveFleet {
    pub(super) fn record_action(&mut self, act: UserAction) {
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
                UserAction::Inject(injection, node) => live.inject_at(*injection, *node).map(|_| ()).ok()?,
                UserAction::Ask(node, request) => {
                    live.world.is_asked(*node, request.clone());
                    live.record_action(act.1.clone());
                }
                UserAction::Mode(mode) => {
                    live.set_mode(*mode);
                }
            }
        }
        live.advance(at);
        Some(live)
    }
}
