//! What orders repaired on a node since it was last in service.

use mainstay_model::{Order, RepairStep, Serial, Task};

/// Tests that follow say nothing about a part that no order treated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Repaired {
    Nothing,
    Gpus(Vec<Serial>),
    Node,
}

impl Repaired {
    pub(crate) fn by(&mut self, order: &Order) {
        let Task::Rung(step) = &order.task else { return };
        match (step, &order.device, &mut *self) {
            (RepairStep::Capture, _, _) | (_, _, Self::Node) => {}
            (RepairStep::ResetGpu, Some(gpu), Self::Gpus(gpus)) => gpus.push(gpu.clone()),
            (RepairStep::ResetGpu, Some(gpu), Self::Nothing) => *self = Self::Gpus(vec![gpu.clone()]),
            // A service that is restarted may have been wrong about every part.
            _ => *self = Self::Node,
        }
    }

    pub(crate) fn has_treated(&self, gpu: &Serial) -> bool {
        match self {
            Self::Nothing => false,
            Self::Gpus(gpus) => gpus.contains(gpu),
            Self::Node => true,
        }
    }
}
