//! The source on a fake node: what it says, what it holds, and when it lets go.

use std::fs;

use fake_nvml::state::{EccCounter, LinkCounter, MigMode};
use fake_nvml::{Effect, FakeNode, Growth, HangMode, Problem, Profile, State};
use mainstay_signal::{Flag, Place, Reading, Value};
use tempfile::TempDir;

use super::*;
use crate::sources::Events;

/// Long enough for a machine that compiles beside.
const SOON: Duration = Duration::from_secs(20);

struct Fixture {
    node: FakeNode,
    folder: TempDir,
    guest: NvmlSession,
    heard: mpsc::Receiver<SourceMessage>,
    pulse: Arc<Heartbeat>,
}

fn module(folder: &TempDir) -> PathBuf {
    folder.path().join("sys/module/nvidia")
}

fn settings(node: &FakeNode, folder: &TempDir) -> Settings {
    Settings {
        nvml: node.library().into_os_string(),
        nvml_every: Duration::from_millis(200),
        sys: folder.path().join("sys"),
        root: folder.path().join("root"),
        ..Settings::default()
    }
}

impl Fixture {
    fn new(state: &State) -> Self {
        Self::with(state, |_| {})
    }

    fn with(state: &State, change: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let node = FakeNode::create(&folder.path().join("node"), state).unwrap();
        fs::create_dir_all(module(&folder).join("holders/nvidia_uvm")).unwrap();
        let mut settings = settings(&node, &folder);
        change(&mut settings);
        let (guest, (said, heard)) = (NvmlSession::new(), mpsc::channel(1024));
        let pulse = start(&settings, guest.clone(), said).unwrap();
        Self { node, folder, guest, heard, pulse }
    }

    fn next(&mut self) -> SourceMessage {
        let begun = Instant::now();
        loop {
            match self.heard.try_recv() {
                Ok(said) => return said,
                Err(error) => assert!(begun.elapsed() < SOON, "nothing is said: {error}, {:?}", self.guest.doing()),
            }
            std::thread::park_timeout(Duration::from_millis(2));
        }
    }

    fn round(&mut self) -> PollResult {
        loop {
            if let SourceMessage::Round(_, round) = self.next() {
                return *round;
            }
        }
    }

    fn events(&mut self) -> Events {
        loop {
            if let SourceMessage::Events(events) = self.next() {
                return *events;
            }
        }
    }

    /// The first round of which this is so.
    fn round_where(&mut self, what: impl Fn(&PollResult) -> bool) -> PollResult {
        let begun = Instant::now();
        loop {
            let round = self.round();
            if what(&round) {
                return round;
            }
            assert!(begun.elapsed() < SOON, "{round:?}");
        }
    }

    fn listing(&mut self) -> Listing {
        self.round_where(|round| round.gpus.is_some()).gpus.unwrap()
    }

    fn wait(&self, what: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !what(self) {
            assert!(begun.elapsed() < SOON, "{:?}", self.guest.doing());
            std::thread::park_timeout(Duration::from_millis(2));
        }
    }

    fn in_the_way(&self) -> bool {
        !self.node.holders().unwrap().is_empty()
    }
}

/// What a round says that should not be so, or how often.
fn wrong(round: &PollResult) -> Vec<String> {
    let told = round.readings.iter().map(|(place, reading)| (place, reading.current()));
    let wrong = told.filter(|(_, told)| !matches!(told.value, Value::State(Flag::Clear) | Value::Total(0)));
    wrong.map(|(place, told)| format!("{place} {} {} {:?}", told.code, told.detail, told.value)).collect()
}

