//! Who is called a lemon, beside who is one. The brain knows what it was told; here is the truth to hold it against.

use mainstay_model::{NodeName, Span, Timestamp};

use super::World;
use crate::fault_schedule::{is_lemon, multiplier};
use crate::outcome::Lemons;

/// How soon after its first incident a lemon is to be named, and by which incident at the latest.
const NAMED_WITHIN: Span = Span::hours(14 * 24);
const NAMED_BY: u32 = 3;

/// In how many days of sound nodes one may be called a lemon: a thousand nodes for a month.
const ONE_FALSE_IN_DAYS: u64 = 1_000 * 30;

const DAY_MILLIS: u64 = 86_400_000;

/// Incidents of one node, and whether the engine flags it as a lemon.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LemonStatus {
    incidents: u32,
    last: Option<Timestamp>,
    /// When the first incident was on record, and the last by which a lemon is to be named.
    first_at: Option<Timestamp>,
    enough_at: Option<Timestamp>,
    named_at: Option<Timestamp>,
    is_named: bool,
    times_named: u32,
}

impl World {
    /// Looks at what the brain thinks of a node that it has just looked at.
    pub(super) fn update_lemon_status(&mut self, node: u32, name: &NodeName) {
        let last = self.engine.persisted(name).and_then(|persisted| persisted.incidents.as_slice().last());
        let last = last.map(|incident| incident.at);
        let is_named = self.engine.risk(name).is_some_and(|risk| risk.is_lemon());
        let now = self.now;
        let called = &mut self.called[node as usize];
        if last.is_some() && last != called.last {
            called.last = last;
            called.incidents += 1;
            called.first_at.get_or_insert(now);
            if called.incidents == NAMED_BY {
                called.enough_at = Some(now);
            }
        }
        if is_named && !called.is_named {
            called.named_at.get_or_insert(now);
            called.times_named += 1;
        }
        called.is_named = is_named;
    }

    /// Names held against the truth.
    pub(super) fn lemons(&self) -> Lemons {
        let mut lemons = Lemons::default();
        let (mut struck, mut sound): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        for (node, called) in (0..).zip(&self.called) {
            let times = multiplier(&self.model, self.seed, node);
            if !is_lemon(&self.model, self.seed, node) {
                lemons.named_falsely += u64::from(called.times_named);
                sound.push(times);
                continue;
            }
            lemons.nodes += 1;
            let Some(first_at) = called.first_at.filter(|at| *at + NAMED_WITHIN <= self.now) else { continue };
            let named_by = called.enough_at.map_or(first_at + NAMED_WITHIN, |at| at.max(first_at + NAMED_WITHIN));
            let in_time = called.named_at.is_some_and(|at| at <= named_by);
            lemons.struck += 1;
            lemons.named += u64::from(in_time);
            lemons.struck_thrice += u64::from(called.enough_at.is_some());
            lemons.named_thrice += u64::from(in_time && called.enough_at.is_some());
            struck.push(times);
        }
        let nodes = u64::from(self.shape.nodes) - lemons.nodes;
        lemons.sound_node_days = self.now.since(Timestamp(0)).0 / DAY_MILLIS * nodes;
        lemons.nameable = nameable(&struck, sound, lemons.sound_node_days / ONE_FALSE_IN_DAYS);
        lemons
    }
}

/// How many of the struck lemons somebody would name who knew how often every node fails, and drew the line so that no more
/// sound nodes are above it than are allowed.
fn nameable(struck: &[f64], mut sound: Vec<f64>, allowed: u64) -> u64 {
    sound.sort_unstable_by(|one, other| other.total_cmp(one));
    let line = usize::try_from(allowed).ok().and_then(|allowed| sound.get(allowed)).copied().unwrap_or(0.0);
    struck.iter().map(|times| u64::from(*times > line)).sum()
}
