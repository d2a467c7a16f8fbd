//! Drills on a test cluster: the real controller, with reports that the drill writes for nodes without an agent. What is checked
//! is what the controller stored and what Prometheus evaluated.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use indicatif::ProgressBar;
use mainstay_api::{IncidentStatus, SubjectType};
use mainstay_kube::gameday::{self, DrillNodeReport, Reporter, TEST_CLUSTER};
use mainstay_kube::{Client, View};
use mainstay_model::{Level, NodeName, NodeUid, Ready, Source, Span, Stage, Timestamp};
use mainstay_prometheus::Server;
use mainstay_telemetry::shutdown::TerminationSignals;
use mainstay_text::{counted, few};
use mainstay_web::render::needs::Leadership;

use super::drill::{Drill, Expected};
use super::report::DrillReport;
use crate::commands::leadership;
use crate::kubeconfig;
use crate::output::{Problem, progress_style};
use crate::prometheus;

/// Nodes of a drill at most.
const NODES_MAX: usize = 64;
/// The engine suspects a driver version from ten nodes of a pool on, if at most 60 % of the pool run it.
const DRIVER_NODES: usize = 12;
const DRIVER_POOL_NODES: usize = 20;
const FALSE_ALARM_NODES: usize = 8;
/// A leaf with fewer nodes has too few to be the cause.
const LEAF_NODES_MIN: usize = 4;
const DRIVER: &str = "1.0-gameday";
const NEW_DRIVER: &str = "2.0-gameday";
const TICK: Duration = Duration::from_millis(200);
const ASK_EVERY: Duration = Duration::from_secs(2);
/// Pods of an emptied node are gone within this time.
const EMPTY_WITHIN: Span = Span::minutes(2);
const NAMES_MAX: usize = 4;
/// Alerts about the fleet.
const FLEET_ALERTS: &str = "ALERTS{alertname=~\"Fleet.*\",alertstate=\"firing\"}";

/// A node that a drill may use.
struct FreeNode {
    name: NodeName,
    uid: NodeUid,
    pool: String,
    leaf: Option<String>,
}

/// A drill that runs.
struct Running<'a> {
    drill: Drill,
    client: &'a Client,
    server: Option<&'a Server>,
    began: Timestamp,
    /// Number of this drill's boot: every drill is a boot of its own.
    boot: u64,
    report: DrillReport,
    /// Shows what is waited for, on a terminal.
    bar: ProgressBar,
}

pub(super) async fn run(
    drill: Drill,
    client: &Client,
    namespace: &str,
    server: Option<&Server>,
) -> Result<DrillReport, Problem> {
    let view = read(client).await?;
    is_test_cluster(&view)?;
    if leadership(client, &view, namespace).await != Leadership::Held {
        return Err(Problem {
            what: "no controller leads this cluster".to_owned(),
            detail: "a drill checks what the controller finds.".to_owned(),
            hint: "run `mainstay doctor`.".to_owned(),
        });
    }
    let began = view.now();
    let began_at = jiff::Timestamp::from_millisecond(began.0).map(|at| at.to_string()).unwrap_or_default();
    let mut running = Running {
        drill,
        client,
        server,
        began,
        boot: began.0.unsigned_abs() / 1_000,
        report: DrillReport::new(drill, "a test cluster".to_owned(), began_at),
        bar: ProgressBar::new_spinner().with_style(progress_style("{spinner} {msg}  {elapsed}")),
    };
    running.bar.enable_steady_tick(TICK);
    let firing = running.firing().await?;
    match drill {
        Drill::NodeEviction => running.eviction(&view).await?,
        Drill::DriverRestart | Drill::Thermal | Drill::LeafDown | Drill::FalseAlarms => {
            let free = free_nodes(client, &view).await?;
            let nodes = chosen(drill, &free)?;
            running.fault(&nodes).await?;
        }
    }
    if drill.expected() == Expected::Nothing {
        running.no_new_alert(&firing).await?;
    }
    running.bar.finish_and_clear();
    Ok(running.report)
}

async fn read(client: &Client) -> Result<View, Problem> {
    View::read(client).await.map_err(|trouble| kubeconfig::problem(&trouble))
}

fn is_test_cluster(view: &View) -> Result<(), Problem> {
    let labels = view.cell().and_then(|cell| cell.metadata.labels.as_ref());
    if labels.and_then(|labels| labels.get(TEST_CLUSTER)).is_some_and(|value| value == "true") {
        return Ok(());
    }
    Err(Problem {
        what: "this is not a test cluster".to_owned(),
        detail: format!("the Cell does not have the label {TEST_CLUSTER}=true; a drill lets faults happen."),
        hint: format!("`kubectl label cell cell {TEST_CLUSTER}=true` on a cluster without users, or use --demo."),
    })
}

