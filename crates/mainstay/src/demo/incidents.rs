//! Tracks the incidents of a live fleet over time. The brain says what is wrong now; here it gets an id that stays, a
//! timeline, what it cost, and an end. Bounded, and nothing is decided from it.

mod detail;
#[cfg(test)]
mod tests;
mod tracked_incident;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use mainstay_api::http::{IncidentDetail, IncidentEventKind};
use mainstay_engine::{Fault, Incident};
use mainstay_model::{BreakerState, NodeName, PoolName, RuleName, Span, Timestamp, UserName};
use mainstay_sim::{LiveFleet, StageChange};
use mainstay_web::render::incident;
use mainstay_web::snapshot::Snapshot;

use tracked_incident::TrackedIncident;

/// Incidents that are kept after they ended.
const CLOSED_MAX: usize = 256;
/// Incidents that are followed at one time; a fleet with more of them has a larger problem than our list.
const OPEN_MAX: usize = 1_024;
/// What comes back within this time is the same incident again, not another one.
const AGAIN_WITHIN: Span = Span::minutes(2);
/// What happened on a node so long before an incident belongs to it: evidence comes before the finding.
const BEFORE: Span = Span::minutes(5);

/// Open incidents, and a bounded number of closed ones.
pub(super) struct IncidentTracker {
    open: Vec<TrackedIncident>,
    /// Oldest first.
    closed: VecDeque<TrackedIncident>,
    opened: u64,
    looked_at: Timestamp,
    breakers: BTreeMap<(PoolName, RuleName), BreakerState>,
}

impl IncidentTracker {
    pub(super) fn new(now: Timestamp) -> Self {
        Self { open: Vec::new(), closed: VecDeque::new(), opened: 0, looked_at: now, breakers: BTreeMap::new() }
    }

    /// Follows what happened since it last looked.
    pub(super) fn look(&mut self, live: &LiveFleet) {
        let since = std::mem::replace(&mut self.looked_at, live.now());
        let mut missed: Vec<bool> = vec![true; self.open.len()];
        for incident in live.engine().incidents() {
            match self.known(&incident) {
                Some(place) => {
                    if let Some(missed) = missed.get_mut(place) {
                        *missed = false;
                    }
                    if let Some(case) = self.open.get_mut(place) {
                        let fault = fault(live, &incident);
                        case.goes_on(incident, fault);
                    }
                }
                None if self.open.len() < OPEN_MAX => self.opens(live, incident),
                None => {}
            }
        }
        self.follows(live, since);
        self.closes(&missed, live);
    }

    /// The open case that an incident is: the same subject by the same rule, or the same single node by the same rule, whose
    /// part became known since.
    fn known(&self, incident: &Incident) -> Option<usize> {
        let same = |case: &TrackedIncident| case.rule == incident.rule && case.subject == incident.subject;
        let single =
            |case: &TrackedIncident| case.rule == incident.rule && case.is_on_one() && case.current == incident.nodes;
        self.open.iter().position(same).or_else(|| self.open.iter().position(single))
    }

    fn opens(&mut self, live: &LiveFleet, incident: Incident) {
        let again = self.closed.iter().rposition(|case| {
            let is_same = case.rule == incident.rule && case.subject == incident.subject;
            is_same && case.closed_at.is_some_and(|at| live.now().since(at) <= AGAIN_WITHIN)
        });
        if let Some(mut case) = again.and_then(|place| self.closed.remove(place)) {
            (case.closed_at, case.closing) = (None, None);
            let fault = fault(live, &incident);
            case.goes_on(incident, fault);
            self.open.push(case);
            return;
        }
        self.opened += 1;
        let fault = fault(live, &incident);
        let mut case = TrackedIncident::new(incident, fault, self.opened, live.now());
        case.begins(live, case.opened_at - BEFORE, self.looked_at);
        self.open.push(case);
    }

    /// What happened to nodes and jobs since then, told to every incident it belongs to. What an incident that opens now
    /// knows already is left out there.
    fn follows(&mut self, live: &LiveFleet, since: Timestamp) {
        let from = since + Span(1);
        let places = self.places();
        let case_of = |node: &NodeName| places.get(node.as_str()).copied();
        let mut told: Vec<(usize, NodeEvent)> = Vec::new();
        for step in live.moves_since(from) {
            told.extend(case_of(&step.node).map(|place| (place, NodeEvent::Move(step.clone()))));
        }
        for line in live.decisions_since(from) {
            if let (Some(kind), Some(place)) = (tracked_incident::kind_of(line.kind), case_of(&line.node)) {
                told.push((place, NodeEvent::Said(line.at, kind, line.node.clone(), line.act.clone())));
            }
        }
        for (place, told) in told {
            if let Some(case) = self.open.get_mut(place).filter(|case| case.opened_look < live.now()) {
                match told {
                    NodeEvent::Move(step) => case.moves(&step),
                    NodeEvent::Said(at, kind, node, text) => case.says(at, kind, Some(&node), text),
                }
            }
        }
        for case in &mut self.open {
            case.hears_jobs(live, from);
        }
        self.follows_breakers(live);
    }

