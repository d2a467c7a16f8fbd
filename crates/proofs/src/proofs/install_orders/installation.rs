//! The five parts of an Observe installation, from the files that `mainstay render` prints, and how each is applied and
//! deleted. As with kubectl, an object whose kind or namespace is missing is not stored, and the others are.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use kube::Client;
use kube::api::{DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// Number of the pieces of an Observe installation.
pub(super) const COUNT: usize = 5;
/// The piece that an Observe installation does not have: the permission to act, with its fences.
pub(super) const ACTING: usize = COUNT;
const NAMES: [&str; COUNT + 1] = ["definitions", "cell", "policies", "roles", "workloads", "permission to act"];
/// Definitions are served, and objects gone, within this time on a busy machine.
const SOON: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(20);

/// The documents of each part, the parts applied so far, and the stored objects.
pub(super) struct Installation {
    administrator: Client,
    documents: [Vec<Value>; COUNT + 1],
    applied: Vec<usize>,
    /// Keys of the objects that the server stored.
    stored: BTreeSet<String>,
}

impl Installation {
    pub(super) fn read(deploy: &Path, administrator: Client) -> Result<Self> {
        let mut documents: [Vec<Value>; COUNT + 1] = Default::default();
        for folder in ["crds", "policy", "workloads", "defaults", "allow-actions"] {
            let files = std::fs::read_dir(deploy.join(folder)).with_context(|| format!("no deploy/{folder}"))?;
            let mut files: Vec<_> = files.map(|file| Ok(file?.path())).collect::<Result<_>>()?;
            files.sort();
            for file in files {
                for document in serde_saphyr::from_multiple::<Value>(&std::fs::read_to_string(&file)?)? {
                    documents[piece(folder, &document)].push(document);
                }
            }
        }
        ensure!(documents.iter().all(|piece| !piece.is_empty()), "a piece is empty");
        Ok(Self { administrator, documents, applied: Vec::new(), stored: BTreeSet::new() })
    }

    /// The pieces that were applied, in order.
    pub(super) fn applied(&self) -> &[usize] {
        &self.applied
    }

    /// The state in words.
    pub(super) fn state(&self) -> String {
        let names: Vec<&str> = self.applied.iter().map(|piece| NAMES[*piece]).collect();
        if names.is_empty() { "nothing applied".to_owned() } else { names.join(" > ") }
    }

    /// Every object that belongs to the installation, and whether it is stored. The permission to act belongs to it once applied.
    pub(super) fn objects(&self) -> impl Iterator<Item = (&Value, bool)> {
        let acts = self.applied.contains(&ACTING);
        let pieces = self.documents.iter().enumerate().filter(move |(piece, _)| acts || *piece != ACTING);
        pieces.flat_map(|(_, documents)| documents).map(|document| (document, self.stored.contains(&key(document))))
    }

    pub(super) async fn apply(&mut self, piece: usize) -> Result<()> {
        self.applied.push(piece);
        for document in &self.documents[piece] {
            let (prefix, name) = place(document)?;
            let params = PatchParams::apply("install-orders").force();
            let request = Request::new(prefix).patch(&name, &params, &Patch::Apply(document))?;
            match self.administrator.request::<Value>(request).await {
                Ok(_) => drop(self.stored.insert(key(document))),
                // Its kind, or its namespace, is not there.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(error).with_context(|| format!("{} is not applied", key(document))),
            }
        }
        for definition in self.documents[piece].iter().filter(|one| one["kind"] == "CustomResourceDefinition") {
            self.served(definition).await?;
        }
        Ok(())
    }

    /// Deletes the last pieces until only this many are applied.
    pub(super) async fn undo_to(&mut self, count: usize) -> Result<()> {
        while self.applied.len() > count {
            let Some(piece) = self.applied.pop() else { break };
            let documents = &self.documents[piece];
            for document in documents.iter().rev().filter(|document| self.stored.contains(&key(document))) {
                self.delete(document).await?;
            }
            for document in documents {
                if self.stored.remove(&key(document)) {
                    self.gone(document).await?;
                }
            }
        }
        Ok(())
    }

    async fn delete(&self, document: &Value) -> Result<()> {
        let (prefix, name) = place(document)?;
        if document["kind"] == "Cell" || name == "cells.mainstay.dev" {
            // The policy that keeps them may be in force.
            let let_go = json!({ "metadata": { "annotations": { "mainstay.dev/allow-delete": "true" } } });
            let request = Request::new(&prefix).patch(&name, &PatchParams::default(), &Patch::Merge(&let_go))?;
            self.administrator.request::<Value>(request).await?;
        }
        let request = Request::new(&prefix).delete(&name, &DeleteParams::background())?;
        let deleted = self.administrator.request::<Value>(request).await;
        deleted.with_context(|| format!("{} is not deleted", key(document)))?;
        if document["kind"] == "Namespace" {
            // No controller runs that would finish it.
            let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name }, "spec": {} });
            let bytes = serde_json::to_vec(&body)?;
            let request =
                Request::new(&prefix).replace_subresource("finalize", &name, &PostParams::default(), bytes)?;
            self.administrator.request::<Value>(request).await.context("the namespace is not finalised")?;
        }
        Ok(())
    }

    async fn gone(&self, document: &Value) -> Result<()> {
        let (prefix, name) = place(document)?;
        let give_up_at = Instant::now() + SOON;
        while Instant::now() < give_up_at {
            let request = Request::new(&prefix).get(&name, &GetParams::default())?;
            match self.administrator.request::<Value>(request).await {
                Ok(_) => sleep(POLL_EVERY).await,
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        bail!("{} is still there after {} s", key(document), SOON.as_secs());
    }

    /// Waits until the server answers for the kind of a definition.
    async fn served(&self, definition: &Value) -> Result<()> {
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let prefix = format!("/apis/mainstay.dev/{}/{}", text("/spec/versions/0/name"), text("/spec/names/plural"));
        let give_up_at = Instant::now() + SOON;
        while Instant::now() < give_up_at {
            let request = Request::new(&prefix).list(&ListParams::default().limit(1))?;
            if self.administrator.request::<Value>(request).await.is_ok() {
                return Ok(());
            }
            sleep(POLL_EVERY).await;
        }
        bail!("{prefix} is not served after {} s", SOON.as_secs());
    }
}

fn piece(folder: &str, document: &Value) -> usize {
    match (folder, document["kind"].as_str().unwrap_or_default()) {
        ("crds", _) => 0,
        ("policy", "Namespace" | "Cell") => 1,
        ("policy", kind) if kind.starts_with("ValidatingAdmissionPolicy") => 2,
        ("policy", _) => 3,
        ("allow-actions", _) => ACTING,
        _ => 4,
    }
}

/// Kind and name.
pub(super) fn key(document: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}", text(&document["kind"]), text(&document["metadata"]["name"]))
}

/// The path of its resource, and its name.
fn place(document: &Value) -> Result<(String, String)> {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str);
    let (version, kind) = (text("/apiVersion").context("no version")?, text("/kind").context("no kind")?);
    let name = text("/metadata/name").context("no name")?;
    let root = if version.contains('/') { "/apis" } else { "/api" };
    let kind = kind.to_lowercase();
    let plural = kind.strip_suffix('y').map_or_else(|| format!("{kind}s"), |stem| format!("{stem}ies"));
    let within = text("/metadata/namespace").map(|namespace| format!("/namespaces/{namespace}")).unwrap_or_default();
    Ok((format!("{root}/{version}{within}/{plural}"), name.to_owned()))
}
