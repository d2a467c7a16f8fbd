//! The command line of every server. Pure: what is started and how it is watched is in [`super`].

use std::path::{Path, PathBuf};

use super::ApiServer;
use crate::kwok;
use crate::pki::{self, Files, Identity};
use crate::sizing::{NewNodeTaint, Sizing};

/// The controllers that tests need; every further one costs caches and writes at 100,000 nodes.
const CONTROLLERS: [&str; 15] = [
    "namespace-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "garbage-collector-controller",
    "pod-garbage-collector-controller",
    "node-lifecycle-controller",
    "taint-eviction-controller",
    "disruption-controller",
    "daemonset-controller",
    "deployment-controller",
    "replicaset-controller",
    "job-controller",
    "clusterrole-aggregation-controller",
    "validatingadmissionpolicy-status-controller",
    // A pod on a real node waits for the authority's certificate in its namespace.
    "root-ca-certificate-publisher-controller",
];

/// Scales Deployments. On only where a test needs it.
const AUTOSCALER: &str = "horizontal-pod-autoscaler-controller";
/// The default is 15 s.
const AUTOSCALER_PERIOD: &str = "2s";

/// Who asks for what, as the server saw it: writes of the service accounts under test and everything of the controller's, and
/// nobody else's, which would be thousands a second.
pub(super) const AUDIT_POLICY: &str = r"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    userGroups: ['system:serviceaccounts:mainstay-system']
    verbs: [create, update, patch, delete, deletecollection]
  - level: Metadata
    users: ['system:serviceaccount:mainstay-system:mainstay-controller']
  - level: None
";

/// Every call of the service accounts under test, for a small cluster whose proof is about what they are refused.
pub(super) const AUDIT_OF_READS: &str = r"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    userGroups: ['system:serviceaccounts:mainstay-system']
  - level: None
";

pub(super) fn audit_policy(dir: &Path) -> PathBuf {
    dir.join("audit.yaml")
}

/// Where an API server writes it, one JSON object a line.
pub(super) fn audit_log(dir: &Path, api_server: ApiServer) -> PathBuf {
    dir.join(format!("audit{}.jsonl", api_server.suffix()))
}

/// What the flags depend on.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    pub(super) dir: &'a Path,
    /// The API server that [`Layout::api_server`] is about.
    pub(super) api_server: ApiServer,
    pub(super) api_port: u16,
    pub(super) etcd_port: u16,
    pub(super) etcd_peer_port: u16,
    pub(super) sizing: Sizing,
    /// Whether HorizontalPodAutoscalers have an effect.
    pub(super) is_autoscaled: bool,
}

