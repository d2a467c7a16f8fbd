//! An image as a folder (OCI image layout 1.0.0): small JSON documents and blobs under the names of their digests.
//! Written and read by hand: the crate for it keeps labels in an unordered map, so that no two images would have the
//! same digest.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use super::layer::{Layer, sha256};
use crate::dist::Architecture;

const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// What a layer may become when it is unpacked: a gigabyte is many times the size of each image.
const UNPACKED_BYTES_MAX: u64 = 1 << 30;

/// An image for several architectures.
#[derive(Debug)]
pub(crate) struct Image<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    pub(crate) revision: &'a str,
    pub(crate) created: &'a str,
    pub(crate) entrypoint: &'a str,
    pub(crate) user: u64,
    /// One layer per architecture.
    pub(crate) layers: &'a [(Architecture, Layer)],
}

/// Digests of a written image.
#[derive(Debug)]
pub(crate) struct Digests {
    /// Digest of the index, which a registry shows for the tag.
    pub(crate) index: String,
    /// Digests of the manifests, in the order of the layers.
    pub(crate) manifests: Vec<String>,
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

/// Folder of blobs under the names of their digests.
struct Blobs(PathBuf);

impl Blobs {
    /// Writes a blob and returns its descriptor and digest.
    fn add(&self, kind: &str, bytes: &[u8]) -> anyhow::Result<(Value, String)> {
        let digest = sha256(bytes);
        std::fs::write(self.0.join(digest.trim_start_matches("sha256:")), bytes)?;
        Ok((json!({ "mediaType": kind, "digest": digest, "size": bytes.len() }), digest))
    }
}

impl Image<'_> {
    /// Replaces the folder. Its index refers to one image index, which refers to one manifest per architecture.
    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<Digests> {
        if folder.exists() {
            std::fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        let blobs = Blobs(folder.join("blobs/sha256"));
        std::fs::create_dir_all(&blobs.0).with_context(|| format!("cannot create {}", blobs.0.display()))?;
        let (mut descriptors, mut manifests) = (Vec::new(), Vec::new());
        for (arch, layer) in self.layers {
            let (mut descriptor, digest) = self.manifest(&blobs, *arch, layer)?;
            descriptor["platform"] = json!({ "architecture": arch.oci(), "os": "linux" });
            descriptors.push(descriptor);
            manifests.push(digest);
        }
        let index = json!({
            "schemaVersion": 2, "mediaType": INDEX, "manifests": descriptors, "annotations": self.labels(),
        });
        let (mut descriptor, index) = blobs.add(INDEX, &serde_json::to_vec(&index)?)?;
        descriptor["annotations"] = json!({ "org.opencontainers.image.ref.name": self.version });
        let top = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [descriptor] });
        std::fs::write(folder.join("index.json"), serde_json::to_vec(&top)?)?;
        std::fs::write(folder.join("oci-layout"), serde_json::to_vec(&json!({ "imageLayoutVersion": "1.0.0" }))?)?;
        Ok(Digests { index, manifests })
    }

    fn manifest(&self, blobs: &Blobs, arch: Architecture, layer: &Layer) -> anyhow::Result<(Value, String)> {
        let config = json!({
            "created": self.created,
            "architecture": arch.oci(),
            "os": "linux",
            "config": {
                "User": format!("{0}:{0}", self.user),
                "Entrypoint": [self.entrypoint],
                "WorkingDir": "/",
                "Labels": self.labels(),
            },
            "rootfs": { "type": "layers", "diff_ids": [layer.diff_id] },
            "history": [{ "created": self.created, "created_by": "cargo xtask images" }],
        });
        let (config, _) = blobs.add(CONFIG, &serde_json::to_vec(&config)?)?;
        let (layer, _) = blobs.add(LAYER, &layer.compressed)?;
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer], "annotations": self.labels(),
        });
        blobs.add(MANIFEST, &serde_json::to_vec(&manifest)?)
    }

    fn labels(&self) -> Value {
        json!({
            "org.opencontainers.image.title": self.name,
            "org.opencontainers.image.version": self.version,
            "org.opencontainers.image.revision": self.revision,
            "org.opencontainers.image.created": self.created,
            "org.opencontainers.image.licenses": "Apache-2.0",
        })
    }
}

/// Unpacks the image for one architecture; content that does not match its digest, size or diff id is an error.
pub fn unpack(folder: &Path, arch: Architecture, into: &Path) -> anyhow::Result<RunConfig> {
    let document = |path: &Path| -> anyhow::Result<Value> {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(serde_json::from_slice(&bytes)?)
    };
    let version = document(&folder.join("oci-layout"))?;
    ensure!(version["imageLayoutVersion"] == "1.0.0", "not a layout that is known: {version}");
    let top = document(&folder.join("index.json"))?;
    let images = top["manifests"].as_array().context("a layout without images")?;
    let [image] = images.as_slice() else { anyhow::bail!("{} images instead of one", images.len()) };
    let index: Value = serde_json::from_slice(&blob(folder, image, INDEX)?)?;
    let manifests = index["manifests"].as_array().context("an index without manifests")?;
    let platform = json!({ "architecture": arch.oci(), "os": "linux" });
    let manifest = manifests.iter().find(|manifest| manifest["platform"] == platform);
    let manifest = manifest.with_context(|| format!("no image for {}", arch.oci()))?;
    let manifest: Value = serde_json::from_slice(&blob(folder, manifest, MANIFEST)?)?;
    let config: Value = serde_json::from_slice(&blob(folder, &manifest["config"], CONFIG)?)?;
    ensure!(config["architecture"] == arch.oci(), "a config for {}", config["architecture"]);
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
        // Only root may set owners; another user can still read the files.
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
