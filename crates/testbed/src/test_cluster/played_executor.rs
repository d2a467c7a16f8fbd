//! A node executor that a test plays: it reads the orders of its node and answers them in the node's report, as an executor does that
//! succeeds at once. A reboot and a power cycle begin another boot.

use anyhow::Result;
use kube::api::Request;
use serde_json::{Value, json};

use super::{AgentReport, Answers, TestCluster, TestNode, resource_path};
use crate::NAMESPACE;

/// Orders that one executor remembers. A test gives fewer.
const ANSWERS_MAX: usize = 8;

/// The executor of one node.
#[derive(Debug, Default)]
pub struct PlayedExecutor {
    boot: u32,
    sequence: u64,
    done: Vec<String>,
    passed: Vec<String>,
    /// Every order that it ran, by nonce: the step or the suite.
    pub ran: Vec<(String, String)>,
}

impl PlayedExecutor {
    /// Starts the executor on a node: its pod shows the controller that the node can run orders. Reports of the agent before it had
    /// lower sequence numbers.
    pub async fn start(bed: &TestCluster, node: &TestNode) -> Result<Self> {
        let labels = json!({ "app.kubernetes.io/name": "mainstay", "app.kubernetes.io/component": "executor" });
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default", "namespace": NAMESPACE },
        });
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": format!("executor-{}", node.name), "namespace": NAMESPACE, "labels": labels,
                // A pod that belongs to its node, as one of a DaemonSet does.
                "annotations": { "kubernetes.io/config.mirror": "played" },
            },
            "spec": {
                "nodeName": node.name, "containers": [{ "name": "executor", "image": "executor" }],
                "automountServiceAccountToken": false, "tolerations": [{ "operator": "Exists" }],
            },
        });
        bed.cluster.apply_objects(&[account]).await?;
        bed.cluster.apply_objects(&[pod]).await?;
        Ok(Self { boot: 1, sequence: 1_000, ..Self::default() })
    }

    /// Answers all orders that are new. Returns how many there were.
    pub async fn answer(&mut self, bed: &TestCluster, node: &TestNode) -> Result<usize> {
        let request = Request::new(resource_path("gpunodes")).get(&node.name, &kube::api::GetParams::default())?;
        let stored: Value = match bed.admin.request(request).await {
            Ok(stored) => stored,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let orders = stored["status"]["orders"].as_array().cloned().unwrap_or_default();
        let new = orders.iter().filter(|order| !self.ran.iter().any(|(nonce, _)| *nonce == text(&order["nonce"])));
        let new: Vec<Value> = new.cloned().collect();
        for order in &new {
            let nonce = text(&order["nonce"]);
            let what = order["step"].as_str().or(order["suite"].as_str()).unwrap_or_default().to_owned();
            match order["step"].as_str() {
                Some("Reboot" | "PowerCycle") => {
                    self.boot += 1;
                    (self.done, self.passed) = (Vec::new(), Vec::new());
                }
                Some(_) => self.done.push(nonce.clone()),
                None => self.passed.push(nonce.clone()),
            }
            self.ran.push((nonce, what));
        }
        if !new.is_empty() {
            for answers in [&mut self.done, &mut self.passed] {
                answers.drain(..answers.len().saturating_sub(ANSWERS_MAX));
            }
            self.sequence += 1;
            let answers = Answers { boot: self.boot, done: &self.done, passed: &self.passed };
            bed.report(node, &AgentReport::new(self.sequence, &[]).with_answers(answers)).await?;
        }
        Ok(new.len())
    }
}
