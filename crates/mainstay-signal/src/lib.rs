//! What machines say: lines of the kernel log and readings of counters in, [`Evidence`](mainstay_model::Evidence) out.
//!
//! [`parse`] reads one line as a node prints it and answers what happened and where, or nothing where the line is not
//! about a fault. [`Meter`] does the same for a [`Reading`] of NVML or sysfs. [`Tally`] counts such signals within one boot
//! into the bounded list that a node reports. Nothing here judges: there is no severity and no action, and a code that nobody knows is a signal like any other.
//!
//! Lines are hostile. Tenants choose the names of processes and of files, and the kernel prints both; so a line is
//! recognised by more than a process name can hold, and nothing that a tenant may choose enters a code or a detail.
//! Reading is total and costs a bounded amount of work on any input; [`parse_bytes`] is the entry for a fuzzer.

mod kernel;
mod meter;
mod place;
mod reading;
mod scan;
mod signal;
mod tally;

pub use kernel::{Identity, LINE_BYTES_MAX, PREFIX_BYTES_MAX, identify, parse, parse_bytes};
pub use meter::Meter;
pub use place::{InterfaceName, Place};
pub use reading::{
    Aer, FabricFault, Flag, Hot, Link, Load, Memory, NvlinkCounter, PcieLink, PortCounter, Presence, Reading, Slowdown,
    Told, Value,
};
pub use signal::Signal;
pub use tally::{Noted, Tally};
