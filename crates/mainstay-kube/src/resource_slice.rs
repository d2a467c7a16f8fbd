//! GPUs that nodes offer by dynamic resource allocation (DRA): counts the physical GPUs in the ResourceSlices of NVIDIA's
//! driver. Claims of pods are not read.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::resource::v1::ResourceSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Client, Resource, ResourceExt as _};
use mainstay_model::NodeName;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::error::{CALL_WITHIN, Error, Failure};
use crate::permission::{Access, may};

/// API group and version of ResourceSlices. API servers serve it since Kubernetes 1.34.
const GROUP: &str = "resource.k8s.io";
const GROUP_VERSION: &str = "resource.k8s.io/v1";
/// Resource name, as `kubectl get` names it.
pub(crate) const PLURAL: &str = "resourceslices";
/// NVIDIA's driver for GPUs, and the field selector for its slices.
const DRIVER: &str = "gpu.nvidia.com";
pub(crate) const OF_DRIVER: &str = "spec.driver=gpu.nvidia.com";
/// Slices of one node that are counted. 16 GPUs with all their MIG profiles need fewer.
const SLICES_MAX: usize = 64;
/// Devices of one slice that are counted. The API server allows 128.
const DEVICES_MAX: usize = 128;
/// Longest id of a GPU that is kept. NVIDIA's UUIDs have 40 characters.
const ID_CHARS_MAX: usize = 64;

/// Fields of a ResourceSlice that the controller reads.
#[derive(Resource, Debug, Clone, Serialize, Deserialize)]
#[resource(inherit = ResourceSlice)]
pub(crate) struct PartialSlice {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: PartialSliceSpec,
}

/// Driver, node, pool and devices of a slice.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PartialSliceSpec {
    driver: String,
    node_name: String,
    pool: PartialPool,
    devices: Vec<PartialDevice>,
}

/// Pool of a slice. Only the slices of its newest generation are valid.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PartialPool {
    name: String,
    generation: i64,
}

/// Name and attributes of one device.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PartialDevice {
    name: String,
    attributes: BTreeMap<String, PartialAttribute>,
}

/// Value of an attribute, where it is a text or a number.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PartialAttribute {
    string: Option<String>,
    int: Option<i64>,
}

/// Whether ResourceSlices can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SliceAccess {
    Readable,
    /// The API server does not serve this version.
    NotServed,
    Forbidden,
}

/// GPUs in one slice.
#[derive(Debug)]
struct SliceGpus {
    node: NodeName,
    pool: Box<str>,
    generation: i64,
    gpus: BTreeSet<Box<str>>,
}

/// GPUs that nodes offer in ResourceSlices.
#[derive(Debug, Default)]
pub(crate) struct ResourceSlices {
    slices: BTreeMap<Box<str>, SliceGpus>,
    by_node: BTreeMap<NodeName, BTreeSet<Box<str>>>,
    /// Last number of GPUs of each node, which stays while its driver is replaced.
    counts: BTreeMap<NodeName, u16>,
}

// === impl PartialDevice ===

impl PartialDevice {
    /// An attribute of the driver, whose domain may be omitted.
    fn attribute(&self, name: &str) -> Option<&PartialAttribute> {
        self.attributes.get(name).or_else(|| self.attributes.get(&format!("{DRIVER}/{name}")))
    }

    /// The physical GPU of the device; none for a device of another type.
    fn gpu(&self) -> Option<Box<str>> {
        let (uuid, index) = match self.attribute("type")?.string.as_deref()? {
            "gpu" => ("uuid", "index"),
            "mig" => ("parentUUID", "parentIndex"),
            _ => return None,
        };
        let uuid = self.attribute(uuid).and_then(|uuid| uuid.string.clone());
        let index = || self.attribute(index).and_then(|index| index.int).map(|index| format!("index {index}"));
        let id = uuid.or_else(index).unwrap_or_else(|| self.name.clone());
        Some(id.chars().take(ID_CHARS_MAX).collect())
    }
}

