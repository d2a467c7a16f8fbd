//! Real Kubernetes servers for tests and for the desk: etcd, kube-apiserver, kube-controller-manager, kube-scheduler
//! and KWOK nodes shaped as a GPU fabric, all on loopback. Nothing here is shipped, and nothing here is a mock.
//!
//! The story in order: [`servers`] finds or builds the programs, `pki` makes the identities, [`cluster`] starts the
//! programs and waits until they answer, [`kwok`] makes nodes without machines behave, and [`fleet`] says which nodes
//! there are and creates them. [`shared`] and [`own`] are the two doors for tests, [`named`] the one for the desk.

pub mod cluster;
pub mod etcd;
pub mod fleet;
pub mod helm;
pub mod kwok;
pub mod named_clusters;
pub mod progress;
pub mod servers;
pub mod sizing;

mod cache;
mod go;
mod kubectl;
mod lock;
mod pki;
mod problem;
mod process;
mod test_clusters;
mod watchdog;

pub use cluster::{Cluster, OptionalServer, Options};
pub use fleet::Fleet;
pub use helm::Helm;
pub use progress::{Progress, ProgressEvent};
pub use servers::{Program, Servers};
pub use test_clusters::{own, own_on_oldest, own_with_read_audit, shared};
