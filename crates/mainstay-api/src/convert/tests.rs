//! What the model holds comes back from an object as it went in, whatever it is; what an object cannot mean is refused.

mod invalid_objects;
mod strategies;

use mainstay_model::{CellRecord, Epoch, Mode, NodeName, Persisted, Policy, Ppm, Reason, Report, Subject, UserName};
use mainstay_model::{Timestamp, WaitingOn};
use proptest::prelude::*;

use crate::{
    Cell, CellSpec, CellStatus, Conditions, DisplayFields, GpuNode, GpuNodeSpec, GpuNodeStatus, NodeReportSpec,
};

/// Through the JSON that the server stores.
fn stored<T: serde::Serialize + serde::de::DeserializeOwned>(object: &T) -> T {
    serde_json::from_value(serde_json::to_value(object).unwrap()).unwrap()
}

fn told(epoch: u64) -> DisplayFields {
    DisplayFields {
        epoch: Epoch(epoch),
        waiting_on: WaitingOn::Mode,
        message: Reason::parse("because").unwrap(),
        risk: Ppm(31),
        conditions: Conditions::default(),
    }
}

proptest! {
    #[test]
    fn what_persists_comes_back_as_it_went_in(persisted in strategies::persisted(), epoch in 0..u64::MAX) {
        let mut node = GpuNode::new("n1", GpuNodeSpec::default());
        node.status = Some(GpuNodeStatus::of(&persisted, told(epoch)));
        let status = stored(&node).status.unwrap();
        prop_assert_eq!(Persisted::try_from(&status).unwrap(), persisted);
        prop_assert_eq!(status.epoch, i64::try_from(epoch).unwrap_or(i64::MAX));
        prop_assert_eq!((status.waiting_on, status.risk_ppm), (WaitingOn::Mode, 31));
    }

    #[test]
    fn what_a_cell_keeps_comes_back_as_it_went_in(record in strategies::cell_record(), epoch in 0..1_u64 << 62) {
        let mut cell = Cell::new("cell", CellSpec { mode: Mode::Propose, approvals: Default::default() });
        let leader = UserName::parse("one").ok();
        cell.status = Some(CellStatus::of(Epoch(epoch), leader, &record, Conditions::default()));
        let facts = stored(&cell).facts(Timestamp(0)).unwrap();
        prop_assert_eq!((facts.epoch, facts.mode, facts.record), (Epoch(epoch), Mode::Propose, record));
    }

    #[test]
    fn a_report_says_to_the_model_what_its_pieces_were_made_of(report in strategies::report()) {
        let spec = strategies::spec_of(&report);
        prop_assert_eq!(Report::try_from(&stored(&spec)).unwrap(), report);
    }

    #[test]
    fn a_policy_says_to_the_model_what_people_wrote(policy in strategies::policy()) {
        let spec = strategies::policy_spec_of(&policy);
        prop_assert_eq!(Policy::try_from(&stored(&spec)).unwrap(), policy);
    }

    #[test]
    fn whoever_is_blamed_comes_back(subject in strategies::subject()) {
        let node = NodeName::parse("n1").unwrap();
        prop_assert_eq!(Subject::try_from(&stored(&crate::Subject::of(&subject, &node))).unwrap(), subject);
    }

    /// Whatever the numbers of a report are: it is taken or refused, and what is taken is not negative.
    #[test]
    fn no_number_of_a_report_surprises_anybody(
        report in strategies::report(), sequence in any::<i64>(), count in any::<i64>(), index in any::<i32>(),
    ) {
        let mut spec: NodeReportSpec = strategies::spec_of(&report);
        spec.sequence = sequence;
        spec.evidence.iter_mut().take(1).for_each(|piece| piece.count = count);
        spec.inventory.gpus.iter_mut().take(1).for_each(|gpu| gpu.index = index);
        let fits = sequence >= 0
            && (count >= 0 || spec.evidence.as_slice().is_empty())
            && ((0..16).contains(&index) || spec.inventory.gpus.as_slice().is_empty());
        prop_assert_eq!(Report::try_from(&spec).is_ok(), fits);
    }
}

#[test]
fn a_cell_that_nobody_led_has_epoch_zero_and_nothing_on_record() {
    let cell = Cell::new("cell", CellSpec { mode: Mode::Observe, approvals: Default::default() });
    let facts = cell.facts(Timestamp(0)).unwrap();
    assert_eq!((facts.epoch, facts.record), (Epoch(0), CellRecord::default()));
}

#[test]
fn an_approval_counts_until_it_expires() {
    let approval = |action: &str, minute: u8| {
        serde_json::json!({
            "action": action, "verb": "Drain", "node": "n1", "plan": "fault-n1-1", "by": "ana",
            "expiresAt": format!("2026-11-15T03:{minute:02}:00Z"),
        })
    };
    let spec = serde_json::json!({ "mode": "Propose", "approvals": [approval("drain-n1-1", 10), approval("cordon-n1-1", 20)] });
    let cell = Cell::new("cell", serde_json::from_value(spec).unwrap());
    let approved_at = |minute: i64| {
        let now = Timestamp(1_794_711_600_000 + minute * 60_000);
        let facts = cell.facts(now).unwrap();
        facts.approvals.as_slice().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(crate::Moment::from(Timestamp(1_794_711_600_000)).0.to_string(), "2026-11-15T03:00:00Z");
    assert_eq!(approved_at(9), ["drain-n1-1", "cordon-n1-1"]);
    assert_eq!(approved_at(10), ["cordon-n1-1"]);
    assert_eq!(approved_at(20), Vec::<String>::new());
}

#[test]
fn a_moment_past_the_calendar_stays_a_date_and_settles() {
    let mut persisted = Persisted::new(mainstay_model::Stage::Held, Timestamp(i64::MAX));
    let status = GpuNodeStatus::of(&persisted, told(1));
    persisted = Persisted::try_from(&status).unwrap();
    assert_eq!(GpuNodeStatus::of(&persisted, told(1)), status);
}
