//! Every CEL rule of the generated definitions is refused by a real API server, and offline with the same message.

#![cfg(test)]

#[path = "cel/cases.rs"]
mod cases;

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};
use cases::{Case, cases};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::cel::Validator;
use kube::{Client, Error};
use serde_json::Value;
use testbed::Options;

fn crd_of(kind: &str) -> CustomResourceDefinition {
    mainstay_api::crds().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap()
}

fn offline_messages(kind: &str, new: &Value, old: Option<&Value>) -> Vec<String> {
    let crd = crd_of(kind);
    let schema = crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
    let schema = serde_json::to_value(schema).unwrap();
    match Validator::new().validate(&schema, new, old) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.iter().map(|error| error.message.clone()).collect(),
    }
}

#[test]
fn every_rule_of_the_generated_definitions_has_a_case() {
    let covered: BTreeSet<_> = cases().iter().map(|case| (case.kind.to_owned(), case.message.to_owned())).collect();
    let mut rules = BTreeSet::new();
    for crd in mainstay_api::crds() {
        for rule in mainstay_api::rules::cel_rules(&crd) {
            assert!(!rule.message.is_empty(), "{}: {} has no message of its own", crd.spec.names.kind, rule.rule);
            assert!(
                rules.insert((crd.spec.names.kind.clone(), rule.message.clone())),
                "two rules of {} say \"{}\"",
                crd.spec.names.kind,
                rule.message
            );
        }
    }
    assert_eq!(rules, covered, "left: the rules; right: the cases of tests/cel/cases.rs");
}

#[test]
fn offline_every_case_is_refused_for_its_own_reason_and_its_start_is_fine() {
    for Case { kind, message, old, new } in cases() {
        if let Some(old) = &old {
            assert_eq!(offline_messages(kind, old, None), Vec::<String>::new(), "{kind}: the start of \"{message}\"");
        }
        assert_eq!(offline_messages(kind, &new, old.as_ref()), [message], "{kind}");
    }
}

#[tokio::test]
async fn the_real_server_refuses_every_case_with_the_same_message() -> Result<()> {
    let cluster = testbed::own(Options { nodes_max: 0, parts: Vec::new() }).await?;
    cluster.install_crds(&cases::deploy()).await?;
    let client = cluster.client().await?;
    for case in cases() {
        let refused = refusal(&client, &case).await.with_context(|| format!("{}: {}", case.kind, case.message))?;
        assert!(refused.contains(case.message), "{}: \"{}\" was refused with: {refused}", case.kind, case.message);
    }
    Ok(())
}

/// Brings the start of the case onto the server, tries the step, and answers the server's words of refusal.
async fn refusal(client: &Client, case: &Case) -> Result<String> {
    let crd = crd_of(case.kind);
    let resource = ApiResource {
        group: crd.spec.group.clone(),
        version: crd.spec.versions[0].name.clone(),
        api_version: format!("{}/{}", crd.spec.group, crd.spec.versions[0].name),
        kind: case.kind.to_owned(),
        plural: crd.spec.names.plural.clone(),
    };
    let api: Api<DynamicObject> = match crd.spec.scope.as_str() {
        "Namespaced" => Api::namespaced_with(client.clone(), "default", &resource),
        _ => Api::all_with(client.clone(), &resource),
    };
    let new: DynamicObject = serde_json::from_value(case.new.clone())?;
    let name = new.metadata.name.clone().context("a case without a name")?;
    let params = PostParams::default();
    let answer = match &case.old {
        None if case.new.get("status").is_none() => api.create(&params, &new).await,
        old => {
            let start = old.clone().unwrap_or_else(|| without_status(&case.new));
            let stored = stored(&api, &serde_json::from_value(start)?).await?;
            let mut step = new;
            step.metadata = stored.metadata.clone();
            let status_changes = stored.data.get("status") != step.data.get("status");
            if status_changes {
                api.replace_status(&name, &params, &step).await
            } else {
                api.replace(&name, &params, &step).await
            }
        }
    };
    let _ = api.delete(&name, &Default::default()).await;
    match answer {
        Err(Error::Api(status)) if status.code == 422 => Ok(status.message),
        Err(error) => bail!("not refused as invalid: {error}"),
        Ok(_) => bail!("the server took it"),
    }
}

fn without_status(object: &Value) -> Value {
    let mut object = object.clone();
    object.as_object_mut().unwrap().remove("status");
    object
}

async fn stored(api: &Api<DynamicObject>, start: &DynamicObject) -> Result<DynamicObject> {
    let mut created = api.create(&PostParams::default(), start).await.context("the start was refused")?;
    if let Some(status) = start.data.get("status") {
        created.data["status"] = status.clone();
        let name = start.metadata.name.clone().context("a case without a name")?;
        created = api.replace_status(&name, &PostParams::default(), &created).await.context("the start was refused")?;
    }
    Ok(created)
}
