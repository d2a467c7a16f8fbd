//! A small fleet without a server: it turns what happens to nodes into the facts that an adapter would report, and
//! follows the decisions of an engine. It knows no budget.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use mainstay_model::{
    BootId, Bounded, CellFacts, Checkpoints, Code, Contract, Detail, Effect, Epoch, Evidence, EvidenceKey, Fact,
    GangFacts, GangId, Gpu, Inventory, Level, Mode, NodeFacts, NodeName, Nonce, OrderOutcome, Persisted, PlannedWork,
    Policy, Power, Ready, RepairStep, Report, Request, RequestKind, Schedulable, Sequence, Source, Stage, Step, Task,
    Timestamp, Verdict,
};

use super::outage::{Outage, Owner};

pub(super) const POOL: &str = "train";
const GPUS: u16 = 8;
/// Results that a report carries.
const OUTCOMES_KEPT: usize = 8;

/// Something that happens to a node, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// Another actor takes the node out of service.
    Mark(usize, Owner),
    /// That actor gives it back.
    Unmark(usize, Owner),
    /// Its agent reports an XID.
    Xid(usize, &'static str),
    /// Its kubelet reports that it is ready, or not.
    Ready(usize, Ready),
    /// An operator files a request for it, or withdraws one.
    Request(usize, Option<RequestKind>),
    /// An operator removes Mainstay's taint.
    Untaint(usize),
    /// Its executor carries out its oldest order, with success or without.
    Execute(usize, OrderOutcome),
}

/// One node.
struct Machine {
    rack: usize,
    boot: u32,
    sequence: u64,
    xids: BTreeMap<&'static str, u64>,
    marks: BTreeSet<Owner>,
    ready: Ready,
    is_tainted: bool,
    is_avoided: bool,
    stored: Option<Box<Persisted>>,
    request: Option<Request>,
    job: Option<GangId>,
    outcomes: Vec<(Nonce, OrderOutcome)>,
    results: Vec<(Nonce, Verdict)>,
}

/// The nodes, with the policy of their pool.
pub(super) struct Fleet {
    machines: Vec<Machine>,
    policy: Policy,
    epoch: u64,
}

fn name(node: usize) -> Result<NodeName> {
    Ok(format!("n{node}").parse()?)
}

/// The number of a node in its name.
pub(super) fn number(node: &NodeName) -> Result<usize> {
    node.as_str().strip_prefix('n').and_then(|number| number.parse().ok()).with_context(|| format!("no node {node}"))
}

/// Whether Mainstay treats a node in this stage.
pub(super) const fn is_treated(stage: Stage) -> bool {
    matches!(stage, Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying)
}

impl Fleet {
    /// A fleet with this many nodes in each rack. `has_job` chooses the nodes that run a job.
    pub(super) fn new(racks: &[usize], policy: Policy, mut has_job: impl FnMut() -> bool) -> Result<Self> {
        let mut machines = Vec::new();
        for (rack, nodes) in racks.iter().enumerate() {
            for _ in 0..*nodes {
                let job = GangId { namespace: "team".parse()?, name: format!("job-{}", machines.len()).parse()? };
                machines.push(Machine {
                    rack,
                    boot: 1,
                    sequence: 0,
                    xids: BTreeMap::new(),
                    marks: BTreeSet::new(),
                    ready: Ready::Yes,
                    is_tainted: false,
                    is_avoided: false,
                    stored: None,
                    request: None,
                    job: Some(job).filter(|_| has_job()),
                    outcomes: Vec::new(),
                    results: Vec::new(),
                });
            }
        }
        Ok(Self { machines, policy, epoch: 0 })
    }

