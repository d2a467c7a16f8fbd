//! How many agents report. A node whose agent does not report has faults that are not detected.

use mainstay_model::{Ready, Timestamp};
use mainstay_remedy::limits;

use crate::state::State;

/// Agents of the registered nodes, as of the last decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Agents {
    /// Agents with a report in time.
    pub reporting: u32,
    /// Agents whose last report is too old.
    pub stale: u32,
    /// Nodes without any report.
    pub never: u32,
    /// Of the stale and never: nodes that take jobs and that Kubernetes sees, so the agent itself is missing.
    pub missing: u32,
    /// Of the reporting: agents that cannot read the GPUs of their node, for example without NVML.
    pub without_gpus: u32,
}

impl Agents {
    /// All registered nodes.
    #[must_use]
    pub const fn all(self) -> u32 {
        self.reporting + self.stale + self.never
    }
}

pub(crate) fn count(state: &State, now: Timestamp) -> Agents {
    let mut agents = Agents::default();
    for (_, node) in state.registered() {
        match node.report.as_deref() {
            Some(report) if now.since(report.at) < limits::REPORT_WITHIN => {
                agents.reporting += 1;
                agents.without_gpus += u32::from(report.inventory.gpus_unavailable.is_some());
                continue;
            }
            Some(_) => agents.stale += 1,
            None => agents.never += 1,
        }
        agents.missing += u32::from(node.status.stage.gets_jobs() && node.ready() == Ready::Yes);
    }
    agents
}
