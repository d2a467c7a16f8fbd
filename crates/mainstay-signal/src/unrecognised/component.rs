//! The kind of hardware that a line is about, from the name that begins it, and from its words otherwise.

use mainstay_model::Component::{self, Gpu, Host, Nic, Pcie, Storage};

use crate::Writer;
use crate::place::pci;

/// Beginnings of lines, in lower case. A letter must not follow, so `ice` is not the beginning of `iceberg`.
const DRIVERS: &[(&str, Component)] = &[
    // GPUs, their links and their switches. `drm` is what display and compute drivers share.
    ("nvrm", Gpu),
    ("nvidia", Gpu),
    ("nv-fabricmanager", Gpu),
    ("nv-hostengine", Gpu),
    ("amdgpu", Gpu),
    ("amdkfd", Gpu),
    ("kfd", Gpu),
    ("drm", Gpu),
    ("gpu", Gpu),
    ("i915", Gpu),
    ("xe", Gpu),
    ("habanalabs", Gpu),
    ("hl-", Gpu),
    ("nccl", Gpu),
    ("cuda", Gpu),
    ("mtgpu", Gpu),
    ("radeon", Gpu),
    ("nouveau", Gpu),
    ("qcm", Gpu),
    // Network adapters.
    ("mlx", Nic),
    ("infiniband", Nic),
    ("ib_", Nic),
    ("ibwarn", Nic),
    ("rdma", Nic),
    ("irdma", Nic),
    ("bnxt", Nic),
    ("ice", Nic),
    ("i40", Nic),
    ("iavf", Nic),
    ("igb", Nic),
    ("igc", Nic),
    ("ixgbe", Nic),
    ("e1000", Nic),
    ("tg3", Nic),
    ("r8169", Nic),
    ("ena", Nic),
    ("efa", Nic),
    ("gve", Nic),
    ("mana", Nic),
    ("ionic", Nic),
    ("qed", Nic),
    ("cxgb", Nic),
    ("hns", Nic),
    ("sfc", Nic),
    ("atlantic", Nic),
    ("virtio_net", Nic),
    ("bonding", Nic),
    ("netdev", Nic),
    ("null net_device", Nic),
    // The bus.
    ("pcieport", Pcie),
    ("pciehp", Pcie),
    ("pci", Pcie),
    ("dmar", Pcie),
    ("amd-vi", Pcie),
    ("iommu", Pcie),
    ("arm-smmu", Pcie),
    ("vfio", Pcie),
    ("phb", Pcie),
    ("eeh", Pcie),
    ("nvswitch", Gpu),
    // The host's processors and memory, and the kernel itself.
    ("edac", Host),
    ("mce", Host),
    ("memory failure", Host),
    ("ras", Host),
    ("ghes", Host),
    ("apei", Host),
    ("mcelog", Host),
    ("cpu", Host),
    ("bug", Host),
    ("oops", Host),
    ("watchdog", Host),
    ("nmi", Host),
    ("rcu", Host),
    ("info", Host),
    ("kernel panic", Host),
    ("internal error", Host),
    ("unable to handle", Host),
    ("out of memory", Host),
    ("memory cgroup", Host),
    // Disks and file systems.
    ("nvme", Storage),
    ("blk_", Storage),
    ("i/o error", Storage),
    ("buffer i/o", Storage),
    ("critical", Storage),
    ("sd", Storage),
    ("scsi", Storage),
    ("ata", Storage),
    ("ahci", Storage),
    ("megaraid", Storage),
    ("mpt", Storage),
    ("aacraid", Storage),
    ("hpsa", Storage),
    ("smartpqi", Storage),
    ("md", Storage),
    ("device-mapper", Storage),
    ("dm-", Storage),
    ("ext", Storage),
    ("jbd", Storage),
    ("xfs", Storage),
    ("btrfs", Storage),
    ("zfs", Storage),
    ("lustre", Storage),
    ("lnet", Storage),
    ("nfs", Storage),
    ("beegfs", Storage),
    ("gpfs", Storage),
    ("mmfs", Storage),
    ("ceph", Storage),
    ("libceph", Storage),
    ("fuse", Storage),
    ("overlayfs", Storage),
];

/// Words of lines whose beginning is not known, in lower case. They are searched as whole words.
const SUBJECTS: &[(&str, Component)] = &[
    ("nvidia", Gpu),
    ("nvrm", Gpu),
    ("nvml", Gpu),
    ("nvlink", Gpu),
    ("nvswitch", Gpu),
    ("nvls", Gpu),
    ("fabric", Gpu),
    ("dcgm", Gpu),
    ("xid", Gpu),
    ("sxid", Gpu),
    ("amdgpu", Gpu),
    ("rocm", Gpu),
    ("cuda", Gpu),
    ("nccl", Gpu),
    ("rccl", Gpu),
    ("gpu", Gpu),
    ("gpus", Gpu),
    ("infiniband", Nic),
    ("rdma", Nic),
    ("mlx", Nic),
    ("mlx5", Nic),
    ("mlx4", Nic),
    ("netdev", Nic),
    ("nic", Nic),
    ("iface", Nic),
    ("ucx", Nic),
    ("pcie", Pcie),
    ("pci", Pcie),
    ("aer", Pcie),
    ("iommu", Pcie),
    ("edac", Host),
    ("dimm", Host),
    ("ecc", Host),
    ("mce", Host),
    ("hardware", Host),
    ("corefir", Host),
    ("nvme", Storage),
    ("disk", Storage),
    ("filesystem", Storage),
    ("xfs", Storage),
    ("ext4", Storage),
    ("blk", Storage),
];

