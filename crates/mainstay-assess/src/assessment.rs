//! One assessment: reads the sources, replays them and builds the report.

use std::collections::BTreeMap;

use mainstay_kube::scan::Scan;
use mainstay_model::{NodeName, Timestamp};
use mainstay_text::{Problem, counted};

use crate::cluster;
use crate::dropped::DroppedInput;
use crate::input::Input;
use crate::logs::{self, Log, ReadOptions};
use crate::nodes::{self, NodeRow};
use crate::prometheus;
use crate::replay::{self, Budgets};
use crate::report::{self, Report, ReportOptions};
use crate::table::CsvTable;
use crate::tickets;
use crate::timestamp::Zone;

/// Disruption budget of a rack: nodes that may be out of service at once.
const RACK_OUT: u32 = 2;

/// The sources and the assumptions of a report.
pub struct Assessment {
    /// Kernel logs, in the order in which they are merged.
    pub logs: Vec<Log>,
    /// Address of a Prometheus server that scrapes the DCGM exporter, `http://HOST:PORT`.
    pub prometheus: Option<String>,
    /// Node list with pool and topology.
    pub nodes: Option<CsvTable>,
    /// Ticket list, compared with the findings.
    pub tickets: Option<CsvTable>,
    /// Current state of a cluster.
    pub cluster: Option<Scan>,
    /// Start of the period; the first log entry if absent.
    pub since: Option<Timestamp>,
    /// End of the period; the last log entry if absent.
    pub until: Option<Timestamp>,
    /// Node of logs without host names; taken from the file name if absent.
    pub node: Option<NodeName>,
    /// Boot time, for logs whose timestamps are seconds since boot.
    pub booted: Option<Timestamp>,
    /// Time zone of timestamps without one. Its end is the current time.
    pub zone: Zone,
    /// GPUs of a node that the node list does not contain.
    pub gpus_per_node: u16,
    /// Disruption budget: nodes of a pool out of service at once, percent.
    pub max_unavailable_percent: u32,
}

/// How far an assessment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Reading of log files begins.
    Reading {
        /// Size of all files, in bytes.
        bytes: u64,
    },
    /// One more log was read.
    Read {
        /// Size of this log, in bytes.
        bytes: u64,
    },
    /// Queries sent to Prometheus so far.
    Querying {
        /// Number of queries sent.
        done: usize,
        /// Number of queries in total.
        of: usize,
    },
    /// Events replayed so far.
    Replaying {
        /// Number of events replayed.
        done: usize,
        /// Number of events in total.
        of: usize,
    },
}

impl Assessment {
    /// Makes the report. `progress` is called from several threads while logs are read.
    ///
    /// # Errors
    /// If a source cannot be read, a table lacks a column, or no source has an entry in the period.
    pub fn run(mut self, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report, Problem> {
        let table = self.nodes.as_ref().map(|table| nodes::read(table, self.zone)).transpose()?;
        let mut rows = table.unwrap_or_default();
        let mut skipped = DroppedInput::default();
        let tickets = self.tickets.as_ref().map(|table| tickets::read(table, self.zone, &mut skipped)).transpose()?;
        if let Some(scan) = &self.cluster {
            cluster::rows(scan, &mut rows);
        }
        let mut input = self.gather(&rows, progress)?;
        input.skipped.merge(skipped);
        if let Some(scan) = &self.cluster {
            input.merge(cluster::gathered(scan));
        }
        input.settle();
        let window = self.window(&input)?;
        // Tickets from outside the period cannot be compared with these logs.
        let within = |ticket: &tickets::Ticket| (window.0..=window.1).contains(&ticket.opened_at);
        let tickets: Option<Vec<_>> = tickets.map(|all| all.into_iter().filter(within).collect());
        let budgets = Budgets { out_ppm: self.max_unavailable_percent * 10_000, rack_out: RACK_OUT };
        let of = input.events.len();
        let played = replay::replay(&input, &rows, budgets, window, &|done| progress(Progress::Replaying { done, of }));
        let gpus_per_node = self.gpus_per_node;
        let options = ReportOptions { window, rows: &rows, gpus_per_node, tickets: tickets.as_deref() };
        let mut report = report::build(&input, &played, &options);
        report.cluster = self.cluster.as_ref().map(cluster::told);
        Ok(report)
    }

    fn gather(
        &mut self,
        rows: &BTreeMap<NodeName, NodeRow>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Input, Problem> {
        let options = ReadOptions {
            node: self.node.clone(),
            offset_minutes: self.zone.offset_minutes,
            since: self.since,
            until: self.until,
            booted: self.booted,
            booted_by_node: rows.iter().filter_map(|(name, row)| Some((name.clone(), row.booted?))).collect(),
            now: self.zone.until,
            unpacked_bytes_max: logs::UNPACKED_BYTES_MAX,
        };
        let logs = std::mem::take(&mut self.logs);
        progress(Progress::Reading { bytes: logs.iter().map(Log::bytes).sum() });
        let mut input = logs::read(logs, &options, &|bytes| progress(Progress::Read { bytes }));
        if let Some(url) = &self.prometheus {
            let (first, last) = input.period();
            let (Some(from), to) = (self.since.or(first), self.until.or(last).unwrap_or(options.now)) else {
                return Err(Problem {
                    what: "--prometheus needs a start time".into(),
                    detail: "no log was given from which the period could be read.".into(),
                    hint: "add --since, for example --since 2026-10-01.".into(),
                });
            };
            let queried = |done, of| progress(Progress::Querying { done, of });
            let series = prometheus::read(url, from, to, &input, &queried)?;
            input.merge(series);
        }
        for name in rows.keys() {
            let _ = input.node(name);
        }
        Ok(input)
    }

    /// The period of the report: `since` to `until`, or the first log entry to the last.
    fn window(&self, input: &Input) -> Result<(Timestamp, Timestamp), Problem> {
        let (first, last) = input.period();
        match (self.since.or(first), self.until.or(last)) {
            (Some(from), Some(to)) if from <= to && first.is_some() => Ok((from, to)),
            (Some(_) | None, Some(_) | None) => {
                let skipped = input.skipped.lines();
                let skipped: Vec<_> = skipped.iter().map(|line| format!("{} ({})", line.words, line.count)).collect();
                let read: u64 = input.volumes.values().map(|volume| volume.entries).sum();
                let skipped =
                    if skipped.is_empty() { String::new() } else { format!(". Skipped: {}", skipped.join("; ")) };
                Err(Problem {
                    what: "no kernel log lines found".into(),
                    detail: format!("{}{skipped}.", counted(read, "entry read", "entries read")),
                    hint: "`mainstay assess --help` lists the supported formats.".into(),
                })
            }
        }
    }
}