    /// What a new leader reads.
    pub(super) fn everything(&mut self, now: Timestamp) -> Result<Vec<Fact>> {
        self.epoch += 1;
        let cell = CellFacts { epoch: Epoch(self.epoch), mode: Mode::Act, ..CellFacts::default() };
        let mut facts = vec![Fact::Cell(cell), Fact::Policy(Box::new(self.policy.clone()))];
        for (number, machine) in self.machines.iter().enumerate() {
            let node = name(number)?;
            if let Some(persisted) = machine.stored.clone() {
                facts.push(Fact::Recorded { node: node.clone(), persisted });
            }
            facts.push(self.node(number)?);
            facts.push(self.report(number, now)?);
            facts.push(Fact::Request { node: node.clone(), request: machine.request.clone() });
            if let Some(gang) = machine.job.clone() {
                let nodes = Bounded::within([node]);
                let (contract, checkpoints) = (Contract::None, Checkpoints::default());
                let gang_facts = GangFacts { nodes, contract, checkpoints, progressed_at: None };
                facts.push(Fact::Gang { gang, facts: Box::new(gang_facts) });
            }
        }
        Ok(facts)
    }

    /// Lets something happen. Returns the facts that follow.
    pub(super) fn happen(&mut self, event: Event, now: Timestamp) -> Result<Vec<Fact>> {
        let (Event::Mark(node, _)
        | Event::Unmark(node, _)
        | Event::Xid(node, _)
        | Event::Ready(node, _)
        | Event::Request(node, _)
        | Event::Untaint(node)
        | Event::Execute(node, _)) = event;
        let machine = &mut self.machines[node];
        match event {
            Event::Mark(_, owner) => drop(machine.marks.insert(owner)),
            Event::Unmark(_, owner) => drop(machine.marks.remove(&owner)),
            Event::Ready(_, ready) => machine.ready = ready,
            Event::Untaint(_) => machine.is_tainted = false,
            Event::Xid(_, code) => {
                *machine.xids.entry(code).or_default() += 1;
                machine.sequence += 1;
                return Ok(vec![self.report(node, now)?]);
            }
            Event::Request(_, kind) => {
                let request = |kind| -> Result<Request> {
                    Ok(Request { kind, reason: "a look".parse()?, by: "ana".parse()?, word: None })
                };
                machine.request = kind.map(request).transpose()?;
                return Ok(vec![Fact::Request { node: name(node)?, request: machine.request.clone() }]);
            }
            Event::Execute(_, outcome) => {
                machine.execute(outcome);
                return Ok(vec![self.node(node)?, self.report(node, now)?]);
            }
        }
        Ok(vec![self.node(node)?])
    }

    /// Carries out an effect. Returns the facts that follow.
    pub(super) fn carry_out(&mut self, effect: &Effect) -> Result<Vec<Fact>> {
        let number = number(&effect.node)?;
        let machine = &mut self.machines[number];
        match &effect.step {
            Step::Store(persisted) => machine.stored = Some(persisted.clone()),
            Step::Order(new) => {
                let stored = machine.stored.as_mut().context("an order without a stored status")?;
                stored.add_order(new);
            }
            Step::Cordon => (machine.is_tainted, machine.is_avoided) = (true, false),
            Step::Uncordon => machine.is_tainted = false,
            Step::Avoid => machine.is_avoided = true,
            Step::EndAvoid => machine.is_avoided = false,
            // Machines here have no BMC.
            Step::PowerOff | Step::ReleasePods | Step::AskCheckpoint { .. } => return Ok(Vec::new()),
            Step::Stop { gang } => {
                machine.job = None;
                return Ok(vec![Fact::GangGone { gang: gang.clone() }]);
            }
        }
        let is_stored = matches!(effect.step, Step::Store(_) | Step::Order(_));
        match machine.stored.clone().filter(|_| is_stored) {
            Some(persisted) => Ok(vec![Fact::Recorded { node: effect.node.clone(), persisted }]),
            None => Ok(vec![self.node(number)?]),
        }
    }

    /// Who keeps each node out of service, as far as the cluster shows it.
    pub(super) fn outages(&self) -> Vec<Outage> {
        let outage = |machine: &Machine| Outage {
            rack: machine.rack,
            by_others: !machine.marks.is_empty() || machine.ready != Ready::Yes,
            by_mainstay: machine.is_tainted || machine.stored.as_ref().is_some_and(|stored| is_treated(stored.stage)),
        };
        self.machines.iter().map(outage).collect()
    }

