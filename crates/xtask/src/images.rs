//! `cargo xtask images`: the controller and the agent as OCI images, each a folder that any tool can push. They are made from the
//! release binaries without a daemon and without a base image, and the same commit gives the same digests.
//!
//! The controller is static, so its image has one program. The agent loads NVML at run time, which a static program
//! cannot: its image has the C library of the machine that built it, with its licences.

pub(crate) mod layer;
pub mod layout;
pub(crate) mod sbom;

mod libraries;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use self::layer::Entry;
use self::layout::Image;
use self::sbom::{Kind, Sbom};
use crate::commit::Commit;
use crate::dist::{self, Architecture, Program};
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::workspace::Workspace;

/// User id of distroless images, without privileges.
const USER: u64 = 65_532;

/// Target folder, architectures and output format.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder for both images [default: `images` in the target folder].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Architectures of the images, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Architecture::ALL)]
    arch: Vec<Architecture>,
    /// Output format.
    #[arg(short, long, value_enum, default_value = "text")]
    output: Format,
}

/// A finished image: its folder, SBOM, digest and size.
#[derive(Debug, Clone, Serialize)]
pub struct BuiltImage {
    /// Name of the program and of the image.
    pub name: &'static str,
    /// Folder of the OCI layout.
    pub layout: PathBuf,
    /// One SBOM per architecture.
    pub sboms: Vec<PathBuf>,
    /// Digest of the index of all architectures, as a registry shows it.
    pub digest: String,
    /// Size of the compressed layers, all architectures.
    pub layer_bytes: u64,
}

/// Builds both images and prints their folders and digests.
pub(crate) async fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<Exit> {
    let out = args.out.clone().unwrap_or_else(|| workspace.target_dir.join("images"));
    for made in build(workspace, &out, &args.arch).await? {
        match args.output {
            Format::Json => output::json(&made)?,
            Format::Text => output::line(format_args!("{} {}", made.layout.display(), made.digest))?,
        }
    }
    Ok(Exit::Holds)
}

/// Builds both images for these architectures: the controller's and the agent's.
pub async fn build(workspace: &Workspace, out: &Path, archs: &[Architecture]) -> anyhow::Result<[BuiltImage; 2]> {
    let both = Program::ALL.into_iter().flat_map(|program| archs.iter().map(move |arch| (program, *arch)));
    dist::check(&both.collect::<Vec<_>>())?;
    let controller = image(workspace, out, Program::Mainstay, archs).await?;
    Ok([controller, image(workspace, out, Program::Agent, archs).await?])
}

async fn image(
    workspace: &Workspace,
    out: &Path,
    program: Program,
    archs: &[Architecture],
) -> anyhow::Result<BuiltImage> {
    let (name, commit) = (program.name(), Commit::read(workspace).await?);
    let (mut layers, mut sboms) = (Vec::new(), Vec::new());
    for arch in archs {
        let binary = dist::build(workspace, program, *arch).await?;
        let mut sbom = Sbom::of(workspace, name, program.target(*arch)).await?;
        let mut files = vec![Entry::program(&format!("usr/bin/{name}"), &binary)?];
        files.push(Entry::folder(&format!("var/lib/{name}"), USER));
        files.push(Entry::bytes(&format!("usr/share/doc/{name}/third-party-licences"), sbom.licences()?));
        files.push(Entry::file(&format!("usr/share/doc/{name}/copyright"), 0o644, &workspace.root.join("LICENSE"))?);
        if program == Program::Agent {
            let libraries = libraries::of(&binary, *arch).await?;
            files.extend(libraries.entries()?);
            sbom = sbom.with(libraries.packages());
        }
        layers.push((*arch, layer::pack(files)?));
        sboms.push(sbom);
    }
    let image = Image {
        name,
        version: env!("CARGO_PKG_VERSION"),
        revision: &commit.revision,
        created: &commit.at,
        entrypoint: &format!("/usr/bin/{name}"),
        user: USER,
        layers: &layers,
    };
    let layout = out.join(name);
    let digests = image.write(&layout)?;
    let mut paths = Vec::new();
    for ((sbom, arch), digest) in sboms.iter().zip(archs).zip(&digests.manifests) {
        let path = out.join(format!("{name}-{}.cdx.json", arch.name()));
        let json = sbom.json(Kind::Image, digest)?;
        std::fs::write(&path, json).with_context(|| format!("cannot write {}", path.display()))?;
        paths.push(path);
    }
    let bytes: usize = layers.iter().map(|(_, layer)| layer.compressed.len()).sum();
    Ok(BuiltImage { name, layout, sboms: paths, digest: digests.index, layer_bytes: u64::try_from(bytes)? })
}
