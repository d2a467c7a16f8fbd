//! Staleness and the made files, on made-up workspaces.

use xtask::workspace::{Crate, Dependency, File, Origin, Presence, Purpose};

use super::*;

fn made(path: &str, text: &str) -> GeneratedFile {
    GeneratedFile { path: path.to_owned(), text: text.to_owned() }
}

fn told(files: &[(&str, &str)], made: &[GeneratedFile]) -> Vec<String> {
    let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: Some((*text).to_owned()) };
    let workspace = Workspace { files: files.iter().map(file).collect(), ..Workspace::default() };
    stale(&workspace, made)
        .iter()
        .map(|problem| format!("{} {}: {}", problem.code, problem.what, problem.detail))
        .collect()
}

#[test]
fn a_fresh_file_is_not_mentioned() {
    assert!(told(&[("deploy/crds/a.yaml", "one\n")], &[made("deploy/crds/a.yaml", "one\n")]).is_empty());
}

#[test]
fn a_stale_file_is_told_with_the_first_line_that_differs() {
    let said = told(&[("docs/a.md", "one\ntwo\n")], &[made("docs/a.md", "one\nthree\n")]);
    assert_eq!(said, ["GEN01 docs/a.md is stale: line 2 is `two`, should be `three`."]);
    let said = told(&[("docs/a.md", "one\n")], &[made("docs/a.md", "one\ntwo\n")]);
    assert_eq!(said, ["GEN01 docs/a.md is stale: line 2 is nothing, should be `two`."]);
    let said = told(&[("docs/a.md", "one")], &[made("docs/a.md", "one\n")]);
    assert_eq!(said, ["GEN01 docs/a.md is stale: it differs in its line ends."]);
}

#[test]
fn a_missing_file_is_told() {
    let said = told(&[], &[made("docs/a.md", "one\n")]);
    assert!(said.iter().all(|said| said.starts_with("GEN02 docs/a.md is missing")) && said.len() == 1, "{said:?}");
}

#[test]
fn a_file_that_nothing_makes_is_stale_in_a_generated_folder_alone() {
    let said = told(&[("deploy/crds/old.yaml", ""), ("docs/old.md", "")], &[]);
    assert!(
        said.iter().all(|said| said.starts_with("GEN03 deploy/crds/old.yaml is stale")) && said.len() == 1,
        "{said:?}"
    );
}

#[test]
fn the_drawing_has_an_arrow_for_every_use_of_ours() {
    let uses =
        |name: &str, purpose, origin| Dependency { name: name.to_owned(), purpose, origin, presence: Presence::Always };
    let api = Crate {
        name: "mainstay-api".to_owned(),
        description: "The rim.".to_owned(),
        dependencies: vec![
            uses("mainstay-model", Purpose::Code, Origin::Ours),
            uses("testbed", Purpose::Tests, Origin::Ours),
            uses("serde", Purpose::Code, Origin::ThirdParty),
        ],
        ..Crate::default()
    };
    let model = Crate { name: "mainstay-model".to_owned(), ..Crate::default() };
    let page = crates::page(&[api, model]);
    let arrows: Vec<&str> =
        page.lines().filter(|line| line.starts_with("  mainstay") && line.contains("->")).map(str::trim).collect();
    assert_eq!(arrows, ["mainstay-api --> mainstay-model", "mainstay-api -.-> testbed"]);
    assert!(page.contains("| `mainstay-api` | edges | The rim. |"), "{page}");
    assert!(!page.contains("subgraph tools"), "a group without members is not drawn");
}
