//! What is in an image, as CycloneDX 1.6: exactly the crates that its binary is linked from, as cargo resolves that one
//! package for that one target, and the packages whose files are in the same image. The usual cargo plugin describes a
//! whole workspace under a random serial number, and does not cover the other files of the image.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cargo_metadata::{MetadataCommand, Package};
use serde_json::{Value, json};

use crate::command;
use crate::workspace::Workspace;

const LIMIT: Duration = Duration::from_mins(5);

/// The parts of one image.
#[derive(Debug)]
pub(crate) struct Sbom {
    name: String,
    version: String,
    /// By `purl`, so that they are in order and none is there twice.
    components: BTreeMap<String, Component>,
}

/// What an SBOM describes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Program,
    Image,
}

/// One part.
#[derive(Debug, Clone)]
pub(crate) struct Component {
    purl: String,
    name: String,
    version: String,
    licence: Option<String>,
    /// Where the sources of a third-party crate are.
    folder: Option<PathBuf>,
}

// === impl Component ===

impl Component {
    /// A package of Debian, for `amd64`, or for `all` where it holds libraries for a cross compiler.
    pub(crate) fn of_debian(name: &str, version: &str, licence: &str, arch: &str) -> Self {
        let purl = format!("pkg:deb/debian/{name}@{}?arch={arch}", version.replace('+', "%2B").replace(':', "%3A"));
        Self {
            purl,
            name: name.to_owned(),
            version: version.to_owned(),
            licence: Some(licence.to_owned()),
            folder: None,
        }
    }

    fn of_cargo(package: &Package) -> Self {
        let (name, version) = (package.name.to_string(), package.version.to_string());
        let purl = format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"));
        // Old manifests say "or" with a slash.
        let licence = package.license.as_ref().map(|words| words.replace(" / ", " OR ").replace('/', " OR "));
        // Mainstay's own crates have no source; their licence is the product's.
        let folder = package.source.as_ref().and_then(|_| package.manifest_path.parent());
        Self { purl, name, version, licence, folder: folder.map(|folder| folder.as_std_path().to_owned()) }
    }

    fn json(&self) -> Value {
        let Self { purl, name, version, licence, folder: _ } = self;
        let mut json = json!({ "type": "library", "bom-ref": purl, "purl": purl, "name": name, "version": version });
        if let Some(licence) = licence {
            json["licenses"] = json!([{ "expression": licence }]);
        }
        json
    }
}

// === impl Sbom ===

impl Sbom {
    /// Reads from cargo what a Mainstay binary is linked from.
    pub(crate) async fn of(workspace: &Workspace, package: &str, target: &str) -> anyhow::Result<Self> {
        let mut tree = command::cargo(&workspace.root);
        tree.args(["tree", "--locked", "--package", package, "--target", target, "--edges", "normal,no-proc-macro"]);
        tree.args(["--prefix", "none", "--format", "{p}"]);
        let tree = command::text(&mut tree, LIMIT).await?;
        let mut cargo = command::cargo(&workspace.root);
        cargo.args(["metadata", "--locked", "--format-version", "1"]);
        let metadata = MetadataCommand::parse(command::text(&mut cargo, LIMIT).await?)?;
        let mut components = BTreeMap::new();
        for line in tree.lines() {
            let mut words = line.split_whitespace();
            let (Some(name), Some(version)) = (words.next(), words.next().and_then(|word| word.strip_prefix('v')))
            else {
                continue;
            };
            let found = metadata.packages.iter().find(|it| *it.name == *name && it.version.to_string() == version);
            let found = found.with_context(|| format!("cargo metadata does not list {name} {version}"))?;
            let component = Component::of_cargo(found);
            components.insert(component.purl.clone(), component);
        }
        ensure!(components.len() > 10, "cargo names {} crates for {package}", components.len());
        Ok(Self { name: package.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), components })
    }

    /// Licences and notices of all linked crates, as their authors publish them.
    pub(crate) fn licences(&self) -> anyhow::Result<Vec<u8>> {
        let mut text = String::from("Licences of the crates that this program is linked from.\n");
        for Component { name, version, licence, folder, .. } in self.components.values() {
            let Some(folder) = folder else { continue };
            text.push_str(&format!("\n==== {name} {version}: {}\n", licence.as_deref().unwrap_or("see below")));
            let files = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
            let mut files = files.map(|file| Ok(file?.path())).collect::<anyhow::Result<Vec<PathBuf>>>()?;
            files.retain(|file| file.is_file() && is_licence(file));
            files.sort();
            for file in files {
                let bytes = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
                text.push('\n');
                text.push_str(String::from_utf8_lossy(&bytes).trim_end());
                text.push('\n');
            }
        }
        Ok(text.into_bytes())
    }

    /// With parts that cargo does not know.
    pub(crate) fn with(mut self, more: Vec<Component>) -> Self {
        self.components.extend(more.into_iter().map(|component| (component.purl.clone(), component)));
        self
    }

    /// The document, for an image or a program of this digest.
    pub(crate) fn json(&self, kind: Kind, digest: &str) -> anyhow::Result<Vec<u8>> {
        let Self { name, version, components } = self;
        let components: Vec<Value> = components.values().map(Component::json).collect();
        let hash = digest.trim_start_matches("sha256:");
        let (kind, reference) = match kind {
            Kind::Program => ("application", "program"),
            Kind::Image => ("container", "image"),
        };
        let subject = json!({
            "type": kind, "bom-ref": reference, "name": name, "version": version,
            "hashes": [{ "alg": "SHA-256", "content": hash }],
            "licenses": [{ "expression": "Apache-2.0" }],
        });
        let bom = json!({
            "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
            "metadata": { "component": subject }, "components": components,
        });
        Ok(serde_json::to_vec_pretty(&bom)?)
    }
}

/// Whether a file is a licence or a notice, by its name.
fn is_licence(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    ["license", "licence", "copying", "notice", "copyright", "unlicense"].iter().any(|start| name.starts_with(start))
}
