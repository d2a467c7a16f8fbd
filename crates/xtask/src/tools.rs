//! What the task runner needs besides compilers, made once per machine in the cache: three cargo tools, built from source, and Python
//! environments. Compilers are not its business: `.ci/run` sees to those.

use std::env;
use std::ffi::OsString;
use std::iter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::command;
use crate::exit::Exit;
use crate::output;

/// A cold build on two busy cores takes about ten minutes.
const BUILD_LIMIT: Duration = Duration::from_secs(40 * 60);

/// A few megabytes; the rest is waiting for the network.
const PYTHON_LIMIT: Duration = Duration::from_mins(10);

/// A program that cargo can install.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    version: &'static str,
    flags: &'static [&'static str],
}

/// Runs the tests, each in a process of its own.
pub(crate) const NEXTEST: Tool = Tool {
    name: "cargo-nextest",
    version: "0.9.151",
    // Without the self-updater, which would bring a second TLS stack to compile.
    flags: &["--no-default-features", "--features", "default-no-update"],
};

/// Reads licences, bans and sources.
pub(crate) const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2", flags: &[] };

/// Changes code in one place at a time and runs the tests.
const MUTANTS: Tool = Tool { name: "cargo-mutants", version: "27.1.0", flags: &[] };

impl Tool {
    /// The program, built first where this machine does not have the wanted version.
    pub(crate) async fn ensure(&self) -> anyhow::Result<PathBuf> {
        let root = cache()?.join("tools");
        let program = root.join("bin").join(self.name);
        if self.is_installed(&root, &program).await? {
            return Ok(program);
        }
        output::note(format_args!("tools: building {} {}, once per machine", self.name, self.version));
        let mut cargo = command::cargo(&env::temp_dir());
        cargo.args(["install", "--quiet", "--locked", self.name, "--version", self.version]).args(self.flags);
        cargo.arg("--root").arg(&root);
        // Another build may hold the lock of the current target directory.
        cargo.env_remove("CARGO_TARGET_DIR");
        // They run for seconds, so the optimiser would cost more than it gives.
        cargo.envs([("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"), ("CARGO_PROFILE_RELEASE_LTO", "off")]);
        cargo.envs([("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"), ("CARGO_PROFILE_RELEASE_DEBUG", "0")]);
        match command::holds(&mut cargo, BUILD_LIMIT).await? {
            Exit::Holds => Ok(program),
            Exit::DoesNotHold | Exit::Usage | Exit::CouldNotRun => {
                bail!("cannot build {} {}; see the output of cargo above", self.name, self.version)
            }
        }
    }

    async fn is_installed(&self, root: &Path, program: &Path) -> anyhow::Result<bool> {
        if !program.is_file() {
            return Ok(false);
        }
        let mut cargo = command::cargo(&env::temp_dir());
        cargo.args(["install", "--list", "--root"]).arg(root);
        let listed = command::text(&mut cargo, Duration::from_secs(60)).await?;
        let wanted = format!("{} v{}:", self.name, self.version);
        Ok(listed.lines().any(|line| line == wanted))
    }
}

/// cargo-mutants, and the search path with which it finds cargo-nextest.
pub async fn mutants() -> anyhow::Result<(PathBuf, OsString)> {
    let nextest = NEXTEST.ensure().await?;
    let folder = nextest.parent().context("cargo-nextest is in no folder")?.to_owned();
    let known = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(iter::once(folder).chain(env::split_paths(&known)))?;
    Ok((MUTANTS.ensure().await?, path))
}

/// The folder of a Python environment with the packages of a list in `tools/python`.
pub async fn python(root: &Path, list: &str) -> anyhow::Result<PathBuf> {
    let mut script = command::program(root.join("tools/python/venv"), root);
    let home = command::text(script.arg(list), PYTHON_LIMIT).await?;
    Ok(PathBuf::from(home.trim()))
}

/// What outlives a checkout: `$XDG_CACHE_HOME`, else `~/.cache`, under `mainstay/`.
fn cache() -> anyhow::Result<PathBuf> {
    let absolute = |key| env::var_os(key).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    Ok(base.context("neither XDG_CACHE_HOME nor HOME is set to an absolute path")?.join("mainstay"))
}
