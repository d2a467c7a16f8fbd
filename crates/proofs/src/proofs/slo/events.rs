//! Events of a virtual fleet, minute by minute from a seed, as the OpenMetrics text that a scrape each minute would have
//! collected.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use mainstay_account::catalogue::Indicator;
use tempfile::TempDir;

use super::replay::START;

/// Bound of every histogram, in seconds.
pub(super) const BOUND: &str = "300";
/// Histogram of the service.
pub(super) const SERVICE: &str = "http_request_duration_seconds";

/// What one minute is like.
#[derive(Clone, Copy)]
pub(super) struct Minute {
    /// Share of events that are bad.
    pub(super) bad_ppm: u32,
    /// Traffic in percent of the stated volume.
    pub(super) traffic_percent: u32,
    pub(super) scrape: Scrape,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scrape {
    Works,
    Fails,
    /// The exporter restarted: its counters begin at zero again.
    Restarted,
}

impl Minute {
    pub(super) fn steady(bad_ppm: u32) -> Self {
        Self { bad_ppm, traffic_percent: 100, scrape: Scrape::Works }
    }
}

/// Events of one indicator, and how many of them a day has.
pub(super) struct Traffic {
    pub(super) indicator: Indicator,
    pub(super) events_a_day: u32,
}

/// The text file and its folder.
pub(super) struct Recorder {
    folder: TempDir,
    path: PathBuf,
    text: BufWriter<File>,
}

impl Recorder {
    pub(super) fn new() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("a folder for the metrics")?;
        let path = folder.path().join("metrics.om");
        let text = BufWriter::new(File::create(&path)?);
        Ok(Self { folder, path, text })
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Ends the text; the folder lives as long as the result.
    pub(super) fn finish(mut self) -> anyhow::Result<(TempDir, PathBuf)> {
        writeln!(self.text, "# EOF")?;
        self.text.flush()?;
        Ok((self.folder, self.path))
    }

    pub(super) fn write(
        &mut self,
        scenario: &str,
        traffic: &Traffic,
        minutes: u32,
        random: &mut fastrand::Rng,
        shape: impl Fn(u32) -> Minute,
    ) -> anyhow::Result<()> {
        let (mut good, mut bad) = (0_u64, 0_u64);
        for minute in 0..minutes {
            let Minute { bad_ppm, traffic_percent, scrape } = shape(minute);
            let at = START + i64::from(minute) * 60;
            if traffic.indicator == Indicator::GpuAvailability {
                let out = u64::from(traffic.events_a_day) * u64::from(bad_ppm) / 1_000_000;
                (good, bad) = (u64::from(traffic.events_a_day) - out, out);
            } else {
                if scrape == Scrape::Restarted {
                    (good, bad) = (0, 0);
                }
                let mean = f64::from(traffic.events_a_day) / 1_440.0 * f64::from(traffic_percent) / 100.0;
                for _ in 0..poisson(mean, random) {
                    if random.u32(0..1_000_000) < bad_ppm { bad += 1 } else { good += 1 }
                }
            }
            if scrape != Scrape::Fails {
                self.scrape(&traffic.indicator, scenario, at, (good, bad))?;
            }
        }
        Ok(())
    }

    fn scrape(
        &mut self,
        indicator: &Indicator,
        scenario: &str,
        at: i64,
        (good, bad): (u64, u64),
    ) -> anyhow::Result<()> {
        let name = match indicator {
            Indicator::JobSuccess => {
                for (outcome, count) in [("success", good), ("infrastructure", bad), ("user", good / 10)] {
                    let labels = format!("outcome=\"{outcome}\",queue=\"research\",scenario=\"{scenario}\"");
                    writeln!(self.text, "mainstay_jobs_total{{{labels}}} {count} {at}")?;
                }
                return Ok(());
            }
            Indicator::GpuAvailability => {
                for (state, count) in [("InService", good), ("Quarantined", bad)] {
                    writeln!(self.text, "mainstay_gpus{{scenario=\"{scenario}\",state=\"{state}\"}} {count} {at}")?;
                }
                return Ok(());
            }
            Indicator::QueueWait { .. } => "mainstay_job_wait_seconds",
            Indicator::DetectionTime { .. } => "mainstay_detection_seconds",
            Indicator::ReturnTime { .. } => "mainstay_return_seconds",
            Indicator::Latency { metric, .. } => metric.as_str(),
        };
        writeln!(self.text, "{name}_bucket{{le=\"{BOUND}.0\",scenario=\"{scenario}\"}} {good} {at}")?;
        writeln!(self.text, "{name}_count{{scenario=\"{scenario}\"}} {} {at}", good + bad)?;
        Ok(())
    }
}

/// Independent events within a minute, by the gaps between them.
fn poisson(mean: f64, random: &mut fastrand::Rng) -> u32 {
    let (mut count, mut passed) = (0, -(1.0 - random.f64()).ln());
    while passed < mean {
        count += 1;
        passed -= (1.0 - random.f64()).ln();
    }
    count
}
