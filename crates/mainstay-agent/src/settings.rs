//! Where everything is and how often it is looked at. Every path and device is a parameter, so that the same code runs in
//! a container with the host's trees elsewhere, and in tests.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::sources::SourceName;
use crate::sources::nvml::HoldMode;
use crate::sources::scrape::{CounterMapping, Endpoint};

/// Counters of links change slowly, and reading them costs a system call each.
pub const COUNTERS_EVERY: Duration = Duration::from_secs(30);

/// GPUs are looked at more often: a fault there stops work at once.
pub const NVML_EVERY: Duration = Duration::from_secs(10);

/// The name under which the driver's packages install NVML.
pub const NVML_LIBRARY: &str = "libnvidia-ml.so.1";

/// Versions change with an upgrade.
pub const VERSIONS_EVERY: Duration = Duration::from_mins(10);

/// What the agent reads.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The kernel log.
    pub kmsg: PathBuf,
    /// The kernel's view of devices, usually `/sys`.
    pub sys: PathBuf,
    /// The kernel's view of itself, usually `/proc`.
    pub proc: PathBuf,
    /// The host's own files, usually `/`.
    pub root: PathBuf,
    /// Sources that are disabled.
    pub disabled: Vec<SourceName>,
    /// Exporters to scrape.
    pub endpoints: Vec<Endpoint>,
    /// Counters of other programs that become evidence.
    pub counters: Vec<CounterMapping>,
    /// The rate that every port of the compute fabric should have; without it no port is called slow.
    pub port_gbps: Option<u32>,
    /// How often counters are read.
    pub counters_every: Duration,
    /// NVML: a name that the linker finds, or a path.
    pub nvml: OsString,
    /// How often GPUs are looked at.
    pub nvml_every: Duration,
    /// What is kept open between two looks.
    pub nvml_hold: HoldMode,
    /// The power limit that every GPU should have; without it the maker's.
    pub gpu_watts: Option<u32>,
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            kmsg: "/dev/kmsg".into(),
            sys: "/sys".into(),
            proc: "/proc".into(),
            root: "/".into(),
            disabled: Vec::new(),
            endpoints: Vec::new(),
            counters: Vec::new(),
            port_gbps: None,
            counters_every: COUNTERS_EVERY,
            nvml: NVML_LIBRARY.into(),
            nvml_every: NVML_EVERY,
            nvml_hold: HoldMode::Events,
            gpu_watts: None,
        }
    }
}

impl Settings {
    /// The sources that are on. Who has nothing to scrape has no scraper.
    #[must_use]
    pub fn sources(&self) -> Vec<SourceName> {
        let on = |source: &SourceName| match source {
            SourceName::Scrape => !self.endpoints.is_empty(),
            SourceName::KernelLog
            | SourceName::Nvml
            | SourceName::Pcie
            | SourceName::Infiniband
            | SourceName::Versions => true,
        };
        SourceName::ALL.into_iter().filter(|source| on(source) && !self.disabled.contains(source)).collect()
    }
}
