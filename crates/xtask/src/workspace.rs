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
pub struct Workspace {
    /// Absolute path of the root folder.
    pub root: PathBuf,
    /// Absolute path of the build folder.
    pub target_dir: PathBuf,
    /// The root `Cargo.toml`, as text: reasons are comments, which a parser drops.
    pub manifest: String,
    /// The crates, sorted by name.
    pub crates: Vec<Crate>,
    /// Tracked files and new ones that are not ignored, sorted by path.
    pub files: Vec<File>,
}

/// One crate of the workspace.
#[derive(Clone, Debug, Default)]
pub struct Crate {
    /// Name of the package.
    pub name: String,
    /// Its purpose, from the manifest.
    pub description: String,
    /// Relative to the root, with `/`.
    pub folder: String,
    /// Its `Cargo.toml`, as text.
    pub manifest: String,
    /// Dependencies of code and of tests.
    pub dependencies: Vec<Dependency>,
}

/// One line of a crate's dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Name of the package.
    pub name: String,
    /// Whether code or tests use it.
    pub purpose: Purpose,
    /// Whether it is a crate of this workspace.
    pub origin: Origin,
    /// Whether it is behind a feature.
    pub presence: Presence,
}

/// What a dependency is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// The crate itself, or its build script.
    Code,
    /// The tests of the crate alone.
    Tests,
}

/// Who wrote a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A crate of this workspace.
    Ours,
    /// A crate of another project.
    ThirdParty,
}

/// Whether a dependency is always there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The dependency is not optional.
    Always,
    /// The dependency belongs to a feature.
    BehindFeature,
}

/// A file that git tracks or would track.
#[derive(Clone, Debug)]
pub struct File {
    /// Relative to the root, with `/`.
    pub path: String,
    /// Absent where the file is not UTF-8.
    pub text: Option<String>,
}

impl Workspace {
    /// Reads the workspace around the current directory.
    pub async fn load() -> anyhow::Result<Workspace> {
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
    pub fn text(&self, path: &str) -> Option<&str> {
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
