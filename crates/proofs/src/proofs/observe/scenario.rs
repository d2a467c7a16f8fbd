//! Twelve scenarios on a few nodes, each run without a kill and again with a kill.

use anyhow::Result;
use serde_json::json;
use testbed::test_cluster::resource_path;

use super::test_cluster::TestCluster;

/// One thing that happens.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A report of a node: sequence, GPUs, XIDs.
    Report(usize, u64, usize, &'static [(&'static str, u64)]),
    /// An operator files a request for a node.
    Ask(usize, &'static str),
    /// An operator cordons a node.
    Cordon(usize),
    /// What came of it is there before the next.
    Settle,
}

/// What happens, by name.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) steps: &'static [Step],
}

use Step::{Ask, Cordon, Report, Settle};

const CALM: &[(&str, u64)] = &[];
const OFF: &[(&str, u64)] = &[("79", 1)];

#[rustfmt::skip] // one line a scenario, to be read as a table
pub(super) const ALL: [Scenario; 12] = [
    Scenario { name: "a fault that gets worse", steps: &[Report(0, 1, 8, &[("63", 1)]), Settle, Report(0, 2, 8, &[("63", 1), ("79", 1)])] },
    Scenario { name: "a fault, then a hold", steps: &[Report(0, 1, 8, OFF), Settle, Ask(0, "Hold")] },
    Scenario { name: "a cordon and a fault", steps: &[Report(0, 1, 8, OFF), Settle, Cordon(0)] },
    Scenario { name: "a fault on a held node", steps: &[Ask(0, "Hold"), Settle, Report(0, 1, 8, OFF)] },
    Scenario { name: "a GPU off the bus", steps: &[Report(0, 1, 8, OFF)] },
    Scenario { name: "a healthy report", steps: &[Report(0, 1, 8, CALM)] },
    Scenario { name: "an unknown code", steps: &[Report(0, 1, 8, &[("999", 3)])] },
    Scenario { name: "noise", steps: &[Report(0, 1, 8, &[("45", 7)])] },
    Scenario { name: "a missing GPU", steps: &[Report(0, 1, 7, CALM)] },
    Scenario { name: "an uncontained error", steps: &[Report(0, 1, 8, &[("95", 1)])] },
    Scenario { name: "two nodes", steps: &[Report(0, 1, 8, OFF), Report(1, 1, 8, &[("48", 2)])] },
    Scenario { name: "three reports in a row", steps: &[Report(0, 1, 8, OFF), Report(1, 1, 8, CALM), Report(2, 1, 8, OFF)] },
];

impl TestCluster {
    /// Lets one thing happen.
    pub(super) async fn execute(&self, step: Step) -> Result<()> {
        match step {
            Report(node, sequence, gpus, xids) => self.report(node, sequence, gpus, xids).await,
            Ask(node, kind) => {
                let request = json!({ "kind": kind, "reason": "as a test asks", "by": "ana" });
                let name = self.nodes[node].name.clone();
                self.apply("GpuNode", "gpunodes", &name, &json!({ "request": request })).await
            }
            Cordon(node) => self.cordon(node, true).await,
            Settle => Ok(()),
        }
    }

    pub(super) async fn cordon(&self, node: usize, cordoned: bool) -> Result<()> {
        let unschedulable = json!({ "spec": { "unschedulable": cordoned } });
        self.merge("/api/v1/nodes", &self.nodes[node].name, &unschedulable).await
    }

    /// Deletes all objects of the controller. The Cell keeps its epoch.
    pub(super) async fn delete_objects(&self) -> Result<()> {
        for kind in ["gpunodes", "incidents", "nodereports"] {
            for object in self.list(&resource_path(kind)).await? {
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                let request = kube::core::Request::new(resource_path(kind));
                let request = request.delete(&name, &kube::api::DeleteParams::default())?;
                self.admin.request::<serde_json::Value>(request).await?;
            }
        }
        for node in 0..self.nodes.len() {
            self.cordon(node, false).await?;
        }
        Ok(())
    }
}
