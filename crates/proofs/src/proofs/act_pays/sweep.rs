//! The comparison with every assumption of the failure model at 0.3 and at 3 times its value. It writes
//! `docs/reference/act-pays-sweep.md`.

use std::fmt::Write as _;

use mainstay_sim::{FailureModel, Measure, Options, Outcome, Rates, run};

use super::{Responder, parallel_map};
use crate::prove::{Context, Measurement, Proof};

const GPUS: u32 = 1_024;
const DAYS: u32 = 20;
const SEEDS: u64 = 6;
const RATES: Rates = Rates::Stress;
const FACTORS: [f64; 2] = [0.3, 3.0];
const PAGE: &str = "docs/reference/act-pays-sweep.md";
/// Chance of a wrong reversal in the whole table.
const LEVEL: f64 = 0.05;

const OPPONENTS: [Responder; 3] = [Responder::Operators, Responder::Tool("wait"), Responder::Tool("0")];

pub(in crate::proofs) const PROOF: Proof = Proof {
    name: "act-pays-sweep",
    run: |context: &Context| {
        Box::pin(async {
            let rows = rows()?;
            std::fs::write(context.workspace.root.join(PAGE), page(&rows))?;
            let tests = rows.len() * OPPONENTS.len();
            let count = |result: fn(&Difference, usize) -> bool| {
                rows.iter().flat_map(|row| &row.against).filter(|one| result(one, tests)).count()
            };
            let (reversed, less) = (count(Difference::is_reversed), count(Difference::is_less));
            let detail =
                format!("{} cases, {tests} comparisons: Mainstay loses less in {less}, more in {reversed}", rows.len());
            Ok(Measurement { value: i64::try_from(reversed)?, detail })
        })
    },
};

/// One assumption changed.
struct Row {
    name: String,
    against: Vec<Difference>,
}

/// Mainstay's loss less the opponent's, per GPU-hour of the opponent's loss, with Student's t of the pairs.
struct Difference {
    share: f64,
    t: f64,
}

impl Difference {
    fn of(mainstay: &[Outcome], opponent: &[Outcome]) -> Self {
        let lost = |outcome: &Outcome| Measure::Lost.milli(outcome).and_then(|milli| i32::try_from(milli / 1_000).ok());
        let hours = |outcomes: &[Outcome]| outcomes.iter().filter_map(lost).map(f64::from).collect::<Vec<f64>>();
        let (ours, theirs) = (hours(mainstay), hours(opponent));
        let pairs: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours - theirs).collect();
        let count = f64::from(u32::try_from(pairs.len()).unwrap_or(1).max(1));
        let mean = pairs.iter().sum::<f64>() / count;
        let variance = pairs.iter().map(|pair| (pair - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        let t = if variance > 0.0 { mean / (variance / count).sqrt() } else { 0.0 };
        Self { share: mean / (theirs.iter().sum::<f64>() / count).max(1.0), t }
    }

    /// Mainstay loses more, also when the chance of one wrong answer is divided among all comparisons.
    fn is_reversed(&self, tests: usize) -> bool {
        upper_tail(self.t) < LEVEL / f64::from(u32::try_from(tests).unwrap_or(u32::MAX))
    }

    fn is_less(&self, tests: usize) -> bool {
        upper_tail(-self.t) < LEVEL / f64::from(u32::try_from(tests).unwrap_or(u32::MAX))
    }
}

/// The chance that Student's t with five degrees of freedom, of six pairs, is above this.
fn upper_tail(t: f64) -> f64 {
    let angle = (t / 5.0_f64.sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    0.5 - (angle + sin * cos + 2.0 / 3.0 * sin * cos.powi(3)) / std::f64::consts::PI
}

fn rows() -> anyhow::Result<Vec<Row>> {
    let model = FailureModel::built_in(RATES);
    let mut cases: Vec<Option<(&str, f64)>> = vec![None];
    for name in model.names() {
        cases.extend(FACTORS.map(|factor| Some((name, factor))));
    }
    let rows = parallel_map(u64::try_from(cases.len())?, |number| row(cases[usize::try_from(number)?]));
    rows.into_iter().filter_map(Result::transpose).collect()
}

/// Nothing where the assumption is at its bound already.
fn row(changed: Option<(&str, f64)>) -> anyhow::Result<Option<Row>> {
    let with = |responder: Responder| -> anyhow::Result<Option<Vec<Outcome>>> {
        let mut outcomes = Vec::new();
        for seed in 1..=SEEDS {
            let mut options = Options::new(GPUS, DAYS, seed, RATES)?;
            if let Some((name, factor)) = changed {
                let before = options.model.clone();
                if options.model.scale(name, factor).is_err() || options.model == before {
                    return Ok(None);
                }
            }
            responder.set(&mut options)?;
            outcomes.push(run(&options, &mut |_| {}));
        }
        Ok(Some(outcomes))
    };
    let Some(mainstay) = with(Responder::Mainstay)? else { return Ok(None) };
    let mut against = Vec::new();
    for opponent in OPPONENTS {
        let Some(theirs) = with(opponent)? else { return Ok(None) };
        against.push(Difference::of(&mainstay, &theirs));
    }
    let name = changed.map_or_else(|| "as published".to_owned(), |(name, factor)| format!("{name} x{factor}"));
    Ok(Some(Row { name, against }))
}

fn page(rows: &[Row]) -> String {
    let tests = rows.len() * OPPONENTS.len();
    let mut text = format!(
        "# Does acting still pay if an assumption is wrong?\n\n\
         `cargo xtask prove act-pays-sweep` writes this file. Do not edit it by hand.\n\n\
         Each row changes one parameter of the failure model to 0.3 or 3 times its value. Each case uses {SEEDS} seeds of\n\
         {GPUS} GPUs for {DAYS} days at the rates `{}`. Each figure is the GPU time that Mainstay loses, compared with the\n\
         opponent on the same faults: −20 % means that Mainstay loses 20 % less. A figure is **bold** if chance does not explain\n\
         it: the paired t test at 5 %, divided by the {tests} comparisons of the table (Bonferroni).\n\n\
         All results are simulated, with our own failure model. None is a measurement of a real fleet.\n\n",
        RATES.word()
    );
    let names: Vec<String> = OPPONENTS.map(Responder::words).to_vec();
    let _ = writeln!(text, "| assumption | {} |\n|---|---|---|---|", names.join(" | "));
    for row in rows {
        let figure = |one: &Difference| {
            let figure = format!("{:+.0} %", one.share * 100.0).replace('-', "−");
            if one.is_less(tests) || one.is_reversed(tests) { format!("**{figure}**") } else { figure }
        };
        let figures: Vec<String> = row.against.iter().map(figure).collect();
        let _ = writeln!(text, "| {} | {} |", row.name, figures.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_student_with_five_degrees_of_freedom_is_that_of_the_tables() {
        for (t, tail) in [(0.0, 0.5), (2.015, 0.05), (2.571, 0.025), (4.032, 0.005)] {
            assert!((upper_tail(t) - tail).abs() < 1e-4, "{t}: {}", upper_tail(t));
        }
        assert!((upper_tail(-2.015) - 0.95).abs() < 1e-4);
    }
}
