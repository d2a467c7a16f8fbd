//! Generates the reference pages that follow from code: `docs/reference/crds.md` (every field of every kind with its
//! limits and rules), `docs/reference/waiting-on.md` (every reason to wait) and `docs/reference/invariants.md` (the
//! safety rules that every decision is checked against).

use std::fmt::Write as _;

use anyhow::Context as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use mainstay_audit::Invariant;
use mainstay_model::WaitingOn;
use serde_json::Value;
use xtask::figures::table::NOTICE;

use super::GeneratedFile;

const CRDS: &str = "\
# Custom resources of `mainstay.dev/v1alpha1`

Every field with its limits, and every validation rule that the API server enforces. `?` marks an optional field and
`[n]` a list of at most n items. The definitions are in [`deploy/crds`](../../deploy/crds), and
[`deploy/examples`](../../deploy/examples) has one example of each kind.
";

const WAITING: &str = "\
# Reasons to wait

Each heading is a value of the field `waitingOn`, the reason of a condition and the metric label `waiting_on`.
";

const INVARIANTS: &str = "\
# Invariants

The auditor (crate `mainstay-audit`) checks every decision against these invariants. It builds its own state from the
same observations and does not use the engine's code. Tests, simulations and the controller run it. The controller
does not execute an effect that violates an invariant.

| number | name | invariant |
|---|---|---|
";

pub(super) fn files() -> anyhow::Result<Vec<GeneratedFile>> {
    let mut crds = format!("{NOTICE}\n\n{CRDS}");
    for crd in mainstay_api::crds() {
        kind(&mut crds, &crd)?;
    }
    let mut waiting = format!("{NOTICE}\n\n{WAITING}");
    for reason in WaitingOn::ALL {
        write!(waiting, "\n## {}\n\n{}\n", reason.word(), reason.ends_when())?;
    }
    let mut invariants = format!("{NOTICE}\n\n{INVARIANTS}");
    for invariant in Invariant::ALL {
        writeln!(invariants, "| {} | `{}` | {} |", invariant.number(), invariant.name(), invariant.words())?;
    }
    Ok(vec![
        GeneratedFile { path: "docs/reference/invariants.md".to_owned(), text: invariants },
        GeneratedFile { path: "docs/reference/crds.md".to_owned(), text: crds },
        GeneratedFile { path: "docs/reference/waiting-on.md".to_owned(), text: waiting },
    ])
}

fn kind(text: &mut String, crd: &CustomResourceDefinition) -> anyhow::Result<()> {
    let names = &crd.spec.names;
    let version = crd.spec.versions.first().context("the custom resource definition has no version")?;
    let schema = serde_json::to_value(version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref()))?;
    write!(text, "\n## {}\n\n{}\n\n", names.kind, schema["description"].as_str().unwrap_or_default())?;
    writeln!(
        text,
        "`kubectl get {}` (short `{}`), scope {}.\n",
        names.plural,
        names.short_names.clone().unwrap_or_default().join("`, `"),
        crd.spec.scope
    )?;
    writeln!(text, "| field | type | meaning |\n|---|---|---|")?;
    for part in ["spec", "status"] {
        if let Some(part_schema) = schema["properties"].get(part) {
            fields(text, part, part_schema)?;
        }
    }
    writeln!(text, "\nThe API server rejects an object that violates a rule, with one of these messages:\n")?;
    for rule in mainstay_api::rules::cel_rules(crd) {
        writeln!(text, "- {}", rule.message)?;
    }
    Ok(())
}

fn fields(text: &mut String, path: &str, schema: &Value) -> anyhow::Result<()> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        let absent = if required.contains(&name.as_str()) { "" } else { "?" };
        let meaning = field["description"].as_str().unwrap_or_default().replace('\n', " ");
        writeln!(text, "| `{path}`{absent} | {} | {meaning} |", type_of(field))?;
        let items = field.get("items").unwrap_or(field);
        let below = if field.get("items").is_some() { format!("{path}[]") } else { path };
        fields(text, &below, items)?;
    }
    Ok(())
}

fn type_of(field: &Value) -> String {
    let bound = |key: &str| field.get(key).map(|value| value.to_string().trim_end_matches(".0").to_owned());
    match field["type"].as_str().unwrap_or_default() {
        "array" => format!("{} [{}]", type_of(&field["items"]), bound("maxItems").unwrap_or_default()),
        "string" if field.get("enum").is_some() => {
            let words = field["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
            words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ")
        }
        "string" if field["format"] == "date-time" => "timestamp".to_owned(),
        "string" => format!("string, at most {} bytes", bound("maxLength").unwrap_or_default()),
        "integer" => match (bound("minimum"), bound("maximum")) {
            (Some(least), Some(most)) => format!("{least} … {most}"),
            (Some(least), None) => format!("≥ {least}"),
            (None, _) => "integer".to_owned(),
        },
        other => other.to_owned(),
    }
}
