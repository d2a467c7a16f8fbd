//! Comparisons whose answer is known by hand, and what is said of clear and unclear ones.

use super::{Comparison, Direction, Estimate, Measure, PAIRS_MAX, Verdict, bootstrap, compare};
use crate::FaultClass;
use crate::outcome::{
    BudgetUse, Cause, DurationSummary, EngineCounters, FORMAT, JobTotals, Loss, Outcome, Quarantines, Run, Series,
};

/// A run that lost so many GPU-hours and finished so many jobs.
fn run(seed: u64, setting: Option<&str>, lost_gpu_hours: u64, finished: u64) -> Outcome {
    let lost = Loss { redone_gpu_seconds: lost_gpu_hours * 3_600, ..Loss::default() };
    Outcome {
        format: FORMAT,
        run: Run {
            gpus: 1_024,
            nodes: 128,
            days: 30,
            seed,
            rates: "base".into(),
            jobs: 2_048,
            settings: setting
                .and_then(|it| it.split_once('='))
                .map(|(n, v)| (n.into(), v.into()))
                .into_iter()
                .collect(),
        },
        work: JobTotals { finished, gpu_seconds: 1_000_000, useful_gpu_seconds: 900_000, ..JobTotals::default() },
        lost: [(Cause::Fault(FaultClass::LinkFlap), lost)].into(),
        out_gpu_seconds: [("planned".to_owned(), 36_000)].into(),
        out_by_stage_gpu_seconds: [].into(),
        classes: [].into(),
        quarantines: Quarantines::default(),
        detect: DurationSummary::default(),
        quarantine: DurationSummary::default(),
        back: DurationSummary::default(),
        lemons: crate::Lemons::default(),
        budget: BudgetUse::default(),
        engine: EngineCounters::default(),
        series: Series::default(),
        training: None,
    }
}

fn side(
    setting: Option<&str>,
    lost: impl IntoIterator<Item = u64>,
    finished: impl IntoIterator<Item = u64>,
) -> Vec<Outcome> {
    lost.into_iter().zip(finished).zip(1..).map(|((lost, finished), seed)| run(seed, setting, lost, finished)).collect()
}

/// Ten seeds: B loses 100 GPU-hours more, give or take 5, and finishes two jobs more or fewer by turns.
fn clear() -> Comparison {
    let a = side(None, (1..=10).map(|seed| 1_000 + 50 * seed), std::iter::repeat(500));
    let b = side(
        Some("checkpoint=at-once"),
        (1..=10).map(|seed| 1_095 + 50 * seed + 10 * (seed % 2)),
        (1..=10).map(|seed| 498 + 4 * (seed % 2)),
    );
    compare(&a, &b).unwrap()
}

#[test]
fn who_loses_more_on_every_seed_is_worse_however_much_the_seeds_differ() {
    let comparison = clear();
    let lost = comparison.of(Measure::WorkLost).unwrap();
    assert_eq!(lost.verdict, Verdict::ABetter);
    assert_eq!((lost.a.mean_milli, lost.b.mean_milli), (1_275_000, 1_375_000));
    assert_eq!(lost.difference.mean_milli, 100_000);
    // The seeds differ by 450; the pairs by 10 only, and it is the pairs that count.
    assert!(lost.difference.low_milli >= 95_000 && lost.difference.high_milli <= 105_000, "{lost:?}");
    assert_eq!(comparison.of(Measure::Redone).unwrap().difference, lost.difference);
    assert_eq!(comparison.of(Measure::JobsFinished).unwrap().verdict, Verdict::NoDifferenceShown);
}

#[test]
fn the_sides_swapped_give_the_mirrored_verdict() {
    let a = side(None, [10; 8], [100; 8]);
    let b = side(Some("mode=observe"), [10; 8], [90; 8]);
    for (comparison, expected) in [(compare(&a, &b), Verdict::ABetter), (compare(&b, &a), Verdict::BBetter)] {
        let finished = comparison.unwrap().of(Measure::JobsFinished).unwrap().clone();
        assert_eq!((finished.verdict, finished.better), (expected, Direction::More));
    }
}

