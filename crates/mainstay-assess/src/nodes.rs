//! The node list (`--nodes`): which nodes exist, what they share, and how many GPUs they have.

use std::collections::BTreeMap;

use mainstay_model::{DomainName, Level, NodeName, PoolName, Timestamp};
use mainstay_text::Problem;

use super::table::CsvTable;
use super::timestamp::{self, Zone};

/// One node.
#[derive(Debug, Clone, Default)]
pub(super) struct NodeRow {
    pub(super) pool: Option<PoolName>,
    pub(super) gpus: Option<u16>,
    pub(super) domains: BTreeMap<Level, DomainName>,
    pub(super) booted: Option<Timestamp>,
}

const LEVELS: [(&str, Level); 5] = [
    ("nvlink_domain", Level::NvlinkDomain),
    ("rack", Level::Rack),
    ("pdu", Level::Pdu),
    ("leaf", Level::Leaf),
    ("spine", Level::Spine),
];

/// Reads `node,pool,gpus,nvlink_domain,rack,pdu,leaf,spine,booted`; all but the first may be absent.
pub(super) fn read(table: &CsvTable, zone: Zone) -> Result<BTreeMap<NodeName, NodeRow>, Problem> {
    if !table.has(&["node", "host", "hostname"]) {
        return Err(Problem {
            what: format!("no column `node` in {}", table.name()),
            detail: format!("its columns are {}.", table.header()),
            hint: "add a column `node`. Optional: pool, gpus, rack, pdu, leaf, spine, nvlink_domain, booted.".into(),
        });
    }
    let mut nodes = BTreeMap::new();
    for row in table.rows() {
        let Some(node) = row.get(&["node", "host", "hostname"]).and_then(|name| NodeName::parse(name).ok()) else {
            continue;
        };
        let level = |(name, level): (&str, Level)| Some((level, DomainName::parse(row.get(&[name])?).ok()?));
        let facts = NodeRow {
            pool: row.get(&["pool"]).and_then(|pool| PoolName::parse(pool).ok()),
            gpus: row.get(&["gpus"]).and_then(|gpus| gpus.parse().ok()).filter(|gpus| *gpus <= 16),
            domains: LEVELS.into_iter().filter_map(level).collect(),
            booted: row.get(&["booted"]).and_then(|at| timestamp::rfc3339(at, zone)),
        };
        nodes.insert(node, facts);
    }
    Ok(nodes)
}
