//! What a cluster needs for Mainstay to run. The files under `deploy/` are the source; the binary carries them, and the Helm
//! chart has the same ones.

use clap::{Args, ValueEnum};
use mainstay_model::PoolName;
use serde_json::{Value, json};

use crate::output::Problem;

/// The namespace that the files under `deploy/policy` are written for.
pub(crate) const NAMESPACE: &str = "mainstay-system";

/// Applied in this order: the fence before the controller's permissions. Any other order is safe for other clients, because no
/// policy here matches anything but Mainstay's own kinds (and the definition of the Cell).
const POLICY: [&str; 10] = [
    include_str!("../../../deploy/policy/00-namespace.yaml"),
    include_str!("../../../deploy/policy/10-cell.yaml"),
    include_str!("../../../deploy/policy/20-fence.yaml"),
    include_str!("../../../deploy/policy/21-agent.yaml"),
    include_str!("../../../deploy/policy/22-keep-cell.yaml"),
    include_str!("../../../deploy/policy/23-orders.yaml"),
    include_str!("../../../deploy/policy/30-controller.yaml"),
    include_str!("../../../deploy/policy/31-agent.yaml"),
    include_str!("../../../deploy/policy/32-users.yaml"),
    include_str!("../../../deploy/policy/33-flow.yaml"),
];

/// The permission to act, rendered only on request: the fences of nodes and evictions first, then the role.
const ALLOW_ACTIONS: [&str; 3] = [
    include_str!("../../../deploy/allow-actions/10-fence.yaml"),
    include_str!("../../../deploy/allow-actions/11-fields.yaml"),
    include_str!("../../../deploy/allow-actions/controller.yaml"),
];

/// Objects to start with, created once and then the operator's: a FleetPolicy for each pool, and a Fabric.
const DEFAULT_POLICY: &str = include_str!("../../../deploy/defaults/10-fleet-policy.yaml");
const DEFAULT_FABRIC: &str = include_str!("../../../deploy/defaults/20-fabric.yaml");

/// The pool of nodes without the label `mainstay.dev/pool`.
pub(crate) const POOL_UNNAMED: &str = "unnamed";

/// The programs themselves.
const WORKLOADS: [&str; 2] = [
    include_str!("../../../deploy/workloads/40-controller.yaml"),
    include_str!("../../../deploy/workloads/41-agent.yaml"),
];

/// Longer than any registry takes.
const IMAGE_BYTES_MAX: usize = 512;
/// A label's key: a DNS name, a slash and a name of 63 bytes.
const LABEL_KEY_BYTES_MAX: usize = 317;
/// Label of nodes with NVIDIA GPUs, which NVIDIA's GPU operator sets.
const GPU_LABEL: &str = "nvidia.com/gpu.present";

/// Options of `render`: part, namespace, pools and images.
#[derive(Clone, Args)]
pub(crate) struct RenderArgs {
    /// Which part
    #[arg(long, value_enum, default_value_t = Part::All)]
    pub(crate) part: Part,
    /// The namespace of the controller and of its Lease
    #[arg(long, default_value = NAMESPACE)]
    pub(crate) namespace: String,
    /// Also grant permission to patch nodes, evict pods and request checkpoints
    #[arg(long)]
    pub(crate) allow_actions: bool,
    /// With --allow-actions: label of nodes without the controller; repeatable
    #[arg(long, value_name = "LABEL", default_value = GPU_LABEL)]
    pub(crate) gpu_node_label: Vec<String>,
    /// Pool of the default FleetPolicy, for --part defaults; repeatable
    #[arg(long, value_name = "POOL", default_value = POOL_UNNAMED)]
    pub(crate) pool: Vec<String>,
    /// The controller's image, with its tag or digest
    #[arg(long, value_name = "IMAGE", default_value = concat!("mainstay:", env!("CARGO_PKG_VERSION")))]
    pub(crate) image: String,
    /// The agent's image, with its tag or digest
    #[arg(long, value_name = "IMAGE", default_value = concat!("mainstay-agent:", env!("CARGO_PKG_VERSION")))]
    pub(crate) agent_image: String,
}

