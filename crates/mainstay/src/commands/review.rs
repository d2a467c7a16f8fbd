//! `mainstay review`: dry-run decisions compared with what happened, per rule, with a confidence interval. Operators use it
//! before they raise the mode. With `--weekly` or `--monthly`, the routine review of the fleet.

mod audit_log;
mod routine;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use mainstay_engine::Precision;
use mainstay_kube::View;
use mainstay_model::{Ppm, ProposalOutcome, Span, Timestamp};
use mainstay_prometheus::Server;
use mainstay_text::{Align, Table, counted, percent, wrapped};
use serde::Serialize;

use self::routine::{Routine, RoutineReport};
use super::why::clock;
use crate::kubeconfig::{ClusterArgs, QueryOutput};
use crate::output::{CommandOutput, Problem, TableFormat};
use crate::prometheus;

pub(crate) const HELP: &str = "\
A decision is confirmed if its node was then lost or removed by another actor. It is refuted if the evidence cleared by
itself. The share of confirmed decisions has a 95 % confidence interval (Wilson) and needs at least ten decisions.

A node keeps its last eight decisions. The controller's audit log has all of them, but not which nodes were lost: these
decisions stay pending there.

With --weekly or --monthly it prints the routine review instead: failed jobs, utilisation, incidents, capacity out of
service, lemons and drivers. Jobs and utilisation need --prometheus and the rules of docs/operate/fleet-metrics.md.

Examples:
  mainstay review --since 7d
  mainstay review --since 30d -o json
  mainstay review --audit-log /var/lib/mainstay --since 90d
  mainstay review --weekly --prometheus http://127.0.0.1:9090";

const COLUMNS: usize = 100;

/// Options of `review`.
#[derive(Args)]
pub(crate) struct Review {
    /// Time span to review, for example 12h, 7d or 4w
    #[arg(long, value_name = "SPAN", default_value = "7d", value_parser = span)]
    since: Span,
    /// Audit log directory of the controller, read instead of a cluster
    #[arg(long, value_name = "FOLDER")]
    audit_log: Option<PathBuf>,
    /// Print the review of the last seven days, by day
    #[arg(long, conflicts_with_all = ["since", "audit_log", "monthly"])]
    weekly: bool,
    /// Print the review of the last four weeks, by week
    #[arg(long, conflicts_with_all = ["since", "audit_log"])]
    monthly: bool,
    /// Prometheus server with the fleet's metrics, http://HOST:PORT
    #[arg(long, value_name = "URL", value_parser = prometheus::server)]
    prometheus: Option<Server>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = TableFormat::Table)]
    output: TableFormat,
    #[command(flatten)]
    way: ClusterArgs,
}

/// One dry-run decision and its outcome.
#[derive(Debug)]
struct DryRunDecision {
    node: String,
    rule: String,
    at: Timestamp,
    happened: ProposalOutcome,
}

/// Decisions of one rule in the reviewed period, counted by outcome.
#[derive(Serialize, Default, Clone)]
#[serde(rename_all = "camelCase")]
struct RuleSummary {
    rule: String,
    decided: u64,
    nodes: u64,
    node_lost: u64,
    others_acted: u64,
    recovered: u64,
    open: u64,
    carried_out: u64,
    superseded: u64,
    right: Share,
}

/// The share of confirmed decisions; empty where there are too few.
#[derive(Serialize, Default, Clone)]
#[serde(rename_all = "camelCase")]
struct Share {
    ppm: Option<u32>,
    low_ppm: Option<u32>,
    high_ppm: Option<u32>,
}

/// Outcomes of decisions per rule, as `review -o json` prints them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReviewReport {
    since: i64,
    until: i64,
    rules: Vec<RuleSummary>,
    /// Of every finding that was judged since the beginning, by what the Cell and the nodes keep.
    ever: Vec<RuleTotals>,
}

/// All-time confirmed and refuted findings of one rule, from the Cell and the nodes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleTotals {
    rule: String,
    right: u64,
    wrong: u64,
    share: Share,
}

