//! The task runner refuses what it must refuse: each test breaks a copy of this workspace in one place, runs the real
//! `cargo xtask check` there, and checks exit code and message. The copy is in `task_runner/workspace_copy.rs`.

#[path = "task_runner/workspace_copy.rs"]
mod workspace_copy;

use workspace_copy::Workspace;

#[tokio::test]
async fn an_unbroken_workspace_passes() -> anyhow::Result<()> {
    let workspace = Workspace::copied().await?;
    // Everything but the tests, which would run this one again.
    let run = workspace.check("fmt,tidy,gen,clippy,deny").await?;
    assert_eq!(run.code, Some(0), "{}", run.said);
    assert!(run.said.contains("check holds: fmt, tidy, gen, clippy, deny"), "{}", run.said);
    Ok(())
}

#[tokio::test]
async fn a_brain_that_uses_a_tool_is_refused() -> anyhow::Result<()> {
    let workspace = Workspace::copied().await?;
    workspace.replace(
        "crates/mainstay-model/Cargo.toml",
        "[dependencies]\n",
        "[dependencies]\ntestbed.workspace = true\n",
    )?;
    let run = workspace.check("tidy").await?;
    assert_eq!(run.code, Some(1), "{}", run.said);
    assert!(run.said.contains("problem TIDY02: mainstay-model uses testbed, against the map"), "{}", run.said);
    assert!(run.said.contains("check: tidy does not hold"), "{}", run.said);
    Ok(())
}

#[tokio::test]
async fn a_brain_that_tests_with_an_edge_is_refused() -> anyhow::Result<()> {
    let workspace = Workspace::copied().await?;
    workspace.replace(
        "crates/mainstay-model/Cargo.toml",
        "[dev-dependencies]\n",
        "[dev-dependencies]\nmainstay-api.workspace = true\n",
    )?;
    let run = workspace.check("tidy").await?;
    assert_eq!(run.code, Some(1), "{}", run.said);
    assert!(
        run.said.contains("problem TIDY02: mainstay-model tests with mainstay-api, against the map"),
        "{}",
        run.said
    );
    Ok(())
}

#[tokio::test]
async fn a_task_runner_that_uses_the_product_is_refused() -> anyhow::Result<()> {
    let workspace = Workspace::copied().await?;
    workspace.replace(
        "crates/xtask/Cargo.toml",
        "[dependencies]\n",
        "[dependencies]\nmainstay-model.workspace = true\n",
    )?;
    let run = workspace.check("tidy").await?;
    assert_eq!(run.code, Some(1), "{}", run.said);
    assert!(run.said.contains("problem TIDY02: xtask uses mainstay-model, against the map"), "{}", run.said);
    Ok(())
}

#[tokio::test]
async fn a_simulator_that_reads_the_catalogue_is_refused() -> anyhow::Result<()> {
    let workspace = Workspace::copied().await?;
    workspace.append(
        "crates/mainstay-sim/src/signature.rs",
        "\nconst ANSWERS: &str = include_str!(\"../../mainstay-health/catalogue.tsv\");\n",
    )?;
    workspace.replace(
        "crates/mainstay-sim/Cargo.toml",
        "[dependencies]\n",
        "[dependencies]\nmainstay-health.workspace = true\n",
    )?;
    let run = workspace.check("tidy").await?;
    assert_eq!(run.code, Some(1), "{}", run.said);
    assert!(run.said.contains("problem TIDY02: mainstay-sim uses mainstay-health, against the map"), "{}", run.said);
    assert!(run.said.contains("problem TIDY11: crates/mainstay-sim/src/signature.rs:"), "{}", run.said);
    Ok(())
}

#[tokio::test]
async fn a_brain_that_reads_the_clock_is_refused() -> anyhow::Result<()> {
    let workspace = Workspace::copied().await?;
    workspace.append(
        "crates/mainstay-model/src/lib.rs",
        "\n/// Now.\npub fn seconds_since_boot() -> u64 {\n    std::time::SystemTime::now().elapsed().map_or(0, |since| since.as_secs())\n}\n",
    )?;
    let run = workspace.check("clippy").await?;
    assert_eq!(run.code, Some(1), "{}", run.said);
    assert!(run.said.contains("use of a disallowed method `std::time::SystemTime::now`"), "{}", run.said);
    assert!(run.said.contains("the caller passes the time to the engine"), "{}", run.said);
    assert!(run.said.contains("check: clippy does not hold"), "{}", run.said);
    Ok(())
}

