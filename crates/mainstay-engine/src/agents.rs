//! How many agents report. A node whose agent does not report has faults that are not detected.

use mainstay_model::{Ready, Stage};
use mainstay_remedy::limits;

use crate::Engine;

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

impl Engine {
    /// Counts the agents by their last report.
    #[must_use]
    pub fn agents(&self) -> Agents {
        let now = self.decided_at.unwrap_or_default();
        let mut agents = Agents::default();
        for node in self.names.values().map(|index| self.node(*index)).filter(|node| node.facts.is_some()) {
            let heard_at = node.heard.as_ref().map(|heard| heard.at);
            match heard_at {
                Some(at) if now.since(at) < limits::REPORT_WITHIN => {
                    agents.reporting += 1;
                    let unavailable = node.heard.as_ref().and_then(|heard| heard.inventory.gpus_unavailable.as_ref());
                    agents.without_gpus += u32::from(unavailable.is_some());
                    continue;
                }
                Some(_) => agents.stale += 1,
                None => agents.never += 1,
            }
            let takes_jobs = match node.persisted.stage {
                Stage::InService | Stage::Suspect => true,
                Stage::Bootstrapping | Stage::Quarantined | Stage::Draining | Stage::Repairing => false,
                Stage::Qualifying | Stage::Maintenance | Stage::Upgrading | Stage::Held | Stage::Retired => false,
            };
            agents.missing += u32::from(takes_jobs && node.ready() == Ready::Yes);
        }
        agents
    }
}
