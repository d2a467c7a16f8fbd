//! The agents: they read what the kernel prints, write reports, and carry out orders. A heartbeat that changes nothing is
//! not told: only when the backend stops hearing from a node does it matter when its agent last spoke.

use mainstay_model::{Fact, Nonce, Order, OrderOutcome, Ready, RepairStep, Span, Task, Timestamp, Verdict};

use super::event::Event;
use super::fact_delivery::Object;
use super::{Heartbeats, World};
use crate::FaultClass;
use crate::fleet;
use crate::machine::{FaultVisibility, Power};
use crate::model::Parameter;
use crate::rng::{Purpose, stream};
use crate::signature::JobImpact;

/// An agent says that it is there this often.
const HEARTBEAT: Span = Span::seconds(300);

/// Repeats are written after 1, 2, 4 … seconds, and never more slowly than this.
const PAUSE_SECONDS_MAX: u32 = 60;

/// The backend calls a node unheard after this time: the default of Kubernetes' node controller.
pub(super) const UNHEARD_AFTER: Span = Span::seconds(40);

/// How long an order takes, until the machine goes down where it does; assumptions of ours.
const fn takes(task: &Task) -> Span {
    match task {
        Task::Rung(RepairStep::Capture) => Span::minutes(2),
        Task::Rung(RepairStep::RestartService) => Span::seconds(30),
        Task::Rung(RepairStep::ResetGpu) => Span::minutes(1),
        Task::Rung(RepairStep::Reboot | RepairStep::PowerCycle) => Span::seconds(10),
        Task::Rung(RepairStep::Replace) => Span::ZERO,
        Task::Suite(_) => Span::minutes(25),
    }
}

/// How often the test of a part that breaks during a suite is still to come; an assumption.
const TEST_STILL_TO_COME: f64 = 0.5;

/// A dead machine is swapped after this time.
const SWAPPED_AFTER: Span = Span::hours(4);

/// How long a machine is down for it.
pub(super) const fn down_for(rung: RepairStep) -> Span {
    match rung {
        RepairStep::PowerCycle => Span::minutes(12),
        RepairStep::Reboot
        | RepairStep::Capture
        | RepairStep::RestartService
        | RepairStep::ResetGpu
        | RepairStep::Replace => Span::minutes(8),
    }
}

impl World {
    /// There is something to report: at once the first time, paced when it goes on.
    pub(super) fn will_report(&mut self, node: u32) {
        let now = self.now;
        let machine = self.machine(node);
        if machine.report_pending || !machine.speaks(now) {
            return;
        }
        machine.report_pending = true;
        let quiet = now.since(machine.paced_at) > Span::seconds(PAUSE_SECONDS_MAX * 2);
        let pause = if quiet { 1 } else { machine.report_pause_seconds };
        machine.report_pause_seconds = (pause * 2).min(PAUSE_SECONDS_MAX);
        let due = (machine.paced_at + Span::seconds(pause)).max(now);
        self.agenda.add(due, Event::Reports { node });
    }

    pub(super) fn reports(&mut self, node: u32) {
        let now = self.now;
        let machine = self.machine(node);
        if !machine.report_pending {
            return;
        }
        machine.report_pending = false;
        machine.paced_at = now;
        if machine.speaks(now) {
            self.report_now(node);
        }
    }

    pub(super) fn report_now(&mut self, node: u32) {
        let now = self.now;
        let report = self.machine(node).reports(now);
        for fault in &mut self.machines[node as usize].faults {
            if fault.told == FaultVisibility::Printed {
                fault.told = FaultVisibility::Reported;
                fault.reported_at = Some(now);
                self.books.class(fault.class).told += 1;
            }
        }
        let fact = Fact::Report { node: self.names[node as usize].clone(), report };
        self.tell(Object::Report(node), fact);
        self.tool_will_look(node);
    }

    /// When an agent's next heartbeat is due; each has its own moment.
    pub(super) fn beat_after(&self, node: u32) -> Timestamp {
        last_beat(node, self.now) + HEARTBEAT
    }

    pub(super) fn beats(&mut self, node: u32) {
        let unheard = self.machine(node).facts.ready != Ready::Yes;
        if self.machines[node as usize].speaks(self.now) {
            self.report_now(node);
        }
        if unheard {
            self.shows_progress(node);
        }
        if unheard || self.heartbeats == Heartbeats::All {
            self.agenda.add(self.beat_after(node), Event::Beats { node });
        }
    }

    /// The backend stops hearing from a node. From now on it matters when its agent last spoke, and whether it goes on.
    pub(super) fn loses_touch(&mut self, node: u32, ready: Ready) {
        if self.machine(node).facts.ready == ready {
            return;
        }
        if self.heartbeats == Heartbeats::Telling {
            self.tell_last_beat(node);
            if self.machine(node).facts.ready == Ready::Yes {
                self.agenda.add(self.beat_after(node), Event::Beats { node });
            }
        }
        self.machine(node).facts.ready = ready;
        self.tell_node(node);
        self.shows_progress(node);
    }

