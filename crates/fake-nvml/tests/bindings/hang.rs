//! Calls that do not return, and what still does.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use fake_nvml::{Effect, HangMode, Problem, Profile};
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;

use crate::Fixture;

fn hang(symbol: &str, manner: HangMode) -> Effect {
    Effect::Hang { symbol: symbol.to_owned(), manner }
}

#[test]
fn a_call_hangs_until_the_script_lets_it_go_and_nobody_else_does() {
    for manner in [HangMode::Sleep, HangMode::Spin] {
        let mut state = Profile::H100.state();
        let fault = state.fault(2, 0, hang("nvmlDeviceGetTemperature", manner));
        let bench = Fixture::new(&state).unwrap();
        let nvml = bench.nvml().unwrap();
        let (done, returned) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let answer = nvml.device_by_index(2).and_then(|gpu| gpu.temperature(TemperatureSensor::Gpu));
                done.send(answer).unwrap();
            });
            // Others of the same GPU and the same one of others go on meanwhile.
            assert!(nvml.device_by_index(2).unwrap().power_usage().is_ok());
            assert!(nvml.device_by_index(3).unwrap().temperature(TemperatureSensor::Gpu).is_ok());
            assert!(returned.recv_timeout(Duration::from_millis(300)).is_err(), "it returned");
            bench.node.change(|state| state.mend(fault)).unwrap();
            let answer = returned.recv_timeout(Duration::from_secs(5)).unwrap();
            assert_eq!(answer.unwrap(), 33);
        });
    }
}

#[test]
fn a_hang_ends_by_itself_at_its_time() {
    let mut state = Profile::H100.state();
    let from = state.now_ms();
    state.push(None, from, Some(from + 400), hang("*", HangMode::Sleep));
    let bench = Fixture::new(&state).unwrap();
    let start = Instant::now();
    let nvml = bench.nvml().unwrap();
    assert!(nvml.device_count().is_ok());
    assert!(start.elapsed() >= Duration::from_millis(200), "{:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_process_whose_call_hangs_holds_the_driver_even_after_it_was_shut_down() {
    let mut state = Profile::H100.state();
    let fault = state.fault(0, 0, hang("nvmlDeviceGetPowerUsage", HangMode::Sleep));
    let bench = Fixture::new(&state).unwrap();
    let nvml = bench.nvml().unwrap();
    let (begun, begins) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let gpu = nvml.device_by_index(0).unwrap();
            begun.send(()).unwrap();
            // When it is let go, the library is closed.
            assert_eq!(crate::reading::number(&gpu.power_usage().unwrap_err()), 1);
        });
        begins.recv().unwrap();
        // The call is under way soon after; there is nothing that would tell.
        assert!(begins.recv_timeout(Duration::from_millis(200)).is_err());
        crate::raw::shutdown_once(&nvml);
        let holders = bench.node.holders().unwrap();
        assert_eq!((holders.len(), holders[0].inits), (1, 0));
        assert!(matches!(bench.node.unload_driver(), Err(Problem::InUse { .. })));
        bench.node.change(|state| state.mend(fault)).unwrap();
    });
    bench.node.unload_driver().unwrap();
}
