//! What a cluster needs before a controller runs. The files under `deploy/` are the source; the binary carries them.

use clap::ValueEnum;
use serde_json::Value;

use crate::output::Problem;

/// The namespace that the files under `deploy/policy` are written for.
pub(crate) const NAMESPACE: &str = "mainstay-system";

/// Applied in this order: the fence stands before the controller has any rights.
const POLICY: [&str; 9] = [
    include_str!("../../../deploy/policy/00-namespace.yaml"),
    include_str!("../../../deploy/policy/10-cell.yaml"),
    include_str!("../../../deploy/policy/20-fence.yaml"),
    include_str!("../../../deploy/policy/21-agent.yaml"),
    include_str!("../../../deploy/policy/22-keep-cell.yaml"),
    include_str!("../../../deploy/policy/30-controller.yaml"),
    include_str!("../../../deploy/policy/31-agent.yaml"),
    include_str!("../../../deploy/policy/32-people.yaml"),
    include_str!("../../../deploy/policy/33-flow.yaml"),
];

/// Which part to render.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// The custom resource definitions
    Crds,
    /// Namespace, roles, the Cell and the admission policies
    Policy,
    /// Both, definitions first
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

pub(crate) fn render(part: Part, namespace: &str) -> Result<Vec<Value>, Problem> {
    if !is_label(namespace) {
        return Err(Problem {
            what: format!("\"{namespace}\" cannot be a namespace"),
            detail: "a namespace has 1 to 63 lower-case letters, digits and dashes, and no dash at its ends.".into(),
            hint: "choose another --namespace.".into(),
        });
    }
    let mut documents = if part == Part::Policy { Vec::new() } else { crds(None)? };
    if part != Part::Crds {
        for file in POLICY {
            // The namespace also stands inside the policies' expressions, so it is replaced as text.
            let text = file.replace(NAMESPACE, namespace);
            let read: Vec<Value> =
                serde_saphyr::from_multiple(&text).map_err(|error| unreadable("a policy", &error))?;
            documents.extend(read);
        }
    }
    Ok(documents)
}

fn is_label(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=63).contains(&name.len())
        && name.bytes().all(|byte| plain(byte) || byte == b'-')
        && name.bytes().next().is_some_and(plain)
        && name.bytes().last().is_some_and(plain)
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
