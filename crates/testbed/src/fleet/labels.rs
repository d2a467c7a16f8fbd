//! The node labels of the fabric and of the GPU operator, each key in one place.

/// NVLink domain, as GPU feature discovery writes it: `<cluster uuid>.<clique id>`.
pub const NVLINK_DOMAIN: &str = "nvidia.com/gpu.clique";
/// Rack.
pub const RACK: &str = "mainstay.dev/rack";
/// Power distribution unit.
pub const PDU: &str = "mainstay.dev/pdu";
/// Leaf switch group, as NVIDIA's topology discovery writes it.
pub const LEAF: &str = "network.topology.nvidia.com/leaf";
/// Spine pod, as NVIDIA's topology discovery writes it.
pub const SPINE: &str = "network.topology.nvidia.com/spine";
/// Pool: what the nodes are meant for.
pub const POOL: &str = "mainstay.dev/pool";
/// Which fleet of a shared cluster a node belongs to.
pub const FLEET: &str = "testbed.mainstay.dev/fleet";

/// The levels of the fabric, from the innermost outwards. Racks and leaves are not nested in PDUs; power is its own tree.
pub const LEVELS: [&str; 5] = [NVLINK_DOMAIN, RACK, PDU, LEAF, SPINE];

/// The resource that pods ask for.
pub const GPU_RESOURCE: &str = "nvidia.com/gpu";
