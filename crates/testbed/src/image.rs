//! Small container images of static programs for pods of real nodes: one layer, an OCI layout in one tar. No registry takes
//! part. The images of Mainstay itself are built by `cargo xtask images`.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::problem::problem;

const MEDIA_TYPE: &str = "application/vnd.oci.image";
/// Debian's package `busybox-static` has it here.
const BUSYBOX: &str = "/bin/busybox";
const BUSYBOX_COMMANDS: [&str; 8] = ["sh", "cat", "echo", "kill", "ls", "sleep", "true", "wget"];

/// An image to be written: `localhost/NAME:1`, which no kubelet pulls.
#[derive(Debug, Clone)]
pub struct Image {
    name: String,
    entrypoint: Vec<String>,
    programs: Vec<(PathBuf, String)>,
    links: Vec<(String, String)>,
}

impl Image {
    /// An image without files, with the command that its containers run.
    pub fn new(name: &str, entrypoint: &[&str]) -> Self {
        let entrypoint = entrypoint.iter().map(|word| (*word).to_owned()).collect();
        Self { name: name.to_owned(), entrypoint, programs: Vec::new(), links: Vec::new() }
    }

    /// A shell and a few commands, from Debian's static BusyBox.
    pub fn busybox() -> Self {
        let image = Self::new("busybox", &["/bin/sh"]).program(Path::new(BUSYBOX), "bin/busybox");
        BUSYBOX_COMMANDS.into_iter().fold(image, |image, command| image.link(&format!("bin/{command}"), "busybox"))
    }

    /// Adds a static program of this machine under another path, such as `bin/busybox`.
    #[must_use]
    pub fn program(mut self, source: &Path, path: &str) -> Self {
        self.programs.push((source.to_owned(), path.to_owned()));
        self
    }

    /// Adds a symbolic link, such as `bin/sh` to `busybox`.
    #[must_use]
    pub fn link(mut self, path: &str, target: &str) -> Self {
        self.links.push((path.to_owned(), target.to_owned()));
        self
    }

    /// Name without registry and tag.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name for a container's `image`.
    pub fn reference(&self) -> String {
        format!("localhost/{}:1", self.name)
    }

    /// Writes the image as an OCI layout in one tar.
    pub fn write_tar(&self, path: &Path) -> Result<()> {
        let layer = self.layer()?;
        let config = json!({
            "architecture": architecture(), "os": "linux",
            "config": { "Entrypoint": self.entrypoint, "WorkingDir": "/", "Env": ["PATH=/bin"] },
            "rootfs": { "type": "layers", "diff_ids": [digest(&layer)] },
        });
        let config = config.to_string().into_bytes();
        let manifest = json!({
            "schemaVersion": 2, "mediaType": format!("{MEDIA_TYPE}.manifest.v1+json"),
            "config": descriptor("config.v1+json", &config), "layers": [descriptor("layer.v1.tar", &layer)],
        });
        let manifest = manifest.to_string().into_bytes();
        let mut entry = descriptor("manifest.v1+json", &manifest);
        entry["platform"] = json!({ "architecture": architecture(), "os": "linux" });
        entry["annotations"] = json!({ "org.opencontainers.image.ref.name": "1" });
        let index = json!({
            "schemaVersion": 2, "mediaType": format!("{MEDIA_TYPE}.index.v1+json"), "manifests": [entry],
        });

        let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        let mut tar = tar::Builder::new(file);
        add(&mut tar, "oci-layout", 0o644, br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        add(&mut tar, "index.json", 0o644, index.to_string().as_bytes())?;
        for blob in [&config, &manifest, &layer] {
            add(&mut tar, &format!("blobs/{}", digest(blob).replace(':', "/")), 0o644, blob)?;
        }
        tar.into_inner()?;
        Ok(())
    }

    /// The files with their folders. Uncompressed: the machine that writes it also unpacks it.
    fn layer(&self) -> Result<Vec<u8>> {
        let mut tar = tar::Builder::new(Vec::new());
        add_folder(&mut tar, "tmp", 0o1777)?;
        let paths = self.programs.iter().map(|(_, path)| path).chain(self.links.iter().map(|(path, _)| path));
        let folders: BTreeSet<&Path> = paths.flat_map(|path| Path::new(path).ancestors().skip(1)).collect();
        for folder in folders.into_iter().filter(|folder| !folder.as_os_str().is_empty()) {
            add_folder(&mut tar, &folder.to_string_lossy(), 0o755)?;
        }
        for (source, path) in &self.programs {
            let bytes = std::fs::read(source).map_err(|error| {
                let what = format!("no program {} for the image {}", source.display(), self.name);
                problem(what, error, "BusyBox is in Debian's package busybox-static; .ci/run lists all packages")
            })?;
            add(&mut tar, path, 0o755, &bytes)?;
        }
        for (path, target) in &self.links {
            let mut header = tar::Header::new_ustar();
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_mode(0o777);
            header.set_size(0);
            tar.append_link(&mut header, path, target)?;
        }
        Ok(tar.into_inner()?)
    }
}

fn add<W: std::io::Write>(tar: &mut tar::Builder<W>, path: &str, mode: u32, bytes: &[u8]) -> Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_mode(mode);
    header.set_size(u64::try_from(bytes.len())?);
    Ok(tar.append_data(&mut header, path, bytes)?)
}

