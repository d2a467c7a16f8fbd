//! What somebody tries who took a node's token: every attempt is made for real against a real server, and must be refused
//! unless SECURITY.md states it as harm that is left. The administrator makes the same attempts as dry runs, so that a server
//! that refuses everything would be noticed; and the store is compared before and after.

mod attempt;
mod other_objects;
mod own_report;

use anyhow::{Context as _, Result, ensure};
use attempt::{Attempt, Refusal, TokenKind};
use kube::Client;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use xtask::output;

use super::fenced_cluster::{CONTROLLER_NAMESPACE, FencedCluster, KubernetesVersion, token};
use super::operation::prefix;
use crate::prove::{Context, Measurement, Proof};

/// Fewer would not be a test.
const ATTEMPTS_MIN: usize = 200;
/// What the server writes for itself while it is attacked: its own leases, events, and how its lanes are.
const SERVERS_OWN: [&str; 5] = [
    "/registry/leases/",
    "/registry/masterleases/",
    "/registry/peerserverleases/",
    "/registry/events/",
    "/registry/flowschemas/",
];

pub(in crate::proofs) const PROOF: Proof = Proof { name: "agent-attacks", run: |context| Box::pin(measure(context)) };

/// Nodes a1 and a2 with their reports and agents, and the stolen tokens of a1.
struct AttackSetup {
    world: FencedCluster,
    /// A report that a1's agent may write.
    report: Value,
    uids: [String; 2],
    /// Of the report of a2.
    other_version: Value,
    tokens: BTreeMap<TokenKind, Client>,
}

async fn measure(context: &Context) -> Result<Measurement> {
    let stage = AttackSetup::set(&context.workspace.root.join("deploy")).await?;
    let mut attempts = own_report::all(&stage);
    attempts.extend(other_objects::all(&stage).await?);
    ensure!(attempts.len() >= ATTEMPTS_MIN, "only {} attempts", attempts.len());
    let before = stage.stored().await?;
    let (mut beyond, mut unable) = (Vec::new(), Vec::new());
    let mut stated: BTreeMap<&str, usize> = BTreeMap::new();
    let mut refused: BTreeMap<u16, usize> = BTreeMap::new();
    for attempt in &attempts {
        let code = attempt.make(stage.client(attempt.who)?).await?;
        match (attempt.is_refused(code), attempt.stated) {
            (true, None) => *refused.entry(code).or_default() += 1,
            (false, Some(harm)) => *stated.entry(harm).or_default() += 1,
            (false, None) => beyond.push(format!("{code} {}", attempt.what)),
            (true, Some(harm)) => unable.push(format!("{code} {}: stated as \"{harm}\"", attempt.what)),
        }
    }
    let changed = changed(&before, &stage.stored().await?);
    beyond.extend(changed.into_iter().map(|key| format!("{key} was changed")));
    for what in &beyond {
        output::note(format_args!("succeeded: {what}"));
    }
    ensure!(unable.is_empty(), "stated, and yet refused: {unable:?}");
    let control = stage.control(&attempts).await?;
    let security = context.workspace.text("SECURITY.md").context("no SECURITY.md")?;
    let untold: Vec<_> = stated.keys().filter(|harm| !security.contains(**harm)).collect();
    ensure!(untold.is_empty(), "SECURITY.md does not state {untold:?}");
    let detail = format!(
        "{} attempts: refused {refused:?}, let through as stated {stated:?}; the administrator may do {control} of them",
        attempts.len()
    );
    Ok(Measurement { value: i64::try_from(beyond.len())?, detail })
}

