use mainstay_api::http::NeedKind;
use mainstay_model::{Mode, NodeName, Span, WaitingOn};
use mainstay_sim::{DemoScript, Injection, LiveOptions};

use super::*;

fn fleet(mode: Mode) -> (LiveFleet, IncidentTracker, DemoRenderer) {
    let mut live = LiveFleet::new(LiveOptions { gpus: 512, seed: 3, story: DemoScript::Calm }).unwrap();
    live.set_mode(mode);
    let (cases, painter) = (IncidentTracker::new(live.now()), DemoRenderer::new(&live));
    (live, cases, painter)
}

fn after(live: &mut LiveFleet, cases: &mut IncidentTracker, minutes: u32) {
    for _ in 0..minutes * 6 {
        let now = live.now();
        live.advance(now + Span::seconds(10));
        cases.look(live);
    }
}

fn node(live: &LiveFleet, number: u32) -> NodeName {
    live.node_at(number).unwrap().name.clone()
}

#[test]
fn an_incident_is_named_after_part_and_fault_and_not_after_the_recommended_repair() {
    let (mut live, mut cases, mut painter) = fleet(Mode::Observe);
    let name = node(&live, 5);
    live.inject(Injection::GpuOffTheBus, &name).unwrap();
    after(&mut live, &mut cases, 3);
    let picture = painter.render(&live, &cases);
    let incident = &picture.incidents.first().unwrap().incident;
    assert!(incident.title.starts_with("GPU "), "{incident:?}");
    assert!(incident.title.ends_with(&format!(" of {name} fell off the bus (XID 79)")), "{incident:?}");
    assert!(incident.explanation.starts_with("The driver cannot reach the GPU over PCIe"), "{incident:?}");
    let why = live.engine().why(&name).unwrap();
    assert_eq!(why.fault.unwrap().title, incident.title, "one line for the incident and for the node");
}

#[test]
fn a_rack_without_power_needs_an_operator_until_its_incident_is_acknowledged() {
    for mode in [Mode::Observe, Mode::Act] {
        let (mut live, mut cases, mut painter) = fleet(mode);
        let name = node(&live, 33);
        live.inject(Injection::RackPowerLost, &name).unwrap();
        after(&mut live, &mut cases, 30);
        let fleet = painter.render(&live, &cases).fleet(None);
        let wanted: Vec<&http::Need> = fleet.needs.iter().filter(|need| need.kind == NeedKind::Incident).collect();
        assert!(!wanted.is_empty(), "{mode:?}: {:?}", fleet.needs);
        for id in wanted.iter().filter_map(|need| need.subject.clone()) {
            cases.acknowledge(&id, &mainstay_model::UserName::parse("ana").unwrap()).unwrap();
        }
        let fleet = painter.render(&live, &cases).fleet(None);
        assert!(fleet.needs.iter().all(|need| need.kind != NeedKind::Incident), "{mode:?}: {:?}", fleet.needs);
    }
}

#[test]
fn capacity_out_of_service_is_counted_by_node_and_apart_from_lost_work() {
    let (mut live, mut cases, mut painter) = fleet(Mode::Observe);
    let name = node(&live, 33);
    live.inject(Injection::RackPowerLost, &name).unwrap();
    after(&mut live, &mut cases, 30);
    let fleet = painter.render(&live, &cases).fleet(None);
    let out = live.nodes().filter(|view| view.facts.ready != mainstay_model::Ready::Yes).count();
    assert!(out > 0);
    assert_eq!(fleet.gpus_out, u32::try_from(out).unwrap() * GPUS_PER_NODE);
    assert_eq!(fleet.out_of_service_gpu_seconds_per_hour, u64::from(fleet.gpus_out) * 3_600);
    assert!(fleet.lost_gpu_seconds_last_hour.is_some(), "lost work has its own figure");
}

#[test]
fn only_what_the_mode_holds_back_is_a_dry_run_in_the_plan() {
    let (mut live, mut cases, mut painter) = fleet(Mode::Observe);
    let (leaf, gpu) = (node(&live, 33), node(&live, 5));
    live.inject(Injection::LeafDown, &leaf).unwrap();
    live.inject(Injection::GpuOffTheBus, &gpu).unwrap();
    after(&mut live, &mut cases, 3);
    let plan = painter.render(&live, &cases).plan();
    let held: Vec<&str> =
        plan.items.iter().filter(|item| item.execution.is_some()).map(|item| item.node.as_str()).collect();
    assert_eq!(held, [gpu.as_str()], "{plan:#?}");
    assert!(plan.items.iter().any(|item| item.waiting_on == WaitingOn::SecondSignal), "{plan:#?}");
}