    fn follows_breakers(&mut self, live: &LiveFleet) {
        let now: BTreeMap<(PoolName, RuleName), BreakerState> =
            live.engine().breakers().into_iter().map(|line| ((line.pool, line.rule), line.state)).collect();
        for (key, state) in &now {
            if self.breakers.get(key) != Some(state) {
                self.tells_breaker(live, &key.1, *state);
            }
        }
        for key in self.breakers.keys().filter(|key| !now.contains_key(*key)).cloned().collect::<Vec<_>>() {
            self.tells_breaker(live, &key.1, BreakerState::Closed);
        }
        self.breakers = now;
    }

    fn tells_breaker(&mut self, live: &LiveFleet, rule: &RuleName, state: BreakerState) {
        let text = match state {
            BreakerState::Open => format!("circuit breaker of rule {rule} opened: it flagged too many nodes at once"),
            BreakerState::HalfOpen => format!("circuit breaker of rule {rule} is tested on one node"),
            BreakerState::Closed => format!("circuit breaker of rule {rule} closed"),
        };
        for case in self.open.iter_mut().filter(|case| case.rule == *rule) {
            case.says(live.now(), IncidentEventKind::Breaker, None, text.clone());
        }
    }

    fn closes(&mut self, missed: &[bool], live: &LiveFleet) {
        for place in (0..missed.len()).rev().filter(|place| missed.get(*place) == Some(&true)) {
            let mut case = self.open.remove(place);
            case.closed_at = Some(live.now());
            case.closing = Some((incident::budget(live.engine()), live.mode()));
            if self.closed.len() >= CLOSED_MAX {
                self.closed.pop_front();
            }
            self.closed.push_back(case);
        }
    }

    /// The open case of each node. Of several, the one that opened last.
    fn places(&self) -> BTreeMap<&str, usize> {
        let cases = self.open.iter().enumerate();
        cases.flat_map(|(place, case)| case.current.iter().map(move |node| (node.as_str(), place))).collect()
    }

    /// The open incident that a node is part of.
    pub(super) fn open_on(&self, node: &NodeName) -> Option<&str> {
        let newest = self.open.iter().rev().find(|case| case.current.binary_search(node).is_ok());
        newest.map(|case| case.id.as_str())
    }

    /// The incident that a node was part of at a moment.
    pub(super) fn at(&self, node: &NodeName, at: Timestamp) -> Option<&str> {
        let all = self.open.iter().chain(self.closed.iter().rev());
        let mut then = all.filter(|case| case.nodes.contains(node) && case.covers(at));
        then.next().map(|case| case.id.as_str())
    }

    /// Somebody knows of it.
    pub(super) fn acknowledge(&mut self, id: &str, by: &UserName) -> Option<()> {
        let case = self.open.iter_mut().chain(&mut self.closed).find(|case| case.id == id)?;
        case.acknowledged_by = Some(by.to_string());
        Some(())
    }

    /// Everything about every incident, the newest first; what has not changed is kept from the last snapshot.
    pub(super) fn details(&self, live: &LiveFleet, last: Option<&Snapshot>) -> Vec<Arc<IncidentDetail>> {
        let known: BTreeMap<&str, &Arc<IncidentDetail>> = last
            .map_or(&[][..], |last| &last.incidents)
            .iter()
            .map(|detail| (detail.incident.id.as_str(), detail))
            .collect();
        let costs = detail::Costs::of(live);
        let mut all: Vec<&TrackedIncident> = self.open.iter().chain(&self.closed).collect();
        all.sort_by_key(|case| std::cmp::Reverse((case.opened_at, case.number)));
        let detail = |case: &TrackedIncident| {
            let drawn = detail::detail(live, case, &costs);
            let known = known.get(case.id.as_str()).copied();
            known.filter(|known| ***known == drawn).cloned().unwrap_or_else(|| Arc::new(drawn))
        };
        all.into_iter().map(detail).collect()
    }
}

fn fault(live: &LiveFleet, incident: &Incident) -> Fault {
    live.engine().fault(&incident.subject, &incident.rule, &incident.nodes)
}

/// A stage change or a decision on one node, for the timeline of its incident.
enum NodeEvent {
    Move(StageChange),
    Said(Timestamp, IncidentEventKind, NodeName, String),
}
