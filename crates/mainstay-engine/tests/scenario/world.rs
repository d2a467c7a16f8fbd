//! The world of a scenario: a small fleet whose agents read kernel lines with the real parser, and a backend that does
//! what ordered effects say. It knows no rule.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use mainstay_engine::Engine;
use mainstay_engine::record::Entry;
use mainstay_model::{
    BootId, Bounded, CellFacts, ClaimSource, Decision, DomainName, Epoch, Execution, Fact, Freeze, GangFacts, GangId,
    Gpu, Inventory, Level, Mode, NodeFacts, NodeLimit, NodeName, NodeUid, Nonce, Observation, OrderId, OrderOutcome,
    Outcome, PlannedWork, Policy, PoolName, Power, Ready, Reason, Report, Request, RequestKind, Resolution,
    Schedulable, Sequence, Serial, Span, Step, Task, Timestamp, UserName, Verdict, Version,
};
use mainstay_remedy::verdict::{self, Judged};
use mainstay_signal::{Meter, Place, Recognition, Tally, UnrecognisedCounts, Writer, recognise, unrecognised};

use crate::readings::reading_of;
use crate::words::{gang_id, inventory, level_of, mode_of, name, number, time_of};

mod setting;

const POOL: &str = "h100";

thread_local! {
    /// What was told to a brain, while a test wants it kept.
    static RECORDED: RefCell<Option<Vec<Entry>>> = const { RefCell::new(None) };
}

#[derive(Clone)]
struct Machine {
    facts: NodeFacts,
    boot: u32,
    sequence: u64,
    inventory: Inventory,
    tally: Tally,
    unrecognised: UnrecognisedCounts,
    meter: Meter,
    said: Option<mainstay_signal::Signal>,
    outcomes: Vec<(Nonce, OrderOutcome)>,
    results: Vec<(Nonce, Verdict)>,
    orders: Vec<mainstay_model::Order>,
    recorded: Option<Box<mainstay_model::Persisted>>,
    request: Option<Request>,
    reported: Option<(Timestamp, Box<Report>)>,
    /// Whether others cordoned the node too, under Mainstay's taint.
    by_others_too: bool,
    /// Whether its Node object is deleted.
    is_gone: bool,
}

/// A question to a gang: of which drain, until when, and the step that it saved.
#[derive(Clone, Copy)]
struct Asked {
    drain: Timestamp,
    answer_by: Timestamp,
    saved_step: Option<u64>,
}

impl Asked {
    fn fact(self, gang: &GangId, node: &NodeName) -> Fact {
        let Self { drain, answer_by, saved_step } = self;
        Fact::Asked { gang: gang.clone(), node: node.clone(), drain, answer_by, saved_step }
    }
}

impl Machine {
    fn boots(&mut self) {
        self.boot += 1;
        self.sequence = 0;
        self.tally = Tally::default();
        self.unrecognised = UnrecognisedCounts::default();
        self.meter = Meter::default();
    }
}

#[derive(Clone)]
pub(crate) struct World {
    cell: CellFacts,
    pub(crate) policy: Policy,
    machines: BTreeMap<NodeName, Machine>,
    gangs: BTreeMap<GangId, GangFacts>,
    asked: BTreeMap<(GangId, NodeName), Asked>,
    /// Whether the backend does what it is told, and whether its view is fresh.
    follows: bool,
    synced: bool,
    /// Gangs that do not leave when they are told to.
    staying: BTreeSet<GangId>,
    /// Gangs whose disruption budget allows no eviction.
    refused: BTreeSet<GangId>,
}

impl World {
    pub(crate) fn new(setting: &[String]) -> Self {
        let policy = Policy { mode: Mode::Act, ..Policy::new(name(PoolName::parse, POOL)) };
        let cell = CellFacts { epoch: Epoch(1), mode: Mode::Act, ..CellFacts::default() };
        let mut world = Self {
            cell,
            policy,
            machines: BTreeMap::new(),
            gangs: BTreeMap::new(),
            asked: BTreeMap::new(),
            follows: true,
            synced: true,
            staying: BTreeSet::new(),
            refused: BTreeSet::new(),
        };
        for line in setting {
            world.set(line);
        }
        world
    }

