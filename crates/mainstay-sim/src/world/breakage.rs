//! The ground truth of faults: they begin, affect jobs, pass, are repaired and return. `sensors.rs` has their signals.

use mainstay_model::{PlannedWork, Ready, RepairStep, Schedulable, Span};

use super::World;
use super::event::{Event, FaultEnd};
use super::sensors::POLL;
use crate::class::FaultScope;
use crate::fault_schedule::ScheduledFault;
use crate::fleet::nic_place;
use crate::job::StopSource;
use crate::machine::{Fault, FaultVisibility};
use crate::model::Parameter;
use crate::rng::{Purpose, RandomStream, span_seconds, stream};
use crate::signature::JobImpact;
use crate::{Cause, FaultClass};

/// How long a flap or a passing error of a link holds a job up, at most.
const STALL_SECONDS_MAX: f64 = 30.0;

impl World {
    /// Something breaks, on one node or on all that share what broke.
    pub(super) fn breaks(&mut self, onset: &ScheduledFault) {
        self.breaks_as(onset, None);
    }

    /// The same, showing itself in a voice that somebody chose.
    pub(super) fn breaks_as(&mut self, onset: &ScheduledFault, voice: Option<usize>) {
        let end = match onset.class.reach() {
            FaultScope::Leaf => onset.node + self.shape.nodes_per_leaf,
            FaultScope::Rack => self.hall.rack(onset.node).end,
            FaultScope::Node => onset.node + 1,
        };
        let shared = span_seconds(self.repair_seconds(onset));
        for node in onset.node..end.min(self.shape.nodes) {
            self.breaks_one(node, onset, voice, shared);
        }
    }

    fn breaks_one(&mut self, node: u32, onset: &ScheduledFault, voice: Option<usize>, shared: Span) {
        let (class, key, counts) = (onset.class, onset.key, node == onset.node);
        let mut chance = stream(self.seed, Purpose::Fault, key);
        let drawn = self.voices.pick(class, &mut chance);
        let voice = voice.unwrap_or(drawn);
        let Some(spoken) = self.voices.get(class, voice) else { return };
        let (to_work, speaks) = (spoken.to_work, spoken.has_lines());
        let mut mends_at = spoken.draw_repair_step(&mut chance);
        let needs_part = chance.happens(self.model.get(Parameter::RmaShare));
        if class == FaultClass::GpuHardFault {
            // Their share is a parameter, in place of that in the table.
            mends_at = match mends_at {
                _ if needs_part => Some(RepairStep::Replace),
                Some(RepairStep::Replace) => spoken.draw_automatic_step(&mut chance),
                automatic => automatic,
            };
        }
        let device = onset.device.min(self.machine(node).kind.gpus() - 1);
        if self.machine(node).faults.iter().any(|fault| fault.key == key) {
            return;
        }
        if counts {
            self.books.class(class).faults += 1;
        }
        let mut fault = Fault {
            key,
            class,
            voice,
            device,
            to_work,
            mends_at,
            began_at: self.now,
            told: FaultVisibility::Nothing,
            reported_at: None,
            counts,
            polled: false,
            suspected_at: None,
            taken_out_at: None,
        };
        if counts && class.condemns() && self.machine(node).seen.stage.is_treated() {
            // Whatever it is out for, it is out.
            self.books.taken_out(&fault, self.now);
            fault.taken_out_at = Some(self.now);
        }
        self.machine(node).was_always_sound = false;
        self.machine(node).faults.push(fault);
        self.settle_unusable(node);
        if let Some(ledger) = &mut self.ledger {
            ledger.begins(node, self.now, class, key);
        }
        if speaks {
            let after = self.sensor(class, &mut chance);
            self.agenda.add(self.now + after, Event::Speaks { node, key });
        } else if class.keeps_a_link_down() {
            // Nothing is printed: only whoever looks at the port finds out.
            self.agenda.add(self.now + POLL, Event::Polls { node, key });
        }
        match class {
            FaultClass::RackPower => {
                self.goes_down(node);
                self.agenda.add(self.now + shared, Event::Passes { node, key });
            }
            FaultClass::LeafSwitchCrash => self.agenda.add(self.now + shared, Event::Passes { node, key }),
            FaultClass::HostHardware => self.goes_down(node),
            FaultClass::HostUnplannedMaintenance => self.taken_for_work(node, shared),
            FaultClass::LinkFlap | FaultClass::NvlinkTransient => self.stalls(node, key, to_work, &mut chance),
            FaultClass::SoftwareAndWatchdog => self.software(node, key, &mut chance),
            FaultClass::FailSlowOnset => self.slows(node, key, &mut chance),
            FaultClass::GpuSilentDataCorruption => self.corrupts(node, key, &mut chance),
            FaultClass::GpuHardFault
            | FaultClass::GpuHbmUncorrectable
            | FaultClass::GpuSramGspThermal
            | FaultClass::NicHardFault
            | FaultClass::LinkHardFault
            | FaultClass::DeliveryDefect => {}
        }
        if to_work == JobImpact::Stops && class != FaultClass::NvlinkTransient {
            self.hits(node, Cause::Fault(class), key);
        }
        if class.condemns() && class != FaultClass::GpuSilentDataCorruption {
            self.will_be_noticed(node, key, &mut chance);
        }
    }

