//! Work of the NVML source while the library is open: it opens GPUs, polls them and waits for events.

use std::collections::BTreeMap;
use std::time::Duration;

use mainstay_model::PciAddress;
use mainstay_signal::{Link, Place, Reading};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{EventSet, Nvml};

use super::gpu::{self, GpuHandle, GpuSample, QueryError};
use super::inventory::Inventory;
use super::{
    Activity, BUS_EVERY, CloseReason, EVENTS_MAX, GPUS_MAX, Listing, NvmlVersions, RECOVERY_ACTION, ResetHint, Source,
    XID, XidEvent, ffi,
};
use crate::sources::{Events, Heartbeat, PollResult, SourceError, SourceMessage, pcie};

// === impl Source ===

impl Source {
    /// Opens every GPU.
    pub(super) fn open_gpus<'nvml>(
        &mut self,
        nvml: &'nvml Nvml,
        pulse: &Heartbeat,
    ) -> Result<Inventory<'nvml>, NvmlError> {
        let (listed, driver) =
            self.call(pulse, Activity::Meeting(0), || (nvml.device_count(), nvml.sys_driver_version()));
        let mut all =
            Inventory { listed: listed?, gpus: Vec::new(), lost: Vec::new(), installed: NvmlVersions::default() };
        all.installed.driver = driver.ok();
        if let Ok(version) = self.call(pulse, Activity::Meeting(0), || nvml.sys_cuda_driver_version()) {
            let version = format!("{}.{}", version / 1000, version % 1000 / 10);
            all.installed.more.insert("cuda of the driver".to_owned(), version);
        }
        for index in 0..all.listed.min(GPUS_MAX) {
            let met = self.call(pulse, Activity::Meeting(index), || {
                let device = gpu::optional(nvml.device_by_index(index), &mut None)?;
                device.map_or(Ok(None), |device| GpuHandle::open(device, index))
            });
            match met {
                Ok(Some(gpu)) => {
                    self.addresses.insert(index, gpu.gpu.pci.clone());
                    all.gpus.push(gpu);
                }
                // What does not answer is where it was when it last did.
                Ok(None) | Err(QueryError::Gpu) => all.lost.extend(self.addresses.get(&index).cloned()),
                Err(QueryError::Driver) => return Err(NvmlError::DriverNotLoaded),
            }
            if self.guest.close_requested() {
                break;
            }
        }
        all.tell_apart();
        Ok(all)
    }

    /// One look at every GPU, which is said. Whether it has a sign that a GPU is to be reset.
    pub(super) fn look(&mut self, all: &mut Inventory<'_>, pulse: &Heartbeat) -> Result<ResetHint, CloseReason> {
        let mut round = PollResult::default();
        let mut listing = Listing { lost: all.lost.clone(), ..Listing::default() };
        let mut looks: Vec<(PciAddress, GpuSample)> = Vec::new();
        for gpu in &mut all.gpus {
            // Whoever asked does not wait for the rest.
            if self.guest.close_requested() {
                return Err(CloseReason::Asked);
            }
            let index = u32::from(gpu.gpu.index);
            match self.call(pulse, Activity::Reading(index), || gpu.look(self.watts)) {
                Ok(look) => {
                    listing.gpus.push(gpu.gpu.clone());
                    looks.push((gpu.gpu.pci.clone(), look));
                }
                Err(QueryError::Gpu) => listing.lost.push(gpu.gpu.pci.clone()),
                Err(QueryError::Driver) => return Err(CloseReason::Failed(self.no_nvml(&NvmlError::DriverNotLoaded))),
            }
        }
        let reset = !listing.lost.is_empty() || looks.iter().any(|(_, look)| wants_reset(look));
        self.links(&looks, &mut round.readings);
        let fabric: Vec<Link> = looks.iter().filter_map(|(_, look)| look.in_fabric).collect();
        if !fabric.is_empty() {
            let link = if fabric.contains(&Link::Down) { Link::Down } else { Link::Up };
            round.readings.push((Place::Node, Reading::FabricManager(link)));
        }
        for (pci, look) in looks {
            if let Some(trouble) = &look.trouble {
                let what = format!("GPU {}: {trouble}", look.now.index);
                round.trouble.get_or_insert(SourceError::partial(what));
            }
            round.loads.extend(look.load.map(|load| (pci.clone(), load)));
            round.readings.extend(look.readings.into_iter().map(|reading| (Place::Pci(pci.clone()), reading)));
            listing.now.push(look.now);
        }
        if self.looks.is_multiple_of(BUS_EVERY) {
            self.bound = pcie::bound_gpus(&self.sys);
        }
        self.looks = self.looks.wrapping_add(1);
        listing.bound.clone_from(&self.bound);
        listing.installed = all.installed.clone();
        round.gpus = Some(listing);
        self.say(round);
        Ok(if reset { ResetHint::Reset } else { ResetHint::None })
    }

    /// Links that should be up: those that were, and those that most GPUs of the node have up. Of cards with bridges between
    /// some of them, the others are down by design.
    fn links(&mut self, looks: &[(PciAddress, GpuSample)], readings: &mut Vec<(Place, Reading)>) {
        let mut up: BTreeMap<u16, usize> = BTreeMap::new();
        for (_, look) in looks {
            for (link, _) in look.links.iter().filter(|(_, is)| *is == Link::Up) {
                *up.entry(*link).or_default() += 1;
            }
        }
        for (pci, look) in looks {
            for (link, is) in &look.links {
                let key = (pci.clone(), *link);
                let by_most = up.get(link).copied().unwrap_or(0) * 2 > looks.len();
                if *is == Link::Up || by_most || self.links_up.contains(&key) {
                    readings.push((Place::Pci(pci.clone()), Reading::Nvlink(*link, *is)));
                }
                if *is == Link::Up {
                    self.links_up.insert(key);
                }
            }
        }
    }

    /// Waits for events, and says those that came.
    pub(super) fn wait_for_events(
        &self,
        nvml: &Nvml,
        set: Option<&EventSet<'_>>,
        all: &Inventory<'_>,
        wait: Duration,
        pulse: &Heartbeat,
    ) -> Result<ResetHint, NvmlError> {
        let Some(set) = set else {
            std::thread::park_timeout(wait);
            return Ok(ResetHint::None);
        };
        let mut events = Events::default();
        let mut sign = ResetHint::None;
        let mut millis = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX);
        let end = loop {
            let event = match self.call(pulse, Activity::Waiting, || ffi::wait(nvml, set, millis)) {
                Ok(event) => event,
                Err(NvmlError::Timeout) => break Ok(()),
                Err(error) => break Err(error),
            };
            millis = 0;
            let Some(gpu) = all.gpus.iter().find(|gpu| ffi::handle(&gpu.device) == event.handle) else { continue };
            match event.kind {
                XID => events.xids.push(XidEvent {
                    pci: gpu.gpu.pci.clone(),
                    code: event.data,
                    gpu_instance: event.gpu_instance,
                }),
                // The event does not say which.
                RECOVERY_ACTION => {
                    let index = u32::from(gpu.gpu.index);
                    if let Ok(Some(action)) = self.call(pulse, Activity::Reading(index), || gpu.recovery_action()) {
                        events.readings.push((gpu.place.clone(), Reading::RecoveryAction(action)));
                        if action != 0 {
                            sign = ResetHint::Reset;
                        }
                    }
                }
                _ => {}
            }
            if events.xids.len() + events.readings.len() >= EVENTS_MAX {
                break Ok(());
            }
        };
        if !(events.xids.is_empty() && events.readings.is_empty()) {
            // Nobody listens at the very end only.
            let _ = self.said.blocking_send(SourceMessage::Events(Box::new(events)));
        }
        end.map(|()| sign)
    }
}

/// Whether the driver wants a GPU to be reset, or a mode of MIG waits for it.
fn wants_reset(look: &GpuSample) -> bool {
    let action = look.now.recovery_action.is_some_and(|action| action != 0);
    action || look.now.mig.as_ref().is_some_and(|mig| mig.enabled != mig.pending)
}
