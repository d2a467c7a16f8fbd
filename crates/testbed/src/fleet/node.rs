//! One node of the fleet: its place in the fabric, its labels, and the object that stands for it in Kubernetes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};

use super::{Fleet, Nvlink, RandomStream, Shape, labels, mix};
use crate::kwok;

/// A GPU as feature discovery names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Product {
    name: &'static str,
    family: &'static str,
    machine: &'static str,
    compute: (&'static str, &'static str),
    memory_mib: u32,
    /// Of the whole node.
    cpus: u32,
    memory_gib: u32,
}

const H100: Product = Product {
    name: "NVIDIA-H100-80GB-HBM3",
    family: "hopper",
    machine: "DGXH100",
    compute: ("9", "0"),
    memory_mib: 81_559,
    cpus: 224,
    memory_gib: 2_048,
};
const H200: Product = Product { name: "NVIDIA-H200", memory_mib: 143_771, machine: "DGXH200", ..H100 };
const GB200: Product = Product {
    name: "NVIDIA-GB200",
    family: "blackwell",
    machine: "GB200-NVL72",
    compute: ("10", "0"),
    memory_mib: 189_471,
    cpus: 144,
    memory_gib: 960,
};

/// The fleet's driver, and the one it is being moved to: one rack in eight has it already.
const DRIVERS: [[&str; 3]; 2] = [["580", "82", "07"], ["580", "95", "05"]];
const RACKS_PER_NEW_DRIVER: u64 = 8;

/// Where a node stands and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetNode<'a> {
    fleet: &'a Fleet,
    /// Its number in the fleet.
    pub ordinal: usize,
    /// Its name in Kubernetes.
    pub name: String,
    /// Value of [`labels::SPINE`].
    pub spine: String,
    /// Value of [`labels::LEAF`].
    pub leaf: String,
    /// Value of [`labels::PDU`].
    pub pdu: String,
    /// Value of [`labels::RACK`].
    pub rack: String,
    /// Value of [`labels::NVLINK_DOMAIN`].
    pub nvlink_domain: String,
    /// Value of [`labels::POOL`].
    pub pool: &'static str,
    product: Product,
    driver: [&'static str; 3],
}

impl<'a> FleetNode<'a> {
    pub(super) fn at(fleet: &'a Fleet, shape: Shape, ordinal: usize, rack: u64, slot: u64) -> Self {
        let leaf = rack / shape.racks_per_leaf;
        let spine = leaf / shape.leaves_per_spine;
        let draw = |what, index| mix(fleet.seed, what, index);
        let prefix = if fleet.name.is_empty() { String::new() } else { format!("{}-", fleet.name) };
        let spine_name = format!("{prefix}s{:02}", spine + 1);
        let leaf_name = format!("{spine_name}-l{:02}", leaf % shape.leaves_per_spine + 1);
        let rack_name = format!("{leaf_name}-r{}", rack % shape.racks_per_leaf + 1);
        let pdu_name = format!("{leaf_name}-p{}", rack % shape.racks_per_leaf / shape.racks_per_pdu + 1);
        // Machines of one leaf were bought together; drivers are rolled out rack by rack.
        let product = match shape.nvlink {
            Nvlink::Rack => GB200,
            Nvlink::Node if draw(RandomStream::Product, leaf).is_multiple_of(4) => H100,
            Nvlink::Node => H200,
        };
        let domain = match shape.nvlink {
            Nvlink::Node => rack * shape.nodes_per_rack + slot,
            Nvlink::Rack => rack,
        };
        let driver = DRIVERS[usize::from(draw(RandomStream::Driver, rack).is_multiple_of(RACKS_PER_NEW_DRIVER))];
        Self {
            fleet,
            ordinal,
            name: format!("{rack_name}-n{:02}", slot + 1),
            nvlink_domain: format!(
                "{}.0",
                uuid(draw(RandomStream::Uuid, domain * 2), draw(RandomStream::Uuid, domain * 2 + 1))
            ),
            pool: if draw(RandomStream::Pool, leaf).is_multiple_of(5) { "serve" } else { "train" },
            spine: spine_name,
            leaf: leaf_name,
            pdu: pdu_name,
            rack: rack_name,
            product,
            driver,
        }
    }

