//! Whatever `mainstay-signal` can say, the catalogue has a rule for: no line that is recognised, and no reading, ends as an
//! unknown code.

#![cfg(test)]

use std::collections::BTreeSet;

use mainstay_health::Catalogue;
use mainstay_model::{Source, Span, Timestamp};
use mainstay_signal::{
    Aer, AmdBlock, FabricFault, Flag, HotComponent, Link, Load, Memory, Meter, NvlinkCounter, PcieLink, Place,
    PortCounter, Presence, Reading, Signal, Slowdown, Writer, parse, recognise,
};

/// One line for each code that a reader of the kernel log has.
const LINES: &[&str] = &[
    "pcieport 0000:15:01.0: AER: Correctable error message received from 0000:1b:00.0",
    "nvidia 0000:1b:00.0: AER: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)",
    "pcieport 0000:15:01.0: AER: Uncorrected (Fatal) error received: 0000:1b:00.0",
    "nvidia 0000:1b:00.0: AER: device recovery failed",
    "mlx5_core 0000:18:00.0 ens1np0: Link down",
    "mlx5_core 0000:18:00.0 ens1np0: Link up",
    "mlx5_core 0000:18:00.0: poll_health:739:(pid 0): device's health compromised - reached miss count",
    "mlx5_core 0000:18:00.0: wait_func:1150:(pid 4242): ENABLE_HCA(0x104) timeout. Will cause a leak of a command resource",
    "mlx5_core 0000:18:00.0: synd 0x8: unrecoverable hardware error",
    "mlx5_core 0000:18:00.0: synd 0x1: firmware internal error",
    "mlx5_core 0000:18:00.0: poll_health:748:(pid 0): Fatal error 1 detected",
    "mlx5_core 0000:18:00.0: PCI slot is unavailable",
    "NETDEV WATCHDOG: ens1np0 (mlx5_core): transmit queue 3 timed out",
    "mlx5_core 0000:18:00.0 ens1np0: TX timeout detected",
    "mlx5_core 0000:18:00.0 ens1np0: RX timeout on channel: 3, ICOSQ: 0x1, RQ: 0x2, CQ: 0x3",
    "mlx5_core 0000:18:00.0: Port module event: module 0, Cable unplugged",
    "mlx5_core 0000:18:00.0: Port module event: module 0, Cable plugged",
    "mlx5_core 0000:18:00.0: Port module event[error]: module 1, Cable error, High Temperature",
    "mlx5_core 0000:18:00.0: Port module event[error]: module 0, Cable error, Bad or shorted cable/module",
    "mlx5_core 0000:18:00.0: temp_warn:134:(pid 0): High temperature on sensors with bit set 0 1",
    "mlx5_core 0000:18:00.0: mlx5_pcie_event:301:(pid 12): Detected insufficient power on the PCIe slot (27W).",
    "watchdog: BUG: soft lockup - CPU#12 stuck for 23s! [python:1234]",
    "NMI watchdog: Watchdog detected hard LOCKUP on cpu 1",
    "INFO: task python:1234 blocked for more than 120 seconds.",
    "Out of memory: Killed process 1234 (python) total-vm:25004420kB, anon-rss:91796kB, file-rss:15612kB",
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom",
    "NVRM: GPU 0000:f9:00.0: GPU has fallen off the bus.",
    "NVRM: The NVIDIA probe routine failed for 1 device(s).",
    "NVRM: RmInitAdapter: Cannot initialize GSP firmware RM",
    "NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7",
    "NVRM: GPU0 nvAssertFailedNoLog: Assertion failed: (status == NV_OK) @ mem.c:178",
    "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer0's postRxDetLinkMask failed!",
    "NVRM: dmaAllocMapping_GM107: can't alloc VA space for mapping.",
    "NVRM: GPU6 RPC event history (CPU <- GSP):",
    "NVRM: A GPU crash dump has been created. If possible, please run",
    "nvidia-modeset: ERROR: GPU:0: Error while waiting for GPU progress: 0xec3f5e4b:0 2:0:200:192",
    "nvidia-nvswitch2: Failed to initialize the device",
    "amdgpu 0000:f2:00.0: amdgpu: ring comp_1.1.0 timeout, signaled seq=7, emitted seq=9",
    "amdgpu 0000:f2:00.0: amdgpu: Ring comp_1.1.0 reset succeeded",
    "amdgpu 0000:90:00.0: amdgpu: GPU reset end with ret = -62",
    "amdgpu 0000:90:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE",
    "amdgpu 0000:f4:00.0: amdgpu: SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x14e8534d",
    "amdgpu 0000:0a:00.0: [drm:amdgpu_ring_test_helper [amdgpu]] *ERROR* ring mes_kiq_3.1.0 test failed (-110)",
    "[drm:psp_hw_start [amdgpu]] *ERROR* PSP create ring failed!",
    "[drm:amdgpu_fill_buffer [amdgpu]] *ERROR* Unable to clear memory with ring turned off.",
    "amdgpu 0000:1c:00.0: {1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
    "amdgpu 0000:35:00.0: 12 correctable hardware errors detected in umc block",
    "amdgpu 0000:35:00.0: 1048560 uncorrectable hardware errors detected in umc block",
    "amdgpu 0000:aa:00.0: {1}[Hardware Error]: Accelerator Check Architecture events logged",
    "amdgpu 0000:c0:00.0: amdgpu: [mmhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:32768, for process ipython3 pid 2002014 thread ipython3 pid 2002014)",
    "amdgpu: Fence fallback timer expired on ring sdma0",
    "amdgpu 0000:90:00.0: amdgpu: device lost from bus!",
    "amdgpu 0000:90:00.0: amdgpu: ERROR: GPU over temperature range(SW CTF) detected!",
    "amdgpu 0000:90:00.0: amdgpu: Saved bad pages 20 reaches threshold value 20",
    "amdgpu 0000:90:00.0: amdgpu: XGMI: failed to get hive",
    "mce: [Hardware Error]: Machine check events logged",
    "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1",
    "{1}[Hardware Error]:   section_type: PCIe error",
    "{3}[Hardware Error]: error_type: 2, single-bit ECC",
    "{3}[Hardware Error]: error_type: 3, multi-bit ECC",
    "Memory failure: 0x4348776: Killing cellsrv:33395 due to hardware memory corruption",
    "RAS: Soft-offlining pfn: 0x104e5c",
    "mce: CPU1: Core temperature above threshold, cpu clock throttled (total events = 2311)",
    "thermal thermal_zone0: acpitz: critical temperature reached, shutting down",
    "nvme nvme1: I/O 775 QID 2 timeout, aborting",
    "nvme nvme2: Device not ready; aborting reset",
    "nvme nvme0: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10",
    "nvme nvme1: rdma connection establishment failed (-22)",
    "nvme0n1: I/O Cmd(0x2) @ LBA 131209936, 200 blocks, I/O Error (sct 0x3 / sc 0x71) ",
    "EXT4-fs (sde): I/O error while writing superblock",
    "EXT4-fs (sda1): Remounting filesystem read-only",
    "nvidia 0000:27:00.0: AER: can't recover (no error_detected callback)",
    "pcieport 0004:a1:00.0: DPC: containment event, status:0x1f01 source:0x0000",
    "pcieport 0000:94:03.0: pciehp: Slot(3): Link Down",
    "nvme 0000:90:00.0: Unable to change power state from D3cold to D0, device inaccessible",
    "nvidia-gpu 0000:63:00.3: Refused to change power state, currently in D3",
    "pci 0000:85:00.0: BAR 7: no space for [mem size 0x70367c7e 64bit pref]",
    "mlx5_core 0000:18:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at 0000:17:00.0",
    "DMAR: [DMA Read NO_PASID] Request device [03:00.0] fault addr 0x100000 [fault reason 0x71] SM: Present bit",
    "mlx5_core: probe of 0000:8f:00.0 failed with error -16",
    "nvme: probe of 0000:90:00.0 failed with error -5",
    "igb 0000:88:14.0 eth0: igb: eth0 NIC Link is Down",
    "igc 0000:66:00.0 eth5: NIC Link is Up 100 Mbps Full Duplex, Flow Control: RX",
    "infiniband efa_0: Failed to process command ALLOC_PD (opcode 14) comp_status 1 err -12",
    "ena 0000:dd:05.0 eth0: Trigger reset is on",
    "ice 0000:37:00.0: Rebuild failed, unload and reload driver",
    "bnxt_en 0000:37:00.0 ens1f0np0: Error (timeout: 500015) msg {0x41 0x5e5} len:0",
    "igb 0000:88:14.0 eth0: PCIe link lost, device now detached",
    "mlx5_core 0000:a9:00.0: mlx5_cmd_out_err:838:(pid 3875639): ACCESS_REG(0x805) op_mod(0x1) failed",
    "mlx5_core 0000:3c:00.0: cq_err_event_notifier:529:(pid 2695549): CQ error on CQN 0x406, syndrome 0x1",
    "(NULL net_device): hw csum failure",
    "BUG: unable to handle kernel NULL pointer dereference at 00000000000000b1",
    "Kernel panic - not syncing: softlockup: hung tasks",
    "RIP: 0010:_nv031695rm+0x79/0x940 [nvidia]",
    "nouveau 0000:6b:00.0: fifo: SCHED_ERROR 08 []",
    "rcu: INFO: rcu_sched self-detected stall on CPU",
    "BUG: workqueue lockup - pool cpus=3 node=0 flags=0x0 nice=0 stuck for 33s!",
    "StreamTrans #72 invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=167",
    "NVRM: API mismatch: the client 'python' (pid 3920304) has the version 595.84, but this kernel module has",
    "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:1b80) installed in this system is not supported by the NVIDIA 610.43 driver",
];

