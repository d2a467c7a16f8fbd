//! `mainstay assess`: what happened on a fleet and what Mainstay would have done, from logs that are there already. It
//! installs nothing and touches nothing. Sources fill one [`gathered::Gathered`], the production brain lives through it in
//! observe mode, and one report is told in three ways.

mod cluster;
mod gathered;
mod lines;
mod logs;
mod nodes;
mod page;
mod play;
mod progress;
mod prometheus;
mod report;
mod skipped;
mod table;
mod text;
mod tickets;
mod when;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use mainstay_model::{NodeName, Timestamp};

use self::gathered::Gathered;
use self::nodes::NodeRow;
use self::play::Allowed;
use self::report::{Asked, Report};
use self::when::Zone;
use crate::cluster::Way;
use crate::output::{self, Plain as Output, Problem, Said};

pub(crate) const HELP: &str = concat!(
    "\
Logs are files or folders of the kernel's log; what a file is, is told by its content:
  journalctl -k -o export > n1.export     journalctl -k -o json > n1.json
  dmesg -T > n1.log                       journalctl -k -o short-iso > n1.log
  Loki's answers to query_range, or `logcli query … --output=jsonl`
A file without a host in its lines is called after its node: n1.log. Nothing leaves this machine, and nothing is changed.

Tickets are a CSV with the columns id, node, opened_at, closed_at, cause; nodes one with node, gpus, pool, rack, leaf, booted.

A cluster is looked over with get and list on nodes, pods and events, and nothing else; Mainstay need not be there. It has no
kernel log, so no XID: what it shows are conditions of other agents, cordons, missing GPUs and work that failed, as of now.

Examples:
  mainstay assess --cluster
  mainstay assess --cluster logs/ --html fleet.html
  mainstay assess logs/
  mainstay assess logs/ --tickets tickets.csv --nodes nodes.csv --html fleet.html
  mainstay assess --prometheus http://127.0.0.1:9090 --since 2026-10-01 --until 2026-11-01
  ssh n1 journalctl -k -o export | mainstay assess - -o json

",
    crate::output::exit_codes!()
);

/// What to read, and how it is told.
#[derive(Args)]
pub(crate) struct Assess {
    /// Kernel logs: files, folders, or - for standard input
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// A Prometheus that scrapes the DCGM exporter, as http://HOST:PORT
    #[arg(long, value_name = "URL")]
    prometheus: Option<String>,
    /// The cluster of your kubeconfig, with get and list alone
    #[arg(long)]
    cluster: bool,
    #[command(flatten)]
    way: Way,
    /// Tickets, as CSV
    #[arg(long, value_name = "FILE")]
    tickets: Option<PathBuf>,
    /// What nodes there are and what they share, as CSV
    #[arg(long, value_name = "FILE")]
    nodes: Option<PathBuf>,
    /// Nothing before this: a date or a moment
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Nothing after this
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// The node of logs that do not say it [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// When the machine was booted whose lines have seconds only
    #[arg(long, value_name = "TIME")]
    booted: Option<String>,
    /// The zone of times without one, as +02:00
    #[arg(long, value_name = "OFFSET", default_value = "+00:00", allow_hyphen_values = true)]
    utc_offset: String,
    /// GPUs of a node that --nodes does not say
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=16))]
    gpus_per_node: u16,
    /// How many nodes of a pool may be out at once, in percent; one at least
    #[arg(long, value_name = "PERCENT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=100))]
    out_max: u32,
    /// Also write it as one page that can be mailed
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// How a report is printed.
/// Nodes of one rack that may be out at once.
const RACK_OUT: u32 = 2;

