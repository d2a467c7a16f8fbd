//! `mainstay assess`: what happened on a fleet and what Mainstay would have done, from logs that already exist. It installs
//! nothing and changes nothing. Sources fill one [`input::Input`], the production engine replays it in Observe mode,
//! and one report is printed as text, JSON or HTML.

mod cluster;
mod dropped;
mod html;
mod input;
mod lines;
mod logs;
mod nodes;
mod progress;
mod prometheus;
mod replay;
mod report;
mod table;
mod text;
mod tickets;
mod timestamp;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use mainstay_model::{NodeName, Timestamp};

use self::input::Input;
use self::nodes::NodeRow;
use self::replay::Budgets;
use self::report::{Report, ReportOptions};
use self::timestamp::Zone;
use crate::kubeconfig::ClusterArgs;
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

/// Disruption budget of a rack: nodes that may be out of service at once.
const RACK_OUT: u32 = 2;

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
            write(path, &html::page(&report))?;
        }
        Ok(CommandOutput::success(match self.output {
            Output::Text => text::text(&report, self.html.as_deref()),
            Output::Json => output::json(&report)?,
        }))
    }

    fn report(&self) -> Result<Report, Problem> {
        let now = Timestamp(jiff::Timestamp::now().as_millisecond());
        let zone = Zone { offset_minutes: self.offset()?, until: now };
        let (since, until) = (moment(self.since.as_deref(), zone)?, moment(self.until.as_deref(), zone)?);
        let mut rows = self.nodes.as_deref().map(|path| nodes::read(path, zone)).transpose()?.unwrap_or_default();
        let seen = if self.cluster { Some(cluster::survey(&self.way)?) } else { None };
        if let Some(survey) = &seen {
            cluster::rows(survey, &mut rows);
        }
        let bar = progress::Bar::new();
        let mut gathered = self.gather(zone, (since, until), &rows, now, &bar)?;
        if let Some(survey) = &seen {
            gathered.merge(cluster::gathered(survey));
        }
        gathered.settle();
        let window = window(&gathered, since, until)?;
        let tickets = self.tickets.as_deref();
        let tickets = tickets.map(|path| tickets::read(path, zone, &mut gathered.skipped)).transpose()?;
        // Tickets from outside the period cannot be compared with these logs.
        let within = |ticket: &tickets::Ticket| (window.0..=window.1).contains(&ticket.opened_at);
        let tickets: Option<Vec<_>> = tickets.map(|all| all.into_iter().filter(within).collect());
        let allowed = Budgets { out_ppm: self.max_unavailable * 10_000, rack_out: RACK_OUT };
        bar.plays(gathered.events.len());
        let played = replay::replay(&gathered, &rows, allowed, window, &|done| bar.at(done));
        let asked =
            ReportOptions { window, rows: &rows, gpus_per_node: self.gpus_per_node, tickets: tickets.as_deref() };
        let mut report = report::build(&gathered, &played, &asked);
        report.cluster = seen.as_ref().map(cluster::told);
        bar.finish();
        Ok(report)
    }

    fn gather(
        &self,
        zone: Zone,
        (since, until): (Option<Timestamp>, Option<Timestamp>),
        rows: &BTreeMap<NodeName, NodeRow>,
        now: Timestamp,
        bar: &progress::Bar,
    ) -> Result<Input, Problem> {
        let told = logs::ReadOptions {
            node: self.node.as_deref().map(node).transpose()?,
            offset_minutes: zone.offset_minutes,
            since,
            until,
            booted: moment(self.boot_time.as_deref(), zone)?,
            booted_by_node: rows.iter().filter_map(|(name, row)| Some((name.clone(), row.booted?))).collect(),
            now,
            unpacked_bytes_max: logs::UNPACKED_BYTES_MAX,
        };
        let files = logs::files(&self.logs)?;
        bar.reads(&files);
        let mut gathered = logs::read(&files, &told, &|bytes| bar.read(bytes));
        if let Some(url) = &self.prometheus {
            let heard = gathered.entry_spans.values();
            let (first, last) =
                heard.fold((None, None), |(first, last): (Option<Timestamp>, Option<Timestamp>), span| {
                    (Some(first.map_or(span.0, |at| at.min(span.0))), Some(last.map_or(span.1, |at| at.max(span.1))))
                });
            let (Some(from), to) = (since.or(first), until.or(last).unwrap_or(now)) else {
                return Err(Problem {
                    what: "--prometheus needs a start time".into(),
                    detail: "no log was given from which the period could be read.".into(),
                    hint: "add --since, for example --since 2026-10-01.".into(),
                });
            };
            let told = prometheus::read(url, from, to, &gathered, &|done, of| bar.asks(done, of))?;
            gathered.merge(told);
        }
        for name in rows.keys() {
            let _ = gathered.node(name);
        }
        Ok(gathered)
    }

    fn offset(&self) -> Result<i32, Problem> {
        let offset =
            timestamp::offset(&self.utc_offset).filter(|(_, rest)| rest.is_empty()).map(|(minutes, _)| minutes);
        offset.ok_or_else(|| Problem {
            what: format!("invalid UTC offset: {}", self.utc_offset),
            detail: "an offset has a sign, hours and minutes.".into(),
            hint: "example: --utc-offset +02:00.".into(),
        })
    }
}

/// The period of the report: `--since` to `--until`, or the first log entry to the last.
fn window(
    gathered: &Input,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<(Timestamp, Timestamp), Problem> {
    let first = gathered.entry_spans.values().map(|(first, _)| *first).min();
    let last = gathered.entry_spans.values().map(|(_, last)| *last).max();
    match (since.or(first), until.or(last)) {
        (Some(from), Some(to)) if from <= to && first.is_some() => Ok((from, to)),
        (Some(_) | None, Some(_) | None) => {
            let skipped = gathered.skipped.lines();
            let passed: Vec<String> = skipped.iter().map(|line| format!("{} ({})", line.words, line.count)).collect();
            let read: u64 = gathered.volumes.values().map(|volume| volume.entries).sum();
            let detail = if passed.is_empty() { String::new() } else { format!(". Skipped: {}", passed.join("; ")) };
            Err(Problem {
                what: "no kernel log lines found".into(),
                detail: format!("{}{detail}.", crate::plain_text::counted(read, "entry read", "entries read")),
                hint: "`mainstay assess --help` lists the supported formats.".into(),
            })
        }
    }
}

fn moment(text: Option<&str>, zone: Zone) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let at = timestamp::rfc3339(text, zone).or_else(|| timestamp::rfc3339(&format!("{text}T00:00:00"), zone));
    at.map(Some).ok_or_else(|| Problem {
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
