//! CHANGELOG.md from the fragments in `changelog.d`. Fragments of a version that already has a section are added to it,
//! so a branch that is merged late needs no manual edit.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};

use crate::workspace::Workspace;

/// The changelog, relative to the root.
pub(super) const PATH: &str = "CHANGELOG.md";
const FOLDER: &str = "changelog.d/";
/// Suffix of a fragment and title of its part, in the order of the changelog.
const KINDS: [(&str, &str); 5] =
    [("added", "Added"), ("changed", "Changed"), ("fixed", "Fixed"), ("removed", "Removed"), ("security", "Security")];
const PREAMBLE: &str = "# Changelog\n\nUser-visible changes of each release, newest first.\n";

/// Items of one version, by the position of their kind.
type Section = BTreeMap<usize, Vec<String>>;

/// The changelog with all fragments. `time` begins with the date, as RFC 3339 does.
pub(super) fn of(workspace: &Workspace, version: &str, time: &str) -> anyhow::Result<String> {
    let date = time.get(..10).context("a time without a date")?;
    merge(workspace.text(PATH), version, date, &fragments(workspace))
}

/// Path and text of each fragment, sorted by path.
pub(super) fn fragments(workspace: &Workspace) -> Vec<(&str, &str)> {
    let files =
        workspace.files.iter().filter(|file| file.path.starts_with(FOLDER) && !file.path.ends_with("README.md"));
    files.filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?))).collect()
}

fn merge(known: Option<&str>, version: &str, date: &str, fragments: &[(&str, &str)]) -> anyhow::Result<String> {
    if fragments.is_empty() {
        return known.map(str::to_owned).context("there is neither a CHANGELOG.md nor a fragment in changelog.d");
    }
    let known = known.unwrap_or(PREAMBLE);
    let (preamble, rest) = known.split_at(known.find("\n## ").map_or(known.len(), |at| at + 1));
    let is_this = |heading: &str| heading.split([' ', ',']).nth(1) == Some(version);
    let (this, older) = match rest.lines().next() {
        Some(heading) if is_this(heading) => rest.split_at(rest.find("\n## ").map_or(rest.len(), |at| at + 1)),
        Some(_) | None => ("", rest),
    };
    let mut section = parse(this)?;
    for (path, text) in fragments {
        section.entry(kind(path)?).or_default().push(item(text));
    }
    let mut text = format!("{}\n\n## {version}, {date}\n", preamble.trim_end());
    for (kind, items) in &section {
        let title = KINDS.get(*kind).map_or("", |(_, title)| *title);
        text.push_str(&format!("\n### {title}\n\n{}", items.concat()));
    }
    if !older.is_empty() {
        text.push('\n');
        text.push_str(older);
    }
    Ok(text)
}

/// Reads the items of a section.
fn parse(text: &str) -> anyhow::Result<Section> {
    let (mut section, mut current) = (Section::new(), None);
    for line in text.lines().skip(1) {
        if let Some(title) = line.strip_prefix("### ") {
            let kind = KINDS.iter().position(|(_, known)| *known == title);
            current = Some(kind.with_context(|| format!("{PATH} has a part with the unknown title {title}"))?);
        } else if !line.is_empty() {
            let kind = current.with_context(|| format!("{PATH} has a line before the first part: {line}"))?;
            let items = section.entry(kind).or_default();
            if line.starts_with("- ") {
                items.push(String::new());
            }
            let item = items.last_mut().with_context(|| format!("{PATH} has a line outside of an item: {line}"))?;
            item.push_str(&format!("{line}\n"));
        }
    }
    Ok(section)
}

/// A fragment as an item of a list. Links lead from the root instead of from `changelog.d`.
fn item(text: &str) -> String {
    let text = text.trim().replace("](../", "](");
    format!("- {}\n", text.replace('\n', "\n  "))
}

/// The kind of a fragment, from `NAME.KIND.md`.
fn kind(path: &str) -> anyhow::Result<usize> {
    let name = path.trim_start_matches(FOLDER);
    let parts: Vec<&str> = name.split('.').collect();
    ensure!(parts.len() == 3, "{path} is not named NAME.KIND.md; changelog.d/README.md lists the kinds");
    match KINDS.iter().position(|(suffix, _)| parts.get(1) == Some(suffix)) {
        Some(kind) => Ok(kind),
        None => bail!("{path} has an unknown kind; changelog.d/README.md lists the kinds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAGMENTS: [(&str, &str); 2] =
        [("changelog.d/a.fixed.md", "One\nand [two](../docs/x.md).\n"), ("changelog.d/b.added.md", "Three.\n")];
    const FIRST: &str = "# Changelog\n\nUser-visible changes of each release, newest first.\n\n## 0.2.0, 2026-11-16\n\n### \
                         Added\n\n- Three.\n\n### Fixed\n\n- One\n  and [two](docs/x.md).\n";

    #[test]
    fn fragments_become_a_section_by_kind() {
        assert_eq!(merge(None, "0.2.0", "2026-11-16", &FRAGMENTS).unwrap(), FIRST);
    }

    #[test]
    fn late_fragments_join_the_section_of_their_version() {
        let late = [("changelog.d/c.fixed.md", "Four.\n")];
        let text = merge(Some(FIRST), "0.2.0", "2026-11-17", &late).unwrap();
        assert_eq!(text, FIRST.replace("11-16", "11-17") + "- Four.\n");
    }

    #[test]
    fn a_new_version_comes_before_the_older_one() {
        let text = merge(Some(FIRST), "0.3.0", "2026-12-01", &FRAGMENTS[1..]).unwrap();
        let (new, old) = text.split_once("\n## 0.2.0").unwrap();
        assert!(new.ends_with("## 0.3.0, 2026-12-01\n\n### Added\n\n- Three.\n"), "{new}");
        assert!(FIRST.ends_with(&format!("## 0.2.0{old}")), "{old}");
        assert_eq!(merge(Some(&text), "0.3.0", "2026-12-02", &[]).unwrap(), text, "nothing to add changes nothing");
    }

    #[test]
    fn a_fragment_of_an_unknown_kind_is_an_error() {
        for path in ["changelog.d/x.better.md", "changelog.d/x.md"] {
            assert!(merge(None, "0.2.0", "2026-11-16", &[(path, "x")]).is_err(), "{path}");
        }
    }
}
