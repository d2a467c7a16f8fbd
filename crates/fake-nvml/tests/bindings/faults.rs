//! Each fault of the script, seen by both bindings alike.

use fake_nvml::state::{EccCounter, Histogram, LinkCounter, PcieLink, RemapCause};
use fake_nvml::{Effect, Growth, Profile};
use serde_json::{Value, json};

use crate::agreement::agreed;
use crate::{Fixture, python};

const SICK: usize = 3;

/// What both bindings read of GPU 3 and of GPU 2 when GPU 3 has this fault.
fn with(profile: Profile, effect: Effect) -> anyhow::Result<(Value, Value)> {
    let mut state = profile.state();
    state.fault(3, 0, effect);
    let mut read = agreed(&Fixture::new(&state)?)?;
    Ok((read["gpus"][SICK].take(), read["gpus"][SICK - 1].take()))
}

#[test]
fn a_lost_gpu_answers_that_it_is_lost_and_its_neighbours_go_on() {
    let (sick, well) = with(Profile::H100, Effect::GpuLost).unwrap();
    assert_eq!(sick, json!({ "error": 15 }));
    assert_eq!(well["nvmlDeviceGetTemperature"], json!(33));
}

#[test]
fn a_gpu_that_is_lost_later_is_lost_to_handles_that_were_good() {
    let bench = Fixture::new(&Profile::H100.state()).unwrap();
    let nvml = bench.nvml().unwrap();
    let device = nvml.device_by_index(3).unwrap();
    assert_eq!(device.temperature(nvml_wrapper::enum_wrappers::device::TemperatureSensor::Gpu).unwrap(), 34);
    let fault = bench.node.change(|state| state.fault(3, 0, Effect::GpuLost)).unwrap();
    assert_eq!(crate::reading::told(device.uuid()), json!({ "error": 15 }));
    bench.node.change(|state| state.mend(fault)).unwrap();
    assert!(device.uuid().is_ok());
}

#[test]
fn errors_of_memory_are_counted_everywhere_alike() {
    let growth = Growth { every_ms: 1, by: 2, up_to: 12 };
    let (sick, well) = with(Profile::H100, Effect::Ecc { counter: EccCounter::DramUncorrected, growth }).unwrap();
    // Volatile uncorrected, aggregate uncorrected; place 2 is DRAM.
    assert_eq!(sick["nvmlDeviceGetTotalEccErrors"], json!([0, 12, 0, 12]));
    assert_eq!(sick["nvmlDeviceGetMemoryErrorCounter"][10], json!(12));
    assert_eq!(sick["fields"][4], json!([3, 12]));
    assert_eq!(well["nvmlDeviceGetTotalEccErrors"], json!([0, 0, 0, 0]));

    let (sick, _) =
        with(Profile::B200, Effect::Ecc { counter: EccCounter::SramParity, growth: Growth::at_once(3) }).unwrap();
    assert_eq!(sick["nvmlDeviceGetSramEccErrorStatus"]["aggregateUncParity"], json!(3));
    assert_eq!(sick["nvmlDeviceGetSramEccErrorStatus"]["volatileUncParity"], json!(3));
    assert_eq!(sick["nvmlDeviceGetSramEccErrorStatus"]["aggregateUncBucketL2"], json!(3));
    let (sick, _) = with(Profile::B200, Effect::SramThreshold).unwrap();
    assert_eq!(sick["nvmlDeviceGetSramEccErrorStatus"]["bThresholdExceeded"], json!(1));
}

#[test]
fn rows_are_remapped_wait_and_fail() {
    let histogram = Some(Histogram { max: 2550, high: 5, partial: 3, low: 1, none: 1 });
    let growth = Growth::at_once(9);
    let (sick, _) =
        with(Profile::H100, Effect::Remapped { cause: RemapCause::Uncorrected, growth, histogram }).unwrap();
    assert_eq!(sick["nvmlDeviceGetRemappedRows"], json!([0, 9, 0, 0]));
    assert_eq!(sick["fields"][143], json!([1, 9]));
    let rows = json!({ "max": 2550, "high": 5, "partial": 3, "low": 1, "none": 1 });
    assert_eq!(sick["nvmlDeviceGetRowRemapperHistogram"], rows);
    assert_eq!(with(Profile::H100, Effect::RemapPending).unwrap().0["nvmlDeviceGetRemappedRows"], json!([0, 0, 1, 0]));
    assert_eq!(with(Profile::H100, Effect::RemapFailed).unwrap().0["nvmlDeviceGetRemappedRows"], json!([0, 0, 0, 1]));
}

#[test]
fn a_hot_gpu_slows_down_and_a_capped_one_draws_less() {
    let (sick, _) = with(Profile::H100, Effect::Throttle { reasons: 0x48, clock_mhz: 210, celsius: Some(89) }).unwrap();
    assert_eq!(sick["nvmlDeviceGetCurrentClocksEventReasons"], json!(0x49));
    assert_eq!(sick["nvmlDeviceGetClockInfo"][1], json!(210));
    assert_eq!(sick["nvmlDeviceGetTemperature"], json!(89));
    assert_eq!(sick["nvmlDeviceGetMarginTemperature"], json!(-2));
    let (sick, _) = with(Profile::H100, Effect::PowerCap { milliwatts: 350_000 }).unwrap();
    assert_eq!(sick["nvmlDeviceGetEnforcedPowerLimit"], json!(350_000));
    assert_eq!(sick["nvmlDeviceGetPowerManagementDefaultLimit"], json!(700_000));
    assert_eq!(sick["fields"][190], json!([1, 350_000]));
}

