//! The command line: words, options, help. What each word does is made elsewhere.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use mainstay_model::BootId;

use crate::bundle::{self, Plan};
use crate::cluster::Where;
use crate::limited::Limited;
use crate::output::{EXIT_CODES, Format, Problem, Said};
use crate::settings::{NVML_LIBRARY, Settings};
use crate::sources::nvml::Hold;
use crate::sources::scrape::{CounterOf, ENDPOINTS_MAX, Endpoint};
use crate::sources::{SourceName, versions};
use crate::{control, qualify, run, scan, watch};

/// `mainstay-agent`.
#[derive(Debug, Parser)]
#[command(
    name = "mainstay-agent",
    version,
    about = "What a GPU node can say for itself: it reads, counts and never acts.",
    after_help = EXIT_CODES
)]
pub struct Cli {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// Count evidence until SIGTERM, keep it over restarts, write this node's report and serve /metrics and /report
    #[command(
        after_help = "Examples:\n  mainstay-agent run\n  mainstay-agent run --scrape http://127.0.0.1:9400/metrics --off infiniband"
    )]
    Run {
        #[command(flatten)]
        reads: Reads,
        #[command(flatten)]
        daemon: Daemon,
    },
    /// Look once, and say what this node has to say
    #[command(after_help = "Examples:\n  mainstay-agent scan\n  mainstay-agent scan --since-clear -o json")]
    Scan {
        #[command(flatten)]
        reads: Reads,
        /// Only what came after the kernel log was cleared (dmesg -C)
        #[arg(long)]
        since_clear: bool,
        /// How to print it
        #[arg(short, long, value_enum, default_value_t = Format::Text)]
        output: Format,
    },
    /// Show evidence as it comes, until Ctrl-C
    #[command(after_help = "Examples:\n  mainstay-agent watch\n  mainstay-agent watch --from-boot -o json")]
    Watch {
        #[command(flatten)]
        reads: Reads,
        /// Begin with what the kernel log still holds
        #[arg(long)]
        from_boot: bool,
        /// How to print it; json is one line each
        #[arg(short, long, value_enum, default_value_t = Format::Text)]
        output: Format,
    },
    /// Ask the running agent to let go of NVML, and wait until it has: before a driver is unloaded, a GPU reset or MIG set
    #[command(
        after_help = "Examples:\n  mainstay-agent release --for 2m && nvidia-smi --gpu-reset -i 3; mainstay-agent hold"
    )]
    Release {
        /// For how long; then the agent comes back by itself (at most 1h)
        #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = control::length)]
        length: Duration,
        #[command(flatten)]
        asks: Asks,
    },
    /// Tell the running agent that it may use NVML again
    #[command(after_help = "Examples:\n  mainstay-agent hold")]
    Hold {
        #[command(flatten)]
        asks: Asks,
    },
    /// Gather what a vendor asks for into one archive, without names of tenants' processes
    #[command(
        after_help = "Examples:\n  mainstay-agent bundle --out /var/tmp\n  mainstay-agent bundle --since 6h --limit 60s -o json"
    )]
    Bundle {
        #[command(flatten)]
        reads: Reads,
        #[command(flatten)]
        options: bundle::Options,
        /// How to print it
        #[arg(short, long, value_enum, default_value_t = Format::Text)]
        output: Format,
    },
    /// Run a suite of tests, and say what each showed
    #[command(
        after_help = "Examples:\n  mainstay-agent qualify --suite host\n  mainstay-agent qualify --suite nccl --tools /opt/nccl-tests/build -o json"
    )]
    Qualify {
        #[command(flatten)]
        reads: Reads,
        #[command(flatten)]
        options: qualify::Options,
        /// How to print it
        #[arg(short, long, value_enum, default_value_t = Format::Text)]
        output: Format,
    },
    /// A workload of the suite host
    #[command(subcommand, hide = true)]
    Workload(qualify::Workload),
    /// Set limits and become another program
    #[command(name = crate::limited::WORD, hide = true)]
    Limited(Limited),
}