impl AttackSetup {
    async fn set(deploy: &std::path::Path) -> Result<Self> {
        let world = FencedCluster::start(deploy, KubernetesVersion::Newest).await?;
        let mut report = world.object("nodereports")?.clone();
        let (mut uids, mut pods, mut versions) = (Vec::new(), Vec::new(), Vec::new());
        for name in ["a1", "a2"] {
            let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name } });
            let node = world.create("/api/v1/nodes", &node).await?;
            let uid = node["metadata"]["uid"].as_str().context("a node without uid")?.to_owned();
            report["metadata"] = json!({ "name": name });
            report["spec"]["nodeUid"] = json!(uid);
            report["spec"]["sequence"] = json!(own_report::SEQUENCE);
            let stored = world.create(&prefix("nodereports"), &report).await?;
            versions.push(stored["metadata"]["resourceVersion"].clone());
            uids.push(uid);
        }
        for name in ["agent-a1", "agent-a1-gone"] {
            let pod = json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
                "spec": {
                    "nodeName": "a1", "serviceAccountName": "mainstay-agent", "automountServiceAccountToken": false,
                    "containers": [{ "name": "c", "image": "none" }],
                },
            });
            pods.push(world.create(&format!("/api/v1/namespaces/{CONTROLLER_NAMESPACE}/pods"), &pod).await?);
        }
        let of_pod = |pod: usize| token(&world.cluster, "mainstay-agent", pods.get(pod));
        let (bound, gone) = (of_pod(0).await?, of_pod(1).await?);
        let loose = token(&world.cluster, "mainstay-agent", None).await?;
        let remove = ["delete", "pod", "agent-a1-gone", "-n", CONTROLLER_NAMESPACE, "--force", "--grace-period=0"];
        // kubectl warns of a forced deletion, and a warning counts as a failure; that the pod is gone is what matters.
        let _ = world.cluster.run_kubectl(&remove).await;
        // The last letters of a signature.
        let (claims, signature) = bound.rsplit_once('.').context("no signature")?;
        let forged = format!("{claims}.{}", signature.chars().rev().collect::<String>());
        let mut tokens = BTreeMap::new();
        for (who, token) in
            [(TokenKind::Agent, bound), (TokenKind::Loose, loose), (TokenKind::Gone, gone), (TokenKind::Forged, forged)]
        {
            tokens.insert(who, world.cluster.client_with_token(&token).await?);
        }
        // With its version, without which a replacement would be refused for that alone.
        report["metadata"] = json!({ "name": "a1", "resourceVersion": versions[0] });
        report["spec"]["nodeUid"] = json!(uids[0]);
        let uids = uids.try_into().map_err(|_| anyhow::anyhow!("two nodes"))?;
        Ok(Self { world, report, uids, other_version: versions[1].clone(), tokens })
    }

    fn client(&self, who: TokenKind) -> Result<&Client> {
        self.tokens.get(&who).with_context(|| format!("no token of {who:?}"))
    }

    /// Every stored object by its key, with the revision of its last change; without what the server writes for itself and
    /// without the report that the token may write.
    async fn stored(&self) -> Result<BTreeMap<String, u64>> {
        let mut all = testbed::etcd::revisions(self.world.cluster.etcd_url(), "/registry/").await?;
        let own = testbed::etcd::custom_key("mainstay.dev", "nodereports", "a1");
        all.retain(|key, _| *key != own && !SERVERS_OWN.iter().any(|prefix| key.starts_with(prefix)));
        Ok(all)
    }

    /// The administrator makes the same attempts as dry runs: whatever is refused to an agent because of who it is must be
    /// allowed here, or the attempt would be refused in any case and show nothing.
    async fn control(&self, attempts: &[Attempt]) -> Result<usize> {
        let (mut allowed, mut surprises) = (0, Vec::new());
        for attempt in attempts.iter().filter(|attempt| attempt.who == TokenKind::Agent) {
            let code = attempt.rehearse(&self.world.admin).await?;
            let may = ![401, 403].contains(&code);
            allowed += usize::from(may);
            if attempt.refusal == Refusal::OfWho && !may {
                surprises.push(format!("{code} {}", attempt.what));
            }
        }
        ensure!(surprises.is_empty(), "refused to the administrator as well: {surprises:?}");
        Ok(allowed)
    }
}

fn changed(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> Vec<String> {
    let differ = |key: &&String| before.get(*key) != after.get(*key);
    let keys: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    keys.into_iter().filter(differ).cloned().collect()
}