fn add_folder<W: std::io::Write>(tar: &mut tar::Builder<W>, path: &str, mode: u32) -> Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::Directory);
    header.set_mode(mode);
    header.set_size(0);
    Ok(tar.append_data(&mut header, path, std::io::empty())?)
}

fn descriptor(kind: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": format!("{MEDIA_TYPE}.{kind}"), "digest": digest(bytes), "size": bytes.len() })
}

fn digest(bytes: &[u8]) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Go's name of this machine's architecture.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::Read as _;

    fn entries(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut archive = tar::Archive::new(bytes);
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (entry.path().unwrap().to_string_lossy().into_owned(), content)
        });
        entries.collect()
    }

    #[test]
    fn every_blob_has_the_digest_that_the_document_above_it_names() {
        let dir = crate::process::tests::scratch("image");
        let program = dir.join("program");
        std::fs::write(&program, "static").unwrap();
        let image = Image::new("work", &["/bin/a/work"]).program(&program, "bin/a/work").link("bin/other", "a/work");
        assert_eq!(image.reference(), "localhost/work:1");
        let path = dir.join("work.tar");
        image.write_tar(&path).unwrap();

        let files = entries(&std::fs::read(&path).unwrap());
        let blob = |named: &Value| {
            let name = named["digest"].as_str().unwrap();
            let bytes = &files[&format!("blobs/{}", name.replace(':', "/"))];
            assert_eq!(digest(bytes), name);
            assert_eq!(named["size"], bytes.len());
            bytes
        };
        let index: Value = serde_json::from_slice(&files["index.json"]).unwrap();
        let manifest: Value = serde_json::from_slice(blob(&index["manifests"][0])).unwrap();
        let config: Value = serde_json::from_slice(blob(&manifest["config"])).unwrap();
        let layer = blob(&manifest["layers"][0]);
        assert_eq!(config["rootfs"]["diff_ids"][0], manifest["layers"][0]["digest"]);
        let layer = entries(layer);
        assert_eq!(layer["bin/a/work"], b"static");
        let paths: Vec<&str> = layer.keys().map(|path| path.trim_end_matches('/')).collect();
        assert_eq!(paths, ["bin", "bin/a", "bin/a/work", "bin/other", "tmp"]);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let image = Image::new("work", &["/x"]).program(Path::new("/does/not/exist"), "x");
        let error = image.write_tar(&std::env::temp_dir().join("mainstay-unit-no-image.tar")).unwrap_err().to_string();
        assert!(error.contains("/does/not/exist") && error.contains("busybox-static"), "{error}");
    }
}
