//! The web page in `ui`: its packages, what it is checked by, its build, and the tests that use it in a real browser.

use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::command;
use crate::exit::Exit;
use crate::workspace::Workspace;

/// Packages come over the network; everything else takes seconds.
const LIMIT: Duration = Duration::from_mins(10);
/// What is used as a person would, at the speed of a demo.
const BROWSER_LIMIT: Duration = Duration::from_mins(15);

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
    let mut cargo = command::cargo(&workspace.root);
    cargo.args(["build", "--quiet", "--package", "mainstay"]);
    if command::holds(&mut cargo, BROWSER_LIMIT).await? != Exit::Holds {
        return Ok(Exit::DoesNotHold);
    }
    let mut npm = command::program("npm", &workspace.root.join("ui"));
    npm.args(["run", "--silent", "e2e"]).env("MAINSTAY", workspace.target_dir.join("debug/mainstay"));
    if command::holds(&mut npm, BROWSER_LIMIT).await? != Exit::Holds {
        return Ok(Exit::DoesNotHold);
    }
    let mut cargo = command::cargo(&workspace.root);
    cargo.args(["test", "--quiet", "--package", "mainstay", "--test", "ui", "--", "--ignored"]);
    command::holds(&mut cargo, BROWSER_LIMIT).await
}

/// Builds the page alone: whoever measures a binary need not check it again.
pub(crate) async fn build(workspace: &Workspace) -> anyhow::Result<()> {
    packages(workspace).await?;
    let built = npm(workspace, &["run", "--silent", "build"], LIMIT).await?;
    ensure!(built == Exit::Holds, "the web page cannot be built; vite says why above");
    Ok(())
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
    ensure!(installed == Exit::Holds, "the packages of the web page cannot be installed; npm says why above");
    std::fs::write(stamp, wanted).context("cannot write into ui/node_modules")
}

async fn npm(workspace: &Workspace, words: &[&str], limit: Duration) -> anyhow::Result<Exit> {
    command::holds(command::program("npm", &workspace.root.join("ui")).args(words), limit).await
}