impl Assess {
    /// What the command prints.
    pub(crate) fn run(self) -> Result<Said, Problem> {
        if self.logs.is_empty() && self.prometheus.is_none() && !self.cluster {
            return Err(Problem {
                what: "nothing to read was named".into(),
                detail: "a report is made of kernel logs, of a Prometheus, of a cluster, or of all of them.".into(),
                hint: "try `journalctl -k -o export > $(hostname).export`, then `mainstay assess *.export`.".into(),
            });
        }
        let report = self.report()?;
        if let Some(path) = &self.html {
            write(path, &page::page(&report))?;
        }
        Ok(Said::done(match self.output {
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
        // A ticket of another time says nothing about these logs.
        let within = |ticket: &tickets::Ticket| (window.0..=window.1).contains(&ticket.opened_at);
        let tickets: Option<Vec<_>> = tickets.map(|all| all.into_iter().filter(within).collect());
        let allowed = Allowed { out_ppm: self.out_max * 10_000, rack_out: RACK_OUT };
        bar.plays(gathered.events.len());
        let played = play::play(&gathered, &rows, allowed, window, &|done| bar.at(done));
        let asked = Asked { window, rows: &rows, gpus_per_node: self.gpus_per_node, tickets: tickets.as_deref() };
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
    ) -> Result<Gathered, Problem> {
        let told = logs::Told {
            node: self.node.as_deref().map(node).transpose()?,
            offset_minutes: zone.offset_minutes,
            since,
            until,
            booted: moment(self.booted.as_deref(), zone)?,
            booted_by_node: rows.iter().filter_map(|(name, row)| Some((name.clone(), row.booted?))).collect(),
            now,
        };
        let files = logs::files(&self.logs)?;
        bar.reads(&files);
        let mut gathered = logs::read(&files, &told, &|bytes| bar.read(bytes));
        if let Some(url) = &self.prometheus {
            let heard = gathered.heard.values();
            let (first, last) =
                heard.fold((None, None), |(first, last): (Option<Timestamp>, Option<Timestamp>), span| {
                    (Some(first.map_or(span.0, |at| at.min(span.0))), Some(last.map_or(span.1, |at| at.max(span.1))))
                });
            let (Some(from), to) = (since.or(first), until.or(last).unwrap_or(now)) else {
                return Err(Problem {
                    what: "Prometheus needs to be told from when on".into(),
                    detail: "no log says when the time began that is asked about.".into(),
                    hint: "say it with --since 2026-10-01.".into(),
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
        let offset = when::offset(&self.utc_offset).filter(|(_, rest)| rest.is_empty()).map(|(minutes, _)| minutes);
        offset.ok_or_else(|| Problem {
            what: format!("{} is no offset from UTC", self.utc_offset),
            detail: "it is the time east of Greenwich.".into(),
            hint: "say it like --utc-offset +02:00.".into(),
        })
    }
}

/// The time that is told of: as somebody asked, or from the first entry to the last.
fn window(
    gathered: &Gathered,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<(Timestamp, Timestamp), Problem> {
    let first = gathered.heard.values().map(|(first, _)| *first).min();
    let last = gathered.heard.values().map(|(_, last)| *last).max();
    match (since.or(first), until.or(last)) {
        (Some(from), Some(to)) if from <= to && first.is_some() => Ok((from, to)),
        (Some(_) | None, Some(_) | None) => {
            let skipped = gathered.skipped.lines();
            let passed: Vec<String> = skipped.iter().map(|line| format!("{} {}", line.count, line.words)).collect();
            let read: u64 = gathered.volumes.values().map(|volume| volume.entries).sum();
            let detail =
                if passed.is_empty() { String::new() } else { format!("; passed over: {}", passed.join("; ")) };
            Err(Problem {
                what: "nothing that was read is of a kernel".into(),
                detail: format!("{read} entries were read{detail}."),
                hint: "`mainstay assess --help` says what is understood.".into(),
            })
        }
    }
}

fn moment(text: Option<&str>, zone: Zone) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let at = when::rfc3339(text, zone).or_else(|| when::rfc3339(&format!("{text}T00:00:00"), zone));
    at.map(Some).ok_or_else(|| Problem {
        what: format!("{text} is no time"),
        detail: "a date, or a moment with or without its zone, is.".into(),
        hint: "say it like 2026-10-01 or 2026-10-01T08:00:00Z.".into(),
    })
}

fn node(name: &str) -> Result<NodeName, Problem> {
    NodeName::parse(name).map_err(|refused| Problem {
        what: format!("{name:?} is no name of a node"),
        detail: format!("{refused}."),
        hint: "letters, digits, dots and dashes are.".into(),
    })
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    std::fs::write(path, text).map_err(|error| Problem {
        what: format!("{} cannot be written", path.display()),
        detail: format!("{error}."),
        hint: "say another file with --html.".into(),
    })
}
