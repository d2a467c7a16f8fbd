//! Where everything is and how often it is looked at. Every path and device is a parameter, so that the same code runs in
//! a container with the host's trees elsewhere, and in tests.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use mainstay_model::Code;

/// Counters of links change slowly, and reading them costs a system call each.
pub const COUNTERS_EVERY: Duration = Duration::from_secs(30);

/// GPUs are looked at more often: a fault there stops work at once.
pub const NVML_EVERY: Duration = Duration::from_secs(10);

/// The name under which the driver's packages install NVML.
pub const NVML_LIBRARY: &str = "libnvidia-ml.so.1";

/// Versions change with an upgrade.
pub const VERSIONS_EVERY: Duration = Duration::from_mins(10);

/// Maximum number of exporters to scrape.
pub const ENDPOINTS_MAX: usize = 8;

/// Name of an evidence source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum SourceName {
    /// Kernel log, read from --kmsg
    KernelLog,
    /// Messages of services, read from the journal below --root
    Journal,
    /// GPU states and counters, from NVML
    Nvml,
    /// PCIe error counters and link states
    Pcie,
    /// Error counters and sensors of AMD GPUs
    Amdgpu,
    /// InfiniBand and RoCE ports
    Infiniband,
    /// Software versions and serial numbers
    Versions,
    /// Exporters given with --scrape
    Scrape,
}

/// Whether NVML stays open between two polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HoldMode {
    /// Keep NVML open for events; close it before driver unloads
    Events,
    /// Open NVML for each read only; no events
    Nothing,
}

/// Maps a counter of another program to an evidence code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterMapping {
    /// The name of the metric; its series are summed.
    pub metric: String,
    /// The code.
    pub code: Code,
}

/// Address of an exporter, for example `http://127.0.0.1:9400/metrics`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub(crate) host: String,
    pub(crate) path: String,
}

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

// === impl SourceName ===

impl SourceName {
    /// Every source.
    pub const ALL: [Self; 8] = [
        Self::KernelLog,
        Self::Journal,
        Self::Nvml,
        Self::Pcie,
        Self::Amdgpu,
        Self::Infiniband,
        Self::Versions,
        Self::Scrape,
    ];

    /// Its name, as in `--disable` and in metrics.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::KernelLog => "kernel-log",
            Self::Journal => "journal",
            Self::Nvml => "nvml",
            Self::Pcie => "pcie",
            Self::Amdgpu => "amdgpu",
            Self::Infiniband => "infiniband",
            Self::Versions => "versions",
            Self::Scrape => "scrape",
        }
    }
}

// === impl CounterMapping ===

impl FromStr for CounterMapping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (metric, code) = text.split_once('=').ok_or("METRIC=CODE is needed")?;
        let code = Code::parse(code).map_err(|error| error.to_string())?;
        Ok(Self { metric: metric.to_owned(), code })
    }
}

// === impl Endpoint ===

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("http://").ok_or("it must begin with http://")?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let plain = |c: char| c.is_ascii_graphic();
        if host.is_empty() || host.contains('@') || !text.chars().all(plain) {
            return Err("http://HOST:PORT/PATH is needed".to_owned());
        }
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let host = if has_port { host.to_owned() } else { format!("{host}:80") };
        Ok(Self { host, path: if path.is_empty() { "/metrics".to_owned() } else { path.to_owned() } })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.host, self.path)
    }
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
            | SourceName::Journal
            | SourceName::Nvml
            | SourceName::Pcie
            | SourceName::Amdgpu
            | SourceName::Infiniband
            | SourceName::Versions => true,
        };
        SourceName::ALL.into_iter().filter(|source| on(source) && !self.disabled.contains(source)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_plain_address() {
        for (text, expected) in [
            ("http://127.0.0.1:9400/metrics", Some("http://127.0.0.1:9400/metrics")),
            ("http://[::1]:9400", Some("http://[::1]:9400/metrics")),
            ("http://exporter/m", Some("http://exporter:80/m")),
            ("https://127.0.0.1/metrics", None),
            ("http://user@host/", None),
            ("http:///metrics", None),
            ("http://a b/", None),
        ] {
            let endpoint = text.parse::<Endpoint>().ok().map(|endpoint| endpoint.to_string());
            assert_eq!(endpoint.as_deref(), expected, "{text}");
        }
    }
}
