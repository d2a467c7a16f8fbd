//! Replays the input through the production engine in Observe mode, with the log timestamps as the clock. Decisions are
//! recorded as the engine makes them.

mod episode;
mod machine;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use mainstay_engine::{Engine, Risk};
use mainstay_model::{
    Bounded, Budget, CellFacts, Epoch, Fact, Level, Mode, NodeFacts, NodeLimit, NodeName, NodeSummary, NodeUid,
    Observation, PciAddress, PlannedWork, Policy, PoolName, Ready, Response, RuleName, Schedulable, Span, Stage, Step,
    Subject, Timestamp, WaitingOn,
};

use super::input::{EventKind, Input};
use super::nodes::NodeRow;
pub(super) use episode::Episode;
use machine::{Machine, PollResult};

/// Time alone changes little here: windows of evidence lapse on the hour. Between events the engine decides this often.
const TICK: Span = Span::minutes(10);

/// An agent looks at ports every half a minute; only that a port stays down is of interest here.
const POLL: Span = Span::minutes(5);
const POLL_AGAIN: Span = Span::hours(1);

/// How long the replay goes on after the last line. A report waits at most one minute (`machine.rs`) and a decision at most
/// one [`TICK`], so every fault in the last line is decided within this time.
const GRACE: Span = Span::minutes(15);

/// Answers to its own records come back at once, and may be asked about again this often at one moment.
const ROUNDS_MAX: u32 = 3;

/// The pool of nodes for which no pool is given.
const POOL: &str = "fleet";

/// The disruption budgets of the replay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budgets {
    /// Nodes of a pool that may be out at once, in parts per million; one at least.
    pub(super) out_ppm: u32,
    /// Nodes of a rack that may be out at once.
    pub(super) rack_out: u32,
}

/// A node that was flagged as a lemon, and why.
#[derive(Debug, Clone)]
pub(super) struct Lemon {
    pub(super) named_at: Timestamp,
    /// The risk at its highest.
    pub(super) worst: Risk,
    pub(super) worst_at: Timestamp,
}

/// A fault of many nodes that is attributed to one domain or driver version.
#[derive(Debug, Clone)]
pub(super) struct SharedFault {
    pub(super) subject: Subject,
    pub(super) rule: RuleName,
    pub(super) since: Timestamp,
    pub(super) seen_to: Timestamp,
    pub(super) nodes: BTreeSet<NodeName>,
}

/// Episodes, shared faults and lemons that the engine found in the replay.
#[derive(Debug, Default)]
pub(super) struct ReplayResult {
    pub(super) episodes: Vec<Episode>,
    pub(super) shared: Vec<SharedFault>,
    pub(super) lemons: BTreeMap<u32, Lemon>,
    /// How often a node stood under suspicion without being wanted out.
    pub(super) watched: u64,
    pub(super) decisions: u64,
}

/// The engine with one virtual agent per node, driven by log timestamps.
struct Replayer<'a> {
    gathered: &'a Input,
    engine: Engine,
    cell: CellFacts,
    machines: Vec<Machine>,
    numbers: BTreeMap<NodeName, u32>,
    /// Reports that are due.
    due: BTreeSet<(Timestamp, u32)>,
    /// Looks at ports that are down.
    polls: BTreeSet<(Timestamp, u32, PciAddress)>,
    decided_at: Timestamp,
    /// The episode of each node that has one.
    open: BTreeMap<u32, usize>,
    watched: BTreeSet<u32>,
    played: ReplayResult,
}

/// Replays the period, and [`GRACE`] beyond its end so that the last line is decided as well.
pub(super) fn replay(
    gathered: &Input,
    rows: &BTreeMap<NodeName, NodeRow>,
    allowed: Budgets,
    (from, to): (Timestamp, Timestamp),
    told: &dyn Fn(usize),
) -> ReplayResult {
    let mut player = Replayer {
        gathered,
        engine: Engine::new(),
        cell: CellFacts { epoch: Epoch(1), mode: Mode::Observe, ..CellFacts::default() },
        machines: machine::all(gathered),
        numbers: gathered.nodes.iter().cloned().zip(0..).collect(),
        due: BTreeSet::new(),
        polls: BTreeSet::new(),
        decided_at: from,
        open: BTreeMap::new(),
        watched: BTreeSet::new(),
        played: ReplayResult::default(),
    };
    player.begin(rows, allowed, from);
    for (done, event) in gathered.events.iter().enumerate() {
        player.advance(event.at);
        match event.what {
            EventKind::Boot => player.boots(event.node, event.at),
            EventKind::Signal(number, times) => player.add_signal(event.node, number, times, event.at),
        }
        if done % 4_096 == 0 {
            told(done);
        }
    }
    player.advance(to);
    // After the last line no source says whether a port is still down, so ports are no longer read.
    player.polls.clear();
    player.advance(to + GRACE);
    player.played
}

