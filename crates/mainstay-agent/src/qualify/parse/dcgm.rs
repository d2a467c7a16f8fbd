//! What `dcgmi diag -j` prints. DCGM 3 has `DCGM GPU Diagnostic` with results by `gpu_ids`, DCGM 4 `DCGM Diagnostic` with
//! results by entity and a summary of each test; both list `test_categories`, in which a test may be `null`, and both may
//! print words before the document (NVIDIA's own tests of DCGM, `nvvs/tests` and `testing/python3/tests`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ParsedOutput;

/// More tests than any level has; more are not looked at, and then there is no pass.
const TESTS_MAX: usize = 256;

/// How a test of DCGM ended, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    Fail,
    Warn,
    NotRun,
    Skip,
    Pass,
}

/// Reads the document. A warning is a failure: a node does not return with one.
pub(super) fn parse(text: &str, must_pass: &[Vec<String>]) -> ParsedOutput {
    let mut parsed = ParsedOutput::default();
    let document = text.find('{').and_then(|at| text.get(at..));
    let document = document.and_then(|text| serde_json::Deserializer::from_str(text).into_iter::<Value>().next());
    let Some(Ok(document)) = document else {
        parsed.lacks = Some("no JSON document".to_owned());
        return parsed;
    };
    let Some(diagnostic) = ["DCGM Diagnostic", "DCGM GPU Diagnostic"].iter().find_map(|key| document.get(key)) else {
        parsed.lacks = Some("no diagnostic of DCGM".to_owned());
        return parsed;
    };
    if let Some(error) = diagnostic.get("runtime_error").and_then(Value::as_str) {
        parsed.lacks = Some(error.to_owned());
    }
    let mut statuses: BTreeMap<String, Status> = BTreeMap::new();
    let mut gpus = BTreeSet::new();
    let categories = list(diagnostic, "test_categories");
    let tests: Vec<&Value> =
        categories.flat_map(|category| list(category, "tests")).filter(|test| !test.is_null()).collect();
    if tests.is_empty() || tests.len() > TESTS_MAX {
        parsed.lacks = parsed.lacks.or_else(|| Some(format!("{} tests in it", tests.len())));
    }
    for test in tests.into_iter().take(TESTS_MAX) {
        let name = test.get("name").and_then(Value::as_str).unwrap_or_default();
        let summary = test.get("test_summary");
        for result in list(test, "results").chain(summary) {
            gpus.extend(gpus_of(result));
            let status = Status::of(result);
            if matches!(status, Status::Fail | Status::Warn) && parsed.failure.is_none() {
                parsed.failure = Some(failure(name, result));
            }
            let worst = statuses.entry(plain(name)).or_insert(status);
            *worst = status.min(*worst);
        }
    }
    for (name, status) in
        [("passed", Status::Pass), ("failed", Status::Fail), ("warned", Status::Warn), ("skipped", Status::Skip)]
    {
        let count = statuses.values().filter(|other| **other == status).count();
        parsed.figures.insert(name.to_owned(), i64::try_from(count).unwrap_or(i64::MAX));
    }
    parsed.figures.insert("gpus".to_owned(), i64::try_from(gpus.len()).unwrap_or(i64::MAX));
    let not_run =
        statuses.iter().find(|(_, status)| **status == Status::NotRun).map(|(name, _)| format!("{name} did not run"));
    let missing = must_pass.iter().find_map(|names| {
        let found = names.iter().find_map(|name| statuses.get(&plain(name)));
        let first = names.first().map_or("a test", String::as_str);
        match found {
            Some(Status::Pass) => None,
            Some(Status::Skip) => Some(format!("{first} was skipped")),
            Some(Status::Fail | Status::Warn | Status::NotRun) => Some(format!("{first} did not pass")),
            None => Some(format!("{first} is not in it")),
        }
    });
    parsed.lacks = parsed.lacks.or(not_run).or(missing);
    parsed
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// `Targeted Stress` and `targeted_stress` are one test.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// `"gpu_ids": "0,1"` of DCGM 3, `"entity_group": "GPU", "entity_id": 0` of DCGM 4.
fn gpus_of(result: &Value) -> Vec<u64> {
    let ids = ["gpu_ids", "gpu_id"].iter().find_map(|key| result.get(key));
    match (ids, result.get("entity_group").and_then(Value::as_str)) {
        (Some(Value::String(ids)), _) => ids.split(',').filter_map(|id| id.trim().parse().ok()).collect(),
        (Some(id), _) => id.as_u64().into_iter().collect(),
        (None, Some("GPU")) => result.get("entity_id").and_then(Value::as_u64).into_iter().collect(),
        (None, _) => Vec::new(),
    }
}

/// `memory GPU 3: …`, in the words of its first warning, which is a text or has one.
fn failure(test: &str, result: &Value) -> String {
    let warning =
        list(result, "warnings").find_map(|warning| warning.as_str().or_else(|| warning.get("warning")?.as_str()));
    let gpu = gpus_of(result).first().map_or_else(String::new, |gpu| format!(" GPU {gpu}"));
    let words = warning.or_else(|| result.get("status")?.as_str()).unwrap_or_default();
    format!("{test}{gpu}: {words}")
}

// === impl Status ===

impl Status {
    /// A word that is not known is no pass.
    fn of(result: &Value) -> Self {
        let word = plain(result.get("status").and_then(Value::as_str).unwrap_or_default());
        match word.as_str() {
            "pass" | "passed" => Self::Pass,
            "fail" | "failed" => Self::Fail,
            "warn" | "warning" => Self::Warn,
            "skip" | "skipped" => Self::Skip,
            _ => Self::NotRun,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DCGM_3: &str = include_str!("../../../tests/said/dcgm3-pass.json");
    const DCGM_4: &str = include_str!("../../../tests/said/dcgm4-pass.json");
    const DCGM_4_FAIL: &str = include_str!("../../../tests/said/dcgm4-fail.json");

    fn must_pass() -> Vec<Vec<String>> {
        [vec!["memory", "GPU Memory"], vec!["pcie"]]
            .map(|names| names.into_iter().map(str::to_owned).collect())
            .to_vec()
    }

    #[test]
    fn documents_of_both_versions_are_read() {
        for (text, tests) in [(DCGM_3, 6), (DCGM_4, 6)] {
            let parsed = parse(text, &must_pass());
            assert_eq!((&parsed.failure, &parsed.lacks), (&None, &None), "{text}");
            assert_eq!((parsed.figures["gpus"], parsed.figures["passed"]), (8, tests));
        }
    }

    #[test]
    fn a_failure_is_told_with_its_gpu_and_words() {
        let parsed = parse(DCGM_4_FAIL, &must_pass());
        let words = "memory GPU 3: GPU 3 has uncorrectable memory errors and row remappings are pending";
        assert_eq!(parsed.failure.as_deref(), Some(words));
        assert_eq!((parsed.figures["failed"], parsed.figures["skipped"]), (1, 1));
    }

    #[test]
    fn what_was_skipped_not_run_or_cut_short_is_no_pass() {
        // On every GPU.
        let (before, after) = DCGM_4.split_once("\"pcie\"").unwrap();
        let skipped = format!("{before}\"pcie\"{}", after.replacen("\"Pass\"", "\"Skip\"", 9));
        let lacks = |text: &str| parse(text, &must_pass()).lacks;
        assert_eq!(lacks(&skipped).as_deref(), Some("pcie was skipped"));
        assert_eq!(lacks(&DCGM_3.replacen("PASS", "INTERRUPTED", 1)).as_deref(), Some("denylist did not run"));
        assert_eq!(lacks(&DCGM_3.replace("\"GPU Memory\"", "\"Other\"")).as_deref(), Some("memory is not in it"));
        assert_eq!(lacks(&DCGM_4[..DCGM_4.len() / 2]).as_deref(), Some("no JSON document"));
        let error =
            r#"{"DCGM GPU Diagnostic": {"version": "3.3.5", "runtime_error": "Unable to complete diagnostic"}}"#;
        assert_eq!(lacks(error).as_deref(), Some("Unable to complete diagnostic"));
        assert_eq!(lacks(r#"{"DCGM Diagnostic": {"test_categories": []}}"#).as_deref(), Some("0 tests in it"));
        assert_eq!(lacks("Error: unable to connect to nv-hostengine").as_deref(), Some("no JSON document"));
    }
}
