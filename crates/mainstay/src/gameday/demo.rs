//! Drills in a virtual fleet: the simulator's world with the production engine, at the speed of the machine.

use mainstay_engine::Incident;
use mainstay_model::{BreakerState, Level, NodeName, Reason, RequestKind, Span, Stage, Subject, Timestamp, UserName};
use mainstay_sim::{DemoScript, Injection, JobState, LiveFleet, LiveOptions};
use mainstay_text::{Problem, counted, gpu_hours};

use super::drill::Drill;
use super::report::DrillReport;

const OPTIONS: LiveOptions = LiveOptions { gpus: 1_024, seed: 7, story: DemoScript::Calm };
const STEP: Span = Span::seconds(1);
/// Longest virtual time of one wait.
const WAIT_MAX: Span = Span::hours(1);
/// A drained job runs again within this time, including its last save.
const RUNS_AGAIN_WITHIN: Span = Span::minutes(30);
/// The breaker lets three nodes go, and one more as its test.
const REMOVED_MAX: u32 = 4;

pub(super) fn run(drill: Drill) -> Result<DrillReport, Problem> {
    let mut live = LiveFleet::new(OPTIONS)?;
    let place = format!("a virtual fleet of {} GPUs", OPTIONS.gpus);
    let mut report = DrillReport::new(drill, place, "03:00 of virtual time".to_owned());
    let node = busy_node(&live)?;
    match drill {
        Drill::DriverRestart => fault(drill, &mut live, &mut report, (Injection::GpuProcessorTimeout, &node))?,
        Drill::LeafDown => fault(drill, &mut live, &mut report, (Injection::LeafDown, &node))?,
        Drill::NodeEviction => eviction(&mut live, &mut report, &node)?,
        Drill::FalseAlarms => false_alarms(&mut live, &mut report, &node)?,
        Drill::Thermal => {
            return Err(Problem {
                what: "the virtual fleet has no thermal sensors".to_owned(),
                detail: "the drill thermal runs on a test cluster only.".to_owned(),
                hint: "`mainstay gameday list` shows which drills run in the demo.".to_owned(),
            });
        }
    }
    Ok(report)
}

/// A node that runs a job.
fn busy_node(live: &LiveFleet) -> Result<NodeName, Problem> {
    let busy = live.nodes().find(|node| node.job.is_some()).map(|node| node.name.clone());
    busy.ok_or_else(|| Problem {
        what: "no node of the virtual fleet runs a job".to_owned(),
        detail: "the drill needs one.".to_owned(),
        hint: "this is a bug in mainstay: please report it.".to_owned(),
    })
}

/// A fault that must open one incident with the right cause.
fn fault(
    drill: Drill,
    live: &mut LiveFleet,
    report: &mut DrillReport,
    (injection, node): (Injection, &NodeName),
) -> Result<(), Problem> {
    let began = live.now();
    let injected = live.inject(injection, node)?;
    let reached = counted(injected.nodes.into(), "node", "nodes");
    report.step(format!("Injected `{}` at {node}; it reaches {reached}.", injection.word()));
    let is_about = |incident: &Incident| match (&incident.subject, drill) {
        (Subject::Domain { level, .. }, Drill::LeafDown) => *level == Level::Leaf,
        (Subject::Domain { .. }, _) | (_, Drill::LeafDown) => false,
        (Subject::Part { .. } | Subject::Node(_) | Subject::Driver(_), _) => incident.nodes.contains(node),
    };
    let found = wait(live, |live| live.engine().incidents().into_iter().find(|one| is_about(one)));
    report.within(
        "an incident with the right cause",
        drill.incident_within(),
        found.as_ref().map(|(at, _)| at.since(began)),
    );
    let Some((_, incident)) = found else { return Ok(()) };
    let title = live.engine().fault(&incident.subject, &incident.rule, &incident.nodes).title;
    report.step(format!("Mainstay opened an incident: {title}."));
    report.rule_has_runbook(incident.rule.as_str());
    if let Some(alert) = drill.alert() {
        report.not_checked(format!("alert `{alert}` fires"), "a virtual fleet has no Prometheus");
        report.alert_has_runbook(alert);
    }
    let others = live.engine().incidents().len().saturating_sub(1);
    report.check("no second incident for the same cause", others == 0, format!("{others} more"));
    Ok(())
}

