//! The binary carries every file of `deploy/`, and a namespace of one's own reaches the policies' expressions.

use std::path::Path;

use super::*;

fn wanted(part: Part, namespace: &str) -> RenderArgs {
    let (image, agent_image) = ("mainstay:0.2.0".to_owned(), "mainstay-agent:0.2.0".to_owned());
    let pool = vec![POOL_UNNAMED.to_owned()];
    let gpu_node_label = vec![GPU_LABEL.to_owned()];
    RenderArgs { part, namespace: namespace.to_owned(), allow_actions: false, gpu_node_label, pool, image, agent_image }
}

/// With the rights to act.
fn acting() -> Vec<Value> {
    render(&RenderArgs { allow_actions: true, ..wanted(Part::Policy, NAMESPACE) }).unwrap()
}

#[test]
fn every_file_is_carried() {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let defaults = [DEFAULT_POLICY, DEFAULT_FABRIC];
    for (folder, carried) in
        [("policy", &POLICY[..]), ("allow-actions", &ALLOW_ACTIONS), ("defaults", &defaults), ("workloads", &WORKLOADS)]
    {
        let folder = std::fs::read_dir(deploy.join(folder)).unwrap();
        let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let texts: Vec<_> = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        assert_eq!(texts, carried);
    }
}

#[test]
fn the_files_name_the_images_of_this_version_and_others_take_their_place() {
    let images = |wanted: &RenderArgs| -> Vec<String> {
        let documents = render(wanted).unwrap();
        let images = documents.iter().filter_map(|it| it.pointer("/spec/template/spec/containers/0/image"));
        images.map(|image| image.as_str().unwrap().to_owned()).collect()
    };
    for (file, name) in WORKLOADS.iter().zip(["mainstay", "mainstay-agent"]) {
        assert!(file.contains(&format!("image: {name}:{}\n", env!("CARGO_PKG_VERSION"))));
    }
    let all = wanted(Part::All, NAMESPACE);
    let other =
        RenderArgs { image: "r.example/a@sha256:12".to_owned(), agent_image: "r.example/b:1".to_owned(), ..all };
    assert_eq!(images(&other), ["r.example/a@sha256:12", "r.example/b:1"]);
    for hostile in ["", "a b", "a\nb: c", "-a", "{{x}}"] {
        assert!(
            render(&RenderArgs { image: hostile.to_owned(), ..wanted(Part::All, NAMESPACE) }).is_err(),
            "{hostile:?}"
        );
    }
}

#[test]
fn a_namespace_of_ones_own_leaves_no_trace_of_the_default() {
    let text =
        serde_json::to_string(&render(&RenderArgs { allow_actions: true, ..wanted(Part::All, "gpu-ops") }).unwrap())
            .unwrap();
    assert!(!text.contains(NAMESPACE));
    assert!(text.contains("system:serviceaccount:gpu-ops:mainstay-controller"));
}

#[test]
fn a_namespace_that_could_break_an_expression_is_refused() {
    for hostile in ["", "a' || true || 'b", "Upper", "-a", "a-", &"a".repeat(64)] {
        assert!(render(&wanted(Part::All, hostile)).is_err(), "{hostile:?} was taken");
    }
}

#[test]
fn definitions_come_before_what_needs_them() {
    let kinds: Vec<_> = render(&wanted(Part::All, NAMESPACE))
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

fn find<'a>(documents: &'a [Value], kind: &str, name: &str) -> &'a Value {
    documents.iter().find(|document| document["kind"] == kind && document["metadata"]["name"] == name).unwrap()
}

fn writes(rule: &Value) -> bool {
    let reads = ["get", "list", "watch"];
    rule["verbs"].as_array().unwrap().iter().any(|verb| !reads.contains(&verb.as_str().unwrap()))
}

