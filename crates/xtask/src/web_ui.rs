//! The web UI in `ui`: its packages, its checks, its build, and its tests in a real browser.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, ensure};

use crate::command;
use crate::exit::Exit;
use crate::workspace::Workspace;

/// Packages come over the network; everything else takes seconds.
const LIMIT: Duration = Duration::from_mins(10);
/// The tests click as a user would, at the speed of a demo.
const BROWSER_LIMIT: Duration = Duration::from_mins(15);

/// In `ui`, and nothing that the page is made of.
const NOT_ITS_SOURCE: [&str; 3] = ["dist", "e2e", "node_modules"];

/// Types and tests hold, and the page that the binary carries is built.
pub(crate) async fn check(workspace: &Workspace) -> anyhow::Result<Exit> {
    packages(workspace).await?;
    for script in ["check", "test", "build"] {
        if npm(workspace, &["run", "--silent", script], LIMIT).await? != Exit::Holds {
            return Ok(Exit::DoesNotHold);
        }
    }
    Ok(Exit::Holds)
}

/// The page does what it should in a browser, against a demo of the binary as it is built for tests and a real cluster.
pub(crate) async fn browser(workspace: &Workspace) -> anyhow::Result<Exit> {
    packages(workspace).await?;
    let mainstay = command::debug_program(workspace, "mainstay").await?;
    let mut npm = command::program("npm", &workspace.root.join("ui"));
    npm.args(["run", "--silent", "e2e"]).env("MAINSTAY", mainstay);
    if command::holds(&mut npm, BROWSER_LIMIT).await? != Exit::Holds {
        return Ok(Exit::DoesNotHold);
    }
    let mut cargo = command::cargo(&workspace.root);
    cargo.args(["test", "--quiet", "--workspace", "--test", "ui", "--", "--ignored"]);
    command::holds(&mut cargo, BROWSER_LIMIT).await
}

/// Builds the web UI only if a source is newer than the build. A proof that measures the binary needs no check of the UI, and a
/// rewritten UI would cause a new build of the binary.
pub(crate) async fn build(workspace: &Workspace) -> anyhow::Result<()> {
    packages(workspace).await?;
    let ui = workspace.root.join("ui");
    if let Ok(built) = std::fs::metadata(ui.join("dist/index.html")) {
        let entries = std::fs::read_dir(&ui)?.collect::<Result<Vec<_>, _>>()?;
        let sources = entries.iter().filter(|entry| !NOT_ITS_SOURCE.iter().any(|name| entry.file_name() == *name));
        let changed = sources.map(|source| changed_at(&source.path())).collect::<io::Result<Vec<_>>>()?;
        let built_at = built.modified()?;
        if changed.iter().all(|at| *at < built_at) {
            return Ok(());
        }
    }
    let built = npm(workspace, &["run", "--silent", "build"], LIMIT).await?;
    ensure!(built == Exit::Holds, "the web UI cannot be built; see the output of vite above");
    Ok(())
}

/// When a file, or anything in a folder, was last written.
fn changed_at(path: &Path) -> io::Result<SystemTime> {
    let about = std::fs::metadata(path)?;
    let mut at = about.modified()?;
    if about.is_dir() {
        for entry in std::fs::read_dir(path)? {
            at = at.max(changed_at(&entry?.path())?);
        }
    }
    Ok(at)
}

/// Installs exactly what the lock file names, where that is not there yet.
async fn packages(workspace: &Workspace) -> anyhow::Result<()> {
    let ui = workspace.root.join("ui");
    let wanted = std::fs::read(ui.join("package-lock.json")).context("cannot read ui/package-lock.json")?;
    let stamp = ui.join("node_modules/.mainstay-lock");
    if std::fs::read(&stamp).is_ok_and(|known| known == wanted) {
        return Ok(());
    }
    let installed = npm(workspace, &["ci", "--no-audit", "--no-fund"], LIMIT).await?;
    ensure!(installed == Exit::Holds, "the packages of the web UI cannot be installed; see the output of npm above");
    std::fs::write(stamp, wanted).context("cannot write into ui/node_modules")
}

async fn npm(workspace: &Workspace, words: &[&str], limit: Duration) -> anyhow::Result<Exit> {
    command::holds(command::program("npm", &workspace.root.join("ui")).args(words), limit).await
}