impl Replayer<'_> {
    fn begin(&mut self, rows: &BTreeMap<NodeName, NodeRow>, allowed: Budgets, from: Timestamp) {
        self.observe(from, Fact::Cell(self.cell.clone()));
        let mut pools: BTreeMap<PoolName, u32> = BTreeMap::new();
        let none = NodeRow::default();
        for (number, name) in (0_u32..).zip(&self.gathered.nodes.clone()) {
            let row = rows.get(name).unwrap_or(&none);
            let Some(pool) = row.pool.clone().or_else(|| PoolName::parse(POOL).ok()) else { continue };
            let Some(uid) = NodeUid::parse(&format!("node-{number}")).ok() else { continue };
            *pools.entry(pool.clone()).or_default() += 1;
            let gpus = self.machines.get(number as usize).map_or(0, Machine::gpus);
            let facts = NodeFacts {
                uid,
                domains: row.domains.clone(),
                pool,
                // As many as a log ever named: of the others nobody can say that they are missing.
                gpus,
                ready: Ready::Yes,
                schedulable: Schedulable::Yes,
                planned: PlannedWork::Nothing,
                avoided: false,
                power: mainstay_model::Power::Unknown,
            };
            self.observe(from, Fact::Node { node: name.clone(), facts: Box::new(facts) });
            self.reports(number, from);
        }
        for (pool, nodes) in pools {
            let share = u64::from(nodes) * u64::from(allowed.out_ppm) / 1_000_000;
            let most = NodeLimit::Nodes(u32::try_from(share).unwrap_or(u32::MAX).max(1));
            let budgets = vec![
                Budget { level: None, most },
                Budget { level: Some(Level::Rack), most: NodeLimit::Nodes(allowed.rack_out) },
            ];
            // A budget by rack would keep every node in whose rack nobody named.
            let has_racks = rows.values().any(|row| row.domains.contains_key(&Level::Rack));
            let budgets = budgets.into_iter().filter(|budget| has_racks || budget.level.is_none()).collect::<Vec<_>>();
            let policy = Policy { budgets: Bounded::try_from(budgets).unwrap_or_default(), ..Policy::new(pool) };
            self.observe(from, Fact::Policy(Box::new(policy)));
        }
        self.decide(from);
    }

    fn observe(&mut self, at: Timestamp, fact: Fact) {
        self.engine.observe(&Observation { at, fact });
    }

    /// Lives up to a moment: reports that are due, and what the brain wants to look at again.
    fn advance(&mut self, to: Timestamp) {
        loop {
            let wake = self.engine.wake_at().map(|at| at.max(self.decided_at + TICK));
            let poll = self.polls.first().map(|(at, _, _)| *at);
            let next = self.due.first().map(|(at, _)| *at).into_iter().chain(wake).chain(poll).min();
            let Some(now) = next.filter(|at| *at <= to) else { return };
            self.poll(now);
            while let Some((at, node)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
                self.due.remove(&(at, node));
                self.reports(node, now);
            }
            self.decide(now);
        }
    }

    fn boots(&mut self, node: u32, at: Timestamp) {
        if let Some(machine) = self.machines.get_mut(node as usize) {
            if let Some(due) = machine.boots() {
                self.due.remove(&(due, node));
            }
            self.reports(node, at);
        }
    }

    fn add_signal(&mut self, node: u32, signal: u32, times: u32, at: Timestamp) {
        let Some(signal) = self.gathered.signals.get(signal as usize) else { return };
        let Some(machine) = self.machines.get_mut(node as usize) else { return };
        machine.hears(self.gathered, node, signal, times, at);
        if let Some(place) = machine.port(signal, at) {
            // The first look begins the state, and a later one says that it lasts.
            let _ = machine.polls(self.gathered, node, &place, at);
            self.polls.insert((at + POLL, node, place));
        }
        if let Some(due) = machine.will_report(at) {
            self.due.insert((due, node));
        }
    }

    /// Looks at the ports that are due.
    fn poll(&mut self, now: Timestamp) {
        while let Some((at, node, place)) = self.polls.first().cloned().filter(|(at, _, _)| *at <= now) {
            self.polls.remove(&(at, node, place.clone()));
            let Some(machine) = self.machines.get_mut(node as usize) else { continue };
            match machine.polls(self.gathered, node, &place, at) {
                PollResult::Up => continue,
                PollResult::Down => {}
                PollResult::Said => {
                    if let Some(due) = machine.will_report(at) {
                        self.due.insert((due, node));
                    }
                }
            }
            self.polls.insert((at + POLL_AGAIN, node, place));
        }
    }

    fn reports(&mut self, node: u32, at: Timestamp) {
        let (Some(machine), Some(name)) =
            (self.machines.get_mut(node as usize), self.gathered.nodes.get(node as usize))
        else {
            return;
        };
        if let Some(report) = machine.reports(self.gathered, node, at) {
            let fact = Fact::Report { node: name.clone(), report: Box::new(report) };
            self.observe(at, fact);
        }
    }

    /// One decision. What the brain wants on record is on record at once; acts stand on paper.
    fn decide(&mut self, now: Timestamp) {
        self.decided_at = now;
        for _ in 0..ROUNDS_MAX {
            self.observe(now, Fact::Synced { as_of: now });
            let decision = self.engine.decide(now);
            self.played.decisions += 1;
            let mut has_written = false;
            for effect in &decision.effects {
                if let Step::Store(persisted) = &effect.step {
                    has_written = true;
                    self.observe(now, Fact::Recorded { node: effect.node.clone(), persisted: persisted.clone() });
                }
            }
            if let Some(record) = decision.cell {
                self.cell.record = record;
                self.observe(now, Fact::Cell(self.cell.clone()));
            }
            for line in &decision.report {
                self.look(line, now);
            }
            if decision.report.iter().any(|line| line.waiting_on == WaitingOn::SharedCause) {
                self.note_shared(now);
            }
            if !has_written {
                return;
            }
        }
    }

    /// What became of a node that the brain has just looked at.
    fn look(&mut self, line: &NodeSummary, now: Timestamp) {
        let Some(node) = self.numbers.get(&line.node).copied() else { return };
        self.note_lemon(node, &line.node, now);
        let found = if line.stage == Stage::Suspect { self.engine.found(&line.node) } else { Vec::new() };
        let wants_out: Vec<_> = found.iter().filter(|finding| finding.response == Response::Remove).collect();
        if wants_out.is_empty() {
            if let Some(episode) = self.open.remove(&node).and_then(|at| self.played.episodes.get_mut(at)) {
                episode.ends(self.engine.persisted(&line.node), now);
            }
            let is_new = line.stage == Stage::Suspect && self.watched.insert(node);
            self.played.watched += u64::from(is_new);
            if line.stage != Stage::Suspect {
                self.watched.remove(&node);
            }
            return;
        }
        let at = *self.open.entry(node).or_insert_with(|| {
            self.played.episodes.push(Episode::new(node, now));
            self.played.episodes.len() - 1
        });
        if let (Some(episode), Some(persisted)) = (self.played.episodes.get_mut(at), self.engine.persisted(&line.node))
        {
            episode.goes_on(&wants_out, persisted, line.waiting_on, now);
        }
    }

    fn note_lemon(&mut self, node: u32, name: &NodeName, now: Timestamp) {
        let Some(risk) = self.engine.risk(name).filter(Risk::is_lemon) else { return };
        let new = || Lemon { named_at: now, worst: risk.clone(), worst_at: now };
        let lemon = self.played.lemons.entry(node).or_insert_with(new);
        if risk.ppm > lemon.worst.ppm {
            (lemon.worst, lemon.worst_at) = (risk, now);
        }
    }

    fn note_shared(&mut self, now: Timestamp) {
        for incident in self.engine.incidents() {
            if !matches!(incident.subject, Subject::Domain { .. } | Subject::Driver(_)) {
                continue;
            }
            let same = |known: &&mut SharedFault| {
                known.subject == incident.subject && known.rule == incident.rule && known.since == incident.since
            };
            match self.played.shared.iter_mut().find(same) {
                Some(known) => {
                    known.seen_to = now;
                    known.nodes.extend(incident.nodes);
                }
                None => self.played.shared.push(SharedFault {
                    subject: incident.subject,
                    rule: incident.rule,
                    since: incident.since,
                    seen_to: now,
                    nodes: incident.nodes.into_iter().collect(),
                }),
            }
        }
    }
}
