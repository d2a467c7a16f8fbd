//! The command line: subcommands, options and help. Each subcommand is implemented in its own module.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use mainstay_model::BootId;

use crate::bundle::{self, Plan};
use crate::output::{CommandOutput, EXIT_CODES, Format, Problem};
use crate::rlimits::LimitedCommand;
use crate::run::DaemonOptions;
use crate::settings::{CounterMapping, ENDPOINTS_MAX, Endpoint, HoldMode, NVML_LIBRARY, Settings, SourceName};
use crate::sources::versions;
use crate::{control, qualify, run, scan, watch};

/// `mainstay-agent`.
#[derive(Debug, Parser)]
#[command(
    name = "mainstay-agent",
    version,
    about = "Collect fault evidence on a GPU node. Read-only.",
    after_help = EXIT_CODES
)]
pub struct Cli {
    #[command(subcommand)]
    word: Command,
}

/// A subcommand of `mainstay-agent` with its options.
#[derive(Debug, Subcommand)]
enum Command {
    /// Collect evidence, write the NodeReport, and serve /metrics
    #[command(
        after_help = "Examples:\n  mainstay-agent run\n  mainstay-agent run --scrape http://127.0.0.1:9400/metrics --disable infiniband\n  mainstay-agent run --log-format json"
    )]
    Run {
        #[command(flatten)]
        reads: SourceOptions,
        #[command(flatten)]
        daemon: DaemonOptions,
    },
    /// Scan this node once and print the evidence found
    #[command(after_help = "Examples:\n  mainstay-agent scan\n  mainstay-agent scan --since-clear -o json")]
    Scan {
        #[command(flatten)]
        reads: SourceOptions,
        /// Only kernel log entries since `dmesg -C`
        #[arg(long)]
        since_clear: bool,
        /// Output format
        #[arg(short, long, value_enum, default_value_t = Format::Text)]
        output: Format,
    },
    /// Print new evidence until Ctrl-C
    #[command(after_help = "Examples:\n  mainstay-agent watch\n  mainstay-agent watch --from-boot -o json")]
    Watch {
        #[command(flatten)]
        reads: SourceOptions,
        /// Start with the oldest kernel log entry
        #[arg(long)]
        from_boot: bool,
        /// Output format; json prints one object per line
        #[arg(short, long, value_enum, default_value_t = Format::Text)]
        output: Format,
    },
    /// Make the running agent close NVML, and wait for it
    #[command(
        after_help = "Examples:\n  mainstay-agent release --for 2m && nvidia-smi --gpu-reset -i 3; mainstay-agent hold"
    )]
    Release {
        /// Time until the agent opens NVML again, at most 1h
        #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = control::length)]
        length: Duration,
        #[command(flatten)]
        asks: ControlOptions,
    },
    /// Let the running agent open NVML again
    #[command(after_help = "Examples:\n  mainstay-agent hold")]
    Hold {
        #[command(flatten)]
        asks: ControlOptions,
    },
    /// Collect vendor diagnostics in one archive, without process names
    #[command(
        after_help = "Examples:\n  mainstay-agent bundle --out /var/tmp\n  mainstay-agent bundle --since 6h --limit 60s -o json"
    )]
    Bundle {
        #[command(flatten)]
        reads: SourceOptions,
        #[command(flatten)]
        options: bundle::Options,
        /// Output format
        #[arg(short, long, value_enum, default_value_t = Format::Text)]
        output: Format,
    },
    /// Run a test suite and print each result
    #[command(
        after_help = "Examples:\n  mainstay-agent qualify --suite host\n  mainstay-agent qualify --suite nccl --tools /opt/nccl-tests/build -o json"
    )]
    Qualify {
        #[command(flatten)]
        reads: SourceOptions,
        #[command(flatten)]
        options: qualify::Options,
        /// Output format
        #[arg(short, long, value_enum, default_value_t = Format::Text)]
        output: Format,
    },
    /// A workload of the suite host
    #[command(subcommand, hide = true)]
    Workload(qualify::Workload),
    /// Set limits and become another program
    #[command(name = crate::rlimits::WORD, hide = true)]
    Limited(LimitedCommand),
}