#[test]
fn a_clear_case_says_who_is_better_at_what_and_what_was_not_shown() {
    let sentence = clear().sentence();
    let (begin, end) = sentence.split_once("95 % interval ").unwrap();
    assert_eq!(begin, "Over 10 seeds, the default is better at work lost (1,275 against 1,375 GPU-hours: 100 less, ");
    assert!(
        end.ends_with(
            "); no significant difference in work lost to Mainstay's drains, GPU time out of service, useful share of GPU time, jobs finished, interruptions, stops of jobs that could go on, \
             false quarantines, median time to return and p95 time to return."
        ),
        "{end}"
    );
}

#[test]
fn the_headline_is_about_work_lost_alone() {
    let headline = "the default loses 7 % less work than checkpoint=at-once: 100 GPU-hours less per run";
    assert_eq!(clear().headline(), headline);
    let a = side(None, [50; 20], [400; 20]);
    let unclear = compare(&a, &a).unwrap().headline();
    assert_eq!(unclear, "No significant difference in work lost between side A and side B");
}

#[test]
fn both_sides_can_be_better_at_something() {
    let a = side(Some("checkpoint=wait"), [50; 6], [400; 6]);
    let b = side(Some("checkpoint=at-once"), [60; 6], [430; 6]);
    let sentence = compare(&a, &b).unwrap().sentence();
    assert!(
        sentence.starts_with(
            "Over 6 seeds, checkpoint=wait is better at work lost (50.0 against 60.0 GPU-hours: 10.0 less, \
             95 % interval 10.0 to 10.0) and GPU time lost (50.0 against 60.0 GPU-hours); checkpoint=at-once is better at jobs finished (430 against 400: 30 more, \
             95 % interval 30 to 30); no significant difference in "
        ),
        "{sentence}"
    );
}

#[test]
fn where_nothing_differs_the_sentence_says_only_that() {
    let a = side(None, [50; 20], [400; 20]);
    let comparison = compare(&a, &a).unwrap();
    let sentence = comparison.sentence();
    assert!(
        sentence.starts_with("No significant difference between side A and side B over 20 seeds: not in work lost, ")
    );
    assert!(sentence.ends_with("median time to return nor in p95 time to return."), "{sentence}");
}

#[test]
fn few_seeds_show_nothing_even_where_all_of_them_agree() {
    let a = side(None, [10; 5], [100; 5]);
    let b = side(Some("mode=observe"), [90; 5], [100; 5]);
    let comparison = compare(&a, &b).unwrap();
    assert_eq!(comparison.of(Measure::WorkLost).unwrap().verdict, Verdict::NoDifferenceShown);
    assert_eq!(
        comparison.sentence(),
        "the default and mode=observe cannot be compared with 5 seeds: at least 6 are required."
    );
}

#[test]
fn a_time_that_one_side_does_not_have_leaves_the_pair_out() {
    let mut a = side(None, [10; 7], [100; 7]);
    let mut b = side(None, [10; 7], [100; 7]);
    for outcome in a.iter_mut().chain(b.iter_mut().skip(1)) {
        outcome.back = DurationSummary { count: 3, p50_seconds: 5_400, p95_seconds: 7_200, max_seconds: 9_000 };
    }
    let comparison = compare(&a, &b).unwrap();
    let back = comparison.of(Measure::BackMedian).unwrap();
    assert_eq!((back.pairs, back.a.mean_milli), (6, 1_500));
}

#[test]
fn the_interval_of_two_values_is_what_their_resamples_can_reach() {
    // Of 0 and 3,000 four samples can be drawn: means 0, 1,500 twice, 3,000.
    let expected = Estimate { mean_milli: 1_500, low_milli: 0, high_milli: 3_000 };
    assert_eq!(bootstrap::estimate(&[0, 3_000]), expected);
    assert_eq!(bootstrap::estimate(&[]), Estimate::default());
    assert_eq!(bootstrap::estimate(&[-7]), Estimate { mean_milli: -7, low_milli: -7, high_milli: -7 });
}

