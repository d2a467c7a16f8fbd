//! One node: what the store knows of it, what it is made of, what its agent has seen, and what is wrong with it in truth.
//! It does what it is told; when, is the world's.

mod repaired;

use std::sync::Arc;

use mainstay_model::{
    BootId, Bounded, Code, Detail, Gpu, GpuUuid, Inventory, Literal, Nic, NodeFacts, Nonce, Order, OrderOutcome,
    PciAddress, Persisted, Product, Ready, RepairStep, Report, Request, RuleName, Schedulable, Sequence, Serial,
    Source, Stage, Task, Timestamp, Verdict, Version, WaitingOn,
};
use mainstay_signal::{Meter, Place, Reading, Signal, Tally, TallyOutcome};

pub(crate) use self::repaired::Repaired;
use crate::fleet::{self, Drivers, Hall, NodeKind, gpu_place, nic_place, text};
use crate::signature::JobImpact;
use crate::world::ToolView;
use crate::{Cause, FaultClass};

/// How many outcomes and results an agent keeps to tell: the bounds of a report.
const OUTCOMES_KEPT: usize = 8;
const RESULTS_KEPT: usize = 32;

/// How many orders a machine remembers to have begun.
const BEGUN_KEPT: usize = 16;

/// The driver that everybody runs, and the one that some may.
const DRIVER: Literal<Version> = Version::literal("580.95.05");
const NEW_DRIVER: Literal<Version> = Version::literal("590.48.01");

/// Something that is wrong with a node in truth.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// Seeds everything that is drawn for it.
    pub(crate) key: u64,
    pub(crate) class: FaultClass,
    /// Which of the class's voices it has.
    pub(crate) voice: usize,
    pub(crate) device: u32,
    pub(crate) to_work: JobImpact,
    /// The gentlest rung that mends it; none where it passes by itself.
    pub(crate) mends_at: Option<RepairStep>,
    pub(crate) began_at: Timestamp,
    pub(crate) told: FaultVisibility,
    /// When it was first in a report.
    pub(crate) reported_at: Option<Timestamp>,
    /// Whether it is counted: of a fault that hits many nodes at once, the first one's is.
    pub(crate) counts: bool,
    /// Whether its agent already looks at it again and again.
    pub(crate) polled: bool,
    pub(crate) suspected_at: Option<Timestamp>,
    pub(crate) taken_out_at: Option<Timestamp>,
}

/// Whether a fault was printed or reported yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultVisibility {
    Nothing,
    /// The kernel has printed it.
    Printed,
    /// It is in a report, or the backend has seen it.
    Reported,
}

/// Whether the machine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Power {
    Up,
    /// It comes up at this moment.
    Booting(Timestamp),
    Down,
}

/// Stage, wait and rule of the node in the engine's last decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EngineView {
    pub(crate) stage: Stage,
    pub(crate) waiting_on: WaitingOn,
    pub(crate) waiting_since: Timestamp,
    /// The rule behind it: a number of the books.
    pub(crate) rule: u16,
    /// When it was last taken out for a rule.
    pub(crate) taken_out_at: Option<Timestamp>,
}