#[test]
fn healthy_nodes_of_every_kind_are_listed_in_full_and_say_nothing() {
    for (profile, count, driver) in
        [(Profile::H100, 8, "580.95.05"), (Profile::B200, 8, "570.172.08"), (Profile::Gb200Tray, 4, "580.95.05")]
    {
        let mut bench = Fixture::new(&profile.state());
        let round = bench.round();
        assert_eq!(wrong(&round), Vec::<String>::new(), "{profile:?}");
        assert_eq!(round.trouble, None);
        let listing = round.gpus.unwrap();
        let state = bench.node.state().unwrap();
        assert_eq!(listing.gpus.len(), count);
        for (gpu, its) in listing.gpus.iter().zip(&state.gpus) {
            assert_eq!((gpu.serial.as_str(), gpu.uuid.as_str()), (its.serial.as_str(), its.uuid.as_str()));
            assert_eq!(Place::pci_or_node(&its.bus_id()), Place::Pci(gpu.pci.clone()));
        }
        assert_eq!(listing.installed.driver.as_deref(), Some(driver));
        assert_eq!(listing.installed.product.as_deref(), Some(state.gpus[0].name.as_str()));
        assert_eq!(listing.installed.firmware.as_deref(), Some(state.gpus[0].vbios.as_str()));
        let now = &listing.now[1];
        assert_eq!((now.links_up, now.links, now.celsius), (18, 18, Some(32)));
        assert_eq!(now.margin_celsius, Some(55));
        assert_eq!(now.watts_enforced, now.watts_default);
    }
}

#[test]
fn a_gpu_that_is_cut_is_listed_with_its_instances() {
    let mut bench = Fixture::new(&Profile::A100Mig.state());
    let listing = bench.listing();
    let instances = |index: usize| listing.now[index].mig.as_ref().unwrap().instances.len();
    assert_eq!([instances(0), instances(1), instances(2)], [7, 2, 0]);
    assert_eq!(listing.now[0].recovery_action, None, "R550 does not know");
}

#[test]
fn every_fault_that_nvml_tells_is_said() {
    let mut state = Profile::H100.state();
    state.fault(1, 0, Effect::RemapFailed);
    state.fault(1, 0, Effect::SramThreshold);
    state.fault(2, 0, Effect::Ecc { counter: EccCounter::DramUncorrected, growth: Growth::at_once(3) });
    state.fault(2, 0, Effect::Ecc { counter: EccCounter::SramParity, growth: Growth::at_once(2) });
    state.fault(3, 0, Effect::Throttle { reasons: 0x48, clock_mhz: 900, celsius: Some(90) });
    state.fault(3, 0, Effect::PowerCap { milliwatts: 350_000 });
    state.fault(4, 0, Effect::NvlinkDown { link: 5 });
    let crc = Effect::NvlinkErrors { link: 6, counter: LinkCounter::CrcFlit, growth: Growth::at_once(9) };
    state.fault(4, 0, crc);
    state.fault(5, 0, Effect::FabricHealth { mask: 0x1a9, summary: 2 });
    state.fault(5, 0, Effect::PcieReplays { growth: Growth::at_once(4) });
    let mut bench = Fixture::new(&state);
    let mut said = wrong(&bench.round());
    said.sort();
    assert_eq!(
        said,
        [
            "0000:43:00.0 remap-failed  State(Set)",
            "0000:43:00.0 sram-threshold  State(Set)",
            "0000:52:00.0 ecc-uncorrected dram Total(3)",
            "0000:52:00.0 ecc-uncorrected sram Total(2)",
            "0000:61:00.0 hardware-slowdown  State(Set)",
            "0000:61:00.0 power-capped  State(Set)",
            "0000:61:00.0 thermal-slowdown  State(Set)",
            "0000:61:00.0 too-hot chip State(Set)",
            "0000:9d:00.0 nvlink-crc link 6 Total(9)",
            "0000:9d:00.0 nvlink-inactive link 5 State(Set)",
            "0000:c3:00.0 fabric-unhealthy degraded bandwidth State(Set)",
            "0000:c3:00.0 pcie-replay  Total(4)",
        ]
    );
}

