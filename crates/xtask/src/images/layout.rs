//! An image as a folder (OCI image layout 1.0.0): four small JSON documents and blobs under the names of their digests. Written
//! and read by hand: the crate for it keeps labels in an unordered map, so that no two images would have the same digest.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use super::layer::{Layer, sha256};

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// What a layer may become when it is unpacked: a gigabyte is many times the size of each image.
const UNPACKED_BYTES_MAX: u64 = 1 << 30;

/// What is written.
#[derive(Debug)]
pub(crate) struct Image<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    pub(crate) revision: &'a str,
    pub(crate) created: &'a str,
    pub(crate) entrypoint: &'a str,
    pub(crate) user: u64,
    pub(crate) layer: &'a Layer,
}

/// Entry point, user and labels of an image, from its configuration.
#[derive(Debug)]
pub struct RunConfig {
    /// The program that the image starts.
    pub entrypoint: String,
    /// Numbers of user and group.
    pub user: String,
    /// Labels of the OCI image specification.
    pub labels: BTreeMap<String, String>,
}

impl Image<'_> {
    /// Replaces the folder and returns the digest of its manifest.
    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<String> {
        if folder.exists() {
            std::fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        let blobs = folder.join("blobs/sha256");
        std::fs::create_dir_all(&blobs).with_context(|| format!("cannot create {}", blobs.display()))?;
        let blob = |kind: &str, bytes: &[u8]| -> anyhow::Result<Value> {
            let digest = sha256(bytes);
            std::fs::write(blobs.join(digest.trim_start_matches("sha256:")), bytes)?;
            Ok(json!({ "mediaType": kind, "digest": digest, "size": bytes.len() }))
        };
        let labels = json!({
            "org.opencontainers.image.title": self.name,
            "org.opencontainers.image.version": self.version,
            "org.opencontainers.image.revision": self.revision,
            "org.opencontainers.image.created": self.created,
            "org.opencontainers.image.licenses": "Apache-2.0",
        });
        let config = json!({
            "created": self.created,
            "architecture": "amd64",
            "os": "linux",
            "config": {
                "User": format!("{0}:{0}", self.user),
                "Entrypoint": [self.entrypoint],
                "WorkingDir": "/",
                "Labels": labels,
            },
            "rootfs": { "type": "layers", "diff_ids": [self.layer.diff_id] },
            "history": [{ "created": self.created, "created_by": "cargo xtask images" }],
        });
        let config = blob(CONFIG, &serde_json::to_vec(&config)?)?;
        let layer = blob(LAYER, &self.layer.compressed)?;
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer], "annotations": labels,
        });
        let mut manifest = blob(MANIFEST, &serde_json::to_vec(&manifest)?)?;
        let digest = manifest["digest"].as_str().context("a blob without a digest")?.to_owned();
        manifest["platform"] = json!({ "architecture": "amd64", "os": "linux" });
        manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": self.version });
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest] });
        std::fs::write(folder.join("index.json"), serde_json::to_vec(&index)?)?;
        std::fs::write(folder.join("oci-layout"), serde_json::to_vec(&json!({ "imageLayoutVersion": "1.0.0" }))?)?;
        Ok(digest)
    }
}

/// Unpacks the one image of a folder; content that does not match its digest, size or diff id is an error.
pub fn unpack(folder: &Path, into: &Path) -> anyhow::Result<RunConfig> {
    let document = |path: &Path| -> anyhow::Result<Value> {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(serde_json::from_slice(&bytes)?)
    };
    let version = document(&folder.join("oci-layout"))?;
    ensure!(version["imageLayoutVersion"] == "1.0.0", "not a layout that is known: {version}");
    let index = document(&folder.join("index.json"))?;
    let manifests = index["manifests"].as_array().context("an index without manifests")?;
    let [manifest] = manifests.as_slice() else { anyhow::bail!("{} manifests instead of one", manifests.len()) };
    let manifest: Value = serde_json::from_slice(&blob(folder, manifest, MANIFEST)?)?;
    let config: Value = serde_json::from_slice(&blob(folder, &manifest["config"], CONFIG)?)?;
    let layers = manifest["layers"].as_array().context("a manifest without layers")?;
    let diff_ids = config["rootfs"]["diff_ids"].as_array().context("a config without diff ids")?;
    ensure!(layers.len() == diff_ids.len(), "{} layers and {} diff ids", layers.len(), diff_ids.len());
    for (layer, diff_id) in layers.iter().zip(diff_ids) {
        let compressed = blob(folder, layer, LAYER)?;
        let mut archive = Vec::new();
        GzDecoder::new(compressed.as_slice()).take(UNPACKED_BYTES_MAX).read_to_end(&mut archive)?;
        ensure!(*diff_id == sha256(&archive), "a layer is not what its diff id says");
        let mut archive = tar::Archive::new(archive.as_slice());
        archive.set_preserve_permissions(true);
        // Only root may give a file away; anybody else looks at what is in it.
        archive.set_preserve_ownerships(std::fs::metadata("/proc/self").is_ok_and(|this| this.uid() == 0));
        archive.unpack(into).with_context(|| format!("cannot unpack to {}", into.display()))?;
    }
    let text = |value: &Value| value.as_str().map(str::to_owned).context("a config that lacks something");
    let labels = config["config"]["Labels"].as_object().context("a config without labels")?;
    Ok(RunConfig {
        entrypoint: text(&config["config"]["Entrypoint"][0])?,
        user: text(&config["config"]["User"])?,
        labels: labels.iter().map(|(key, value)| Ok((key.clone(), text(value)?))).collect::<anyhow::Result<_>>()?,
    })
}

fn blob(folder: &Path, descriptor: &Value, kind: &str) -> anyhow::Result<Vec<u8>> {
    ensure!(descriptor["mediaType"] == kind, "{} instead of {kind}", descriptor["mediaType"]);
    let digest = descriptor["digest"].as_str().context("a descriptor without a digest")?;
    let name = digest.strip_prefix("sha256:").filter(|name| name.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let name = name.with_context(|| format!("{digest} is no digest that is known"))?;
    let bytes = std::fs::read(folder.join("blobs/sha256").join(name)).with_context(|| format!("no blob {name}"))?;
    ensure!(descriptor["size"] == bytes.len(), "{digest} has {} bytes, not {}", bytes.len(), descriptor["size"]);
    ensure!(sha256(&bytes) == digest, "a blob is not what its digest says: {digest}");
    Ok(bytes)
}

#[cfg(test)]
mod tests;
