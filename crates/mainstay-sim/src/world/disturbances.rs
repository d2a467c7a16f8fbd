//! Injected faults that break no hardware: restarts, stalls, operator actions and cordons. Each begins, and each that
//! lasts ends.

use mainstay_model::{Fact, Mode, PlannedWork, Ppm, Ready, RequestKind, Schedulable, Span};

use super::event::{Event, FaultEnd};
use super::fact_delivery::Object;
use super::technicians::ANA;
use super::{FLOOR, World};
use crate::injected_fault::InjectedFault;
use crate::{Cause, InjectionKind};

/// Nodes that cry wolf together stand this far apart, in racks of their own: what they share is a version, not a place.
const CRY_EVERY: u32 = 17;

impl World {
    pub(super) fn trouble(&mut self, number: usize) {
        let trouble = self.script[number].trouble.clone();
        let kind = trouble.kind();
        if self.befalls(&trouble) {
            self.counts(kind.word());
        }
    }

    /// Something happened; not all that is planted does.
    pub(super) fn counts(&mut self, what: &'static str) {
        *self.counted.entry(what).or_default() += 1;
    }

    /// Carries out an injected fault. Returns whether it takes effect now; what takes effect later is counted there.
    fn befalls(&mut self, trouble: &InjectedFault) -> bool {
        match *trouble {
            InjectedFault::Fault(onset) => self.breaks(&onset),
            InjectedFault::FalseAlarms { first, nodes, class, key } => {
                for node in (0..nodes).map(|number| (first + number * CRY_EVERY) % self.shape.nodes) {
                    // One sensor, one word: all of them cry the same.
                    self.agenda.add(self.now, Event::Alarms { node, class, voice: None, key });
                }
            }
            InjectedFault::Restart { takeover } => self.restarts(takeover),
            InjectedFault::Stall { lasts } => {
                self.wire.stalled_at.get_or_insert(self.now);
                self.ends_after(0, FaultEnd::Stall, lasts);
            }
            InjectedFault::Mode { mode, lasts } => {
                self.cell.mode = mode;
                self.tell_cell();
                self.ends_after(0, FaultEnd::Mode, lasts);
            }
            InjectedFault::Approves => {
                self.approvals_due += 1;
                self.approves();
                return false;
            }
            InjectedFault::Asks { node, kind, lasts } => {
                if self.machine(node).request.is_some() {
                    return false;
                }
                self.requests(node, Some(kind), ANA);
                self.ends_after(node, FaultEnd::Request(kind), lasts);
            }
            InjectedFault::Cordoned { node, lasts } => {
                if self.machine(node).facts.schedulable != Schedulable::Yes {
                    return false;
                }
                self.machine(node).facts.schedulable = Schedulable::NotByOthers;
                self.tell_node(node);
                self.ends_after(node, FaultEnd::Cordon, lasts);
            }
            InjectedFault::Planned { node, planned, lasts } => return self.planned(node, planned, lasts),
            InjectedFault::Swapped { node, gpu } => {
                let idle = self.machine(node).job.is_none() && self.machine(node).power == crate::machine::Power::Up;
                if !idle {
                    return false;
                }
                self.machine(node).swaps_gpu(gpu);
                self.machine(node).faults.retain(|fault| fault.device != gpu || !fault.class.condemns());
                let up_at = self.now + Span::minutes(8);
                self.down_and_up(node, up_at, None);
            }
            InjectedFault::Silent { node, lasts } => {
                let spoke = self.machines[node as usize].speaks(self.now);
                self.machine(node).silent_until = Some(self.now + lasts);
                self.ends_after(node, FaultEnd::Silence, lasts);
                return spoke;
            }
            InjectedFault::Unready { node, lasts } => {
                let was_ready = self.machine(node).facts.ready == Ready::Yes;
                self.loses_touch(node, Ready::Unknown);
                self.ends_after(node, FaultEnd::Unready, lasts);
                return was_ready;
            }
            InjectedFault::Recreated { node } => self.recreated(node),
            InjectedFault::Incident(incident) => {
                self.incident(incident);
                return false;
            }
            InjectedFault::Flaky { lost_ppm, refused_ppm, lasts } => {
                (self.wire.lost_ppm, self.wire.refused_ppm) = (lost_ppm, refused_ppm);
                self.ends_after(0, FaultEnd::Flaky, lasts);
            }
        }
        true
    }