    /// From now on, keeps what is told.
    pub(crate) fn record(&self) {
        RECORDED.set(Some(Vec::new()));
    }

    /// A decision was asked for.
    pub(crate) fn decides(&self, now: Timestamp) {
        RECORDED
            .with_borrow_mut(|recorded| recorded.iter_mut().for_each(|entries| entries.push(Entry::Decide { now })));
    }

    /// What was kept.
    pub(crate) fn recorded(&self) -> Vec<Entry> {
        RECORDED.take().unwrap_or_default()
    }

    /// Everything that is there before the first event.
    pub(crate) fn begin(&mut self, engine: &mut Engine) {
        let at = Timestamp(0);
        observe(engine, at, Fact::Cell(self.cell.clone()));
        observe(engine, at, Fact::Policy(Box::new(self.policy.clone())));
        let nodes: Vec<NodeName> = self.machines.keys().cloned().collect();
        for node in &nodes {
            self.tell_node(node, at, engine);
            self.report(node, at, engine);
        }
        for (gang, facts) in &self.gangs {
            observe(engine, at, Fact::Gang { gang: gang.clone(), facts: Box::new(facts.clone()) });
        }
    }

    pub(crate) fn sync(&self, now: Timestamp, engine: &mut Engine) {
        if self.synced {
            observe(engine, now, Fact::Synced { as_of: now });
        }
    }

    /// One event of the scenario.
    pub(crate) fn happen(&mut self, event: &str, now: Timestamp, engine: &mut Engine) {
        if let Some((node, line)) = event.split_once(" says ") {
            let (line, times) = line
                .rsplit_once(" x")
                .and_then(|(line, times)| Some((line, times.parse().ok()?)))
                .unwrap_or((line, 1_u32));
            return self.says(&name(NodeName::parse, node), line.trim_matches('"'), times, now, engine);
        }
        if let Some((part, reading)) = event.split_once(" reads ") {
            return self.reads(part, reading, now, engine);
        }
        let words: Vec<&str> = event.split_whitespace().collect();
        match words.as_slice() {
            // What is asked of the brain, and no event; `run.rs` answers it.
            ["time", "passes"] | ["risk", _] => {}
            ["the", "view", "goes", "stale"] => self.synced = false,
            ["the", "view", "is", "fresh", "again"] => self.synced = true,
            ["the", "backend", "does", "nothing"] => self.follows = false,
            ["the", "backend", "works", "again"] => self.follows = true,
            ["mode", mode] => {
                self.cell.mode = mode_of(mode);
                observe(engine, now, Fact::Cell(self.cell.clone()));
            }
            ["epoch", epoch] => {
                self.cell.epoch = Epoch(number(epoch));
                observe(engine, now, Fact::Cell(self.cell.clone()));
            }
            ["ana", "approves", action] => {
                self.cell.approvals.try_push(name(OrderId::parse, action)).unwrap();
                observe(engine, now, Fact::Cell(self.cell.clone()));
            }
            ["ana", verb, node] => self.asks(verb, &name(NodeName::parse, node), None, now, engine),
            ["ana", verb, node, "and", "found", what] => {
                let word = if *what == "nothing" { Resolution::NothingFound } else { Resolution::FaultFound };
                self.asks(verb, &name(NodeName::parse, node), Some(word), now, engine);
            }
            ["budget", nodes, "out", "per", level] => {
                self.policy.budgets = Bounded::new();
                self.allow(Some(level_of(level)), NodeLimit::Nodes(number(nodes)));
                observe(engine, now, Fact::Policy(Box::new(self.policy.clone())));
            }
            ["fault", "removals", "are", "frozen", "until", time] => {
                let freeze = Freeze { sources: [ClaimSource::Fault].into(), until: time_of(time) };
                observe(engine, now, Fact::Freezes(Bounded::try_from(vec![freeze]).unwrap()));
            }
            [gang, "saves", "step", step] => self.saves(&gang_id(gang), number(step), now, engine),
            [gang, "does", "not", "leave"] => {
                self.staying.insert(gang_id(gang));
            }
            [gang, "progresses"] => {
                let facts = self.gangs.get_mut(&gang_id(gang)).unwrap_or_else(|| panic!("no gang {gang}"));
                facts.progressed_at = Some(now);
                let facts = Box::new(facts.clone());
                observe(engine, now, Fact::Gang { gang: gang_id(gang), facts });
            }
            ["the", "budget", "of", gang, "refuses"] => {
                self.refused.insert(gang_id(gang));
            }
            [gang, "ends"] => self.moves(&gang_id(gang), None, now, engine),
            [node, rest @ ..] => self.on_node(&name(NodeName::parse, node), rest, now, engine),
            [] => panic!("an empty event"),
        }
    }

