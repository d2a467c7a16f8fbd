//! Real Kubernetes servers for tests and for the desk: etcd, kube-apiserver, kube-controller-manager, kube-scheduler
//! and KWOK nodes shaped as a GPU fabric, all on loopback. Nothing here is shipped, and nothing here is a mock.
//! [`fault_proxy`] injects faults between a program under test and the API server, and [`Outage`] between the servers.
//!
//! In order of use: [`servers`] finds or builds the programs, `pki` creates the identities, [`cluster`] starts the programs
//! and waits until they respond, [`kwok`] runs nodes without machines, and [`fleet`] defines the nodes and creates them.
//! [`TestCluster`] is all of that with Mainstay installed, for tests of Mainstay's programs. [`shared`] and [`own`] start
//! bare clusters for tests, and [`named_clusters`] starts those that a developer keeps. [`TestProcess`] and [`eventually`]
//! start a program under test and wait for what it does. [`Prometheus`] is a real one with a history. [`RealNode`] is a node with
//! a real kubelet, which runs real containers.

pub mod audit;
pub mod cluster;
pub mod etcd;
pub mod fault_proxy;
pub mod fleet;
pub mod helm;
pub mod image;
pub mod kwok;
pub mod named_clusters;
pub mod progress;
pub mod real_node;
pub mod servers;
pub mod sizing;
pub mod test_cluster;

mod cache;
mod go;
mod go_tool;
mod kubectl;
mod lifetime;
mod lock;
mod pki;
mod problem;
mod process;
mod prometheus;
mod test_process;
mod wait;
mod watchdog;

pub use cluster::{ApiServer, Cluster, EtcdSnapshot, OptionalServer, Options, Outage};
pub use fleet::Fleet;
pub use go_tool::{jobset, pint, prometheus_adapter, sloth};
pub use helm::Helm;
pub use image::Image;
pub use kubectl::deploy;
pub use lifetime::{own, own_on_oldest, own_with_read_audit, shared};
pub use progress::{Progress, ProgressEvent};
pub use prometheus::Prometheus;
pub use real_node::RealNode;
pub use servers::{Program, Servers};
pub use test_cluster::{AgentReport, Answers, PlayedExecutor, TestCluster, TestNode};
pub use test_process::{TestProcess, run_to_end};
pub use wait::{Answer, SOON, eventually, eventually_within};

/// Namespace of Mainstay's service accounts and of its Lease.
pub const NAMESPACE: &str = "mainstay-system";
