//! Attributes the same fault on many nodes to the failure domain or driver version they share. If many nodes of one
//! leaf, PDU, rack or NVLink domain, or of one driver version, show the same fault at the same time, the shared part is
//! the suspected cause. One finding there explains all their findings. This module does not decide what happens to the
//! nodes meanwhile.
//!
//! It stores only what each node shows and since when. So the result does not depend on the order of reports and is the
//! same after a restart. Start times are counted by the minute.

mod domain_causes;
mod rule_faults;

use std::collections::{BTreeMap, BTreeSet};

use mainstay_model::{DomainName, Level, NodeIndex, PlaceIndex, PoolName, RuleName, Subject, Timestamp, Version};

use domain_causes::can_cause;
use rule_faults::{Count, DOMAIN_WITHIN, RuleFaults};

/// Maximum share, in percent, of the pool that runs the version: a version that all nodes run explains nothing.
const DRIVER_POOL_PERCENT: u32 = 60;

/// Nodes that share a failure domain, a driver version or a pool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeGroup {
    /// A failure domain.
    Domain(Level, DomainName),
    /// A driver version within a pool.
    Driver(PoolName, Version),
    /// A pool: never a suspected cause, but the reference for a driver version.
    Pool(PoolName),
}

/// Whether a node still has its fault or has recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultStatus {
    /// The node still shows the fault.
    Still,
    /// The node has recovered since.
    Before,
}

/// The fault of one node: its rule, its start and whether it lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFault {
    /// The rule, or the family of rules. A node that is not reachable counts once, whatever the number of signals.
    pub rule: RuleName,
    /// Start of the fault.
    pub since: Timestamp,
    /// Whether the node still shows the fault.
    pub shown: FaultStatus,
}

/// One finding about a shared cause instead of many about its nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedCause {
    /// The suspected cause.
    pub subject: Subject,
    /// The rule that the nodes have in common.
    pub rule: RuleName,
    /// The nodes that show the fault.
    pub nodes: Vec<NodeIndex>,
    /// Total number of nodes that share the cause.
    pub of: u32,
    /// Time from which enough nodes showed the fault.
    pub since: Timestamp,
}

/// Faults of all nodes by group, to find suspected shared causes. Nodes and places are positions in tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attribution {
    indexes: BTreeMap<NodeGroup, PlaceIndex>,
    /// The driver versions of each pool.
    drivers: BTreeMap<PoolName, Vec<PlaceIndex>>,
    places: Vec<(NodeGroup, u32)>,
    /// Places of groups that lost their last node. New groups get them.
    free: Vec<PlaceIndex>,
    /// Faults by place, in the order of the rules.
    shows: BTreeMap<PlaceIndex, Vec<RuleFaults>>,
}

// === impl Attribution ===

impl Attribution {
    /// Adds a node; returns its places, and every node whose explanation may have changed.
    pub fn join(&mut self, places: impl IntoIterator<Item = NodeGroup>) -> (Box<[PlaceIndex]>, Vec<NodeIndex>) {
        let mut joined = Vec::new();
        for place in places {
            let index = self.index(place);
            self.resize(index, 1);
            joined.push(index);
        }
        let touched = self.judge_places(&joined);
        (joined.into(), touched)
    }

    /// Removes a node that shows no fault any more; returns every node whose explanation may have changed.
    pub fn leave(&mut self, places: &[PlaceIndex]) -> Vec<NodeIndex> {
        places.iter().for_each(|place| self.resize(*place, -1));
        let touched = self.judge_places(places);
        for place in places.iter().copied().filter(|place| self.size(*place) == 0).collect::<Vec<_>>() {
            self.release(place);
        }
        touched
    }

    /// Returns the number of places for groups, free ones included.
    #[must_use]
    pub const fn places(&self) -> usize {
        self.places.len()
    }

    /// Records that the fault of a node changed; returns every node whose explanation may have changed.
    pub fn turn(
        &mut self,
        node: NodeIndex,
        places: &[PlaceIndex],
        before: Option<&NodeFault>,
        after: Option<&NodeFault>,
    ) -> Vec<NodeIndex> {
        if before == after {
            return Vec::new();
        }
        for (show, by) in [(before, -1), (after, 1)] {
            for (show, place) in show.into_iter().flat_map(|show| places.iter().map(move |place| (show, *place))) {
                self.count(node, place, show, by);
            }
        }
        let mut touched = Vec::new();
        let same = |before: &NodeFault, after: &NodeFault| before.rule == after.rule;
        let again = after.filter(|after| !before.is_some_and(|before| same(before, after)));
        for rule in before.into_iter().chain(again).map(|show| &show.rule) {
            self.judge_all(places, rule, &mut touched);
            self.forget_empty(places, rule);
        }
        touched
    }

