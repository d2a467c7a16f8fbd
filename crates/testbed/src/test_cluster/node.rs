//! A node of a test cluster: identities of the machine and its GPUs, and the report that its agent would write.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use crate::fleet::FleetNode;

/// GPU on which every XID of a report occurred.
const FAULTY_GPU: usize = 3;

/// A node with its place in the fabric and its registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestNode {
    /// Name of the Kubernetes object.
    pub name: String,
    /// UID of the Kubernetes object.
    pub uid: String,
    /// Leaf switch of the node.
    pub leaf: String,
    /// Power feed of the node.
    pub pdu: String,
    /// Pool of the node.
    pub pool: String,
    /// Number of the node in the fleet, from 0.
    pub ordinal: usize,
}

/// Driver of every node, if a report names no other.
const DRIVER: &str = "580.95.05";

/// Content of a report: sequence number, number of GPUs, driver, and the count of each XID on GPU 3 since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentReport<'a> {
    sequence: u64,
    gpus: usize,
    driver: &'a str,
    xids: &'a [(&'a str, u64)],
    answers: Answers<'a>,
}

/// What an executor of orders reports: the number of the boot, nonces of steps that are done, and of suites that passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answers<'a> {
    /// Number of the boot, from 1.
    pub boot: u32,
    /// Nonces of repair steps that are done.
    pub done: &'a [String],
    /// Nonces of suites whose tests all passed.
    pub passed: &'a [String],
}

impl Default for Answers<'_> {
    fn default() -> Self {
        Self { boot: 1, done: &[], passed: &[] }
    }
}

impl<'a> AgentReport<'a> {
    /// A report on eight GPUs, with the count of each XID since boot.
    pub const fn new(sequence: u64, xids: &'a [(&'a str, u64)]) -> Self {
        Self { sequence, gpus: 8, driver: DRIVER, xids, answers: Answers { boot: 1, done: &[], passed: &[] } }
    }

    /// The same report on another number of GPUs.
    pub const fn on_gpus(self, gpus: usize) -> Self {
        Self { gpus, ..self }
    }

    /// The same report with answers to orders.
    pub const fn with_answers(self, answers: Answers<'a>) -> Self {
        Self { answers, ..self }
    }

    /// The same report with another driver version.
    pub const fn with_driver(self, driver: &'a str) -> Self {
        Self { driver, ..self }
    }
}

impl TestNode {
    pub(super) fn new(planned: &FleetNode<'_>, uid: &str) -> Self {
        Self {
            name: planned.name.clone(),
            uid: uid.to_owned(),
            leaf: planned.leaf.clone(),
            pdu: planned.pdu.clone(),
            pool: planned.pool.to_owned(),
            ordinal: planned.ordinal,
        }
    }

    /// Serial number of a GPU.
    pub fn serial(&self, gpu: usize) -> String {
        format!("16528{:04}{gpu:02}", self.ordinal)
    }

    /// UUID of a GPU, as NVML reports it.
    pub fn gpu_uuid(&self, gpu: usize) -> String {
        format!("GPU-3f1c0a52-6a1e-0a43-8a3b-{:08x}{gpu:04x}", self.ordinal)
    }

    /// Serial number of the main board.
    pub fn board(&self) -> String {
        format!("15717{:04}", self.ordinal)
    }

    /// Spec of the NodeReport that the agent would write now.
    pub(super) fn report(&self, report: &AgentReport<'_>) -> Value {
        let now = Timestamp::now().to_string();
        let gpu = |gpu: usize| {
            let pci = format!("0000:{:02x}:00.0", 16 + gpu);
            json!({ "index": gpu, "serial": self.serial(gpu), "uuid": self.gpu_uuid(gpu), "pci": pci })
        };
        let evidence = |(code, count): &(&str, u64)| {
            json!({
                "source": "Xid", "code": code, "device": self.serial(FAULTY_GPU), "count": count,
                "firstSeenAt": now, "lastSeenAt": now,
            })
        };
        let done = |nonce: &String| json!({ "nonce": nonce, "outcome": "Done", "endedAt": now });
        let passed = |nonce: &String| json!({ "nonce": nonce, "test": "gpu-burn", "verdict": "Passed" });
        json!({
            "nodeUid": self.uid, "bootId": format!("boot-{}", report.answers.boot), "sequence": report.sequence, "reportedAt": now,
            "agentVersion": "0.2.0",
            "inventory": {
                "board": self.board(), "product": "NVIDIA H100 80GB HBM3", "driver": report.driver, "kernel": "6.8.0",
                "gpus": (0..report.gpus).map(gpu).collect::<Vec<_>>(),
            },
            "evidence": report.xids.iter().map(evidence).collect::<Vec<_>>(),
            "outcomes": report.answers.done.iter().map(done).collect::<Vec<_>>(),
            "results": report.answers.passed.iter().map(passed).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fleet;

    #[test]
    fn a_report_is_of_its_node_and_names_the_gpu_of_each_xid() {
        let fleet = Fleet::new(2, 8, 7);
        let node = TestNode::new(&fleet.nodes().nth(1).unwrap(), "uid-1");
        let spec = node.report(&AgentReport::new(5, &[("79", 3)]).on_gpus(7));
        assert_eq!((&spec["nodeUid"], &spec["sequence"]), (&json!("uid-1"), &json!(5)));
        assert_eq!(spec["inventory"]["gpus"].as_array().map(Vec::len), Some(7));
        assert_eq!(spec["evidence"][0]["device"], "16528000103");
        assert_eq!(spec["evidence"][0]["device"], spec["inventory"]["gpus"][3]["serial"]);
    }
}