#[test]
fn without_the_rights_to_act_the_controller_writes_to_nothing_of_kubernetes_but_events_and_its_lease() {
    let all = |documents: &[Value]| -> std::collections::BTreeSet<String> {
        let roles = documents.iter().filter(|document| document["kind"].as_str().unwrap().ends_with("Role"));
        let rules = roles.flat_map(|role| role["rules"].as_array().unwrap());
        pairs(rules.filter(|rule| writes(rule))).into_iter().filter(|pair| !pair.starts_with("mainstay.dev:")).collect()
    };
    let observing = render(&wanted(Part::All, NAMESPACE)).unwrap();
    assert_eq!(all(&observing).into_iter().collect::<Vec<_>>(), ["coordination.k8s.io:leases", "events.k8s.io:events"]);
    assert!(all(&acting()).contains(":nodes"));
    assert!(!serde_json::to_string(&observing).unwrap().contains("mainstay-controller-acts"));
}

#[test]
fn the_rights_to_act_are_not_silently_left_out() {
    assert!(render(&RenderArgs { allow_actions: true, ..wanted(Part::Crds, NAMESPACE) }).is_err());
}

#[test]
fn the_fence_matches_exactly_what_the_controllers_role_lets_it_write() {
    let documents = acting();
    let find = |kind: &str, name: &str| find(&documents, kind, name);
    let rules = |name: &str| find("ClusterRole", name)["rules"].as_array().unwrap();
    let roles = rules("mainstay-controller").iter().chain(rules("mainstay-controller-acts"));
    let mut writable = pairs(roles.filter(|rule| writes(rule)));
    assert!(writable.remove("events.k8s.io:events"), "Events stay outside the fence");

    let matched = |name: &str| {
        let policy = find("ValidatingAdmissionPolicy", name);
        pairs(policy["spec"]["matchConstraints"]["resourceRules"].as_array().unwrap())
    };
    let (ours, actions) = (matched("mainstay-fence"), matched("mainstay-fence-actions"));
    // More would refuse other clients' writes when the Cell is missing; less would accept a stale leader's.
    assert_eq!(ours.union(&actions).cloned().collect::<std::collections::BTreeSet<_>>(), writable);
    assert!(!writable.iter().any(|pair| pair.contains('*')));
    assert!(!writable.contains("mainstay.dev:cells"), "a lost Cell could not be created again");
    // The label policy refuses whatever the other one would not see, and the list of fields holds for all of it.
    for name in ["mainstay-fence-label", "mainstay-fence-fields"] {
        assert_eq!(matched(name), actions);
        let policy = find("ValidatingAdmissionPolicy", name);
        assert!(policy["spec"]["paramKind"].is_null(), "other clients would depend on the Cell");
    }
    let selector = &find("ValidatingAdmissionPolicy", "mainstay-fence-actions")["spec"]["matchConstraints"];
    let expected = serde_json::json!({ "matchExpressions": [{ "key": mainstay_api::FENCED, "operator": "Exists" }] });
    assert_eq!(selector["objectSelector"], expected);
}

#[test]
fn an_observe_installation_has_no_policy_on_nodes_pods_or_evictions() {
    let observing = render(&wanted(Part::All, NAMESPACE)).unwrap();
    let mut policies = 0;
    for policy in observing.iter().filter(|one| one["kind"] == "ValidatingAdmissionPolicy") {
        policies += 1;
        for rule in policy["spec"]["matchConstraints"]["resourceRules"].as_array().unwrap() {
            let names = rule["resourceNames"] == serde_json::json!(["cells.mainstay.dev"]);
            let groups = &rule["apiGroups"];
            let ours = *groups == serde_json::json!(["mainstay.dev"]);
            assert!(ours || (names && *groups == serde_json::json!(["apiextensions.k8s.io"])), "{rule}");
            assert!(!policy["spec"]["paramKind"].is_object() || ours, "{rule}");
        }
    }
    assert_eq!(policies, 4);
}

#[test]
fn the_role_to_act_has_the_three_writes_of_the_contract_and_no_other() {
    let documents = acting();
    let role = find(&documents, "ClusterRole", "mainstay-controller-acts");
    let rules: Vec<String> = role["rules"].as_array().unwrap().iter().map(|rule| rule.to_string()).collect();
    assert_eq!(
        rules,
        [
            r#"{"apiGroups":[""],"resources":["nodes"],"verbs":["patch"]}"#,
            r#"{"apiGroups":[""],"resources":["pods/eviction"],"verbs":["create"]}"#,
            r#"{"apiGroups":["mainstay.dev"],"resources":["checkpointrequests"],"verbs":["create"]}"#,
        ]
    );
}

