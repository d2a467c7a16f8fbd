//! Error budgets of a controller on a real API server, read from a real Prometheus.

#![cfg(test)]

#[path = "observe/test_cluster.rs"]
#[expect(dead_code, reason = "the test of observations uses the rest")]
mod test_cluster;

use anyhow::{Context as _, Result, ensure};
use kube::Api;
use kube::api::{Patch, PatchParams};
use mainstay_api::{ConditionStatus, Incident, Slo, SloBudgetState, SloStatus};
use mainstay_kube::{PROMETHEUS_LIMITS, Settings};
use mainstay_prometheus::Server;
use serde_json::json;
use test_cluster::ObservedCluster;
use testbed::{Prometheus, eventually};

const HOUR: i64 = 3_600;

fn condition(status: &SloStatus) -> Option<(ConditionStatus, String)> {
    status.conditions.0.first().map(|one| (one.status, one.reason.to_string()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_is_read_attributed_and_kept_while_prometheus_is_away() -> Result<()> {
    let bed = ObservedCluster::start("slo", 2).await?;
    let spec = json!({
        "objectivePpm": 990_000, "windowDays": 30, "indicator": { "type": "JobSuccess" }, "expectedVolume": 96,
        "owner": "fleet", "severity": "Page", "runbookUrl": "https://example.org",
    });
    bed.make::<Slo>(Api::all(bed.admin()), json!({ "metadata": { "name": "jobs" }, "spec": spec })).await?;
    let status = async || bed.get::<Slo>("jobs").await.and_then(|slo| slo.status);
    let reads = async |reason: &str| {
        let says = async || status().await.and_then(|status| condition(&status)).is_some_and(|(_, why)| why == reason);
        eventually(reason, says).await?;
        status().await.context("no status")
    };

    // Without a Prometheus the condition has that reason, and no budget is known.
    let controller = bed.controller_with(Settings::default())?;
    let unknown = reads("NoServer").await?;
    ensure!(unknown.budget_left_ppm.is_none() && unknown.error_budget.is_none(), "{unknown:?}");
    controller.stop().await?;

    // An incident that was open in the bad hours.
    let now = jiff::Timestamp::now().as_second();
    let incidents: Api<Incident> = Api::all(bed.admin());
    bed.make::<Incident>(incidents.clone(), json!({ "metadata": { "name": "leaf-7" }, "spec": {} })).await?;
    let opened = jiff::Timestamp::from_second(now - 12 * HOUR)?.to_string();
    let closed = jiff::Timestamp::from_second(now - HOUR)?.to_string();
    let stored = json!({ "status": {
        "epoch": 0, "rule": "nic-port-down", "summary": "Leaf 7 is down", "openedAt": opened, "closedAt": closed,
        "lostGpuSeconds": 0, "subject": { "type": "Domain", "domain": { "level": "Leaf", "name": "leaf-7" } },
    } });
    incidents.patch_status("leaf-7", &PatchParams::default(), &Patch::Merge(stored)).await?;

    let folder = tempfile::tempdir()?;
    let prometheus = Prometheus::with_slo(folder.path(), "jobs", &[2, 3, 4, 5, 6, 7, 8, 9, 10]).await?;
    let server = Server::new(&prometheus.url, PROMETHEUS_LIMITS)?;
    let controller = bed.controller_with(Settings { prometheus: Some(server), ..Settings::default() })?;
    let spent = reads("DataRead").await?;
    // 9 hours of 4 bad jobs, of the 28.8 that a month of 4 jobs an hour allows.
    ensure!(spent.bad_events_milli == 36_000 && spent.allowed_bad_events_milli == 28_800, "{spent:?}");
    ensure!(spent.budget_left_ppm == Some(-250_000) && spent.burn_rate_milli == Some(0), "{spent:?}");
    ensure!(spent.error_budget.as_ref().is_some_and(|fact| fact.state == SloBudgetState::Spent), "{spent:?}");
    let consumer = spent.consumers.as_slice().first().context("no consumer")?;
    ensure!(consumer.incident.as_deref() == Some("leaf-7") && consumer.share_ppm == 1_000_000, "{consumer:?}");
    ensure!(spent.burn_down_ppm.as_slice().len() == 30, "{spent:?}");

    // Prometheus ends: the numbers and the fact stay, and the condition is False.
    drop(prometheus);
    let away = reads("NoAnswer").await?;
    ensure!(away.error_budget == spent.error_budget && away.observed_at == spent.observed_at, "{away:?}");
    ensure!(condition(&away).is_some_and(|(status, _)| status == ConditionStatus::False));
    controller.stop().await
}
