//! Converts a `NodeReport` to the model's report, and its parts back: the agent writes them, the controller reads them.

use std::collections::BTreeSet;

use mainstay_model as model;
use mainstay_model::{Bounded, Detail, Sequence};

use super::{ConversionError, count, each, small, wire64};
use crate::{Evidence, Gpu, Inventory, Moment, Nic, NodeReportSpec, UnrecognisedLine};

/// Largest index of a GPU or a rail.
const INDEX_MAX: i64 = 15;

impl TryFrom<&NodeReportSpec> for model::Report {
    type Error = ConversionError;

    fn try_from(spec: &NodeReportSpec) -> Result<Self, ConversionError> {
        let evidence: Bounded<model::Evidence, _> = each("evidence", &spec.evidence, model::Evidence::try_from)?;
        let mut keys = BTreeSet::new();
        if let Some(twice) = evidence.as_slice().iter().map(|piece| &piece.key).find(|key| !keys.insert(*key)) {
            let name = format!("{:?} {}", twice.source, twice.code);
            return Err(ConversionError::Twice { field: "evidence", name });
        }
        Ok(Self {
            uid: spec.node_uid.clone(),
            boot_id: spec.boot_id.clone(),
            sequence: Sequence(count("sequence", spec.sequence)?),
            inventory: model::Inventory::try_from(&spec.inventory)?,
            evidence,
            outcomes: each("outcomes", &spec.outcomes, |one| Ok((one.nonce.clone(), one.outcome)))?,
            results: each("results", &spec.results, |one| Ok((one.nonce.clone(), one.verdict)))?,
            unrecognised: each("unrecognised", &spec.unrecognised, model::UnrecognisedLine::try_from)?,
        })
    }
}

impl TryFrom<&Inventory> for model::Inventory {
    type Error = ConversionError;

    fn try_from(inventory: &Inventory) -> Result<Self, ConversionError> {
        Ok(Self {
            board: inventory.board.clone(),
            product: inventory.product.clone(),
            driver: inventory.driver.clone(),
            gpus: each("inventory.gpus", &inventory.gpus, |gpu| {
                Ok(model::Gpu {
                    index: small("inventory.gpus.index", gpu.index.into(), INDEX_MAX)?,
                    serial: gpu.serial.clone(),
                    uuid: gpu.uuid.clone(),
                    pci: gpu.pci.clone(),
                })
            })?,
            gpus_unavailable: inventory.gpus_unavailable.clone(),
            nics: each("inventory.nics", &inventory.nics, |nic| {
                Ok(model::Nic {
                    rail: small("inventory.nics.rail", nic.rail.into(), INDEX_MAX)?,
                    serial: nic.serial.clone(),
                    pci: nic.pci.clone(),
                })
            })?,
        })
    }
}

impl TryFrom<&Evidence> for model::Evidence {
    type Error = ConversionError;

    fn try_from(evidence: &Evidence) -> Result<Self, ConversionError> {
        Ok(Self {
            key: model::EvidenceKey {
                source: evidence.source,
                code: evidence.code.clone(),
                device: evidence.device.clone(),
                detail: evidence.detail.clone().unwrap_or_else(|| Detail::NONE.get()),
            },
            count: count("evidence.count", evidence.count)?,
            first_seen_at: evidence.first_seen_at.into(),
            last_seen_at: evidence.last_seen_at.into(),
        })
    }
}

impl TryFrom<&UnrecognisedLine> for model::UnrecognisedLine {
    type Error = ConversionError;

    fn try_from(line: &UnrecognisedLine) -> Result<Self, ConversionError> {
        Ok(Self {
            code: line.code.clone(),
            template: line.template.clone(),
            component: line.component,
            count: count("unrecognised.count", line.count)?,
            first_seen_at: line.first_seen_at.into(),
            last_seen_at: line.last_seen_at.into(),
        })
    }
}

impl From<&model::UnrecognisedLine> for UnrecognisedLine {
    fn from(line: &model::UnrecognisedLine) -> Self {
        Self {
            code: line.code.clone(),
            template: line.template.clone(),
            component: line.component,
            count: wire64(line.count),
            first_seen_at: Moment::from(line.first_seen_at),
            last_seen_at: Moment::from(line.last_seen_at),
        }
    }
}

impl From<&model::Evidence> for Evidence {
    fn from(evidence: &model::Evidence) -> Self {
        let key = &evidence.key;
        Self {
            source: key.source,
            code: key.code.clone(),
            device: key.device.clone(),
            detail: (!key.detail.as_str().is_empty()).then(|| key.detail.clone()),
            count: wire64(evidence.count),
            first_seen_at: Moment::from(evidence.first_seen_at),
            last_seen_at: Moment::from(evidence.last_seen_at),
        }
    }
}

impl From<&model::Gpu> for Gpu {
    fn from(gpu: &model::Gpu) -> Self {
        let index = i32::from(gpu.index);
        Self { index, serial: gpu.serial.clone(), uuid: gpu.uuid.clone(), pci: gpu.pci.clone() }
    }
}

impl From<&model::Nic> for Nic {
    fn from(nic: &model::Nic) -> Self {
        Self { rail: i32::from(nic.rail), serial: nic.serial.clone(), pci: nic.pci.clone() }
    }
}
