//! Every fleet alert fires by the fault that it is named after and clears afterwards, by Prometheus's own tool on the cases in
//! `deploy/alerts`. pint, a linter of rules, reports nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;
use xtask::{command, output};

use crate::prove::{Context, Measurement, Proof};

pub(super) const FIRE: Proof = Proof { name: "alerts-fire", run: |context| Box::pin(measure(context)) };

const RULES: [&str; 3] = ["rules.yaml", "gpu-rules.yaml", "fleet-rules.yaml"];
const FLEET: (&str, &str) = ("fleet-rules.yaml", "fleet-tests.yaml");
const TOOL_LIMIT: Duration = Duration::from_mins(5);

async fn measure(context: &Context) -> Result<Measurement> {
    let folder = context.workspace.root.join("deploy/alerts");
    let (rules, tests) = (yaml(&folder.join(FLEET.0))?, yaml(&folder.join(FLEET.1))?);
    let alerts: BTreeSet<&str> = items(&rules, "groups")
        .flat_map(|group| items(group, "rules"))
        .filter_map(|rule| rule["alert"].as_str())
        .collect();
    let mut complete = BTreeSet::new();
    for test in items(&tests, "tests") {
        let cases: Vec<&Value> = items(test, "alert_rule_test").collect();
        // The alert fires, and a later look at the same series finds that it does not.
        for [fires, clears] in cases.windows(2).filter_map(|pair| <[&Value; 2]>::try_from(pair).ok()) {
            let is_same = fires["alertname"] == clears["alertname"];
            if is_same && items(fires, "exp_alerts").count() > 0 && items(clears, "exp_alerts").count() == 0 {
                complete.extend(fires["alertname"].as_str());
            }
        }
    }
    let missing: Vec<&str> = alerts.difference(&complete).copied().collect();
    let mut promtool = command::program("promtool", &folder);
    command::text(promtool.args(["test", "rules", FLEET.1]), TOOL_LIMIT)
        .await
        .context("an alert does not fire or clear")?;
    let mut pint = command::program(testbed::pint().await?, &folder);
    command::text(pint.args(["--no-color", "lint", "--min-severity=info", "--fail-on=info"]).args(RULES), TOOL_LIMIT)
        .await
        .context("pint reports problems")?;
    for name in &missing {
        output::note(format_args!("alerts-fire: {name} has no case in which it fires and clears"));
    }
    let detail = format!(
        "{} of {} fleet alerts fire and clear; pint reports nothing on {} files",
        alerts.len() - missing.len(),
        alerts.len(),
        RULES.len()
    );
    Ok(Measurement { value: i64::try_from(missing.len())?, detail })
}

fn yaml(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_saphyr::from_str(&text).with_context(|| path.display().to_string())
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}
