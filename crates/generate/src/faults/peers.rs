//! Compares Mainstay's response to an XID with other systems: which of them remove a node that Mainstay keeps in
//! service, or keep a node that Mainstay removes.

use std::collections::BTreeMap;

use anyhow::ensure;

const TABLE: &str = include_str!("peers.tsv");
const SYSTEMS: [&str; 6] = ["NVSentinel", "gpud", "EKS", "Azure", "device plugin", "GCM"];

/// Whether Mainstay keeps a node in service after one line of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServiceEffect {
    /// The node stays in service, watched or not.
    Stays,
    /// The node is removed from service.
    Out,
    /// The response depends on the content of the line.
    Depends,
}

/// Responses of other systems, by code.
pub(super) struct Peers(BTreeMap<String, [String; 6]>);

impl Peers {
    pub(super) fn read() -> anyhow::Result<Self> {
        let mut peers = BTreeMap::new();
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
            ensure!(columns.len() == SYSTEMS.len() + 1, "expected seven columns: {line}");
            let mut columns = columns.into_iter();
            let code = columns.next().unwrap_or_default();
            peers.insert(code, std::array::from_fn(|_| columns.next().unwrap_or_default()));
        }
        Ok(Self(peers))
    }

    /// Lists the systems that respond differently, with their own name for the response.
    pub(super) fn otherwise(&self, code: &str, ours: ServiceEffect) -> String {
        let Some(words) = self.0.get(code) else { return String::new() };
        let others = SYSTEMS.iter().zip(words).filter(|(system, word)| match (out(system, word), ours) {
            (None, _) => false,
            (Some(out), ServiceEffect::Stays) => out,
            (Some(out), ServiceEffect::Out) => !out,
            // These systems respond the same to every line of the code, so they differ for some lines.
            (Some(_), ServiceEffect::Depends) => true,
        });
        others.map(|(system, word)| format!("{system}: {word}")).collect::<Vec<_>>().join("; ")
    }
}

/// Returns whether a system removes the node or the GPU from service; `None` where it does not list the code.
fn out(system: &str, word: &str) -> Option<bool> {
    match (system, word) {
        (_, "-") => None,
        ("NVSentinel", word) => Some(word != "NONE"),
        ("gpud", word) => Some(word.starts_with("Fatal")),
        ("EKS" | "Azure", _) => Some(true),
        (_, _) => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_the_same_is_not_named() {
        let peers = Peers::read().unwrap();
        assert_eq!(peers.otherwise("79", ServiceEffect::Out), "");
        assert_eq!(peers.otherwise("45", ServiceEffect::Stays), "");
        assert_eq!(peers.otherwise("unheard-of", ServiceEffect::Out), "");
    }

    #[test]
    fn who_does_otherwise_is_named_in_its_own_words() {
        let peers = Peers::read().unwrap();
        let told = peers.otherwise("63", ServiceEffect::Out);
        assert_eq!(told, "NVSentinel: NONE; GCM: non-critical");
        assert_eq!(peers.otherwise("44", ServiceEffect::Stays), "gpud: Fatal RebootSystem then HardwareInspection");
        assert!(peers.otherwise("74", ServiceEffect::Depends).contains("NVSentinel: CONTACT_SUPPORT*"));
    }
}