/// Ready GPU nodes in service that no agent reports for.
async fn free_nodes(client: &Client, view: &View) -> Result<Vec<FreeNode>, Problem> {
    let reporters = gameday::reporters(client).await.map_err(|trouble| kubeconfig::problem(&trouble))?;
    let is_free = |node: &NodeName| reporters.get(node.as_str()).is_none_or(|who| *who == Reporter::Drill);
    let free = view.nodes().iter().filter_map(|(name, seen)| {
        let facts = seen.facts.as_ref().filter(|facts| facts.ready == Ready::Yes && is_free(name))?;
        // A node with a fault of its own would hide the one of the drill.
        let is_well = view.engine().persisted(name).is_none_or(|known| known.stage == Stage::InService);
        let leaf = facts.domains.get(&Level::Leaf).map(ToString::to_string);
        let node = FreeNode { name: name.clone(), uid: facts.uid.clone(), pool: facts.pool.to_string(), leaf };
        is_well.then_some(node)
    });
    Ok(free.collect())
}

/// The nodes that a drill uses.
fn chosen(drill: Drill, free: &[FreeNode]) -> Result<Vec<&FreeNode>, Problem> {
    let too_few = |needed: String| Problem {
        what: "too few nodes for this drill".to_owned(),
        detail: format!("it needs {needed}; {} ready GPU nodes have no agent and no fault.", free.len()),
        hint: "a drill writes reports, so it uses nodes without an agent: add KWOK nodes, or use --demo.".to_owned(),
    };
    let largest = |group: &dyn Fn(&FreeNode) -> Option<String>| {
        let mut groups: BTreeMap<String, Vec<&FreeNode>> = BTreeMap::new();
        for node in free {
            if let Some(name) = group(node) {
                groups.entry(name).or_default().push(node);
            }
        }
        groups.into_values().max_by_key(Vec::len).unwrap_or_default()
    };
    let spread = |count: usize, pool_min: usize| {
        let pool = largest(&|node| Some(node.pool.clone()));
        if pool.len() < pool_min.max(count) {
            return Err(too_few(format!("{} nodes of one pool", pool_min.max(count))));
        }
        // All over the pool, so that no domain explains the fault.
        Ok(pool.iter().step_by(pool.len() / count).take(count).copied().collect())
    };
    match drill {
        Drill::Thermal => spread(1, 1),
        Drill::DriverRestart => spread(DRIVER_NODES, DRIVER_POOL_NODES),
        Drill::FalseAlarms => spread(FALSE_ALARM_NODES, FALSE_ALARM_NODES),
        Drill::NodeEviction => Ok(Vec::new()),
        Drill::LeafDown => {
            let leaf = largest(&|node| node.leaf.clone());
            match leaf.len() {
                LEAF_NODES_MIN..=NODES_MAX => Ok(leaf),
                _ => Err(too_few(format!("{LEAF_NODES_MIN} to {NODES_MAX} nodes of one leaf"))),
            }
        }
    }
}

