//! Responses to a scrape, in the format that the client accepts. `prometheus-client` writes both formats.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit as ExposedUnit};

use super::samples::{Family, Samples};
use super::{Definition, Kind, Unit, Value};

/// Exposition format of a response to a scrape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text format 0.0.4 of Prometheus, for clients that request nothing else.
    Text,
    /// OpenMetrics 1.0.0, which Prometheus prefers.
    OpenMetrics,
}

/// One scrape on its way into the text.
#[derive(Debug)]
struct Exposition {
    samples: Samples,
    format: Format,
}

// === impl Format ===

impl Format {
    /// Chooses the format from the `Accept` header of a request. An absent header is an empty one.
    #[must_use]
    pub fn negotiate(accept: &str) -> Self {
        let ranges = || accept.split(',').filter_map(MediaRange::parse);
        let best = |fits: fn(&MediaRange<'_>) -> bool| ranges().filter(fits).map(|range| range.weight).max();
        let open = best(|range| range.name == "application/openmetrics-text" && matches!(range.version, "" | "1.0.0"));
        let text = best(|range| matches!(range.name, "text/plain" | "text/*" | "*/*"));
        match open.filter(|weight| *weight > 0 && Some(*weight) >= text) {
            Some(_) => Self::OpenMetrics,
            None => Self::Text,
        }
    }

    /// Value of the `Content-Type` header of the response.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// One entry of an `Accept` header.
struct MediaRange<'a> {
    name: &'a str,
    version: &'a str,
    /// Preference of the client, in thousandths.
    weight: u16,
}

impl<'a> MediaRange<'a> {
    /// None if the weight is not a number from 0 to 1.
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let mut range = Self { name: parts.next()?, version: "", weight: 1_000 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name.trim() {
                "version" => range.version = value.trim(),
                "q" => range.weight = thousandths(value.trim())?,
                _ => {}
            }
        }
        Some(range)
    }
}

/// A weight such as `0.75`, which has three decimals at most.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let weight = format!("{whole}{decimals:0<3}").parse().ok()?;
    (decimals.len() <= 3 && weight <= 1_000).then_some(weight)
}

// === impl Samples ===

impl Samples {
    /// Writes all series in one format.
    ///
    /// # Errors
    /// [`fmt::Error`] if `prometheus-client` cannot write a series.
    pub fn encode(self, format: Format) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Exposition { samples: self.complete(), format }));
        let mut text = String::with_capacity(16 * 1_024);
        encode_registry(&mut text, &registry)?;
        match format {
            Format::Text => {}
            Format::OpenMetrics => encode_eof(&mut text)?,
        }
        Ok(text)
    }
}

// === impl Exposition ===

impl Collector for Exposition {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in self.samples.families.values() {
            let metric = family.metric;
            let (name, unit) = match self.format {
                Format::Text => (metric.name, None),
                Format::OpenMetrics => split(metric),
            };
            let kind = match metric.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
            };
            series(family, self.format, encoder.encode_descriptor(name, metric.help, unit.as_ref(), kind)?)?;
        }
        Ok(())
    }
}

fn series(family: &Family, format: Format, mut encoder: MetricEncoder<'_>) -> fmt::Result {
    for (values, value) in &family.series {
        let labels: Vec<(&str, &str)> = family.metric.labels.iter().copied().zip(values.iter().map(|v| &**v)).collect();
        if labels.is_empty() {
            number(family.metric.kind, *value, format, &mut encoder)?;
        } else {
            number(family.metric.kind, *value, format, &mut encoder.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

/// In the text format the name has its `_total` already, which `prometheus-client` would append to a counter.
fn number(kind: Kind, value: Value, format: Format, encoder: &mut MetricEncoder<'_>) -> fmt::Result {
    match (kind, format, value) {
        (Kind::Counter, Format::OpenMetrics, Value::Unsigned(value)) => {
            encoder.encode_counter::<NoLabelSet, _, u64>(&value, None)
        }
        (_, _, Value::Unsigned(value)) => encoder.encode_gauge(&value),
        (_, _, Value::Signed(value)) => encoder.encode_gauge(&value),
        (_, _, Value::Distribution(value)) => {
            #[expect(clippy::cast_precision_loss, reason = "a sum of seconds is exact up to 285 million years")]
            let seconds = value.seconds() as f64;
            encoder.encode_histogram::<NoLabelSet>(seconds, value.count(), &value.buckets(), None)
        }
    }
}

/// Name and unit for `prometheus-client`, which joins them, and appends `_total` to a counter.
fn split(metric: &Definition) -> (&'static str, Option<ExposedUnit>) {
    let base = match metric.kind {
        Kind::Counter => metric.name.strip_suffix("_total").unwrap_or(metric.name),
        Kind::Gauge | Kind::Histogram => metric.name,
    };
    if metric.unit == Unit::One {
        return (base, None);
    }
    // A unit inside a name, as in `mainstay_stage_seconds_max`, is no unit for OpenMetrics.
    match base.strip_suffix(metric.unit.word()).and_then(|base| base.strip_suffix('_')) {
        Some(base) => (base, Some(ExposedUnit::Other(metric.unit.word().to_owned()))),
        None => (base, None),
    }
}