#[test]
fn counters_of_nvlink_5_and_thresholds_that_are_distances_are_read_too() {
    let mut state = Profile::B200.state();
    for (counter, by) in [(LinkCounter::RecoveryEvents, 2), (LinkCounter::EffectiveErrors, 7)] {
        state.fault(0, 0, Effect::NvlinkErrors { link: 17, counter, growth: Growth::at_once(by) });
    }
    state.fault(0, 0, Effect::Throttle { reasons: 0, clock_mhz: 900, celsius: Some(86) });
    let mut bench = Fixture::new(&state);
    let mut said = wrong(&bench.round());
    said.sort();
    let at = "0000:1b:00.0";
    assert_eq!(
        said,
        [
            format!("{at} nvlink-effective-errors link 17 Total(7)"),
            format!("{at} nvlink-recovery link 17 Total(2)"),
            format!("{at} too-hot chip State(Set)"),
        ]
    );
}

#[test]
fn events_are_told_between_looks() {
    let mut bench = Fixture::with(&Profile::H100.state(), |settings| settings.nvml_every = Duration::from_mins(1));
    bench.round();
    // It is registered soon after the first look.
    bench.wait(|bench| bench.guest.doing() == Activity::Waiting);
    bench.node.change(|state| state.fault(6, state.now_ms(), Effect::xid(119))).unwrap();
    let events = bench.events();
    assert_eq!(events.xids.len(), 1);
    assert_eq!((events.xids[0].pci.as_str(), events.xids[0].code), ("0000:d1:00.0", 119));
    bench.node.change(|state| state.fault(2, state.now_ms(), Effect::RecoveryAction { action: 4 })).unwrap();
    let events = bench.events();
    assert_eq!(events.readings, [(Place::pci_or_node("0000:52:00.0"), Reading::RecoveryAction(4))]);
    bench.wait(|bench| !bench.in_the_way());
    bench.node.reset_gpu(2).unwrap();
}

#[test]
fn an_order_is_obeyed_at_once_and_ends_by_itself() {
    let mut bench = Fixture::new(&Profile::H100.state());
    bench.listing();
    assert!(matches!(bench.node.unload_driver(), Err(Problem::InUse { .. })));
    bench.guest.release(Duration::from_secs(2));
    let begun = Instant::now();
    bench.wait(|bench| bench.guest.is_free());
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    bench.node.unload_driver().unwrap();
    bench.round_where(|round| round.trouble.as_ref().is_some_and(|trouble| !trouble.unavailable));
    bench.node.load_driver(Some("580.105.08")).unwrap();
    assert_eq!(bench.listing().installed.driver.as_deref(), Some("580.105.08"));
    bench.guest.release(Duration::from_mins(10));
    bench.wait(|bench| bench.guest.is_free());
    bench.guest.hold();
    bench.wait(|bench| !bench.guest.is_free());
}

#[test]
fn the_driver_goes_when_what_stands_on_it_went() {
    let mut bench = Fixture::new(&Profile::H100.state());
    bench.listing();
    fs::remove_dir(module(&bench.folder).join("holders/nvidia_uvm")).unwrap();
    bench.wait(|bench| bench.guest.is_free());
    bench.node.unload_driver().unwrap();
    fs::remove_dir_all(module(&bench.folder)).unwrap();
    // As long as the module is away, nobody loads it by opening NVML.
    let opened = bench.guest.opened();
    std::thread::park_timeout(Duration::from_secs(2));
    assert_eq!(bench.guest.opened(), opened);
    bench.node.load_driver(None).unwrap();
    fs::create_dir_all(module(&bench.folder)).unwrap();
    assert_eq!(bench.listing().gpus.len(), 8);
    bench.wait(|bench| !bench.guest.is_free());
}

