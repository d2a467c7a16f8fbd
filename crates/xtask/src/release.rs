//! `cargo xtask release`: every file of a release in one folder, with SHA-256 sums and, given a key, a signature. It publishes
//! nothing. The same commit gives the same files; docs/contribute/releasing.md describes the steps around it.

mod changelog;
mod chart;
mod signature;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::command;
use crate::commit::Commit;
use crate::dist::{self, Architecture, Program};
use crate::exit::Exit;
use crate::images;
use crate::images::layer::{self, Entry};
use crate::images::sbom::{Kind, Sbom};
use crate::output::{self, Format, note};
use crate::workspace::Workspace;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Name of the file with the sums.
const SUMS: &str = "SHA256SUMS";
/// Shells with a completion script, and the name under which each shell looks for it.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "mainstay.bash"), ("zsh", "_mainstay"), ("fish", "mainstay.fish")];
const COMPLETION_LIMIT: Duration = Duration::from_secs(30);

/// Output folder, signing key, or preparation of the release commit.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Empty or new folder for the files [default: `dist/VERSION` under `target`].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Secret key of minisign that signs the sums.
    #[arg(long, value_name = "FILE")]
    sign_key: Option<PathBuf>,
    /// Move the fragments of changelog.d into CHANGELOG.md, and build nothing.
    #[arg(long, conflicts_with_all = ["out", "sign_key"])]
    prepare: bool,
    /// Output format.
    #[arg(short, long, value_enum, default_value = "text")]
    output: Format,
}

/// One file of the release.
#[derive(Debug, Serialize)]
struct Artefact {
    name: String,
    sha256: String,
    bytes: u64,
}

/// Makes the release, or prepares the commit it is made from.
pub(crate) async fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<Exit> {
    if args.prepare {
        return prepare(workspace, &Commit::read(workspace).await?);
    }
    signature::check(args.sign_key.as_deref())?;
    let out = args.out.clone().unwrap_or_else(|| workspace.target_dir.join("dist").join(VERSION));
    let commit = Commit::read(workspace).await?;
    empty(&out)?;
    let images = images::build(workspace, &out.join("layouts"), &Architecture::ALL).await?;
    for program in Program::ALL {
        for arch in Architecture::ALL {
            tarball_of(workspace, &commit, program, arch, &out).await?;
        }
    }
    for image in &images {
        pack_image(image, &commit, &out)?;
    }
    std::fs::remove_dir_all(out.join("layouts")).context("cannot remove the layouts")?;
    write(&out, &format!("mainstay-chart-{VERSION}.tgz"), &chart::package(workspace, &commit)?)?;
    write(&out, "CHANGELOG.md", changelog::of(workspace, VERSION, &commit.at)?.as_bytes())?;
    let artefacts = sum(&out)?;
    if let Some(key) = &args.sign_key {
        signature::sign(&out, SUMS, key, &format!("mainstay {VERSION}, commit {}", commit.revision)).await?;
    }
    for artefact in &artefacts {
        match args.output {
            Format::Json => output::json(artefact)?,
            Format::Text => output::line(format_args!("{}  {}", artefact.sha256, artefact.name))?,
        }
    }
    note(format_args!("release: {VERSION} of commit {} is in {}", commit.revision, out.display()));
    Ok(Exit::Holds)
}

/// Moves the changelog fragments into CHANGELOG.md, with the date of the last change.
fn prepare(workspace: &Workspace, commit: &Commit) -> anyhow::Result<Exit> {
    let text = changelog::of(workspace, VERSION, &commit.at)?;
    std::fs::write(workspace.root.join(changelog::PATH), text).context("cannot write CHANGELOG.md")?;
    let moved = changelog::fragments(workspace);
    for (path, _) in &moved {
        std::fs::remove_file(workspace.root.join(path)).with_context(|| format!("cannot remove {path}"))?;
    }
    note(format_args!("release: {} fragments moved into CHANGELOG.md under {VERSION}; commit both", moved.len()));
    Ok(Exit::Holds)
}

/// Builds the tarball of the static binary alone, in the folder of the release, and returns its path.
pub(crate) async fn tarball(workspace: &Workspace, arch: Architecture) -> anyhow::Result<PathBuf> {
    dist::check(&[(Program::Mainstay, arch), (Program::Mainstay, Architecture::X86_64)])?;
    let out = workspace.target_dir.join("dist").join("tarball");
    std::fs::create_dir_all(&out).with_context(|| format!("cannot create {}", out.display()))?;
    tarball_of(workspace, &Commit::read(workspace).await?, Program::Mainstay, arch, &out).await
}

