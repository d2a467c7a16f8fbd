//! Events by the script's clock, told to both bindings in the same order.

use std::time::{Duration, Instant};

use fake_nvml::{Effect, Profile, State};
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use serde_json::{Value, json};

use crate::python::Python;
use crate::reading::{number, told};
use crate::{Fixture, raw};

const XID: u64 = 8;
const RECOVERY_ACTION: u64 = 0x8000;

/// What `read.py` does with events, in Rust.
fn events(
    nvml: &Nvml,
    gpus: &[u32],
    want: usize,
    happen: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Value> {
    let set = nvml.create_event_set()?;
    for gpu in gpus {
        let device = nvml.device_by_index(*gpu)?;
        raw::register(&device, raw::event_kinds(&device)?, &set)?;
    }
    happen()?;
    let mut come = Vec::new();
    while come.len() < want {
        match raw::wait(nvml, &set, 20_000) {
            Ok((gpu, kind, data)) => come.push(json!([gpu, kind, data])),
            Err(error) => {
                come.push(told(Err::<(), _>(error)));
                break;
            }
        }
    }
    Ok(come.into())
}

/// Both bindings register, the script goes on, and both must tell the same.
fn agreed(profile: Profile, gpus: &[u32], want: usize, happen: impl FnOnce(&mut State)) -> anyhow::Result<Value> {
    let bench = Fixture::new(&profile.state())?;
    let order = json!({ "do": "events", "gpus": gpus, "want": want, "each_ms": 20_000 });
    let mut python = Python::start(&bench.node, &order)?;
    assert_eq!(python.line()?, "registered");
    let rust = events(&bench.nvml()?, gpus, want, || Ok(bench.node.change(happen)?))?;
    assert_eq!(rust, python.end()?);
    Ok(rust)
}

#[test]
fn xids_come_in_order_and_each_tells_the_last_one_of_its_gpu() {
    let come = agreed(Profile::H100, &[0, 1, 2], 4, |state| {
        let at = state.now_ms() + 300;
        state.fault(1, at, Effect::xid(63));
        state.fault(2, at, Effect::xid(31));
        state.fault(1, at, Effect::xid(94));
        state.fault(5, at, Effect::xid(79));
        state.fault(0, at + 10, Effect::xid(13));
    })
    .unwrap();
    // GPU 5 is nobody's; both XIDs of GPU 1 came before the wait and tell the second.
    assert_eq!(come, json!([[1, XID, 94], [2, XID, 31], [1, XID, 94], [0, XID, 13]]));
}

#[test]
fn a_row_of_xids_is_told_one_by_one() {
    let effect = Effect::Xid { code: 74, every_ms: 20, times: 25, gpu_instance: None };
    let come = agreed(Profile::H100, &[0], 25, |state| {
        state.fault(0, state.now_ms() + 50, effect);
    })
    .unwrap();
    assert_eq!(come, Value::from(vec![json!([0, XID, 74]); 25]));
}

#[test]
fn a_gpu_that_falls_off_the_bus_is_told_and_then_lost() {
    let come = agreed(Profile::B200, &[6, 7], 2, |state| {
        let at = state.now_ms() + 200;
        state.fault(7, at, Effect::xid(79));
        state.fault(7, at, Effect::GpuLost);
    })
    .unwrap();
    // The handle in the event is of a GPU that does not answer any more, not even for its index.
    assert_eq!(come, json!([[null, XID, 79], { "error": 15 }]));
}

#[test]
fn a_recovery_action_is_an_event_without_data() {
    let come = agreed(Profile::Gb200Tray, &[0, 1, 2, 3], 1, |state| {
        state.fault(2, state.now_ms(), Effect::RecoveryAction { action: 2 });
    })
    .unwrap();
    assert_eq!(come, json!([[2, RECOVERY_ACTION, 0]]));
}

#[test]
fn nvml_wrapper_itself_tells_an_xid() {
    let bench = Fixture::new(&Profile::H100.state()).unwrap();
    let nvml = bench.nvml().unwrap();
    let set = nvml.create_event_set().unwrap();
    let device = nvml.device_by_index(4).unwrap();
    let set = device.register_events(EventTypes::CRITICAL_XID_ERROR, set).unwrap();
    bench.node.change(|state| state.fault(4, state.now_ms(), Effect::xid(119))).unwrap();
    let event = set.wait(5000).unwrap();
    assert_eq!(event.device.index().unwrap(), 4);
    assert!(matches!(event.event_data, Some(XidError::Value(119))));
}

#[test]
fn a_wait_ends_at_its_time_and_does_not_tell_what_was_before() {
    let mut state = Profile::H100.state();
    state.fault(0, 0, Effect::xid(48));
    let bench = Fixture::new(&state).unwrap();
    let nvml = bench.nvml().unwrap();
    let set = nvml.create_event_set().unwrap();
    let device = nvml.device_by_index(0).unwrap();
    let set = device.register_events(EventTypes::CRITICAL_XID_ERROR, set).unwrap();
    let start = Instant::now();
    assert_eq!(number(&set.wait(200).unwrap_err()), 10);
    assert!(start.elapsed() >= Duration::from_millis(200));
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn an_event_is_told_soon_after_its_time() {
    let state = Profile::H100.state();
    let bench = Fixture::new(&state).unwrap();
    let nvml = bench.nvml().unwrap();
    let set = nvml.create_event_set().unwrap();
    let set = nvml.device_by_index(0).unwrap().register_events(EventTypes::CRITICAL_XID_ERROR, set).unwrap();
    let mut late_ms = Vec::new();
    for _ in 0..20 {
        let at = bench.node.change(|state| {
            let at = state.now_ms() + 50;
            state.fault(0, at, Effect::xid(79));
            at
        });
        let at = at.unwrap();
        // The machine may stop everything for seconds: an event is late only by what it is later than a plain sleep.
        std::thread::scope(|threads| {
            let sleep = threads.spawn(|| {
                std::thread::park_timeout(Duration::from_millis(at.saturating_sub(state.now_ms())));
                state.now_ms()
            });
            set.wait(20_000).unwrap();
            let come = state.now_ms();
            assert!(come >= at, "{} ms too early", at - come);
            late_ms.push(come.saturating_sub(sleep.join().unwrap().max(at)));
        });
    }
    // A quarter is enough: a wait that reads the script once a second is within 50 ms for one event of twenty.
    late_ms.sort_unstable();
    assert!(late_ms[5] < 50, "{late_ms:?} ms later than a sleep");
}
