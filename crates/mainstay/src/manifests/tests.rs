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
    assert!(first("ValidatingAdmissionPolicyBinding") < first("ClusterRoleBinding"));
}

#[test]
fn an_unknown_kind_is_answered_with_the_known_ones() {
    let problem = crds(Some("Pod")).unwrap_err();
    assert!(problem.detail.contains("GpuNode, Incident"), "{problem:?}");
    assert_eq!(crds(Some("gpunode")).unwrap().len(), 1);
}

/// `group/resource` of every pair that a list of role or policy rules names.
fn pairs<'a>(rules: impl IntoIterator<Item = &'a Value>) -> std::collections::BTreeSet<String> {
    let words = |rule: &Value, key: &str| -> Vec<String> {
        rule[key].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    rules
        .into_iter()
        .flat_map(|rule| {
            let resources = words(rule, "resources");
            words(rule, "apiGroups").into_iter().flat_map(move |group| {
                resources.iter().map(|resource| format!("{group}:{resource}")).collect::<Vec<_>>()
            })
        })
        .collect()
}

#[test]
fn the_fence_matches_exactly_what_the_controllers_role_lets_it_write() {
    let documents = render(Part::Policy, NAMESPACE).unwrap();
    let find = |kind: &str, name: &str| {
        documents.iter().find(|document| document["kind"] == kind && document["metadata"]["name"] == name).unwrap()
    };
    let writes = |rule: &&Value| {
        let reads = ["get", "list", "watch"];
        rule["verbs"].as_array().unwrap().iter().any(|verb| !reads.contains(&verb.as_str().unwrap()))
    };
    let role = find("ClusterRole", "mainstay-controller")["rules"].as_array().unwrap();
    let mut writable = pairs(role.iter().filter(writes));
    assert!(writable.remove("events.k8s.io:events"), "Events stay outside the fence");

    let fence = find("ValidatingAdmissionPolicy", "mainstay-fence");
    let matched = pairs(fence["spec"]["matchConstraints"]["resourceRules"].as_array().unwrap());
    // More would freeze others when the Cell is missing; less would let a stale leader through.
    assert_eq!(matched, writable);
    assert!(!matched.iter().any(|pair| pair.contains('*')));
    assert!(!matched.contains("mainstay.dev:cells"), "a lost Cell could not be made again");
}
