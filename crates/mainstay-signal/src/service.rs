//! Log lines of services that report GPU faults: Fabric Manager, the persistence daemon, DCGM, the kubelet, container
//! runtimes and systemd. Only lines that name a fault are signals; a service's own trouble with a client is not.

use crate::Recognition;

/// Tells what a line of a program means. A program that is not in the list is never read.
pub(crate) fn recognise(_program: &str, _line: &str) -> Recognition {
    Recognition::Unknown
}

/// Tells what a line means whose writer is not stated.
pub(crate) fn recognise_unstated(_line: &str) -> Recognition {
    Recognition::Unknown
}
