//! Files that hold runs, and files that hold something else.

use std::path::PathBuf;

use super::read;

const OUTCOME: &str = include_str!("../../../tests/golden/outcome.json");

/// What is said of a file with this content; the folder lives as long as the question.
fn said(content: &[u8]) -> Result<usize, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.json");
    std::fs::write(&path, content).unwrap();
    read(&[path]).map(|outcomes| outcomes.len()).map_err(|problem| problem.detail)
}

#[test]
fn documents_and_lines_are_read_one_after_the_other() {
    let line = serde_json::from_str::<serde_json::Value>(OUTCOME).unwrap().to_string();
    assert_eq!(said(OUTCOME.as_bytes()), Ok(1));
    assert_eq!(said(format!("{line}\n{line}\n{OUTCOME}").as_bytes()), Ok(3));
    assert_eq!(said(b" \n"), Ok(0));
}

#[test]
fn what_is_not_an_outcome_is_refused_with_the_reason() {
    assert!(said(b"{}").unwrap_err().starts_with("missing field `format`"));
    assert!(said(&[0xff, 0xfe]).unwrap_err().contains("UTF-8"));
    assert!(said(&b"[".repeat(100_000)).is_err());
    let other = OUTCOME.replacen("\"format\": 1", "\"format\": 2", 1);
    assert_eq!(said(other.as_bytes()).unwrap_err(), "the file has format 2; this version reads 1.");
    let negative = OUTCOME.replacen("\"gpus\": 1024", "\"gpus\": -1", 1);
    assert!(said(negative.as_bytes()).unwrap_err().contains("expected u32"));
}

#[test]
fn text_that_could_drive_a_terminal_does_not_get_through() {
    let escape = OUTCOME.replacen("\"x2\"", "\"\\u001b[2J\"", 1);
    assert_ne!(escape, OUTCOME);
    assert!(said(escape.as_bytes()).unwrap_err().contains("non-ASCII characters"));
    let long = OUTCOME.replacen("\"x2\"", &format!("\"{}\"", "x".repeat(101)), 1);
    assert!(said(long.as_bytes()).unwrap_err().contains("non-ASCII characters"));
    let rates = OUTCOME.replacen("\"base\"", "\"<script>\"", 1);
    assert_eq!(said(rates.as_bytes()).unwrap_err(), "rates are not low, base, high or stress.");
    let quoted = OUTCOME.replacen("\"link-flap\": {", "\"\\u001b[2J\": {", 1);
    assert!(!said(quoted.as_bytes()).unwrap_err().contains('\u{1b}'));
}

#[test]
fn a_file_that_is_too_large_or_absent_is_refused() {
    assert!(said(&vec![b' '; (64 << 20) + 1]).unwrap_err().contains("larger than 64 MiB"));
    let problem = read(&[PathBuf::from("no-such-file.json")]).unwrap_err();
    assert_eq!(problem.what, "cannot read no-such-file.json");
}
