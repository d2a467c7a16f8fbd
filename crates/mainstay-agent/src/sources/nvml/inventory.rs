//! All GPUs of the node that the driver lists, and their registration for events.

use mainstay_model::PciAddress;
use nvml_wrapper::{EventSet, Nvml};

use super::gpu::GpuHandle;
use super::snapshot::NvmlVersions;
use super::{RECOVERY_ACTION, XID, ffi};

/// GPUs that the driver lists, split into those that respond and those that do not.
pub(super) struct Inventory<'nvml> {
    /// As many as the driver lists.
    pub(super) listed: u32,
    /// Those that answer.
    pub(super) gpus: Vec<GpuHandle<'nvml>>,
    /// Where those were that do not.
    pub(super) lost: Vec<PciAddress>,
    pub(super) installed: NvmlVersions,
}

impl Inventory<'_> {
    /// Serials of their own, and what they have in common.
    pub(super) fn tell_apart(&mut self) {
        let serials: Vec<_> = self.gpus.iter().map(|gpu| gpu.gpu.serial.clone()).collect();
        for gpu in &mut self.gpus {
            if serials.iter().filter(|serial| **serial == gpu.gpu.serial).count() > 1 {
                gpu.tell_apart();
            }
        }
        self.installed.product = common(self.gpus.iter().map(|gpu| gpu.product.as_deref()));
        self.installed.firmware = common(self.gpus.iter().map(|gpu| gpu.vbios.as_deref()));
        let more = [
            ("board of GPUs", common(self.gpus.iter().map(|gpu| gpu.board.as_deref()))),
            ("gsp of GPUs", common(self.gpus.iter().map(|gpu| gpu.gsp.as_deref()))),
            ("chassis of GPUs", common(self.gpus.iter().map(|gpu| gpu.seat.as_deref()))),
        ];
        let more = more.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?)));
        self.installed.more.extend(more);
    }
}

/// A node has one model and should have one firmware; where it has not, that is worth seeing.
fn common<'a>(each: impl Iterator<Item = Option<&'a str>>) -> Option<String> {
    let mut all: Vec<&str> = each.flatten().collect();
    all.sort_unstable();
    all.dedup();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Registers for what GPUs can tell. One that cannot, or a driver that cannot, is left out.
pub(super) fn listen<'nvml>(nvml: &'nvml Nvml, all: &Inventory<'nvml>) -> Option<EventSet<'nvml>> {
    let set = nvml.create_event_set().ok()?;
    let mut registered = false;
    for gpu in &all.gpus {
        let kinds = ffi::event_kinds(&gpu.device).unwrap_or(0) & (XID | RECOVERY_ACTION);
        registered |= kinds != 0 && ffi::register(&gpu.device, kinds, &set).is_ok();
    }
    registered.then_some(set)
}
