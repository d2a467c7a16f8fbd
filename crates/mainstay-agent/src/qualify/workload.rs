//! Small workloads of our own for the suite `host`. Each checks its answers, because a part that computes or keeps the wrong
//! thing is worse than a slow one, and prints figures. They run as processes of their own, under the limits of their test.
//! They test the processors, pages and blocks that the system gives them, and are no burn-in.

mod cpu;
mod disk;
mod memory;

use clap::Subcommand;

use crate::output::{CommandOutput, Outcome, Problem};

/// A workload.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Workload {
    /// Every processor computes the same known answer over and over
    Cpu {
        #[arg(long)]
        seconds: u64,
    },
    /// Patterns are written to memory and read again
    Memory {
        /// At most a quarter of what is available is taken
        #[arg(long)]
        mib: u64,
        #[arg(long)]
        seconds: u64,
    },
    /// A file is written, synced, and read again from the disk
    Disk {
        #[arg(long)]
        mib: u64,
    },
}

/// What a workload measured.
type Figures = Vec<(&'static str, u64)>;

// === impl Workload ===

impl Workload {
    /// Does it.
    pub(crate) fn run(&self) -> Result<CommandOutput, Problem> {
        let figures = match *self {
            Self::Cpu { seconds } => cpu::run(seconds),
            Self::Memory { mib, seconds } => memory::run(mib, seconds),
            Self::Disk { mib } => disk::run(mib),
        };
        let figures = figures.map_err(|error| {
            Problem::new("the workload did not come to its end", error, "see the limits of the test.")
        })?;
        let text = figures.iter().map(|(name, value)| format!("figure {name} {value}\n")).collect();
        Ok(CommandOutput { text, outcome: Outcome::Nothing })
    }
}

/// A number that looks random and depends on nothing but its place (the finaliser of MurmurHash3).
const fn scattered(place: u64) -> u64 {
    let mut x = place.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// Millions of bytes a second.
fn mbps(bytes: u64, time: std::time::Duration) -> u64 {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
    bytes / micros
}