#[test]
fn a_link_goes_down_and_counts_errors_by_generation() {
    let (sick, _) = with(Profile::H100, Effect::NvlinkDown { link: 7 }).unwrap();
    assert_eq!(sick["links"][7]["nvmlDeviceGetNvLinkState"], json!(0));
    assert_eq!(sick["links"][7]["nvmlDeviceGetNvLinkRemotePciInfo_v2"], json!({ "error": 3 }));
    assert_eq!(sick["links"][8]["nvmlDeviceGetNvLinkState"], json!(1));

    let errors = |counter| Effect::NvlinkErrors { link: 5, counter, growth: Growth::at_once(77) };
    let (sick, _) = with(Profile::H100, errors(LinkCounter::CrcFlit)).unwrap();
    assert_eq!(sick["links"][5]["nvmlDeviceGetNvLinkErrorCounter"][2], json!(77));
    assert_eq!(sick["fields"][37], json!([3, 77]));
    let (sick, _) = with(Profile::B200, errors(LinkCounter::SymbolErrors)).unwrap();
    assert_eq!(sick["links"][5]["nvmlDeviceGetNvLinkErrorCounter"][2], json!({ "error": 3 }));
    let fields = crate::reading::wanted();
    let all_links = fields.iter().position(|asked| *asked == (221, u32::MAX)).unwrap();
    assert_eq!(sick["fields"][all_links], json!([3, 77]));
}

#[test]
fn the_driver_says_what_it_wants_done() {
    let (sick, _) = with(Profile::H100, Effect::RecoveryAction { action: 4 }).unwrap();
    assert_eq!(sick["fields"][230], json!([1, 4]));
}

#[test]
fn the_fabric_and_the_host_link_degrade() {
    let (sick, _) = with(Profile::Gb200Tray, Effect::FabricHealth { mask: 0x1a9, summary: 2 }).unwrap();
    assert_eq!(sick["nvmlDeviceGetGpuFabricInfoV"]["v3"]["healthMask"], json!(0x1a9));
    assert_eq!(sick["nvmlDeviceGetGpuFabricInfoV"]["v3"]["healthSummary"], json!(2));
    let link = PcieLink { generation: 1, lanes: 8 };
    let (sick, _) = with(Profile::H100, Effect::PcieDowntrained { link }).unwrap();
    assert_eq!(sick["nvmlDeviceGetCurrPcieLinkWidth"], json!(8));
    assert_eq!(sick["nvmlDeviceGetMaxPcieLinkWidth"], json!(16));
    let (sick, _) = with(Profile::H100, Effect::PcieReplays { growth: Growth::at_once(4000) }).unwrap();
    assert_eq!(sick["nvmlDeviceGetPcieReplayCounter"], json!(4000));
}

#[test]
fn one_function_of_one_gpu_answers_an_error() {
    let error = Effect::Error { symbol: "nvmlDeviceGetPowerUsage".to_owned(), code: 999 };
    let (sick, well) = with(Profile::H100, error).unwrap();
    assert_eq!(sick["nvmlDeviceGetPowerUsage"], json!({ "error": 999 }));
    assert_eq!(sick["nvmlDeviceGetTemperature"], json!(34));
    assert!(well["nvmlDeviceGetPowerUsage"].is_u64());
}

#[test]
fn a_driver_that_is_not_there_is_not_there_for_anybody() {
    let mut state = Profile::H100.state();
    state.push(None, 0, None, Effect::DriverUnloaded);
    let bench = Fixture::new(&state).unwrap();
    let read = python::ask(&bench.node, &json!({ "do": "read", "fields": [] })).unwrap();
    assert_eq!(read, json!({ "init": { "error": 9 } }));
    let error = bench.nvml().unwrap_err().downcast::<nvml_wrapper::error::NvmlError>().unwrap();
    assert_eq!(crate::reading::number(&error), 9);
}

#[test]
fn a_library_of_another_version_than_the_driver_does_not_open() {
    let mut state = Profile::H100.state();
    for symbol in ["nvmlInit_v2", "nvmlInitWithFlags"] {
        state.push(None, 0, None, Effect::Error { symbol: symbol.to_owned(), code: 18 });
    }
    let bench = Fixture::new(&state).unwrap();
    let read = python::ask(&bench.node, &json!({ "do": "read", "fields": [] })).unwrap();
    assert_eq!(read, json!({ "init": { "error": 18 } }));
    let error = bench.nvml().unwrap_err().downcast::<nvml_wrapper::error::NvmlError>().unwrap();
    assert_eq!(crate::reading::number(&error), 18);
}