    pub(super) fn is_tainted(&self, node: usize) -> bool {
        self.machines[node].is_tainted
    }

    pub(super) const fn len(&self) -> usize {
        self.machines.len()
    }

    fn node(&self, node: usize) -> Result<Fact> {
        let machine = &self.machines[node];
        let schedulable = match (machine.is_tainted, machine.marks.is_empty()) {
            (true, _) => Schedulable::NotByUs,
            (false, false) => Schedulable::NotByOthers,
            (false, true) => Schedulable::Yes,
        };
        let facts = NodeFacts {
            uid: format!("uid-{node}").parse()?,
            domains: BTreeMap::from([(Level::Rack, format!("r{}", machine.rack).parse()?)]),
            pool: POOL.parse()?,
            gpus: GPUS,
            ready: machine.ready,
            schedulable,
            planned: PlannedWork::Nothing,
            avoided: machine.is_avoided,
            power: Power::Unknown,
        };
        Ok(Fact::Node { node: name(node)?, facts: Box::new(facts) })
    }

    fn report(&self, node: usize, now: Timestamp) -> Result<Fact> {
        let machine = &self.machines[node];
        let evidence = machine.xids.iter().map(|(code, count)| evidence(node, code, *count, now));
        let report = Report {
            uid: format!("uid-{node}").parse()?,
            boot_id: format!("boot-{}", machine.boot).parse::<BootId>()?,
            sequence: Sequence(machine.sequence),
            inventory: inventory(node)?,
            evidence: Bounded::within(evidence.collect::<Result<Vec<_>>>()?),
            outcomes: Bounded::within(latest(&machine.outcomes)),
            results: Bounded::within(latest(&machine.results)),
            unrecognised: Bounded::new(),
        };
        Ok(Fact::Report { node: name(node)?, report: Box::new(report) })
    }
}

impl Machine {
    /// Its executor ends the latest order. A reboot begins another boot, with counters at zero.
    fn execute(&mut self, outcome: OrderOutcome) {
        self.sequence += 1;
        let Some(order) = self.stored.as_ref().and_then(|stored| stored.orders.as_slice().last()).cloned() else {
            return;
        };
        match order.task {
            Task::Suite(_) if outcome == OrderOutcome::Done => self.results.push((order.nonce, Verdict::Passed)),
            Task::Suite(_) => self.results.push((order.nonce, Verdict::Failed)),
            Task::Rung(step) => {
                self.outcomes.push((order.nonce, outcome));
                if matches!(step, RepairStep::Reboot | RepairStep::PowerCycle) && outcome != OrderOutcome::NotRun {
                    self.boot += 1;
                    self.xids.clear();
                    self.ready = Ready::Yes;
                }
            }
        }
    }
}

fn latest<T: Clone>(all: &[T]) -> Vec<T> {
    all.get(all.len().saturating_sub(OUTCOMES_KEPT)..).unwrap_or_default().to_vec()
}

fn evidence(node: usize, code: &str, count: u64, at: Timestamp) -> Result<Evidence> {
    let device = Some(format!("{node:06}-gpu3").parse()?);
    let key = EvidenceKey { source: Source::Xid, code: Code::parse(code)?, device, detail: Detail::parse("")? };
    Ok(Evidence { key, count, first_seen_at: at, last_seen_at: at })
}

fn inventory(node: usize) -> Result<Inventory> {
    let gpu = |index: u16| -> Result<Gpu> {
        Ok(Gpu {
            index,
            serial: format!("{node:06}-gpu{index}").parse()?,
            uuid: format!("GPU-{node:06}-{index}").parse()?,
            pci: format!("0000:{:02x}:00.0", 0x10 + index).parse()?,
        })
    };
    Ok(Inventory {
        board: format!("{node:06}-board").parse()?,
        product: "NVIDIA H100 80GB HBM3".parse()?,
        driver: "580.95.05".parse()?,
        gpus: Bounded::within((0..GPUS).map(gpu).collect::<Result<Vec<_>>>()?),
        gpus_unavailable: None,
        nics: Bounded::new(),
    })
}