/// The physical GPUs of these devices, each once.
fn gpus_of(devices: &[PartialDevice]) -> BTreeSet<Box<str>> {
    devices.iter().take(DEVICES_MAX).filter_map(PartialDevice::gpu).collect()
}

/// The number of physical GPUs in the slices of one node. Slices of an older generation of their pool are not valid.
fn count<'a>(slices: impl Iterator<Item = &'a SliceGpus> + Clone) -> u16 {
    let mut newest: BTreeMap<&str, i64> = BTreeMap::new();
    for slice in slices.clone() {
        let generation = newest.entry(&slice.pool).or_insert(slice.generation);
        *generation = slice.generation.max(*generation);
    }
    let valid = slices.filter(|slice| newest.get(&*slice.pool) == Some(&slice.generation));
    let gpus: BTreeSet<&str> = valid.flat_map(|slice| slice.gpus.iter().map(AsRef::as_ref)).collect();
    u16::try_from(gpus.len()).unwrap_or(u16::MAX)
}

// === impl ResourceSlices ===

impl ResourceSlices {
    /// A slice exists. Slices of other drivers and slices that belong to no single node are ignored.
    pub(crate) fn is(&mut self, slice: &PartialSlice) {
        let (name, spec) = (slice.name_any(), &slice.spec);
        let node = NodeName::parse(&spec.node_name).ok().filter(|_| spec.driver == DRIVER);
        let Some(node) = node else { return };
        let names = self.by_node.entry(node.clone()).or_default();
        if names.len() >= SLICES_MAX && !names.contains(name.as_str()) {
            return;
        }
        names.insert(name.clone().into());
        let (pool, generation) = (spec.pool.name.as_str().into(), spec.pool.generation);
        let gpus = SliceGpus { node: node.clone(), pool, generation, gpus: gpus_of(&spec.devices) };
        self.slices.insert(name.into(), gpus);
        self.recount(&node);
    }

    /// A slice was deleted. A node that is not known any more is forgotten with its last slice.
    pub(crate) fn gone(&mut self, name: &str, is_known: impl Fn(&NodeName) -> bool) {
        let Some(SliceGpus { node, .. }) = self.slices.remove(name) else { return };
        if let Some(names) = self.by_node.get_mut(&node) {
            names.remove(name);
            if names.is_empty() {
                self.by_node.remove(&node);
                if !is_known(&node) {
                    self.counts.remove(&node);
                }
            }
        }
        self.recount(&node);
    }

    /// A Node was deleted.
    pub(crate) fn node_gone(&mut self, node: &NodeName) {
        self.counts.remove(node);
    }

    /// The number of GPUs that a node offers, or offered before its driver was stopped. Zero where it offers none.
    pub(crate) fn gpus(&self, node: &str) -> u16 {
        NodeName::parse(node).ok().and_then(|node| self.counts.get(&node).copied()).unwrap_or(0)
    }

    fn recount(&mut self, node: &NodeName) {
        let names = self.by_node.get(node).into_iter().flatten();
        let gpus = count(names.filter_map(|name| self.slices.get(name)));
        if gpus > 0 {
            self.counts.insert(node.clone(), gpus);
        }
    }
}

/// Checks whether the API server serves ResourceSlices, and whether the caller may use this verb on them.
pub(crate) async fn access(client: &Client, verb: &str) -> Result<SliceAccess, Error> {
    let served = match timeout(CALL_WITHIN, client.list_api_group_resources(GROUP_VERSION)).await {
        Ok(Ok(list)) => list.resources.iter().any(|resource| resource.name == PLURAL),
        Ok(Err(error)) if Failure::of(&error) == Failure::Absent => false,
        Ok(Err(error)) => return Err(Error::of("asking which kinds there are", &error)),
        Err(_) => return Err(Error::late()),
    };
    if !served {
        return Ok(SliceAccess::NotServed);
    }
    let is_allowed = may(client, Access { verb, group: Some(GROUP), resource: PLURAL, subresource: None }).await?;
    Ok(if is_allowed { SliceAccess::Readable } else { SliceAccess::Forbidden })
}

#[cfg(test)]
mod tests;