    fn on_node(&mut self, node: &NodeName, words: &[&str], now: Timestamp, engine: &mut Engine) {
        let machine = self.machines.get_mut(node).unwrap_or_else(|| panic!("no node {node}"));
        match words {
            ["reports"] => return self.report(node, now, engine),
            ["sends", "its", "last", "report", "again"] => {
                let report = machine.reported.clone().map(|(_, report)| report);
                return report.into_iter().for_each(|report| {
                    observe(engine, now, Fact::Report { node: node.clone(), report });
                });
            }
            ["boots", "by", "itself"] => {
                machine.boots();
                return self.report(node, now, engine);
            }
            ["lists", "all", "its", "gpus", "again"] => {
                machine.inventory.gpus = inventory(node.as_str()).gpus;
                return self.report(node, now, engine);
            }
            ["runs", "driver", version] => {
                machine.inventory.driver = name(Version::parse, version);
                machine.boots();
                return self.report(node, now, engine);
            }
            ["loses", "a", "gpu"] => {
                let gpus: Vec<Gpu> = machine.inventory.gpus.as_slice()[..7].to_vec();
                machine.inventory.gpus = Bounded::try_from(gpus).unwrap();
                return self.report(node, now, engine);
            }
            ["has", "gpu", index, "replaced"] => {
                let index: usize = number(index);
                for gpu in machine.inventory.gpus.iter_mut() {
                    if usize::from(gpu.index) == index {
                        gpu.serial = name(Serial::parse, &format!("{}-new", gpu.serial));
                    }
                }
                machine.boots();
                return self.report(node, now, engine);
            }
            ["counts", "backwards"] => return self.report_less(node, now, engine),
            ["carries", "out", "its", "order"] => return self.ends_order(node, OrderOutcome::Done, now, engine),
            ["does", "not", "run", "its", "order"] => return self.ends_order(node, OrderOutcome::NotRun, now, engine),
            ["fails", "its", "order"] => return self.ends_order(node, OrderOutcome::Failed, now, engine),
            ["qualifies"] => return self.qualifies(node, Verdict::Passed, now, engine),
            ["fails", "its", "qualification"] => return self.qualifies(node, Verdict::Failed, now, engine),
            ["is", "deleted"] => {
                machine.is_gone = true;
                return observe(engine, now, Fact::NodeGone { node: node.clone() });
            }
            ["comes", "back"] => {
                machine.is_gone = false;
                machine.facts.uid = name(NodeUid::parse, &format!("{}-back", machine.facts.uid));
                (machine.facts.schedulable, machine.facts.avoided) = (Schedulable::Yes, false);
                machine.boots();
                self.tell_node(node, now, engine);
                return self.report(node, now, engine);
            }
            ["is", "registered", "anew"] => {
                machine.facts.uid = name(NodeUid::parse, &format!("{}-new", machine.facts.uid));
            }
            ["moves", "to", "rack", rack] => {
                machine.facts.domains.insert(Level::Rack, name(DomainName::parse, rack));
            }
            ["has", "no", "bmc"] => machine.facts.power = Power::Unknown,
            ["is", "turned", "off"] => machine.facts.power = Power::Off,
            ["is", "ready"] => machine.facts.ready = Ready::Yes,
            ["is", "not", "ready"] => machine.facts.ready = Ready::No,
            ["is", "unreachable"] => machine.facts.ready = Ready::Unknown,
            ["is", "cordoned", "by", "others"] => machine.facts.schedulable = Schedulable::NotByOthers,
            ["is", "cordoned", "by", "us"] => machine.facts.schedulable = Schedulable::NotByUs,
            ["is", "uncordoned", "by", "others"] if machine.by_others_too => machine.by_others_too = false,
            ["is", "uncordoned", "by", "others"] => machine.facts.schedulable = Schedulable::Yes,
            ["goes", "into", "maintenance"] => {
                machine.facts.planned = PlannedWork::Maintenance;
                machine.facts.schedulable = Schedulable::NotByOthers;
            }
            ["goes", "into", "upgrade"] => machine.facts.planned = PlannedWork::Upgrade,
            ["is", "being", "set", "up"] => machine.facts.planned = PlannedWork::Bootstrap,
            ["is", "given", "back"] => machine.facts.planned = PlannedWork::Nothing,
            other => panic!("not understood: {node} {other:?}"),
        }
        self.tell_node(node, now, engine);
    }

