//! Each rule is shown to fail on a small made-up workspace, and to pass on its corrected twin.

use super::layers::{DependencyRule, Layer, MAP};
use super::*;
use crate::workspace::{Crate, Dependency, File, Origin, Presence, Purpose};

const GOOD_MANIFEST: &str = "\
[package]
name = \"x\"
version.workspace = true
edition.workspace = true
rust-version.workspace = true
license.workspace = true
publish.workspace = true
[lints]
workspace = true
";

fn member(name: &str, dependencies: Vec<Dependency>) -> Crate {
    Crate {
        name: name.to_owned(),
        description: String::new(),
        folder: format!("crates/{name}"),
        manifest: GOOD_MANIFEST.to_owned(),
        dependencies,
    }
}

fn needs(name: &str, purpose: Purpose, origin: Origin) -> Dependency {
    Dependency { name: name.to_owned(), purpose, origin, presence: Presence::Always }
}

fn with_crates(crates: Vec<Crate>) -> Workspace {
    Workspace { crates, ..Workspace::default() }
}

fn with_files(files: &[(&str, &str)]) -> Workspace {
    let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: Some((*text).to_owned()) };
    let mut files: Vec<File> = files.iter().map(file).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Workspace { files, ..Workspace::default() }
}

/// The codes and subjects of what was found, short enough to compare.
fn told(workspace: &Workspace) -> Vec<String> {
    findings(workspace).problems.iter().map(|problem| format!("{} {}", problem.code, problem.what)).collect()
}

#[test]
fn a_crate_that_is_not_on_the_map_is_a_problem() {
    let workspace = with_crates(vec![member("mainstay-misc", vec![])]);
    assert_eq!(told(&workspace), ["TIDY01 crate mainstay-misc is not on the map"]);
}

#[test]
fn the_brain_may_not_use_an_edge_in_code_or_tests() {
    for (purpose, verb) in [(Purpose::Code, "uses"), (Purpose::Tests, "tests with")] {
        let arrow = needs("mainstay-api", purpose, Origin::Ours);
        let workspace = with_crates(vec![member("mainstay-health", vec![arrow])]);
        assert_eq!(told(&workspace), [format!("TIDY02 mainstay-health {verb} mainstay-api, against the map")]);
    }
}

#[test]
fn domain_crates_do_not_know_each_other_but_may_be_tested_together() {
    let code = needs("mainstay-audit", Purpose::Code, Origin::Ours);
    let workspace = with_crates(vec![member("mainstay-sched", vec![code])]);
    assert_eq!(told(&workspace), ["TIDY02 mainstay-sched uses mainstay-audit, against the map"]);
    let tests = needs("mainstay-audit", Purpose::Tests, Origin::Ours);
    assert!(told(&with_crates(vec![member("mainstay-sched", vec![tests])])).is_empty());
}

#[test]
fn edges_use_tools_in_tests_alone() {
    let tests = needs("testbed", Purpose::Tests, Origin::Ours);
    assert!(told(&with_crates(vec![member("mainstay-api", vec![tests])])).is_empty());
    let code = needs("testbed", Purpose::Code, Origin::Ours);
    let workspace = with_crates(vec![member("mainstay-api", vec![code])]);
    assert_eq!(told(&workspace), ["TIDY02 mainstay-api uses testbed, against the map"]);
}

#[test]
fn the_binary_uses_what_is_shipped_and_no_tool() {
    let shipped = needs("mainstay-sim", Purpose::Code, Origin::Ours);
    assert!(told(&with_crates(vec![member("mainstay", vec![shipped])])).is_empty());
    let tool = needs("xtask", Purpose::Code, Origin::Ours);
    assert_eq!(
        told(&with_crates(vec![member("mainstay", vec![tool])])),
        ["TIDY02 mainstay uses xtask, against the map"]
    );
}

