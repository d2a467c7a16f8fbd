//! A copy of this workspace that a test may break. There is one at a time: it lies in the target directory and is
//! brought back to the original before each use, file by file, so that cargo builds again only what a test touched.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::process::Command;
use tokio::time::timeout;

/// The first run may have to compile every dependency on two busy cores.
const LIMIT: Duration = Duration::from_secs(18 * 60);

/// The copy, for as long as this test holds it.
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
    _held: File,
}

/// Exit code and output of `cargo xtask check`.
pub(crate) struct CheckOutput {
    pub(crate) code: Option<i32>,
    /// Everything it wrote.
    pub(crate) said: String,
}

impl Workspace {
    /// Waits for its turn and brings the copy back to the original.
    pub(crate) async fn copied() -> anyhow::Result<Workspace> {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("task_runner");
        let root = scratch.join("workspace");
        fs::create_dir_all(&root)?;
        let held = File::create(scratch.join("lock"))?;
        // nextest bounds the wait, and runs these tests one at a time anyway; cargo test does not.
        held.lock()?;

        let target = scratch.join("target");
        if !target.exists() {
            seed(&target).await?;
        }
        restore(&root).await?;
        Ok(Workspace { root, target, _held: held })
    }

    /// Replaces the first `from` in a file, which must be there.
    pub(crate) fn replace(&self, path: &str, from: &str, to: &str) -> anyhow::Result<()> {
        let path = self.root.join(path);
        let text = fs::read_to_string(&path)?;
        ensure!(text.contains(from), "{} does not contain {from:?}", path.display());
        Ok(fs::write(&path, text.replacen(from, to, 1))?)
    }

    /// Adds to the end of a file, which need not be there.
    pub(crate) fn append(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let path = self.root.join(path);
        let before = fs::read_to_string(&path).unwrap_or_default();
        Ok(fs::write(&path, before + text)?)
    }

    /// Runs `cargo xtask check --only` in the copy, with the xtask that was built for this test. The step `gen` builds the
    /// generators of the copy; only what a test broke is compiled again.
    pub(crate) async fn check(&self, steps: &str) -> anyhow::Result<CheckOutput> {
        let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
        xtask.args(["check", "--only", steps]);
        self.run(xtask).await
    }

    async fn run(&self, mut cargo: Command) -> anyhow::Result<CheckOutput> {
        cargo.current_dir(&self.root).stdin(Stdio::null()).kill_on_drop(true);
        for (key, _) in std::env::vars().filter(|(key, _)| key.starts_with("CARGO") || key.starts_with("NEXTEST")) {
            if key != "CARGO_HOME" {
                cargo.env_remove(key);
            }
        }
        cargo.env("CARGO_TARGET_DIR", &self.target).env("CARGO_INCREMENTAL", "0").env("CARGO_TERM_COLOR", "never");
        // What this test was built from is here; nothing else is needed.
        cargo.env("CARGO_NET_OFFLINE", "true");
        let output = timeout(LIMIT, cargo.output()).await.context("the check takes too long")??;
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        Ok(CheckOutput { code: output.status.code(), said })
    }
}

/// Makes the copy equal to the original: files that git tracks or would track. A file that is equal already is not
/// touched, because a new time of change would build its crate again.
async fn restore(root: &Path) -> anyhow::Result<()> {
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let listed = git(&original, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).await?;
    let paths: BTreeSet<&str> =
        listed.split('\0').filter(|path| !path.is_empty() && original.join(path).is_file()).collect();
    for path in &paths {
        let (from, to) = (original.join(path), root.join(path));
        let bytes = fs::read(&from)?;
        if fs::read(&to).ok().as_deref() != Some(&bytes) {
            fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
            fs::copy(&from, &to)?;
        }
    }
    if !root.join(".git").exists() {
        git(root, &["init", "--quiet"]).await?;
    }
    for path in git(root, &["ls-files", "-z", "--others"]).await?.split('\0').filter(|path| !path.is_empty()) {
        if !paths.contains(path) {
            fs::remove_file(root.join(path))?;
        }
    }
    Ok(())
}

async fn git(folder: &Path, words: &[&str]) -> anyhow::Result<String> {
    let mut git = Command::new("git");
    git.args(words).current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(Duration::from_secs(60), git.output()).await.context("git takes too long")??;
    ensure!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Fills the copy's target directory with what is compiled already, so that a fresh machine does not compile every
/// dependency twice. Cargo decides by itself what of it is usable; its lock keeps out half-written files. Programs stay
/// behind: the copy links its own, and those of all tests together fill a disk.
async fn seed(target: &Path) -> anyhow::Result<()> {
    let compiled =
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().context("the scratch folder lies in the target directory")?;
    for profile in ["debug", "pure/debug"] {
        let (from, to) = (compiled.join(profile), target.join(profile));
        let Ok(lock) = File::open(from.join(".cargo-lock")) else { continue };
        lock.lock_shared()?;
        fs::create_dir_all(to.join("deps"))?;
        for part in [".fingerprint", "build"] {
            let mut cp = Command::new("cp");
            cp.args(["--archive", "--reflink=auto"]).arg(from.join(part)).arg(&to);
            succeeds(cp).await?;
        }
        let mut find = Command::new("find");
        find.arg(from.join("deps"))
            .args(["-maxdepth", "1", "-type", "f", "-name", "*.*"])
            .args(["-exec", "cp", "--archive", "--reflink=auto", "--target-directory"])
            .arg(to.join("deps"))
            .args(["{}", "+"]);
        succeeds(find).await?;
    }
    Ok(())
}

async fn succeeds(mut command: Command) -> anyhow::Result<()> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let status = timeout(LIMIT, command.status()).await.with_context(|| format!("{command:?} takes too long"))??;
    ensure!(status.success(), "{command:?} ends with {status}");
    Ok(())
}