/// Writes the tarball of a program and its SBOM.
async fn tarball_of(
    workspace: &Workspace,
    commit: &Commit,
    program: Program,
    arch: Architecture,
    out: &Path,
) -> anyhow::Result<PathBuf> {
    let (name, root) = (program.name(), &workspace.root);
    let binary = dist::build(workspace, program, arch).await?;
    let sbom = Sbom::of(workspace, name, program.target(arch)).await?;
    let bytes = std::fs::read(&binary).with_context(|| format!("cannot read {}", binary.display()))?;
    let sbom_json = sbom.json(Kind::Program, &layer::sha256(&bytes))?;
    let folder = format!("{name}-{VERSION}-{}", arch.name());
    let inside = |path: &str| format!("{folder}/{path}");
    let changelog = changelog::of(workspace, VERSION, &commit.at)?;
    let mut entries = vec![
        Entry::program(&inside(&format!("bin/{name}")), &binary)?,
        Entry::file(&inside("LICENSE"), 0o644, &root.join("LICENSE"))?,
        Entry::file(&inside("README.md"), 0o644, &root.join("README.md"))?,
        Entry::bytes(&inside("CHANGELOG.md"), changelog.into_bytes()),
        Entry::bytes(&inside("THIRD-PARTY-LICENCES"), sbom.licences()?),
        Entry::bytes(&inside("sbom.cdx.json"), sbom_json.clone()),
    ];
    if program == Program::Mainstay {
        // Printed by the binary for this machine; the scripts are the same for every architecture.
        let native = dist::build(workspace, program, Architecture::X86_64).await?;
        for (shell, file) in COMPLETIONS {
            let mut mainstay = command::program(&native, root);
            let script = command::text(mainstay.args(["completion", shell]), COMPLETION_LIMIT).await?;
            entries.push(Entry::bytes(&inside(&format!("completions/{file}")), script.into_bytes()));
        }
    }
    let archive = layer::archive(entries, u64::try_from(commit.seconds)?)?;
    write(out, &format!("{folder}.cdx.json"), &sbom_json)?;
    write(out, &format!("{folder}.tar.gz"), &layer::gzip(&archive)?)
}

/// Packs an image layout as one file, which skopeo and podman read as `oci-archive:FILE`, and moves its SBOMs next to
/// it.
fn pack_image(image: &images::BuiltImage, commit: &Commit, out: &Path) -> anyhow::Result<()> {
    let mut entries = Vec::new();
    for name in ["oci-layout", "index.json"] {
        entries.push(Entry::file(name, 0o644, &image.layout.join(name))?);
    }
    let blobs = image.layout.join("blobs/sha256");
    for blob in std::fs::read_dir(&blobs).with_context(|| format!("cannot read {}", blobs.display()))? {
        let blob = blob?.path();
        let name = blob.file_name().context("a blob without a name")?.to_string_lossy();
        entries.push(Entry::file(&format!("blobs/sha256/{name}"), 0o644, &blob)?);
    }
    let archive = layer::archive(entries, u64::try_from(commit.seconds)?)?;
    write(out, &format!("{}-image-{VERSION}.tar", image.name), &archive)?;
    for (sbom, arch) in image.sboms.iter().zip(Architecture::ALL) {
        let name = format!("{}-image-{VERSION}-{}.cdx.json", image.name, arch.name());
        std::fs::rename(sbom, out.join(&name)).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(())
}

/// Creates the folder. Old files in it would get into the sums.
fn empty(out: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let used = std::fs::read_dir(out).with_context(|| format!("cannot read {}", out.display()))?.next().is_some();
    ensure!(
        !used,
        "the output folder is not empty\n  detail: {} has files.\n  hint:   remove it, or use --out FOLDER.",
        out.display()
    );
    Ok(())
}

fn write(out: &Path, name: &str, bytes: &[u8]) -> anyhow::Result<PathBuf> {
    let path = out.join(name);
    std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Writes the sums of all files, sorted by name, in the format of `sha256sum --check`.
fn sum(out: &Path) -> anyhow::Result<Vec<Artefact>> {
    let mut artefacts = Vec::new();
    for file in std::fs::read_dir(out)? {
        let file = file?;
        let bytes = std::fs::read(file.path()).with_context(|| format!("cannot read {}", file.path().display()))?;
        let sha256 = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let name = file.file_name().to_string_lossy().into_owned();
        artefacts.push(Artefact { name, sha256, bytes: u64::try_from(bytes.len())? });
    }
    artefacts.sort_by(|a, b| a.name.cmp(&b.name));
    let lines: Vec<String> = artefacts.iter().map(|one| format!("{}  {}\n", one.sha256, one.name)).collect();
    write(out, SUMS, lines.concat().as_bytes())?;
    Ok(artefacts)
}