#[test]
fn every_policy_names_the_controller_of_the_namespace_and_orders_exclude_it() {
    let documents = acting();
    let condition = |name: &str| {
        let policy = find(&documents, "ValidatingAdmissionPolicy", name);
        policy["spec"]["matchConditions"][0]["expression"].as_str().unwrap().to_owned()
    };
    let controller = "'system:serviceaccount:mainstay-system:mainstay-controller'";
    for name in ["mainstay-fence", "mainstay-fence-label", "mainstay-fence-actions", "mainstay-fence-fields"] {
        assert_eq!(condition(name), format!("request.userInfo.username == {controller}"));
    }
    assert_eq!(condition("mainstay-orders"), format!("request.userInfo.username != {controller}"));
    let orders = find(&documents, "ValidatingAdmissionPolicy", "mainstay-orders");
    assert!(orders["spec"]["paramKind"].is_null());
    assert_eq!(
        orders["spec"]["matchConstraints"]["resourceRules"].to_string(),
        r#"[{"apiGroups":["mainstay.dev"],"apiVersions":["*"],"operations":["CREATE","UPDATE"],"resources":["gpunodes/status"]}]"#
    );
}

#[test]
fn a_controller_that_may_act_stays_off_gpu_nodes() {
    const REQUIRED: &str = "/spec/template/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    let required = |allow_actions: bool, labels: &[&str]| {
        let gpu_node_label = labels.iter().map(|label| (*label).to_owned()).collect();
        let documents =
            render(&RenderArgs { allow_actions, gpu_node_label, ..wanted(Part::Workloads, NAMESPACE) }).unwrap();
        find(&documents, "Deployment", "mainstay-controller").pointer(REQUIRED).map(ToString::to_string)
    };
    assert_eq!(required(false, &[GPU_LABEL]), None);
    assert_eq!(required(true, &[""]), None);
    assert_eq!(
        required(true, &[GPU_LABEL, "example.com/gpu"]).unwrap(),
        r#"{"nodeSelectorTerms":[{"matchExpressions":[{"key":"nvidia.com/gpu.present","operator":"DoesNotExist"},{"key":"example.com/gpu","operator":"DoesNotExist"}]}]}"#
    );
    for hostile in ["a b", "-a", "a\nb", "{{x}}", &"a".repeat(318)] {
        let gpu_node_label = vec![hostile.to_owned()];
        let asked = RenderArgs { allow_actions: true, gpu_node_label, ..wanted(Part::All, NAMESPACE) };
        assert!(render(&asked).is_err(), "{hostile:?}");
    }
}

#[test]
fn the_defaults_are_a_policy_for_each_pool_and_a_fabric_and_only_on_request() {
    let pool = vec!["h100".to_owned(), "B200_train".to_owned()];
    let defaults = render(&RenderArgs { pool, ..wanted(Part::Defaults, NAMESPACE) }).unwrap();
    let names: Vec<_> = defaults.iter().map(|one| format!("{} {}", one["kind"], one["metadata"]["name"])).collect();
    assert_eq!(names, [r#""FleetPolicy" "h100""#, r#""FleetPolicy" "b200-train""#, r#""Fabric" "default""#]);
    assert_eq!(defaults[1]["spec"]["pool"], "B200_train");
    assert!(defaults[..2].iter().all(|one| one["spec"]["mode"] == "Observe"));
    // An upgrade applies the other parts again and must not touch what an operator changed.
    let all = render(&wanted(Part::All, NAMESPACE)).unwrap();
    assert!(!all.iter().any(|one| one["kind"] == "FleetPolicy" || one["kind"] == "Fabric"));
    for hostile in ["", "a b", "-", "a\nb"] {
        let hostile = vec![hostile.to_owned()];
        assert!(
            render(&RenderArgs { pool: hostile.clone(), ..wanted(Part::Defaults, NAMESPACE) }).is_err(),
            "{hostile:?}"
        );
    }
}
