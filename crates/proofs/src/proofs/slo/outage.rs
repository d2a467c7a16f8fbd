//! Twenty kinds of outages, as a table.

use mainstay_account::catalogue::Indicator;

use super::CALM_MINUTES;
use super::events::{BOUND, Minute, SERVICE, Scrape};

/// An outage that must page.
pub(super) struct Outage {
    pub(super) name: &'static str,
    series: Series,
    pub(super) objective: u32,
    /// Stated volume: events a day, or GPUs.
    pub(super) events_a_day: u32,
    /// Share of events that are bad during the outage, from which its detection time is computed.
    pub(super) bad_ppm: u32,
    course: Course,
    /// Minutes after its beginning from which the detection time counts.
    pub(super) counted_from: u32,
}

#[derive(Clone, Copy)]
enum Series {
    Jobs,
    Waits,
    Gpus,
    Detections,
    Returns,
    Requests,
}

#[derive(Clone, Copy)]
enum Course {
    /// As bad as stated from the first minute.
    Step,
    /// Ten minutes with all events bad, ten minutes good.
    Flapping,
    /// Jobs are retried: ten times the traffic.
    Retries,
    /// From no bad event to all of them within an hour.
    Ramp,
    /// The service consumed exactly its budget before.
    BudgetInUse,
    /// The exporter restarts five minutes into the outage.
    Restart,
    /// Twenty to ten minutes before the outage nothing is scraped.
    Gap,
    /// An update reaches a tenth, then a third, then all of the fleet, twenty minutes apart.
    Waves,
}

#[rustfmt::skip] // one line an outage, to be read as a table
pub(super) const OUTAGES: &[Outage] = &[
    outage("all-jobs-4-an-hour",    Series::Jobs,       990_000,      96, 1_000_000, Course::Step),
    outage("all-jobs-60-an-hour",   Series::Jobs,       990_000,   1_440, 1_000_000, Course::Step),
    outage("half-of-jobs",          Series::Jobs,       990_000,   1_440,   500_000, Course::Step),
    outage("slow-burn",             Series::Jobs,       990_000, 1_920_000,  25_000, Course::Step),
    outage("one-queue-of-eight",    Series::Jobs,       990_000,  28_800,   125_000, Course::Step),
    outage("one-pool-of-four",      Series::Jobs,       990_000,   5_760,   250_000, Course::Step),
    outage("flapping",              Series::Jobs,       990_000,  14_400,   500_000, Course::Flapping),
    outage("retry-storm",           Series::Jobs,       990_000,   1_440, 1_000_000, Course::Retries),
    outage("budget-already-in-use", Series::Jobs,       990_000,   5_760,   250_000, Course::BudgetInUse),
    Outage { counted_from: 30, ..outage("gradual", Series::Jobs, 990_000, 5_760, 500_000, Course::Ramp) },
    outage("exporter-restarts",     Series::Jobs,       990_000,  14_400, 1_000_000, Course::Restart),
    outage("scrapes-missing",       Series::Jobs,       990_000,  14_400, 1_000_000, Course::Gap),
    Outage { counted_from: 40, ..outage("update-in-waves", Series::Jobs, 990_000, 1_440, 1_000_000, Course::Waves) },
    outage("queues-stand-still",    Series::Waits,      950_000,   1_440, 1_000_000, Course::Step),
    outage("one-queue-waits",       Series::Waits,      950_000,  28_800,   400_000, Course::Step),
    outage("leaf-of-256-gpus",      Series::Gpus,       990_000,   1_024,   250_000, Course::Step),
    outage("all-gpus",              Series::Gpus,       990_000,   1_024, 1_000_000, Course::Step),
    outage("detection-late",        Series::Detections, 950_000,     576, 1_000_000, Course::Step),
    outage("returns-late",          Series::Returns,    900_000,   5_760,   500_000, Course::Step),
    outage("requests-slow",         Series::Requests,   990_000, 864_000,   200_000, Course::Step),
];

const fn outage(
    name: &'static str,
    series: Series,
    objective: u32,
    events_a_day: u32,
    bad_ppm: u32,
    course: Course,
) -> Outage {
    Outage { name, series, objective, events_a_day, bad_ppm, course, counted_from: 0 }
}

impl Outage {
    pub(super) fn indicator(&self) -> Indicator {
        let bound_seconds = BOUND.to_owned();
        match self.series {
            Series::Jobs => Indicator::JobSuccess,
            Series::Waits => Indicator::QueueWait { bound_seconds },
            Series::Gpus => Indicator::GpuAvailability,
            Series::Detections => Indicator::DetectionTime { bound_seconds },
            Series::Returns => Indicator::ReturnTime { bound_seconds },
            Series::Requests => Indicator::Latency { metric: SERVICE.to_owned(), bound_seconds },
        }
    }

    /// A minute of the replay. `calm` is the bad share before the outage.
    pub(super) fn minute(&self, minute: u32, calm: u32) -> Minute {
        let Some(since) = minute.checked_sub(CALM_MINUTES) else {
            let bad_ppm = if matches!(self.course, Course::BudgetInUse) { 1_000_000 - self.objective } else { calm };
            let is_gap = (CALM_MINUTES - 20..CALM_MINUTES - 10).contains(&minute);
            let scrape = if matches!(self.course, Course::Gap) && is_gap { Scrape::Fails } else { Scrape::Works };
            return Minute { scrape, ..Minute::steady(bad_ppm) };
        };
        let steady = Minute::steady(self.bad_ppm);
        match self.course {
            Course::Step | Course::BudgetInUse | Course::Gap => steady,
            Course::Waves => Minute::steady(match since {
                0..20 => 100_000,
                20..40 => 330_000,
                _ => 1_000_000,
            }),
            Course::Flapping => Minute::steady(if since % 20 < 10 { 1_000_000 } else { calm }),
            Course::Retries => Minute { traffic_percent: 1_000, ..steady },
            Course::Ramp => Minute::steady((since * 1_000_000 / 60).min(1_000_000)),
            Course::Restart if since == 5 => Minute { scrape: Scrape::Restarted, ..steady },
            Course::Restart => steady,
        }
    }
}