/// A node.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) number: u32,
    pub(crate) kind: NodeKind,
    driver: Literal<Version>,
    // In the store.
    pub(crate) facts: NodeFacts,
    pub(crate) registration: u32,
    pub(crate) registered_at: Timestamp,
    pub(crate) recorded: Option<Box<Persisted>>,
    pub(crate) request: Option<Request>,
    pub(crate) requested_at: Timestamp,
    /// Shared between clones of a fleet: it is the largest thing a node holds.
    pub(crate) reported: Option<Arc<Report>>,
    // In truth.
    pub(crate) power: Power,
    pub(crate) boot: u32,
    pub(crate) faults: Vec<Fault>,
    gpu_made: [u16; 8],
    nic_made: [u16; 8],
    // The agent.
    tally: Tally,
    meter: Meter,
    sequence: u64,
    outcomes: Vec<(Nonce, OrderOutcome)>,
    results: Vec<(Nonce, Verdict)>,
    /// Orders that the agent has begun, by nonce, so that none is carried out twice.
    pub(crate) begun: Vec<Nonce>,
    /// Those of them that have not ended.
    pub(crate) running: Vec<Order>,
    /// Whether others cordoned it too, under Mainstay's taint.
    pub(crate) by_others_too: bool,
    pub(crate) silent_until: Option<Timestamp>,
    pub(crate) report_pending: bool,
    pub(crate) reported_at: Timestamp,
    /// When it last reported something new: what repeats are paced by.
    pub(crate) paced_at: Timestamp,
    pub(crate) report_pause_seconds: u32,
    /// Effects that were ordered for it so far.
    pub(crate) effects: u32,
    // Work and people.
    pub(crate) job: Option<u32>,
    /// The job whose pods are still listed here, because the machine died under them.
    pub(crate) left_behind: Option<u32>,
    pub(crate) crew: bool,
    /// Whether the part for its repair takes weeks.
    pub(crate) part_is_late: bool,
    /// Whether nothing was ever wrong with it, and nothing seemed to be.
    pub(crate) was_always_sound: bool,
    /// What orders repaired since it was last in service.
    pub(crate) repaired: Repaired,
    /// The rules that flagged a GPU when its last tests began. What flags a port ends when the other side of the link is
    /// repaired.
    pub(crate) flagged_before_tests: Vec<(RuleName, Serial)>,
    /// When its last tests began.
    pub(crate) tested_since: Option<Timestamp>,
    /// When it last logged anything.
    pub(crate) heard_at: Option<Timestamp>,
    /// Whether it holds no job and could not run one.
    pub(crate) is_unusable: bool,
    /// What a drain tool knows of it.
    pub(crate) tool: ToolView,
    /// When a job last crashed on it.
    pub(crate) crashed_at: Option<Timestamp>,
    /// How often a crew went there.
    pub(crate) visits: u32,
    /// The last alarm with nothing behind it: what it looked like, and when.
    pub(crate) false_alarm: Option<(FaultClass, Timestamp)>,
    pub(crate) seen: EngineView,
    /// What it is out for: a rule, in which stage, and since when.
    pub(crate) out: Option<(u16, Stage, Timestamp)>,
}

impl Machine {
    pub(crate) fn new(number: u32, hall: Hall, drivers: Drivers, at: Timestamp) -> Self {
        let driver = match drivers {
            Drivers::Two if fleet::has_new_driver(number) => NEW_DRIVER,
            Drivers::One | Drivers::Two => DRIVER,
        };
        Self {
            number,
            kind: hall.kind(number),
            driver,
            facts: hall.facts(number, 1),
            registration: 1,
            registered_at: at,
            recorded: None,
            request: None,
            requested_at: at,
            reported: None,
            power: Power::Up,
            boot: 1,
            faults: Vec::new(),
            gpu_made: [0; 8],
            nic_made: [0; 8],
            tally: Tally::default(),
            meter: Meter::default(),
            sequence: 0,
            outcomes: Vec::new(),
            results: Vec::new(),
            begun: Vec::new(),
            running: Vec::new(),
            by_others_too: false,
            silent_until: None,
            report_pending: false,
            reported_at: at,
            paced_at: at,
            report_pause_seconds: 1,
            effects: 0,
            job: None,
            left_behind: None,
            crew: false,
            part_is_late: false,
            was_always_sound: true,
            repaired: Repaired::Nothing,
            flagged_before_tests: Vec::new(),
            tested_since: None,
            heard_at: None,
            is_unusable: false,
            tool: ToolView::default(),
            crashed_at: None,
            visits: 0,
            false_alarm: None,
            seen: EngineView {
                stage: Stage::InService,
                waiting_on: WaitingOn::Nothing,
                waiting_since: at,
                rule: 0,
                taken_out_at: None,
            },
            out: None,
        }
    }

