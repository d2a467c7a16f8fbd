//! Technicians notice faults that no rule found, repair nodes and close tickets. They are few, they take hours, and
//! parts take days.

use mainstay_model::{
    Literal, Mode, PlannedWork, Reason, RepairStep, Request, RequestKind, Resolution, Span, Stage, UserName, WaitingOn,
};

use super::World;
use super::event::Event;
use crate::fleet::text;
use crate::machine::{Fault, Machine, Repaired};
use crate::model::Parameter;
use crate::rng::{Purpose, RandomStream, span_seconds, stream};

/// Who repairs and who asks in a storm.
const ON_CALL: &str = "oncall";
pub(super) const ANA: &str = "ana";

/// Nobody takes longer to see something than so many times the median.
const NOTICED_WITHIN: f64 = 12.0;

/// Days until a part comes that its maker does not have.
const PART_WEEKS_DAYS: f64 = 21.0;

/// A person who left something to others looks again after this time.
const LOOKS_AGAIN: Span = Span::hours(4);

impl World {
    /// A person will see sooner or later that something is wrong with a node, if nobody else does.
    pub(super) fn will_be_noticed(&mut self, node: u32, key: u64, chance: &mut RandomStream) {
        let median = self.model.get(Parameter::PeopleNoticeHours);
        let hours = chance.lognormal(median, 1.0).min(median * NOTICED_WITHIN);
        self.agenda.add(self.now + span_seconds(hours * 3_600.0), Event::Notices { node, key });
    }

    /// Somebody sees it: where the brain acts it is asked, else people do it by hand.
    pub(super) fn notices(&mut self, node: u32, key: u64) {
        let acts = self.policies.mode.min(self.cell.mode) == Mode::Act;
        let machine = self.machine(node);
        let there = machine.faults.iter().any(|fault| fault.key == key);
        let dealt_with = machine.crew
            || machine.request.is_some()
            || machine.facts.planned != PlannedWork::Nothing
            || !machine.seen.stage.gets_jobs();
        if !there {
            return;
        }
        // No technician keeps a node in maintenance for the weeks that its part takes.
        if dealt_with || !acts && self.machines[node as usize].part_is_late {
            // Whoever deals with it may not have seen this.
            self.agenda.add(self.now + LOOKS_AGAIN, Event::Notices { node, key });
            return;
        }
        if acts {
            self.requests(node, Some(RequestKind::Drain), ON_CALL);
            return;
        }
        self.work_begins(node, PlannedWork::Maintenance);
        self.opens_ticket(node);
    }

    pub(super) fn requests(&mut self, node: u32, kind: Option<RequestKind>, by: &str) {
        self.says(node, kind, None, by);
    }

    fn says(&mut self, node: u32, kind: Option<RequestKind>, word: Option<Resolution>, by: &str) {
        const REASON: Literal<Reason> = Reason::literal("noticed by an operator");
        self.asks(node, kind.map(|kind| Request { kind, reason: REASON.get(), by: text(UserName::parse, by), word }));
    }

    /// A person asks something of a node, or withdraws it.
    pub(super) fn asks(&mut self, node: u32, request: Option<Request>) {
        self.machine(node).requested_at = self.now;
        self.machine(node).request = request;
        self.tell_request(node);
    }

    /// The brain says that a node needs a person: the next crew goes there.
    pub(super) fn sees_who_waits(&mut self, node: u32) {
        let machine = &self.machines[node as usize];
        let mine = machine.request.as_ref().is_none_or(|request| request.by.as_str() == ON_CALL);
        let needs =
            machine.seen.waiting_on == WaitingOn::Operator && mine && machine.facts.planned == PlannedWork::Nothing;
        let stuck = machine.seen.stage.is_treated();
        if needs && stuck {
            let returned = machine.request.as_ref().is_some_and(|request| request.kind == RequestKind::Return);
            if returned {
                // It was asked for and did not work out: somebody has to look again.
                self.requests(node, None, ON_CALL);
            }
            self.opens_ticket(node);
        }
    }

    pub(super) fn opens_ticket(&mut self, node: u32) {
        if std::mem::replace(&mut self.machine(node).crew, true) {
            return;
        }
        self.machine(node).visits += 1;
        let keys: Vec<u64> = self.machine(node).faults.iter().map(|fault| fault.key).collect();
        if let Some(ledger) = &mut self.ledger {
            ledger.ticket(node, self.now, &keys);
        }
        match self.part_days(node) {
            Some(days) => self.agenda.add(self.now + span_seconds(days * 86_400.0), Event::PartIsHere { node }),
            None => self.part_is_here(node),
        }
    }

