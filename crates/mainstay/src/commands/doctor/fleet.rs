//! Readiness of the fleet for production, for `doctor --fleet`: objectives, telemetry, alert rules, drivers, checkpoints, and
//! what is left over. What is in Prometheus is read only where its address is given.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_account::render::GROUPS_MAX;
use mainstay_kube::{Client, Error, View};
use mainstay_model::{Contract, NodeName, Span};
use mainstay_prometheus::{Server, thousandths};
use mainstay_text::{counted, few, percent, thousands};

use super::Check;
use super::checks::{NAMES_MAX, ok, warn};
use crate::kubeconfig;
use crate::output::Problem;
use crate::prometheus;

/// Share of GPUs out of service from which the alert FleetCapacityLow fires, in percent.
const OUT_PERCENT_MAX: u64 = 10;
/// Age from which an incident without an owner is left over.
const UNACKNOWLEDGED_AFTER: Span = Span::hours(24);
/// Scrapes within ten minutes from which sampling is often enough for the shipped rules.
const SCRAPES_MIN: u64 = 10;

pub(super) async fn all(client: &Client, view: &View, server: Option<&Server>) -> Result<Vec<Check>, Problem> {
    let mut checks = vec![objectives(client).await?, drivers(view), checkpoints(view), capacity(view)];
    checks.push(lemons(view));
    checks.push(unacknowledged(view));
    match server {
        None => checks.push(warn(
            "Telemetry",
            "not checked: metrics, alert rules and alert routes are in Prometheus",
            "add --prometheus http://HOST:PORT",
        )),
        Some(server) => checks.extend(metrics(view, server).await?),
    }
    Ok(checks)
}

async fn objectives(client: &Client) -> Result<Check, Problem> {
    const WHAT: &str = "Objectives";
    let hint = "write an Slo for each service that users rely on: docs/operate/slo.md";
    let most = u32::try_from(GROUPS_MAX).unwrap_or(u32::MAX);
    let slos = match mainstay_kube::slos(client, most).await {
        Ok(slos) => slos,
        Err(Error::Incomplete(missing)) => return Ok(warn(WHAT, format!("missing: {missing}"), hint)),
        Err(Error::Refused { why, .. }) => {
            return Ok(warn(WHAT, format!("not checked: {why}"), "ask for mainstay-viewer"));
        }
        Err(trouble) => return Err(kubeconfig::problem(&trouble)),
    };
    if slos.is_empty() {
        return Ok(warn(WHAT, "there is no Slo, so no error budget and no burn-rate alert", hint));
    }
    let problem = |slo: &mainstay_api::Slo| {
        let name = slo.metadata.name.clone().unwrap_or_default();
        slo.problem().map(|why| format!("{name} ({why})"))
    };
    let unmeasured: Vec<String> = slos.iter().filter_map(problem).collect();
    let count = u64::try_from(slos.len()).unwrap_or(u64::MAX);
    if unmeasured.is_empty() {
        return Ok(ok(WHAT, format!("{}, each with an owner and a measured budget", counted(count, "Slo", "Slos"))));
    }
    Ok(warn(WHAT, format!("not measured: {}", few(&unmeasured, NAMES_MAX)), "mainstay slo show NAME shows the reason"))
}

fn drivers(view: &View) -> Check {
    const WHAT: &str = "Drivers";
    let mut models: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for report in view.nodes().values().filter_map(|seen| seen.report.as_ref()) {
        let inventory = &report.inventory;
        *models.entry(inventory.product.as_str()).or_default().entry(inventory.driver.as_str()).or_default() += 1;
    }
    if models.is_empty() {
        return warn(WHAT, "unknown: no agent has reported", "install the agent: docs/install/agent.md");
    }
    let mixed: Vec<String> = models
        .iter()
        .filter(|(_, drivers)| drivers.len() > 1)
        .map(|(model, drivers)| {
            let counts: Vec<String> = drivers
                .iter()
                .map(|(driver, nodes)| format!("{driver} on {}", counted(*nodes, "node", "nodes")))
                .collect();
            format!("{model}: {}", few(&counts, NAMES_MAX))
        })
        .collect();
    if mixed.is_empty() {
        return ok(WHAT, "every GPU model has one driver version");
    }
    let hint = "pin one version for each model; a driver that a rollout brings in is expected to be mixed for its time";
    warn(WHAT, few(&mixed, NAMES_MAX), hint)
}

fn checkpoints(view: &View) -> Check {
    const WHAT: &str = "Checkpoints";
    let large = || view.gangs().iter().filter(|(_, gang)| gang.nodes.as_slice().len() > 1);
    let total = u64::try_from(large().count()).unwrap_or(u64::MAX);
    let silent: Vec<String> = large()
        .filter(|(_, gang)| {
            gang.contract == Contract::None && gang.checkpoints.last.is_none() && gang.checkpoints.every.is_none()
        })
        .map(|(name, _)| name.to_string())
        .collect();
    if total == 0 {
        return ok(WHAT, "no job runs on more than one node");
    }
    if silent.is_empty() {
        return ok(
            WHAT,
            format!("{} on several nodes, each with a contract or reports", counted(total, "job", "jobs")),
        );
    }
    let says = format!(
        "no checkpoint is reported by {} of {} on several nodes: {}",
        silent.len(),
        counted(total, "job", "jobs"),
        few(&silent, NAMES_MAX)
    );
    warn(WHAT, says, "annotate their pods: docs/concepts/gang.md; without it Mainstay cannot tell what a stop costs")
}

