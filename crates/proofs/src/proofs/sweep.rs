//! How far the conclusions depend on the assumptions: every figure of the failure model at 0.3 and at 3 times its value, one
//! at a time, and which conclusions then still hold. It writes `docs/reference/assumptions.md`.

use mainstay_sim::{FailureModel, Measure, Options, Outcome, Rates, Verdict, compare, run};
use std::fmt::Write as _;

use super::parallel::parallel_map;
use crate::prove::{Context, Measurement, Proof};

const GPUS: u32 = 1_024;
const DAYS: u32 = 20;
const SEEDS: u64 = 6;
const RATES: Rates = Rates::Stress;
const FACTORS: [f64; 2] = [0.3, 3.0];
const PAGE: &str = "docs/reference/assumptions.md";

/// What precision must be of its ceiling, in percent.
const OF_CEILING_PERCENT: u64 = 95;
/// Which share of GPU time may be out of service, in thousandths.
const OUT_MILLI_MAX: u64 = 50;

pub(super) const PROOF: Proof = Proof {
    name: "sweep",
    run: |context: &Context| {
        Box::pin(async {
            let (measured, page) = sweep()?;
            std::fs::write(context.workspace.root.join(PAGE), page)?;
            Ok(measured)
        })
    },
};

/// Whether a conclusion still holds after one assumption is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConclusionResult {
    Holds,
    /// Too little happened to tell.
    NotShown,
    Reversed,
}

impl ConclusionResult {
    const fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::NotShown => "not shown",
            Self::Reversed => "**no**",
        }
    }
}

const CONCLUSIONS: [&str; 3] = [
    "Asking jobs to save loses less work to Mainstay's own drains than draining at once.",
    "Precision is at least 95 % of the upper bound that the modelled sensors allow.",
    "Less than 5 % of all GPU time is out of service.",
];

type Row = (String, [ConclusionResult; 3]);

fn sweep() -> anyhow::Result<(Measurement, String)> {
    let model = FailureModel::built_in(RATES);
    let mut cases: Vec<Option<(&str, f64)>> = vec![None];
    for name in model.names() {
        cases.extend(FACTORS.map(|factor| Some((name, factor))));
    }
    let rows: Vec<anyhow::Result<Option<Row>>> =
        parallel_map(u64::try_from(cases.len())?, |number| case(cases[usize::try_from(number)?]));
    let rows: Vec<Row> = rows.into_iter().filter_map(Result::transpose).collect::<anyhow::Result<_>>()?;
    let count = |at: usize, stands: ConclusionResult| rows.iter().filter(|(_, all)| all[at] == stands).count();
    let sound = (0..CONCLUSIONS.len()).filter(|at| count(*at, ConclusionResult::Reversed) == 0).count();
    let detail: Vec<String> = (0..CONCLUSIONS.len())
        .map(|at| {
            let (holds, open) = (count(at, ConclusionResult::Holds), count(at, ConclusionResult::NotShown));
            format!(
                "{} holds in {holds}, not shown in {open}, reversed in {}",
                CONCLUSIONS[at],
                count(at, ConclusionResult::Reversed)
            )
        })
        .collect();
    let measured =
        Measurement { value: i64::try_from(sound)?, detail: format!("{} cases: {}", rows.len(), detail.join("; ")) };
    Ok((measured, page(&rows)))
}

/// One assumption changed; nothing where it is at its bound already.
fn case(changed: Option<(&str, f64)>) -> anyhow::Result<Option<Row>> {
    let with = |policy: Option<&str>| -> anyhow::Result<Option<Vec<Outcome>>> {
        let mut outcomes = Vec::new();
        for seed in 1..=SEEDS {
            let mut options = Options::new(GPUS, DAYS, seed, RATES)?;
            if let Some((name, factor)) = changed {
                let before = options.model.clone();
                if options.model.scale(name, factor).is_err() || options.model == before {
                    return Ok(None);
                }
            }
            if let Some(policy) = policy {
                options.set(policy)?;
            }
            outcomes.push(run(&options, &mut |_| {}));
        }
        Ok(Some(outcomes))
    };
    let Some(wait) = with(None)? else { return Ok(None) };
    let Some(at_once) = with(Some("checkpoint=at-once"))? else { return Ok(None) };
    let all = [better(&wait, &at_once, Measure::Drained)?, precise(&wait), in_service(&wait)];
    let name = changed.map_or_else(|| "as published".to_owned(), |(name, factor)| format!("{name} x{factor}"));
    Ok(Some((name, all)))
}