#[test]
fn the_interval_of_twenty_coins_is_the_binomial_one() {
    // Ten zeros and ten ones: a resample's sum is binomial(20, ½), of which 1.588 % are cut at each end. P(≤ 4) is
    // 0.59 %, P(≤ 5) 2.07 %: the interval is 5 to 15 of 20, which is 250 to 750 thousandths.
    let coins: Vec<i64> = (0..20).map(|coin| 1_000 * (coin % 2)).collect();
    assert_eq!(bootstrap::cut(20), 158);
    assert_eq!(bootstrap::estimate(&coins), Estimate { mean_milli: 500, low_milli: 250, high_milli: 750 });
}

#[test]
fn the_interval_widens_as_values_get_fewer() {
    let cuts: Vec<usize> = [1_000, 200, 60, 30, 20, 9, 6, 5].map(bootstrap::cut).into();
    assert_eq!(cuts, [240, 240, 211, 187, 158, 57, 24, 0]);
}

#[test]
fn figures_of_any_size_neither_overflow_nor_stop_the_comparison() {
    let mut a = side(None, [10; 6], [100; 6]);
    for outcome in &mut a {
        let all = u64::MAX;
        let loss = Loss { redone_gpu_seconds: all, hung_gpu_seconds: all, ..Loss::default() };
        outcome.lost.insert(Cause::People, loss);
        outcome.work.finished = all;
        outcome.out_gpu_seconds.insert("others".into(), all);
    }
    let comparison = compare(&a, &side(None, [10; 6], [100; 6])).unwrap();
    assert_eq!(comparison.of(Measure::JobsFinished).unwrap().pairs, 0);
    assert!(!comparison.sentence().is_empty());
}

#[test]
fn runs_of_other_fleets_seeds_or_settings_are_not_compared() {
    let a = side(None, [10; 6], [100; 6]);
    let detail = |b: &[Outcome]| compare(&a, b).unwrap_err().detail;
    let mut other = a.clone();
    for outcome in &mut other {
        outcome.run.days = 31;
    }
    assert_eq!(
        detail(&other),
        "A ran 1024 GPUs for 30 days with 2048 jobs, B ran 1024 GPUs for 31 days with 2048 jobs."
    );
    assert_eq!(detail(&a[1..]), "seed 1 is missing on side B; runs are compared pair by pair.");
    assert_eq!(detail(&[&a[..], &a[..1]].concat()), "the run of seed 1 appears twice.");
    let mut mixed = a.clone();
    mixed[3].run.rates = "high".into();
    assert_eq!(detail(&mixed), "the run of seed 4 has different settings from the first run.");
    assert_eq!(detail(&[]), "each side of a comparison must have 1 to 1000 runs.");
    let many: Vec<_> = (0..=PAIRS_MAX).map(|_| a[0].clone()).collect();
    assert_eq!(detail(&many), "each side of a comparison must have 1 to 1000 runs.");
}

#[test]
fn sides_are_called_by_what_sets_them_apart() {
    let names = |a: &[Outcome], b: &[Outcome]| compare(a, b).map(|it| (it.a, it.b)).unwrap();
    let (one, other) = (side(Some("mode=propose"), [1; 6], [1; 6]), side(None, [1; 6], [1; 6]));
    assert_eq!(names(&one, &other), ("mode=propose".into(), "the default".into()));
    assert_eq!(names(&one, &one), ("side A".into(), "side B".into()));
    let mut high = one.clone();
    high.iter_mut().for_each(|outcome| outcome.run.rates = "high".into());
    assert_eq!(names(&one, &high), ("base rates".into(), "high rates".into()));
}

#[test]
fn the_same_runs_give_the_same_bytes() {
    let bytes = || serde_json::to_string(&clear()).unwrap();
    assert_eq!(bytes(), bytes());
    assert!(
        bytes().contains(
            r#"{"measure":"work-lost","unit":"gpu-hours","better":"less","pairs":10,"a":{"meanMilli":1275000,"#
        )
    );
}