    pub(super) fn tell_last_beat(&mut self, node: u32) {
        let machine = &mut self.machines[node as usize];
        let last = match machine.power {
            Power::Up => last_beat(node, self.now),
            // It went down this long ago.
            Power::Booting(_) | Power::Down => last_beat(node, self.now - UNHEARD_AFTER),
        };
        if last <= machine.reported_at || machine.silent_until.is_some() {
            return;
        }
        let Some(report) = machine.repeats(last) else { return };
        let node = self.names[node as usize].clone();
        // The fact is as old as the heartbeat; nothing else in it is new.
        self.observe(last, Fact::Report { node, report });
    }

    pub(super) fn heard_again(&mut self, node: u32) {
        self.machine(node).facts.ready = Ready::Yes;
        self.tell_node(node);
    }

    pub(super) fn unheard(&mut self, node: u32, boot: u32) {
        if self.machine(node).boot == boot && self.machine(node).power != Power::Up {
            self.loses_touch(node, Ready::Unknown);
        }
    }

    /// A machine goes down; whoever watches it notices a little later.
    pub(super) fn goes_down(&mut self, node: u32) {
        let machine = self.machine(node);
        if machine.power == Power::Down {
            return;
        }
        machine.power = Power::Down;
        let boot = machine.boot;
        // A dead machine does not wait weeks for a part: another one takes its place.
        let is_swapped = std::mem::take(&mut machine.part_is_late) && machine.crew;
        // A rack without power has no BMC that answers either.
        if machine.faults.iter().any(|fault| fault.class == FaultClass::RackPower) {
            machine.facts.power = mainstay_model::Power::Unknown;
        }
        if is_swapped {
            self.agenda.add(self.now + SWAPPED_AFTER, Event::PartIsHere { node });
        }
        self.settle_free(node);
        self.agenda.add(self.now + UNHEARD_AFTER, Event::Unheard { node, boot });
    }

    /// The BMC turns a machine off. It must not be one that works.
    pub(super) fn turned_off(&mut self, node: u32) {
        let machine = self.machine(node);
        if machine.facts.power != mainstay_model::Power::On {
            return;
        }
        let job = machine.job.filter(|_| machine.power == Power::Up && machine.stopping().is_none());
        machine.facts.power = mainstay_model::Power::Off;
        // A job that hangs loses nothing.
        let works = job.is_some_and(|job| self.jobs[job as usize].stuck.is_none());
        if works {
            let what = format!("{}: it ran a job", fleet::name(node));
            self.promises.record_violation(self.now, "no working machine is turned off", what);
        }
        if let Some(job) = self.machine(node).job {
            let blame = self.machine(node).blame();
            self.machine(node).power = Power::Down;
            self.stops(job, blame);
        }
        self.goes_down(node);
        self.tell_node(node);
    }

    /// The BMC carries out the orders that are for it, whether the machine runs or not.
    pub(super) fn bmc_reads_orders(&mut self, node: u32) {
        let now = self.now;
        let machine = self.machine(node);
        if machine.facts.power == mainstay_model::Power::Unknown {
            return;
        }
        let orders = machine.recorded.as_ref().map(|recorded| recorded.orders.as_slice().to_vec()).unwrap_or_default();
        for order in orders.into_iter().filter(|order| order.task == Task::Rung(RepairStep::PowerCycle)) {
            let machine = self.machine(node);
            if order.start_by <= now || machine.begun.contains(&order.nonce) {
                continue;
            }
            machine.begins(order.clone());
            let boot = machine.boot;
            self.agenda.add(now + takes(&order.task), Event::OrderEnds { node, boot, order: Box::new(order) });
        }
    }

    /// An agent reads its orders. It begins those of this boot that are still in time, and reports the others as not run.
    pub(super) fn reads_orders(&mut self, node: u32) {
        let now = self.now;
        let machine = self.machine(node);
        if !machine.speaks(now) {
            return;
        }
        let boot_id = machine.boot_id();
        let orders: Vec<Order> =
            machine.recorded.as_ref().map(|recorded| recorded.orders.as_slice().to_vec()).unwrap_or_default();
        for order in orders {
            let machine = self.machine(node);
            let is_for_bmc = order.task == Task::Rung(RepairStep::PowerCycle);
            if is_for_bmc || machine.begun.contains(&order.nonce) {
                continue;
            }
            if order.boot_id != boot_id || order.start_by <= now {
                machine.refuses(order.nonce.clone());
                // Another boot completes an order to reboot.
                if order.boot_id == boot_id || order.task != Task::Rung(RepairStep::Reboot) {
                    self.promises.not_run(node, &order.nonce);
                }
                self.will_report(node);
                continue;
            }
            machine.begins(order.clone());
            let boot = machine.boot;
            if matches!(order.task, Task::Suite(_)) {
                self.tests_begin(node);
            }
            self.agenda.add(now + takes(&order.task), Event::OrderEnds { node, boot, order: Box::new(order) });
        }
    }