    /// The driver it runs.
    pub(crate) const fn driver(&self) -> &'static str {
        self.driver.as_str()
    }

    /// Whether the scheduler may use it.
    pub(crate) fn is_free(&self) -> bool {
        self.job.is_none()
            && self.power == Power::Up
            && self.facts.ready == Ready::Yes
            && self.facts.schedulable == Schedulable::Yes
    }

    /// Others end their cordon. Mainstay's taint stays. Returns whether the node gets jobs now.
    pub(crate) fn uncordon_by_others(&mut self) -> bool {
        self.by_others_too = false;
        let was_theirs = self.facts.schedulable == Schedulable::NotByOthers;
        if was_theirs {
            self.facts.schedulable = Schedulable::Yes;
        }
        was_theirs
    }

    /// Whether its agent runs and speaks.
    pub(crate) fn speaks(&self, now: Timestamp) -> bool {
        self.power == Power::Up && self.silent_until.is_none_or(|until| now >= until)
    }

    /// The first fault that stops work here.
    pub(crate) fn stopping(&self) -> Option<&Fault> {
        self.faults.iter().find(|fault| fault.to_work == JobImpact::Stops)
    }

    /// Why somebody would take the node out, in truth.
    pub(crate) fn condemned_by(&self) -> Option<&Fault> {
        self.faults.iter().find(|fault| fault.class.condemns())
    }

    /// What an interruption is booked on: the fault that is there, else nothing was.
    pub(crate) fn blame(&self) -> Cause {
        let worst = self.condemned_by().or_else(|| self.faults.first());
        match (worst, &self.request) {
            (Some(fault), _) => Cause::Fault(fault.class),
            (None, Some(_)) => Cause::People,
            (None, None) => Cause::FalseAlarm,
        }
    }

    /// The kernel prints a line, and the agent reads it. Answers whether it is worth a report.
    pub(crate) fn hears(&mut self, line: &str, now: Timestamp) -> bool {
        let Some(signal) = mainstay_signal::parse(line) else { return false };
        self.notes(&signal, now)
    }

    /// A detector that compares nodes says that this one is slow, in the words of a tool that is not ours.
    pub(crate) fn is_called_slow(&mut self, now: Timestamp) -> bool {
        let signal = Signal {
            source: Source::External,
            code: const { Code::literal("straggler") }.get(),
            place: Place::Node,
            detail: Detail::NONE.get(),
        };
        self.notes(&signal, now)
    }

    /// The agent reads a counter or a state of a part; answers whether it says anything.
    pub(crate) fn reads(&mut self, place: &str, reading: &Reading, now: Timestamp) -> bool {
        let said = self.meter.read(&Place::pci_or_node(place), reading, now);
        let Some((signal, times)) = said else { return false };
        match self.tally.note_many(&signal, times, &self.inventory(), now) {
            TallyOutcome::New | TallyOutcome::Repeat | TallyOutcome::Overflow => true,
        }
    }

    fn notes(&mut self, signal: &Signal, now: Timestamp) -> bool {
        self.heard_at = Some(now);
        match self.tally.note(signal, &self.inventory(), now) {
            TallyOutcome::New | TallyOutcome::Repeat | TallyOutcome::Overflow => true,
        }
    }

    /// Everything starts anew but the parts.
    pub(crate) fn boots(&mut self) {
        self.power = Power::Up;
        self.boot += 1;
        self.sequence = 0;
        self.tally = Tally::default();
        self.meter = Meter::default();
        self.report_pause_seconds = 1;
        self.silent_until = None;
        self.running.clear();
    }

    /// A part is replaced: another serial, and no history.
    pub(crate) fn swaps_gpu(&mut self, gpu: u32) {
        if let Some(made) = usize::try_from(gpu).ok().and_then(|gpu| self.gpu_made.get_mut(gpu)) {
            *made += 1;
        }
    }

    pub(crate) fn swaps_nic(&mut self, nic: u32) {
        if let Some(made) = usize::try_from(nic).ok().and_then(|nic| self.nic_made.get_mut(nic)) {
            *made += 1;
        }
    }

    /// An order is begun, and never again.
    pub(crate) fn begins(&mut self, order: Order) {
        self.remembers(order.nonce.clone());
        self.running.push(order);
    }

    /// An order that cannot be begun any more is reported as not run, once.
    pub(crate) fn refuses(&mut self, nonce: Nonce) {
        self.remembers(nonce.clone());
        self.ends_order(nonce, OrderOutcome::NotRun);
    }

    fn remembers(&mut self, nonce: Nonce) {
        if self.begun.len() >= BEGUN_KEPT {
            self.begun.remove(0);
        }
        self.begun.push(nonce);
    }

    /// Whether an order that was begun is still running; it is not after this.
    pub(crate) fn was_running(&mut self, nonce: &Nonce) -> bool {
        let before = self.running.len();
        self.running.retain(|order| order.nonce != *nonce);
        self.running.len() < before
    }

    pub(crate) fn ends_order(&mut self, nonce: Nonce, outcome: OrderOutcome) {
        self.outcomes.push((nonce, outcome));
        let surplus = self.outcomes.len().saturating_sub(OUTCOMES_KEPT);
        self.outcomes.drain(..surplus);
    }

    pub(crate) fn ends_test(&mut self, nonce: Nonce, verdict: Verdict) {
        self.results.push((nonce, verdict));
        let surplus = self.results.len().saturating_sub(RESULTS_KEPT);
        self.results.drain(..surplus);
    }

    /// Whether its last tests have ended, and it passed them.
    pub(crate) fn has_passed(&self) -> bool {
        let is_tested = !self.running.iter().any(|order| matches!(order.task, Task::Suite(_)));
        is_tested && self.results.last().is_some_and(|(_, verdict)| *verdict == Verdict::Passed)
    }

    /// Writes a report into the store.
    pub(crate) fn reports(&mut self, now: Timestamp) -> Box<Report> {
        self.sequence += 1;
        self.reported_at = now;
        let report = Box::new(Report {
            uid: self.facts.uid.clone(),
            boot_id: self.boot_id(),
            sequence: Sequence(self.sequence),
            inventory: self.inventory(),
            evidence: self.tally.evidence(),
            outcomes: Bounded::try_from(self.outcomes.clone()).unwrap_or_default(),
            results: Bounded::try_from(self.results.clone()).unwrap_or_default(),
            unrecognised: Bounded::new(),
        });
        self.reported = Some(Arc::new((*report).clone()));
        report
    }

    /// Says the same again: a heartbeat.
    pub(crate) fn repeats(&mut self, at: Timestamp) -> Option<Box<Report>> {
        self.sequence += 1;
        self.reported_at = at;
        let report = Arc::make_mut(self.reported.as_mut()?);
        report.sequence = Sequence(self.sequence);
        Some(Box::new(report.clone()))
    }

    pub(crate) fn boot_id(&self) -> BootId {
        text(BootId::parse, &format!("boot-{}-{}", self.number, self.boot))
    }

    pub(crate) fn gpu_serial(&self, gpu: u32) -> Serial {
        let made = usize::try_from(gpu).ok().and_then(|gpu| self.gpu_made.get(gpu)).copied().unwrap_or_default();
        text(Serial::parse, &format!("G{:06}{gpu}-{made}", self.number))
    }

    /// What the driver lists. A GPU that fell off the bus stays in the list: the driver forgets it only when it is
    /// loaded again.
    pub(crate) fn inventory(&self) -> Inventory {
        let gpus = (0..self.kind.gpus()).map(|gpu| Gpu {
            index: u16::try_from(gpu).unwrap_or_default(),
            serial: self.gpu_serial(gpu),
            uuid: text(GpuUuid::parse, &format!("GPU-{:08x}-{gpu}", self.number)),
            pci: text(PciAddress::parse, &format!("{}.0", gpu_place(gpu))),
        });
        let nics = (0..self.kind.gpus()).zip(self.nic_made).map(|(nic, made)| Nic {
            rail: u16::try_from(nic).unwrap_or_default(),
            serial: text(Serial::parse, &format!("N{:06}{nic}-{made}", self.number)),
            pci: text(PciAddress::parse, &nic_place(nic)),
        });
        Inventory {
            board: text(Serial::parse, &format!("B{:06}", self.number)),
            product: match self.kind {
                NodeKind::Hgx | NodeKind::Mig => const { Product::literal("NVIDIA H100 80GB HBM3") }.get(),
                NodeKind::Nvl72 => const { Product::literal("NVIDIA GB200") }.get(),
            },
            driver: self.driver.get(),
            gpus: Bounded::try_from(gpus.collect::<Vec<_>>()).unwrap_or_default(),
            gpus_unavailable: None,
            nics: Bounded::try_from(nics.collect::<Vec<_>>()).unwrap_or_default(),
        }
    }
}