fn better(a: &[Outcome], b: &[Outcome], measure: Measure) -> anyhow::Result<ConclusionResult> {
    let comparison = compare(a, b)?;
    Ok(match comparison.of(measure).map(|compared| compared.verdict) {
        Some(Verdict::ABetter) => ConclusionResult::Holds,
        Some(Verdict::BBetter) => ConclusionResult::Reversed,
        Some(Verdict::NoDifferenceShown) | None => ConclusionResult::NotShown,
    })
}

fn precise(outcomes: &[Outcome]) -> ConclusionResult {
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    let (right, wrong) = (sum(|one| one.quarantines.right), sum(|one| one.quarantines.wrong));
    let condemning = |one: &Outcome, of: fn(&mainstay_sim::ClassOutcome) -> u64| {
        one.classes.iter().filter(|(class, _)| class.condemns()).map(|(_, class)| of(class)).sum::<u64>()
    };
    let told: u64 = outcomes.iter().map(|one| condemning(one, |class| class.told)).sum();
    let alarms: u64 = outcomes.iter().map(|one| condemning(one, |class| class.false_alarms)).sum();
    if right + wrong < 20 {
        return ConclusionResult::NotShown;
    }
    // right / (right + wrong) >= 0.95 detectable / (detectable + alarms), without dividing.
    let enough = right * (told + alarms) * 100 >= OF_CEILING_PERCENT * told * (right + wrong);
    if enough { ConclusionResult::Holds } else { ConclusionResult::Reversed }
}

fn in_service(outcomes: &[Outcome]) -> ConclusionResult {
    let out: u64 = outcomes.iter().flat_map(|one| one.out_gpu_seconds.values()).sum();
    let all: u64 = outcomes.iter().map(|one| one.work.gpu_seconds).sum();
    if out * 1_000 < OUT_MILLI_MAX * all { ConclusionResult::Holds } else { ConclusionResult::Reversed }
}

fn page(rows: &[Row]) -> String {
    let mut text = format!(
        "# What the conclusions depend on\n\n\
         `cargo xtask prove sweep` writes this file. Do not edit it by hand.\n\n\
         Each row changes one parameter of the failure model ([rates](../../crates/mainstay-sim/tables/rates.tsv),\n\
         [other parameters](../../crates/mainstay-sim/tables/parameters.tsv)) to 0.3 or 3 times its value. A share stays within its limits.\n\
         Each case uses {SEEDS} seeds of {GPUS} GPUs for {DAYS} days at the rates `{}`. Both sides of a comparison get the same faults.\n\n\
         Conclusion 1 is a comparison, judged by the 95 % interval of the paired difference:\n\n\
         - *holds*: the interval is entirely on the expected side of zero.\n\
         - *not shown*: the interval contains zero.\n\
         - **no**: the interval is entirely on the other side of zero.\n\n\
         Conclusions 2 and 3 are thresholds: *holds* if the value meets it, **no** if not. Conclusion 2 is *not shown* below 20 removals.\n\n\
         Whether acting pays has [its own table](act-pays-sweep.md).\n\n\
         All results are about our own failure model. None is a measurement of a real fleet.\n\n",
        RATES.word()
    );
    for (number, conclusion) in (1..).zip(CONCLUSIONS) {
        let count = |stands: ConclusionResult| rows.iter().filter(|(_, all)| all[number - 1] == stands).count();
        let (holds, open, no) =
            (count(ConclusionResult::Holds), count(ConclusionResult::NotShown), count(ConclusionResult::Reversed));
        let said = match (open, no) {
            (0, 0) => "holds in all cases".to_owned(),
            (open, 0) => {
                format!("holds in {holds} of {} cases, was not shown in {open}, and is reversed in none", rows.len())
            }
            (open, no) => {
                format!("**does not hold in {no}** of {} cases, holds in {holds}, was not shown in {open}", rows.len())
            }
        };
        let _ = writeln!(text, "{number}. {conclusion} It {said}.");
    }
    text.push_str("\n| assumption | 1 | 2 | 3 |\n|---|---|---|---|\n");
    for (name, all) in rows {
        let words = all.map(ConclusionResult::word);
        let _ = writeln!(text, "| {name} | {} |", words.join(" | "));
    }
    text
}
