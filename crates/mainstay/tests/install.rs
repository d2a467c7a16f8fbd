//! The first minutes with a cluster: nothing is installed, the address is wrong, the token is wrong. The real binary on a real
//! server; each answer names what is missing and what to do.

#![cfg(test)]

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use testbed::{Cluster, NAMESPACE, Options, SOON, deploy, run_to_end};

/// Runs the program to its end.
async fn mainstay(kubeconfig: &Path, words: &str) -> Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
    command.args(words.split_whitespace()).env("KUBECONFIG", kubeconfig);
    run_to_end(command, SOON).await
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

async fn empty() -> Result<Cluster> {
    let cluster = testbed::own(Options { nodes_max: 0, parts: Vec::new() }).await?;
    cluster.apply_objects(&[json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1" } })]).await?;
    Ok(cluster)
}

/// Every object that `doctor` names as missing.
async fn missing(cluster: &Cluster) -> Result<(Vec<String>, Value)> {
    let output = mainstay(&cluster.kubeconfig(), "doctor -o json").await?;
    let answer: Value = serde_json::from_slice(&output.stdout).with_context(|| stderr(&output))?;
    let checks = answer["checks"].as_array().context("no checks")?;
    let named = checks.iter().flat_map(|check| check["missing"].as_array().into_iter().flatten());
    Ok((named.filter_map(|name| name.as_str().map(ToOwned::to_owned)).collect(), answer))
}

#[tokio::test]
async fn a_cluster_without_mainstay_is_told_from_one_without_permission() -> Result<()> {
    let cluster = empty().await?;
    let kubeconfig = cluster.kubeconfig();
    let status = String::from_utf8(mainstay(&kubeconfig, "status").await?.stdout)?;
    ensure!(status.contains("mainstay doctor"), "{status}");
    ensure!(!status.contains("mainstay render"), "{status}");

    let (named, _) = missing(&cluster).await?;
    for piece in ["cells.mainstay.dev", "Cell cell", "Policy mainstay-fence", "ClusterRole mainstay-agent"] {
        ensure!(named.iter().any(|name| name == piece), "{piece} is not named: {named:?}");
    }
    // Nothing is forbidden to an administrator, and no leader was there whose writes could be old.
    let text = String::from_utf8(mainstay(&kubeconfig, "doctor").await?.stdout)?;
    ensure!(!text.contains("ask an administrator") && !text.contains("may not"), "{text}");
    ensure!(text.contains("not tried yet: no controller has led"), "{text}");

    let serve = mainstay(&kubeconfig, "serve --listen 127.0.0.1:0").await?;
    let said = stderr(&serve);
    ensure!(serve.status.code() == Some(1), "{said}");
    for piece in ["the definitions cells", "the Cell", "the namespace mainstay-system", "docs/install/install.md"] {
        ensure!(said.contains(piece), "{piece} is not named: {said}");
    }
    Ok(())
}

#[tokio::test]
async fn without_a_cell_or_a_role_serve_names_it() -> Result<()> {
    let cluster = empty().await?;
    cluster.install_crds(&deploy()).await?;
    let said = stderr(&mainstay(&cluster.kubeconfig(), "serve --listen 127.0.0.1:0").await?);
    ensure!(said.contains("missing: the Cell \"cell\", the namespace mainstay-system"), "{said}");

    // The namespace and an account, and no role.
    cluster.apply(&deploy().join("policy/00-namespace.yaml")).await?;
    cluster.apply(&deploy().join("policy/10-cell.yaml")).await?;
    let idle = cluster.create_account(NAMESPACE, "idle", &[]).await?;
    let said = stderr(&mainstay(&idle, "serve --listen 127.0.0.1:0").await?);
    for piece in ["permission to read the Cell", "permission to list nodes", "permission to read the Lease"] {
        ensure!(said.contains(piece), "{piece} is not named: {said}");
    }
    Ok(())
}

#[tokio::test]
async fn doctor_fails_while_an_old_fence_refuses_other_clients() -> Result<()> {
    let cluster = empty().await?;
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": "mainstay-fence" },
        "spec": {
            "failurePolicy": "Fail", "paramKind": { "apiVersion": "mainstay.dev/v1alpha1", "kind": "Cell" },
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["nodes"],
            }] },
            "validations": [{ "expression": "true" }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": "mainstay-fence" },
        "spec": {
            "policyName": "mainstay-fence", "validationActions": ["Deny"],
            "paramRef": { "name": "cell", "parameterNotFoundAction": "Deny" },
        },
    });
    cluster.apply_objects(&[policy, binding]).await?;
    // Whether or not admission has seen it, `doctor` knows it by its rules.
    let (_, answer) = missing(&cluster).await?;
    let checks = answer["checks"].as_array().context("no checks")?;
    let others = checks.iter().find(|check| check["what"] == "Other writes").context("no check")?;
    ensure!(
        others["level"] == "Fail" && others["says"].as_str().is_some_and(|says| says.starts_with("REFUSED")),
        "{others}"
    );
    Ok(())
}

#[tokio::test]
async fn an_address_a_token_and_a_permission_fail_in_their_own_words() -> Result<()> {
    let cluster = empty().await?;
    let good = cluster.kubeconfig_with_token("wrong")?;
    let unknown = stderr(&mainstay(&cluster.write_file("unknown.kubeconfig", &good)?, "status").await?);
    ensure!(unknown.contains("does not accept these credentials") && unknown.contains("(401)"), "{unknown}");
    ensure!(unknown.contains(cluster.api_url()) && !unknown.contains("cannot be reached"), "{unknown}");

    let closed = good.replace(cluster.api_url(), "https://127.0.0.1:1");
    for words in ["status", "serve --listen 127.0.0.1:0"] {
        let said = stderr(&mainstay(&cluster.write_file("closed.kubeconfig", &closed)?, words).await?);
        ensure!(said.contains("https://127.0.0.1:1") && said.contains("Connection refused"), "{words}: {said}");
    }
    let absent = stderr(&mainstay(&cluster.dir().join("absent.kubeconfig"), "status").await?);
    ensure!(absent.contains("there is no usable kubeconfig"), "{absent}");

    let guest = cluster.create_account("default", "guest", &[]).await?;
    let said = stderr(&mainstay(&guest, "status").await?);
    ensure!(said.contains("no permission to list nodes") && !said.contains("cannot be reached"), "{said}");
    Ok(())
}
