//! Names and ids, one type each, so that a pool is never passed where a node is meant.

use crate::Timestamp;
use crate::bounded::text;

text!(
    /// A node's name, as the backend knows it. Kubernetes allows 253 bytes.
    NodeName, Token, 253
);
text!(
    /// The identity of one registration of a node; a re-created node with the same name has another.
    NodeUid, Token, 64
);
text!(
    /// One boot of one machine; sequences, clocks and counters are compared within it only.
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
    /// A namespace of Kubernetes, or an account of Slurm.
    Namespace, Token, 63
);
text!(
    /// A gang within its namespace: the label's value, else the topmost owner as `kind/name`.
    GangName, Token, 253
);
text!(
    /// A rule that finds or forbids something; also a metric label and a documented heading.
    RuleName, Token, 63
);
text!(
    /// An order to an agent.
    OrderId, Token, 40
);
text!(
    /// What a qualification's result must carry back, so that an old result cannot be played again.
    Nonce, Token, 40
);
text!(
    /// Installed software, by the name that people know it by.
    SoftwareName, Token, 31
);
text!(
    /// A suite of qualification tests.
    SuiteName, Token, 63
);
text!(
    /// One test of a suite.
    TestName, Token, 40
);
text!(
    /// A GPU model, in the driver's words.
    Product, Line, 48
);
text!(
    /// A version of a driver, a firmware or a kernel.
    Version, Line, 48
);
text!(
    /// The driver's id of a GPU. History follows the serial instead, which survives a driver that changes its mind.
    GpuUuid, Token, 48
);
text!(
    /// Who asked, as the writer says; only the API server's audit log knows for certain.
    Person, Line, 128
);
text!(
    /// Why, in a sentence for people.
    Reason, Line, 256
);

impl OrderId {
    /// The id of an action on a node: readable, and within its bound whatever the node is called. `round` tells this
    /// time from the last.
    #[must_use]
    pub fn of(verb: &str, node: &NodeName, round: u32) -> Self {
        let plain = format!("{verb}-{node}-{round}");
        if plain.len() <= Self::BYTES_MAX {
            return Self(plain.into());
        }
        let start: String = node.as_str().chars().take(8).collect();
        let mut cut = format!("{verb}-{start}-{:08x}-{round}", digest(node.as_str()));
        cut.truncate(Self::BYTES_MAX);
        Self(cut.into())
    }
}

impl Nonce {
    /// A nonce that depends on nothing but its parts, so that a replay gives the same one; the epoch and the moment in it
    /// make one of an older leadership, or of an older order, useless.
    #[must_use]
    pub fn of(order: &OrderId, epoch: u64, since: Timestamp) -> Self {
        let (order, since) = (digest(order.as_str()), since.0.unsigned_abs());
        let mut text = format!("{epoch}-{since:x}-{order:08x}");
        text.truncate(Self::BYTES_MAX);
        Self(text.into())
    }
}

/// FNV-1a: short, stable over versions, and only there to tell names apart; nothing is secured by it.
fn digest(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
