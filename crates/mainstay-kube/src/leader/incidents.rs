//! Incidents: compares what the engine found with what is stored. A new incident is opened after a short delay, because
//! nodes of a failed leaf are reported one by one. A closed one is kept for a while, exported and deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mainstay_api::{Conditions, IncidentAction, IncidentEvidence, IncidentStatus, Moment};
use mainstay_engine::Incident;
use mainstay_engine::why::Evidence;
use mainstay_model::{Bounded, Epoch, Literal, NodeName, ProposalOutcome, Reason, RuleName, Stage, Subject, Timestamp};
use tokio::time::Instant;

use super::Leader;
use crate::audit_log::Entry;
use crate::error::Error;
use crate::metrics::List;
use crate::object_conditions::{self, FIRST_GENERATION};
use crate::world::{StoredIncident, same};
use crate::write::{EventObject, NewEvent, Target, Write};

/// Delay before a node's incident is opened, so that an incident of its leaf can be opened instead.
const OPEN_AFTER: Duration = Duration::from_millis(700);
/// Shortest time between two writes of one incident.
const WRITE_EVERY: Duration = Duration::from_secs(1);
/// Time between two searches for incidents to delete.
const FORGET_EVERY: Duration = Duration::from_mins(1);
/// Longest time between two comparisons, because another client may delete an incident.
const LOOK_AT_LEAST: Duration = Duration::from_secs(5);
/// Closed incidents whose condition is written again after one comparison.
const EDITS_MAX: usize = 64;
/// Incidents deleted in one search.
const FORGET_MAX: usize = 64;
/// Nodes whose evidence and actions an incident lists.
const NODES_TOLD: usize = 8;

/// Action of a dry run in an incident.
const CORDON: Literal<RuleName> = RuleName::literal("cordon");
/// Node of an incident that lists none.
const UNKNOWN: Literal<NodeName> = NodeName::literal("unknown");

/// Suspected cause and rule, which together identify an open incident.
type IncidentKey = (Subject, RuleName);

/// State between two comparisons of the engine's incidents with the stored ones.
pub(super) struct Incidents {
    kept: Duration,
    /// Incidents that the engine found and that are not stored yet, with the time they were found.
    new: BTreeMap<IncidentKey, Instant>,
    written_at: BTreeMap<String, Instant>,
    looked_at: Option<Instant>,
    /// Time of the next comparison without news.
    due_at: Option<Instant>,
}

impl Incidents {
    pub(super) const fn new(kept: Duration) -> Self {
        Self { kept, new: BTreeMap::new(), written_at: BTreeMap::new(), looked_at: None, due_at: None }
    }

    /// The next decision compares, whatever it has changed.
    pub(super) const fn compare_soon(&mut self) {
        self.due_at = None;
    }
}

