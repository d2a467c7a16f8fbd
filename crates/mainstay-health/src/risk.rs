//! Risk score: how likely a node is to fail again, from the history and evidence of its parts. It lists its summands
//! and decides nothing.
//!
//! The score estimates the probability, in parts per million, that a rule removes the node for repair within the next 7
//! days. The weights are Mainstay's own. Those of incidents and repeats are rounded from runs of Mainstay's simulator
//! at base rates: the share of nodes with that number that were removed within the week. Spare rows and corrected
//! errors are not in its model, so their weights are judgement.

use std::collections::BTreeSet;
use std::fmt;

use mainstay_model::{Arrivals, PastIncident, Ppm, Serial, Source, Span, Timestamp};

use crate::arrivals::buckets;

/// The score of a node without any adverse history.
const BASE_PPM: u32 = 9_000;

/// The weight of one incident, up to a number of days after it. Older incidents add nothing.
const INCIDENT_PPM: [(u32, u32); 3] = [(7, 40_000), (30, 20_000), (90, 12_000)];

/// The additional weight of a relapse: the same part, within this time after its last incident. At LANL, one in three
/// repaired machines failed again within 30 days, whichever machine it was, so one relapse means little.
const RELAPSE_PPM: u32 = 5_000;
const RELAPSE_WITHIN_DAYS: u32 = 30;

/// The maximum that incidents add together. It is less than the eight stored incidents add within a week. So one more
/// incident never lowers the sum by replacing an old one.
const INCIDENTS_PPM_MAX: u32 = 300_000;

/// The weight of link and bus problems that removed no node, by the number of part-days with a report within 7 days. It
/// grows faster than linearly: one flap can happen to any link, but a link that flaps every day fails soon.
const REPEATS_PPM: [u32; 9] = [0, 8_000, 16_000, 27_000, 54_000, 90_000, 130_000, 200_000, 250_000];

/// Maximum number of parts counted per day: a leaf switch that restarts flaps every link below it.
const REPEATS_A_DAY_MAX: usize = 2;

/// A memory bank of a GPU has no spare row left, or few: the next bad rows cannot be remapped.
const SPARE_ROWS_GONE_PPM: u32 = 100_000;
const SPARE_ROWS_LOW_PPM: u32 = 20_000;

/// Corrected errors of a part at least doubled: a day of the last two compared with a day of the five before. Fewer
/// than this number in two days are normal on a healthy machine.
const CORRECTED_RISING_PPM: u32 = 20_000;
const CORRECTED_MIN: u64 = 1_000;
const CORRECTED_DAYS_NEW: u32 = 2;
const CORRECTED_DAYS_OLD: u64 = 5;

/// From this score on, a node is called a lemon. The value comes from Mainstay's simulator. With a lower value, more
/// than one healthy node in a thousand is called a lemon in a month. With a higher value, more lemons are missed.
pub const LEMON: Ppm = Ppm(215_000);

/// Evidence that counts as a repeat: a link or a bus that failed and recovered. Counters that also rise on healthy
/// machines do not count. Driver log lines do not count either: applications cause most of them, and those that the GPU
/// causes are incidents.
const REPEATING: [(Source, &str); 8] = [
    (Source::Nic, "link-down"),
    (Source::Nic, "link-downed"),
    (Source::Nic, "carrier-changes"),
    (Source::Nic, "cable-unplugged"),
    (Source::Nic, "cable-error"),
    (Source::Nic, "health-issue"),
    (Source::PcieAer, "nonfatal"),
    (Source::PcieAer, "aer-nonfatal"),
];

/// Evidence of corrected errors.
const CORRECTED: [(Source, &str); 3] =
    [(Source::Nvml, "ecc-corrected"), (Source::PcieAer, "correctable"), (Source::PcieAer, "aer-correctable")];

