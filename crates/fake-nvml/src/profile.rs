//! Nodes to begin with: what the machines of four generations look like through NVML. Names, counts, limits and link speeds
//! are the makers'; serials, addresses and firmware versions are plausible and nobody's.

use nvml_wrapper_sys::bindings as sys;

use crate::state::{
    Clocks, Driver, Ecc, Fabric, Gpu, Histogram, Link, LinkCounters, LinkPeer, Mig, MigInstance, MigMode, Module,
    NvLink, Pci, Pcie, PcieLink, Platform, Power, RemappedRows, State, Temperature, Thresholds, Violations,
};

/// A kind of node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// HGX H100: 8 GPUs, 4 switches, driver R580.
    H100,
    /// HGX B200: 8 GPUs, NVLink 5, driver R570 with the older field numbers.
    B200,
    /// A compute tray of GB200 NVL72: 4 GPUs, an NVLink domain beyond the node, driver R580.
    Gb200Tray,
    /// HGX A100 80 GB: 8 GPUs of which two are cut into instances, driver R550, which does not know recovery actions.
    A100Mig,
}

/// What sets one kind apart.
struct Kind {
    driver: (&'static str, i32),
    name: &'static str,
    part: &'static str,
    vbios: &'static str,
    architecture: u32,
    capability: (u32, u32),
    cores: u32,
    device_id: u32,
    addresses: &'static [(u32, u32)],
    memory_mib: u64,
    memory_bus_bits: u32,
    power_watts: u32,
    power_min_watts: u32,
    clocks_mhz: (u32, u32),
    pcie_generation: u32,
    links: u32,
    link_version: u32,
    link_mbps: u32,
    switches: u32,
    thresholds: Thresholds,
    banks: u32,
}

const H100: Kind = Kind {
    driver: ("580.95.05", 13_000),
    name: "NVIDIA H100 80GB HBM3",
    part: "692-2G520-0200-000",
    vbios: "96.00.A5.00.01",
    architecture: sys::NVML_DEVICE_ARCH_HOPPER,
    capability: (9, 0),
    cores: 16_896,
    device_id: 0x2330_10de,
    addresses: &[(0, 0x1b), (0, 0x43), (0, 0x52), (0, 0x61), (0, 0x9d), (0, 0xc3), (0, 0xd1), (0, 0xdf)],
    memory_mib: 81_559,
    memory_bus_bits: 5120,
    power_watts: 700,
    power_min_watts: 200,
    clocks_mhz: (1980, 2619),
    pcie_generation: 5,
    links: 18,
    link_version: sys::nvmlNvlinkVersion_enum_NVML_NVLINK_VERSION_4_0,
    link_mbps: 26_562,
    switches: 4,
    thresholds: Thresholds::Both,
    banks: 2560,
};

const B200: Kind = Kind {
    driver: ("570.172.08", 12_080),
    name: "NVIDIA B200",
    part: "692-2G525-0220-000",
    vbios: "97.00.88.00.0F",
    architecture: sys::NVML_DEVICE_ARCH_BLACKWELL,
    capability: (10, 0),
    cores: 18_944,
    device_id: 0x2901_10de,
    memory_mib: 183_359,
    memory_bus_bits: 8192,
    power_watts: 1000,
    clocks_mhz: (1965, 3996),
    link_version: sys::nvmlNvlinkVersion_enum_NVML_NVLINK_VERSION_5_0,
    link_mbps: 53_125,
    switches: 2,
    thresholds: Thresholds::Distances,
    banks: 4096,
    ..H100
};

const GB200: Kind = Kind {
    driver: ("580.95.05", 13_000),
    name: "NVIDIA GB200",
    part: "692-2G548-0200-000",
    device_id: 0x2941_10de,
    addresses: &[(0x08, 1), (0x09, 1), (0x18, 1), (0x19, 1)],
    memory_mib: 189_471,
    power_watts: 1200,
    clocks_mhz: (2062, 3996),
    ..B200
};

const A100: Kind = Kind {
    driver: ("550.90.07", 12_040),
    name: "NVIDIA A100-SXM4-80GB",
    part: "692-2G506-0210-002",
    vbios: "92.00.81.00.01",
    architecture: sys::NVML_DEVICE_ARCH_AMPERE,
    capability: (8, 0),
    cores: 6912,
    device_id: 0x20b2_10de,
    addresses: &[(0, 0x07), (0, 0x0f), (0, 0x47), (0, 0x4e), (0, 0x87), (0, 0x90), (0, 0xb7), (0, 0xbd)],
    memory_mib: 81_920,
    power_watts: 400,
    power_min_watts: 100,
    clocks_mhz: (1410, 1593),
    pcie_generation: 4,
    links: 12,
    link_version: sys::nvmlNvlinkVersion_enum_NVML_NVLINK_VERSION_3_0,
    link_mbps: 25_781,
    switches: 6,
    thresholds: Thresholds::Degrees,
    banks: 640,
    ..H100
};

// === impl Profile ===

impl Profile {
    /// Every kind.
    pub const ALL: &[Self] = &[Self::H100, Self::B200, Self::Gb200Tray, Self::A100Mig];

