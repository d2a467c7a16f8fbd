//! What changes with the size of a fleet: how often nodes report, how long silence is tolerated, how servers spend
//! memory. Kubernetes' own figures hold to 1,000 nodes; beyond, heartbeats alone would fill a small machine.

/// Lease renewals a second that a fleet may cause. A small machine takes several hundred small writes a second in all,
/// and most of that belongs to whatever is under test.
const LEASE_WRITES_PER_SECOND_MAX: usize = 100;

/// KWOK renews a lease four times within its duration, as the kubelet does.
const RENEWALS_PER_LEASE: usize = 4;

/// Full status reports a second that a fleet may cause; each is some kilobytes.
const STATUS_WRITES_PER_SECOND_MAX: usize = 25;

/// Up to here everything is as Kubernetes has it by default.
const DEFAULTS_UP_TO_NODES: usize = 1_000;

/// Whether the API server taints a new node until its first report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewNodeTaint {
    /// Set by the API server, lifted by the node lifecycle controller.
    Usual,
    /// Never set: lifting it is a read, a write and a round of watch events for every node, a third of all work while
    /// a fleet arrives.
    Spared,
}

/// Above this, memory is scarcer than time: at 100,000 nodes the servers hold some 7 GB that is in use, and with Go's
/// default as much again that is not.
const SPARE_MEMORY_ABOVE_NODES: usize = 20_000;

/// The settings of servers for a fleet of a certain size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizing {
    /// How long a node's lease is valid.
    pub lease_seconds: usize,
    /// After this much silence the node lifecycle controller declares a node Unknown. Always longer than the lease.
    pub grace_seconds: usize,
    /// The same for a node that has never reported: its simulated kubelet may still be on its way.
    pub startup_grace_seconds: usize,
    /// How often the node lifecycle controller looks at every node.
    pub monitor_seconds: usize,
    /// How often a node reports its whole status, at least; at most twice this long.
    pub status_seconds: usize,
    /// Whether nodes are tainted at birth.
    pub newborn_taint: NewNodeTaint,
    /// Go's GOGC: how much garbage, in percent of what is in use, a server may gather before it collects.
    pub garbage_percent: u32,
}

impl Sizing {
    /// The settings for a fleet that may grow to `nodes`.
    pub fn for_nodes(nodes: usize) -> Self {
        // 40 s and 50 s: the kubelet's and the controller manager's defaults.
        let lease_seconds = (nodes * RENEWALS_PER_LEASE).div_ceil(LEASE_WRITES_PER_SECOND_MAX).max(40);
        Self {
            lease_seconds,
            grace_seconds: lease_seconds + lease_seconds.div_ceil(4),
            // Seen: KWOK takes over 100 to 200 nodes a second while they are being created.
            startup_grace_seconds: nodes.div_ceil(50).max(60),
            // Copies every node each time: half a second of one core at 10,000.
            monitor_seconds: nodes.div_ceil(2_000).max(5),
            status_seconds: nodes.div_ceil(STATUS_WRITES_PER_SECOND_MAX).max(300),
            newborn_taint: if nodes > DEFAULTS_UP_TO_NODES { NewNodeTaint::Spared } else { NewNodeTaint::Usual },
            garbage_percent: if nodes > SPARE_MEMORY_ABOVE_NODES { 50 } else { 100 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_fleet_has_the_defaults_of_kubernetes() {
        let sizing = Sizing::for_nodes(16);
        assert_eq!((sizing.lease_seconds, sizing.grace_seconds, sizing.monitor_seconds), (40, 50, 5));
        assert_eq!(sizing, Sizing::for_nodes(1_000));
    }

    #[test]
    fn no_size_lets_a_lease_outlive_the_grace_or_writes_exceed_their_share() {
        for nodes in [0, 1, 1_000, 1_001, 5_000, 10_000, 33_333, 100_000] {
            let sizing = Sizing::for_nodes(nodes);
            assert!(sizing.lease_seconds < sizing.grace_seconds, "{nodes}: {sizing:?}");
            assert!(sizing.monitor_seconds < sizing.grace_seconds, "{nodes}: {sizing:?}");
            assert!(
                nodes * RENEWALS_PER_LEASE <= LEASE_WRITES_PER_SECOND_MAX * sizing.lease_seconds,
                "{nodes}: {sizing:?}"
            );
            assert!(nodes <= STATUS_WRITES_PER_SECOND_MAX * sizing.status_seconds, "{nodes}: {sizing:?}");
        }
    }
}
