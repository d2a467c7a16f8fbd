//! Each rule is shown to fail on a small text, and to pass on its corrected twin.

use super::*;

const LIST: &str = "\
# words\treplacement\tallowed
nobody|somebody\toperator or user\t
told|tells\treported, printed\t
so many\ta number\t
storm|storms\tfault-injection phase\tAER storm;false-alarm storm
is out\tis out of service\tis out of
door\ttask runner\tpath=crates/locks/*
";

fn report_of(files: &[(&str, &str)]) -> Report {
    let mut files: Vec<File> = files
        .iter()
        .chain(&[(banned_words::PATH, LIST)])
        .map(|(path, text)| File { path: (*path).to_owned(), text: Some((*text).to_owned()) })
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    report(&Workspace { files, ..Workspace::default() })
}

/// Codes and subjects of the problems in these files.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    report_of(files).problems.iter().map(|problem| format!("{} {}", problem.code, problem.what)).collect()
}

#[test]
fn a_banned_word_in_a_document_has_its_line_and_replacement() {
    let report = report_of(&[("README.md", "# Title\n\nGood.\nThe server told\nit.\n")]);
    let [problem] = report.problems.as_slice() else { panic!("{report:?}") };
    assert_eq!(problem.what, "README.md:4 uses \"told\"");
    assert_eq!(problem.hint, "write: reported, printed.");
    assert!(found(&[("README.md", "# Title\n\nThe server reported it.\n")]).is_empty());
}

#[test]
fn phrases_cross_lines_and_case_does_not_matter() {
    assert_eq!(
        found(&[("a.md", "So\nmany nodes. Nobody.")]),
        ["PLAIN01 a.md:1 uses \"so many\"", "PLAIN01 a.md:2 uses \"nobody\""]
    );
    assert!(found(&[("a.md", "So, many nodes. Tolda.")]).is_empty());
}

#[test]
fn code_names_and_allowed_contexts_are_no_problem() {
    assert!(found(&[("a.md", "Run `storm` and see [it](docs/storm.md), storm-memory or nodes_told.\n")]).is_empty());
    assert!(found(&[("a.md", "```text\nnobody\n```\n<!-- nobody -->\nAn AER storm, a false-alarm storm.")]).is_empty());
    assert_eq!(found(&[("a.md", "An AER storm, then a storm.")]), ["PLAIN01 a.md:1 uses \"storm\""]);
    assert!(found(&[("a.md", "The node is out of service.")]).is_empty());
    assert_eq!(found(&[("a.md", "The node is out.")]), ["PLAIN01 a.md:1 uses \"is out\""]);
    assert!(found(&[("crates/locks/a.md", "The door.")]).is_empty());
    assert_eq!(found(&[("a.md", "The door.")]), ["PLAIN01 a.md:1 uses \"door\""]);
}

#[test]
fn a_decision_is_read_up_to_its_reasoning() {
    let text = "# 0001 · Nobody waits\n\nAccepted.\n\n## Context\n\nNobody told us.\n";
    assert_eq!(found(&[("docs/decisions/0001-a.md", text)]), ["PLAIN01 docs/decisions/0001-a.md:1 uses \"nobody\""]);
}

#[test]
fn strings_of_shipped_code_are_read_and_those_of_tests_are_not() {
    let text = "fn a() { p(\"nobody is here now\"); p(r#\"it \"tells\" us all\"#); p(\"nobody\"); let c = '\"'; }\n\
                #[cfg(test)]\nmod tests {\n    fn b() { p(\"nobody is here now\"); }\n}\n";
    let expected = [
        "PLAIN01 crates/mainstay-kube/src/a.rs:1 uses \"nobody\"",
        "PLAIN01 crates/mainstay-kube/src/a.rs:1 uses \"tells\"",
    ];
    assert_eq!(found(&[("crates/mainstay-kube/src/a.rs", text)]), expected);
    assert!(found(&[("crates/mainstay-kube/src/a/tests.rs", text), ("crates/testbed/src/a.rs", text)]).is_empty());
    let several = "const A: &str = \"one {told} two \\\n    so many\\n three\";\n";
    assert_eq!(
        found(&[("crates/mainstay/src/a.rs", several)]),
        ["PLAIN01 crates/mainstay/src/a.rs:2 uses \"so many\""]
    );
}

#[test]
fn help_is_user_facing_and_at_most_twelve_words() {
    let text = "#[derive(Debug, clap::Args)]\nstruct A {\n    /// Tells the state.\n    #[arg(long)]\n    a: u8,\n    \
                /// One two three four five six seven eight nine ten eleven twelve thirteen.\n    b: u8,\n    \
                /// Short.\n    ///\n    /// One two three four five six seven eight nine ten eleven twelve thirteen.\n    c: u8,\n}\n";
    assert_eq!(
        found(&[("crates/xtask/src/a.rs", text)]),
        ["PLAIN01 crates/xtask/src/a.rs:3 uses \"tells\"", "PLAIN05 crates/xtask/src/a.rs:6 has help of 13 words"]
    );
    let head = "/// Nobody runs this.\n#[derive(Parser)]\nstruct A;\n\n/// Nobody.\n#[derive(Parser)]\nstruct B {}\n";
    let expected = ["PLAIN02 a.rs has 1 banned words in comments, limit 0", "PLAIN01 a.rs:5 uses \"nobody\""];
    let mut found = found(&[("a.rs", head)]);
    found.sort_by(|a, b| b.cmp(a));
    assert_eq!(found, expected, "a type without braces has no help of its own");
}

#[test]
fn comments_have_a_limit_that_only_falls() {
    let source = "//! Nobody here.\n\n/// So\n/// many, `told`.\nfn a() {} // somebody\n";
    let limit = |limit: &str| format!("# head\n{limit}");
    let with = |limits: &str| found(&[("a.rs", source), (limits::PATH, &limit(limits))]);
    assert_eq!(with(""), ["PLAIN02 a.rs has 3 banned words in comments, limit 0"]);
    assert!(with("a.rs\t3\n").is_empty());
    assert_eq!(with("a.rs\t4\n"), ["PLAIN03 a.rs has 3 banned words in comments, below its limit 4"]);
    assert_eq!(with("a.rs\t3\nb.rs\t1\n"), ["PLAIN03 b.rs has 0 banned words in comments, below its limit 1"]);

    let known = limits::parse("a.rs\t5\nb.rs\t1\nc.rs\t2\n").unwrap();
    let counts = limits::parse("a.rs\t3\nc.rs\t9\nd.rs\t4\n").unwrap();
    let lowered = limits::lowered(&known, &counts);
    assert_eq!(lowered, limits::parse("a.rs\t3\nc.rs\t2\n").unwrap(), "never raised, never new");
    assert_eq!(limits::parse(&limits::render(&lowered)).unwrap(), lowered);
}

#[test]
fn long_sentences_of_a_document_are_a_problem() {
    let long = format!("Begin {}end. ", "word ".repeat(29));
    let text =
        |count: usize| format!("# Title\n\n{}{}\n", long.repeat(count), "Four words are here. ".repeat(10 - count));
    assert!(found(&[("docs/a.md", &text(1))]).is_empty());
    let expected = ["PLAIN04 docs/a.md has long sentences: 90th percentile 31 words, limit 30"];
    assert_eq!(found(&[("docs/a.md", &text(2))]), expected);
    let fragment = |count: usize| -> Vec<(String, String)> {
        (0..10)
            .map(|at| {
                (
                    format!("changelog.d/{at}.md"),
                    if at < count { long.clone() } else { "Four words are here.".to_owned() },
                )
            })
            .collect()
    };
    let in_changelog = |count: usize| {
        let fragments = fragment(count);
        found(&fragments.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>())
    };
    assert!(in_changelog(1).is_empty(), "the changelog is one document");
    assert_eq!(in_changelog(2).len(), 1);
    let list = format!("- {}\n", "word ".repeat(20)).repeat(3);
    assert!(found(&[("docs/a.md", &list)]).is_empty(), "a list item is a sentence of its own");
    let row = format!("| {} |\n", ["word ".repeat(20), "word ".repeat(20)].join(" | "));
    assert!(found(&[("docs/a.md", &row)]).is_empty(), "a cell is a sentence of its own");
}

#[test]
fn sentences_end_at_a_mark_before_a_capital() {
    let text = "One, e.g. Two at v1.2 of it. Three\n`four.` five? (Six.) \"Seven.\" 8 is.";
    let found: Vec<String> = sentence::sentences(text).into_iter().map(|(_, one)| one).collect();
    assert_eq!(found, ["One, e.g. Two at v1.2 of it.", "Three `four.` five?", "(Six.)", "\"Seven.\"", "8 is."]);
    assert_eq!(sentence::words("See `a b c` at [the page](http://x y) – now."), 6);
    assert_eq!((sentence::p90((1..=10).collect()), sentence::p90(vec![7]), sentence::p90(vec![])), (9, 7, 0));
}

#[test]
fn the_web_ui_alerts_fields_claims_and_scenarios_are_read() {
    let page = "// nobody\nconst a = 'nobody is here';\nconst b = `so ${many} many`;\nconst k = 'nobody';\n\
                return <p class=\"told told\">It doesn't\n  tell so many {a} nodes told <b>x</b></p>;\n";
    let expected = [
        "PLAIN01 ui/src/a.tsx:2 uses \"nobody\"",
        "PLAIN01 ui/src/a.tsx:6 uses \"so many\"",
        "PLAIN01 ui/src/a.tsx:6 uses \"told\"",
    ];
    assert_eq!(found(&[("ui/src/a.tsx", page), ("ui/src/a.test.tsx", page)]), expected);
    let alert = "      - alert: A\n        annotations:\n          summary: >-\n            It tells\n            so many.\n          runbook: told\n";
    let expected =
        ["PLAIN01 deploy/alerts/rules.yaml:4 uses \"tells\"", "PLAIN01 deploy/alerts/rules.yaml:5 uses \"so many\""];
    assert_eq!(found(&[("deploy/alerts/rules.yaml", alert)]), expected);
    assert_eq!(
        found(&[("deploy/crds/a.yaml", "description: Nobody.\ntype: told\n")]),
        ["PLAIN01 deploy/crds/a.yaml:1 uses \"nobody\""]
    );
    let claims = "[a]\nclaim = \"So many\"\nbasis = \"nobody\"\n";
    assert_eq!(found(&[("crates/xtask/claims.toml", claims)]), ["PLAIN01 crates/xtask/claims.toml:2 uses \"so many\""]);
    let transcript = "Text.\n```console\n$ mainstay told\nnobody told\n```\n";
    let expected = ["PLAIN01 docs/reference/cli.md:4 uses \"nobody\"", "PLAIN01 docs/reference/cli.md:4 uses \"told\""];
    assert_eq!(found(&[("docs/reference/cli.md", transcript), ("docs/A.md", transcript)]), expected);
    let api = "{\n  \"told\": 1,\n  \"description\": \"Nobody.\",\n";
    assert_eq!(
        found(&[("docs/reference/openapi.json", api)]),
        ["PLAIN01 docs/reference/openapi.json:3 uses \"nobody\""]
    );
    let scenario = "# Fine.\n# Nobody.\nat 1 r1 told\n# told\n";
    assert_eq!(found(&[("scenarios/a.txt", scenario)]), ["PLAIN01 scenarios/a.txt:2 uses \"nobody\""]);
}

#[test]
fn a_list_that_cannot_be_read_is_a_problem() {
    for wrong in ["nobody", "\toperator", "a\tb\tc\td"] {
        assert!(BannedWords::parse(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn the_committed_list_can_be_read_and_finds_its_own_words() {
    let text = include_str!("../banned_words.tsv");
    let banned = BannedWords::parse(text).unwrap();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let words = line.split('\t').next().unwrap_or_default();
        for word in words.split('|') {
            assert!(!banned.hits("README.md", word).is_empty(), "{word} is not found");
        }
    }
}
