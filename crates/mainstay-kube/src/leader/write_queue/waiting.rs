//! Writes that wait for their turn: the latest for each object, the most urgent first, the oldest first among equally
//! urgent ones. It starts nothing.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_model::Stage;

use crate::write::{Target, Write};

/// Largest number of Events in the queue. Further ones are dropped.
const EVENTS_MAX: usize = 1_000;
/// Largest number of writes in the queue. Every object is in it at most once, so a cell of 100,000 nodes stays below.
const WAITING_MAX: usize = 250_000;
/// Every such turn goes to the write that has waited longest, whatever its urgency, so that no class waits forever.
const OLDEST_EVERY: u64 = 8;

/// How urgent a write is, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    Cell,
    /// State of a node that is not in service, or that has orders: a grant is stored before anything is done.
    TreatedNode,
    Node,
    Incident,
    Wait,
    Config,
    Slo,
    Deletion,
    Event,
}

impl Urgency {
    fn of(write: &Write) -> Self {
        match write {
            Write::Cell { .. } | Write::CellTime => Self::Cell,
            Write::Record { status, .. }
                if status.stage != Stage::InService || !status.orders.as_slice().is_empty() =>
            {
                Self::TreatedNode
            }
            Write::Record { .. } => Self::Node,
            Write::Incident { .. } => Self::Incident,
            Write::Wait { .. } => Self::Wait,
            Write::Judged { .. } => Self::Config,
            Write::Slo { .. } => Self::Slo,
            Write::Forget { .. } | Write::Orphan { .. } | Write::ForgetNode { .. } => Self::Deletion,
            Write::Event(_) => Self::Event,
        }
    }
}

/// One write in the queue. A later write to the same object takes its place and its age.
#[derive(Debug)]
struct Queued {
    write: Write,
    urgency: Urgency,
    ticket: u64,
}

/// Queue of writes by urgency and age.
#[derive(Debug, Default)]
pub(super) struct WaitingWrites {
    queued: BTreeMap<Target, Queued>,
    by_urgency: BTreeSet<(Urgency, u64, Target)>,
    by_age: BTreeMap<u64, Target>,
    /// Number of Events in the queue.
    events: usize,
    next_ticket: u64,
    turns: u64,
}

// === impl WaitingWrites ===

impl WaitingWrites {
    /// Queues a write. A later write to the same object replaces an earlier one. Returns how many writes had no place.
    pub(super) fn push(&mut self, write: Write) -> usize {
        let target = write.target();
        let is_known = self.queued.contains_key(&target);
        if !is_known && is_event(&target) && self.events >= EVENTS_MAX {
            return 1;
        }
        let before = self.remove(&target);
        let ticket = before.as_ref().map_or(self.next_ticket, |before| before.ticket);
        self.next_ticket += u64::from(before.is_none());
        self.insert(target, merged(before.map(|before| before.write), write), ticket);
        if self.queued.len() <= WAITING_MAX {
            return 0;
        }
        // The decision that wanted the write asks for it again.
        let last = self.by_urgency.last().map(|(_, _, target)| target.clone());
        last.and_then(|last| self.remove(&last)).map_or(0, |_| 1)
    }

    pub(super) fn contains(&self, target: &Target) -> bool {
        self.queued.contains_key(target)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Drops every write. Returns how many there were.
    pub(super) fn clear(&mut self) -> usize {
        let count = self.queued.len();
        *self = Self { next_ticket: self.next_ticket, turns: self.turns, ..Self::default() };
        count
    }

    /// The next write that may begin.
    pub(super) fn take(&mut self, may_begin: impl Fn(&Self, &Target, &Write) -> bool) -> Option<(Target, Write)> {
        let is_free =
            |target: &&Target| self.queued.get(*target).is_some_and(|one| may_begin(self, target, &one.write));
        let is_turn_of_oldest = self.turns % OLDEST_EVERY == OLDEST_EVERY - 1;
        let next = if is_turn_of_oldest {
            self.by_age.values().find(is_free)
        } else {
            self.by_urgency.iter().map(|(_, _, target)| target).find(is_free)
        };
        let next = next.cloned()?;
        self.turns += 1;
        self.remove(&next).map(|one| (next, one.write))
    }

    fn insert(&mut self, target: Target, write: Write, ticket: u64) {
        let urgency = Urgency::of(&write);
        self.events += usize::from(is_event(&target));
        self.by_urgency.insert((urgency, ticket, target.clone()));
        self.by_age.insert(ticket, target.clone());
        self.queued.insert(target, Queued { write, urgency, ticket });
    }

    fn remove(&mut self, target: &Target) -> Option<Queued> {
        let removed = self.queued.remove(target)?;
        self.events -= usize::from(is_event(target));
        self.by_urgency.remove(&(removed.urgency, removed.ticket, target.clone()));
        self.by_age.remove(&removed.ticket);
        Some(removed)
    }
}

/// One write with the content of two writes to the same object.
fn merged(before: Option<Write>, write: Write) -> Write {
    match (before, write) {
        // A record holds the wait as well, and more.
        (Some(Write::Record { node, mut status, is_new }), Write::Wait { waiting_on, message, conditions, .. }) => {
            status.waiting_on = waiting_on;
            status.message = message;
            status.conditions = conditions.unwrap_or(status.conditions);
            Write::Record { node, status, is_new }
        }
        (Some(Write::Wait { conditions: before, .. }), Write::Wait { node, waiting_on, message, conditions }) => {
            Write::Wait { node, waiting_on, message, conditions: conditions.or(before) }
        }
        // Two who write the cell write different fields of it.
        (Some(Write::Cell { record, conditions }), Write::Cell { record: newer, conditions: newer_conditions }) => {
            let conditions = if newer_conditions.is_empty() { conditions } else { newer_conditions };
            Write::Cell { record: newer.or(record), conditions }
        }
        // The time is raised again a few seconds later; the record would be lost.
        (Some(before @ Write::Cell { .. }), Write::CellTime) => before,
        (_, write) => write,
    }
}

fn is_event(target: &Target) -> bool {
    match target {
        Target::Event(_) => true,
        Target::Cell | Target::Node(_) | Target::Incident(_) | Target::Written(..) => false,
        Target::Report(_) | Target::Slo(_) => false,
    }
}

#[cfg(test)]
mod tests;
