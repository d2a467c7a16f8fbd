//! Signals of faults: kernel log lines, polled ports, the statistical detector of slow nodes, and false alarms.

use mainstay_model::Span;
use mainstay_signal::{Link, Reading};

use super::World;
use super::event::Event;
use crate::FaultClass;
use crate::fleet::{NodeKind, gpu_place, nic_place};
use crate::history::Gpu;
use crate::machine::{FaultVisibility, Power};
use crate::model::Parameter;
use crate::rng::{Purpose, RandomStream, span_seconds, stream};
use crate::signature::Signature;

/// How often an agent polls the ports of its adapters, and how often it reports again that one is down.
pub(super) const POLL: Span = Span::seconds(30);
const POLL_AGAIN: Span = Span::hours(1);

impl World {
    /// Delay until the kernel prints a fault: seconds if its sensor detects it, otherwise until the next poll.
    pub(super) fn sensor(&self, class: FaultClass, chance: &mut RandomStream) -> Span {
        let (told, late) = (chance.happens(self.model.get(Parameter::SensorHardRecall)), chance.unit());
        let most =
            if told || !class.condemns() { Parameter::SensorHardDelayMax } else { Parameter::SensorPollInterval };
        span_seconds(late * self.model.get(most))
    }

    /// A statistical detector finds most of the slow nodes at its next round, and now and then another one.
    pub(super) fn compares(&mut self, node: u32, key: u64, chance: &mut RandomStream) {
        let round = self.now + span_seconds(self.model.get(Parameter::SensorPollInterval));
        let precision = self.model.get(Parameter::SensorStatisticalPrecision).clamp(0.01, 1.0);
        let finds = chance.happens(self.model.get(Parameter::SensorStatisticalRecall));
        let errs = chance.happens((1.0 - precision) / precision);
        let other = chance.below(self.shape.nodes);
        if finds {
            self.agenda.add(round, Event::Straggles { node, key: Some(key) });
        }
        if finds && errs {
            self.agenda.add(round, Event::Straggles { node: other, key: None });
        }
    }

    pub(super) fn straggles(&mut self, node: u32, key: Option<u64>) {
        let now = self.now;
        let machine = &mut self.machines[node as usize];
        if !machine.speaks(now) {
            return;
        }
        match key {
            Some(key) => {
                let Some(fault) = machine.faults.iter_mut().find(|fault| fault.key == key) else { return };
                fault.told = FaultVisibility::Printed;
            }
            None => {
                machine.was_always_sound = false;
                machine.false_alarm = Some((FaultClass::FailSlowOnset, now));
                self.books.class(FaultClass::FailSlowOnset).false_alarms += 1;
            }
        }
        if self.machine(node).is_called_slow(now) {
            self.will_report(node);
        }
    }

    /// A fault prints its lines.
    pub(super) fn speaks(&mut self, node: u32, key: u64) {
        let machine = &mut self.machines[node as usize];
        let Some(fault) = machine.faults.iter_mut().find(|fault| fault.key == key) else { return };
        if machine.power != Power::Up {
            return;
        }
        let (class, voice, device) = (fault.class, fault.voice, fault.device);
        let polls = class.keeps_a_link_down() && !std::mem::replace(&mut fault.polled, true);
        let speaks = self.voices.get(class, voice).is_some_and(Signature::has_lines);
        if fault.told == FaultVisibility::Nothing && fault.counts && speaks {
            fault.told = FaultVisibility::Printed;
        }
        self.prints(node, class, voice, device);
        if let Some(ledger) = &mut self.ledger {
            ledger.shows(node, self.now, key);
        }
        if polls {
            self.agenda.add(self.now + POLL, Event::Polls { node, key });
        }
    }

    /// An agent polls the port itself: a state that lasts is stronger evidence than the line at its start.
    pub(super) fn polls(&mut self, node: u32, key: u64) {
        let now = self.now;
        let machine = &mut self.machines[node as usize];
        let Some(device) = machine.faults.iter().find(|fault| fault.key == key).map(|fault| fault.device) else {
            return;
        };
        if !machine.speaks(now) {
            return self.agenda.add(now + POLL, Event::Polls { node, key });
        }
        let says = machine.reads(&nic_place(device), &Reading::Port(1, Link::Down), now);
        if says {
            self.will_report(node);
        }
        self.agenda.add(now + if says { POLL_AGAIN } else { POLL }, Event::Polls { node, key });
    }

    fn prints(&mut self, node: u32, class: FaultClass, voice: usize, device: u32) {
        let now = self.now;
        let Some(voice) = self.voices.get(class, voice) else { return };
        let machine = &mut self.machines[node as usize];
        let gpu = match machine.kind {
            NodeKind::Hgx | NodeKind::Nvl72 => gpu_place(device),
            // The driver names the instance.
            NodeKind::Mig => format!("{} GPU-I:05", gpu_place(device)),
        };
        let lines: Vec<String> = voice.lines(&gpu, &nic_place(device)).collect();
        if !machine.speaks(now) {
            return;
        }
        let mut worth = false;
        for line in &lines {
            worth |= machine.hears(line, now);
        }
        if let Some(chronicle) = &mut self.chronicle {
            lines.iter().for_each(|line| chronicle.record_log_line(node, now, line));
        }
        if let Some(ledger) = &mut self.ledger {
            let inventory = machine.inventory();
            let place = gpu_place(device);
            let at = device as usize;
            if let (Some(gpu), Some(nic)) = (inventory.gpus.as_slice().get(at), inventory.nics.as_slice().get(at)) {
                let gpu = Gpu { place: &place, uuid: gpu.uuid.to_string(), serial: gpu.serial.clone() };
                ledger.prints(node, now, &lines, (device, &gpu), &nic.serial);
            }
        }
        if worth {
            self.will_report(node);
        }
    }

    /// Lines with nothing behind them.
    pub(super) fn alarms(&mut self, node: u32, class: FaultClass, voice: Option<usize>, key: u64) {
        let now = self.now;
        let mut chance = stream(self.seed, Purpose::Alarm, key);
        let gpus = self.machine(node).kind.gpus();
        let (drawn, device) = (self.voices.pick(class, &mut chance), chance.below(gpus));
        let voice = voice.unwrap_or(drawn);
        let machine = self.machine(node);
        if machine.power != Power::Up {
            return;
        }
        machine.was_always_sound = false;
        if machine.condemned_by().is_none() {
            machine.false_alarm = Some((class, now));
            self.books.class(class).false_alarms += 1;
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.alarms(node, now);
        }
        self.prints(node, class, voice, device);
    }
}