impl Layout<'_> {
    pub(super) fn api_url(&self) -> String {
        format!("https://127.0.0.1:{}", self.api_port)
    }

    pub(super) fn etcd_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.etcd_port)
    }

    pub(super) fn kwok_config(&self) -> PathBuf {
        self.dir.join("kwok.yaml")
    }

    pub(super) fn audit_policy(&self) -> PathBuf {
        audit_policy(self.dir)
    }

    pub(super) fn etcd(&self) -> Vec<String> {
        let client = self.etcd_url();
        let peer = format!("http://127.0.0.1:{}", self.etcd_peer_port);
        flags([
            ("name", "testbed".to_owned()),
            ("data-dir", text(&self.dir.join("etcd"))),
            ("listen-client-urls", client.clone()),
            ("advertise-client-urls", client),
            ("listen-peer-urls", peer.clone()),
            ("initial-advertise-peer-urls", peer.clone()),
            ("initial-cluster", format!("testbed={peer}")),
            // See `ports`: the ports are held for the servers until these have bound them.
            ("socket-reuse-port", "true".to_owned()),
            // The data of a test is thrown away; waiting for the disk would only slow it down.
            ("unsafe-no-fsync", "true".to_owned()),
            ("quota-backend-bytes", (8_u64 << 30).to_string()),
            // The API server would compact every five minutes; with 100,000 nodes arriving that is gigabytes.
            ("auto-compaction-mode", "periodic".to_owned()),
            ("auto-compaction-retention", "1m".to_owned()),
            ("log-level", "warn".to_owned()),
        ])
    }

    pub(super) fn api_server(&self, files: &Files) -> Vec<String> {
        let mut all = flags([
            ("etcd-servers", self.etcd_url()),
            ("etcd-compaction-interval", "0".to_owned()),
            ("bind-address", "127.0.0.1".to_owned()),
            ("advertise-address", "127.0.0.1".to_owned()),
            ("secure-port", self.api_port.to_string()),
            ("permit-port-sharing", "true".to_owned()),
            ("client-ca-file", text(&files.ca)),
            ("tls-cert-file", text(&files.serving_cert)),
            ("tls-private-key-file", text(&files.serving_key)),
            ("service-account-issuer", "https://kubernetes.default.svc".to_owned()),
            ("service-account-key-file", text(&files.token_public_key)),
            ("service-account-signing-key-file", text(&files.token_private_key)),
            ("token-auth-file", text(&files.static_tokens)),
            ("service-cluster-ip-range", "10.0.0.0/16".to_owned()),
            // A real node's name is known to no name service.
            ("kubelet-preferred-address-types", "InternalIP".to_owned()),
            ("authorization-mode", "Node,RBAC".to_owned()),
            ("anonymous-auth", "false".to_owned()),
            // As every distribution has it; the agent's pod asks for it.
            ("allow-privileged", "true".to_owned()),
            // Nothing in the cluster reaches the server through a Service.
            ("endpoint-reconciler-type", "none".to_owned()),
            // Every node that appears is worth an event; an hour of them is a store of its own.
            ("event-ttl", "10m".to_owned()),
            ("max-requests-inflight", "1000".to_owned()),
            ("max-mutating-requests-inflight", "500".to_owned()),
            ("disable-admission-plugins", plugins_off(self.sizing.newborn_taint).to_owned()),
            ("audit-policy-file", text(&self.audit_policy())),
            ("audit-log-path", text(&audit_log(self.dir, self.api_server))),
            // One file however long: whoever asks what was never written must see all of it.
            ("audit-log-maxsize", "0".to_owned()),
            ("profiling", "false".to_owned()),
        ]);
        if self.is_autoscaled {
            // As every distribution has it: with these, an extension API server trusts the user name in a forwarded request.
            all.extend(flags([
                ("requestheader-client-ca-file", text(&files.front_proxy_ca)),
                ("requestheader-allowed-names", pki::FRONT_PROXY.to_owned()),
                ("requestheader-username-headers", "X-Remote-User".to_owned()),
                ("requestheader-group-headers", "X-Remote-Group".to_owned()),
                ("requestheader-extra-headers-prefix", "X-Remote-Extra-".to_owned()),
                ("proxy-client-cert-file", text(&files.front_proxy_cert)),
                ("proxy-client-key-file", text(&files.front_proxy_key)),
            ]));
        }
        all
    }

    pub(super) fn controller_manager(&self, files: &Files) -> Vec<String> {
        let seconds = |value: usize| format!("{value}s");
        let autoscaler = self.is_autoscaled.then_some(AUTOSCALER);
        let controllers: Vec<&str> = CONTROLLERS.into_iter().chain(autoscaler).collect();
        flags([
            ("kubeconfig", text(&Identity::ControllerManager.kubeconfig(self.dir))),
            ("controllers", controllers.join(",")),
            ("horizontal-pod-autoscaler-sync-period", AUTOSCALER_PERIOD.to_owned()),
            // Each controller with a service account of its own, as in production: RBAC and admission see who writes.
            ("use-service-account-credentials", "true".to_owned()),
            ("service-account-private-key-file", text(&files.token_private_key)),
            ("root-ca-file", text(&files.ca)),
            ("node-monitor-grace-period", seconds(self.sizing.grace_seconds)),
            ("node-startup-grace-period", seconds(self.sizing.startup_grace_seconds)),
            ("node-monitor-period", seconds(self.sizing.monitor_seconds)),
            // The defaults (20 and 30) would take over an hour to lift the first taint of 100,000 nodes.
            ("kube-api-qps", "1000".to_owned()),
            ("kube-api-burst", "2000".to_owned()),
            ("leader-elect", "false".to_owned()),
            // One port less to find: its health is seen by what it does.
            ("secure-port", "0".to_owned()),
            ("profiling", "false".to_owned()),
        ])
    }

    pub(super) fn scheduler(&self) -> Vec<String> {
        flags([
            ("kubeconfig", text(&Identity::Scheduler.kubeconfig(self.dir))),
            ("kube-api-qps", "1000".to_owned()),
            ("kube-api-burst", "2000".to_owned()),
            ("leader-elect", "false".to_owned()),
            ("secure-port", "0".to_owned()),
            ("profiling", "false".to_owned()),
        ])
    }

    pub(super) fn kwok(&self) -> Vec<String> {
        flags([
            ("config", text(&self.kwok_config())),
            ("kubeconfig", text(&Identity::Kwok.kubeconfig(self.dir))),
            ("manage-nodes-with-label-selector", kwok::node_selector()),
            ("node-lease-duration-seconds", self.sizing.lease_seconds.to_string()),
            ("cidr", "10.64.0.0/10".to_owned()),
            // At INFO it writes a line for every renewed lease.
            ("v", "WARN".to_owned()),
        ])
    }
}

const fn plugins_off(taint: NewNodeTaint) -> &'static str {
    match taint {
        NewNodeTaint::Usual => "",
        NewNodeTaint::Spared => "TaintNodesByCondition",
    }
}

fn flags<const N: usize>(pairs: [(&str, String); N]) -> Vec<String> {
    pairs.into_iter().map(|(name, value)| format!("--{name}={value}")).collect()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listener_is_on_loopback_and_silence_is_judged_by_the_fleet() {
        let dir = Path::new("/d");
        let sizing = Sizing::for_nodes(10_000);
        let api_server = ApiServer::First;
        let layout =
            Layout { dir, api_server, api_port: 1, etcd_port: 2, etcd_peer_port: 3, sizing, is_autoscaled: false };
        let files = Files::of(dir);
        for flag in layout.etcd().iter().chain(&layout.api_server(&files)) {
            if flag.contains("listen") || flag.contains("bind-address") {
                assert!(flag.contains("127.0.0.1"), "{flag}");
            }
        }
        let manager = layout.controller_manager(&files);
        assert!(manager.contains(&format!("--node-monitor-grace-period={}s", sizing.grace_seconds)), "{manager:?}");
        assert!(!manager.iter().any(|flag| flag.contains(AUTOSCALER)), "{manager:?}");
        let autoscaled = Layout { is_autoscaled: true, ..layout };
        assert!(autoscaled.controller_manager(&files).iter().any(|flag| flag.ends_with(AUTOSCALER)));
        assert!(layout.kwok().contains(&format!("--node-lease-duration-seconds={}", sizing.lease_seconds)));
    }
}
