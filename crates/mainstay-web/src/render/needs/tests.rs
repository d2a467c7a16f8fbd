use mainstay_model::Span;
use mainstay_sim::{DemoScript, Injection, LiveFleet, LiveOptions};

use super::*;

fn facts(live: &LiveFleet) -> Facts<'_> {
    Facts {
        engine: live.engine(),
        mode: live.mode(),
        installation: Installation::Present,
        leadership: Leadership::Held,
        violation: None,
        open: Vec::new(),
        agents: None,
        remediators: BTreeMap::new(),
    }
}

fn fleet() -> LiveFleet {
    LiveFleet::new(LiveOptions { gpus: 256, seed: 3, story: DemoScript::Calm }).unwrap()
}

fn kinds(facts: &Facts<'_>) -> Vec<NeedKind> {
    needs(facts).into_iter().map(|need| need.kind).collect()
}

#[test]
fn a_healthy_fleet_needs_no_operator() {
    let mut live = fleet();
    let now = live.now();
    live.advance(now + Span::minutes(10));
    assert_eq!(kinds(&facts(&live)), []);
}

#[test]
fn an_incident_counts_until_it_is_acknowledged_in_every_mode() {
    let live = fleet();
    let open =
        |is_acknowledged| OpenIncident { id: "rack-r9".into(), title: "Rack r9, 4 nodes".into(), is_acknowledged };
    for mode in [Mode::Observe, Mode::Propose, Mode::Act] {
        let seen = Facts { mode, open: vec![open(true)], ..facts(&live) };
        assert_eq!(kinds(&seen), []);
        let unseen = Facts { mode, open: vec![open(false)], ..facts(&live) };
        let list = needs(&unseen);
        assert_eq!(list.len(), 1);
        assert_eq!(list[0].subject.as_deref(), Some("rack-r9"));
        assert_eq!(list[0].what, "Rack r9, 4 nodes: not acknowledged");
    }
}

#[test]
fn a_wait_for_a_higher_mode_is_a_setting_and_no_task() {
    let mut live = fleet();
    live.set_mode(Mode::Observe);
    let node = live.node_at(5).unwrap().name.clone();
    live.inject(Injection::GpuOffTheBus, &node).unwrap();
    let now = live.now();
    live.advance(now + Span::minutes(12));
    let waits: Vec<_> = live.engine().standing().map(|line| line.waiting_on).collect();
    assert_eq!(waits, [mainstay_model::WaitingOn::Mode]);
    assert_eq!(kinds(&facts(&live)), []);
}

#[test]
fn agents_that_never_reported_need_an_operator() {
    let live = fleet();
    let agents = Agents { reporting: 0, stale: 0, never: 32, missing: 32, without_gpus: 0 };
    let list = needs(&Facts { agents: Some(agents), ..facts(&live) });
    assert_eq!(list[0].what, "32 of 32 agents do not report: faults of these nodes are not detected");
    let reporting = Agents { reporting: 32, ..Agents::default() };
    assert_eq!(kinds(&Facts { agents: Some(reporting), ..facts(&live) }), []);
}

#[test]
fn agents_that_cannot_read_gpus_need_an_operator() {
    let live = fleet();
    let agents = Agents { reporting: 32, without_gpus: 30, ..Agents::default() };
    let list = needs(&Facts { agents: Some(agents), ..facts(&live) });
    assert_eq!(list[0].what, "30 of 32 agents cannot read GPUs: faults of these GPUs are not detected");
}

#[test]
fn a_missing_leader_and_a_missing_installation_come_first() {
    let live = fleet();
    let open = vec![OpenIncident { id: "a".into(), title: "A".into(), is_acknowledged: false }];
    let vacant = Facts { leadership: Leadership::Vacant, open, ..facts(&live) };
    assert_eq!(kinds(&vacant), [NeedKind::Leader, NeedKind::Incident]);
    let absent = Facts { installation: Installation::Absent, leadership: Leadership::Vacant, ..facts(&live) };
    let list = needs(&absent);
    assert_eq!(list.len(), 1);
    assert!(!list[0].command.contains("apply"), "an installation takes more than one apply: {}", list[0].command);
}
