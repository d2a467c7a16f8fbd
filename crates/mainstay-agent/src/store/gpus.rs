//! What the driver lists, against what was there; and what it says is installed.

use mainstay_model::{Bounded, Gpu, PciAddress, Serial};
use mainstay_signal::{Place, Presence, Reading};

use super::{GPUS_MAX, Store};
use crate::sources::SourceName;
use crate::sources::nvml::{GpuStatus, Listing, NvmlVersions};
use crate::sources::versions::Versions;

impl Store {
    /// Whether every GPU that was there, or that the bus says the driver has, is listed. One with another serial in the same
    /// place has replaced it.
    pub(super) fn presences(&self, listing: &Listing) -> Vec<(Place, Reading)> {
        let known = self.all_gpus.as_slice().iter().map(|gpu| (&gpu.pci, Some(&gpu.serial)));
        let others = listing.gpus.iter().map(|gpu| &gpu.pci).chain(&listing.bound);
        let others =
            others.filter(|pci| !self.all_gpus.as_slice().iter().any(|gpu| gpu.pci == **pci)).map(|pci| (pci, None));
        let presence = |(pci, serial): (&PciAddress, Option<&Serial>)| {
            let listed = listing.gpus.iter().any(|gpu| gpu.pci == *pci || Some(&gpu.serial) == serial);
            let presence = match (listed, listing.lost.contains(pci)) {
                (true, _) => Presence::Listed,
                (false, true) => Presence::Lost,
                (false, false) => Presence::Absent,
            };
            (Place::Pci(pci.clone()), Reading::Gpu(presence))
        };
        known.chain(others).map(presence).collect()
    }

    /// Takes the list as it is now.
    pub(super) fn list(&mut self, listing: &Listing) {
        let mut all = Vec::from(std::mem::take(&mut self.all_gpus));
        for gpu in &listing.gpus {
            let same = |known: &Gpu| known.pci == gpu.pci || known.serial == gpu.serial;
            all.retain(|known| !same(known));
            if all.len() < GPUS_MAX {
                all.push(gpu.clone());
            } else {
                self.lost_gpus += 1;
            }
        }
        all.sort_by(|a, b| a.pci.cmp(&b.pci));
        self.all_gpus = Bounded::within(all);
        self.gpus_now.clone_from(&listing.now);
        if !self.gpus_listed || self.gpus != listing.gpus || self.installed != listing.installed {
            self.gpus_listed = true;
            self.gpus.clone_from(&listing.gpus);
            self.installed.clone_from(&listing.installed);
            self.changes += 1;
        }
    }

    /// Why the list of GPUs is unknown; nothing once NVML listed them in this boot, because the last list holds until the
    /// next. A bus without any NVIDIA GPU is a list of none only on a node where the agent has seen GPUs before.
    #[must_use]
    pub fn gpus_unavailable(&self) -> Option<String> {
        if self.gpus_listed {
            return None;
        }
        match self.troubles.get(&SourceName::Nvml) {
            Some(trouble) => Some(trouble.what.clone()),
            None if !self.nvml_looked => Some("NVML was not read yet, or its source is disabled".to_owned()),
            None if self.all_gpus.as_slice().is_empty() => {
                Some("the NVIDIA driver is not loaded, and the PCI bus has no NVIDIA GPU".to_owned())
            }
            None => None,
        }
    }

    /// Versions and serials: what the driver itself says of GPUs before what files say.
    #[must_use]
    pub fn versions(&self) -> Versions {
        let mut versions = self.versions.clone();
        let NvmlVersions { driver, product, firmware, more } = &self.installed;
        for (known, told) in
            [(&mut versions.driver, driver), (&mut versions.product, product), (&mut versions.firmware, firmware)]
        {
            if told.is_some() {
                known.clone_from(told);
            }
        }
        versions.more.extend(more.clone());
        versions
    }

    /// How GPUs run, as of the last look.
    #[must_use]
    pub fn gpus_now(&self) -> &[GpuStatus] {
        &self.gpus_now
    }
}
