//! The workspace as the tasks see it: its crates from `cargo metadata`, its files from git. It holds what was
//! read and judges nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use crate::command;

/// Listing crates and files is a matter of milliseconds, but cargo may wait for another cargo.
const LIST_LIMIT: Duration = Duration::from_secs(5 * 60);

/// Everything the rules and generators look at.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target_dir: PathBuf,
    /// The root `Cargo.toml`, as text: reasons are comments, which a parser drops.
    pub(crate) manifest: String,
    /// Sorted by name.
    pub(crate) crates: Vec<Crate>,
    /// Tracked files and new ones that are not ignored, sorted by path.
    pub(crate) files: Vec<File>,
}

/// One of our crates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) description: String,
    /// Relative to the root, with `/`.
    pub(crate) folder: String,
    pub(crate) manifest: String,
    pub(crate) dependencies: Vec<Dependency>,
}

/// One line of a crate's dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) purpose: Purpose,
    pub(crate) origin: Origin,
    pub(crate) presence: Presence,
}

/// What a dependency is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// The crate itself, or its build script.
    Code,
    /// Its tests alone.
    Tests,
}

/// Who wrote a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Ours,
    ThirdParty,
}

/// Whether a dependency is always there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Always,
    BehindFeature,
}

/// A file that git tracks or would track.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    /// Absent where the file is not UTF-8.
    pub(crate) text: Option<String>,
}

impl Workspace {
    /// Reads the workspace around the current directory.
    pub(crate) async fn load() -> anyhow::Result<Workspace> {
        let here = std::env::current_dir().context("the current directory is gone")?;
        let mut cargo = command::cargo(&here);
        cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
        let metadata = MetadataCommand::parse(command::text(&mut cargo, LIST_LIMIT).await?)?;
        let root = metadata.workspace_root.clone().into_std_path_buf();
        let mut crates = crates(&metadata)?;
        crates.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Workspace {
            target_dir: metadata.target_directory.clone().into_std_path_buf(),
            manifest: read(&root.join("Cargo.toml"))?,
            crates,
            files: files(&root).await?,
            root,
        })
    }

    /// The text of a file, if there is such a text file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(at)?.text.as_deref()
    }
}

fn crates(metadata: &Metadata) -> anyhow::Result<Vec<Crate>> {
    let members = metadata.workspace_packages();
    members
        .iter()
        .map(|package| {
            let folder = package.manifest_path.parent().context("a manifest lies in a folder")?;
            let folder = folder.strip_prefix(&metadata.workspace_root)?;
            let dependencies = package.dependencies.iter().map(|dependency| Dependency {
                name: dependency.name.clone(),
                purpose: match dependency.kind {
                    DependencyKind::Development => Purpose::Tests,
                    DependencyKind::Normal | DependencyKind::Build | DependencyKind::Unknown => Purpose::Code,
                },
                origin: if dependency.path.is_some() { Origin::Ours } else { Origin::ThirdParty },
                presence: if dependency.optional { Presence::BehindFeature } else { Presence::Always },
            });
            Ok(Crate {
                name: package.name.to_string(),
                description: package.description.clone().unwrap_or_default(),
                folder: folder.as_str().replace('\\', "/"),
                manifest: read(package.manifest_path.as_std_path())?,
                dependencies: dependencies.collect(),
            })
        })
        .collect()
}

async fn files(root: &Path) -> anyhow::Result<Vec<File>> {
    let mut git = command::program("git", root);
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = command::text(&mut git, LIST_LIMIT).await?;
    let mut paths: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        match std::fs::read(root.join(path)) {
            Ok(bytes) => files.push(File { path: path.to_owned(), text: String::from_utf8(bytes).ok() }),
            // Deleted, but still in the index; or a link to nowhere, which git stores as a link.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            // A link to a folder, whose files are listed where they are.
            Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => {}
            Err(error) => return Err(anyhow!(error).context(format!("cannot read {path}"))),
        }
    }
    Ok(files)
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