    /// Everything for a repair is there: the next crew goes.
    pub(super) fn part_is_here(&mut self, node: u32) {
        self.tickets.push_back(node);
        self.sends_crew();
    }

    /// Days until a GPU comes from its maker, where one has to be replaced. Cables, adapters and power supplies are on the
    /// shelf.
    fn part_days(&self, node: u32) -> Option<f64> {
        let machine = &self.machines[node as usize];
        if machine.part_is_late {
            return Some(PART_WEEKS_DAYS);
        }
        let needs = |fault: &Fault| fault.mends_at == Some(RepairStep::Replace) && fault.class.is_of_a_gpu();
        let mut chance = stream(self.seed, Purpose::Part, visit(machine));
        let (least, most) = (self.model.get(Parameter::RmaDaysMin), self.model.get(Parameter::RmaDaysMax));
        machine.faults.iter().any(needs).then(|| least + chance.unit() * (most - least).max(0.0))
    }

    fn sends_crew(&mut self) {
        while self.crews_free > 0 {
            let Some(node) = self.tickets.pop_front() else { return };
            self.crews_free -= 1;
            let takes = span_seconds(self.crew_seconds(node));
            self.agenda.add(self.now + takes, Event::Repaired { node });
        }
    }

    /// Hands on the machine, longer on the network.
    fn crew_seconds(&self, node: u32) -> f64 {
        let machine = &self.machines[node as usize];
        let mut chance = stream(self.seed, Purpose::Crew, visit(machine));
        let network = |fault: &Fault| fault.mends_at == Some(RepairStep::Replace) && fault.class.is_of_a_nic();
        let median = if machine.faults.iter().any(network) {
            self.model.get(Parameter::RepairNetworkMedian)
        } else {
            libm::exp(self.model.get(Parameter::RepairLnMinutesMu))
        };
        let minutes = chance.lognormal(median, self.model.get(Parameter::RepairLnMinutesSigma));
        (minutes * 60.0).min(3.0 * 86_400.0)
    }

    /// A crew has mended whatever it found, says whether that was anything, and asks for the node's return.
    pub(super) fn repaired(&mut self, node: u32) {
        self.crews_free += 1;
        if let Some(ledger) = &mut self.ledger {
            ledger.closes(node, self.now);
        }
        let faults: Vec<Fault> = {
            let machine = self.machine(node);
            machine.crew = false;
            machine.part_is_late = false;
            machine.repaired = Repaired::Node;
            let (mended, left) = std::mem::take(&mut machine.faults)
                .into_iter()
                .partition(|fault| fault.mends_at.is_some() || fault.class == crate::FaultClass::FailSlowOnset);
            machine.faults = left;
            mended
        };
        for fault in &faults {
            self.mended(node, fault);
        }
        if let Some(job) = self.machine(node).job {
            // Somebody has to stop what still runs there before it is touched.
            let blame = self.machine(node).blame();
            self.stops(job, blame);
        }
        let up_at = self.now + Span::minutes(8);
        self.down_and_up(node, up_at, None);
        if self.machine(node).facts.planned == PlannedWork::Nothing {
            let word = if faults.is_empty() { Resolution::NothingFound } else { Resolution::FaultFound };
            self.says(node, Some(RequestKind::Return), Some(word), ON_CALL);
        } else {
            self.work_ends(node);
        }
        self.sends_crew();
    }

    /// The node is back: the person who asked for it withdraws the request.
    pub(super) fn closes_ticket(&mut self, node: u32) {
        let machine = &self.machines[node as usize];
        let back = machine.recorded.as_ref().is_some_and(|recorded| recorded.stage == Stage::InService);
        let asked = machine
            .request
            .as_ref()
            .is_some_and(|request| request.kind == RequestKind::Return && request.by.as_str() == ON_CALL);
        if back && asked {
            self.requests(node, None, ON_CALL);
        }
    }
}

/// Tells a crew's visits apart, for the draws of each.
fn visit(machine: &Machine) -> u64 {
    u64::from(machine.number) << 32 | u64::from(machine.visits)
}
