//! Builds one node of a snapshot from observed facts and the decisions of the engine.

use mainstay_api::http::{
    self, Lemon, NodeAttempt, NodeEvidence, NodeGpu, NodeLine, NodeOrder, NodeRecord, PartFinding, RiskPart,
};
use mainstay_engine::why::{Wait, source_word};
use mainstay_engine::{Engine, Factor, Risk, Why, is_out_of_service};
use mainstay_model::{
    BootId, Bounded, Finding, Level, NodeFacts, NodeName, NodeSummary, Persisted, PlannedWork, Ready, Report, Request,
    Response, Schedulable, Serial, Stage, Task, Timestamp, WaitingOn,
};

use crate::snapshot::NodeSnapshot;

/// Observed facts about a node, without the decisions of the engine.
pub struct NodeInput<'a> {
    /// Name of the node.
    pub name: &'a NodeName,
    /// Facts that Kubernetes has about it.
    pub facts: &'a NodeFacts,
    /// Latest report of its agent.
    pub report: Option<&'a Report>,
    /// Open request of an operator.
    pub request: Option<&'a Request>,
    /// Stored status of the node.
    pub recorded: Option<&'a Persisted>,
    /// Job that runs on it.
    pub job: Option<String>,
}

/// State of a healthy node whose change requires a new snapshot of it; heartbeats are not part of it.
#[derive(PartialEq, Eq)]
pub(super) struct Fingerprint {
    job: Option<String>,
    asked: Option<Request>,
    backend: (Ready, Schedulable, PlannedWork),
    boot_id: Option<BootId>,
    evidence: (usize, u64),
    recorded: Option<(Stage, Timestamp, usize)>,
}

impl Fingerprint {
    pub(super) fn of(view: &NodeInput<'_>) -> Self {
        let evidence = view.report.map_or(&[][..], |report| report.evidence.as_slice());
        Self {
            job: view.job.clone(),
            asked: view.request.cloned(),
            backend: (view.facts.ready, view.facts.schedulable, view.facts.planned),
            boot_id: view.report.map(|report| report.boot_id.clone()),
            evidence: (evidence.len(), evidence.iter().map(|one| one.count).sum()),
            recorded: view.recorded.map(|known| (known.stage, known.since, known.attempts.as_slice().len())),
        }
    }
}

pub(super) fn node(
    engine: &Engine,
    view: &NodeInput<'_>,
    line: Option<&NodeSummary>,
    incident: Option<String>,
) -> NodeSnapshot {
    let known = engine.persisted(view.name);
    let findings = engine.found(view.name);
    let why = engine.why(view.name).unwrap_or_else(|| nothing(view, known));
    let record = record(engine, view, known, &findings, incident);
    let domain = |level: Level| view.facts.domains.get(&level).map_or_else(String::new, ToString::to_string);
    let line = NodeLine {
        name: view.name.to_string(),
        stage: why.stage,
        since: why.since.0,
        waiting_on: line.map_or(WaitingOn::Nothing, |line| line.waiting_on),
        rule: line.and_then(|line| line.cause.as_ref()).map(ToString::to_string),
        message: line.and(why.fault.as_ref()).map_or_else(String::new, |fault| fault.title.clone()),
        job: view.job.clone(),
        risk_ppm: record.risk.ppm,
        rack: domain(Level::Rack),
        leaf: domain(Level::Leaf),
        gpus: view.facts.gpus.into(),
    };
    let is_sick = |gpu: &&NodeGpu| gpu.findings.iter().any(|finding| finding.response > Response::Note);
    let sick = record.gpus_list.iter().filter(is_sick).map(|gpu| 1_u8.checked_shl(gpu.index.into()).unwrap_or(0));
    let sick_gpus = sick.fold(0, |mask, bit| mask | bit);
    let is_out = is_out_of_service(why.stage, view.facts.ready);
    NodeSnapshot { line, record, why: Why { as_of: Timestamp(0), ..why }, sick_gpus, is_out }
}

