//! A release from two clean clones in different folders. The files must be equal, the sums and the signature must
//! verify, and a changed sum must not. Helm renders the packaged chart. Both images are unpacked and run for both
//! architectures, aarch64 under QEMU.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tempfile::TempDir;
use testbed::Helm;

use xtask::dist::Architecture;
use xtask::exit::Exit;
use xtask::images::layout;
use xtask::{command, output};

use crate::prove::{Context, Measurement};

const SHORT: Duration = Duration::from_mins(2);
const RELEASE_LIMIT: Duration = Duration::from_mins(110);
const EMULATOR: &str = "qemu-aarch64";
const IMAGES: [(&str, &str); 2] = [("mainstay", "version"), ("mainstay-agent", "--version")];

pub(super) async fn measure(context: &Context) -> anyhow::Result<Measurement> {
    // Not in the temporary folder of the machine, which may be small: a clone and its builds need several gigabytes.
    std::fs::create_dir_all(&context.workspace.target_dir)?;
    let folder = TempDir::new_in(&context.workspace.target_dir)?;
    let (secret, public) = keys(folder.path()).await?;
    let first = release(context, &folder.path().join("first"), &secret).await?;
    let second = release(context, &folder.path().join("the-second-clone"), &secret).await?;
    let names = files(&first)?;
    ensure!(names == files(&second)?, "the releases have other files: {names:?} and {:?}", files(&second)?);
    let mut differ = Vec::new();
    for name in &names {
        if std::fs::read(first.join(name))? != std::fs::read(second.join(name))? {
            differ.push(name.as_str());
        }
    }
    for name in &differ {
        output::note(format_args!("differs: {name}"));
    }
    verify(&first, &public).await?;
    chart(context, &first).await?;
    for (image, argument) in IMAGES {
        for arch in Architecture::ALL {
            let printed = run(folder.path(), &first, image, arch, argument).await?;
            output::note(format_args!("{image} {}: {}", arch.name(), printed.trim()));
            ensure!(printed.contains(env!("CARGO_PKG_VERSION")), "another version: {printed}");
        }
    }
    let detail = format!("{} files; sums and signature verified; 2 images run on 2 architectures", names.len());
    Ok(Measurement { value: i64::try_from(differ.len())?, detail })
}

/// A key pair without a password, for this run.
async fn keys(folder: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    let (secret, public) = (folder.join("test.key"), folder.join("test.pub"));
    let mut minisign = command::program("minisign", folder);
    minisign.args(["-G", "-W", "-s"]).arg(&secret).arg("-p").arg(&public);
    command::text(&mut minisign, SHORT).await.context("minisign cannot create a key")?;
    Ok((secret, public))
}

/// Clones the checkout, runs `cargo xtask release` in the clone and returns the folder of the release.
async fn release(context: &Context, clone: &Path, secret: &Path) -> anyhow::Result<PathBuf> {
    let mut git = command::program("git", &context.workspace.root);
    git.args(["clone", "--quiet", "--no-local", "."]).arg(clone);
    command::text(&mut git, SHORT).await?;
    let out = clone.join("target/dist/release");
    let mut cargo = command::cargo(clone);
    // The target folder is the clone's own.
    cargo.env_remove("CARGO_TARGET_DIR").args(["xtask", "release", "--out"]).arg(&out).arg("--sign-key").arg(secret);
    let made = command::holds(&mut cargo, RELEASE_LIMIT).await?;
    ensure!(made == Exit::Holds, "no release from {}; see the output above", clone.display());
    Ok(out)
}

fn files(folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    let files = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    files.map(|file| Ok(file?.file_name().to_string_lossy().into_owned())).collect()
}

/// Verifies as docs/contribute/releasing.md describes it for users.
async fn verify(release: &Path, public: &Path) -> anyhow::Result<()> {
    let check = async |folder: &Path| {
        let mut minisign = command::program("minisign", folder);
        command::text(minisign.arg("-V").arg("-p").arg(public).args(["-m", "SHA256SUMS"]), SHORT).await
    };
    check(release).await.context("the signature does not verify")?;
    let mut sums = command::program("sha256sum", release);
    command::text(sums.args(["--check", "--strict", "SHA256SUMS"]), SHORT).await.context("a sum does not verify")?;
    let changed = TempDir::new()?;
    let text = std::fs::read_to_string(release.join("SHA256SUMS"))?;
    std::fs::write(changed.path().join("SHA256SUMS"), text.replacen('0', "1", 1))?;
    std::fs::copy(release.join("SHA256SUMS.minisig"), changed.path().join("SHA256SUMS.minisig"))?;
    ensure!(check(changed.path()).await.is_err(), "a changed file verifies");
    Ok(())
}

/// Helm renders the packaged chart as it renders the folder.
async fn chart(context: &Context, release: &Path) -> anyhow::Result<()> {
    let (helm, home) = (Helm::ensure().await?, TempDir::new()?);
    let packaged = release.join(format!("mainstay-chart-{}.tgz", env!("CARGO_PKG_VERSION")));
    let folder = context.workspace.root.join("deploy/chart/mainstay");
    let mut rendered = Vec::new();
    for chart in [packaged, folder] {
        let chart = chart.to_str().context("a path that is not UTF-8")?.to_owned();
        rendered.push(helm.run(home.path(), None, &["template", "mainstay", &chart, "--include-crds"]).await?);
    }
    ensure!(rendered.first() == rendered.last(), "Helm renders the package otherwise than the folder");
    Ok(())
}

/// Unpacks an image and runs its entry point.
async fn run(scratch: &Path, release: &Path, image: &str, arch: Architecture, word: &str) -> anyhow::Result<String> {
    let (layout, root) = (TempDir::new_in(scratch)?, TempDir::new_in(scratch)?);
    let archive = release.join(format!("{image}-image-{}.tar", env!("CARGO_PKG_VERSION")));
    let mut tar = command::program("tar", layout.path());
    command::text(tar.arg("--extract").arg("--file").arg(&archive), SHORT).await?;
    let runs = layout::unpack(layout.path(), arch, root.path())?;
    let mut program = match arch {
        Architecture::X86_64 => {
            let mut chroot = command::program("chroot", root.path());
            chroot.arg(root.path()).arg(&runs.entrypoint);
            chroot
        }
        // The loader finds libraries under the given root only: this machine has none for aarch64 in the usual folders.
        Architecture::Aarch64 => {
            let mut emulator = command::program(EMULATOR, root.path());
            emulator.arg("-L").arg(root.path()).arg(root.path().join(runs.entrypoint.trim_start_matches('/')));
            emulator
        }
    };
    command::text(program.arg(word), SHORT).await
}