    fn says(&mut self, node: &NodeName, line: &str, times: u32, now: Timestamp, engine: &mut Engine) {
        let machine = self.machines.get_mut(node).unwrap_or_else(|| panic!("no node {node}"));
        match recognise(line, Writer::Kernel) {
            Recognition::Fault(signal) => {
                for _ in 0..times {
                    machine.tally.note(&signal, &machine.inventory, now);
                }
                machine.said = Some(signal);
            }
            Recognition::Harmless => panic!("no signal in {line}"),
            Recognition::Unknown => {
                let template = unrecognised(line, Writer::Kernel, None);
                let template = template.unwrap_or_else(|| panic!("neither a signal nor an error in {line}"));
                for _ in 0..times {
                    machine.unrecognised.note(&template, now);
                }
            }
        }
        self.report(node, now, engine);
    }

    /// `r1n2 gpu 3 reads thermal slowdown for 35 minutes`: what was read each minute, until now.
    fn reads(&mut self, part: &str, reading: &str, now: Timestamp, engine: &mut Engine) {
        let words: Vec<&str> = part.split_whitespace().collect();
        let node = name(NodeName::parse, words[0]);
        let machine = self.machines.get_mut(&node).unwrap_or_else(|| panic!("no node {node}"));
        let index = |text: &str| number::<usize>(text);
        let place = match &words[1..] {
            ["gpu", gpu] => Place::pci_or_node(machine.inventory.gpus.as_slice()[index(gpu)].pci.as_str()),
            ["nic", nic] => Place::pci_or_node(machine.inventory.nics.as_slice()[index(nic)].pci.as_str()),
            [] => Place::Node,
            other => panic!("no part {other:?}"),
        };
        let lasting = reading.strip_suffix(" minutes").and_then(|text| text.rsplit_once(" for "));
        let (text, minutes) = lasting.map_or((reading, 0), |(text, minutes)| (text, number::<u32>(minutes)));
        for minute in (0..=minutes).rev() {
            let read = machine.meter.read(&place, &reading_of(text), now - Span::minutes(minute));
            if let Some((signal, times)) = read {
                machine.tally.note_many(&signal, times, &machine.inventory, now);
                machine.said = Some(signal);
            }
        }
        self.report(&node, now, engine);
    }