/// Driver and evidence of the fault.
const fn evidence(drill: Drill) -> (&'static str, &'static [(Source, &'static str, u64)]) {
    match drill {
        Drill::DriverRestart => (NEW_DRIVER, &[(Source::Xid, "119", 1)]),
        // Once a minute: the rule needs half an hour of them.
        Drill::Thermal => (DRIVER, &[(Source::Nvml, "thermal-slowdown", 40)]),
        Drill::LeafDown => (DRIVER, &[(Source::Xid, "74", 9), (Source::Xid, "79", 1)]),
        // Errors of applications.
        Drill::FalseAlarms => (DRIVER, &[(Source::Xid, "13", 3), (Source::Xid, "31", 3), (Source::Xid, "43", 1)]),
        Drill::NodeEviction => (DRIVER, &[]),
    }
}

impl Running<'_> {
    /// Writes the reports of a fault, and checks what follows. The nodes are left as after a reboot.
    async fn fault(&mut self, nodes: &[&FreeNode]) -> Result<(), Problem> {
        let names: Vec<String> = nodes.iter().map(|node| node.name.to_string()).collect();
        let (driver, evidence) = evidence(self.drill);
        let mut signals = signals()?;
        self.write(nodes, (self.boot, 1), driver, &[]).await?;
        tokio::time::sleep(ASK_EVERY).await;
        let faulty_at = now();
        self.write(nodes, (self.boot, 2), driver, evidence).await?;
        let codes: Vec<String> = evidence.iter().map(|(source, code, _)| format!("{source:?} {code}")).collect();
        self.report.step(format!(
            "Reported {} on {}: {}.",
            codes.join(", "),
            counted(u64::try_from(nodes.len()).unwrap_or(u64::MAX), "node", "nodes"),
            few(&names, NAMES_MAX)
        ));
        let result = until_interrupted(&mut signals, self.follows(nodes, faulty_at)).await;
        // Also after an error or an interruption: a test cluster is not left with a fault.
        self.write(nodes, (self.boot + 1, 1), DRIVER, &[]).await?;
        self.report.step("Reported a new boot without evidence for the same nodes.");
        self.report.leaves("The incident closes when the controller has seen no evidence for the time of its rule.");
        self.report
            .leaves("Reports of the drill stay: `kubectl get nodereports` shows them with agent version gameday.");
        result
    }

    async fn write(
        &self,
        nodes: &[&FreeNode],
        (boot, sequence): (u64, u64),
        driver: &str,
        evidence: &[(Source, &str, u64)],
    ) -> Result<(), Problem> {
        for node in nodes {
            let report = DrillNodeReport { node: &node.name, uid: &node.uid, boot, sequence, driver, evidence };
            gameday::report(self.client, &report).await.map_err(|trouble| kubeconfig::problem(&trouble))?;
        }
        Ok(())
    }

    /// Checks the incident, its alert and the runbooks.
    async fn follows(&mut self, nodes: &[&FreeNode], since: Timestamp) -> Result<(), Problem> {
        let names: BTreeSet<&NodeName> = nodes.iter().map(|node| &node.name).collect();
        if self.drill.expected() == Expected::Nothing {
            return self.no_incident(Some(&names)).await;
        }
        let limit = self.drill.incident_within();
        let mut found = None;
        while found.is_none() && now().since(since) <= limit {
            self.bar.set_message("waiting for the incident");
            tokio::time::sleep(ASK_EVERY).await;
            found = self.incident(&names).await?;
        }
        let took = found.as_ref().map(|_| now().since(since));
        self.report.within("an incident with the right cause", limit, took);
        let Some((name, status)) = found else { return Ok(()) };
        self.report.step(format!("The controller opened incident {name}: {}.", status.summary));
        self.report.rule_has_runbook(status.rule.as_str());
        let Some(alert) = self.drill.alert() else { return Ok(()) };
        self.report.alert_has_runbook(alert);
        self.alert(alert, &name).await
    }

    /// The incident that this drill opened, if its cause is the expected one.
    async fn incident(&self, nodes: &BTreeSet<&NodeName>) -> Result<Option<(String, IncidentStatus)>, Problem> {
        let view = read(self.client).await?;
        let opened = self.opened(&view, Some(nodes));
        let is_right = |status: &IncidentStatus| match self.drill.expected() {
            Expected::Driver => status.subject.type_ == SubjectType::Driver,
            Expected::Leaf => status.subject.domain.as_ref().is_some_and(|domain| domain.level == Level::Leaf),
            Expected::Node => matches!(status.subject.type_, SubjectType::Part | SubjectType::Node),
            Expected::Nothing => false,
        };
        Ok(opened.into_iter().find(|(_, status)| is_right(status)))
    }

    /// Incidents that were opened since the drill began, on these nodes or on any.
    fn opened(&self, view: &View, nodes: Option<&BTreeSet<&NodeName>>) -> Vec<(String, IncidentStatus)> {
        // An incident may count from the start of its minute.
        let since = self.began - Span::minutes(1);
        let is_ours = |status: &IncidentStatus| {
            let opened: Timestamp = status.opened_at.into();
            let is_here = nodes.is_none_or(|nodes| status.nodes.as_slice().iter().any(|node| nodes.contains(node)));
            opened >= since && status.closed_at.is_none() && is_here
        };
        let known = view.incidents().filter_map(|(name, incident)| Some((name, incident.status.as_ref()?)));
        known.filter(|(_, status)| is_ours(status)).map(|(name, status)| (name.to_owned(), status.clone())).collect()
    }

    /// Waits as long as an incident would have taken, and checks that none was opened.
    async fn no_incident(&mut self, nodes: Option<&BTreeSet<&NodeName>>) -> Result<(), Problem> {
        let until = now() + self.drill.incident_within();
        while now() < until {
            self.bar.set_message("waiting: no incident may open");
            tokio::time::sleep(ASK_EVERY).await;
        }
        let view = read(self.client).await?;
        let opened: Vec<String> = self.opened(&view, nodes).into_iter().map(|(name, _)| name).collect();
        let measured = if opened.is_empty() { "none".to_owned() } else { few(&opened, NAMES_MAX) };
        self.report.check("no incident", opened.is_empty(), measured);
        Ok(())
    }

    async fn alert(&mut self, alert: &str, incident: &str) -> Result<(), Problem> {
        let what = format!("alert `{alert}` fires");
        let Some(server) = self.server else {
            self.report.not_checked(what, "add --prometheus");
            return Ok(());
        };
        let query = format!("ALERTS{{alertname=\"{alert}\",incident=\"{incident}\",alertstate=\"firing\"}}");
        let (since, limit) = (now(), self.drill.alert_within());
        let mut took = None;
        while took.is_none() && now().since(since) <= limit {
            self.bar.set_message("waiting for the alert");
            let fires = !prometheus::instant(server, &query, now().0.div_euclid(1_000)).await?.is_empty();
            took = fires.then(|| now().since(since));
            tokio::time::sleep(ASK_EVERY).await;
        }
        self.report.within(&what, limit, took);
        Ok(())
    }

    /// Labels of the alerts about the fleet that fire now.
    async fn firing(&self) -> Result<BTreeSet<String>, Problem> {
        let Some(server) = self.server else { return Ok(BTreeSet::new()) };
        let all = prometheus::instant(server, FLEET_ALERTS, now().0.div_euclid(1_000)).await?;
        Ok(all.into_iter().map(|(labels, _)| labels.get("alertname").cloned().unwrap_or_default()).collect())
    }

    async fn no_new_alert(&mut self, before: &BTreeSet<String>) -> Result<(), Problem> {
        const WHAT: &str = "no new alert about the fleet";
        if self.server.is_none() {
            self.report.not_checked(WHAT, "add --prometheus");
            return Ok(());
        }
        let new: Vec<String> = self.firing().await?.difference(before).cloned().collect();
        let measured = if new.is_empty() { "none".to_owned() } else { few(&new, NAMES_MAX) };
        self.report.check(WHAT, new.is_empty(), measured);
        Ok(())
    }

    /// Empties a node that runs pods of a job, as an operator does, and makes it schedulable again.
    async fn eviction(&mut self, view: &View) -> Result<(), Problem> {
        let mut nodes: BTreeMap<&NodeName, Vec<(&str, &str)>> = BTreeMap::new();
        for (namespace, pod) in view.pods() {
            if let Some((_, node)) = view.pod(namespace, pod) {
                nodes.entry(node).or_default().push((namespace, pod));
            }
        }
        let Some((node, pods)) = nodes.into_iter().max_by_key(|(_, pods)| pods.len()) else {
            return Err(Problem {
                what: "no node runs a job".to_owned(),
                detail: "the drill empties a node under load; it found no running pod of a job with GPUs.".to_owned(),
                hint: "start a job with GPUs first.".to_owned(),
            });
        };
        let failed = |trouble: mainstay_kube::Error| kubeconfig::problem(&trouble);
        let mut signals = signals()?;
        gameday::set_unschedulable(self.client, node, true).await.map_err(failed)?;
        let emptied = until_interrupted(&mut signals, self.empty(node, &pods)).await;
        // Also after an error or an interruption: the node takes pods again.
        gameday::set_unschedulable(self.client, node, false).await.map_err(failed)?;
        self.report.step(format!("Made {node} schedulable again."));
        emptied?;
        until_interrupted(&mut signals, self.no_incident(None)).await
    }

    async fn empty(&mut self, node: &NodeName, pods: &[(&str, &str)]) -> Result<(), Problem> {
        for (namespace, pod) in pods {
            gameday::evict(self.client, namespace, pod).await.map_err(|trouble| kubeconfig::problem(&trouble))?;
        }
        let count = u64::try_from(pods.len()).unwrap_or(u64::MAX);
        self.report.step(format!("Cordoned {node} and evicted {} from it.", counted(count, "pod", "pods")));
        let since = now();
        let mut took = None;
        while took.is_none() && now().since(since) <= EMPTY_WITHIN {
            self.bar.set_message("waiting until the node is empty");
            tokio::time::sleep(ASK_EVERY).await;
            let view = read(self.client).await?;
            let is_left = |(namespace, pod): &(&str, &str)| view.pod(namespace, pod).is_some_and(|(_, on)| on == node);
            took = (!pods.iter().any(is_left)).then(|| now().since(since));
        }
        self.report.within("the pods are gone", EMPTY_WITHIN, took);
        Ok(())
    }
}

/// Receives signals from now on: before the drill changes anything, so that no signal ends it half way.
fn signals() -> Result<TerminationSignals, Problem> {
    TerminationSignals::new().map_err(|error| kubeconfig::internal_error(&error))
}

/// Runs a part of a drill until it ends or a signal ends it. The caller undoes the drill's change in both cases.
async fn until_interrupted(
    signals: &mut TerminationSignals,
    part: impl Future<Output = Result<(), Problem>>,
) -> Result<(), Problem> {
    tokio::select! {
        result = part => result,
        _ = signals.received() => Err(Problem {
            what: "the drill was interrupted".to_owned(),
            detail: "there is no report.".to_owned(),
            hint: "what the drill changed was undone; run it again.".to_owned(),
        }),
    }
}

fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}