/// Which part to render.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// The custom resource definitions
    Crds,
    /// Namespace, roles, the Cell and the admission policies
    Policy,
    /// The controller (two replicas) and the agents (one on every GPU node)
    Workloads,
    /// First FleetPolicy of each --pool and a Fabric, for `kubectl create`
    Defaults,
    /// Definitions, policy and workloads
    All,
}

pub(crate) fn crds(kind: Option<&str>) -> Result<Vec<Value>, Problem> {
    let all = mainstay_api::crds();
    let known: Vec<String> = all.iter().map(|crd| crd.spec.names.kind.clone()).collect();
    let wanted: Vec<_> = all
        .into_iter()
        .filter(|crd| kind.is_none_or(|kind| kind.eq_ignore_ascii_case(&crd.spec.names.kind)))
        .map(|crd| serde_json::to_value(crd).map_err(|error| unreadable("a definition", &error)))
        .collect::<Result<_, _>>()?;
    if wanted.is_empty() {
        return Err(Problem {
            what: format!("there is no kind \"{}\"", kind.unwrap_or_default()),
            detail: format!("the kinds are {}.", known.join(", ")),
            hint: "leave --kind out to see all of them.".into(),
        });
    }
    Ok(wanted)
}

/// Namespace, roles, the Cell and the admission policies of an installation that observes.
pub(crate) fn policy(namespace: &str) -> Result<Vec<Value>, Problem> {
    read_all(&POLICY, namespace)
}

/// The fence of nodes and evictions, and the role that needs it.
pub(crate) fn acting(namespace: &str) -> Result<Vec<Value>, Problem> {
    read_all(&ALLOW_ACTIONS, namespace)
}

/// The controller and the agents, with the images of this version.
pub(crate) fn workloads(namespace: &str) -> Result<Vec<Value>, Problem> {
    read_all(&WORKLOADS, namespace)
}

/// A FleetPolicy for each pool, and a Fabric.
fn defaults(pools: &[String]) -> Result<Vec<Value>, Problem> {
    let mut documents = Vec::new();
    for pool in pools {
        let refused = |detail: String| Problem {
            what: format!("{pool:?} cannot be a pool"),
            detail,
            hint: "use the value of the label mainstay.dev/pool on its nodes.".into(),
        };
        PoolName::parse(pool).map_err(|error| refused(format!("{error}.")))?;
        let name = pool.to_ascii_lowercase().replace(['_', '.'], "-");
        if !is_label(&name) {
            return Err(refused("its name cannot be the name of an object.".into()));
        }
        for mut document in read(DEFAULT_POLICY, NAMESPACE)? {
            document["metadata"]["name"] = Value::from(name.as_str());
            document["spec"]["pool"] = Value::from(pool.as_str());
            documents.push(document);
        }
    }
    documents.extend(read(DEFAULT_FABRIC, NAMESPACE)?);
    Ok(documents)
}