#[test]
fn pure_crates_use_few_crates_of_others() {
    let says = |name: &str, dependency: Dependency| told(&with_crates(vec![member(name, vec![dependency])]));
    let code = |name: &str| needs(name, Purpose::Code, Origin::ThirdParty);
    let tests = |name: &str| needs(name, Purpose::Tests, Origin::ThirdParty);

    assert_eq!(says("mainstay-model", code("tokio")), ["TIDY03 pure crate mainstay-model uses tokio"]);
    assert_eq!(says("mainstay-model", tests("tokio")), ["TIDY03 pure crate mainstay-model uses tokio"]);
    assert!(says("mainstay-api", code("tokio")).is_empty());
    assert!(says("mainstay-model", code("serde")).is_empty());

    assert_eq!(says("mainstay-model", code("proptest")), ["TIDY03 pure crate mainstay-model uses proptest"]);
    assert!(says("mainstay-model", tests("proptest")).is_empty());

    assert_eq!(says("mainstay-model", code("serde_json")), ["TIDY03 pure crate mainstay-model uses serde_json"]);
    assert!(says("mainstay-engine", code("serde_json")).is_empty());
    assert!(says("mainstay-model", tests("serde_json")).is_empty());

    assert_eq!(says("mainstay-model", code("schemars")), ["TIDY03 pure crate mainstay-model uses schemars"]);
    let behind_feature = Dependency { presence: Presence::BehindFeature, ..code("schemars") };
    assert!(says("mainstay-model", behind_feature).is_empty());
}

#[test]
fn every_crate_that_is_born_has_its_row_in_the_architecture() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    for crate_ in std::fs::read_dir(root.join("crates")).unwrap() {
        let name = crate_.unwrap().file_name().into_string().unwrap();
        assert!(text.contains(&format!("| [`{name}`](crates/{name}/")), "{name} has no row in ARCHITECTURE.md");
    }
}

#[test]
fn the_map_names_only_crates_on_the_map_and_has_no_circle() {
    for (at, layer) in MAP.iter().enumerate() {
        let DependencyRule::These(names) = layer.uses else { continue };
        for name in names {
            let other = MAP.iter().position(|other| other.name == *name);
            assert!(other.is_some_and(|other| other < at), "{} uses {name}, which must be above it", layer.name);
        }
    }
    assert!(Layer::of("mainstay-model").is_some());
}

#[test]
fn a_folder_is_called_as_its_crate() {
    let moved = Crate { folder: "crates/api".to_owned(), ..member("mainstay-api", vec![]) };
    assert_eq!(told(&with_crates(vec![moved])), ["TIDY04 crate mainstay-api lives in crates/api"]);
}

#[test]
fn members_inherit_what_the_root_decides() {
    let own = GOOD_MANIFEST.replace("edition.workspace = true", "edition = \"2021\"").replace("[lints]", "[lint]")
        + "[dependencies]\nserde = \"1\"\nkube = { workspace = true, features = [\"client\"] }\n\
           [target.'cfg(unix)'.dev-dependencies]\nrustix = { version = \"1\" }\n";
    let workspace = with_crates(vec![Crate { manifest: own, ..member("mainstay-api", vec![]) }]);
    let expected = ["dependencies.serde", "dev-dependencies.rustix", "package.edition", "[lints]"];
    let mut expected =
        expected.map(|what| format!("TIDY05 {what} of mainstay-api is not inherited from the workspace"));
    expected.sort();
    assert_eq!(told(&workspace), expected);
}

#[test]
fn a_dependency_without_a_reason_is_a_problem() {
    let manifest = "[package]\nname = \"x\"\n[workspace.dependencies]\nours = { path = \"crates/ours\" }\n\
                    # Because.\nserde = \"1\"\ntokio = \"1\"\n[profile.dev]\ndebug = false\n";
    let workspace = Workspace { manifest: manifest.to_owned(), ..Workspace::default() };
    assert_eq!(told(&workspace), ["TIDY06 dependency tokio has no reason"]);
}

#[test]
fn names_that_say_nothing_are_refused() {
    let workspace = with_files(&[
        ("crates/a/src/mod.rs", ""),
        ("crates/a/src/utils.rs", ""),
        ("crates/a/tests/common/cluster.rs", ""),
        ("crates/a/src/controller_manager.rs", ""),
        ("docs/service.md", ""),
    ]);
    let expected = [
        "TIDY07 crates/a/src/mod.rs is called mod",
        "TIDY07 crates/a/src/utils.rs is called utils",
        "TIDY07 crates/a/tests/common/cluster.rs is called common",
    ];
    assert_eq!(told(&workspace), expected);
}

