//! The words that ask a cluster, as people type them: the real binary and the real controller on a real server, with one sick
//! node, one sick leaf and a person's cordon. What is printed is kept as text and shown in docs/CLI.md.

#![cfg(test)]

#[path = "ask/bed.rs"]
mod bed;
#[path = "ask/transcript.rs"]
mod transcript;

use anyhow::{Context as _, Result, ensure};
use bed::{Bed, eventually, mainstay};
use transcript::Transcript;

const NODES: usize = 40;
const SICK: usize = 2;
const CORDONED: usize = 5;

#[tokio::test]
async fn what_people_type_and_see() -> Result<()> {
    let bed = Bed::start(NODES).await?;
    let record = tempfile::tempdir()?;

    bed.install().await?;
    let viewer = bed.account("default", "viewer", Some("mainstay-viewer")).await?;
    let served = bed.serve(record.path()).await?;
    let all: Vec<usize> = (0..NODES).collect();
    bed.report(&all[..NODES - 1], 1, &[]).await?;
    bed.gang("train-7", &[1, SICK, 3, 4]).await?;
    bed.cluster.run_kubectl(&["cordon", &bed.nodes[CORDONED].name]).await?;
    bed.report(&[SICK], 2, &[("79", 3)]).await?;
    let leaf = &bed.nodes[NODES - 1].leaf;
    let of_leaf: Vec<usize> = all[..NODES - 1].iter().copied().filter(|node| bed.nodes[*node].leaf == *leaf).collect();
    bed.report(&of_leaf, 2, &[("79", 1)]).await?;
    if let Some(path) = std::env::var_os("HOLD") {
        std::fs::write(&path, format!("{}\n", bed.cluster.dir().display()))?;
        while std::path::Path::new(&path).exists() {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
    }
    let incidents = eventually("two incidents", async || {
        let list = bed.json(&["get", "incidents"]).await?;
        let names = list["items"].as_array().context("no items")?.iter();
        let open = names.filter(|one| one["status"].is_object() && one["status"]["closedAt"].is_null());
        let names: Vec<String> = open.filter_map(|one| Some(one["metadata"]["name"].as_str()?.to_owned())).collect();
        let leaf = names.iter().find(|name| name.starts_with("leaf-")).cloned();
        let gpu = names.iter().find(|name| name.starts_with("gpu-")).cloned();
        Ok(leaf.zip(gpu).filter(|_| names.len() == 2))
    })
    .await?;
    let (leaf, gpu) = incidents;
    let admin = bed.cluster.kubeconfig();

    let mut status = Transcript::new("status");
    let seen = status.run(&viewer, "status")?;
    ensure!(seen.lines().count() <= 24, "{seen}");
    status.check()?;

    let mut why = Transcript::new("why");
    why.run(&viewer, &format!("why node {}", bed.nodes[SICK].name))?;
    why.run(&viewer, &format!("why node {}", bed.nodes[0].name))?;
    why.run(&viewer, &format!("why incident {leaf}"))?;
    why.run(&admin, "why pod default/train-7-1")?;
    why.run(&viewer, "why pod default/train-7-1")?;
    why.run(&viewer, &format!("why node {}x", bed.nodes[SICK].name))?;
    why.check()?;

    let mut plan = Transcript::new("plan");
    plan.run(&admin, "plan")?;
    plan.check()?;

    let _ = gpu;
    drop(served);
    let json = mainstay(&viewer, "status -o json")?;
    let json: serde_json::Value = serde_json::from_slice(&json.stdout)?;
    ensure!(json["mode"] == "Observe" && json["incidentsOpen"] == 2, "{json}");
    Ok(())
}