fn capacity(view: &View) -> Check {
    const WHAT: &str = "Capacity";
    let (mut gpus, mut out) = (0, 0);
    for (node, seen) in view.nodes() {
        let Some(facts) = &seen.facts else { continue };
        let stage = view.engine().persisted(node).map_or(mainstay_model::Stage::InService, |known| known.stage);
        gpus += u64::from(facts.gpus);
        if mainstay_engine::is_out_of_service(stage, facts.ready) {
            out += u64::from(facts.gpus);
        }
    }
    let says = format!("{} of {} GPUs are out of service", thousands(out), thousands(gpus));
    if gpus > 0 && out * 100 > gpus * OUT_PERCENT_MAX {
        let says = format!("{says}: {} %", percent(out, gpus, 0));
        return warn(WHAT, says, "mainstay review --weekly lists the causes");
    }
    ok(WHAT, says)
}

fn lemons(view: &View) -> Check {
    const WHAT: &str = "Lemons";
    let is_lemon = |node: &&NodeName| view.engine().risk(node).is_some_and(|risk| risk.is_lemon());
    let names: Vec<String> = view.nodes().keys().filter(is_lemon).map(ToString::to_string).collect();
    if names.is_empty() {
        return ok(WHAT, "no node fails many times as often as others");
    }
    warn(
        WHAT,
        format!("these fail many times as often as others: {}", few(&names, NAMES_MAX)),
        "return them to the vendor",
    )
}

fn unacknowledged(view: &View) -> Check {
    const WHAT: &str = "Incidents";
    let old = |incident: &mainstay_api::Incident| {
        let status = incident.status.as_ref()?;
        let opened: mainstay_model::Timestamp = status.opened_at.into();
        let is_left = status.closed_at.is_none() && incident.spec.acknowledgement.is_none();
        (is_left && view.now().since(opened) > UNACKNOWLEDGED_AFTER).then_some(())
    };
    let names: BTreeSet<&str> = view.incidents().filter(|(_, one)| old(one).is_some()).map(|(name, _)| name).collect();
    if names.is_empty() {
        return ok(WHAT, "none is open for a day without an owner");
    }
    let names: Vec<String> = names.into_iter().map(ToOwned::to_owned).collect();
    let says = format!("open for more than a day and not acknowledged: {}", few(&names, NAMES_MAX));
    warn(WHAT, says, "mainstay incident ack NAME")
}

async fn metrics(view: &View, server: &Server) -> Result<Vec<Check>, Problem> {
    let at = view.now().0.div_euclid(1_000);
    let count = async |query: &str| -> Result<Option<u64>, Problem> {
        let all = prometheus::instant(server, query, at).await?;
        Ok(all.first().and_then(|(_, value)| thousandths(value)).map(|value| value / 1_000))
    };
    let reports = view.nodes().values().filter_map(|seen| seen.report.as_ref());
    let gpus = reports.map(|report| u64::try_from(report.inventory.gpus.as_slice().len()).unwrap_or(0)).sum::<u64>();
    let measured = count("count(mainstay:gpu_utilisation_percent)").await?.unwrap_or(0);
    let says = format!("{} of {} GPUs have a utilisation series", thousands(measured), thousands(gpus));
    let telemetry = if measured < gpus || gpus == 0 {
        warn(
            "Telemetry",
            says,
            "scrape every agent or dcgm-exporter and load gpu-rules.yaml: docs/operate/fleet-metrics.md",
        )
    } else {
        ok("Telemetry", says)
    };
    let sampling = match count("min(count_over_time(up{job=~\"mainstay-agent|mainstay-controller\"}[10m]))").await? {
        Some(scrapes) if scrapes >= SCRAPES_MIN => ok("Sampling", format!("at least {scrapes} scrapes in ten minutes")),
        Some(scrapes) => warn(
            "Sampling",
            format!("only {} in ten minutes", counted(scrapes, "scrape", "scrapes")),
            "scrape at least once a minute: short events are not seen otherwise",
        ),
        None => warn(
            "Sampling",
            "Prometheus has no job mainstay-agent or mainstay-controller",
            "use the job names of docs/operate/fleet-metrics.md: alert rules need them",
        ),
    };
    let rules = match count("count(mainstay:node_info)").await? {
        Some(_) => ok("Alert rules", "the rules of deploy/alerts/fleet-rules.yaml are loaded"),
        None => warn(
            "Alert rules",
            "fleet-rules.yaml is not loaded",
            "load the files of deploy/alerts: docs/operate/alerts.md",
        ),
    };
    let routes = match count("max(prometheus_notifications_alertmanagers_discovered)").await? {
        Some(0) => warn("Alert routes", "Prometheus knows no Alertmanager", "configure alerting in prometheus.yml"),
        Some(known) => ok("Alert routes", counted(known, "Alertmanager", "Alertmanagers")),
        None => warn(
            "Alert routes",
            "unknown: Prometheus does not scrape itself",
            "add a scrape job for Prometheus itself, then run this again",
        ),
    };
    Ok(vec![telemetry, sampling, rules, routes])
}
