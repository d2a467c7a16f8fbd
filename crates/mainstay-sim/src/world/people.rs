//! People: those who notice what nobody did anything about, those who repair, and those who close the ticket. They are
//! few, they take hours, and parts take days.

use mainstay_model::{Mode, Person, Planned, Reason, Request, RequestKind, Rung, Schedulable, Span, Stage, WaitingOn};

use super::World;
use super::event::Event;
use crate::chance::{Purpose, Stream, span_seconds, stream};
use crate::fleet::text;
use crate::machine::Fault;
use crate::model::Parameter;

/// Who repairs and who asks in a storm.
const ON_CALL: &str = "oncall";
pub(super) const ANA: &str = "ana";

/// A person who left something to others looks again after this time.
const LOOKS_AGAIN: Span = Span::hours(4);

impl World {
    /// A person will see sooner or later that something is wrong with a node, if nobody else does.
    pub(super) fn will_be_noticed(&mut self, node: u32, key: u64, chance: &mut Stream) {
        let hours = chance.lognormal(self.model.get(Parameter::PeopleNoticeHours), 1.0).min(24.0 * 14.0);
        self.agenda.add(self.now + span_seconds(hours * 3_600.0), Event::Notices { node, key });
    }

    /// Somebody sees it: where the brain acts it is asked, else people do it by hand.
    pub(super) fn notices(&mut self, node: u32, key: u64) {
        let acts = self.policies.mode.min(self.cell.mode) == Mode::Act;
        let machine = self.machine(node);
        let there = machine.faults.iter().any(|fault| fault.key == key);
        let dealt_with = machine.crew
            || machine.request.is_some()
            || machine.facts.planned != Planned::Nothing
            || !matches!(machine.seen.stage, Stage::InService | Stage::Suspect);
        if !there {
            return;
        }
        if dealt_with {
            // Whoever deals with it may not have seen this.
            self.agenda.add(self.now + LOOKS_AGAIN, Event::Notices { node, key });
            return;
        }
        if acts {
            self.requests(node, Some(RequestKind::Drain), ON_CALL);
            return;
        }
        let machine = self.machine(node);
        machine.facts.planned = Planned::Maintenance;
        if machine.facts.schedulable == Schedulable::Yes {
            machine.facts.schedulable = Schedulable::NotByOthers;
        }
        self.tell_node(node);
        if let Some(job) = self.machine(node).job {
            self.told_to_stop(job);
        }
        self.opens_ticket(node);
    }

    pub(super) fn requests(&mut self, node: u32, kind: Option<RequestKind>, by: &str) {
        self.machine(node).requested_at = self.now;
        self.machine(node).request = kind.map(|kind| Request {
            kind,
            reason: text(Reason::parse, "seen by a person"),
            by: text(Person::parse, by),
        });
        self.tell_request(node);
    }

    /// The brain says that a node needs a person: the next crew goes there.
    pub(super) fn sees_who_waits(&mut self, node: u32) {
        let machine = &self.machines[node as usize];
        let mine = machine.request.as_ref().is_none_or(|request| request.by.as_str() == ON_CALL);
        let needs = machine.seen.waiting_on == WaitingOn::Person && mine && machine.facts.planned == Planned::Nothing;
        let stuck =
            matches!(machine.seen.stage, Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying);
        if needs && stuck {
            let returned = machine.request.as_ref().is_some_and(|request| request.kind == RequestKind::Return);
            if returned {
                // It was asked for and did not work out: somebody has to look again.
                self.requests(node, None, ON_CALL);
            }
            self.opens_ticket(node);
        }
    }

    fn opens_ticket(&mut self, node: u32) {
        if !std::mem::replace(&mut self.machine(node).crew, true) {
            self.tickets.push_back(node);
            self.sends_crew();
        }
    }

    fn sends_crew(&mut self) {
        while self.crews_free > 0 {
            let Some(node) = self.tickets.pop_front() else { return };
            self.crews_free -= 1;
            self.machine(node).visits += 1;
            let takes = span_seconds(self.crew_seconds(node));
            self.agenda.add(self.now + takes, Event::Repaired { node });
        }
    }

    /// Hands on the machine, and days for a part where one is needed.
    fn crew_seconds(&self, node: u32) -> f64 {
        let machine = &self.machines[node as usize];
        let visit = u64::from(node) << 32 | u64::from(machine.visits);
        let mut chance = stream(self.seed, Purpose::Crew, visit);
        let median = libm::exp(self.model.get(Parameter::RepairLnMinutesMu));
        let minutes = chance.lognormal(median, self.model.get(Parameter::RepairLnMinutesSigma));
        let needs_part = |fault: &Fault| fault.mends_at == Some(Rung::Replace);
        let (least, most) = (self.model.get(Parameter::RmaDaysMin), self.model.get(Parameter::RmaDaysMax));
        let days = least + chance.unit() * (most - least).max(0.0);
        let waits = if machine.faults.iter().any(needs_part) { days * 86_400.0 } else { 0.0 };
        (minutes * 60.0).min(3.0 * 86_400.0) + waits
    }

    /// A crew has mended whatever it found, and asks for the node's return.
    pub(super) fn repaired(&mut self, node: u32) {
        self.crews_free += 1;
        let faults: Vec<Fault> = {
            let machine = self.machine(node);
            machine.crew = false;
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
        if self.machine(node).facts.planned == Planned::Nothing {
            self.requests(node, Some(RequestKind::Return), ON_CALL);
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
