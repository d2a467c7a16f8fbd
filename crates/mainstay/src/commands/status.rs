//! `mainstay status`: one screen for the on-call engineer. What is wrong, how much of the fleet, what happens next, and
//! what needs operator action.

mod text;

use std::collections::BTreeMap;

use clap::Args;
use mainstay_api::http;
use mainstay_engine::is_out_of_service;
use mainstay_kube::{Client, SkipReason, View};
use mainstay_model::{Mode, NodeName, Span, Stage, Timestamp, WaitingOn};
use mainstay_web::render;
use serde::Serialize;

use super::incidents::{self, IncidentView};
use super::leader::{self, Leader};
use super::needs;
use crate::kubeconfig::{ClusterArgs, NamespaceArgs, QueryOutput};
use crate::output::{CommandOutput, Problem, TableFormat};

pub(crate) const HELP: &str = concat!(
    "\
Reads with your own permissions and writes nothing. Kinds that you may not read are named.

Examples:
  mainstay status
  mainstay status --watch
  mainstay status --context prod-a -o json | jq .needs

",
    crate::output::exit_codes!()
);

/// Agents report every five minutes at least; one that missed two of these does not report.
pub(super) const SILENT_AFTER: Span = Span::minutes(15);
/// Times of the trend, before now.
const AGO: [Span; 3] = [Span::ZERO, Span::hours(1), Span::hours(24)];
/// Incidents on the screen; the rest is a number.
const OPEN_MAX: usize = 5;

/// Options of `status`.
#[derive(Args)]
pub(crate) struct Status {
    /// Continuous output: print again on every change
    #[arg(short, long)]
    watch: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = TableFormat::Table)]
    output: TableFormat,
    #[command(flatten)]
    home: NamespaceArgs,
    #[command(flatten)]
    way: ClusterArgs,
}

/// Everything that the `status` screen and its JSON show.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FleetStatus {
    now: i64,
    installed: bool,
    /// Mode that an operator set.
    mode: Option<Mode>,
    /// Mode in effect: the highest one, up to `mode`, that this version executes.
    mode_in_effect: Option<Mode>,
    /// Why the mode that an operator set has no effect; none where it is in effect.
    mode_notice: Option<String>,
    leader: Leader,
    nodes: u32,
    gpus: u32,
    stages: BTreeMap<Stage, StageCount>,
    gpus_out: u32,
    agents: Agents,
    incidents_open: u32,
    /// Open incidents and their GPUs now, an hour ago and a day ago.
    trend: [TrendPoint; 3],
    /// The worst first.
    incidents: Vec<IncidentRow>,
    budgets_full: Vec<http::Budget>,
    breakers: Vec<http::Breaker>,
    kept_away: Vec<CordonedNode>,
    remediators: BTreeMap<String, u32>,
    unread: Vec<UnreadableKind>,
    unfit: BTreeMap<&'static str, u64>,
    needs: Vec<http::Need>,
}

/// Number of incidents that were open at one time, and their GPUs.
#[derive(Serialize, Default, Clone, Copy)]
#[serde(rename_all = "camelCase")]
struct TrendPoint {
    at: i64,
    incidents_open: u32,
    gpus: u32,
}

/// Number of nodes and GPUs in one stage.
#[derive(Serialize, Default, Clone, Copy)]
struct StageCount {
    nodes: u32,
    gpus: u32,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Agents {
    reporting: u32,
    stale: u32,
    never: u32,
    without_gpus: u32,
}

/// One open incident as a row of the `status` screen.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IncidentRow {
    name: String,
    title: String,
    rule: String,
    nodes: u32,
    gpus: u32,
    since: i64,
    stage: Stage,
    waiting_on: WaitingOn,
    acknowledged_by: Option<String>,
}

/// A node that an operator or another tool cordoned.
#[derive(Serialize)]
struct CordonedNode {
    node: String,
    by: String,
}

/// A resource kind that could not be read, and the reason.
#[derive(Serialize)]
struct UnreadableKind {
    kind: &'static str,
    why: &'static str,
}

impl Status {
    pub(crate) fn run(&self) -> Result<CommandOutput, Problem> {
        let ask = async |client: &Client, view: &View| {
            let leader = leader::leader(client, view, &self.home.namespace).await?;
            let standing = fleet_status(view, leader);
            let answer = QueryOutput::new(&standing, text::text(&standing))?;
            Ok(answer.needs_operator(!standing.needs.is_empty()))
        };
        if self.watch { self.way.watch(self.output, &ask) } else { self.way.query(self.output, ask) }
    }
}

