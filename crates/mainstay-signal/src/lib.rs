//! Parsers: turn kernel log lines and counter readings into [`Evidence`](mainstay_model::Evidence).
//!
//! [`recognise`] parses one line of the kernel or of a service and returns what happened and where, or that no parser
//! knows the line. [`parse`] does so for a kernel line and returns its signal only.
//! [`Meter`] does the same for a [`Reading`] of NVML or sysfs. [`Tally`] counts these signals within one boot into the
//! bounded list that a node reports. This crate knows no severity and no action, and an unknown code is a signal like
//! any other.
//!
//! Lines are untrusted input. Tenants choose the names of processes and files, and the kernel prints both. A parser
//! therefore checks more of a line than a process name can contain, and no tenant-chosen text enters a code or a
//! detail. Every input is accepted, and the work per line is bounded. [`parse_bytes`] is the entry point for a fuzzer.
//!
//! [`unrecognised`] turns an error line that no parser knows into a template without its values.

#![cfg_attr(not(test), warn(clippy::too_many_lines))]

mod daemons;
mod kernel;
mod meter;
mod place;
mod reading;
mod recognition;
mod scan;
mod signal;
mod tally;
mod unrecognised;

pub use kernel::{Identity, LINE_BYTES_MAX, PREFIX_BYTES_MAX, identify, parse, parse_bytes};
pub use meter::Meter;
pub use place::{InterfaceName, Place};
pub use reading::{
    Aer, AmdBlock, CurrentReading, FabricFault, Flag, HotComponent, Link, Load, Memory, NvlinkCounter, PcieLink,
    PortCounter, Presence, Reading, Slowdown, Value,
};
pub use recognition::{Recognition, Writer, recognise};
pub use signal::Signal;
pub use tally::{Tally, TallyOutcome};
pub use unrecognised::{LineTemplate, TEMPLATES_MAX, UnrecognisedCounts, is_followed_service, unrecognised};