/// Incidents, arrivals and parts of a node.
#[derive(Debug, Clone, Copy)]
pub struct RiskInput<'a> {
    /// Incidents that the node was repaired for, oldest first.
    pub incidents: &'a [PastIncident],
    /// Arrivals of each kind of evidence.
    pub arrivals: &'a [Arrivals],
    /// Parts that are present: a part that was removed no longer counts. If absent, everything counts.
    pub parts: Option<&'a [&'a Serial]>,
}

/// One factor of the risk score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Factor {
    /// The base rate of any node.
    Base,
    /// Incidents of the node's parts.
    Incidents,
    /// Incidents that recurred after a repair.
    Relapses,
    /// Part-days with link or bus problems.
    Repeats,
    /// GPUs with few spare memory rows, or none.
    SpareRows,
    /// Parts whose corrected errors rise.
    CorrectedRising,
}

/// The contribution of one factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contribution {
    /// The factor that contributes.
    pub factor: Factor,
    /// Number of occurrences.
    pub count: u32,
    /// Contribution to the score, in parts per million.
    pub ppm: Ppm,
}

/// The estimated probability of another incident within 7 days, with its summands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Risk {
    /// The estimated probability.
    pub ppm: Ppm,
    /// The summands, without those that add nothing.
    pub contributions: Vec<Contribution>,
}

/// Computes the risk score. More incidents never lower it.
#[must_use]
pub fn risk(past: &RiskInput<'_>, now: Timestamp) -> Risk {
    let is_here = |part: Option<&Serial>| match (past.parts, part) {
        (Some(parts), Some(part)) => parts.contains(&part),
        (Some(_) | None, Some(_) | None) => true,
    };
    let incidents: Vec<&PastIncident> = past.incidents.iter().filter(|one| is_here(one.serial.as_ref())).collect();
    let arrivals: Vec<&Arrivals> = past.arrivals.iter().filter(|one| is_here(one.device.as_ref())).collect();
    let hour = buckets::hour_of(now);
    let [incidents, relapses] = of_incidents(&incidents, now);
    let all = [
        Contribution { factor: Factor::Base, count: 1, ppm: Ppm(BASE_PPM) },
        incidents,
        relapses,
        of_repeats(&arrivals, hour),
        of_spare_rows(&arrivals, hour),
        of_corrected(&arrivals, hour),
    ];
    let sum = all.iter().fold(0, |sum: u32, one| sum.saturating_add(one.ppm.0));
    let contributions = all.into_iter().filter(|one| one.ppm > Ppm(0)).collect();
    Risk { ppm: Ppm(sum).min(Ppm::ONE), contributions }
}

fn of_incidents(incidents: &[&PastIncident], now: Timestamp) -> [Contribution; 2] {
    let (mut counts, mut ppm) = ([0, 0], [0, 0_u32]);
    for (place, one) in incidents.iter().enumerate() {
        let age = now.since(one.at);
        let Some((_, weight)) = INCIDENT_PPM.iter().find(|(within, _)| age <= days(*within)) else { continue };
        let is_relapse = incidents[..place]
            .iter()
            .any(|before| before.serial == one.serial && one.at.since(before.at) <= days(RELAPSE_WITHIN_DAYS));
        counts = [counts[0] + 1, counts[1] + u32::from(is_relapse)];
        ppm = [ppm[0] + weight, ppm[1] + if is_relapse { RELAPSE_PPM } else { 0 }];
    }
    let incidents = ppm[0].min(INCIDENTS_PPM_MAX);
    let relapses = ppm[1].min(INCIDENTS_PPM_MAX - incidents);
    [
        Contribution { factor: Factor::Incidents, count: counts[0], ppm: Ppm(incidents) },
        Contribution { factor: Factor::Relapses, count: counts[1], ppm: Ppm(relapses) },
    ]
}

