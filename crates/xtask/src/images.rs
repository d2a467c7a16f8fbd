//! `cargo xtask images`: the controller and the agent as OCI images, each a folder that any tool can push, made from the
//! release binaries without a daemon and without a base image. The same commit gives the same digests.
//!
//! The controller is static, so its image is that one file. The agent loads NVML at run time, which a static program cannot: its
//! image has the C library of the machine that built it, with its licences, and nothing else.

pub mod layout;

mod layer;
mod libraries;
mod sbom;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::Serialize;

use self::layer::Entry;
use self::layout::Image;
use self::sbom::Sbom;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::workspace::Workspace;
use crate::{command, dist};

/// A cold build on two busy cores.
const BUILD_LIMIT: Duration = Duration::from_mins(30);
const GIT_LIMIT: Duration = Duration::from_mins(1);
/// The agent's triple: with the GNU C library, because NVML is.
const AGENT_TARGET: &str = "x86_64-unknown-linux-gnu";
/// The unprivileged user of distroless images.
const NOBODY: u64 = 65_532;

/// Target folder and output format.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder for both images [default: `images` in the target folder].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Output format.
    #[arg(short, long, value_enum, default_value = "text")]
    output: Format,
}

/// A finished image: its folder, SBOM, digest and size.
#[derive(Debug, Clone, Serialize)]
pub struct BuiltImage {
    /// Name of the image.
    pub name: &'static str,
    /// Folder of the OCI layout.
    pub layout: PathBuf,
    /// File of the SBOM.
    pub sbom: PathBuf,
    /// Digest of the manifest, as a registry shows it.
    pub digest: String,
    /// Size of the compressed layer.
    pub layer_bytes: u64,
}

/// Builds both images and prints their folders and digests.
pub(crate) async fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<Exit> {
    let out = args.out.clone().unwrap_or_else(|| workspace.target_dir.join("images"));
    for made in build(workspace, &out).await? {
        match args.output {
            Format::Json => output::json(&made)?,
            Format::Text => output::line(format_args!("{} {}", made.layout.display(), made.digest))?,
        }
    }
    Ok(Exit::Holds)
}

/// Builds the images of controller and agent.
pub async fn build(workspace: &Workspace, out: &Path) -> anyhow::Result<[BuiltImage; 2]> {
    let commit = Commit::read(workspace).await?;
    let controller = dist::binary(workspace).await?;
    let agent = agent(workspace).await?;
    let libraries = libraries::of(&agent).await?;

    let mut files = vec![Entry::program("usr/bin/mainstay", &controller)?];
    files.push(Entry::folder("var/lib/mainstay", NOBODY));
    let sbom = Sbom::of(workspace, "mainstay", dist::TARGET).await?;
    let controller = write(out, &commit, "mainstay", files, &sbom)?;

    let mut files = vec![Entry::program("usr/bin/mainstay-agent", &agent)?];
    files.push(Entry::folder("var/lib/mainstay-agent", NOBODY));
    files.extend(libraries.entries()?);
    let sbom = Sbom::of(workspace, "mainstay-agent", AGENT_TARGET).await?.with(libraries.packages());
    let agent = write(out, &commit, "mainstay-agent", files, &sbom)?;
    Ok([controller, agent])
}

async fn agent(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let mut cargo = command::cargo(&workspace.root);
    cargo.args(["build", "--release", "--quiet", "--package", "mainstay-agent"]);
    let built = command::holds(&mut cargo, BUILD_LIMIT).await?;
    ensure!(built == Exit::Holds, "the agent cannot be built; see the output of cargo above");
    Ok(workspace.target_dir.join("release/mainstay-agent"))
}

fn write(
    out: &Path,
    commit: &Commit,
    name: &'static str,
    files: Vec<Entry>,
    sbom: &Sbom,
) -> anyhow::Result<BuiltImage> {
    let layer = layer::pack(files)?;
    let image = Image {
        name,
        version: env!("CARGO_PKG_VERSION"),
        revision: &commit.revision,
        created: &commit.at,
        entrypoint: &format!("/usr/bin/{name}"),
        user: NOBODY,
        layer: &layer,
    };
    let layout = out.join(name);
    let digest = image.write(&layout)?;
    let path = out.join(format!("{name}.cdx.json"));
    std::fs::write(&path, sbom.json(&digest)?).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(BuiltImage { name, layout, sbom: path, digest, layer_bytes: u64::try_from(layer.compressed.len())? })
}

/// The commit that an image is labelled with.
struct Commit {
    revision: String,
    /// Time of the commit, so that every build gives the same image.
    at: String,
}

impl Commit {
    async fn read(workspace: &Workspace) -> anyhow::Result<Self> {
        let git = async |words: &[&str]| {
            let mut git = command::program("git", &workspace.root);
            command::text(git.args(words), GIT_LIMIT).await.map(|text| text.trim().to_owned())
        };
        let revision = git(&["rev-parse", "HEAD"]).await?;
        let dirty = !git(&["status", "--porcelain", "--untracked-files=no"]).await?.is_empty();
        let seconds: i64 = git(&["show", "--no-patch", "--format=%ct", "HEAD"]).await?.parse()?;
        let revision = if dirty { format!("{revision}-changed") } else { revision };
        Ok(Self { revision, at: jiff::Timestamp::from_second(seconds)?.to_string() })
    }
}
