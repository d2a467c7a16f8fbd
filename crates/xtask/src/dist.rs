//! `cargo xtask dist`: release builds of both programs, for each architecture, that are equal wherever they are built. `mainstay`
//! is static and embeds the web UI. The agent loads NVML at run time, which a static program cannot, so it is linked
//! with the GNU C library.

mod compilers;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::Serialize;

use crate::exit::Exit;
use crate::output::note;
use crate::workspace::Workspace;
use crate::{command, output, release, web_ui};

/// A cold build on two busy cores.
const BUILD_LIMIT: Duration = Duration::from_mins(60);
/// Reading a version; cargo may wait for another cargo.
const READ_LIMIT: Duration = Duration::from_mins(5);
/// Time of the files in the binary: 1 January 2020. The time of the commit would compile every C library again for each commit, because
/// their build scripts depend on it. The web server does not serve it.
const EMBEDDED_FILES_AT: &str = "1577836800";

/// Architecture and form of the static binary.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Architecture of the binary.
    #[arg(long, value_enum, default_value_t = Architecture::X86_64)]
    arch: Architecture,
    /// Pack the binary as a release tarball.
    #[arg(long)]
    tarball: bool,
}

/// A processor architecture that Mainstay is released for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
pub enum Architecture {
    /// 64-bit x86
    #[value(name = "x86_64")]
    #[serde(rename = "x86_64")]
    X86_64,
    /// 64-bit ARM, as in GB200 nodes
    #[value(name = "aarch64")]
    #[serde(rename = "aarch64")]
    Aarch64,
}

/// A released program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// Command line and controller.
    Mainstay,
    /// Node agent.
    Agent,
}

// === impl Architecture ===

impl Architecture {
    /// Every architecture of a release.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// As in file names and in `uname -m`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// As in OCI images and Debian packages.
    pub const fn oci(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }
}

// === impl Program ===

impl Program {
    pub(crate) const ALL: [Self; 2] = [Self::Mainstay, Self::Agent];

    /// Name of the package, of the binary and of the image.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mainstay => "mainstay",
            Self::Agent => "mainstay-agent",
        }
    }

    /// Rust's name of the platform that the program is built for.
    pub(crate) const fn target(self, arch: Architecture) -> &'static str {
        match (self, arch) {
            (Self::Mainstay, Architecture::X86_64) => "x86_64-unknown-linux-musl",
            (Self::Mainstay, Architecture::Aarch64) => "aarch64-unknown-linux-musl",
            (Self::Agent, Architecture::X86_64) => "x86_64-unknown-linux-gnu",
            (Self::Agent, Architecture::Aarch64) => "aarch64-unknown-linux-gnu",
        }
    }
}

/// Builds the binary or the tarball, and prints its path.
pub(crate) async fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<Exit> {
    let path = if args.tarball {
        release::tarball(workspace, args.arch).await?
    } else {
        compilers::check(&[(Program::Mainstay, args.arch)])?;
        build(workspace, Program::Mainstay, args.arch).await?
    };
    output::line(format_args!("{}", path.strip_prefix(&workspace.root).unwrap_or(&path).display()))?;
    Ok(Exit::Holds)
}

/// Checks that the compilers of these builds are installed, so that a missing one costs seconds and not half a build.
pub(crate) fn check(builds: &[(Program, Architecture)]) -> anyhow::Result<()> {
    compilers::check(builds)
}

/// Builds the static binary for x86-64 and returns its path.
pub async fn binary(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    compilers::check(&[(Program::Mainstay, Architecture::X86_64)])?;
    build(workspace, Program::Mainstay, Architecture::X86_64).await
}

/// Builds a program and returns its path.
pub(crate) async fn build(workspace: &Workspace, program: Program, arch: Architecture) -> anyhow::Result<PathBuf> {
    let (root, name, target) = (&workspace.root, program.name(), program.target(arch));
    if program == Program::Mainstay {
        web_ui::build(workspace).await?;
    }
    add_target(root, target).await?;
    note(format_args!("dist: building {name} for {target}"));
    let mut cargo = command::cargo(root);
    // Settings of the developer must not change the result.
    for (key, _) in env::vars_os() {
        if key.to_str().is_some_and(|key| key.starts_with("CARGO_PROFILE_") || key.ends_with("FLAGS")) {
            cargo.env_remove(key);
        }
    }
    cargo.args(["build", "--release", "--quiet", "--locked", "--package", name, "--target", target]);
    cargo.env("CARGO_TARGET_DIR", &workspace.target_dir).env("CARGO_INCREMENTAL", "0");
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(root, target).await?.join("\u{1f}"));
    cargo.env("SOURCE_DATE_EPOCH", EMBEDDED_FILES_AT);
    cargo.envs(compilers::settings());
    let built = command::holds(&mut cargo, BUILD_LIMIT).await?;
    ensure!(built == Exit::Holds, "{name} cannot be built for {target}; see the output of cargo above");
    Ok(workspace.target_dir.join(target).join("release").join(name))
}

/// Installs Rust's standard library for a target unless it is there. rustup does so by itself only where
/// `RUSTUP_AUTO_INSTALL` allows it.
pub async fn add_target(root: &Path, target: &str) -> anyhow::Result<()> {
    let mut rustc = command::program("rustc", root);
    let library = command::text(rustc.args(["--print", "target-libdir", "--target", target]), READ_LIMIT).await?;
    if Path::new(library.trim()).is_dir() {
        return Ok(());
    }
    let mut rustup = command::program("rustup", root);
    let added = command::holds(rustup.args(["target", "add", target]), READ_LIMIT).await;
    ensure!(
        added.is_ok_and(|added| added == Exit::Holds),
        "the compiler cannot build for {target}\n  detail: {} does not exist.\n  hint:   rustup target add {target}",
        library.trim()
    );
    Ok(())
}

/// Compiler flags that replace the folders of this machine in panic messages: sources of crates and of the standard
/// library. Files of the workspace are compiled by their relative paths.
async fn flags(root: &Path, target: &str) -> anyhow::Result<Vec<String>> {
    let mut fetch = command::cargo(root);
    let fetched = command::holds(fetch.args(["fetch", "--locked", "--quiet", "--target", target]), BUILD_LIMIT).await?;
    ensure!(fetched == Exit::Holds, "the crates cannot be downloaded; see the output of cargo above");
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home =
        home.or_else(|| env::home_dir().map(|home| home.join(".cargo"))).context("neither CARGO_HOME nor HOME")?;
    let sources = home.join("registry/src");
    let folders = std::fs::read_dir(&sources).with_context(|| format!("cannot read {}", sources.display()))?;
    let mut folders = folders.map(|folder| Ok(folder?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    folders.sort();
    let mut rustc = command::program("rustc", root);
    let version = command::text(rustc.arg("-vV"), READ_LIMIT).await?;
    let hash = version.lines().find_map(|line| line.strip_prefix("commit-hash: ")).context("rustc -vV has no hash")?;
    let mut rustc = command::program("rustc", root);
    let sysroot = command::text(rustc.args(["--print", "sysroot"]), READ_LIMIT).await?;
    let library = Path::new(sysroot.trim()).join("lib/rustlib/src/rust");
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags: Vec<String> = folders.iter().map(|folder| remap(folder, "/registry")).collect();
    flags.push(remap(&library, &format!("/rustc/{hash}")));
    Ok(flags)
}
