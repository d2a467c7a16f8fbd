//! Limits of banned words in comments, per file, in `rustdoc_limits.tsv`. A limit can only fall: a file above its limit is
//! refused, and a file below it asks for a lower limit. Files that are not listed have limit 0.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::Context;

use crate::workspace::Workspace;

/// The committed limits.
pub(crate) const PATH: &str = "crates/xtask/src/tidy/rustdoc_limits.tsv";

const HEAD: &str =
    "# Most banned words in the comments of a file. Limits only fall; `cargo xtask tidy --fix` lowers them.\n";

/// Limits by path.
pub(crate) type Limits = BTreeMap<String, usize>;

/// Reads the limits of a workspace; no file, no limits.
pub(crate) fn read(workspace: &Workspace) -> anyhow::Result<Limits> {
    parse(workspace.text(PATH).unwrap_or_default())
}

pub(super) fn parse(text: &str) -> anyhow::Result<Limits> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|(line, number)| {
            let (path, limit) = line.split_once('\t').with_context(|| format!("{PATH}:{number} has no tab"))?;
            Ok((path.to_owned(), limit.parse().with_context(|| format!("{PATH}:{number} has no number"))?))
        })
        .collect()
}

/// Limits lowered to what was counted; never raised. Files without banned words need no line.
pub(super) fn lowered(limits: &Limits, counts: &Limits) -> Limits {
    let count = |path: &String| counts.get(path).copied().unwrap_or_default();
    let lowered = limits.iter().map(|(path, limit)| (path.clone(), count(path).min(*limit)));
    lowered.filter(|(_, limit)| *limit > 0).collect()
}

/// The file as text.
pub(super) fn render(limits: &Limits) -> String {
    let mut text = HEAD.to_owned();
    for (path, limit) in limits {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{path}\t{limit}");
    }
    text
}
