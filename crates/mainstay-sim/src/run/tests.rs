use super::*;
use crate::{FailureModel, Rates, Training};

fn options(seed: u64) -> Options {
    let mut options = Options::new(512, 4, seed, Rates::Stress).unwrap();
    options.submit(150).unwrap();
    options
}

fn quiet(_: Progress) {}

#[test]
fn the_same_options_give_the_same_bytes_and_another_seed_does_not() {
    let json = |seed| serde_json::to_string(&run(&options(seed), &mut quiet)).unwrap();
    assert_eq!(json(7), json(7));
    assert_ne!(json(7), json(8).replace("\"seed\":8", "\"seed\":7"));
}

#[test]
fn heartbeats_that_change_nothing_need_not_be_told() {
    for seed in [3, 4] {
        let mut told = run_with(&options(seed), Heartbeats::Telling, &mut quiet);
        let mut all = run_with(&options(seed), Heartbeats::All, &mut quiet);
        assert!(all.engine.observations > 2 * told.engine.observations, "they were told");
        // The brain was told more, was asked more often and said more often what was not done yet; what came of it is the
        // same.
        for outcome in [&mut told, &mut all] {
            outcome.engine.observations = 0;
            outcome.engine.decisions = 0;
            outcome.engine.effects.clear();
            outcome.engine.effects_lost = 0;
        }
        let lines = |outcome: &Outcome| serde_json::to_string_pretty(outcome).unwrap();
        let (told, all) = (lines(&told), lines(&all));
        let differing: Vec<_> = told.lines().zip(all.lines()).filter(|(told, all)| told != all).collect();
        assert!(differing.is_empty(), "{differing:?}");
    }
}

#[test]
fn progress_goes_to_the_end_and_never_back() {
    let mut seen = Vec::new();
    run(&options(1), &mut |progress| seen.push(progress));
    assert!(seen.windows(2).all(|pair| pair[0].done <= pair[1].done));
    assert_eq!(seen.last().map(|last| last.done), seen.last().map(|last| last.of));
    assert!(seen.len() > 50, "{}", seen.len());
}

#[test]
fn a_fleet_without_faults_loses_nothing_and_takes_nobody_out() {
    let mut calm = options(5);
    calm.model = FailureModel::built_in(Rates::Base);
    calm.model.scale("all-rates", 1e-9).unwrap();
    calm.model.set("new_nodes_share", 0.0).unwrap();
    let outcome = run(&calm, &mut quiet);
    assert_eq!(outcome.quarantines, Quarantines::default());
    assert!(outcome.lost.is_empty(), "{:?}", outcome.lost);
    assert!(outcome.work.finished > 100, "{:?}", outcome.work);
}

#[test]
fn a_training_job_without_faults_pauses_for_its_saves_and_starts_once() {
    let training = Training { gpus: 64, checkpoint: Span::minutes(9), save: Span::minutes(1), start: Span::hours(1) };
    let mut options = Options::training(training, 10, 1, Rates::Base).unwrap();
    options.model.scale(crate::ALL_RATES, 1e-9).unwrap();
    options.model.set("new_nodes_share", 0.0).unwrap();
    let outcome = run(&options, &mut quiet);
    let trained = outcome.training.unwrap();
    // A spare node in twenty; nine tenths of 239 of 240 hours.
    assert_eq!(outcome.run.nodes, 9);
    assert!((896_000..=896_300).contains(&trained.ettr_ppm), "{trained:?}");
    assert_eq!((trained.slowed_ppm, trained.node_repairs), (0, 0));
    assert!(trained.waited_seconds <= 60, "{trained:?}");
}

#[test]
fn a_training_job_loses_more_the_more_often_it_is_interrupted() {
    let training = Training { gpus: 512, checkpoint: Span::minutes(60), save: Span::ZERO, start: Span::minutes(10) };
    let ettr = |factor: f64| {
        let mut options = Options::training(training, 20, 3, Rates::Base).unwrap();
        options.model.scale(crate::ALL_RATES, factor).unwrap();
        options.set("mode=observe").unwrap();
        let outcome = run(&options, &mut quiet);
        (outcome.training.unwrap().ettr_ppm, outcome.work.interruptions.values().sum::<u64>())
    };
    let (calm, few) = ettr(0.5);
    let (busy, many) = ettr(8.0);
    assert!(calm > busy && few < many, "{calm} {few} {busy} {many}");
}
