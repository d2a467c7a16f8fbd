//! Names and ids, one type each, so that code cannot pass a pool where a node is expected.

use crate::bounded::{Alphabet, text};
use crate::{ClaimSource, Timestamp};

text!(
    /// Name of a node in the backend. Kubernetes allows 253 bytes.
    NodeName, Token, 253
);
text!(
    /// Identity of one registration of a node. A node that is created again with the same name has another one.
    NodeUid, Token, 64
);
text!(
    /// Identity of one boot of one machine. Sequences, clocks and counters are compared only within a boot.
    BootId, Token, 64
);
text!(
    /// A pool of nodes that share a policy; the value of the pool label.
    PoolName, Token, 63
);
text!(
    /// One failure domain at one topology level, as the node's label names it.
    DomainName, Token, 63
);
text!(
    /// A Kubernetes namespace, or a Slurm account.
    Namespace, Token, 63
);
text!(
    /// Name of a gang within its namespace: the label's value, or the topmost owner as `kind/name`.
    GangName, Token, 253
);
text!(
    /// Name of a rule that detects or forbids something; also a metric label and a documented heading.
    RuleName, Token, 63
);
text!(
    /// Identity of an order to an agent.
    OrderId, Token, 40
);
text!(
    /// Identity of a claim. The same facts give the same one.
    ClaimId, Token, 40
);
text!(
    /// A value that a qualification result must return, so that an old result cannot be replayed.
    Nonce, Token, 40
);
text!(
    /// Name of installed software, as operators know it.
    SoftwareName, Token, 31
);
text!(
    /// Name of a suite of qualification tests.
    SuiteName, Token, 63
);
text!(
    /// Name of one test in a suite.
    TestName, Token, 40
);
text!(
    /// A GPU model, as the driver names it.
    Product, Line, 48
);
text!(
    /// Version of a driver, a firmware or a kernel.
    Version, Line, 48
);
text!(
    /// The driver's id of a GPU. History follows the serial instead, because a driver may change this id.
    GpuUuid, Token, 48
);
text!(
    /// User name of a request, as the client wrote it. Only the API server's audit log is authoritative.
    UserName, Line, 128
);
text!(
    /// A reason as one sentence for operators.
    Reason, Line, 256
);

impl OrderId {
    /// Builds the id of an action on a node: readable, and within its length limit for any node name. `round`
    /// distinguishes repeated actions.
    #[must_use]
    pub fn of(verb: &str, node: &NodeName, round: u32) -> Self {
        Self(short_id(verb, node.as_str(), round, Self::BYTES_MAX).into())
    }
}

impl ClaimId {
    /// Builds the id of a claim on a node or a gang. `round` distinguishes repeated claims.
    #[must_use]
    pub fn of(by: ClaimSource, name: &str, round: u32) -> Self {
        Self(short_id(by.word(), &name.replace('/', "-"), round, Self::BYTES_MAX).into())
    }
}

fn short_id(verb: &str, name: &str, round: u32, bytes_max: usize) -> String {
    let plain = format!("{verb}-{name}-{round}");
    if plain.len() <= bytes_max {
        return plain;
    }
    let start: String = name.chars().take(8).collect();
    let mut cut = format!("{verb}-{start}-{:08x}-{round}", short_digest(name));
    cut.truncate(bytes_max);
    cut
}

impl Nonce {
    /// Builds a nonce from its parts only, so that a replay gives the same one. Epoch and time make a nonce of an older
    /// leader or order invalid.
    #[must_use]
    pub fn of(order: &OrderId, epoch: u64, since: Timestamp) -> Self {
        let (order, since) = (short_digest(order.as_str()), since.0.unsigned_abs());
        let mut text = format!("{epoch}-{since:x}-{order:08x}");
        text.truncate(Self::BYTES_MAX);
        Self(text.into())
    }
}

impl Reason {
    /// Builds a reason from any text. Characters outside the alphabet are dropped, and the rest is cut at the limit.
    #[must_use]
    pub fn lossy(text: &str) -> Self {
        let kept = text.chars().filter(|c| u8::try_from(*c).is_ok_and(|byte| Alphabet::Line.takes(0, byte)));
        Self(kept.take(Self::BYTES_MAX).collect::<String>().into())
    }
}

/// FNV-1a hash: short and stable across versions. It distinguishes names and has no security purpose.
#[must_use]
pub fn short_digest(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        // The test vectors of its authors. A stored id must mean the same in the next version.
        for (text, hash) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            assert_eq!(short_digest(text), hash, "{text:?}");
        }
    }

    #[test]
    fn an_id_is_readable_and_one_that_is_cut_still_names_one_node() {
        let order = |node: &str, round| OrderId::of("power-cycle", &NodeName::parse(node).unwrap(), round);
        assert_eq!(order("r12n04", 2).as_str(), "power-cycle-r12n04-2");
        let (first, second) = (format!("{}1", "n".repeat(60)), format!("{}2", "n".repeat(60)));
        assert!(order(&first, 2).as_str().starts_with("power-cycle-nnnnnnnn-"));
        assert!(order(&first, 2).as_str().ends_with("-2"));
        assert_ne!(order(&first, 2), order(&second, 2));
        assert_ne!(order(&first, 2), order(&first, 3));
        // 40 bytes are the limit: one more is cut.
        let (fits, cut) = ("n".repeat(26), "n".repeat(27));
        assert_eq!(order(&fits, 2).as_str(), format!("power-cycle-{fits}-2"));
        assert!(order(&cut, 2).as_str().len() < 40);
    }

    #[test]
    fn a_nonce_differs_by_order_epoch_and_time() {
        let order = |name: &str| OrderId::parse(name).unwrap();
        let nonce = Nonce::of(&order("reboot-n1-1"), 3, Timestamp(16));
        assert!(nonce.as_str().starts_with("3-10-"), "{nonce}");
        assert_ne!(nonce, Nonce::of(&order("reboot-n1-2"), 3, Timestamp(16)));
        assert_ne!(nonce, Nonce::of(&order("reboot-n1-1"), 4, Timestamp(16)));
        assert_ne!(nonce, Nonce::of(&order("reboot-n1-1"), 3, Timestamp(17)));
    }
}
