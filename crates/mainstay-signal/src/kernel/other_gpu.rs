//! Lines of GPU drivers that Mainstay has no catalogue for. They are counted, so that a fault of such a GPU is visible.

use mainstay_model::Source;

use super::device::DeviceLine;
use super::words::is_trouble;
use crate::{Place, Signal};

/// Drivers of GPUs and accelerators on the PCI bus.
const DRIVERS: [&str; 6] = ["nouveau", "i915", "xe", "radeon", "habanalabs", "mtgpu"];

/// Drivers of GPUs on a chip.
const ON_CHIP: [&str; 4] = ["lima ", "panfrost ", "panthor ", "msm_dpu "];

pub(super) fn parse(line: &DeviceLine<'_>) -> Option<Signal> {
    if !DRIVERS.contains(&line.driver) {
        return None;
    }
    let is_fault = is_trouble(line.text) || ["fifo: ", "gr: "].iter().any(|unit| line.text.starts_with(unit));
    if is_fault { Signal::new(Source::Driver, "other-gpu-error", line.place.clone(), line.driver) } else { None }
}

pub(super) fn parse_bare(text: &str) -> Option<Signal> {
    if text.starts_with("MTGPU: ") && (text.contains("FAULT") || text.contains("Fault")) {
        return Signal::new(Source::Driver, "other-gpu-error", Place::Node, "MTGPU");
    }
    let driver = ON_CHIP.iter().find(|driver| text.starts_with(*driver))?;
    let (_, said) = text.split_once(": ")?;
    let is_fault = said.contains("page fault") || is_trouble(said);
    if is_fault { Signal::new(Source::Driver, "other-gpu-error", Place::Node, driver.trim_end()) } else { None }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::kernel::tests::{Line, nothing, says};

    pub(crate) const LINES: &[Line] = &[
        ("nouveau 0000:6b:00.0: fifo: SCHED_ERROR 08 []", "Driver other-gpu-error 0000:6b:00.0 nouveau"),
        ("MTGPU:  550:     MMU (Core) - FAULT:", "Driver other-gpu-error node MTGPU"),
        ("lima 1c40000.gpu: mmu page fault at 0x121020 from bus id 0 of type read", "Driver other-gpu-error node lima"),
    ];

    #[test]
    fn a_driver_without_a_catalogue_is_counted() {
        says(LINES);
    }

    #[test]
    fn its_normal_lines_are_left_alone() {
        nothing(&["nouveau 0000:6b:00.0: bios: version 84.04.2f.00.f0", "lima 1c40000.gpu: mmu resume"]);
    }
}