    /// Every label: the fabric, what the GPU operator discovers, what a kubelet sets.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let Self { product, driver: [major, minor, revision], .. } = self;
        let gpus = self.fleet.gpus_per_node.to_string();
        [
            (labels::NVLINK_DOMAIN, self.nvlink_domain.as_str()),
            (labels::RACK, &self.rack),
            (labels::PDU, &self.pdu),
            (labels::LEAF, &self.leaf),
            (labels::SPINE, &self.spine),
            (labels::POOL, self.pool),
            (labels::FLEET, &self.fleet.name),
            (kwok::KUBELET_LABEL, kwok::KUBELET_KWOK),
            ("nvidia.com/gpu.present", "true"),
            ("nvidia.com/gpu.count", &gpus),
            ("nvidia.com/gpu.product", product.name),
            ("nvidia.com/gpu.family", product.family),
            ("nvidia.com/gpu.machine", product.machine),
            ("nvidia.com/gpu.memory", &product.memory_mib.to_string()),
            ("nvidia.com/gpu.compute.major", product.compute.0),
            ("nvidia.com/gpu.compute.minor", product.compute.1),
            ("nvidia.com/gpu.replicas", "1"),
            ("nvidia.com/mig.capable", "true"),
            ("nvidia.com/mig.strategy", "single"),
            ("nvidia.com/cuda.driver-version.full", &[*major, minor, revision].join(".")),
            ("nvidia.com/cuda.driver-version.major", major),
            ("nvidia.com/cuda.driver-version.minor", minor),
            ("nvidia.com/cuda.driver-version.revision", revision),
            ("nvidia.com/cuda.runtime-version.full", "13.0"),
            ("kubernetes.io/hostname", &self.name),
            ("kubernetes.io/os", "linux"),
            ("kubernetes.io/arch", "amd64"),
            // The node lifecycle controller would add these two with a write of its own for every node.
            ("beta.kubernetes.io/os", "linux"),
            ("beta.kubernetes.io/arch", "amd64"),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
    }

    /// The node as it registers itself: with everything but its conditions, which the simulated kubelet reports.
    pub fn object(&self) -> Result<Node, serde_json::Error> {
        serde_json::from_value(self.json())
    }

    pub(super) fn json(&self) -> Value {
        let draw = |index| mix(self.fleet.seed, RandomStream::Serial, index);
        let ordinal = u64::try_from(self.ordinal).unwrap_or(u64::MAX);
        let machine = uuid(draw(ordinal * 4), draw(ordinal * 4 + 1));
        let boot = uuid(draw(ordinal * 4 + 2), draw(ordinal * 4 + 3));
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": self.labels()},
            "status": {
                "capacity": self.resources(),
                "allocatable": self.resources(),
                "addresses": [
                    {"type": "InternalIP", "address": self.address()},
                    {"type": "Hostname", "address": self.name},
                ],
                "nodeInfo": {
                    "architecture": "amd64",
                    "bootID": boot,
                    "containerRuntimeVersion": "containerd://2.1.4",
                    "kernelVersion": "6.8.0-79-generic",
                    "kubeProxyVersion": "",
                    "kubeletVersion": crate::servers::KUBERNETES_VERSION,
                    "machineID": machine.replace('-', ""),
                    "operatingSystem": "linux",
                    "osImage": "Ubuntu 24.04.3 LTS",
                    "systemUUID": machine,
                },
            },
        })
    }

    fn resources(&self) -> Value {
        json!({
            "cpu": self.product.cpus.to_string(),
            "memory": format!("{}Gi", self.product.memory_gib),
            "ephemeral-storage": "28Ti",
            "pods": "110",
            labels::GPU_RESOURCE: self.fleet.gpus_per_node.to_string(),
        })
    }

    /// One address each from 10.128.0.0/9, which holds eight million.
    fn address(&self) -> String {
        let [_, low @ ..] = u32::try_from(self.ordinal + 1).unwrap_or(u32::MAX).to_be_bytes();
        format!("10.{}.{}.{}", low[0] | 128, low[1], low[2])
    }
}

/// Two numbers in the form of a random (version 4) UUID.
fn uuid(high: u64, low: u64) -> String {
    let value = (u128::from(high) << 64) | u128::from(low);
    let value = value & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{value:032x}");
    let part = |range| digits.get(range).unwrap_or_default();
    [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-")
}
