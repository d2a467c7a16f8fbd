//! Types of the metric catalogue. A metric has one definition, which the exporters, the alerts and the metric reference
//! share. Values are collected for each scrape; nothing is counted here.

pub mod catalogue;
pub mod dcgm;
mod distribution;
mod encode;
mod samples;
#[cfg(test)]
mod tests;

pub use distribution::{BOUNDS_SECONDS, Distribution};
pub use encode::Format;
pub use samples::{LABEL_VALUE_BYTES_MAX, Samples, Value};

/// Definition of one metric. Names and labels are a public interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// Name of every series, including unit and `_total`.
    pub name: &'static str,
    /// Prometheus type of the metric.
    pub kind: Kind,
    /// Unit of the value.
    pub unit: Unit,
    /// Label names, in the order of the values.
    pub labels: &'static [&'static str],
    /// Largest number of label sets in one response. A histogram has several series per label set.
    pub series_max: usize,
    /// Processes that export the metric.
    pub exporters: &'static [Exporter],
    /// Help text: one sentence with a full stop.
    pub help: &'static str,
}

/// Prometheus type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A count that only grows until the process restarts.
    Counter,
    /// A value that can rise and fall.
    Gauge,
    /// Durations, counted into the buckets of [`BOUNDS_SECONDS`].
    Histogram,
}

/// Unit of a metric's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A count, a state or 0 and 1.
    One,
    /// Seconds, or seconds since the Unix epoch.
    Seconds,
    /// Millionths of a second.
    Microseconds,
    /// Degrees Celsius.
    Celsius,
    /// Watts of electrical power.
    Watts,
    /// Millions of clock cycles per second.
    Megahertz,
    /// Hundredths of the whole.
    Percent,
    /// Bytes of memory or of traffic.
    Bytes,
}

/// Process that exports a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exporter {
    /// The controller, `mainstay serve`.
    Controller,
    /// The web UI, `mainstay ui` and `mainstay demo`.
    Ui,
    /// The node agent, `mainstay-agent run`.
    Agent,
}

/// A counter of the catalogue, with the number of its labels.
#[derive(Debug, Clone, Copy)]
pub struct Counter<const LABELS: usize>(&'static Definition);

/// A gauge of the catalogue, with the number of its labels.
#[derive(Debug, Clone, Copy)]
pub struct Gauge<const LABELS: usize>(&'static Definition);

/// A histogram of the catalogue, with the number of its labels.
#[derive(Debug, Clone, Copy)]
pub struct Histogram<const LABELS: usize>(&'static Definition);

// === impl Kind ===

impl Kind {
    /// Name of the type in the exposition formats.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

// === impl Unit ===

impl Unit {
    /// Name of the unit as a suffix of metric names. Empty for plain numbers.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::One => "",
            Self::Seconds => "seconds",
            Self::Microseconds => "microseconds",
            Self::Celsius => "celsius",
            Self::Watts => "watts",
            Self::Megahertz => "mhz",
            Self::Percent => "percent",
            Self::Bytes => "bytes",
        }
    }
}

// === impl Exporter ===

impl Exporter {
    /// Every exporting process, in the order of the metric reference.
    pub const ALL: [Self; 3] = [Self::Controller, Self::Agent, Self::Ui];

    /// Name of the process in documents.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Ui => "web UI",
            Self::Agent => "agent",
        }
    }
}

// === impl Definition ===

impl Definition {
    /// Definition of a metric, looked up by the name of the metric or of one of its series.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        let of_histogram = ["_bucket", "_sum", "_count"].into_iter().find_map(|part| name.strip_suffix(part));
        let is = |metric: &&&Self| {
            metric.name == name || metric.kind == Kind::Histogram && of_histogram == Some(metric.name)
        };
        catalogue::ALL.iter().find(is).copied()
    }

    /// Number of series per label set.
    #[must_use]
    pub const fn series_per_label_set(&self) -> usize {
        match self.kind {
            Kind::Counter | Kind::Gauge => 1,
            // One per bound, one without a bound, the sum and the count.
            Kind::Histogram => BOUNDS_SECONDS.len() + 3,
        }
    }

    /// Definitions of all metrics that a process exports, in the order of the catalogue.
    pub fn exported_by(exporter: Exporter) -> impl Iterator<Item = &'static Self> {
        catalogue::ALL.iter().copied().filter(move |metric| metric.exporters.contains(&exporter))
    }
}
