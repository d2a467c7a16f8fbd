//! `Fabric` to a topology: which labels of a node name its failure domains.

use std::collections::BTreeMap;

use mainstay_model::{DomainName, Level};

use super::{Unfit, small};
use crate::FabricSpec;

/// The most rails that any node of this field has.
const RAILS_MAX: i64 = 16;

/// Where nodes say where they stand, of one fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    labels: BTreeMap<Level, String>,
    rails: u16,
}

impl Topology {
    /// How many rails the compute fabric has.
    #[must_use]
    pub const fn rails(&self) -> u16 {
        self.rails
    }

    /// The label that names a node's domain at each level.
    #[must_use]
    pub const fn labels(&self) -> &BTreeMap<Level, String> {
        &self.labels
    }

    /// The domains of a node with these labels. One that is empty, or no name of a domain, is left out: a node without a
    /// domain has no budget at that level, which is the safe side.
    #[must_use]
    pub fn domains(&self, labels: &BTreeMap<String, String>) -> BTreeMap<Level, DomainName> {
        let named = |(level, label): (&Level, &String)| Some((*level, DomainName::parse(labels.get(label)?).ok()?));
        self.labels.iter().filter_map(named).collect()
    }
}

impl TryFrom<&FabricSpec> for Topology {
    type Error = Unfit;

    fn try_from(spec: &FabricSpec) -> Result<Self, Unfit> {
        let mut labels = BTreeMap::new();
        for one in spec.levels.as_slice() {
            if labels.values().any(|label| *label == one.node_label) {
                return Err(Unfit::Twice { field: "levels", name: format!("label {}", one.node_label) });
            }
            if labels.insert(one.level, one.node_label.clone()).is_some() {
                return Err(Unfit::Twice { field: "levels", name: format!("{:?}", one.level) });
            }
        }
        Ok(Self { labels, rails: small("rails", spec.rails.into(), RAILS_MAX)? })
    }
}
