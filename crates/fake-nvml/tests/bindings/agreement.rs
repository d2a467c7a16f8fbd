//! Healthy nodes: both bindings read the same, and it is what the state says.

use anyhow::Context;
use fake_nvml::state::{Process, Thresholds};
use fake_nvml::{Profile, State};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper_sys::bindings::field_id;
use serde_json::{Value, json};

use crate::{Fixture, python, reading};

/// What both bindings read of a node, which must be the same. What goes on rising is read by nvml-wrapper before and after.
pub(crate) fn agreed(bench: &Fixture) -> anyhow::Result<Value> {
    let nvml = bench.nvml()?;
    let before = reading::read(&nvml);
    let python = python::ask(&bench.node, &json!({ "do": "read", "fields": reading::wanted() }))?;
    let after = reading::read(&nvml);
    if let Some(difference) = difference("", &before, &python, &after) {
        anyhow::bail!("nvml-wrapper and nvidia-ml-py differ at {difference}");
    }
    Ok(after)
}

/// The first place where readings differ.
fn difference(path: &str, before: &Value, python: &Value, after: &Value) -> Option<String> {
    match (before, python, after) {
        (Value::Object(before), Value::Object(python), Value::Object(after))
            if before.keys().eq(python.keys()) && after.keys().eq(python.keys()) =>
        {
            python
                .iter()
                .find_map(|(key, value)| difference(&format!("{path}/{key}"), &before[key], value, &after[key]))
        }
        (Value::Array(before), Value::Array(python), Value::Array(after))
            if before.len() == python.len() && after.len() == python.len() =>
        {
            let mut each = before.iter().zip(python).zip(after).zip(0..);
            each.find_map(|(((before, python), after), at)| difference(&format!("{path}/{at}"), before, python, after))
        }
        _ if before == python && after == python => None,
        (Value::Number(_), Value::Number(_), Value::Number(_)) if lies_between(before, python, after) => None,
        _ => Some(format!("{path}: {before} (then {after}) and {python}")),
    }
}

fn lies_between(before: &Value, python: &Value, after: &Value) -> bool {
    match (before.as_u64(), python.as_u64(), after.as_u64()) {
        (Some(before), Some(python), Some(after)) => before <= python && python <= after,
        _ => false,
    }
}

#[test]
fn readings_that_differ_are_told_apart() {
    let told = |before, python, after| difference("", &json!(before), &json!(python), &json!(after)).is_some();
    assert!(told(json!({ "a": "x" }), json!({ "a": "y" }), json!({ "a": "x" })));
    assert!(told(json!([1, 2]), json!([1]), json!([1, 2])));
    assert!(told(json!([1]), json!([3]), json!([2])));
    assert!(told(json!({ "error": 3 }), json!(3), json!({ "error": 3 })));
    assert!(!told(json!([1, "x"]), json!([2, "x"]), json!([2, "x"])));
}

#[test]
fn both_bindings_read_the_same_of_every_profile() {
    for profile in Profile::ALL {
        let mut state = profile.state();
        // Values that no two GPUs share, so that a mistaken index is seen.
        for (index, gpu) in (1_u32..).zip(&mut state.gpus) {
            gpu.ecc.aggregate.dram_corrected = u64::from(index) * 1000;
            gpu.remapped.corrected = index;
            gpu.processes = vec![Process { pid: 4000 + index, name: "python3".to_owned(), memory_bytes: 1 << 30 }];
        }
        let bench = Fixture::new(&state).unwrap();
        let read = agreed(&bench).unwrap();
        is_as_written(&state, &read).unwrap();
    }
}

