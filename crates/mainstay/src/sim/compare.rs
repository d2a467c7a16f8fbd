//! Both sides of a comparison: run on two threads or read from files, then told as a sentence, a table and bars.

#[cfg(test)]
mod tests;
mod text;

use std::sync::atomic::{AtomicUsize, Ordering};

use mainstay_sim::{Comparison, compare};
use mainstay_sim::{Options, Outcome};
use serde::Serialize;

use super::progress::Bar;
use super::{CompareArgs, Output, chart, runs};
use crate::output::{self, Problem};

/// Runs that are made at the same time. A run of a large fleet takes memory, and two keep a laptop usable.
const THREADS: usize = 2;

/// The comparison with its summary sentence.
#[derive(Serialize)]
struct ComparisonReport<'a> {
    sentence: String,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

pub(super) fn run(sides: &CompareArgs) -> Result<String, Problem> {
    if sides.a.is_empty() && sides.b.is_empty() && sides.a_runs.is_empty() && sides.b_runs.is_empty() {
        return Err(Problem {
            what: "nothing to compare".into(),
            detail: "sides A and B both use the default settings, so there is no difference to measure.".into(),
            hint: "give a setting, for example --a checkpoint=wait --b checkpoint=at-once".into(),
        });
    }
    let wanted = [wanted(sides, &sides.a, sides.a_runs.is_empty())?, wanted(sides, &sides.b, sides.b_runs.is_empty())?];
    // Files first: a mistyped name must not cost the runs of the other side.
    let mut a = runs::read(&sides.a_runs)?;
    let mut b = runs::read(&sides.b_runs)?;
    let [mut to_run, to_run_b] = wanted;
    let of_a = to_run.len();
    to_run.extend(to_run_b);
    if !to_run.is_empty() {
        let bar = Bar::new(&sides.world, u64::try_from(to_run.len()).unwrap_or(u64::MAX));
        let mut outcomes = run_all(&to_run, &bar)?;
        bar.finish();
        b.extend(outcomes.split_off(of_a));
        a.extend(outcomes);
    }
    let comparison = compare(&a, &b)?;
    let name = |said: &[String], found: &str| if said.is_empty() { found.to_owned() } else { said.join(", ") };
    let (a_name, b_name) = (name(&sides.a, &comparison.a), name(&sides.b, &comparison.b));
    let comparison = comparison.named(a_name, b_name);
    if let Some(path) = &sides.svg {
        std::fs::write(path, chart::svg(&comparison)).map_err(|error| Problem {
            what: format!("cannot write {}", path.display()),
            detail: format!("{error}."),
            hint: "choose a file in a writable folder".into(),
        })?;
    }
    match sides.format.output {
        Output::Text => Ok(text::text(&comparison)),
        Output::Json => output::json(&ComparisonReport { sentence: comparison.sentence(), comparison: &comparison }),
    }
}

/// The runs of one side, none where they come as files.
fn wanted(sides: &CompareArgs, own: &[String], to_be_run: bool) -> Result<Vec<Options>, Problem> {
    let seeds =
        (0..u64::from(if to_be_run { sides.seeds } else { 0 })).map(|place| sides.first_seed.checked_add(place));
    let seeds: Option<Vec<u64>> = seeds.collect();
    let seeds = seeds.ok_or_else(|| Problem {
        what: format!("{} seeds from {} are too many", sides.seeds, sides.first_seed),
        detail: format!("the largest seed is {}.", u64::MAX),
        hint: "use a smaller --first-seed".into(),
    })?;
    seeds.into_iter().map(|seed| sides.world.options(seed, own)).collect()
}

/// Outcomes in the order of the options, whichever thread came first.
fn run_all(all: &[Options], bar: &Bar) -> Result<Vec<Outcome>, Problem> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(options) = all.get(place) else { return made };
            made.push((place, mainstay_sim::run(options, &mut bar.of_run())));
        }
    };
    let joined: Result<Vec<_>, _> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS.min(all.len())).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    let mut made = joined.map_err(|_| Problem {
        what: "a run stopped".into(),
        detail: "an assertion in the simulator failed; see the message above.".into(),
        hint: "this is a bug in mainstay: please report it with the command you ran.".into(),
    })?;
    let mut made: Vec<_> = made.drain(..).flatten().collect();
    made.sort_by_key(|(place, _)| *place);
    Ok(made.into_iter().map(|(_, outcome)| outcome).collect())
}
