//! Plays cases: one node for each in a pool of its own, because what many show at once is another question. Its agent reads
//! the lines with the real parser, with the production engine in mode Act with room for it. It knows no rule.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use mainstay_engine::Engine;
use mainstay_model::{
    Bounded, Budget, CellFacts, Epoch, Fact, Gpu, Inventory, Mode, NodeFacts, NodeLimit, NodeName, Observation,
    PlannedWork, Policy, PoolName, Ready, Report, Schedulable, Sequence, Stage, Timestamp,
};
use mainstay_signal::Tally;

use super::case::{Case, NodeState, Outcome};

const GPUS: u16 = 8;
const AT: Timestamp = Timestamp(1_794_700_800_000);

/// What came of each case.
pub(super) fn play(cases: &[Case], mut engine: Engine) -> anyhow::Result<Vec<Outcome>> {
    let mut tell = |fact| engine.observe(&Observation { at: AT, fact });
    tell(Fact::Cell(CellFacts { epoch: Epoch(1), mode: Mode::Act, ..CellFacts::default() }));
    for (number, case) in cases.iter().enumerate() {
        let pool = PoolName::parse(&format!("pool-{number:05}"))?;
        tell(Fact::Policy(Box::new(policy(&pool)?)));
        tell(Fact::Node { node: name(number)?, facts: Box::new(facts(number, &pool)?) });
        let report = report(number, case).with_context(|| case.of.clone())?;
        tell(Fact::Report { node: name(number)?, report: Box::new(report) });
    }
    tell(Fact::Synced { as_of: AT });
    let decision = engine.decide(AT);
    let objections = engine.audit(&decision, AT);
    ensure!(objections.is_empty(), "the auditor objects: {objections:?}");
    (0..cases.len()).map(|number| outcome(&engine, &name(number)?)).collect()
}

fn outcome(engine: &Engine, node: &NodeName) -> anyhow::Result<Outcome> {
    let persisted = engine.persisted(node).context("the node is unknown")?;
    let cause = persisted.cause.as_ref();
    let end = match persisted.stage {
        Stage::InService => NodeState::Runs,
        Stage::Suspect => NodeState::Watched,
        Stage::Quarantined | Stage::Draining | Stage::Repairing => {
            NodeState::Out(cause.and_then(|cause| cause.rungs.as_slice().get(1)).copied())
        }
        other @ (Stage::Bootstrapping
        | Stage::Qualifying
        | Stage::Maintenance
        | Stage::Upgrading
        | Stage::Held
        | Stage::Retired) => anyhow::bail!("{node} is {other:?}"),
    };
    Ok(Outcome { end, rule: cause.map(|cause| cause.rule.clone()) })
}

fn report(number: usize, case: &Case) -> anyhow::Result<Report> {
    let inventory = inventory(number, case)?;
    let mut tally = Tally::new();
    for (line, times) in &case.lines {
        let signal = mainstay_signal::parse(line).with_context(|| format!("nothing is read from {line}"))?;
        tally.note_many(&signal, u64::from(*times), &inventory, AT);
    }
    Ok(Report {
        uid: format!("uid-{number}").parse()?,
        boot_id: "boot-1".parse()?,
        sequence: Sequence(1),
        inventory,
        evidence: tally.evidence(),
        outcomes: Bounded::new(),
        results: Bounded::new(),
        unrecognised: Bounded::new(),
    })
}

fn inventory(number: usize, case: &Case) -> anyhow::Result<Inventory> {
    let gpu = |index: u16| -> anyhow::Result<Gpu> {
        Ok(Gpu {
            index,
            serial: format!("{number}-{index}").parse()?,
            uuid: format!("GPU-{number}-{index}").parse()?,
            pci: format!("0000:{:02x}:00.0", 0x10 + index).parse()?,
        })
    };
    Ok(Inventory {
        board: format!("board-{number}").parse()?,
        product: case.gpu.parse()?,
        driver: case.driver.parse()?,
        gpus: Bounded::try_from((0..GPUS).map(gpu).collect::<anyhow::Result<Vec<_>>>()?)?,
        gpus_unavailable: None,
        nics: Bounded::new(),
    })
}

fn facts(number: usize, pool: &PoolName) -> anyhow::Result<NodeFacts> {
    Ok(NodeFacts {
        uid: format!("uid-{number}").parse()?,
        domains: BTreeMap::new(),
        pool: pool.clone(),
        gpus: GPUS,
        ready: Ready::Yes,
        schedulable: Schedulable::Yes,
        planned: PlannedWork::Nothing,
        avoided: false,
        power: mainstay_model::Power::Unknown,
    })
}

fn policy(pool: &PoolName) -> anyhow::Result<Policy> {
    Ok(Policy {
        mode: Mode::Act,
        budgets: Bounded::try_from(vec![Budget { level: None, most: NodeLimit::Nodes(u32::MAX) }])?,
        ..Policy::new(pool.clone())
    })
}

fn name(number: usize) -> anyhow::Result<NodeName> {
    Ok(format!("case-{number:05}").parse()?)
}