    /// An operator approves whatever is proposed now, or what is proposed next.
    pub(super) fn approves(&mut self) {
        if self.proposed.is_empty() {
            return;
        }
        self.approvals_due -= 1;
        let mut approvals = self.cell.approvals.clone();
        for action in self.proposed.clone() {
            approvals.push_forgetting_oldest(action);
        }
        self.cell.approvals = approvals;
        self.tell_cell();
        self.counts(InjectionKind::Approves.word());
    }

    /// An operator sets the capacity floors.
    pub(super) fn sets_floor(&mut self, floor: Ppm) {
        self.floor = floor;
        for kind in self.hall.kinds() {
            let policy = Box::new(self.policy(*kind));
            self.tell(Object::Policy(*kind), Fact::Policy(policy));
        }
    }

    pub(super) fn ends_after(&mut self, node: u32, ending: FaultEnd, lasts: Span) {
        self.agenda.add(self.now + lasts, Event::Ends { node, ending });
    }

    fn planned(&mut self, node: u32, planned: PlannedWork, lasts: Span) -> bool {
        if self.machine(node).facts.planned != PlannedWork::Nothing {
            return false;
        }
        self.work_begins(node, planned);
        self.ends_after(node, FaultEnd::Planned(planned), lasts);
        true
    }

    /// The node's object is deleted and made anew: another registration of the same machine.
    fn recreated(&mut self, node: u32) {
        if let Some(job) = self.machine(node).job {
            self.stops(job, Cause::People);
        }
        let name = self.names[node as usize].clone();
        self.tell(Object::Node(node), Fact::NodeGone { node: name });
        let (hall, now) = (self.hall, self.now);
        let machine = self.machine(node);
        machine.registration += 1;
        machine.registered_at = now;
        let fresh = hall.facts(node, machine.registration);
        machine.facts.uid = fresh.uid;
        machine.facts.schedulable = Schedulable::Yes;
        machine.by_others_too = false;
        machine.facts.avoided = false;
        self.pods_go(node);
        self.tell_node(node);
        if self.machines[node as usize].speaks(self.now) {
            self.report_now(node);
        }
    }

    pub(super) fn ending(&mut self, node: u32, ending: FaultEnd) {
        match ending {
            FaultEnd::Mode => {
                self.cell.mode = Mode::Act;
                self.tell_cell();
            }
            FaultEnd::Request(kind) => self.withdraws(node, kind),
            FaultEnd::Cordon => {
                if self.machine(node).facts.planned == PlannedWork::Nothing && self.machine(node).uncordon_by_others() {
                    self.tell_node(node);
                }
            }
            FaultEnd::Planned(planned) => {
                if self.machine(node).facts.planned == planned {
                    self.work_ends(node);
                }
            }
            FaultEnd::Silence => {
                if self.machine(node).silent_until.is_some_and(|until| self.now >= until) {
                    self.machine(node).silent_until = None;
                    self.will_report(node);
                    self.reads_orders(node);
                }
            }
            FaultEnd::Unready => {
                if self.machine(node).power == crate::machine::Power::Up {
                    self.heard_again(node);
                }
            }
            FaultEnd::Flaky => self.wire.settles(),
            FaultEnd::Stall => self.flows_again(),
            FaultEnd::Floor => self.sets_floor(FLOOR),
            FaultEnd::Work => self.work_ends(node),
        }
    }

    fn withdraws(&mut self, node: u32, kind: RequestKind) {
        let asked = self.machine(node).request.as_ref();
        if asked.is_some_and(|request| request.kind == kind && request.by.as_str() == ANA) {
            self.requests(node, None, ANA);
        }
    }

    /// The storm is over: whatever still comes arrives, nothing is lost any more, and the ceiling is where it was.
    pub(crate) fn calms(&mut self) {
        self.calm = true;
        self.wire.clears();
        self.flows_again();
        self.promises.start_recovery(self.now);
        if self.cell.mode != Mode::Act {
            self.cell.mode = Mode::Act;
            self.tell_cell();
        }
        if self.floor != FLOOR {
            self.sets_floor(FLOOR);
        }
    }
}
