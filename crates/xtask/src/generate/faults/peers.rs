//! What other systems do on an XID, and whether that differs from Mainstay: they remove a node that Mainstay leaves in
//! service, or the reverse.

use std::collections::BTreeMap;

use anyhow::ensure;

const TABLE: &str = include_str!("peers.tsv");
const SYSTEMS: [&str; 6] = ["NVSentinel", "gpud", "EKS", "Azure", "device plugin", "GCM"];

/// What one line of a code comes to with us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ours {
    /// The node stays in service, watched or not.
    Stays,
    /// The node is removed from service.
    Out,
    /// One or the other, depending on the log line.
    Depends,
}

/// What others say, by code.
pub(super) struct Peers(BTreeMap<String, [String; 6]>);

impl Peers {
    pub(super) fn read() -> anyhow::Result<Self> {
        let mut peers = BTreeMap::new();
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
            ensure!(columns.len() == SYSTEMS.len() + 1, "not seven columns: {line}");
            let mut columns = columns.into_iter();
            let code = columns.next().unwrap_or_default();
            peers.insert(code, std::array::from_fn(|_| columns.next().unwrap_or_default()));
        }
        Ok(Self(peers))
    }

    /// Who does something else, in their words.
    pub(super) fn otherwise(&self, code: &str, ours: Ours) -> String {
        let Some(words) = self.0.get(code) else { return String::new() };
        let others = SYSTEMS.iter().zip(words).filter(|(system, word)| match (out(system, word), ours) {
            (None, _) => false,
            (Some(out), Ours::Stays) => out,
            (Some(out), Ours::Out) => !out,
            // They do the same for every content of the line.
            (Some(_), Ours::Depends) => true,
        });
        others.map(|(system, word)| format!("{system}: {word}")).collect::<Vec<_>>().join("; ")
    }
}

/// Whether a system takes the node, or the GPU, out; nothing where it has no word on the code.
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
        assert_eq!(peers.otherwise("79", Ours::Out), "");
        assert_eq!(peers.otherwise("45", Ours::Stays), "");
        assert_eq!(peers.otherwise("unheard-of", Ours::Out), "");
    }

    #[test]
    fn who_does_otherwise_is_named_in_its_own_words() {
        let peers = Peers::read().unwrap();
        let told = peers.otherwise("63", Ours::Out);
        assert_eq!(told, "NVSentinel: NONE; GCM: non-critical");
        assert_eq!(peers.otherwise("44", Ours::Stays), "gpud: Fatal RebootSystem then HardwareInspection");
        assert!(peers.otherwise("74", Ours::Depends).contains("NVSentinel: CONTACT_SUPPORT*"));
    }
}