/// An operator drains a node; the job saves, moves, and no fault is found.
fn eviction(live: &mut LiveFleet, report: &mut DrillReport, node: &NodeName) -> Result<(), Problem> {
    let began = live.now();
    let job = live.node(node).and_then(|seen| seen.job);
    let lost_before = live.books().lost_gpu_seconds;
    live.request(node, RequestKind::Drain, UserName::literal("gameday").into(), Reason::literal("game day").into())?;
    report.step(format!("Requested a drain of {node}, which runs a job."));
    let empty = wait(live, |live| live.node(node).filter(|seen| seen.job.is_none()).map(|_| ()));
    report.within("the node is empty", WAIT_MAX, empty.map(|(at, ())| at.since(began)));
    let runs = |live: &LiveFleet| {
        let job = job.and_then(|number| live.job(number))?;
        matches!(job.state(), JobState::Running | JobState::Done).then_some(())
    };
    let again = wait(live, runs);
    report.within("the job runs again", RUNS_AGAIN_WITHIN, again.map(|(at, ())| at.since(began)));
    let lost = live.books().lost_gpu_seconds - lost_before;
    report.step(format!("The job lost {} GPU-hours, its new start included.", gpu_hours(lost)));
    let incidents = live.engine().incidents().len();
    report.check("no incident: planned work is not a fault", incidents == 0, format!("{incidents} incidents"));
    Ok(())
}

/// Every node of a driver version reports a fault that it does not have: the circuit breaker must stop the rule.
fn false_alarms(live: &mut LiveFleet, report: &mut DrillReport, node: &NodeName) -> Result<(), Problem> {
    let began = live.now();
    let injected = live.inject(Injection::MadSensor, node)?;
    report.step(format!("{} nodes with the same driver version report a GSP timeout that is false.", injected.nodes));
    let opened = wait(live, |live| {
        live.engine().breakers().into_iter().find(|line| line.state == BreakerState::Open).map(|line| line.rule)
    });
    report.within(
        "the circuit breaker of the rule opens",
        Span::minutes(10),
        opened.as_ref().map(|(at, _)| at.since(began)),
    );
    let until = live.now() + Span::minutes(30);
    let mut most = 0;
    while live.now() < until {
        live.advance(live.now() + STEP);
        let removed = live.nodes().filter(|seen| {
            seen.recorded.is_some_and(|known| known.stage != Stage::InService && known.stage != Stage::Suspect)
        });
        most = most.max(u32::try_from(removed.count()).unwrap_or(u32::MAX));
    }
    report.check(
        format!("at most {REMOVED_MAX} nodes are removed from service"),
        most <= REMOVED_MAX,
        format!("{most} of {} nodes", injected.nodes),
    );
    if let Some((_, rule)) = opened {
        report.rule_has_runbook(rule.as_str());
    }
    Ok(())
}

/// Advances the fleet until there is an answer, and returns its time.
fn wait<T>(live: &mut LiveFleet, answer: impl Fn(&LiveFleet) -> Option<T>) -> Option<(Timestamp, T)> {
    let until = live.now() + WAIT_MAX;
    while live.now() < until {
        if let Some(found) = answer(live) {
            return Some((live.now(), found));
        }
        live.advance(live.now() + STEP);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_drill_of_the_demo_passes() {
        for drill in Drill::ALL.into_iter().filter(|drill| drill.runs_in_demo()) {
            let report = run(drill).unwrap_or_else(|problem| unreachable!("{drill:?}: {}", problem.what));
            assert!(report.has_passed(), "{}", report.markdown());
        }
        assert!(run(Drill::Thermal).is_err());
    }
}