/// One line for each code that a reader of services has, with the service.
const SERVICE_LINES: &[(&str, &str)] = &[
    ("nv-fabricmanager", "request to query NVSwitch device information from NVSwitch driver failed"),
    ("rasdaemon", "mc_event: 2 Corrected errors: memory read error on DIMM_A1"),
    ("mcelog", "Hardware event. This is not a software error."),
    ("systemd", "nvidia-fabricmanager.service: Failed with result 'exit-code'."),
    ("kubelet", "error creating nvml.Device 3: nvml: GPU is lost"),
    ("nvidia-smi", "Unable to determine the device handle for GPU 0000:07:00.0: Unknown Error"),
    ("containerd", "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch"),
    ("modprobe", "ERROR: could not insert 'nvidia': No such device"),
    ("nv-hostengine", "Detected a WARNING in health system Thermal"),
    ("containerd", "nvidia-container-cli: device error: 3: unknown device"),
    ("kubelet", "Failed to initialize NVML: Unknown Error"),
    ("nvidia-persistenced", "Failed to query NVIDIA devices."),
    ("nvidia-device-plugin", "XidCriticalError: Xid=48 on Device=GPU-6f1"),
];

/// Every kind of reading, in a state that says something and with a total that rose.
fn readings() -> Vec<(Reading, Reading)> {
    let same = |reading| (reading, reading);
    let (half, whole) = (PcieLink { generation: 5, lanes: 8 }, PcieLink { generation: 5, lanes: 16 });
    let umc = AmdBlock::of_file("umc_err_count").unwrap();
    let rises = |of: &dyn Fn(u64) -> Reading| (of(0), of(10_000_000));
    let mut all = vec![
        same(Reading::Gpu(Presence::Absent)),
        same(Reading::RecoveryAction(1)),
        same(Reading::TooHot(HotComponent::Chip, Flag::Set)),
        same(Reading::Fabric(FabricFault::Route, Flag::Set)),
        same(Reading::RemapPending(Flag::Set)),
        same(Reading::RemapFailed(Flag::Set)),
        same(Reading::SramThreshold(Flag::Set)),
        same(Reading::SpareRows { low: 1, none: 0 }),
        same(Reading::SpareRows { low: 0, none: 1 }),
        same(Reading::PowerLimit { enforced_watts: 500, wanted_watts: 700 }),
        same(Reading::PcieSpeed { now: half, best: whole, load: Load::Busy }),
        same(Reading::Nvlink(3, Link::Down)),
        same(Reading::Port(1, Link::Down)),
        same(Reading::PortRate { port: 1, now_gbps: 200, wanted_gbps: 400 }),
        same(Reading::FabricManager(Link::Down)),
        same(Reading::SourceStalled("nvml", Flag::Set)),
        same(Reading::SourceBlind("nvml", Flag::Set)),
        same(Reading::AmdTooHot(Flag::Set)),
        same(Reading::AmdPowerLimit { enforced_watts: 500, default_watts: 750 }),
        rises(&|count| Reading::AmdUncorrected(umc, count)),
        rises(&|count| Reading::AmdCorrected(umc, count)),
        rises(&Reading::LogLost),
        rises(&Reading::PcieReplays),
        rises(&|count| Reading::EccUncorrected(Memory::Dram, count)),
        rises(&|count| Reading::EccCorrected(Memory::Sram, count)),
    ];
    let slow = [Slowdown::Hardware, Slowdown::Thermal, Slowdown::SoftwareThermal, Slowdown::PowerBrake];
    all.extend(slow.map(|why| same(Reading::Slowdown(why, Flag::Set))));
    all.extend(
        [Aer::Correctable, Aer::NonFatal, Aer::Fatal].map(|one| rises(&|count| Reading::PcieErrors(one, count))),
    );
    all.extend(
        [NvlinkCounter::Crc, NvlinkCounter::Recovery, NvlinkCounter::Effective]
            .map(|one| rises(&|count| Reading::NvlinkCount(3, one, count))),
    );
    all.extend(PortCounter::ALL.map(|one| rises(&|count| Reading::PortCount(1, one, count))));
    all
}

