//! Counters of AMD GPUs in sysfs: errors by block (RAS), temperatures and the power limit. Files are those of the kernel's
//! `Documentation/gpu/amdgpu/ras.rst` (`ras/*_err_count`) and `thermal.rst` (hwmon). A node without this driver has no such
//! folder, which is normal. No AMD hardware was available for tests.

use std::path::{Path, PathBuf};

use mainstay_model::PciAddress;
use mainstay_signal::{AmdBlock, Flag, Place, Reading};

use super::PollResult;
use crate::text;

/// More entries than the folder of a driver, of counters or of sensors has.
const ENTRIES_MAX: usize = 256;

/// A register that cannot be read is all ones, and a sum of such 16-bit counters is a multiple of this. It is not a count:
/// `mainstay-signal` treats a log line alike.
const ALL_ONES: u64 = 0xffff;

/// Sensors of a card: edge, junction and memory.
const SENSORS: std::ops::RangeInclusive<u8> = 1..=8;

const MICROWATTS: u64 = 1_000_000;

/// The GPUs that AMD's driver has.
#[derive(Debug)]
pub struct Cards {
    folder: PathBuf,
}

// === impl Cards ===

impl Cards {
    /// The cards below a sysfs.
    #[must_use]
    pub fn new(sys: &Path) -> Self {
        Self { folder: sys.join("bus/pci/drivers/amdgpu") }
    }

    /// Reads every card once.
    pub fn look(&self) -> PollResult {
        let mut round = PollResult::default();
        for name in text::names(&self.folder, ENTRIES_MAX).unwrap_or_default() {
            let Some(address) = PciAddress::parse(&name).ok().filter(|_| name.contains(':')) else { continue };
            let card = self.folder.join(&name);
            let mut readings = errors(&card.join("ras"));
            readings.extend(sensors(&card.join("hwmon")));
            let place = Place::Pci(address);
            round.readings.extend(readings.into_iter().map(|reading| (place.clone(), reading)));
        }
        round
    }
}

/// Reads `ue: 0` and `ce: 2` of every block.
fn errors(folder: &Path) -> Vec<Reading> {
    let mut readings = Vec::new();
    for name in text::names(folder, ENTRIES_MAX).unwrap_or_default() {
        let Some(block) = AmdBlock::of_file(&name) else { continue };
        let Ok(counts) = text::read(&folder.join(&name)) else { continue };
        let count = |name: &str| {
            let value = counts.lines().find_map(|line| line.trim().strip_prefix(name)?.trim().parse::<u64>().ok());
            value.filter(|value| *value == 0 || value % ALL_ONES != 0)
        };
        readings.extend(count("ue:").map(|count| Reading::AmdUncorrected(block, count)));
        readings.extend(count("ce:").map(|count| Reading::AmdCorrected(block, count)));
    }
    readings
}

/// Compares temperatures with their critical values, and the power limit with its default.
fn sensors(folder: &Path) -> Vec<Reading> {
    let mut readings = Vec::new();
    for name in text::names(folder, ENTRIES_MAX).unwrap_or_default() {
        let hwmon = folder.join(name);
        let number = |file: &str| text::number(&hwmon.join(file));
        let mut is_hot = None;
        for sensor in SENSORS {
            let now = number(&format!("temp{sensor}_input"));
            let critical = number(&format!("temp{sensor}_crit")).filter(|critical| *critical > 0);
            if let (Some(now), Some(critical)) = (now, critical) {
                is_hot = Some(is_hot.unwrap_or(false) || now >= critical);
            }
        }
        readings.extend(is_hot.map(|is_hot| Reading::AmdTooHot(if is_hot { Flag::Set } else { Flag::Clear })));
        let watts = |file: &str| number(file).and_then(|microwatts| u32::try_from(microwatts / MICROWATTS).ok());
        if let (Some(enforced_watts), Some(default_watts)) = (watts("power1_cap"), watts("power1_cap_default")) {
            readings.push(Reading::AmdPowerLimit { enforced_watts, default_watts });
        }
    }
    readings
}

#[cfg(test)]
mod tests;
