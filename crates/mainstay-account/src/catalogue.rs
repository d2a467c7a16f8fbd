//! Indicators that need no PromQL of the user: a table of queries over the fleet's own metrics, and one over any service with
//! a latency histogram.

use crate::slo::{Counting, Sli};

/// An indicator of the catalogue. Bounds are numbers of seconds in the spelling of the histogram's label `le`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Indicator {
    /// Share of jobs that did not fail for a cause in the infrastructure. Jobs that failed by their own fault or were
    /// preempted do not count at all.
    JobSuccess,
    /// Share of jobs that started within the bound.
    QueueWait {
        /// Longest good wait, in seconds.
        bound_seconds: String,
    },
    /// Share of GPUs that are in service.
    GpuAvailability,
    /// Share of faults that were detected within the bound.
    DetectionTime {
        /// Longest good time, in seconds.
        bound_seconds: String,
    },
    /// Share of removed nodes that returned to service within the bound.
    ReturnTime {
        /// Longest good time, in seconds.
        bound_seconds: String,
    },
    /// Share of requests to a service that were answered within the bound. An objective of 95 % is its p95.
    Latency {
        /// Name of the histogram, without `_bucket`.
        metric: String,
        /// Longest good latency, in seconds.
        bound_seconds: String,
    },
}

/// Level of GPUs that may page: more than one node of eight GPUs is out of service.
const GPUS_BAD_MIN: u64 = 9;

/// A row of the table: series, and labels that its good and its valid events have.
struct Row<'a> {
    metric: &'a str,
    shape: Shape<'a>,
}

enum Shape<'a> {
    /// A counter with an outcome per event.
    Counter { good: &'a str, valid: &'a str },
    /// A histogram with a good bound.
    Histogram { bound_seconds: &'a str },
    /// A gauge with a state per unit. The largest of several instances counts, because a replaced leader leaves a second
    /// series in the window.
    Gauge { good: &'a str, by: &'a str },
}

// === impl Indicator ===

impl Indicator {
    fn row(&self) -> Row<'_> {
        match self {
            Self::JobSuccess => {
                let (good, valid) = (r#"outcome="success""#, r#"outcome=~"success|infrastructure""#);
                Row { metric: "mainstay_jobs_total", shape: Shape::Counter { good, valid } }
            }
            Self::QueueWait { bound_seconds } => {
                Row { metric: "mainstay_job_wait_seconds", shape: Shape::Histogram { bound_seconds } }
            }
            Self::GpuAvailability => {
                // Jobs go on running on a Suspect node.
                let good = r#"state=~"InService|Suspect""#;
                Row { metric: "mainstay_gpus", shape: Shape::Gauge { good, by: "state" } }
            }
            Self::DetectionTime { bound_seconds } => {
                Row { metric: "mainstay_detection_seconds", shape: Shape::Histogram { bound_seconds } }
            }
            Self::ReturnTime { bound_seconds } => {
                Row { metric: "mainstay_return_seconds", shape: Shape::Histogram { bound_seconds } }
            }
            Self::Latency { metric, bound_seconds } => Row { metric, shape: Shape::Histogram { bound_seconds } },
        }
    }

    /// Name of the metric that the user chose, if any.
    pub(crate) fn metric(&self) -> Option<&str> {
        match self {
            Self::Latency { metric, .. } => Some(metric),
            Self::JobSuccess
            | Self::QueueWait { .. }
            | Self::GpuAvailability
            | Self::DetectionTime { .. }
            | Self::ReturnTime { .. } => None,
        }
    }

    /// Bound that the user chose, if any.
    pub(crate) fn bound(&self) -> Option<&str> {
        match self.row().shape {
            Shape::Histogram { bound_seconds } => Some(bound_seconds),
            Shape::Counter { .. } | Shape::Gauge { .. } => None,
        }
    }

    /// Whether the indicator counts events or compares levels.
    #[must_use]
    pub fn counting(&self) -> Counting {
        match self.row().shape {
            Shape::Counter { .. } | Shape::Histogram { .. } => Counting::Events,
            Shape::Gauge { .. } => Counting::Level { bad_min: GPUS_BAD_MIN },
        }
    }
}

/// PromQL of an indicator, with the placeholder `$window`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queries {
    /// Number of good events.
    pub good: String,
    /// Number of all valid events.
    pub total: String,
}

// === impl Sli ===

impl Sli {
    /// The two queries of the indicator.
    #[must_use]
    pub fn queries(&self) -> Queries {
        match self {
            Self::Events { good, total } => Queries { good: good.clone(), total: total.clone() },
            Self::Catalogue { indicator, matchers } => {
                let Row { metric, shape } = indicator.row();
                let series = |suffix: &str, own: &str| {
                    let own = Some(own.to_owned()).filter(|own| !own.is_empty());
                    let given = matchers.iter().map(|(label, value)| format!("{label}={}", quoted(value)));
                    let all: Vec<String> = own.into_iter().chain(given).collect();
                    format!("{metric}{suffix}{{{}}}[$window]", all.join(","))
                };
                match shape {
                    Shape::Counter { good, valid } => Queries {
                        good: format!("sum(increase({}))", series("", good)),
                        total: format!("sum(increase({}))", series("", valid)),
                    },
                    Shape::Histogram { bound_seconds } => Queries {
                        good: format!("sum(increase({}))", series("_bucket", &le(bound_seconds))),
                        total: format!("sum(increase({}))", series("_count", "")),
                    },
                    Shape::Gauge { good, by } => Queries {
                        good: format!("sum(max by ({by}) (avg_over_time({})))", series("", good)),
                        total: format!("sum(max by ({by}) (avg_over_time({})))", series("", "")),
                    },
                }
            }
        }
    }
}

/// Matcher of a bucket. OpenMetrics spells a whole number as `300.0`, the older text format as `300`.
fn le(bound_seconds: &str) -> String {
    if bound_seconds.contains('.') {
        format!("le={}", quoted(bound_seconds))
    } else {
        format!(r#"le=~"{bound_seconds}([.]0)?""#)
    }
}

/// A PromQL string of printable text.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
