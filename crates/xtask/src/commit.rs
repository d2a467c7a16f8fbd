//! The commit that a release or an image is made from: its hash, and its time as the time of everything that is built.

use std::time::Duration;

use anyhow::Context;

use crate::command;
use crate::workspace::Workspace;

pub(crate) const GIT_LIMIT: Duration = Duration::from_mins(1);

/// Git writes local time, so its time zone is set as well.
const UTC: &str = "--date=format-local:%Y-%m-%dT%H:%M:%SZ";

/// The commit of the checkout.
#[derive(Debug, Clone)]
pub(crate) struct Commit {
    /// Hash, with a suffix if tracked files have changed since.
    pub(crate) revision: String,
    /// Time of the commit, in seconds since the Unix epoch.
    pub(crate) seconds: i64,
    /// The same time in UTC, as RFC 3339.
    pub(crate) at: String,
}

impl Commit {
    pub(crate) async fn read(workspace: &Workspace) -> anyhow::Result<Self> {
        let git = async |words: &[&str]| {
            let mut git = command::program("git", &workspace.root);
            command::text(git.env("TZ", "UTC").args(words), GIT_LIMIT).await.map(|text| text.trim().to_owned())
        };
        let revision = git(&["rev-parse", "HEAD"]).await?;
        let dirty = !git(&["status", "--porcelain", "--untracked-files=no"]).await?.is_empty();
        let time = git(&["show", "--no-patch", "--format=%ct %cd", UTC, "HEAD"]).await?;
        let (seconds, at) = time.split_once(' ').context("git shows no time of the commit")?;
        let (seconds, at) = (seconds.parse()?, at.to_owned());
        let revision = if dirty { format!("{revision}-changed") } else { revision };
        Ok(Self { revision, seconds, at })
    }
}