/// Whom to ask, and how to say it.
#[derive(Debug, Args)]
struct Asks {
    /// The running agent's socket
    #[arg(long, value_name = "SOCKET", default_value = "/var/lib/mainstay-agent/state.sock")]
    control: PathBuf,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

/// Where everything is.
#[derive(Debug, Args)]
struct Reads {
    /// The kernel log
    #[arg(long, value_name = "DEVICE", default_value = "/dev/kmsg")]
    kmsg: PathBuf,
    /// Where sysfs is mounted
    #[arg(long, value_name = "FOLDER", default_value = "/sys")]
    sys: PathBuf,
    /// Where procfs is mounted
    #[arg(long, value_name = "FOLDER", default_value = "/proc")]
    proc: PathBuf,
    /// Where the host's files are
    #[arg(long, value_name = "FOLDER", default_value = "/")]
    root: PathBuf,
    /// Sources to leave alone
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SOURCE")]
    off: Vec<SourceName>,
    /// An exporter to scrape; at most eight
    #[arg(long, value_name = "URL")]
    scrape: Vec<Endpoint>,
    /// A counter of an exporter that becomes evidence under a code
    #[arg(long, value_name = "METRIC=CODE")]
    scrape_counter: Vec<CounterOf>,
    /// The rate that every port of the compute fabric should have; then a port that is down or slower is told
    #[arg(long, value_name = "GBPS")]
    port_gbps: Option<u32>,
    /// How often counters are read
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    counters_every: u64,
    /// NVML: a name that the linker finds, or a path
    #[arg(long, value_name = "LIBRARY", default_value = NVML_LIBRARY)]
    nvml: OsString,
    /// How often GPUs are looked at
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    nvml_every: u64,
    /// What is kept open between two looks at GPUs
    #[arg(
        long,
        value_enum,
        long_help = "What is kept open between two looks at GPUs: events for run, nothing for others"
    )]
    nvml_hold: Option<Hold>,
    /// The power limit that every GPU should have, where it is not the maker's
    #[arg(long, value_name = "WATTS")]
    gpu_watts: Option<u32>,
}

/// What only the daemon has.
#[derive(Debug, Args)]
pub(crate) struct Daemon {
    /// Where evidence is kept over restarts
    #[arg(long, value_name = "FILE", default_value = "/var/lib/mainstay-agent/state.json")]
    pub(crate) state: PathBuf,
    /// Where /metrics and /report are served
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9471")]
    pub(crate) listen: SocketAddr,
    /// Where `release` and `hold` ask; beside the state where not given
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: Where,
}

// === impl Cli ===

impl Cli {
    /// Does what was asked.
    ///
    /// # Errors
    /// What could not be done.
    pub fn run(self) -> Result<Said, Problem> {
        // One thread for everything that does not hang; what may hang has threads of its own, which end with the process.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| Problem::new("the agent cannot start", error, "see the limits of the process."))?;
        let said = match self.word {
            Word::Run { reads, daemon } => {
                let (settings, boot) = reads.settings(Hold::Events)?;
                runtime.block_on(run::run(settings, boot, &daemon))
            }
            Word::Scan { reads, since_clear, output } => {
                let (settings, boot) = reads.settings(Hold::Nothing)?;
                runtime.block_on(scan::run(settings, boot, since_clear, output))
            }
            Word::Watch { reads, from_boot, output } => {
                // Nobody can ask a person's terminal to let go.
                let (settings, boot) = reads.settings(Hold::Nothing)?;
                runtime.block_on(watch::run(settings, boot, from_boot, output))
            }
            Word::Release { length, asks } => {
                runtime.block_on(control::ask(&asks.control, &control::Asked::Release(length), asks.output))
            }
            Word::Hold { asks } => runtime.block_on(control::ask(&asks.control, &control::Asked::Hold, asks.output)),
            Word::Bundle { reads, options, output } => {
                let (settings, boot) = reads.settings(Hold::Nothing)?;
                let launcher = this_program()?;
                runtime.block_on(bundle::run(Plan { options, settings, boot, launcher }, output))
            }
            Word::Qualify { reads, options, output } => {
                let (settings, _) = reads.settings(Hold::Nothing)?;
                runtime.block_on(qualify::word(options, settings, this_program()?, output))
            }
            Word::Workload(workload) => workload.run(),
            Word::Limited(limited) => Ok(limited.become_it()),
        };
        runtime.shutdown_background();
        said
    }
}

impl Reads {
    /// What to read; `hold` is what is kept open of NVML where nothing else was said.
    fn settings(self, hold: Hold) -> Result<(Settings, BootId), Problem> {
        if self.scrape.len() > ENDPOINTS_MAX {
            let detail = format!("{} were given; at most {ENDPOINTS_MAX} are asked.", self.scrape.len());
            return Err(Problem::new("there are too many exporters", detail, "scrape the rest with Prometheus."));
        }
        let boot = versions::boot_id(&self.proc).map_err(|error| error.to_string());
        let boot = boot.and_then(|text| BootId::parse(text.trim()).map_err(|error| error.to_string()));
        let boot = boot.map_err(|detail| {
            let hint = format!("is {} a procfs?", self.proc.display());
            Problem::new("this boot has no id", detail, hint)
        })?;
        let settings = Settings {
            kmsg: self.kmsg,
            sys: self.sys,
            proc: self.proc,
            root: self.root,
            off: self.off,
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

/// What sets limits for the programs that are started.
fn this_program() -> Result<PathBuf, Problem> {
    std::env::current_exe().map_err(|error| Problem::new("this program cannot be found", error, "is /proc mounted?"))
}
