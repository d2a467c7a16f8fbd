//! The binary carries every file of `deploy/`, and a namespace of one's own reaches the policies' expressions.

use std::path::Path;

use super::*;

#[test]
fn every_policy_file_is_carried() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/policy");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let texts: Vec<_> = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    assert_eq!(texts, POLICY);
}

#[test]
fn a_namespace_of_ones_own_leaves_no_trace_of_the_default() {
    let text = serde_json::to_string(&render(Part::Policy, "gpu-ops").unwrap()).unwrap();
    assert!(!text.contains(NAMESPACE));
    assert!(text.contains("system:serviceaccount:gpu-ops:mainstay-controller"));
}

#[test]
fn a_namespace_that_could_break_an_expression_is_refused() {
    for hostile in ["", "a' || true || 'b", "Upper", "-a", "a-", &"a".repeat(64)] {
        assert!(render(Part::All, hostile).is_err(), "{hostile:?} was taken");
    }
}

#[test]
fn definitions_come_before_what_needs_them() {
    let kinds: Vec<_> = render(Part::All, NAMESPACE)
        .unwrap()
        .iter()
        .map(|document| document["kind"].as_str().unwrap().to_owned())
        .collect();
    let first = |kind: &str| kinds.iter().position(|found| found == kind).unwrap();
    assert!(first("CustomResourceDefinition") < first("Cell"));
    assert!(first("Cell") < first("ValidatingAdmissionPolicy"));
}

#[test]
fn an_unknown_kind_is_answered_with_the_known_ones() {
    let problem = crds(Some("Pod")).unwrap_err();
    assert!(problem.detail.contains("GpuNode, Incident"), "{problem:?}");
    assert_eq!(crds(Some("gpunode")).unwrap().len(), 1);
}
