//! As strict as the headers: versions of structs, sizes of buffers, handles, states.

use fake_nvml::{Effect, FakeNode, Profile};
use nvml_wrapper::Device;
use nvml_wrapper_sys::bindings as sys;
use serde_json::{Value, json};

use crate::raw::{self, version};
use crate::{Fixture, python, reading};

type RawQuery = fn(&Device<'_>, u32) -> Value;

/// Functions with versioned structs, and the right version of each.
fn versioned() -> Vec<(&'static str, RawQuery, u32)> {
    vec![
        ("memory", raw::memory, version::<sys::nvmlMemory_v2_t>(2)),
        ("fabric 2", raw::fabric, version::<sys::nvmlGpuFabricInfo_v2_t>(2)),
        ("fabric 3", raw::fabric, version::<sys::nvmlGpuFabricInfo_v3_t>(3)),
        ("platform 1", raw::platform, version::<sys::nvmlPlatformInfo_v1_t>(1)),
        ("platform 2", raw::platform, version::<sys::nvmlPlatformInfo_v2_t>(2)),
        ("sram", raw::sram, version::<sys::nvmlEccSramErrorStatus_v1_t>(1)),
        ("margin", raw::margin, version::<sys::nvmlMarginTemperature_v1_t>(1)),
        ("temperature", raw::temperature, version::<sys::nvmlTemperature_v1_t>(1)),
        ("pci", raw::pci_ext, version::<sys::nvmlPciInfoExt_v1_t>(1)),
    ]
}

#[test]
fn a_struct_of_another_version_or_size_is_refused() {
    let bench = Fixture::new(&Profile::Gb200Tray.state()).unwrap();
    let nvml = bench.nvml().unwrap();
    let device = nvml.device_by_index(0).unwrap();
    for (name, ask, right) in versioned() {
        assert!(ask(&device, right)["error"].is_null(), "{name}");
        let size = right & 0xff_ffff;
        for wrong in [0, 1, size, right - 1, right + 1, size | 9 << 24] {
            assert_eq!(ask(&device, wrong), json!({ "error": 25 }), "{name} as {wrong:#x}");
        }
    }
}

#[test]
fn sizes_are_those_of_nvidias_own_binding() {
    // nvidia-ml-py writes these as numbers, worked out by NVIDIA from nvml.h.
    let written = [
        (version::<sys::nvmlMemory_v2_t>(2), 0x0200_0028),
        (version::<sys::nvmlGpuFabricInfo_v2_t>(2), 0x0200_0024),
        (version::<sys::nvmlGpuFabricInfo_v3_t>(3), 0x0300_0028),
        (version::<sys::nvmlPlatformInfo_v2_t>(2), 0x0200_002c),
        (version::<sys::nvmlEccSramErrorStatus_v1_t>(1), 0x0100_0068),
        (version::<sys::nvmlMarginTemperature_v1_t>(1), 0x0100_0008),
        (version::<sys::nvmlTemperature_v1_t>(1), 0x0100_000c),
        (version::<sys::nvmlPciInfoExt_v1_t>(1), 0x0100_0040),
    ];
    assert!(written.iter().all(|(ours, theirs)| ours == theirs), "{written:x?}");
}

#[test]
fn buffers_and_handles_are_checked() {
    let bench = Fixture::new(&Profile::H100.state()).unwrap();
    let nvml = bench.nvml().unwrap();
    let device = nvml.device_by_index(0).unwrap();
    let length = u32::try_from("NVIDIA H100 80GB HBM3".len()).unwrap();
    assert_eq!(raw::name_into(&device, length), json!({ "error": 7 }));
    assert_eq!(raw::name_into(&device, length + 1), Value::Null);
    assert_eq!(raw::name_of_nobody(&nvml), json!({ "error": 2 }));
    assert_eq!(reading::told(nvml.device_by_index(8).map(|_| ())), json!({ "error": 2 }));
    assert_eq!(reading::told(nvml.device_by_uuid("GPU-none").map(|_| ())), json!({ "error": 6 }));
    assert_eq!(nvml.device_by_pci_bus_id("0000:43:00.0").unwrap().index().unwrap(), 1);
}

#[test]
fn a_handle_of_an_earlier_opening_is_refused() {
    let bench = Fixture::new(&Profile::H100.state()).unwrap();
    let nvml = bench.nvml().unwrap();
    let device = nvml.device_by_index(0).unwrap();
    raw::shutdown_once(&nvml);
    assert_eq!(reading::told(device.uuid()), json!({ "error": 1 }));
    let again = bench.nvml().unwrap();
    assert_eq!(reading::told(device.uuid()), json!({ "error": 2 }));
    assert!(again.device_by_index(0).unwrap().uuid().is_ok());
}

#[test]
fn a_state_that_makes_no_sense_is_refused_where_it_is_written_and_where_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = Profile::H100.state();
    state.fault(9, 0, Effect::GpuLost);
    state.fault(0, 0, Effect::Error { symbol: "nvmlDeviceGetTempreature".to_owned(), code: 3 });
    let problem = FakeNode::create(folder.path(), &state).unwrap_err().to_string();
    assert!(problem.contains("there is no GPU 9"), "{problem}");
    assert!(problem.contains("nvmlDeviceGetTempreature is no function"), "{problem}");

    let bench = Fixture::new(&Profile::H100.state()).unwrap();
    std::fs::write(bench.node.state_file(), "{").unwrap();
    let error = bench.nvml().unwrap_err().downcast::<nvml_wrapper::error::NvmlError>().unwrap();
    assert_eq!(reading::number(&error), 999);
    let said = std::fs::read_to_string(bench.node.state_file().with_file_name("state.json.problem")).unwrap();
    assert!(said.contains("is no state"), "{said}");
}

#[test]
fn every_function_is_exported_and_is_one_of_nvml() {
    let bench = Fixture::new(&Profile::H100.state()).unwrap();
    let found = python::ask(&bench.node, &json!({ "do": "symbols", "names": fake_nvml::symbols() })).unwrap();
    assert_eq!(found["missing"], json!([]));
    // Older versions of functions, which nvml-wrapper-sys lists and NVIDIA's binding no longer calls.
    let older = [
        "nvmlInit",
        "nvmlInit_v2",
        "nvmlEventSetWait",
        "nvmlDeviceGetCount",
        "nvmlDeviceGetHandleByIndex",
        "nvmlDeviceGetHandleByPciBusId",
        "nvmlDeviceGetPciInfo_v2",
        "nvmlDeviceGetNvLinkRemotePciInfo",
        "nvmlDeviceGetComputeRunningProcesses",
        "nvmlDeviceGetMPSComputeRunningProcesses",
        "nvmlDeviceRemoveGpu_v2",
    ];
    let strangers: Vec<&str> = found["strangers"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(strangers.iter().all(|name| older.contains(name)), "{strangers:?}");
}