pub(crate) fn render(wanted: &RenderArgs) -> Result<Vec<Value>, Problem> {
    let RenderArgs { part, namespace, allow_actions, gpu_node_label, pool, image, agent_image } = wanted;
    if !is_label(namespace) {
        return Err(Problem {
            what: format!("\"{namespace}\" cannot be a namespace"),
            detail: "a namespace has 1 to 63 lower-case letters, digits and dashes, and no dash at its ends.".into(),
            hint: "choose another --namespace.".into(),
        });
    }
    let (of_policy, of_workloads) =
        (matches!(part, Part::Policy | Part::All), matches!(part, Part::Workloads | Part::All));
    if *allow_actions && !of_policy && !of_workloads {
        return Err(Problem {
            what: "the permission to act is not in that part".into(),
            detail:
                "--allow-actions adds fences, a role and its binding to the part policy, and keeps the controller of \
                     the part workloads off GPU nodes."
                    .into(),
            hint: "use --part policy or --part workloads, or omit --part.".into(),
        });
    }
    let mut documents = if matches!(part, Part::Crds | Part::All) { crds(None)? } else { Vec::new() };
    if of_policy {
        documents.extend(policy(namespace)?);
        if *allow_actions {
            documents.extend(acting(namespace)?);
        }
    }
    if matches!(part, Part::Defaults) {
        documents.extend(defaults(pool)?);
    }
    if of_workloads {
        for (image, option) in [(image, "--image"), (agent_image, "--agent-image")] {
            if !is_image(image) {
                return Err(Problem {
                    what: format!("{image:?} cannot be an image"),
                    detail: "an image has a name of letters, digits and ._-/:@, and no blanks.".into(),
                    hint: format!("say {option} registry.example/mainstay:0.2.0."),
                });
            }
        }
        for mut document in workloads(namespace)? {
            let image = if document["kind"] == "DaemonSet" { agent_image } else { image };
            if let Some(place) = document.pointer_mut("/spec/template/spec/containers/0/image") {
                *place = Value::from(image.as_str());
            }
            if *allow_actions && document["kind"] == "Deployment" {
                keep_off_gpu_nodes(&mut document, gpu_node_label)?;
            }
            documents.push(document);
        }
    }
    Ok(documents)
}

/// Requires a node without these labels for the controller. An attacker on a node reads the tokens of all pods there, and
/// this controller's token can act on every node. An empty label turns it off.
fn keep_off_gpu_nodes(deployment: &mut Value, labels: &[String]) -> Result<(), Problem> {
    let labels: Vec<&String> = labels.iter().filter(|label| !label.is_empty()).collect();
    if let Some(wrong) = labels.iter().find(|label| !is_label_key(label)) {
        return Err(Problem {
            what: format!("{wrong:?} cannot be the key of a label"),
            detail: "a key has letters, digits and ._-/, and no blanks.".into(),
            hint: format!("say --gpu-node-label {GPU_LABEL}."),
        });
    }
    let absent = |label: &&String| json!({ "key": label, "operator": "DoesNotExist" });
    let expressions: Vec<Value> = labels.iter().map(absent).collect();
    if let Some(affinity) = deployment.pointer_mut("/spec/template/spec/affinity/nodeAffinity")
        && !expressions.is_empty()
    {
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({ "nodeSelectorTerms": [{ "matchExpressions": expressions }] });
    }
    Ok(())
}

fn read_all(files: &[&str], namespace: &str) -> Result<Vec<Value>, Problem> {
    let read: Vec<Vec<Value>> = files.iter().map(|file| read(file, namespace)).collect::<Result<_, _>>()?;
    Ok(read.into_iter().flatten().collect())
}

fn read(file: &str, namespace: &str) -> Result<Vec<Value>, Problem> {
    // The namespace also stands inside the policies' expressions, so it is replaced as text.
    let text = file.replace(NAMESPACE, namespace);
    serde_saphyr::from_multiple(&text).map_err(|error| unreadable("a manifest", &error))
}

fn is_label(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=63).contains(&name.len())
        && name.bytes().all(|byte| plain(byte) || byte == b'-')
        && name.bytes().next().is_some_and(plain)
        && name.bytes().last().is_some_and(plain)
}

fn is_label_key(key: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    key.len() <= LABEL_KEY_BYTES_MAX
        && key.bytes().all(allowed)
        && key.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && key.bytes().last().is_some_and(|byte| byte.is_ascii_alphanumeric())
}

fn is_image(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@".contains(&byte);
    (1..=IMAGE_BYTES_MAX).contains(&name.len())
        && name.bytes().all(allowed)
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
}

fn unreadable(what: &str, error: &dyn std::fmt::Display) -> Problem {
    Problem {
        what: format!("{what} inside this binary cannot be read"),
        detail: error.to_string(),
        hint: "this is a defect of mainstay: please report it with `mainstay version`.".into(),
    }
}

#[cfg(test)]
mod tests;