/// A reading against the state that it was read from.
fn is_as_written(state: &State, read: &Value) -> anyhow::Result<()> {
    assert_eq!(read["system"]["nvmlSystemGetDriverVersion"], json!(state.driver.version));
    assert_eq!(read["system"]["nvmlSystemGetCudaDriverVersion_v2"], json!(state.driver.cuda_version));
    assert_eq!(read["gpus"].as_array().map(Vec::len), Some(state.gpus.len()));
    for (gpu, read) in state.gpus.iter().zip(read["gpus"].as_array().context("gpus")?) {
        assert_eq!(read["nvmlDeviceGetName"], json!(gpu.name));
        assert_eq!(read["nvmlDeviceGetUUID"], json!(gpu.uuid));
        assert_eq!(read["nvmlDeviceGetSerial"], json!(gpu.serial));
        assert_eq!(read["nvmlDeviceGetPciInfo_v3"]["busId"], json!(gpu.bus_id()));
        assert_eq!(read["nvmlDeviceGetTemperature"], json!(gpu.temperature.gpu_celsius));
        assert_eq!(read["nvmlDeviceGetEnforcedPowerLimit"], json!(gpu.power.enforced_mw));
        assert_eq!(read["nvmlDeviceGetMemoryInfo_v2"]["used"], json!(1_u64 << 30));
        assert_eq!(read["nvmlDeviceGetComputeRunningProcesses_v3"][0][0], json!(gpu.processes[0].pid));
        assert_eq!(read["nvmlDeviceGetRemappedRows"], json!([gpu.remapped.corrected, 0, 0, 0]));
        assert_eq!(read["nvmlDeviceGetRowRemapperHistogram"]["max"], json!(gpu.remapped.histogram.max));
        // Volatile and aggregate, each corrected and uncorrected, each at eight places of which the third is DRAM.
        assert_eq!(read["nvmlDeviceGetMemoryErrorCounter"][18], json!(gpu.ecc.aggregate.dram_corrected));
        let links = read["links"].as_array().context("links")?;
        let up = links.iter().filter(|link| link["nvmlDeviceGetNvLinkState"] == json!(1)).count();
        assert_eq!(up, gpu.nvlink.links.len());
        let instances = read["instances"].as_array().context("instances")?;
        let named: Vec<&Value> =
            instances.iter().map(|one| &one["nvmlDeviceGetUUID"]).filter(|id| !id.is_null()).collect();
        assert_eq!(named.len(), gpu.instances().len());
        assert_eq!(
            read["nvmlDeviceGetTemperatureThreshold"][1],
            match gpu.temperature.thresholds {
                Thresholds::Degrees | Thresholds::Both => json!(gpu.temperature.slowdown_celsius),
                Thresholds::Distances => json!({ "error": 3 }),
            }
        );
        assert_eq!(
            read["nvmlDeviceGetGpuFabricInfoV"]["v2"]["cliqueId"],
            match &gpu.fabric {
                Some(fabric) => json!(fabric.clique_id),
                None => Value::Null,
            }
        );
    }
    Ok(())
}

#[test]
fn an_old_driver_does_not_know_what_came_later() {
    let bench = Fixture::new(&Profile::A100Mig.state()).unwrap();
    let read = agreed(&bench).unwrap();
    let gpu = &read["gpus"][2];
    assert_eq!(gpu["nvmlDeviceGetMarginTemperature"], json!({ "error": 13 }));
    assert_eq!(gpu["nvmlDeviceGetPlatformInfo"], json!({ "error": 13 }));
    assert_eq!(gpu["nvmlDeviceGetGpuFabricInfoV"]["v3"], json!({ "error": 25 }));
    assert_eq!(gpu["fields"][230], json!({ "error": 3 }));
    assert_eq!(gpu["nvmlDeviceGetSupportedEventTypes"], json!(0xb));
}

#[test]
fn field_numbers_moved_with_the_driver_and_nvml_wrapper_follows() {
    for (profile, moved) in [(Profile::H100, true), (Profile::B200, false)] {
        let mut state = profile.state();
        state.gpus[0].violations.sw_thermal_ns = 111;
        state.gpus[0].violations.hw_thermal_ns = 222;
        let bench = Fixture::new(&state).unwrap();
        let nvml = bench.nvml().unwrap();
        let device = nvml.device_by_index(0).unwrap();
        let ids = [
            FieldId(field_id::NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN),
            FieldId(field_id::NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN),
        ];
        let values: Vec<u64> = device
            .field_values_for(&ids)
            .unwrap()
            .into_iter()
            .filter_map(
                |sample| if let SampleValue::U64(value) = sample.unwrap().value.unwrap() { Some(value) } else { None },
            )
            .collect();
        assert_eq!(values, [111, 222]);
        // NVIDIA's binding has the newer numbers and does not translate: with an older driver it reads something else.
        let names = ["NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN"];
        let python = python::ask(&bench.node, &json!({ "do": "names", "names": names })).unwrap();
        assert_eq!(python == json!([[3, 111]]), moved, "{python}");
    }
}