#[test]
fn a_path_of_one_machine_is_refused() {
    let home = concat!("/", "home/");
    let cases = [
        (format!("cd {home}me/mainstay"), true),
        (format!("\"{home}me\""), true),
        (concat!("see ..", "/shared/notes").to_owned(), true),
        (format!("https://example.org{home}page"), false),
        (format!("{{dir}}{home}page"), false),
    ];
    for (line, refused) in cases {
        let workspace = with_files(&[("docs/a.txt", &format!("first\n{line}\n"))]);
        let expected: &[&str] = if refused { &["TIDY08 docs/a.txt:2 names a path of one machine"] } else { &[] };
        assert_eq!(told(&workspace), expected, "{line}");
    }
}

#[test]
fn links_lead_to_files_and_headings() {
    let text = "\
# One & two

[file](other.md) [folder](sub) [up](../README.md) [root](/README.md) [web](https://example.org/no.md)
[here](#one--two) [there](other.md#again-1) [title](other.md \"a title\") `[code](no.md)`

```text
[fenced](no.md)
```

[name]: other.md#by-hand
";
    let other = "# Again\n## Again\n<a id=\"by-hand\"></a>\n";
    let workspace =
        with_files(&[("README.md", ""), ("docs/a.md", text), ("docs/other.md", other), ("docs/sub/b.txt", "")]);
    assert_eq!(told(&workspace), Vec::<String>::new());
}

#[test]
fn a_link_that_leads_nowhere_is_a_problem() {
    let cases = [
        ("[a](no.md)", "there is no docs/no.md in the repository."),
        ("[a](../../out.md)", "it leaves the repository."),
        ("[a](#nothing)", "docs/a.md has no heading #nothing."),
        ("[a](other.md#nothing)", "docs/other.md has no heading #nothing."),
        ("[name]: no.md", "there is no docs/no.md in the repository."),
    ];
    for (link, why) in cases {
        let workspace =
            with_files(&[("docs/a.md", &format!("# A\n{link}\n")), ("docs/other.md", "```\n# nothing\n```\n")]);
        let found = findings(&workspace).problems;
        let [problem] = found.as_slice() else { panic!("{link}: {found:?}") };
        assert_eq!((problem.code, problem.detail.as_str()), ("TIDY09", why), "{link}");
        assert!(problem.what.starts_with("docs/a.md:2 links to "), "{}", problem.what);
    }
}

#[test]
fn a_long_file_is_told_but_not_refused() {
    let workspace =
        with_files(&[("a.rs", &"x\n".repeat(501)), ("b.rs", &"x\n".repeat(500)), ("go.sum", &"x\n".repeat(900))]);
    let findings = findings(&workspace);
    assert!(findings.holds);
    let warned: Vec<&str> = findings.warnings.iter().map(|warning| warning.what.as_str()).collect();
    assert_eq!(warned, ["a.rs has 501 lines"]);
}

#[test]
fn a_figure_without_a_proof_is_a_problem() {
    let record = r#"{"name":"gone","value":1,"unit":"s","goal":"= 1","holds":true,"seconds":0.1,"date":"2026-01-01",
        "commit":"0","machine":{"cpu":"x","cores":1,"memory_gib":1},"rustc":"1.95.0"}"#
        .replace('\n', "");
    let workspace = with_files(&[("docs/reference/figures.jsonl", &record)]);
    assert_eq!(told(&workspace), ["TIDY10 the figure gone has no proof"]);
}

#[test]
fn a_problem_reads_as_what_detail_and_hint() {
    let workspace = with_crates(vec![member("mainstay-misc", vec![])]);
    let findings = findings(&workspace);
    let [problem] = findings.problems.as_slice() else { panic!("{findings:?}") };
    let expected = "\
problem TIDY01: crate mainstay-misc is not on the map
  detail: crates/mainstay-misc has no line in crates/xtask/src/tidy/layers.rs.
  hint:   add it to the map, and give the reason in a decision record.";
    assert_eq!(problem.to_string(), expected);
}