    fn asks(&mut self, verb: &str, node: &NodeName, word: Option<Resolution>, now: Timestamp, engine: &mut Engine) {
        let kind = match verb {
            "holds" => Some(RequestKind::Hold),
            "quarantines" => Some(RequestKind::Quarantine),
            "drains" => Some(RequestKind::Drain),
            "returns" => Some(RequestKind::Return),
            "retires" => Some(RequestKind::Retire),
            "releases" => None,
            other => panic!("ana cannot {other}"),
        };
        let request = kind.map(|kind| Request {
            kind,
            reason: name(Reason::parse, "she said so"),
            by: name(UserName::parse, "ana"),
            word,
        });
        self.machines.get_mut(node).unwrap().request.clone_from(&request);
        observe(engine, now, Fact::Request { node: node.clone(), request });
    }

    fn saves(&mut self, gang: &GangId, step: u64, now: Timestamp, engine: &mut Engine) {
        for ((asked, node), question) in &mut self.asked {
            if asked == gang {
                question.saved_step = Some(step);
                observe(engine, now, question.fact(gang, node));
            }
        }
    }

    fn ends_order(&mut self, node: &NodeName, outcome: OrderOutcome, now: Timestamp, engine: &mut Engine) {
        let machine = self.machines.get_mut(node).unwrap();
        // Without the rule that a scenario is about, there may be nothing to carry out.
        let Some(order) = machine.orders.last().cloned() else { return };
        machine.outcomes.push((order.nonce, outcome));
        let has_run = outcome != OrderOutcome::NotRun;
        if has_run
            && matches!(
                order.task,
                Task::Rung(mainstay_model::RepairStep::Reboot | mainstay_model::RepairStep::PowerCycle)
            )
        {
            machine.boots();
            machine.facts.ready = Ready::Yes;
            if machine.facts.power == Power::Off {
                machine.facts.power = Power::On;
            }
            self.tell_node(node, now, engine);
        }
        self.report(node, now, engine);
    }

    fn qualifies(&mut self, node: &NodeName, verdict: Verdict, now: Timestamp, engine: &mut Engine) {
        let machine = self.machines.get_mut(node).unwrap();
        // Without the rule that a scenario is about, there may be nothing to carry out.
        let Some(order) = machine.orders.last().cloned() else { return };
        machine.results.push((order.nonce, verdict));
        self.report(node, now, engine);
    }

    /// The stored status of a node.
    pub(crate) fn stored(&self, node: &NodeName) -> Option<&mainstay_model::Persisted> {
        self.machines.get(node)?.recorded.as_deref()
    }

    /// The backend's facts about a node.
    pub(crate) fn facts(&self, node: &NodeName) -> NodeFacts {
        self.machines[node].facts.clone()
    }

    /// The next report of a node, with or without a new fault.
    pub(crate) fn next_report(&self, node: &NodeName, is_faulty: bool) -> Report {
        let machine = &self.machines[node];
        let (_, last) = machine.reported.clone().unwrap();
        let mut report = Report { sequence: Sequence(machine.sequence + 1), ..*last };
        if is_faulty {
            let device = machine.inventory.gpus.as_slice().first().map(|gpu| gpu.serial.clone());
            let (source, code) = (mainstay_model::Source::Xid, name(mainstay_model::Code::parse, "95"));
            let key = mainstay_model::EvidenceKey { source, code, device, detail: mainstay_model::Detail::NONE.get() };
            let (first_seen_at, last_seen_at) = (Timestamp(0), Timestamp(0));
            let evidence = mainstay_model::Evidence { key, count: 1, first_seen_at, last_seen_at };
            let _ = report.evidence.try_push(evidence);
        }
        report
    }