#[test]
fn a_lost_gpu_is_said_and_held_by_nobody() {
    let mut bench = Fixture::with(&Profile::H100.state(), |settings| settings.nvml_every = Duration::from_mins(1));
    bench.listing();
    bench.wait(|bench| bench.guest.doing() == Activity::Waiting);
    let lose = |state: &mut State| {
        let at = state.now_ms();
        state.fault(3, at, Effect::xid(79));
        state.fault(3, at, Effect::GpuLost);
    };
    bench.node.change(lose).unwrap();
    assert_eq!(bench.events().xids[0].code, 79);
    let listing = bench.listing();
    assert_eq!((listing.gpus.len(), listing.lost.len()), (7, 1));
    assert_eq!(listing.lost[0].as_str(), "0000:61:00.0");
    bench.wait(|bench| bench.guest.is_free());
    bench.node.reset_gpu(3).unwrap();
}

#[test]
fn a_mode_of_mig_that_waits_for_a_reset_is_not_in_its_way() {
    let mut state = Profile::A100Mig.state();
    state.gpus[4].mig.as_mut().unwrap().pending = MigMode::Enabled;
    let mut bench = Fixture::new(&state);
    bench.listing();
    bench.wait(|bench| bench.guest.is_free());
    bench.node.reset_gpu(4).unwrap();
}

#[test]
fn who_holds_nothing_between_looks_is_in_nobodys_way() {
    let mut bench = Fixture::with(&Profile::H100.state(), |settings| {
        (settings.nvml_hold, settings.nvml_every) = (HoldMode::Nothing, Duration::from_mins(1));
    });
    bench.listing();
    bench.wait(|bench| bench.guest.is_free());
    bench.node.unload_driver().unwrap();
}

#[test]
fn a_call_that_hangs_is_told_with_its_place_and_does_not_keep_the_process() {
    let mut state = Profile::H100.state();
    let hang = Effect::Hang { symbol: "nvmlDeviceGetPowerUsage".to_owned(), manner: HangMode::Sleep };
    let fault = state.fault(5, 0, hang);
    let mut bench = Fixture::new(&state);
    bench.wait(|bench| bench.guest.doing() == Activity::Reading(5));
    bench.guest.release(Duration::from_mins(1));
    std::thread::park_timeout(Duration::from_millis(600));
    assert!(!bench.guest.is_free() && !bench.pulse.stalled(), "not yet");
    assert!(NvmlSession::open_anywhere());
    bench.node.change(|state| state.mend(fault)).unwrap();
    bench.wait(|bench| bench.guest.is_free());
    bench.guest.hold();
    assert_eq!(bench.listing().gpus.len(), 8);
}

#[test]
fn a_driver_without_its_library_is_not_seen_and_a_node_without_gpus_is() {
    let none = |settings: &mut Settings| settings.nvml = "libnvidia-ml-of-nobody.so.1".into();
    let mut bench = Fixture::with(&Profile::H100.state(), none);
    let trouble = bench.round().trouble.unwrap();
    assert!(trouble.unavailable && trouble.what.contains("libnvidia-ml-of-nobody"), "{trouble:?}");
    let gone = |settings: &mut Settings| settings.sys = "/nowhere".into();
    let mut bench = Fixture::with(&Profile::H100.state(), gone);
    assert_eq!(bench.round(), PollResult::default());
    assert_eq!(bench.guest.opened(), 0);
}

#[test]
fn two_gpus_of_one_board_have_serials_of_their_own() {
    let mut state = Profile::Gb200Tray.state();
    let serial = state.gpus[0].serial.clone();
    state.gpus[1].serial = serial;
    let mut bench = Fixture::new(&state);
    let serials: Vec<String> = bench.listing().gpus.iter().map(|gpu| gpu.serial.to_string()).collect();
    assert_eq!(serials[0], format!("{}/1", state.gpus[0].serial));
    assert_eq!(serials[1], format!("{}/2", state.gpus[0].serial));
    assert_eq!(serials[2], state.gpus[2].serial);
}
