//! The machine a figure was measured on, as far as it explains the figure: processor, cores, memory, compiler.
//! Never its name.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::command;

/// The machine that a figure depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model name of the processor.
    pub cpu: String,
    /// Cores that the process may use.
    pub cores: usize,
    /// Main memory, rounded to GiB.
    pub memory_gib: u64,
}

impl Machine {
    /// The machine we are on. Read from files of Linux; elsewhere it stays unknown, and the table shows that.
    pub fn here() -> Machine {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        Machine {
            cpu: field(&cpuinfo, "model name").unwrap_or(std::env::consts::ARCH).to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: memory_gib(&meminfo),
        }
    }
}

/// The compiler's version, without its name.
pub async fn rustc(root: &Path) -> anyhow::Result<String> {
    let mut rustc = command::program("rustc", root);
    let said = command::text(rustc.arg("--version"), Duration::from_secs(60)).await?;
    Ok(said.split_whitespace().nth(1).unwrap_or("unknown").to_owned())
}

fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, said)| said.trim())
}

/// Rounded to the nearest, because the kernel keeps a little for itself.
fn memory_gib(meminfo: &str) -> u64 {
    let kib = field(meminfo, "MemTotal").and_then(|said| said.split_whitespace().next());
    let kib: u64 = kib.and_then(|kib| kib.parse().ok()).unwrap_or_default();
    (kib + (1 << 19)) >> 20
}
