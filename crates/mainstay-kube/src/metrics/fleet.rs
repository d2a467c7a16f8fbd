//! Metrics of the whole cluster: GPUs by state, room for jobs, inventory, and time to detect and to return.

use std::collections::BTreeMap;

use mainstay_engine::{DomainsLine, RoomLine};
use mainstay_model::{Level, Stage};
use mainstay_telemetry::metrics::{Distribution, Samples, catalogue};

use crate::jobs::{JobCounts, JobGauges};

/// Label value for all combinations of versions beyond the limit.
const OTHER: &str = "other";

/// Gauges that take time proportional to the fleet.
#[derive(Debug, Clone, Default)]
pub(crate) struct FleetGauges {
    pub(crate) gpus: BTreeMap<Stage, u64>,
    pub(crate) room: Vec<RoomLine>,
    /// GPUs by model, driver and firmware.
    pub(crate) inventory: BTreeMap<[Box<str>; 3], u64>,
    pub(crate) jobs: JobGauges,
    pub(crate) nodes: Vec<DomainsLine>,
    pub(crate) incidents: Vec<IncidentLine>,
}

/// An open incident as a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IncidentLine {
    pub(crate) name: String,
    pub(crate) rule: String,
    /// `Node`, `Driver` or a topology level.
    pub(crate) level: String,
    /// Name of the node, driver version or domain.
    pub(crate) domain: String,
    pub(crate) title: String,
    pub(crate) is_acknowledged: bool,
    pub(crate) nodes: u64,
}

/// Durations of transitions since the process started.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TransitionTimes {
    pub(crate) detection: Distribution,
    pub(crate) back: Distribution,
}

impl TransitionTimes {
    pub(super) fn export(&self, samples: &mut Samples) {
        samples.observe(catalogue::DETECTION, [], self.detection);
        samples.observe(catalogue::RETURN, [], self.back);
    }
}

impl FleetGauges {
    pub(super) fn export(&self, counts: &JobCounts, samples: &mut Samples) {
        for stage in Stage::ALL {
            samples.set(catalogue::GPUS, [&format!("{stage:?}")], self.gpus.get(&stage).copied().unwrap_or(0));
        }
        for RoomLine { pool, level, gpus } in &self.room {
            let level = level.map_or("Pool".to_owned(), |level| format!("{level:?}"));
            samples.set(catalogue::LARGEST_GANG, [pool.as_str(), &level], u64::from(*gpus));
        }
        self.export_inventory(samples);
        self.export_incidents(samples);
        self.export_nodes(samples);
        self.jobs.export(counts, samples);
    }

    fn export_incidents(&self, samples: &mut Samples) {
        let mut incidents: Vec<&IncidentLine> = self.incidents.iter().collect();
        incidents.sort_by(|a, b| b.nodes.cmp(&a.nodes).then_with(|| a.name.cmp(&b.name)));
        for line in incidents {
            let acknowledged = if line.is_acknowledged { "true" } else { "false" };
            let labels = [&line.name, &line.rule, &line.level, &line.domain, &line.title].map(String::as_str);
            let [name, rule, level, domain, title] = labels;
            samples.set(catalogue::INCIDENT_NODES, [name, rule, level, domain, title, acknowledged], line.nodes);
        }
    }

    fn export_nodes(&self, samples: &mut Samples) {
        for DomainsLine { node, pool, domains } in &self.nodes {
            let domain = |level: Level| domains.get(&level).map_or("", |name| name.as_str());
            let [nvlink, rack, pdu, leaf, spine] = Level::ALL.map(domain);
            samples.set(catalogue::NODE_INFO, [node.as_str(), pool.as_str(), nvlink, rack, pdu, leaf, spine], true);
        }
    }

    /// The most frequent combinations have rows of their own.
    fn export_inventory(&self, samples: &mut Samples) {
        let mut rows: Vec<_> = self.inventory.iter().collect();
        rows.sort_by(|a, b| b.1.cmp(a.1));
        let (own, rest) = rows.split_at(rows.len().min(catalogue::VERSIONS - 1));
        for ([model, driver, firmware], gpus) in own {
            samples.set(catalogue::INVENTORY_GPUS, [model, driver, firmware], **gpus);
        }
        if !rest.is_empty() {
            let gpus: u64 = rest.iter().map(|(_, gpus)| **gpus).sum();
            samples.set(catalogue::INVENTORY_GPUS, [OTHER; 3], gpus);
        }
    }

    /// A value of every gauge.
    #[cfg(test)]
    pub(super) fn one_of_each() -> Self {
        let pool = mainstay_model::PoolName::parse("train").unwrap();
        Self {
            room: vec![RoomLine { pool, level: None, gpus: 8 }],
            inventory: [(["H100", "580.1", "96.00"].map(Box::from), 8)].into(),
            jobs: JobGauges::one_of_each(),
            nodes: vec![DomainsLine {
                node: "n1".parse().unwrap(),
                pool: "train".parse().unwrap(),
                domains: BTreeMap::new(),
            }],
            incidents: vec![IncidentLine {
                name: "leaf-1".to_owned(),
                rule: "leaf-down".to_owned(),
                level: "Leaf".to_owned(),
                domain: "l1".to_owned(),
                title: "Leaf l1 is down".to_owned(),
                is_acknowledged: false,
                nodes: 32,
            }],
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_telemetry::metrics::{Exporter, Format};

    use super::*;

    #[test]
    fn rare_versions_share_a_row_and_no_gpu_is_left_out() {
        let row = |number: u64| ([format!("model-{number}").into(), "d".into(), "f".into()], number);
        let gauges = FleetGauges { inventory: (1..=200).map(row).collect(), ..FleetGauges::default() };
        let mut samples = Samples::new(Exporter::Controller);
        gauges.export(&JobCounts::default(), &mut samples);
        assert_eq!(samples.omitted(), 0);
        let text = samples.encode(Format::Text).unwrap();
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("mainstay_inventory_gpus{")).collect();
        assert_eq!(rows.len(), catalogue::VERSIONS);
        let gpus = |row: &&str| row.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
        assert_eq!(rows.iter().map(gpus).sum::<u64>(), 200 * 201 / 2);
        assert!(text.contains("{model=\"model-200\",driver=\"d\",firmware=\"f\"} 200\n"), "{text}");
    }
}
