//! The rule that every relative link in the documents leads somewhere: the file exists, and so does the heading.
//! Links to the web are not followed.

use std::collections::BTreeSet;
use std::path::Path;

use crate::problem::Problem;
use crate::workspace::{File, Workspace};

/// All broken links.
pub(super) fn problems(workspace: &Workspace) -> Vec<Problem> {
    let documents = workspace.files.iter().filter(|file| file.path.ends_with(".md"));
    documents.flat_map(|file| of_document(workspace, file)).collect()
}

fn of_document(workspace: &Workspace, file: &File) -> Vec<Problem> {
    let text = file.text.as_deref().unwrap_or_default();
    let mut problems = Vec::new();
    for (number, link) in links(text) {
        if let Some(why) = broken(workspace, &file.path, &link) {
            problems.push(Problem {
                code: "TIDY09",
                what: format!("{}:{number} links to {link}", file.path),
                detail: why,
                hint: "correct the link, or remove it.".to_owned(),
            });
        }
    }
    problems
}

/// Why a link leads nowhere, if it does.
fn broken(workspace: &Workspace, from: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() {
        from.to_owned()
    } else {
        let Some(target) = resolve(from, path) else {
            return Some("it leaves the repository.".to_owned());
        };
        target
    };
    let inside = format!("{target}/");
    let exists =
        target.is_empty() || workspace.files.iter().any(|file| file.path == target || file.path.starts_with(&inside));
    if !exists {
        return Some(format!("there is no {target} in the repository."));
    }
    if anchor.is_empty() || !target.ends_with(".md") {
        return None;
    }
    let known = anchors(workspace.text(&target).unwrap_or_default());
    (!known.contains(anchor)).then(|| format!("{target} has no heading #{anchor}."))
}

/// A link's path seen from the root; nothing where it climbs out of it.
fn resolve(from: &str, path: &str) -> Option<String> {
    let folder = Path::new(from).parent().and_then(Path::to_str).unwrap_or_default();
    let (start, path) = match path.strip_prefix('/') {
        Some(path) => ("", path),
        None => (folder, path),
    };
    let mut parts: Vec<&str> = start.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The lines of a document outside fenced code, with inline code blanked, each with its number.
fn prose(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut fence: Option<&str> = None;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(_)) => fence = mark,
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => return Some((number, without_code(line))),
            (Some(_), _) => {}
        }
        None
    })
}

fn without_code(line: &str) -> String {
    let pieces: Vec<&str> = line.split('`').collect();
    let closed = pieces.len() % 2 == 1;
    let outside = pieces.iter().enumerate().filter(|(at, _)| !closed || at % 2 == 0);
    outside.map(|(_, piece)| *piece).collect::<Vec<_>>().join(" ")
}

/// Targets of `[text](target)` and `[name]: target`.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        for (at, mark) in line.match_indices("](") {
            let rest = line.get(at + mark.len()..).unwrap_or_default();
            if let Some(inside) = rest.split(')').next() {
                // A title may follow the target.
                let target = inside.split_whitespace().next().unwrap_or_default();
                links.push((number, target.trim_matches(['<', '>']).to_owned()));
            }
        }
        if let Some((name, target)) = line.split_once("]: ")
            && name.starts_with('[')
        {
            links.push((number, target.trim().trim_matches(['<', '>']).to_owned()));
        }
    }
    links.retain(|(_, link)| !link.is_empty());
    links
}

/// The anchors that the usual renderers give a document: one per heading, and `id`s written by hand.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut fence = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fence = !fence;
        }
        if fence {
            continue;
        }
        if let Some(id) = line.split("id=\"").nth(1).and_then(|rest| rest.split('"').next()) {
            anchors.insert(id.to_owned());
        }
        if line.starts_with('#') && line.trim_start_matches('#').starts_with(' ') {
            let slug = slug(line.trim_start_matches('#'));
            let mut name = slug.clone();
            for again in 1.. {
                if anchors.insert(name.clone()) {
                    break;
                }
                name = format!("{slug}-{again}");
            }
        }
    }
    anchors
}

fn slug(heading: &str) -> String {
    let lower = heading.trim().to_lowercase();
    let kept = lower.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