/// Control socket of the running agent, and the output format.
#[derive(Debug, Args)]
struct ControlOptions {
    /// Control socket of the running agent
    #[arg(long, value_name = "SOCKET", default_value = "/var/lib/mainstay-agent/state.sock")]
    control: PathBuf,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

/// Paths and intervals of the evidence sources.
#[derive(Debug, Args)]
struct SourceOptions {
    /// Kernel log device
    #[arg(long, value_name = "DEVICE", default_value = "/dev/kmsg")]
    kmsg: PathBuf,
    /// Mount point of sysfs
    #[arg(long, value_name = "FOLDER", default_value = "/sys")]
    sys: PathBuf,
    /// Mount point of procfs
    #[arg(long, value_name = "FOLDER", default_value = "/proc")]
    proc: PathBuf,
    /// Root of the host file system
    #[arg(long, value_name = "FOLDER", default_value = "/")]
    root: PathBuf,
    /// Sources to disable, comma-separated
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SOURCE")]
    disable: Vec<SourceName>,
    /// Prometheus exporter to scrape; repeatable, at most 8
    #[arg(long, value_name = "URL")]
    scrape: Vec<Endpoint>,
    /// Exporter counter to report as evidence under a code; repeatable
    #[arg(long, value_name = "METRIC=CODE")]
    scrape_counter: Vec<CounterMapping>,
    /// Expected port rate, Gbit/s; slower or down ports are reported
    #[arg(long, value_name = "GBPS")]
    port_gbps: Option<u32>,
    /// Interval between reads of PCIe and port counters
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    counters_every: u64,
    /// NVML library, name or path
    #[arg(long, value_name = "LIBRARY", default_value = NVML_LIBRARY)]
    nvml: OsString,
    /// Interval between NVML reads of the GPUs
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    nvml_every: u64,
    /// NVML use between two reads [default: events for run, nothing otherwise]
    #[arg(long, value_enum)]
    nvml_hold: Option<HoldMode>,
    /// Expected GPU power limit [default: the GPU's own default]
    #[arg(long, value_name = "WATTS")]
    gpu_watts: Option<u32>,
}

// === impl Cli ===

impl Cli {
    /// Runs the subcommand.
    ///
    /// # Errors
    /// Where the subcommand fails.
    pub fn run(self) -> Result<CommandOutput, Problem> {
        // One thread for everything that does not hang; what may hang has threads of its own, which end with the process.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            Problem::new("the agent cannot start", error, "check the resource limits of the process (ulimit).")
        })?;
        let said = match self.word {
            Command::Run { reads, daemon } => {
                let (settings, boot) = reads.settings(HoldMode::Events)?;
                runtime.block_on(run::run(settings, boot, &daemon))
            }
            Command::Scan { reads, since_clear, output } => {
                let (settings, boot) = reads.settings(HoldMode::Nothing)?;
                runtime.block_on(scan::run(settings, boot, since_clear, output))
            }
            Command::Watch { reads, from_boot, output } => {
                // `release` reaches the daemon only, so a terminal must not hold NVML.
                let (settings, boot) = reads.settings(HoldMode::Nothing)?;
                runtime.block_on(watch::run(settings, boot, from_boot, output))
            }
            Command::Release { length, asks } => {
                runtime.block_on(control::ask(&asks.control, &control::Request::Release(length), asks.output))
            }
            Command::Hold { asks } => {
                runtime.block_on(control::ask(&asks.control, &control::Request::Hold, asks.output))
            }
            Command::Bundle { reads, options, output } => {
                let (settings, boot) = reads.settings(HoldMode::Nothing)?;
                let launcher = this_program()?;
                runtime.block_on(bundle::run(Plan { options, settings, boot, launcher }, output))
            }
            Command::Qualify { reads, options, output } => {
                let (settings, _) = reads.settings(HoldMode::Nothing)?;
                runtime.block_on(qualify::word(options, settings, this_program()?, output))
            }
            Command::Workload(workload) => workload.run(),
            Command::Limited(limited) => Ok(limited.exec()),
        };
        runtime.shutdown_background();
        said
    }
}

impl SourceOptions {
    /// The settings of the sources; `hold` is the default use of NVML.
    fn settings(self, hold: HoldMode) -> Result<(Settings, BootId), Problem> {
        if self.scrape.len() > ENDPOINTS_MAX {
            let detail = format!("{} were given; the limit is {ENDPOINTS_MAX}.", self.scrape.len());
            return Err(Problem::new("too many --scrape exporters", detail, "scrape the others with Prometheus."));
        }
        let boot = versions::boot_id(&self.proc).map_err(|error| error.to_string());
        let boot = boot.and_then(|text| BootId::parse(text.trim()).map_err(|error| error.to_string()));
        let boot = boot.map_err(|detail| {
            let hint = format!("check that {} is a procfs mount (--proc).", self.proc.display());
            Problem::new("cannot read the boot id", detail, hint)
        })?;
        let settings = Settings {
            kmsg: self.kmsg,
            sys: self.sys,
            proc: self.proc,
            root: self.root,
            disabled: self.disable,
            endpoints: self.scrape,
            counters: self.scrape_counter,
            port_gbps: self.port_gbps,
            counters_every: Duration::from_secs(self.counters_every),
            nvml: self.nvml,
            nvml_every: Duration::from_secs(self.nvml_every),
            nvml_hold: self.nvml_hold.unwrap_or(hold),
            gpu_watts: self.gpu_watts,
        };
        Ok((settings, boot))
    }
}

/// This program, which sets limits for the programs that it starts.
fn this_program() -> Result<PathBuf, Problem> {
    std::env::current_exe()
        .map_err(|error| Problem::new("cannot find the path of this program", error, "check that /proc is mounted."))
}
