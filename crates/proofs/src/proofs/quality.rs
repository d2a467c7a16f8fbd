//! Precision of quarantine decisions against the simulator's ground truth, per fault class, and the bound that the modelled
//! sensors allow.
//! It measures only the model of faults and sensors. Recall can exceed its bound: a node that was removed for one fault is out
//! of service for the next one too, detectable or not.

use anyhow::ensure;
use mainstay_sim::{ClassOutcome, FaultClass, Options, Rates, run};
use std::collections::BTreeMap;

use crate::prove::{Context, Measurement, Proof};

const GPUS: u32 = 32_768;
const DAYS: u32 = 30;
const SEEDS: u64 = 3;

/// What precision must be where the sensors allow it, in thousandths, and which share of the ceiling where they do not.
const PRECISION_MILLI: u64 = 980;
const OF_CEILING_PERCENT: u64 = 95;

pub(super) const PROOF: Proof = Proof { name: "quarantine-quality", run: |_: &Context| Box::pin(async { judge() }) };

fn judge() -> anyhow::Result<Measurement> {
    let mut classes: BTreeMap<FaultClass, ClassOutcome> = BTreeMap::new();
    let (mut right, mut wrong) = (0, 0);
    for seed in 1..=SEEDS {
        let outcome = run(&Options::new(GPUS, DAYS, seed, Rates::Base)?, &mut |_| {});
        right += outcome.quarantines.right;
        wrong += outcome.quarantines.wrong;
        for (class, one) in outcome.classes {
            let sum = classes.entry(class).or_default();
            sum.faults += one.faults;
            sum.told += one.told;
            sum.taken_out += one.taken_out;
            sum.false_alarms += one.false_alarms;
            sum.falsely_taken_out += one.falsely_taken_out;
        }
    }
    let condemning: Vec<_> = classes.iter().filter(|(class, _)| class.condemns()).collect();
    let told: u64 = condemning.iter().map(|(_, one)| one.told).sum();
    // Only classes that call for removal: a slow node alone is never removed.
    let false_alarms: u64 = condemning.iter().map(|(_, one)| one.false_alarms).sum();
    ensure!(right > 500, "only {right} nodes were rightly taken out: too few to judge");
    let mut rows = vec![Row::of("all", right, wrong, told, false_alarms, told)];
    for (class, one) in &condemning {
        rows.push(Row::of(class.word(), one.taken_out, one.falsely_taken_out, one.told, one.false_alarms, one.faults));
    }
    let below = rows.iter().filter(|row| row.is_below()).count();
    let detail: Vec<String> = rows.iter().map(Row::in_words).collect();
    Ok(Measurement { value: i64::try_from(below)?, detail: detail.join("; ") })
}

/// Precision and recall of a class in thousandths, each with its upper bound; none where there was no removal or no
/// detectable fault.
struct Row {
    name: &'static str,
    precision: Option<u64>,
    precision_ceiling: Option<u64>,
    recall: Option<u64>,
    recall_ceiling: Option<u64>,
    faults: u64,
}

impl Row {
    fn of(name: &'static str, right: u64, wrong: u64, told: u64, false_alarms: u64, faults: u64) -> Self {
        Self {
            name,
            precision: milli(right, right + wrong),
            precision_ceiling: milli(told, told + false_alarms),
            recall: milli(right, faults),
            recall_ceiling: milli(told, faults),
            faults,
        }
    }

    fn is_below(&self) -> bool {
        let (Some(precision), Some(ceiling)) = (self.precision, self.precision_ceiling) else { return false };
        let needed = if ceiling >= PRECISION_MILLI { PRECISION_MILLI } else { ceiling * OF_CEILING_PERCENT / 100 };
        precision < needed
    }

    fn in_words(&self) -> String {
        let share = |milli: Option<u64>| match milli {
            None => "-".to_owned(),
            Some(milli) => format!("{}.{:03}", milli / 1_000, milli % 1_000),
        };
        format!(
            "{} ({} faults): precision {} of {}, recall {} of {}",
            self.name,
            self.faults,
            share(self.precision),
            share(self.precision_ceiling),
            share(self.recall),
            share(self.recall_ceiling)
        )
    }
}

fn milli(part: u64, whole: u64) -> Option<u64> {
    (whole > 0).then(|| (part * 1_000 / whole).min(1_000))
}