    /// What the brain ordered is done; answers whether anything was.
    pub(crate) fn follow(&mut self, decision: &Decision, now: Timestamp, engine: &mut Engine) -> bool {
        let mut followed = false;
        if !self.follows {
            return false;
        }
        if let Some(record) = &decision.cell {
            followed = true;
            self.cell.record = record.clone();
            observe(engine, now, Fact::Cell(self.cell.clone()));
        }
        for node in &decision.forgotten {
            followed = true;
            self.forget(node, now, engine);
        }
        for effect in decision.effects.iter().filter(|effect| effect.execution == Execution::Ordered) {
            followed = true;
            let node = &effect.node;
            match &effect.step {
                Step::Store(persisted) => {
                    self.store(node, persisted, now, engine);
                }
                Step::Order(new) => {
                    let mut persisted = self.machines[node].recorded.clone().unwrap();
                    persisted.add_order(new);
                    self.store(node, &persisted, now, engine);
                }
                Step::Cordon => {
                    let machine = self.machines.get_mut(node).unwrap();
                    machine.by_others_too = machine.facts.schedulable == Schedulable::NotByOthers;
                    machine.facts.schedulable = Schedulable::NotByUs;
                    self.tell_node(node, now, engine);
                }
                Step::Uncordon => {
                    let machine = self.machines.get_mut(node).unwrap();
                    let is_out = std::mem::take(&mut machine.by_others_too);
                    machine.facts.schedulable = if is_out { Schedulable::NotByOthers } else { Schedulable::Yes };
                    self.tell_node(node, now, engine);
                }
                Step::Avoid | Step::EndAvoid => {
                    self.machines.get_mut(node).unwrap().facts.avoided = effect.step == Step::Avoid;
                    self.tell_node(node, now, engine);
                }
                Step::PowerOff => {
                    self.machines.get_mut(node).unwrap().facts.power = Power::Off;
                    self.tell_node(node, now, engine);
                }
                Step::ReleasePods => {
                    let here = |facts: &GangFacts| facts.nodes.as_slice().contains(node);
                    let gangs: Vec<GangId> =
                        self.gangs.iter().filter(|(_, facts)| here(facts)).map(|(gang, _)| gang.clone()).collect();
                    gangs.iter().for_each(|gang| self.moves(gang, Some(node), now, engine));
                }
                Step::AskCheckpoint { gang, drain, answer_by, .. } => {
                    let asked = Asked { drain: *drain, answer_by: *answer_by, saved_step: None };
                    self.asked.insert((gang.clone(), node.clone()), asked);
                    observe(engine, now, asked.fact(gang, node));
                }
                Step::Stop { gang } if self.refused.contains(gang) => {
                    let outcome = Outcome::Refused(name(Reason::parse, "its disruption budget allows no eviction"));
                    let (node, effect, gang) = (node.clone(), effect.id.clone(), Some(gang.clone()));
                    observe(engine, now, Fact::Outcome { node, effect, gang, outcome });
                }
                Step::Stop { gang } if self.staying.contains(gang) => followed = false,
                Step::Stop { gang } => self.moves(gang, None, now, engine),
            }
        }
        followed
    }

    fn store(&mut self, node: &NodeName, persisted: &mainstay_model::Persisted, now: Timestamp, engine: &mut Engine) {
        let machine = self.machines.get_mut(node).unwrap();
        machine.orders = persisted.orders.as_slice().to_vec();
        let persisted = Box::new(persisted.clone());
        machine.recorded = Some(persisted.clone());
        observe(engine, now, Fact::Recorded { node: node.clone(), persisted });
    }

    /// The stored status of a node is deleted, and its request with it.
    fn forget(&mut self, node: &NodeName, now: Timestamp, engine: &mut Engine) {
        let machine = self.machines.get_mut(node).unwrap();
        assert!(machine.is_gone, "{node} is there and would be forgotten");
        machine.orders.clear();
        (machine.recorded, machine.request) = (None, None);
        observe(engine, now, Fact::Request { node: node.clone(), request: None });
        observe(engine, now, Fact::RecordGone { node: node.clone() });
    }

    /// A gang leaves a node, or ends.
    fn moves(&mut self, gang: &GangId, off: Option<&NodeName>, now: Timestamp, engine: &mut Engine) {
        let Some(facts) = self.gangs.get_mut(gang) else { return };
        facts.nodes.retain(|node| off.is_some_and(|off| node != off));
        let facts = facts.clone();
        if facts.nodes.as_slice().is_empty() {
            self.gangs.remove(gang);
            observe(engine, now, Fact::GangGone { gang: gang.clone() });
        } else {
            observe(engine, now, Fact::Gang { gang: gang.clone(), facts: Box::new(facts) });
        }
    }

