//! `mainstay assess`: arguments, progress and output of an assessment. The assessment itself is in `mainstay-assess`.

mod progress;

use std::path::{Path, PathBuf};

use clap::Args;
use mainstay_assess::{Assessment, CsvTable, Log, Report, Zone, parse_time};
use mainstay_kube::scan::Scan;
use mainstay_model::{NodeName, Timestamp};

use crate::kubeconfig::{self, ClusterArgs};
use crate::output::{self, CommandOutput, Problem, TextFormat as Output};

pub(crate) const HELP: &str = concat!(
    "\
Logs are files or folders with kernel logs. The format is detected from the content; gzip files are read as they are:
  journalctl -k -o export > n1.export
  journalctl -k -o json > n1.json
  journalctl -k -o short-iso > n1.log
  dmesg -T > n1.log
  Loki: responses of query_range, or `logcli query … --output=jsonl`

If the lines of a file do not name a host, the file name is the node name (n1.log). No data leaves this machine, and \
nothing is changed.

--tickets: CSV with the columns id, node, opened_at, closed_at, cause.

--nodes: CSV with the columns node, gpus, pool, rack, pdu, leaf, spine, nvlink_domain, booted.

--cluster: needs get and list on nodes, pods and events only. Mainstay need not be installed. A cluster has no kernel log, \
so XIDs are not included. The report shows conditions set by other agents, cordons, missing GPUs and failed pods, as of now.

Examples:
  mainstay assess logs/
  mainstay assess logs/ --html fleet.html
  mainstay assess n1.log.gz n2.export
  mainstay assess logs/ --tickets tickets.csv --nodes nodes.csv
  mainstay assess --prometheus http://127.0.0.1:9090 --since 2026-10-01
  mainstay assess --cluster
  ssh n1 journalctl -k -o export | mainstay assess - -o json
  mainstay assess logs/ --unrecognised -o json

",
    crate::output::exit_codes!()
);

/// Arguments of `mainstay assess`: the sources, the assumptions and the output.
#[derive(Args)]
pub(crate) struct AssessArgs {
    /// Kernel log files or folders; - reads standard input
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Prometheus server that scrapes the DCGM exporter, http://HOST:PORT
    #[arg(long, value_name = "URL")]
    prometheus: Option<String>,
    /// Ticket list, CSV
    #[arg(long, value_name = "FILE")]
    tickets: Option<PathBuf>,
    /// Node list with pool and topology, CSV
    #[arg(long, value_name = "FILE")]
    nodes: Option<PathBuf>,
    /// Start of the period, date or time [default: first log entry]
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// End of the period, date or time [default: last log entry]
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Node name for logs without host names [default: file name]
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Boot time, for logs whose timestamps are seconds since boot
    #[arg(long, value_name = "TIME")]
    boot_time: Option<String>,
    /// UTC offset of timestamps without a time zone
    #[arg(long, value_name = "OFFSET", default_value = "+00:00", allow_hyphen_values = true)]
    utc_offset: String,
    /// GPUs per node, for nodes not listed in --nodes
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=16))]
    gpus_per_node: u16,
    /// Disruption budget: nodes of a pool out of service at once, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=100))]
    max_unavailable: u32,
    /// Report file, one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print only templates of unrecognised lines, without values
    #[arg(long)]
    unrecognised: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Assess the current state of the kubeconfig's cluster
    #[arg(long, help_heading = "Cluster")]
    cluster: bool,
    // Last: its heading holds for every argument that follows.
    #[command(flatten)]
    way: ClusterArgs,
}

impl AssessArgs {
    /// Makes the report and returns what the command prints.
    pub(crate) fn run(self) -> Result<CommandOutput, Problem> {
        if self.logs.is_empty() && self.prometheus.is_none() && !self.cluster {
            return Err(Problem {
                what: "no input given".into(),
                detail: "the report needs kernel logs, --prometheus or --cluster.".into(),
                hint: "try `journalctl -k -o export > $(hostname).export`, then `mainstay assess *.export`.".into(),
            });
        }
        let report = self.report()?;
        if let Some(path) = &self.html {
            write(path, &report.html())?;
        }
        Ok(CommandOutput::success(match (self.output, self.unrecognised) {
            (Output::Text, false) => report.text(self.html.as_deref()),
            (Output::Json, false) => output::json(&report)?,
            (Output::Text, true) => report.unrecognised_text(),
            (Output::Json, true) => output::json(&report.unrecognised())?,
        }))
    }

    fn report(&self) -> Result<Report, Problem> {
        let zone = self.zone(Timestamp(jiff::Timestamp::now().as_millisecond()))?;
        let assessment = Assessment {
            since: time(self.since.as_deref(), zone)?,
            until: time(self.until.as_deref(), zone)?,
            booted: time(self.boot_time.as_deref(), zone)?,
            node: self.node.as_deref().map(node).transpose()?,
            nodes: self.nodes.as_deref().map(CsvTable::read).transpose()?,
            tickets: self.tickets.as_deref().map(CsvTable::read).transpose()?,
            logs: self.logs()?,
            prometheus: self.prometheus.clone(),
            cluster: if self.cluster { Some(self.scan()?) } else { None },
            zone,
            gpus_per_node: self.gpus_per_node,
            max_unavailable_percent: self.max_unavailable,
        };
        let bar = progress::Bar::new();
        let report = assessment.run(&|progress| bar.show(progress))?;
        bar.finish();
        Ok(report)
    }

    fn logs(&self) -> Result<Vec<Log>, Problem> {
        let (streams, files): (Vec<_>, Vec<_>) = self.logs.iter().cloned().partition(|path| path.as_os_str() == "-");
        let stdin = || Log::Stream { name: "-".to_owned(), from: Box::new(std::io::stdin()) };
        let stream = streams.first().map(|_| stdin());
        Ok(stream.into_iter().chain(Log::find(&files)?).collect())
    }

    /// Lists the nodes, pods and events of the cluster.
    fn scan(&self) -> Result<Scan, Problem> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| kubeconfig::internal_error(&error))?.block_on(async {
            let client = self.way.connect().await?;
            Scan::take(&client).await.map_err(|trouble| kubeconfig::problem(&trouble))
        })
    }

    fn zone(&self, now: Timestamp) -> Result<Zone, Problem> {
        Zone::parse(&self.utc_offset, now).ok_or_else(|| Problem {
            what: format!("invalid UTC offset: {}", self.utc_offset),
            detail: "an offset has a sign, hours and minutes.".into(),
            hint: "example: --utc-offset +02:00.".into(),
        })
    }
}

fn time(text: Option<&str>, zone: Zone) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = text else { return Ok(None) };
    parse_time(text, zone).map(Some).ok_or_else(|| Problem {
        what: format!("invalid time: {text}"),
        detail: "a time is a date, or a date and time with or without a time zone.".into(),
        hint: "examples: 2026-10-01, 2026-10-01T08:00:00Z.".into(),
    })
}

fn node(name: &str) -> Result<NodeName, Problem> {
    NodeName::parse(name).map_err(|refused| Problem {
        what: format!("invalid node name: {name:?}"),
        detail: format!("{refused}."),
        hint: "use letters, digits, dots and dashes.".into(),
    })
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    std::fs::write(path, text).map_err(|error| Problem {
        what: format!("cannot write {}", path.display()),
        detail: format!("{error}."),
        hint: "choose another file with --html.".into(),
    })
}