    pub(super) fn order_ends(&mut self, node: u32, boot: u32, order: &Order) {
        let now = self.now;
        let is_for_bmc = order.task == Task::Rung(RepairStep::PowerCycle);
        if self.machine(node).boot != boot || !is_for_bmc && !self.machine(node).speaks(now) {
            return;
        }
        if !self.machine(node).was_running(&order.nonce) {
            return;
        }
        let mut chance = stream(self.seed, Purpose::Order, digest(order));
        let fails = chance.happens(self.model.get(Parameter::RungFails));
        self.machine(node).repaired.by(order);
        match &order.task {
            Task::Suite(_) => {
                let found = chance.happens(self.model.get(Parameter::QualificationRecall));
                let noise = chance.happens(self.model.get(Parameter::QualificationFalseFail));
                let still_to_come = chance.happens(TEST_STILL_TO_COME);
                let began = self.machine(node).tested_since.unwrap_or(now);
                let is_found = self.machine(node).faults.iter().any(|fault| {
                    let is_sick = fault.class.condemns() || fault.to_work == JobImpact::Stops;
                    is_sick && found && (fault.began_at < began || still_to_come)
                });
                let verdict = if is_found || noise { Verdict::Failed } else { Verdict::Passed };
                self.machine(node).ends_test(order.nonce.clone(), verdict);
                self.will_report(node);
            }
            Task::Rung(_) if fails => {
                self.machine(node).ends_order(order.nonce.clone(), OrderOutcome::Failed);
                self.will_report(node);
            }
            Task::Rung(rung @ (RepairStep::Reboot | RepairStep::PowerCycle)) => {
                let up_at = now + down_for(*rung);
                self.down_and_up(node, up_at, Some((order.nonce.clone(), OrderOutcome::Done)));
                self.mends(node, *rung, None);
            }
            Task::Rung(
                rung @ (RepairStep::Capture | RepairStep::RestartService | RepairStep::ResetGpu | RepairStep::Replace),
            ) => {
                let gpu = (0..fleet::GPUS)
                    .find(|gpu| order.device.as_ref() == Some(&self.machines[node as usize].gpu_serial(*gpu)));
                self.mends(node, *rung, gpu);
                self.machine(node).ends_order(order.nonce.clone(), OrderOutcome::Done);
                self.will_report(node);
            }
        }
    }

    /// A machine goes down on purpose and comes up again.
    pub(super) fn down_and_up(&mut self, node: u32, up_at: Timestamp, after: Option<(Nonce, OrderOutcome)>) {
        self.machine(node).power = Power::Booting(up_at);
        self.settle_free(node);
        let boot = self.machine(node).boot;
        self.agenda.add(self.now + UNHEARD_AFTER, Event::Unheard { node, boot });
        self.agenda.add(up_at, Event::ComesUp { node, boot, after });
    }

    pub(super) fn comes_up(&mut self, node: u32, boot: u32, after: Option<(Nonce, OrderOutcome)>) {
        let now = self.now;
        if self.machine(node).boot != boot || self.machine(node).power == Power::Up {
            return;
        }
        // What takes it down keeps it down.
        if self.machine(node).faults.iter().any(|fault| fault.class.downs()) {
            self.machine(node).power = Power::Down;
            return;
        }
        self.machine(node).boots();
        self.machine(node).facts.power = fleet::power(node);
        self.pods_go(node);
        if let Some(ledger) = &mut self.ledger {
            ledger.boots(node, boot + 1, now);
        }
        self.notes(|| format!("{} has booted", fleet::name(node)));
        if let Some((id, outcome)) = after {
            self.machine(node).ends_order(id, outcome);
        }
        self.report_now(node);
        self.heard_again(node);
        self.tool_returns(node);
        // What is still broken says so again.
        let keys: Vec<u64> = self.machine(node).faults.iter().map(|fault| fault.key).collect();
        for key in keys {
            self.agenda.add(now + Span::minutes(1), Event::Speaks { node, key });
        }
        self.reads_orders(node);
    }
}

/// The last heartbeat of an agent by then; each has its own moment.
pub(super) fn last_beat(node: u32, by: Timestamp) -> Timestamp {
    let every = i64::try_from(HEARTBEAT.0).unwrap_or(1);
    let own = i64::from(node) * 7_919 % every;
    Timestamp((by.0 - own).div_euclid(every) * every + own)
}

/// Tells two orders apart, for the draws of each.
fn digest(order: &Order) -> u64 {
    order
        .nonce
        .as_str()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