    fn tell_node(&self, node: &NodeName, at: Timestamp, engine: &mut Engine) {
        let facts = Box::new(self.machines[node].facts.clone());
        observe(engine, at, Fact::Node { node: node.clone(), facts });
    }

    fn report(&mut self, node: &NodeName, at: Timestamp, engine: &mut Engine) {
        let machine = self.machines.get_mut(node).unwrap();
        machine.sequence += 1;
        let report = Report {
            uid: machine.facts.uid.clone(),
            boot_id: name(BootId::parse, &format!("boot-{}", machine.boot)),
            sequence: Sequence(machine.sequence),
            inventory: machine.inventory.clone(),
            evidence: machine.tally.evidence(),
            unrecognised: machine.unrecognised.lines(),
            outcomes: Bounded::try_from(machine.outcomes.iter().rev().take(8).rev().cloned().collect::<Vec<_>>())
                .unwrap(),
            results: Bounded::try_from(machine.results.iter().rev().take(32).rev().cloned().collect::<Vec<_>>())
                .unwrap(),
        };
        let report = Box::new(report);
        machine.reported = Some((at, report.clone()));
        observe(engine, at, Fact::Report { node: node.clone(), report });
    }

    /// Every order that is on record.
    pub(crate) fn orders(&self) -> Vec<(NodeName, Vec<mainstay_model::Order>)> {
        self.machines.iter().map(|(node, machine)| (node.clone(), machine.orders.clone())).collect()
    }

    /// Every judged finding in the records of nodes.
    pub(crate) fn judged(&self) -> Vec<Judged> {
        let recorded = self.machines.iter().filter_map(|(node, machine)| Some((node, machine.recorded.as_deref()?)));
        let judged = recorded.flat_map(|(node, persisted)| verdict::judged(persisted, node));
        judged.filter(|one| one.rule.as_str() != "request").collect()
    }

    /// Tells a brain that has just started everything there is, as a first list of all objects would.
    pub(crate) fn retell(&self, now: Timestamp, engine: &mut Engine) {
        observe(engine, now, Fact::Cell(self.cell.clone()));
        observe(engine, now, Fact::Policy(Box::new(self.policy.clone())));
        for (node, machine) in &self.machines {
            if let Some(persisted) = machine.recorded.clone() {
                observe(engine, now, Fact::Recorded { node: node.clone(), persisted });
            }
            if machine.is_gone {
                if machine.request.is_some() {
                    observe(engine, now, Fact::Request { node: node.clone(), request: machine.request.clone() });
                }
                continue;
            }
            observe(engine, now, Fact::Node { node: node.clone(), facts: Box::new(machine.facts.clone()) });
            if let Some((at, report)) = machine.reported.clone() {
                observe(engine, at, Fact::Report { node: node.clone(), report });
            }
            observe(engine, now, Fact::Request { node: node.clone(), request: machine.request.clone() });
        }
        for (gang, facts) in &self.gangs {
            observe(engine, now, Fact::Gang { gang: gang.clone(), facts: Box::new(facts.clone()) });
        }
        for ((gang, node), asked) in &self.asked {
            observe(engine, now, asked.fact(gang, node));
        }
    }

    /// A report whose counters fell within a boot, as a broken or forged one would.
    fn report_less(&mut self, node: &NodeName, at: Timestamp, engine: &mut Engine) {
        let machine = self.machines.get_mut(node).unwrap();
        machine.tally = Tally::default();
        if let Some(signal) = &machine.said {
            machine.tally.note(signal, &machine.inventory, at);
        }
        self.report(node, at, engine);
    }
}

fn observe(engine: &mut Engine, at: Timestamp, fact: Fact) {
    let observation = Observation { at, fact };
    RECORDED.with_borrow_mut(|recorded| {
        if let Some(entries) = recorded {
            entries.push(Entry::Observe(observation.clone()));
        }
    });
    engine.observe(&observation);
}