/// The explanation of a node that is not registered.
fn nothing(view: &NodeInput<'_>, known: Option<&Persisted>) -> Why {
    Why {
        node: view.name.clone(),
        as_of: Timestamp(0),
        stage: known.map_or(Stage::Bootstrapping, |known| known.stage),
        since: known.map_or(Timestamp(0), |known| known.since),
        rule: None,
        fault: None,
        evidence: Bounded::new(),
        unrecognised: Bounded::new(),
        wait: Wait::Nothing,
        until: None,
        stuck_at: None,
    }
}

fn record(
    engine: &Engine,
    view: &NodeInput<'_>,
    known: Option<&Persisted>,
    findings: &[Finding],
    incident: Option<String>,
) -> NodeRecord {
    let inventory = view.report.map(|report| &report.inventory);
    let on = |serial: &Serial| {
        findings.iter().filter(|finding| finding.device.as_ref() == Some(serial)).map(found).collect()
    };
    let gpus = inventory.map_or(&[][..], |inventory| inventory.gpus.as_slice());
    let evidence = view.report.map_or(&[][..], |report| report.evidence.as_slice());
    NodeRecord {
        pool: view.facts.pool.to_string(),
        domains: view.facts.domains.iter().map(|(level, name)| (*level, name.to_string())).collect(),
        uid: view.facts.uid.to_string(),
        boot_id: view.report.map(|report| report.boot_id.to_string()),
        driver: inventory.map(|inventory| inventory.driver.to_string()),
        product: inventory.map(|inventory| inventory.product.to_string()),
        gpus_list: gpus
            .iter()
            .map(|gpu| NodeGpu {
                index: gpu.index,
                serial: gpu.serial.to_string(),
                uuid: gpu.uuid.to_string(),
                pci: gpu.pci.to_string(),
                findings: on(&gpu.serial),
            })
            .collect(),
        evidence: evidence
            .iter()
            .map(|one| NodeEvidence {
                code: format!("{} {}", source_word(one.key.source), one.key.code),
                device: one.key.device.as_ref().map(ToString::to_string),
                count: one.count,
                first_at: one.first_seen_at.0,
                last_at: one.last_seen_at.0,
                detail: Some(one.key.detail.to_string()).filter(|detail| !detail.is_empty()),
            })
            .collect(),
        timeline: known
            .map_or(&[][..], |known| known.history.as_slice())
            .iter()
            .map(|step| http::NodeTransition { at: step.at.0, to: step.to, rule: Some(step.rule.to_string()) })
            .collect(),
        attempts: known
            .map_or(&[][..], |known| known.attempts.as_slice())
            .iter()
            .map(|attempt| NodeAttempt {
                at: attempt.ordered_at.0,
                step: attempt.rung,
                rule: attempt.rule.to_string(),
                device: attempt.device.as_ref().map(ToString::to_string),
            })
            .collect(),
        orders: known
            .map_or(&[][..], |known| known.orders.as_slice())
            .iter()
            .map(|order| NodeOrder {
                id: order.id.to_string(),
                task: match &order.task {
                    Task::Rung(rung) => format!("{rung:?}"),
                    Task::Suite(suite) => format!("suite {suite}"),
                },
                done_by: order.done_by.0,
            })
            .collect(),
        risk: engine.risk(view.name).map_or_else(unknown_risk, |risk| weighed(&risk)),
        request: view.request.map(|request| http::OperatorRequest {
            kind: request.kind.into(),
            by: request.by.to_string(),
            reason: request.reason.to_string(),
        }),
        incident,
    }
}

/// The risk of a node that is not registered.
const fn unknown_risk() -> http::Risk {
    http::Risk { ppm: 0, lemon: Lemon::No, parts: Vec::new() }
}

fn weighed(risk: &Risk) -> http::Risk {
    let part = |one: &mainstay_engine::Contribution| RiskPart {
        what: if one.factor == Factor::Base {
            "any node".to_owned()
        } else {
            format!("{} {}", one.count, one.factor.words())
        },
        ppm: one.ppm.0,
    };
    let lemon = if risk.is_lemon() { Lemon::Yes } else { Lemon::No };
    http::Risk { ppm: risk.ppm.0, lemon, parts: risk.contributions.iter().map(part).collect() }
}

fn found(finding: &Finding) -> PartFinding {
    PartFinding { rule: finding.rule.to_string(), response: finding.response, urgency: finding.urgency }
}
