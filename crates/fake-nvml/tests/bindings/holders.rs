//! Processes that hold the driver, and the operator actions that they block.

use std::process;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fake_nvml::state::{EccCounter, MigMode};
use fake_nvml::{Effect, Growth, Problem, Profile};
use serde_json::json;

use crate::Fixture;
use crate::python::Python;
use crate::reading::number;

/// The processes that an operator's act is blocked by.
fn blocked_by(answer: Result<(), Problem>) -> Vec<u32> {
    let Err(problem) = answer else { return Vec::new() };
    let Problem::InUse { by } = problem else { return vec![0] };
    by.iter().map(|holder| holder.pid).collect()
}

#[test]
fn an_unload_is_blocked_by_whoever_has_nvml_open() {
    let bench = Fixture::new(&Profile::H100.state()).unwrap();
    let nvml = bench.nvml().unwrap();
    assert_eq!(blocked_by(bench.node.unload_driver()), [process::id()]);

    let order = json!({ "do": "hold", "gpu": 2 });
    let mut python = Python::start(&bench.node, &order).unwrap();
    assert_eq!(python.line().unwrap(), "holding");
    let mut both = [process::id(), python.id()];
    both.sort_unstable();
    assert_eq!(blocked_by(bench.node.unload_driver()), both);

    nvml.shutdown().unwrap();
    assert_eq!(blocked_by(bench.node.unload_driver()), [python.id()]);
    python.end().unwrap();
    bench.node.unload_driver().unwrap();
    let error = bench.nvml().unwrap_err().downcast::<nvml_wrapper::error::NvmlError>().unwrap();
    assert_eq!(number(&error), 9);
    bench.node.load_driver(Some("580.105.08")).unwrap();
    assert_eq!(bench.nvml().unwrap().sys_driver_version().unwrap(), "580.105.08");
}

#[test]
fn a_killed_process_holds_nothing() {
    let bench = Fixture::new(&Profile::H100.state()).unwrap();
    let mut python = Python::start(&bench.node, &json!({ "do": "hold", "gpu": 2 })).unwrap();
    assert_eq!(python.line().unwrap(), "holding");
    assert_eq!(bench.node.holders().unwrap().len(), 1);
    python.kill().unwrap();
    assert!(bench.node.holders().unwrap().is_empty());
    bench.node.unload_driver().unwrap();
}

#[test]
fn a_reset_is_blocked_by_whoever_opened_that_gpu_and_cures_it() {
    let mut state = Profile::H100.state();
    state.fault(5, 0, Effect::RecoveryAction { action: 1 });
    state.fault(5, 0, Effect::RemapPending);
    state.fault(5, 0, Effect::Ecc { counter: EccCounter::DramUncorrected, growth: Growth::at_once(4) });
    let bench = Fixture::new(&state).unwrap();
    let nvml = bench.nvml().unwrap();
    let _other = nvml.device_by_index(1).unwrap();
    // NVML is open, but not this GPU.
    assert!(bench.node.holders().unwrap()[0].gpus == [1]);
    let sick = nvml.device_by_index(5).unwrap();
    assert_eq!(crate::raw::remapped_rows(&sick), json!([0, 0, 1, 0]));
    assert_eq!(blocked_by(bench.node.reset_gpu(5)), [process::id()]);
    nvml.shutdown().unwrap();
    bench.node.reset_gpu(5).unwrap();

    let nvml = bench.nvml().unwrap();
    let cured = nvml.device_by_index(5).unwrap();
    assert_eq!(crate::raw::remapped_rows(&cured), json!([0, 0, 0, 0]));
    assert_eq!(crate::raw::fields(&cured, &[(230, 0), (4, 0), (6, 0)]), json!([[1, 0], [3, 0], [3, 4]]));
}

#[test]
fn a_gpu_is_cut_while_nobody_looks() {
    let bench = Fixture::new(&Profile::A100Mig.state()).unwrap();
    let instances = bench.node.state().unwrap().gpus[1].instances().to_vec();
    let nvml = bench.nvml().unwrap();
    let whole = nvml.device_by_index(3).unwrap();
    assert!(whole.mig_device_by_index(0).is_err());
    assert_eq!(blocked_by(bench.node.set_mig(3, MigMode::Enabled, instances.clone())), [process::id()]);
    nvml.shutdown().unwrap();
    bench.node.set_mig(3, MigMode::Enabled, instances).unwrap();
    let nvml = bench.nvml().unwrap();
    let cut = nvml.device_by_index(3).unwrap();
    assert_eq!(cut.mig_mode().unwrap().current, 1);
    assert_eq!(cut.mig_device_by_index(1).unwrap().attributes().unwrap().memory_size_mb, 40_192);
}

#[test]
fn two_nodes_in_one_process_are_two() {
    let (first, second) =
        (Fixture::new(&Profile::H100.state()).unwrap(), Fixture::new(&Profile::Gb200Tray.state()).unwrap());
    let (one, other) = (first.nvml().unwrap(), second.nvml().unwrap());
    assert_eq!(one.device_count().unwrap(), 8);
    assert_eq!(other.device_count().unwrap(), 4);
    one.shutdown().unwrap();
    first.node.unload_driver().unwrap();
    assert_eq!(other.device_count().unwrap(), 4);
}

#[test]
fn whoever_opens_while_the_driver_goes_either_finds_it_or_does_not_have_it() {
    const ROUNDS: u32 = 200;
    const MET_WITHIN: Duration = Duration::from_secs(60);
    let bench = Fixture::new(&Profile::H100.state()).unwrap();
    let (over, opened, refused) = (AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        let guest = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                match bench.nvml() {
                    // Once it is open the driver stays until it is closed.
                    Ok(nvml) => {
                        assert_eq!(nvml.device_by_index(0).unwrap().index().unwrap(), 0);
                        nvml.shutdown().unwrap();
                        opened.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(error) => {
                        assert_eq!(number(&error.downcast().unwrap()), 9);
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        });
        let (mut unloaded, begun) = (0, Instant::now());
        // On a busy machine the guest may sleep through many rounds; what it never met is not proven.
        let met_both = || opened.load(Ordering::Relaxed) > 0 && refused.load(Ordering::Relaxed) > 0;
        while (unloaded < ROUNDS || !met_both()) && begun.elapsed() < MET_WITHIN {
            if blocked_by(bench.node.unload_driver()).is_empty() {
                assert!(bench.node.holders().unwrap().is_empty());
                bench.node.load_driver(None).unwrap();
                unloaded += 1;
            }
        }
        over.store(true, Ordering::Relaxed);
        guest.join().unwrap();
        assert!(unloaded >= ROUNDS && met_both(), "{unloaded} rounds, {opened:?} openings and {refused:?} refusals");
    });
}