fn fleet_status(view: &View, leader: Leader) -> FleetStatus {
    let engine = view.engine();
    let mut stages: BTreeMap<Stage, StageCount> = BTreeMap::new();
    let (mut kept_away, mut remediators) = (Vec::new(), BTreeMap::new());
    let mut gpus_out = 0;
    for (name, seen) in view.nodes() {
        let Some(facts) = &seen.facts else { continue };
        let held = stages.entry(stage(view, name)).or_default();
        (held.nodes, held.gpus) = (held.nodes + 1, held.gpus + u32::from(facts.gpus));
        if is_out_of_service(stage(view, name), facts.ready) {
            gpus_out += u32::from(facts.gpus);
        }
        let Some(others) = view.others(name) else { continue };
        if let Some(by) = &others.kept_away {
            kept_away.push(CordonedNode { node: name.to_string(), by: by.to_string() });
        }
        if let Some(who) = others.remediator {
            *remediators.entry(who.to_owned()).or_default() += 1;
        }
    }
    let all = incidents::all(view);
    let open = incidents::open(view);
    let budgets = render::budgets(engine)
        .into_iter()
        .filter(|line| line.out + line.dry_run >= line.max && line.out + line.dry_run > 0);
    FleetStatus {
        now: view.now().0,
        installed: !needs::is_absent(view),
        mode: view.cell().map(|cell| cell.spec.mode),
        mode_in_effect: view.mode_in_effect(),
        mode_notice: view.mode_notice(),
        nodes: stages.values().map(|held| held.nodes).sum(),
        gpus: stages.values().map(|held| held.gpus).sum(),
        stages,
        gpus_out,
        agents: agents(view),
        incidents_open: u32::try_from(open.len()).unwrap_or(u32::MAX),
        trend: AGO.map(|ago| trend_point(&all, view.now() - ago)),
        incidents: open.iter().take(OPEN_MAX).map(|case| incident_row(view, case)).collect(),
        budgets_full: budgets.collect(),
        breakers: render::breakers(engine),
        kept_away,
        remediators,
        unread: view
            .unread()
            .iter()
            .map(|one| UnreadableKind {
                kind: one.kind,
                why: match one.why {
                    SkipReason::Forbidden => "no permission",
                    SkipReason::NotInstalled => "not installed",
                },
            })
            .collect(),
        unfit: view.unfit().collect(),
        needs: render::needs::needs(&needs::facts(view, leader.leads, needs::open(view, &open))),
        leader,
    }
}

fn trend_point(all: &[IncidentView<'_>], at: Timestamp) -> TrendPoint {
    let open = all.iter().filter(|case| case.opened_at <= at && case.closed_at.is_none_or(|closed| closed > at));
    open.fold(TrendPoint { at: at.0, ..TrendPoint::default() }, |sum, case| TrendPoint {
        incidents_open: sum.incidents_open + 1,
        gpus: sum.gpus + case.gpus,
        ..sum
    })
}

fn agents(view: &View) -> Agents {
    let agents = view.engine().agents();
    Agents { reporting: agents.reporting, stale: agents.stale, never: agents.never, without_gpus: agents.without_gpus }
}

fn stage(view: &View, node: &NodeName) -> Stage {
    view.engine().report(node).map_or(Stage::InService, |line| line.stage)
}

fn incident_row(view: &View, case: &IncidentView<'_>) -> IncidentRow {
    // The node that is furthest from service stands for all of them.
    let lines = case.nodes.iter().filter_map(|node| view.engine().report(node));
    let worst = lines.max_by_key(|line| line.stage);
    IncidentRow {
        name: case.name.clone(),
        title: case.title(view),
        rule: case.rule.to_string(),
        nodes: u32::try_from(case.nodes.len()).unwrap_or(u32::MAX),
        gpus: case.gpus,
        since: case.opened_at.0,
        stage: worst.as_ref().map_or(Stage::InService, |line| line.stage),
        waiting_on: worst.map_or(WaitingOn::Nothing, |line| line.waiting_on),
        acknowledged_by: case.acknowledged.map(|said| said.by.to_string()),
    }
}