impl Leader<'_> {
    /// Compares incidents after news, or when it is time. Most events change no incident, and a comparison takes time
    /// proportional to the fleet.
    pub(super) fn reconcile_if_due(&mut self, is_news: bool, now: Timestamp) -> Result<Option<Duration>, Error> {
        let due = self.cases.due_at.is_none_or(|at| Instant::now() >= at);
        if is_news || due {
            let again = self.reconcile(now)?;
            self.cases.due_at = Some(Instant::now() + again.unwrap_or(LOOK_AT_LEAST));
        }
        Ok(self.cases.due_at.map(|at| at.saturating_duration_since(Instant::now())))
    }

    /// Makes the stored incidents match the engine's. Returns when to compare again.
    fn reconcile(&mut self, now: Timestamp) -> Result<Option<Duration>, Error> {
        let open = self.engine.incidents();
        let stored: BTreeMap<IncidentKey, String> = self.world.incidents().iter().filter_map(of_open).collect();
        let mut again = None;
        let mut wait = |for_: Duration| again = Some(again.map_or(for_, |known: Duration| known.min(for_)));
        let said: BTreeSet<IncidentKey> = open.iter().map(about).collect();
        self.cases.new.retain(|about, _| said.contains(about));
        for incident in &open {
            let (name, is_new) = match stored.get(&about(incident)) {
                Some(name) => (name.clone(), false),
                None => {
                    let since = *self.cases.new.entry(about(incident)).or_insert_with(Instant::now);
                    let held = OPEN_AFTER.saturating_sub(since.elapsed());
                    if !held.is_zero() || !self.is_on_record(incident) {
                        wait(held.max(Duration::from_millis(100)));
                        continue;
                    }
                    (incident_name(incident), true)
                }
            };
            let due = self.due(&name);
            let status = self.status_of(incident, &name);
            let is_same =
                self.world.incidents().get(&name).and_then(StoredIncident::status).is_some_and(|it| same(it, &status));
            if is_same {
                continue;
            }
            if !due.is_zero() {
                wait(due);
                continue;
            }
            if is_new {
                self.say(&name, "opened", &status, true)?;
            }
            self.put(name, status);
        }
        self.close_others(&said, &stored, now, &mut wait)?;
        self.observe_edits(&mut wait);
        self.export_and_delete(now)?;
        Ok(again)
    }

    fn close_others(
        &mut self,
        said: &BTreeSet<IncidentKey>,
        stored: &BTreeMap<IncidentKey, String>,
        now: Timestamp,
        wait: &mut impl FnMut(Duration),
    ) -> Result<(), Error> {
        for (_, name) in stored.iter().filter(|(about, _)| !said.contains(about)) {
            let Some(mut status) = self.world.incidents().get(name).and_then(StoredIncident::status).cloned() else {
                continue;
            };
            let due = self.due(name);
            if !due.is_zero() {
                wait(due);
                continue;
            }
            status.closed_at = Some(now.into());
            status.epoch = epoch(self.epoch);
            status.conditions = object_conditions::of_incident(&status, self.generation(name));
            self.say(name, "closed", &status, false)?;
            self.put(name.clone(), status);
        }
        Ok(())
    }

    /// Writes the condition of closed incidents again after an edit of their spec: `kubectl wait` ignores a condition that is
    /// older than the object.
    fn observe_edits(&mut self, wait: &mut impl FnMut(Duration)) {
        let closed = self.world.incidents().iter().filter_map(|(name, stored)| {
            let status = stored.status().filter(|status| status.closed_at.is_some())?;
            let conditions = object_conditions::of_incident(status, stored.generation());
            let fresh = IncidentStatus { conditions, ..status.clone() };
            (!same(status, &fresh)).then(|| (name.clone(), fresh))
        });
        for (name, mut status) in closed.take(EDITS_MAX).collect::<Vec<_>>() {
            let due = self.due(&name);
            if !due.is_zero() {
                wait(due);
                continue;
            }
            status.epoch = epoch(self.epoch);
            self.put(name, status);
        }
    }

    fn generation(&self, incident: &str) -> i64 {
        self.world.incidents().get(incident).map_or(FIRST_GENERATION, StoredIncident::generation)
    }

    /// Time until the incident may be written again.
    fn due(&self, name: &str) -> Duration {
        if self.outbox.is_on_the_way(&Target::Incident(name.to_owned())) {
            return WRITE_EVERY;
        }
        let written = self.cases.written_at.get(name);
        written.map_or(Duration::ZERO, |at| WRITE_EVERY.saturating_sub(at.elapsed()))
    }

    fn put(&mut self, name: String, status: IncidentStatus) {
        self.cases.written_at.retain(|_, at| at.elapsed() < WRITE_EVERY * 2);
        self.cases.written_at.insert(name.clone(), Instant::now());
        let is_new = !self.world.incidents().contains_key(&name);
        self.outbox.push(Write::Incident { name, status: Box::new(status), is_new });
    }

    /// Whether the state of every node is stored. It is stored before its incident, so a restart finds the same.
    fn is_on_record(&self, incident: &Incident) -> bool {
        incident.nodes.iter().all(|node| {
            let meant = self.engine.persisted(node).map(|persisted| persisted.stage);
            let written = self.world.on_record(node).map(|on_record| on_record.stage);
            meant == Some(Stage::InService) || written == meant
        })
    }

    fn say(&mut self, name: &str, what: &str, status: &IncidentStatus, is_warning: bool) -> Result<(), Error> {
        let summary = status.summary.to_string();
        self.log(&Entry::Incident { name: name.to_owned(), what: what.to_owned(), summary: summary.clone() })?;
        self.outbox.push(Write::Event(Box::new(NewEvent {
            name: format!("{name}.{what}"),
            regarding: EventObject::Incident(name.to_owned()),
            reason: if is_warning { "Opened" } else { "Closed" }.to_owned(),
            action: "Recorded",
            note: summary,
            is_warning,
        })));
        Ok(())
    }

    fn status_of(&self, incident: &Incident, name: &str) -> IncidentStatus {
        let stored = self.world.incidents().get(name).and_then(StoredIncident::status);
        let first = incident.nodes.first();
        let subject = match (&incident.subject, first) {
            (subject, Some(node)) => mainstay_api::Subject::of(subject, node),
            // No incident is without a node; it would name itself.
            (subject, None) => mainstay_api::Subject::of(subject, &UNKNOWN.get()),
        };
        let mut status = IncidentStatus {
            epoch: epoch(self.epoch),
            rule: incident.rule.clone(),
            subject,
            summary: Reason::lossy(&self.engine.fault(&incident.subject, &incident.rule, &incident.nodes).title),
            // It began when it was first told, whoever leads now.
            opened_at: stored.map_or_else(|| incident.since.into(), |stored| stored.opened_at),
            closed_at: None,
            lost_gpu_seconds: stored.map_or(0, |stored| stored.lost_gpu_seconds),
            nodes: self.fitting(List::IncidentNodes, &incident.nodes),
            evidence: self.evidence(incident, stored),
            actions: self.actions(incident),
            conditions: Conditions::default(),
        };
        status.conditions = object_conditions::of_incident(&status, self.generation(name));
        status
    }

    fn evidence(&self, incident: &Incident, stored: Option<&IncidentStatus>) -> Bounded<IncidentEvidence, 32> {
        let mut all = Vec::new();
        for node in incident.nodes.iter().take(NODES_TOLD) {
            let Some(why) = self.engine.why(node) else { continue };
            let device = why.rule.and_then(|(_, device)| device);
            for evidence in why.evidence.as_slice() {
                let Evidence::Counted(seen) = evidence else { continue };
                let before = stored
                    .into_iter()
                    .flat_map(|stored| stored.evidence.as_slice())
                    .find(|before| before.node == *node && before.source == seen.source && before.code == seen.code);
                all.push(IncidentEvidence {
                    node: node.clone(),
                    source: seen.source,
                    code: seen.code.clone(),
                    device: device.clone(),
                    count: i64::try_from(seen.count).unwrap_or(i64::MAX),
                    arrived_at: before.map_or_else(|| Moment::from(incident.since), |before| before.arrived_at),
                });
            }
        }
        self.fitting(List::IncidentEvidence, &all)
    }

    /// Dry-run decisions with their outcomes.
    fn actions(&self, incident: &Incident) -> Bounded<IncidentAction, 64> {
        let mut all = Vec::new();
        for node in incident.nodes.iter().take(NODES_TOLD) {
            let proposals = self.engine.persisted(node).map_or(&[][..], |persisted| persisted.proposals.as_slice());
            for proposal in proposals.iter().filter(|one| one.rule == incident.rule && one.decided_at >= incident.since)
            {
                all.push(IncidentAction {
                    id: proposal.action.clone(),
                    node: node.clone(),
                    kind: CORDON.get(),
                    epoch: 0,
                    decided_at: proposal.decided_at.into(),
                    outcome: happened(proposal.happened),
                });
            }
        }
        self.fitting(List::IncidentActions, &all)
    }

    /// The first items, as many as the list has room for. The others are counted.
    fn fitting<T: Clone, const MAX: usize>(&self, list: List, all: &[T]) -> Bounded<T, MAX> {
        self.metrics.lost(list, all.len().saturating_sub(MAX));
        Bounded::within(all.iter().take(MAX).cloned())
    }

    /// Exports incidents that were kept long enough, and deletes them.
    fn export_and_delete(&mut self, now: Timestamp) -> Result<(), Error> {
        if self.cases.looked_at.is_some_and(|at| at.elapsed() < FORGET_EVERY) || self.settings.record.is_none() {
            return Ok(());
        }
        self.cases.looked_at = Some(Instant::now());
        let kept = u64::try_from(self.cases.kept.as_millis()).unwrap_or(u64::MAX);
        let old = self
            .world
            .incidents()
            .iter()
            .filter(|(_, known)| known.closed_at().is_some_and(|closed_at| now.since(closed_at).0 > kept));
        let old: Vec<(String, StoredIncident)> =
            old.take(FORGET_MAX).map(|(name, it)| (name.clone(), it.clone())).collect();
        for (name, known) in old {
            let Some(uid) = known.object.metadata.uid.clone() else { continue };
            let mut object = known.object;
            object.metadata.managed_fields = None;
            let incident = Box::new(serde_json::to_value(object).map_err(std::io::Error::from)?);
            self.log(&Entry::Exported { incident })?;
            self.outbox.push(Write::Forget { name, uid });
        }
        Ok(())
    }
}

