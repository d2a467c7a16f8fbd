use mainstay_api::http::{IncidentDetail, IncidentState, SubjectKind};
use mainstay_sim::{DemoScript, Injection, LiveOptions};

use super::*;

fn calm() -> (LiveFleet, IncidentTracker) {
    let live = LiveFleet::new(LiveOptions { gpus: 512, seed: 3, story: DemoScript::Calm }).unwrap();
    let cases = IncidentTracker::new(live.now());
    (live, cases)
}

fn lives(live: &mut LiveFleet, cases: &mut IncidentTracker, minutes: u32) {
    for _ in 0..minutes * 12 {
        let now = live.now();
        live.advance(now + Span::seconds(5));
        cases.look(live);
    }
}

fn only(live: &LiveFleet, cases: &IncidentTracker) -> IncidentDetail {
    let details = cases.details(live, None);
    assert_eq!(details.len(), 1, "{details:?}");
    details[0].as_ref().clone()
}

#[test]
fn an_incident_keeps_its_id_until_it_is_over_and_tells_what_happened_in_order() {
    let (mut live, mut cases) = calm();
    let node = live.node_at(5).unwrap().name.clone();
    live.inject(Injection::RowRemapPending, &node).unwrap();
    lives(&mut live, &mut cases, 3);
    let open = only(&live, &cases);
    assert_eq!((open.incident.state, open.incident.subject.kind), (IncidentState::Open, SubjectKind::Part));
    assert_eq!(cases.open_on(&node), Some(open.incident.id.as_str()));
    assert!(
        open.record.lines.iter().flatten().next().is_some_and(|line| line.contains("Xid")),
        "{:?}",
        open.record.lines
    );
    lives(&mut live, &mut cases, 60);
    let over = only(&live, &cases);
    assert_eq!((&over.incident.id, over.incident.state), (&open.incident.id, IncidentState::Closed), "{over:#?}");
    assert!(over.record.timeline.is_sorted_by_key(|event| event.at));
    let kinds: Vec<_> = over.record.timeline.iter().map(|event| event.kind).collect();
    for kind in [
        IncidentEventKind::Evidence,
        IncidentEventKind::CheckpointRequested,
        IncidentEventKind::Saved,
        IncidentEventKind::Drained,
        IncidentEventKind::Repaired,
        IncidentEventKind::Qualified,
        IncidentEventKind::Returned,
    ] {
        assert!(kinds.contains(&kind), "{kind:?}: {:#?}", over.record.timeline);
    }
    let place = |text: &str| over.record.timeline.iter().position(|event| event.text.contains(text)).unwrap();
    assert!(place(" saved step ") < place("stop "), "{:#?}", over.record.timeline);
    assert!(over.incident.saved_gpu_seconds > Some(0), "{over:#?}");
    assert_eq!(cases.at(&node, Timestamp(over.incident.opened_at)), Some(over.incident.id.as_str()));
}

#[test]
fn a_leaf_is_one_incident_and_an_acknowledgement_stays() {
    let (mut live, mut cases) = calm();
    let node = live.node_at(33).unwrap().name.clone();
    live.inject(Injection::LeafDown, &node).unwrap();
    lives(&mut live, &mut cases, 5);
    let open: Vec<_> = cases.details(&live, None);
    let leaf = open.iter().find(|detail| detail.incident.subject.kind == SubjectKind::Leaf);
    let leaf = leaf.unwrap_or_else(|| panic!("{open:#?}")).incident.clone();
    assert_eq!((leaf.nodes, leaf.gpus, leaf.subject.name.as_str()), (32, 256, "l1"));
    let by = UserName::parse("ana").unwrap();
    assert_eq!((cases.acknowledge(&leaf.id, &by), cases.acknowledge("nothing", &by)), (Some(()), None));
    lives(&mut live, &mut cases, 20);
    let details = cases.details(&live, None);
    let over = details.iter().find(|detail| detail.incident.id == leaf.id).unwrap();
    assert_eq!(over.incident.state, IncidentState::Closed);
    assert_eq!(over.incident.acknowledged_by.as_deref(), Some("ana"));
}
