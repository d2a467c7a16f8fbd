//! Values of one scrape, by metric and labels. Every list is bounded, because pools, taints and evidence have names that
//! users and nodes choose.

use std::collections::BTreeMap;

use super::{Counter, Definition, Distribution, Exporter, Gauge, Histogram, catalogue};

/// Longest label value: a Kubernetes key with a prefix of 253 bytes, a slash and a name of 63 bytes.
pub const LABEL_VALUE_BYTES_MAX: usize = 317;

/// Value of one label set. Mainstay exports whole numbers only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A number without a sign.
    Unsigned(u64),
    /// A number that may be negative.
    Signed(i64),
    /// Durations of a histogram.
    Distribution(Distribution),
}

/// All series that one process exports in one scrape.
#[derive(Debug, Clone)]
pub struct Samples {
    exporter: Exporter,
    pub(super) families: BTreeMap<&'static str, Family>,
    omitted: u64,
}

/// Series of one metric, by label values.
#[derive(Debug, Clone)]
pub(super) struct Family {
    pub(super) metric: &'static Definition,
    pub(super) series: BTreeMap<Box<[Box<str>]>, Value>,
}

// === impl Value ===

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Unsigned(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Signed(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Unsigned(value.into())
    }
}

// === impl Samples ===

impl Samples {
    /// Creates an empty collection for one process.
    #[must_use]
    pub const fn new(exporter: Exporter) -> Self {
        Self { exporter, families: BTreeMap::new(), omitted: 0 }
    }

    /// Adds a series of a counter.
    pub fn count<const LABELS: usize>(&mut self, metric: Counter<LABELS>, labels: [&str; LABELS], value: u64) {
        self.add(metric.0, &labels, value.into());
    }

    /// Adds a series of a gauge.
    pub fn set<const LABELS: usize>(&mut self, metric: Gauge<LABELS>, labels: [&str; LABELS], value: impl Into<Value>) {
        self.add(metric.0, &labels, value.into());
    }

    /// Adds a label set of a histogram.
    pub fn observe<const LABELS: usize>(
        &mut self,
        metric: Histogram<LABELS>,
        labels: [&str; LABELS],
        value: Distribution,
    ) {
        self.add(metric.0, &labels, Value::Distribution(value));
    }

    /// Number of series that a limit left out.
    #[must_use]
    pub const fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Names of the metrics that have at least one series.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.families.keys().copied()
    }

    /// Completes the collection with the number of series that a limit left out.
    pub(super) fn complete(mut self) -> Self {
        let omitted = self.omitted;
        self.set(catalogue::SERIES_OMITTED, [], omitted);
        self
    }

    pub(super) fn add(&mut self, metric: &'static Definition, labels: &[&str], value: Value) {
        debug_assert!(metric.exporters.contains(&self.exporter), "{:?} exports {}", self.exporter, metric.name);
        let family = self.families.entry(metric.name).or_insert_with(|| Family { metric, series: BTreeMap::new() });
        let labels: Box<[Box<str>]> = labels.iter().map(|value| bounded(value).into()).collect();
        // Two long values can become equal when they are cut. Prometheus rejects a response with a repeated series.
        if family.series.len() >= metric.series_max || family.series.contains_key(&labels) {
            self.omitted += 1;
        } else {
            family.series.insert(labels, value);
        }
    }
}

fn bounded(value: &str) -> &str {
    &value[..value.floor_char_boundary(LABEL_VALUE_BYTES_MAX)]
}
