//! The Helm chart as a package: what `helm package` writes, with the time of the commit and a fixed order of files.

use std::path::Path;

use anyhow::{Context as _, ensure};

use super::VERSION;
use crate::commit::Commit;
use crate::images::layer::{self, Entry};
use crate::workspace::Workspace;

const FOLDER: &str = "deploy/chart/mainstay";
/// The one line of `.helmignore`.
const IGNORED: &str = "*.md";

/// The package, whose files are in a folder with the chart's name.
pub(super) fn package(workspace: &Workspace, commit: &Commit) -> anyhow::Result<Vec<u8>> {
    let folder = workspace.root.join(FOLDER);
    let manifest = std::fs::read_to_string(folder.join("Chart.yaml")).context("the chart has no Chart.yaml")?;
    for key in ["version", "appVersion"] {
        let line = format!("{key}: {VERSION}");
        ensure!(
            manifest.lines().any(|found| found == line),
            "the chart is not of this version\n  detail: {FOLDER}/Chart.yaml has no line `{line}`.\n  hint:   set it."
        );
    }
    let ignored = std::fs::read_to_string(folder.join(".helmignore")).context("the chart has no .helmignore")?;
    ensure!(ignored.trim() == IGNORED, "{FOLDER}/.helmignore has patterns that the release does not know: {ignored}");
    let mut entries = Vec::new();
    add(&folder, "mainstay", &mut entries)?;
    let archive = layer::archive(entries, u64::try_from(commit.seconds)?)?;
    layer::gzip(&archive)
}

/// Adds the files of a folder. Links are followed, because the chart's manifests are links to those of `deploy`.
fn add(folder: &Path, inside: &str, entries: &mut Vec<Entry>) -> anyhow::Result<()> {
    for file in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let file = file?.path();
        let name = file.file_name().context("a file without a name")?.to_string_lossy().into_owned();
        let inside = format!("{inside}/{name}");
        if file.is_dir() {
            add(&file, &inside, entries)?;
        } else if !name.ends_with(".md") {
            entries.push(Entry::file(&inside, 0o644, &file)?);
        }
    }
    Ok(())
}