    /// A healthy, idle node of this kind, its clock at zero now.
    #[must_use]
    pub fn state(self) -> State {
        let kind = match self {
            Self::H100 => &H100,
            Self::B200 => &B200,
            Self::Gb200Tray => &GB200,
            Self::A100Mig => &A100,
        };
        let mut gpus: Vec<Gpu> = (0..).zip(kind.addresses).map(|(index, at)| gpu(kind, index, *at)).collect();
        for (index, gpu) in (0..).zip(&mut gpus) {
            match self {
                Self::H100 | Self::B200 => gpu.fabric = Some(fabric([0; 16], 0)),
                Self::Gb200Tray => in_rack(gpu, index),
                Self::A100Mig => cut(gpu, index),
            }
        }
        State::new(driver(kind), gpus)
    }
}

fn driver(kind: &Kind) -> Driver {
    let (version, cuda_version) = kind.driver;
    Driver {
        module: Module::Loaded,
        version: version.to_owned(),
        nvml_version: format!("{}.{version}", cuda_version / 1000),
        cuda_version,
        branch: format!("r{}_00", version.split('.').next().unwrap_or_default()),
    }
}

fn gpu(kind: &Kind, index: u32, (domain, bus): (u32, u32)) -> Gpu {
    let clocks = Clocks { graphics_mhz: 345, sm_mhz: 345, memory_mhz: kind.clocks_mhz.1, video_mhz: 765 };
    let top = kind.clocks_mhz.0;
    Gpu {
        name: kind.name.to_owned(),
        uuid: format!("GPU-{:08x}-5a1e-4c0d-9b2f-{:012x}", kind.device_id, index + 1),
        serial: format!("165{:03}{:07}", kind.capability.0, 2_000_017 + index * 31),
        board_part_number: kind.part.to_owned(),
        vbios: kind.vbios.to_owned(),
        inforom_image: format!("G{}.0200.00.05", kind.part.get(6..9).unwrap_or_default()),
        gsp_firmware: kind.driver.0.to_owned(),
        architecture: kind.architecture,
        compute_capability: kind.capability,
        cores: kind.cores,
        pci: Pci { domain, bus, device: 0, device_id: kind.device_id, subsystem_id: 0x16c1_10de },
        minor: index,
        module_id: index + 1,
        numa_node: index / 4,
        memory_bytes: kind.memory_mib << 20,
        memory_reserved_bytes: 600 << 20,
        memory_bus_bits: kind.memory_bus_bits,
        utilization_percent: 0,
        memory_utilization_percent: 0,
        performance_state: 0,
        clocks,
        clocks_max: Clocks { graphics_mhz: top, sm_mhz: top, memory_mhz: kind.clocks_mhz.1, video_mhz: top - 300 },
        clocks_event_reasons: u64::from(sys::nvmlClocksEventReasonGpuIdle),
        violations: Violations::default(),
        temperature: Temperature {
            gpu_celsius: 31 + index,
            memory_celsius: 39 + index,
            slowdown_celsius: 87,
            shutdown_celsius: 92,
            gpu_max_celsius: 85,
            memory_max_celsius: 95,
            thresholds: kind.thresholds,
        },
        power: Power {
            usage_mw: kind.power_watts * 100 + index * 317,
            limit_mw: kind.power_watts * 1000,
            enforced_mw: kind.power_watts * 1000,
            default_mw: kind.power_watts * 1000,
            min_mw: kind.power_min_watts * 1000,
            max_mw: kind.power_watts * 1000,
            energy_mj: 7_000_000 + u64::from(index),
        },
        pcie: Pcie {
            now: PcieLink { generation: kind.pcie_generation, lanes: 16 },
            best: PcieLink { generation: kind.pcie_generation, lanes: 16 },
            replays: 0,
            correctable: 0,
            transmit_bytes: 3_000_000_000 + u64::from(index),
            receive_bytes: 9_000_000_000 + u64::from(index),
        },
        ecc: Ecc::default(),
        remapped: RemappedRows {
            histogram: Histogram { max: kind.banks, ..Histogram::default() },
            ..RemappedRows::default()
        },
        nvlink: NvLink {
            version: kind.link_version,
            speed_mbps: kind.link_mbps,
            links: (0..kind.links).map(|link| to_switch(link % kind.switches)).collect(),
        },
        fabric: None,
        platform: None,
        c2c_links: 0,
        recovery_action: 0,
        mig: Some(Mig { current: MigMode::Disabled, pending: MigMode::Disabled, instances: Vec::new() }),
        processes: Vec::new(),
    }
}

fn to_switch(switch: u32) -> Link {
    Link {
        state: sys::NVML_NVLINK_STATE_ACTIVE,
        peer: LinkPeer::Switch,
        remote: Pci { domain: 0, bus: 5 + switch, device: 0, device_id: 0x22a3_10de, subsystem_id: 0x1796_10de },
        counters: LinkCounters::default(),
    }
}

/// A registered GPU of a healthy fabric: not degraded, no recovery, no bad route, no timeouts, no wrong configuration.
const fn fabric(cluster_uuid: [u8; 16], clique_id: u32) -> Fabric {
    Fabric { cluster_uuid, clique_id, state: 3, status: 0, health_mask: 0x1aa, health_summary: 1 }
}

fn in_rack(gpu: &mut Gpu, index: u32) {
    gpu.c2c_links = 10;
    gpu.numa_node = index / 2;
    gpu.fabric = Some(fabric(*b"\x6e\x1f\x52\x0a\x9c\x44\x4d\x31\xb7\x0d\x0f\xaa\x10\x02\x77\xe1", 32_766));
    gpu.platform = Some(Platform {
        ib_guid: [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0xb8, 0x3f, 0xd2, 3, 0, 1, 0x2c, 0x40],
        chassis_serial: *b"1820224N0A7\0\0\0\0\0",
        slot_number: 12,
        tray_index: 4,
        host_id: 1,
        peer_type: 1,
        module_id: u8::try_from(index + 1).unwrap_or(0),
    });
}

/// The first GPU is cut into seven, the second into two; profile numbers and sizes are those of A100 80 GB.
fn cut(gpu: &mut Gpu, index: u32) {
    let (count, profile, profile_id, slices, size, memory_mib, multiprocessors) = match index {
        0 => (7, "1g.10gb", 19, 1, 1, 9728, 14),
        1 => (2, "3g.40gb", 9, 3, 4, 40_192, 42),
        _ => return,
    };
    let instance = |at: u32| MigInstance {
        uuid: format!("MIG-{:08x}-77aa-5d11-8e03-{:012x}", gpu.pci.bus, at + 1),
        gpu_instance: if count == 7 { at + 7 } else { at + 1 },
        compute_instance: 0,
        profile: profile.to_owned(),
        profile_id,
        slices,
        start: at * size,
        size,
        memory_mib,
        multiprocessors,
    };
    let instances = (0..count).map(instance).collect();
    gpu.mig = Some(Mig { current: MigMode::Enabled, pending: MigMode::Enabled, instances });
}