/// Services whose lines are read, by unit and by syslog identifier, and their component. Those without one report about
/// many things: only lines about this hardware count.
const SERVICES: &[(&str, Option<Component>)] = &[
    ("nvidia-fabricmanager", Some(Gpu)),
    ("nv-fabricmanager", Some(Gpu)),
    ("nvidia-persistenced", Some(Gpu)),
    ("nvidia-dcgm", Some(Gpu)),
    ("dcgm", Some(Gpu)),
    ("nv-hostengine", Some(Gpu)),
    ("dcgm-exporter", Some(Gpu)),
    ("nvidia-imex", Some(Gpu)),
    ("nvidia-gridd", Some(Gpu)),
    ("nvlsm", Some(Gpu)),
    ("nvidia-container-toolkit", Some(Gpu)),
    ("nvidia-device-plugin", Some(Gpu)),
    ("opensm", Some(Nic)),
    ("mcelog", Some(Host)),
    ("rasdaemon", Some(Host)),
    ("smartd", Some(Storage)),
    ("kubelet", None),
    ("containerd", None),
    ("docker", None),
    ("dockerd", None),
    ("crio", None),
    ("cri-o", None),
    ("slurmd", None),
    ("systemd", None),
];

/// Letters that name a driver in a code; the rest of a code is a digest.
const DRIVER_BYTES_MAX: usize = 20;

/// The driver in lower case, and the component of a line.
pub(super) fn of(text: &str, writer: Writer<'_>) -> Option<(String, Component)> {
    match writer {
        Writer::Kernel | Writer::Unstated => by_beginning(text).or_else(|| by_subject(text)),
        Writer::Program(name) => match service(name)? {
            (known, Some(component)) => Some((known.to_owned(), component)),
            (known, None) => by_subject(text).map(|(_, component)| (known.to_owned(), component)),
        },
    }
}

/// The entry of a service, by its unit with or without `.service`, or by its syslog identifier.
pub(super) fn service(name: &str) -> Option<(&'static str, Option<Component>)> {
    let name = name.strip_suffix(".service").unwrap_or(name);
    SERVICES.iter().find(|(known, _)| *known == name).copied()
}

fn by_beginning(text: &str) -> Option<(String, Component)> {
    // `[drm:function [amdgpu]] *ERROR*`, `{1}[Hardware Error]: …`, `(NULL net_device): …`
    if text.starts_with('{') && text.contains("[Hardware Error]") {
        return Some(("ghes".to_owned(), Host));
    }
    let start = text.trim_start_matches(['[', '(', '*', ' ']);
    // Most beginnings are none of them, and their first letter shows it.
    let first = start.bytes().next().map(|byte| byte.to_ascii_lowercase());
    let alike = DRIVERS.iter().filter(|(name, _)| name.bytes().next() == first);
    let known = alike.filter(|(name, _)| begins_with(start, name)).max_by_key(|(name, _)| name.len());
    if let Some((_, component)) = known {
        return Some((driver(start), *component));
    }
    // `driver 0000:1b:00.0: text`: a driver that is not in the table.
    let mut words = text.split(' ');
    let (first, second) = (words.next()?, words.next()?);
    let second = second.trim_end_matches(':');
    (second.contains('.') && pci(second).is_some()).then(|| (driver(first), Pcie))
}

fn begins_with(text: &str, name: &str) -> bool {
    let Some(start) = text.get(..name.len()) else { return false };
    let is_whole = name.ends_with(['_', '-']) || {
        let next = text.as_bytes().get(name.len()).copied().unwrap_or(b' ');
        !next.is_ascii_alphabetic() || matches!(name, "mlx" | "qed" | "cxgb" | "mpt" | "i40" | "bnxt" | "nvidia")
    };
    is_whole && start.eq_ignore_ascii_case(name)
}

fn by_subject(text: &str) -> Option<(String, Component)> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let known = words.filter(|word| (3..=16).contains(&word.len())).find_map(|word| {
        // `GPU0` is about a GPU, and `mlx5` is a name.
        let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let first = word.bytes().next().map(|byte| byte.to_ascii_lowercase());
        let mut alike = SUBJECTS.iter().filter(|(subject, _)| subject.bytes().next() == first);
        let is_subject = |subject: &str| word.eq_ignore_ascii_case(subject) || bare.eq_ignore_ascii_case(subject);
        alike.find(|(subject, _)| is_subject(subject)).map(|(_, component)| *component)
    })?;
    Some((known.name().to_ascii_lowercase(), known))
}

/// The first word of a line as a name for a code: `nvme0` is `nvme`, `mlx5_core` keeps its number.
fn driver(start: &str) -> String {
    let end = start.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(start.len());
    let name = start.get(..end.min(DRIVER_BYTES_MAX)).unwrap_or_default();
    let is_whole = DRIVERS.iter().any(|(driver, _)| driver.eq_ignore_ascii_case(name));
    let name =
        if is_whole { name } else { name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '_' | '-')) };
    let name = if name.is_empty() { "line" } else { name };
    name.to_ascii_lowercase()
}