#[tokio::test]
async fn an_edge_may_read_the_clock_but_not_sleep_on_a_thread() -> anyhow::Result<()> {
    let workspace = Workspace::copied().await?;
    workspace.append(
        "crates/mainstay-api/src/lib.rs",
        "\n/// Now.\npub fn since(start: std::time::Instant) -> std::time::Duration {\n    \
         std::thread::sleep(std::time::Duration::from_secs(1));\n    std::time::Instant::now() - start\n}\n",
    )?;
    let run = workspace.check("clippy").await?;
    assert_eq!(run.code, Some(1), "{}", run.said);
    assert!(run.said.contains("use of a disallowed method `std::thread::sleep`"), "{}", run.said);
    assert!(!run.said.contains("the caller passes the time to the engine"), "{}", run.said);
    Ok(())
}

#[tokio::test]
async fn a_stale_crd_is_refused() -> anyhow::Result<()> {
    let workspace = Workspace::copied().await?;
    workspace.replace("deploy/crds/gpunodes.yaml", "kind: GpuNode\n", "kind: GpuNodes\n")?;
    let run = workspace.check("gen").await?;
    assert_eq!(run.code, Some(1), "{}", run.said);
    assert!(run.said.contains("problem GEN01: deploy/crds/gpunodes.yaml is stale"), "{}", run.said);
    assert!(run.said.contains("is `kind: GpuNodes`, should be `kind: GpuNode`."), "{}", run.said);
    assert!(run.said.contains("check: gen does not hold"), "{}", run.said);
    Ok(())
}

#[tokio::test]
async fn a_crd_that_no_type_stands_behind_is_refused() -> anyhow::Result<()> {
    let workspace = Workspace::copied().await?;
    workspace.append("deploy/crds/clusters.yaml", "kind: CustomResourceDefinition\n")?;
    let run = workspace.check("gen").await?;
    assert_eq!(run.code, Some(1), "{}", run.said);
    assert!(run.said.contains("problem GEN03: deploy/crds/clusters.yaml is stale"), "{}", run.said);
    Ok(())
}

#[tokio::test]
async fn a_boolean_in_an_api_type_is_refused() -> anyhow::Result<()> {
    let workspace = Workspace::copied().await?;
    workspace.replace(
        "crates/mainstay-api/src/checkpoint_request.rs",
        "pub struct CheckpointRequestStatus {\n",
        "pub struct CheckpointRequestStatus {\n    /// Whether every rank has saved.\n    pub complete: bool,\n",
    )?;
    let run = workspace.check("gen").await?;
    assert_eq!(run.code, Some(1), "{}", run.said);
    let problem = "problem GEN04: CheckpointRequest breaks a rule of the API at status.complete\n  detail: a boolean.";
    assert!(run.said.contains(problem), "{}", run.said);
    assert!(run.said.contains("check: gen does not hold"), "{}", run.said);
    Ok(())
}

#[tokio::test]
async fn a_banned_word_and_a_proof_without_a_claim_are_refused() -> anyhow::Result<()> {
    let workspace = Workspace::copied().await?;
    workspace.append("README.md", "\nNobody told the operator.\n")?;
    workspace.replace("crates/xtask/claims.toml", "[crate-map]\n", "[no-such-proof]\n")?;
    let run = workspace.check("tidy").await?;
    assert_eq!(run.code, Some(1), "{}", run.said);
    assert!(run.said.contains("uses \"nobody\"; write: name the actor"), "{}", run.said);
    assert!(run.said.contains("problem TIDY12: the proof crate-map has no claim"), "{}", run.said);
    assert!(run.said.contains("problem TIDY12: the claim no-such-proof has no proof"), "{}", run.said);
    Ok(())
}

#[tokio::test]
async fn a_step_that_does_not_exist_is_a_matter_of_usage() -> anyhow::Result<()> {
    let workspace = Workspace::copied().await?;
    let run = workspace.check("tidi").await?;
    assert_eq!(run.code, Some(2), "{}", run.said);
    assert!(run.said.contains("a similar value exists: 'tidy'"), "{}", run.said);
    Ok(())
}
