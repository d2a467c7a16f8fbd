//! Converts a `Fabric` to a topology: which labels of a node name its failure domains.

use std::collections::BTreeMap;

use mainstay_model::{DomainName, Level};

use super::{ConversionError, small};
use crate::FabricSpec;

/// Largest number of rails of a node.
const RAILS_MAX: i64 = 16;

/// Node labels that name the failure domains of one fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    labels: BTreeMap<Level, String>,
    rails: u16,
}

impl Topology {
    /// Number of rails in the compute fabric.
    #[must_use]
    pub const fn rails(&self) -> u16 {
        self.rails
    }

    /// The label that names a node's domain at each level.
    #[must_use]
    pub const fn labels(&self) -> &BTreeMap<Level, String> {
        &self.labels
    }

    /// The domains of a node with these labels. An empty or invalid name is left out: a node without a domain has no
    /// budget at that level, so it may not be removed.
    #[must_use]
    pub fn domains(&self, labels: &BTreeMap<String, String>) -> BTreeMap<Level, DomainName> {
        let named = |(level, label): (&Level, &String)| Some((*level, DomainName::parse(labels.get(label)?).ok()?));
        self.labels.iter().filter_map(named).collect()
    }
}

impl TryFrom<&FabricSpec> for Topology {
    type Error = ConversionError;

    fn try_from(spec: &FabricSpec) -> Result<Self, ConversionError> {
        let mut labels = BTreeMap::new();
        for one in spec.levels.as_slice() {
            if labels.values().any(|label| *label == one.node_label) {
                return Err(ConversionError::Twice { field: "levels", name: format!("label {}", one.node_label) });
            }
            if labels.insert(one.level, one.node_label.clone()).is_some() {
                return Err(ConversionError::Twice { field: "levels", name: format!("{:?}", one.level) });
            }
        }
        Ok(Self { labels, rails: small("rails", spec.rails.into(), RAILS_MAX)? })
    }
}
