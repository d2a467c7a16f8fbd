//! Requests of the controller, as the API server's audit log has them: every read, watch and write, refused ones as well. What did not
//! reach the API server is no load on it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use serde_json::Value;
use testbed::{NAMESPACE, TestCluster};

/// Steps by which a window moves.
const STEP: Duration = Duration::from_secs(1);

/// When each request arrived, and what it was, oldest first.
pub(super) struct Requests(Vec<(Timestamp, String)>);

impl Requests {
    pub(super) fn of_controller(bed: &TestCluster) -> Result<Self> {
        let user = format!("system:serviceaccount:{NAMESPACE}:mainstay-controller");
        let (mut seen, mut all) = (BTreeSet::new(), Vec::new());
        for event in bed.cluster.audit_events()? {
            let event = event?;
            if event["user"]["username"] != *user {
                continue;
            }
            // A watch is logged when it begins and when it ends.
            if seen.insert(event["auditID"].as_str().unwrap_or_default().to_owned()) {
                let at = event["requestReceivedTimestamp"].as_str().context("an audit event without its time")?;
                all.push((at.parse()?, words(&event)));
            }
        }
        all.sort_unstable();
        Ok(Self(all))
    }

    /// Number of requests from one moment up to another.
    pub(super) fn between(&self, from: Timestamp, until: Timestamp) -> u64 {
        let count = self.0.iter().filter(|(at, _)| (from..until).contains(at)).count();
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// Number of requests in each window of a length within this time, by the window's start.
    pub(super) fn windows(&self, from: Timestamp, time: Duration, length: Duration) -> Vec<(Duration, u64)> {
        let last = time.saturating_sub(length).as_secs() / STEP.as_secs();
        let starts = (0..=last).map(|number| STEP.saturating_mul(u32::try_from(number).unwrap_or(u32::MAX)));
        starts.map(|start| (start, self.between(from + start, from + start + length))).collect()
    }

    /// Number of requests in a window, by verb and place.
    pub(super) fn by_place(&self, from: Timestamp, start: Duration, length: Duration) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        let window = from + start..from + start + length;
        for (_, words) in self.0.iter().filter(|(at, _)| window.contains(at)) {
            *counts.entry(words.as_str()).or_default() += 1;
        }
        counts
    }
}

fn words(event: &Value) -> String {
    let object = &event["objectRef"];
    let parts = [&event["verb"], &object["resource"], &object["subresource"]];
    parts.into_iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}
