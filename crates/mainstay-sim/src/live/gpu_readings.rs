//! Temperatures and power of a live fleet, for display only. They are decoration: a plain series by node, GPU and
//! minute, so that a map and the usual metrics have something to show. No sensor reads them, no report carries them,
//! and the brain never sees them.

use mainstay_model::{Span, Timestamp};

/// Temperature, power and utilisation of one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuReadings {
    /// Degrees Celsius.
    pub temperature_celsius: u8,
    /// Watts.
    pub power_watts: u16,
    /// Of its time, percent.
    pub utilization_percent: u8,
}

/// What it is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    Idle,
    Busy,
}

/// The series goes up and down within this time.
const WAVE: Span = Span::minutes(20);

pub(super) fn gpu_readings(node: u32, gpu: u32, load: Load, now: Timestamp) -> GpuReadings {
    let own = mixed(node, gpu);
    let wave_steps = WAVE.0 / 1_000;
    let second = u64::try_from(now.0.max(0)).unwrap_or(0) / 1_000;
    let place = (second + own) % wave_steps;
    // From 0 to 100 and back.
    let height = place.min(wave_steps - place) * 200 / wave_steps;
    let (celsius, watts, percent) = match load {
        Load::Idle => (31 + own % 6 + height / 50, 72 + own % 18 + height / 20, 0),
        Load::Busy => (56 + own % 9 + height / 12, 560 + own % 60 + height * 3 / 4, 92 + height / 15),
    };
    GpuReadings {
        temperature_celsius: u8::try_from(celsius).unwrap_or(u8::MAX),
        power_watts: u16::try_from(watts).unwrap_or(u16::MAX),
        utilization_percent: u8::try_from(percent.min(100)).unwrap_or(100),
    }
}

/// A number that tells parts apart and neighbours well.
fn mixed(node: u32, gpu: u32) -> u64 {
    let seed = (u64::from(node) << 8 | u64::from(gpu)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (seed ^ seed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40
}
