//! One node for tests, written as readable lines; it contains no expectation.

use std::sync::LazyLock;

use mainstay_model::{
    Bounded, Code, Detail, Evidence, EvidenceKey, Gpu, Inventory, NodeFacts, Override, Persisted, PlannedWork, Policy,
    Ready, Report, RuleName, Schedulable, Sequence, Serial, Source, Span, Stage, Timestamp, Urgency,
};

use crate::{Catalogue, FindingInput, Findings, Rules, StampResult, begin_tests, findings, forget_hours, stamp};

/// The catalogue, read once for all tests.
static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::built_in);

/// 2026-11-15 00:00 UTC: the beginning of an hour and of a day.
pub(crate) const BEGIN: Timestamp = Timestamp(1_794_700_800_000);

/// Returns the time a number of minutes after [`BEGIN`].
pub(crate) fn minutes(minutes: u32) -> Timestamp {
    BEGIN + Span::minutes(minutes)
}

/// Returns the time a number of hours after [`BEGIN`].
pub(crate) fn hours(hours: u32) -> Timestamp {
    BEGIN + Span::hours(hours)
}

/// Reads `Xid 74 G1 2 link 3 r0=1`: source, code, device (`-` is the node), count, and what is left as the detail.
/// Where `@n` follows the count, it was last seen in second `n` of the agent's clock.
pub(crate) fn evidence(line: &str) -> Evidence {
    let mut words = line.splitn(5, ' ');
    let mut word = || words.next().unwrap_or_default();
    let source = match word() {
        "Xid" => Source::Xid,
        "Sxid" => Source::Sxid,
        "PcieAer" => Source::PcieAer,
        "Nic" => Source::Nic,
        "Kernel" => Source::Kernel,
        "Nvml" => Source::Nvml,
        "Inventory" => Source::Inventory,
        other => panic!("no source {other} in {line}"),
    };
    let code = Code::parse(word()).unwrap();
    let device = Some(word()).filter(|device| *device != "-").map(|device| Serial::parse(device).unwrap());
    let seen = word();
    let (count, second) = seen.split_once('@').unwrap_or((seen, "0"));
    let detail = Detail::parse(word()).unwrap();
    let last_seen_at = Timestamp(second.parse::<i64>().unwrap() * 1_000);
    Evidence {
        key: EvidenceKey { source, code, device, detail },
        count: count.parse().unwrap(),
        first_seen_at: Timestamp(0),
        last_seen_at,
    }
}

/// A report of this boot with these lines.
pub(crate) fn report(boot: &str, lines: &[&str]) -> Report {
    of(boot, lines.iter().map(|line| evidence(line)).collect())
}

/// A report of this boot with this evidence.
pub(crate) fn of(boot: &str, evidence: Vec<Evidence>) -> Report {
    Report {
        uid: "uid-1".parse().unwrap(),
        boot_id: boot.parse().unwrap(),
        sequence: Sequence(1),
        inventory: inventory(8),
        evidence: evidence.try_into().unwrap(),
        outcomes: Bounded::new(),
        results: Bounded::new(),
        unrecognised: Bounded::new(),
    }
}

fn inventory(gpus: u16) -> Inventory {
    let gpu = |index: u16| Gpu {
        index,
        serial: format!("G{index}").parse().unwrap(),
        uuid: format!("GPU-{index}").parse().unwrap(),
        pci: format!("0000:{index:02x}:00.0").parse().unwrap(),
    };
    Inventory {
        board: "B1".parse().unwrap(),
        product: "H100".parse().unwrap(),
        driver: "575.57".parse().unwrap(),
        gpus: (0..gpus).map(gpu).collect::<Vec<_>>().try_into().unwrap(),
        gpus_unavailable: None,
        nics: Bounded::new(),
    }
}

/// A pool where one code means another rule.
pub(crate) fn policy(source: Source, code: &str, rule: &str, urgency: Option<Urgency>) -> Policy {
    let one = Override { source, code: code.parse().unwrap(), rule: RuleName::parse(rule).unwrap(), urgency };
    Policy { overrides: vec![one].try_into().unwrap(), ..Policy::new("pool".parse().unwrap()) }
}

/// One node with eight GPUs, as the engine stores it.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) persisted: Persisted,
    pub(crate) latest: Report,
    pub(crate) facts: NodeFacts,
}

impl Node {
    pub(crate) fn new() -> Self {
        let facts = NodeFacts {
            uid: "uid-1".parse().unwrap(),
            domains: std::collections::BTreeMap::new(),
            pool: "pool".parse().unwrap(),
            gpus: 8,
            ready: Ready::Yes,
            schedulable: Schedulable::Yes,
            planned: PlannedWork::Nothing,
            avoided: false,
            power: mainstay_model::Power::Unknown,
        };
        // Reboots of a node in service count as evidence, which is the subject of one test only.
        Self { persisted: Persisted::new(Stage::Maintenance, BEGIN), latest: report("b1", &[]), facts }
    }

    pub(crate) fn report(&mut self, at: Timestamp, report: Report) -> StampResult {
        let stamped = stamp(&CATALOGUE, &mut self.persisted, &report.boot_id, report.evidence.as_slice(), at);
        self.latest = report;
        stamped
    }

    /// The node passes its tests, and every part was treated before.
    pub(crate) fn qualifies(&mut self) {
        begin_tests(&mut self.persisted);
        forget_hours(&mut self.persisted, |_| true);
    }

    pub(crate) fn lists(&mut self, gpus: u16) {
        self.latest.inventory = inventory(gpus);
    }

    pub(crate) fn is_a(&mut self, product: &str, driver: &str) {
        self.latest.inventory.product = product.parse().unwrap();
        self.latest.inventory.driver = driver.parse().unwrap();
    }

    pub(crate) fn findings_with(&self, catalogue: &Catalogue, policy: Option<&Policy>, now: Timestamp) -> Findings {
        let sight = FindingInput {
            facts: Some(&self.facts),
            inventory: Some(&self.latest.inventory),
            evidence: self.latest.evidence.as_slice(),
            arrivals: self.persisted.arrivals.as_slice(),
        };
        findings(Rules { catalogue, policy }, &sight, now)
    }

    pub(crate) fn findings(&self, now: Timestamp) -> Findings {
        self.findings_with(&CATALOGUE, None, now)
    }

    /// The rules found, worst first.
    pub(crate) fn rules(&self, now: Timestamp) -> Vec<String> {
        names(&self.findings(now))
    }
}

/// The rules of findings, in order.
pub(crate) fn names(findings: &Findings) -> Vec<String> {
    findings.list.as_slice().iter().map(|finding| finding.rule.to_string()).collect()
}