    /// Returns the places among these that explain a rule's finding on their nodes.
    pub fn explains<'a>(
        &'a self,
        places: &'a [PlaceIndex],
        rule: &'a RuleName,
    ) -> impl Iterator<Item = &'a NodeGroup> + 'a {
        let is_blamed =
            |place: PlaceIndex| self.shows_at(place, rule).is_some_and(|shows| shows.blamed_since.is_some());
        places.iter().copied().filter(move |place| is_blamed(*place)).filter_map(|place| self.place(place))
    }

    /// Returns every suspected cause. If several explain the same nodes, only one is returned: first a place where
    /// nearly all nodes show the fault, then the one with more affected nodes, then the narrower one. A domain that is the
    /// cause of one rule absorbs what else it can cause on the same nodes.
    #[must_use]
    pub fn blamed(&self) -> Vec<SharedCause> {
        let mut open: Vec<(&RuleFaults, &NodeGroup, u32)> = Vec::new();
        for (place, by_rule) in &self.shows {
            let Some((place, nodes)) = self.places.get(place.get()) else { continue };
            let blamed = by_rule.iter().filter(|shows| shows.blamed_since.is_some());
            open.extend(blamed.map(|shows| (shows, place, *nodes)));
        }
        open.sort_by_key(|(shows, place, nodes)| (&shows.rule, shows.before(place, *nodes)));
        let mut named: Vec<(&RuleFaults, &NodeGroup, u32)> = Vec::new();
        for (shows, place, nodes) in open {
            let is_covered =
                named.iter().any(|(other, ..)| other.rule == shows.rule && shows.still.is_subset(&other.still));
            if !is_covered {
                named.push((shows, place, nodes));
            }
        }
        let is_absorbed = |(shows, ..): &(&RuleFaults, &NodeGroup, u32)| {
            named.iter().any(|(other, at, _)| {
                let can_cause = matches!(at, NodeGroup::Domain(level, _) if can_cause(*level, &shows.rule));
                let is_larger = other.still.len() > shows.still.len() || other.rule < shows.rule;
                can_cause && other.rule != shows.rule && is_larger && shows.still.is_subset(&other.still)
            })
        };
        let left = named.iter().filter(|cause| !is_absorbed(cause));
        left.filter_map(|(shows, place, nodes)| shows.blamed(place, *nodes)).collect()
    }

    /// Returns the cause that [`Attribution::blamed`] reports for a rule's finding on a node at these places, limited to the
    /// requested places. The first place of a node is never covered by another, because that would also be a place of
    /// the node.
    pub fn blamed_for(
        &self,
        places: &[PlaceIndex],
        rule: &RuleName,
        among: impl Fn(&NodeGroup) -> bool,
    ) -> Option<SharedCause> {
        let of = |place: &PlaceIndex| {
            let shows = self.shows_at(*place, rule).filter(|shows| shows.blamed_since.is_some())?;
            let (place, nodes) = self.places.get(place.get()).filter(|(place, _)| among(place))?;
            Some((shows, place, *nodes))
        };
        let first = places.iter().filter_map(of).min_by_key(|(shows, place, nodes)| shows.before(place, *nodes));
        first.and_then(|(shows, place, nodes)| shows.blamed(place, nodes))
    }

    fn place(&self, place: PlaceIndex) -> Option<&NodeGroup> {
        self.places.get(place.get()).map(|(place, _)| place)
    }

    fn shows_at(&self, place: PlaceIndex, rule: &RuleName) -> Option<&RuleFaults> {
        self.shows.get(&place)?.iter().find(|shows| shows.rule == *rule)
    }

    /// The place of a group, which is new or known.
    fn index(&mut self, group: NodeGroup) -> PlaceIndex {
        if let Some(known) = self.indexes.get(&group) {
            return *known;
        }
        let index = self.free.pop().unwrap_or_else(|| PlaceIndex::next(self.places.len()));
        if let NodeGroup::Driver(pool, _) = &group {
            self.drivers.entry(pool.clone()).or_default().push(index);
        }
        self.indexes.insert(group.clone(), index);
        match self.places.get_mut(index.get()) {
            Some(place) => *place = (group, 0),
            None => self.places.push((group, 0)),
        }
        index
    }

    /// Frees the place of a group without nodes.
    fn release(&mut self, place: PlaceIndex) {
        let Some((group, _)) = self.places.get(place.get()) else { return };
        if self.indexes.remove(group).is_none() {
            return;
        }
        if let NodeGroup::Driver(pool, _) = group
            && let Some(drivers) = self.drivers.get_mut(pool)
        {
            drivers.retain(|driver| *driver != place);
            if drivers.is_empty() {
                self.drivers.remove(pool);
            }
        }
        self.shows.remove(&place);
        self.free.push(place);
    }

    fn size(&self, place: PlaceIndex) -> u32 {
        self.places.get(place.get()).map_or(0, |(_, nodes)| *nodes)
    }

    fn resize(&mut self, place: PlaceIndex, by: i32) {
        if let Some((_, nodes)) = self.places.get_mut(place.get()) {
            *nodes = nodes.saturating_add_signed(by);
        }
    }

    fn count(&mut self, node: NodeIndex, place: PlaceIndex, show: &NodeFault, by: i32) {
        let by_rule = self.shows.entry(place).or_default();
        let shows = match by_rule.binary_search_by(|shows| shows.rule.cmp(&show.rule)) {
            Ok(at) => &mut by_rule[at],
            Err(at) => {
                by_rule.reserve_exact(1);
                by_rule.insert(at, RuleFaults::new(show.rule.clone()));
                &mut by_rule[at]
            }
        };
        let minute = minute_of(show.since);
        let at = shows.minutes.binary_search_by_key(&minute, |(minute, _)| *minute).unwrap_or_else(|at| {
            if shows.minutes.is_empty() {
                // Most entries have one minute.
                shows.minutes.reserve_exact(1);
            }
            shows.minutes.insert(at, (minute, Count::default()));
            at
        });
        let (_, count) = &mut shows.minutes[at];
        count.began = count.began.saturating_add_signed(by);
        if show.shown == FaultStatus::Still {
            count.still = count.still.saturating_add_signed(by);
            if by > 0 {
                shows.still.insert(node)
            } else {
                shows.still.remove(&node)
            };
        }
        if count.began == 0 {
            shows.minutes.remove(at);
        }
    }

    /// Updates everything that the nodes of these places show, because the sizes of the places changed.
    fn judge_places(&mut self, places: &[PlaceIndex]) -> Vec<NodeIndex> {
        let shows = places.iter().filter_map(|place| self.shows.get(place)).flatten();
        let rules: BTreeSet<RuleName> = shows.map(|shows| shows.rule.clone()).collect();
        let mut touched = Vec::new();
        rules.iter().for_each(|rule| self.judge_all(places, rule, &mut touched));
        touched
    }

    /// Updates the places of a node. A driver version is compared with its pool, so every version of the pool is
    /// updated.
    fn judge_all(&mut self, places: &[PlaceIndex], rule: &RuleName, touched: &mut Vec<NodeIndex>) {
        for place in places.iter().copied() {
            match self.place(place) {
                Some(NodeGroup::Pool(pool)) => {
                    let drivers = self.drivers.get(pool).cloned().unwrap_or_default();
                    drivers.into_iter().for_each(|driver| self.judge_one(driver, place, rule, touched));
                }
                Some(NodeGroup::Domain(..)) => self.judge_one(place, place, rule, touched),
                Some(NodeGroup::Driver(..)) | None => {}
            }
        }
    }

    fn forget_empty(&mut self, places: &[PlaceIndex], rule: &RuleName) {
        for place in places {
            let Some(by_rule) = self.shows.get_mut(place) else { continue };
            by_rule.retain(|shows| shows.rule != *rule || !shows.minutes.is_empty());
            if by_rule.is_empty() {
                self.shows.remove(place);
            }
        }
    }

    fn judge_one(&mut self, place: PlaceIndex, against: PlaceIndex, rule: &RuleName, touched: &mut Vec<NodeIndex>) {
        let Some(shows) = self.shows_at(place, rule) else { return };
        let since = if place == against {
            let is_possible = matches!(self.place(place), Some(NodeGroup::Domain(level, _)) if can_cause(*level, rule));
            shows.domain_since(self.size(place)).filter(|_| is_possible)
        } else {
            let (of, all) = (u64::from(self.size(place)), u64::from(self.size(against)));
            let is_rare = of * 100 < all * u64::from(DRIVER_POOL_PERCENT);
            let all = self.shows_at(against, rule).filter(|_| is_rare);
            all.and_then(|all| shows.driver_since(all))
        };
        let Some(shows) =
            self.shows.get_mut(&place).and_then(|by_rule| by_rule.iter_mut().find(|shows| shows.rule == *rule))
        else {
            return;
        };
        if shows.blamed_since.is_some() != since.is_some() {
            touched.extend(shows.still.iter().copied());
        }
        shows.blamed_since = since;
    }
}

// === impl SharedCause ===

impl SharedCause {
    /// Returns whether the cause can explain another symptom of its nodes. A symptom that began well before the cause
    /// has a cause of its own.
    #[must_use]
    pub fn can_cause(&self, rule: &RuleName, since: Timestamp) -> bool {
        let is_possible = matches!(&self.subject, Subject::Domain { level, .. } if can_cause(*level, rule));
        is_possible && since + DOMAIN_WITHIN >= self.since
    }
}

// === impl NodeGroup ===

impl NodeGroup {
    fn subject(&self) -> Option<Subject> {
        match self {
            Self::Domain(level, name) => Some(Subject::Domain { level: *level, name: name.clone() }),
            Self::Driver(_, version) => Some(Subject::Driver(version.clone())),
            Self::Pool(_) => None,
        }
    }
}

const fn minute_of(at: Timestamp) -> i64 {
    at.0.div_euclid(60_000)
}

#[cfg(test)]
mod tests;