fn of_repeats(arrivals: &[&Arrivals], hour: u32) -> Contribution {
    let repeating = arrivals.iter().filter(|entry| is_one_of(entry, &REPEATING));
    let said = repeating.flat_map(|entry| buckets::days(entry, hour).map(|(day, _)| (day, entry.device.as_ref())));
    let said: BTreeSet<(u32, Option<&Serial>)> = said.collect();
    let on = |day: u32| said.iter().filter(|(other, _)| *other == day).count().min(REPEATS_A_DAY_MAX);
    let repeats: usize = (0..buckets::DAYS).map(on).sum();
    let ppm = REPEATS_PPM.get(repeats).or(REPEATS_PPM.last()).copied().unwrap_or_default();
    Contribution { factor: Factor::Repeats, count: u32::try_from(repeats).unwrap_or(u32::MAX), ppm: Ppm(ppm) }
}

fn of_spare_rows(arrivals: &[&Arrivals], hour: u32) -> Contribution {
    let with = |code: &str| {
        let said =
            |entry: &&&Arrivals| is_one_of(entry, &[(Source::Nvml, code)]) && buckets::days(entry, hour).count() > 0;
        u32::try_from(arrivals.iter().filter(said).count()).unwrap_or(u32::MAX)
    };
    let (count, ppm) = match (with("spare-rows-gone"), with("spare-rows-low")) {
        (0, 0) => (0, 0),
        (0, low) => (low, SPARE_ROWS_LOW_PPM),
        (gone, _) => (gone, SPARE_ROWS_GONE_PPM),
    };
    Contribution { factor: Factor::SpareRows, count, ppm: Ppm(ppm) }
}

fn of_corrected(arrivals: &[&Arrivals], hour: u32) -> Contribution {
    let rises = |entry: &&&Arrivals| {
        let sum = |new: bool| -> u64 {
            let of_age = buckets::days(entry, hour).filter(|(day, _)| (*day < CORRECTED_DAYS_NEW) == new);
            of_age.map(|(_, count)| u64::from(count)).sum()
        };
        // Checks that a recent day has at least twice the errors of an older day, without a division.
        let (new, old) = (sum(true) * CORRECTED_DAYS_OLD, sum(false) * u64::from(CORRECTED_DAYS_NEW));
        is_one_of(entry, &CORRECTED) && sum(true) >= CORRECTED_MIN && new >= 2 * old
    };
    let count = u32::try_from(arrivals.iter().filter(rises).count()).unwrap_or(u32::MAX);
    let ppm = if count > 0 { CORRECTED_RISING_PPM } else { 0 };
    Contribution { factor: Factor::CorrectedRising, count, ppm: Ppm(ppm) }
}

fn is_one_of(entry: &Arrivals, kinds: &[(Source, &str)]) -> bool {
    kinds.iter().any(|(source, code)| *source == entry.source && *code == entry.code.as_str())
}

const fn days(days: u32) -> Span {
    Span::hours(24 * days)
}

// === impl Risk ===

impl Risk {
    /// Returns whether the node is a lemon: one that fails many times as often as others.
    #[must_use]
    pub fn is_lemon(&self) -> bool {
        self.ppm >= LEMON
    }
}

/// Prints the score and its reasons: `74000 ppm: incidents 2 (60000), relapses 1 (5000)`.
impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ppm", self.ppm.0)?;
        if self.is_lemon() {
            f.write_str(", a lemon")?;
        }
        let speaking = self.contributions.iter().filter(|one| one.factor != Factor::Base);
        for (place, Contribution { factor, count, ppm }) in speaking.enumerate() {
            f.write_str(if place == 0 { ": " } else { ", " })?;
            write!(f, "{} {count} ({})", factor.words(), ppm.0)?;
        }
        Ok(())
    }
}

impl Factor {
    /// Returns the name of the factor as text.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Base => "node",
            Self::Incidents => "incidents",
            Self::Relapses => "relapses",
            Self::Repeats => "part-days with link or bus errors",
            Self::SpareRows => "GPUs with few spare memory rows",
            Self::CorrectedRising => "parts with rising corrected errors",
        }
    }
}

#[cfg(test)]
mod tests;
