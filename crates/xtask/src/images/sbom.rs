//! What is in an image, as CycloneDX 1.6: exactly the crates that its binary is linked from, as cargo resolves that one package
//! for that one target, and the packages whose files are in the same image. The usual cargo plugin describes a whole workspace under a
//! random serial number, and does not cover the other files of the image.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cargo_metadata::MetadataCommand;
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

/// One part.
#[derive(Debug, Clone)]
pub(crate) struct Component {
    purl: String,
    name: String,
    version: String,
    licence: Option<String>,
}

// === impl Component ===

impl Component {
    /// A package of Debian.
    pub(crate) fn of_debian(name: &str, version: &str, licence: &str) -> Self {
        let purl = format!("pkg:deb/debian/{name}@{}?arch=amd64", version.replace('+', "%2B").replace(':', "%3A"));
        Self { purl, name: name.to_owned(), version: version.to_owned(), licence: Some(licence.to_owned()) }
    }

    fn of_cargo(name: &str, version: &str, licence: Option<&String>) -> Self {
        let purl = format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"));
        // Old manifests say "or" with a slash.
        let licence = licence.map(|words| words.replace(" / ", " OR ").replace('/', " OR "));
        Self { purl, name: name.to_owned(), version: version.to_owned(), licence }
    }

    fn json(&self) -> Value {
        let Self { purl, name, version, licence } = self;
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
            let found = found.with_context(|| format!("cargo tells nothing of {name} {version}"))?;
            let component = Component::of_cargo(name, version, found.license.as_ref());
            components.insert(component.purl.clone(), component);
        }
        ensure!(components.len() > 10, "cargo names {} crates for {package}", components.len());
        Ok(Self { name: package.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), components })
    }

    /// With parts that cargo does not know.
    pub(crate) fn with(mut self, more: Vec<Component>) -> Self {
        self.components.extend(more.into_iter().map(|component| (component.purl.clone(), component)));
        self
    }

    /// The document, for an image of this digest.
    pub(crate) fn json(&self, digest: &str) -> anyhow::Result<Vec<u8>> {
        let Self { name, version, components } = self;
        let components: Vec<Value> = components.values().map(Component::json).collect();
        let hash = digest.trim_start_matches("sha256:");
        let image = json!({
            "type": "container", "bom-ref": "image", "name": name, "version": version,
            "hashes": [{ "alg": "SHA-256", "content": hash }],
            "licenses": [{ "expression": "Apache-2.0" }],
        });
        let bom = json!({
            "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
            "metadata": { "component": image }, "components": components,
        });
        Ok(serde_json::to_vec_pretty(&bom)?)
    }
}