    /// How long what people repair by themselves takes: the building, the network, the host.
    fn repair_seconds(&self, onset: &ScheduledFault) -> f64 {
        let mut chance = stream(self.seed, Purpose::Repair, onset.key);
        let sigma = self.model.get(Parameter::RepairLnMinutesSigma);
        let median = match onset.class.reach() {
            FaultScope::Rack => self.model.get(Parameter::RepairFacilitiesMedian),
            FaultScope::Leaf => self.model.get(Parameter::RepairNetworkMedian),
            FaultScope::Node => libm::exp(self.model.get(Parameter::RepairLnMinutesMu)),
        };
        chance.lognormal(median * 60.0, sigma).min(14.0 * 86_400.0)
    }

    /// A moment without the link: a job waits, and goes on or does not.
    fn stalls(&mut self, node: u32, key: u64, to_work: JobImpact, chance: &mut RandomStream) {
        let stall = chance.unit() * STALL_SECONDS_MAX;
        let class = if to_work == JobImpact::Stops { FaultClass::NvlinkTransient } else { FaultClass::LinkFlap };
        if to_work == JobImpact::Stops {
            self.hits(node, Cause::Fault(class), key);
        } else if let Some(job) = self.machine(node).job {
            let lost = self.jobs[job as usize].gpu_seconds(span_seconds(stall));
            let class = self.machine(node).faults.last().map_or(class, |fault| fault.class);
            self.books.lose(Cause::Fault(class), lost, |loss| &mut loss.hung_gpu_seconds);
            self.logs(job, |log| log.loses(lost));
        }
        self.agenda.add(self.now + span_seconds(60.0 + stall), Event::Passes { node, key });
    }

    /// A job fails by itself; some of the time it looks as if a GPU had.
    fn software(&mut self, node: u32, key: u64, chance: &mut RandomStream) {
        if chance.happens(self.model.get(Parameter::SoftwareBlamedOnHardware)) {
            let class = FaultClass::GpuHardFault;
            self.agenda.add(self.now, Event::Alarms { node, class, voice: None, key: key ^ 1 });
        }
        self.agenda.add(self.now + Span::minutes(1), Event::Passes { node, key });
    }

    fn slows(&mut self, node: u32, key: u64, chance: &mut RandomStream) {
        let for_good = chance.happens(self.model.get(Parameter::FailSlowPermanentShare));
        let minutes = chance.lognormal(
            self.model.get(Parameter::FailSlowLnMinutesMedian),
            self.model.get(Parameter::FailSlowLnMinutesSigma),
        );
        if for_good {
            // Nobody but a person who looks can tell.
            self.will_be_noticed(node, key, chance);
        } else {
            self.agenda.add(self.now + span_seconds(minutes * 60.0), Event::Passes { node, key });
        }
        if let Some(job) = self.machine(node).job {
            self.paces(job);
        }
        self.compares(node, key, chance);
    }

    /// Results are wrong from now on; somebody notices after days.
    fn corrupts(&mut self, node: u32, key: u64, chance: &mut RandomStream) {
        let now = self.now;
        if let Some(job) = self.machine(node).job {
            let progress = self.job(job).progress(now);
            self.job(job).tainted.get_or_insert(progress);
        }
        let per_day = self.model.get(Parameter::SilentCorruptionDetectedPerDay).clamp(0.001, 0.999);
        let days = chance.exponential(-1.0 / libm::log(1.0 - per_day));
        self.agenda.add(now + span_seconds(days * 86_400.0), Event::Notices { node, key });
    }