fn said(first: &Reading, then: &Reading) -> Signal {
    let (mut meter, at, place) = (Meter::new(), Timestamp(0), Place::Node);
    let early = meter.read(&place, first, at);
    let late = meter.read(&place, then, at + Span::hours(2));
    early.or(late).unwrap_or_else(|| panic!("{then:?} says nothing")).0
}

#[test]
fn nothing_that_is_recognised_is_unknown() {
    let catalogue = Catalogue::built_in();
    let known: BTreeSet<(Source, &str)> =
        catalogue.rows().filter_map(|row| Some((row.source?, row.code.as_ref()?.as_str()))).collect();
    let lines = LINES.iter().map(|line| parse(line).unwrap_or_else(|| panic!("nothing in {line}")));
    let services = SERVICE_LINES.iter().map(|(program, line)| {
        recognise(line, Writer::Program(program)).signal().unwrap_or_else(|| panic!("nothing in {line}"))
    });
    let readings = readings().into_iter().map(|(first, then)| said(&first, &then));
    let signals: Vec<Signal> = lines.chain(services).chain(readings).collect();
    for signal in &signals {
        assert!(known.contains(&(signal.source, signal.code.as_str())), "{:?} {}", signal.source, signal.code);
    }
    let codes: BTreeSet<_> = signals.iter().map(|signal| (signal.source, signal.code.as_str())).collect();
    // Codes of templates are those of a site's own lines.
    let of_the_host = |row: &(Source, &str)| !matches!(row.0, Source::Xid | Source::Sxid | Source::Unrecognised);
    // Counted by us: no line and no reading has it.
    let unsaid = [(Source::Kernel, "overflow"), (Source::Inventory, "rebooted")];
    for row in known.iter().filter(|row| of_the_host(row) && !unsaid.contains(row)) {
        assert!(codes.contains(row), "nobody says {row:?}");
    }
}