impl Review {
    /// The routine review that was asked for. None for a review of decisions.
    fn routine(&self) -> Result<Option<Routine>, Problem> {
        match (self.weekly, self.monthly) {
            (true, _) => Ok(Some(Routine::Weekly)),
            (_, true) => Ok(Some(Routine::Monthly)),
            (false, false) if self.prometheus.is_some() => Err(Problem {
                what: "a review of decisions does not read Prometheus".to_owned(),
                detail: "--prometheus is only for the routine reviews.".to_owned(),
                hint: "add --weekly or --monthly.".to_owned(),
            }),
            (false, false) => Ok(None),
        }
    }

    pub(crate) fn run(&self) -> Result<CommandOutput, Problem> {
        if let Some(routine) = self.routine()? {
            return self.way.query(self.output, async |_, view| {
                let report = RoutineReport::read(routine, view, self.prometheus.as_ref()).await?;
                QueryOutput::new(&report, report.text())
            });
        }
        if let Some(folder) = &self.audit_log {
            let until = Timestamp(jiff::Timestamp::now().as_millisecond());
            let since = until - self.since;
            let decided = audit_log::read(folder, since)?;
            let reviewed = ReviewReport { since: since.0, until: until.0, rules: rules(&decided), ever: Vec::new() };
            return QueryOutput::new(&reviewed, text(&reviewed))?.into_output(self.output);
        }
        self.way.query(self.output, async |_, view| {
            let since = view.now() - self.since;
            let reviewed = ReviewReport {
                since: since.0,
                until: view.now().0,
                rules: rules(&on_nodes(view, since)),
                ever: all_time_totals(view),
            };
            QueryOutput::new(&reviewed, text(&reviewed))
        })
    }
}

/// What nodes keep.
fn on_nodes(view: &View, since: Timestamp) -> Vec<DryRunDecision> {
    let kept = view.nodes().keys().filter_map(|node| Some((node, view.engine().persisted(node)?)));
    let all = kept.flat_map(|(node, persisted)| persisted.proposals.as_slice().iter().map(move |one| (node, one)));
    let young = all.filter(|(_, one)| one.decided_at >= since);
    let decided = young.map(|(node, one)| DryRunDecision {
        node: node.to_string(),
        rule: one.rule.to_string(),
        at: one.decided_at,
        happened: one.happened,
    });
    decided.collect()
}

fn all_time_totals(view: &View) -> Vec<RuleTotals> {
    let lines = view.engine().verdicts().into_iter().map(|line| RuleTotals {
        rule: line.record.rule.to_string(),
        right: line.record.confirmed.saturating_add(line.record.confirmed_on_paper),
        wrong: line.record.refuted.saturating_add(line.record.refuted_on_paper),
        share: share(line.on_paper),
    });
    lines.collect()
}

fn rules(decided: &[DryRunDecision]) -> Vec<RuleSummary> {
    let mut rules: BTreeMap<&str, (RuleSummary, std::collections::BTreeSet<&str>)> = BTreeMap::new();
    for one in decided {
        let (of, nodes) = rules.entry(&one.rule).or_default();
        of.decided += 1;
        nodes.insert(&one.node);
        match one.happened {
            ProposalOutcome::Pending => of.open += 1,
            ProposalOutcome::Recovered => of.recovered += 1,
            ProposalOutcome::RemovedByOthers => of.others_acted += 1,
            ProposalOutcome::NodeLost => of.node_lost += 1,
            ProposalOutcome::Executed => of.carried_out += 1,
            ProposalOutcome::Superseded => of.superseded += 1,
        }
    }
    let mut rules: Vec<RuleSummary> = rules
        .into_iter()
        .map(|(rule, (of, nodes))| RuleSummary {
            rule: rule.to_owned(),
            nodes: u64::try_from(nodes.len()).unwrap_or(u64::MAX),
            right: share(Precision::of(of.node_lost + of.others_acted, of.recovered)),
            ..of
        })
        .collect();
    rules.sort_by_key(|of| std::cmp::Reverse(of.decided));
    rules
}

fn share(precision: Precision) -> Share {
    match precision {
        Precision::TooFew => Share::default(),
        Precision::Share { of, low, high } => Share { ppm: Some(of.0), low_ppm: Some(low.0), high_ppm: Some(high.0) },
    }
}