    /// Somebody has to work on the host: it is cordoned, its work leaves, and it is given back.
    fn taken_for_work(&mut self, node: u32, lasts: Span) {
        self.work_begins(node, PlannedWork::Maintenance);
        self.agenda.add(self.now + lasts, Event::Ends { node, ending: FaultEnd::Work });
    }

    /// People keep new work away from a node and tell what runs there to stop.
    pub(super) fn work_begins(&mut self, node: u32, planned: PlannedWork) {
        let machine = self.machine(node);
        machine.facts.planned = planned;
        if machine.facts.schedulable == Schedulable::Yes {
            machine.facts.schedulable = Schedulable::NotByOthers;
        }
        self.tell_node(node);
        if let Some(job) = self.machine(node).job {
            self.told_to_stop(job, StopSource::People);
        }
    }

    pub(super) fn work_ends(&mut self, node: u32) {
        let machine = self.machine(node);
        machine.faults.retain(|fault| fault.class != FaultClass::HostUnplannedMaintenance);
        machine.facts.planned = PlannedWork::Nothing;
        machine.uncordon_by_others();
        self.tell_node(node);
        self.tool_returns(node);
    }

    /// A fault goes away by itself.
    pub(super) fn passes(&mut self, node: u32, key: u64) {
        let Some(at) = self.machine(node).faults.iter().position(|fault| fault.key == key) else { return };
        let fault = self.machine(node).faults.remove(at);
        self.settle_unusable(node);
        if fault.class.keeps_a_link_down()
            && let Some(ledger) = &mut self.ledger
        {
            // The brain of this world is told by the state of the port.
            ledger.comes_back(node, self.now, &nic_place(fault.device));
        }
        if fault.class.downs() {
            let boot = self.machine(node).boot;
            self.comes_up(node, boot, None);
        }
        if fault.class == FaultClass::FailSlowOnset
            && let Some(job) = self.machine(node).job
        {
            self.paces(job);
        }
    }

    /// A rung is carried out: it mends what it can mend, on the part it was for where it was for one.
    pub(super) fn mends(&mut self, node: u32, rung: RepairStep, device: Option<u32>) {
        let faults = std::mem::take(&mut self.machine(node).faults);
        let (mended, left): (Vec<Fault>, Vec<Fault>) = faults.into_iter().partition(|fault| {
            let here = device.is_none_or(|device| device == fault.device);
            here && fault.mends_at.is_some_and(|needed| needed <= rung)
        });
        self.machine(node).faults = left;
        self.settle_unusable(node);
        for fault in mended {
            self.mended(node, &fault);
        }
    }

    /// What was mended may come back, or was never mended.
    pub(super) fn mended(&mut self, node: u32, fault: &Fault) {
        if fault.mends_at == Some(RepairStep::Replace) {
            if fault.class.is_of_a_nic() {
                self.machine(node).swaps_nic(fault.device);
            } else {
                self.machine(node).swaps_gpu(fault.device);
            }
        }
        let mut chance = stream(self.seed, Purpose::Relapse, fault.key);
        if let Some(after) = self.relapses.after(&mut chance).filter(|_| !self.calm) {
            let key = fault.key.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1;
            let onset = ScheduledFault { at: self.now + after, class: fault.class, node, device: fault.device, key };
            self.agenda.add(onset.at, Event::Relapses { node, onset: Box::new(onset) });
        }
    }

    pub(super) fn relapses(&mut self, node: u32, onset: ScheduledFault) {
        if onset.node == node && !self.calm {
            self.books.class(onset.class).relapses += 1;
            self.breaks(&onset);
        }
    }

    /// The backend sees that a node does not answer: whatever took it down is told of.
    pub(super) fn is_seen_down(&mut self, node: u32) {
        if self.machine(node).facts.ready == Ready::Yes {
            return;
        }
        for fault in &mut self.machines[node as usize].faults {
            if fault.class.downs() && fault.told == FaultVisibility::Nothing && fault.counts {
                fault.told = FaultVisibility::Reported;
                self.books.class(fault.class).told += 1;
            }
        }
    }
}
