//! What can be said about the steps without running them; running them is for `tests/task_runner.rs`.

use super::*;

#[test]
fn rustdoc_runs_only_where_it_would_find_something() {
    assert!(has_doc_test(Some("/// Adds.\n///\n/// ```\n/// assert!(true);\n/// ```\nfn f() {}")));
    assert!(has_doc_test(Some("//! ```no_run\n//! f();\n//! ```")));
    assert!(!has_doc_test(Some("//! ```text\n//! a picture\n//! ```\nlet fence = \"```\";")));
    assert!(!has_doc_test(None));
}

#[test]
fn the_summary_names_the_step_that_does_not_hold_and_how_to_fix_it() {
    let ran = |step, holds| StepResult { step, holds, seconds: 0.1 };
    let good = Summary { holds: true, steps: vec![ran(Step::Fmt, true), ran(Step::Tidy, true)] };
    assert_eq!(in_words(&good), "check holds: fmt, tidy");
    let bad = Summary { holds: false, steps: vec![ran(Step::Fmt, true), ran(Step::Clippy, false)] };
    assert_eq!(
        in_words(&bad),
        "check: clippy does not hold\n  hint:   run `cargo xtask fix`; clippy explains above what it cannot fix."
    );
}

#[test]
fn every_step_is_run() {
    use clap::ValueEnum;
    assert_eq!(Step::ALL, Step::value_variants());
}