fn text(reviewed: &ReviewReport) -> String {
    let mut text = format!("From {} to {} UTC\n", clock(reviewed.since), clock(reviewed.until));
    if reviewed.rules.is_empty() {
        text.push_str(&wrapped("No decisions in this time. Check that agents report: mainstay doctor.", COLUMNS, ""));
        return text;
    }
    let headers = [
        ("RULE", Align::Left),
        ("DECISIONS", Align::Right),
        ("NODES", Align::Right),
        ("NODE LOST", Align::Right),
        ("BY OTHERS", Align::Right),
        ("RECOVERED", Align::Right),
        ("PENDING", Align::Right),
        ("CONFIRMED", Align::Left),
    ];
    let mut table = Table::new(&headers);
    for of in &reviewed.rules {
        table.row([
            of.rule.clone(),
            of.decided.to_string(),
            of.nodes.to_string(),
            of.node_lost.to_string(),
            of.others_acted.to_string(),
            of.recovered.to_string(),
            (of.open + of.carried_out + of.superseded).to_string(),
            share_text(&of.right),
        ]);
    }
    text.push_str(&table.text());
    let carried: u64 = reviewed.rules.iter().map(|of| of.carried_out).sum();
    if carried > 0 {
        text.push_str(&format!(
            "{} executed later and judged by tests.\n",
            counted(carried, "decision was", "decisions were")
        ));
    }
    let superseded: u64 = reviewed.rules.iter().map(|of| of.superseded).sum();
    if superseded > 0 {
        let decisions = counted(superseded, "decision was", "decisions were");
        text.push_str(&format!("{decisions} replaced by an operator's request or planned work.\n"));
    }
    let known = reviewed.ever.iter().filter(|ever| ever.right + ever.wrong > 0);
    for ever in known {
        let of = ever.right + ever.wrong;
        let said = format!(
            "All time: rule {}, {} of {of} decisions confirmed, {}.\n",
            ever.rule,
            ever.right,
            share_text(&ever.share)
        );
        text.push_str(&said);
    }
    text
}

fn share_text(share: &Share) -> String {
    let whole = |ppm: Option<u32>| percent(ppm.unwrap_or_default().into(), Ppm::ONE.0.into(), 0);
    match share.ppm {
        None => "too few decisions".to_owned(),
        Some(_) => {
            format!("{} % ({} to {})", whole(share.ppm), whole(share.low_ppm), whole(share.high_ppm))
        }
    }
}

/// Parses a time span with a unit.
fn span(text: &str) -> Result<Span, String> {
    const HOURS_MAX: u32 = 24 * 366 * 10;
    let unit = text.chars().last().filter(|_| text.is_ascii());
    let hours = match unit {
        Some('h') => 1,
        Some('d') => 24,
        Some('w') => 24 * 7,
        Some(_) | None => return Err("expected a span such as 12h, 7d or 4w".to_owned()),
    };
    let number: u32 =
        text.get(..text.len() - 1).unwrap_or_default().parse().map_err(|_| "a whole number, then h, d or w")?;
    let hours = number.checked_mul(hours).filter(|hours| (1..=HOURS_MAX).contains(hours));
    hours.map(Span::hours).ok_or_else(|| "from 1h to ten years".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_right_as_often_as_its_nodes_were_lost() {
        let one = |happened| DryRunDecision { node: "n1".to_owned(), rule: "r".to_owned(), at: Timestamp(0), happened };
        let decided: Vec<DryRunDecision> = (0..8)
            .map(|_| one(ProposalOutcome::NodeLost))
            .chain([one(ProposalOutcome::Recovered), one(ProposalOutcome::Recovered), one(ProposalOutcome::Pending)])
            .collect();
        let of = &rules(&decided)[0];
        assert_eq!((of.decided, of.nodes, of.node_lost, of.recovered, of.open), (11, 1, 8, 2, 1));
        assert_eq!(share_text(&of.right), "80 % (49 to 94)");
        assert_eq!(share_text(&rules(&decided[..4])[0].right), "too few decisions");
    }

    #[test]
    fn a_span_has_a_unit_and_an_end() {
        assert_eq!(span("7d"), Ok(Span::hours(168)));
        assert_eq!(span("4w"), Ok(Span::hours(672)));
        for bad in ["", "d", "7", "-1d", "7y", "0h", "999999w", "7\u{b5}"] {
            assert!(span(bad).is_err(), "{bad}");
        }
    }
}
