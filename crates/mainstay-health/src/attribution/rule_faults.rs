//! The faults of one rule within one group of nodes, and the test whether enough of them began together to make the group
//! the suspected cause.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use mainstay_model::{NodeIndex, RuleName, Span, Timestamp};

use super::{NodeGroup, SharedCause};

/// Minimum number of nodes for a shared cause: two are a coincidence.
const NODES_MIN: u32 = 3;
/// Start times of a domain's fault lie within this window, because reports come every few minutes.
pub(super) const DOMAIN_WITHIN: Span = Span::minutes(10);
/// Minimum number of nodes of one driver version for a shared cause.
const DRIVER_NODES_MIN: u32 = 10;
/// Start times of a driver's fault lie within this window, because it depends on the jobs.
const DRIVER_WITHIN: Span = Span::hours(1);
/// Minimum share, in percent, of the pool's affected nodes that run the driver version.
const DRIVER_SHARE_PERCENT: u32 = 80;

/// Start times older than this, compared with the newest, are ignored: evidence counts for a day.
const MINUTES_MAX: i64 = 24 * 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Count {
    pub(super) began: u32,
    pub(super) still: u32,
}

/// Faults of one rule within one group of nodes. It is small, because a large outage creates one for every rack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RuleFaults {
    pub(super) rule: RuleName,
    /// Start times by the minute, in order.
    pub(super) minutes: Vec<(i64, Count)>,
    pub(super) still: BTreeSet<NodeIndex>,
    pub(super) blamed_since: Option<Timestamp>,
}

// === impl RuleFaults ===

impl RuleFaults {
    pub(super) const fn new(rule: RuleName) -> Self {
        Self { rule, minutes: Vec::new(), still: BTreeSet::new(), blamed_since: None }
    }

    /// Returns the minutes from one on.
    fn from(&self, first: i64) -> &[(i64, Count)] {
        &self.minutes[self.minutes.partition_point(|(minute, _)| *minute < first)..]
    }

    /// Returns since when enough nodes of a domain show the fault to make the domain the suspected cause.
    pub(super) fn domain_since(&self, nodes: u32) -> Option<Timestamp> {
        let needed = NODES_MIN.max(nodes.div_ceil(2));
        // If only one node still shows it, the node has its own fault.
        self.cluster(DOMAIN_WITHIN, needed, |_, _, count| {
            count.still > 1 && u64::from(count.still) * 3 >= u64::from(nodes)
        })
    }

    /// Returns since when enough nodes of a driver version, and few others, show the fault to make the version the
    /// suspected cause.
    pub(super) fn driver_since(&self, all: &Self) -> Option<Timestamp> {
        self.cluster(DRIVER_WITHIN, DRIVER_NODES_MIN, |first, last, count| {
            let within = all.from(first).iter().take_while(|(minute, _)| *minute <= last);
            let all: u64 = within.map(|(_, count)| u64::from(count.began)).sum();
            u64::from(count.began) * 100 >= all * u64::from(DRIVER_SHARE_PERCENT)
                && u64::from(count.still) * 3 >= u64::from(count.began)
        })
    }

    /// Returns when the latest cluster of start times became large enough, if one did and meets the condition. The
    /// minutes are those of its first and last member.
    fn cluster(&self, within: Span, needed: u32, is_one: impl Fn(i64, i64, Count) -> bool) -> Option<Timestamp> {
        let span = i64::try_from(within.0 / 60_000).unwrap_or(i64::MAX);
        let (newest, _) = self.minutes.last()?;
        let lately = self.from(newest.saturating_sub(MINUTES_MAX));
        let (mut found, mut count, mut leaving) = (None, Count::default(), lately.iter().peekable());
        for (last, one) in lately {
            count.began = count.began.saturating_add(one.began);
            count.still = count.still.saturating_add(one.still);
            let first = last.saturating_sub(span - 1);
            while let Some((_, gone)) = leaving.next_if(|(minute, _)| *minute < first) {
                count.began = count.began.saturating_sub(gone.began);
                count.still = count.still.saturating_sub(gone.still);
            }
            if count.began >= needed && is_one(first, *last, count) {
                found = Some(Timestamp(last.saturating_mul(60_000)));
            }
        }
        found
    }

    /// Orders two places that show the same fault: the lesser one is reported.
    pub(super) fn before<'a>(&self, place: &'a NodeGroup, nodes: u32) -> (Reverse<bool>, Reverse<u64>, &'a NodeGroup) {
        (Reverse(self.is_nearly_everywhere(nodes)), Reverse(self.began()), place)
    }

    pub(super) fn blamed(&self, place: &NodeGroup, of: u32) -> Option<SharedCause> {
        let nodes = self.still.iter().copied().collect();
        Some(SharedCause { subject: place.subject()?, rule: self.rule.clone(), nodes, of, since: self.blamed_since? })
    }

    fn began(&self) -> u64 {
        self.minutes.iter().map(|(_, count)| u64::from(count.began)).sum()
    }

    /// Returns whether three in four of the nodes show the fault, or did: a leaf that is recovering still counts.
    fn is_nearly_everywhere(&self, nodes: u32) -> bool {
        self.began() * 4 >= u64::from(nodes) * 3
    }
}