fn about(incident: &Incident) -> IncidentKey {
    (incident.subject.clone(), incident.rule.clone())
}

fn of_open((name, known): (&String, &StoredIncident)) -> Option<(IncidentKey, String)> {
    known.about.clone().filter(|_| known.is_open()).map(|about| (about, name.clone()))
}

fn epoch(epoch: Epoch) -> i64 {
    i64::try_from(epoch.0).unwrap_or(i64::MAX)
}

/// Unique name of an incident, the same for every controller: suspected cause, rule and start time.
#[must_use]
pub fn incident_name(incident: &Incident) -> String {
    const SUBJECT_BYTES_MAX: usize = 120;
    let subject = incident.subject.to_string();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let subject: String = subject.trim_start_matches("node ").chars().map(plain).take(SUBJECT_BYTES_MAX).collect();
    let rule: String = incident.rule.as_str().chars().map(plain).collect();
    let at = jiff::Timestamp::from_millisecond(incident.since.0).unwrap_or_default();
    let at = at.strftime("%Y%m%d-%H%M%S");
    format!("{}-{}-{at}", subject.trim_matches('-'), rule.trim_matches('-'))
}

fn happened(happened: ProposalOutcome) -> Option<Reason> {
    let text = match happened {
        ProposalOutcome::Pending => return None,
        ProposalOutcome::Recovered => "dry run; the evidence cleared by itself",
        ProposalOutcome::RemovedByOthers => "dry run; another actor removed the node from service",
        ProposalOutcome::NodeLost => "dry run; the node became unreachable",
        ProposalOutcome::Executed => "executed later",
        ProposalOutcome::Superseded => "dry run; an operator's request or planned work replaced it",
    };
    Some(Reason::lossy(text))
}
