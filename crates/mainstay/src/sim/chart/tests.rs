//! The picture of runs that are known.

use mainstay_sim::Outcome;
use mainstay_sim::{Comparison, compare};

use super::svg;

fn comparison(hung_factor: u64) -> Comparison {
    let outcome: Outcome = serde_json::from_str(include_str!("../../../tests/golden/outcome.json")).unwrap();
    let side = |factor: u64| -> Vec<Outcome> {
        let seeded = (1..=8).map(|seed| {
            let mut outcome = outcome.clone();
            outcome.run.seed = seed;
            for loss in outcome.lost.values_mut() {
                loss.hung_gpu_seconds = loss.hung_gpu_seconds * factor + seed * 3_600;
            }
            outcome
        });
        seeded.collect()
    };
    compare(&side(1), &side(hung_factor)).unwrap()
}

#[test]
fn the_title_is_the_finding_and_every_part_has_its_bar() {
    let picture = svg(&comparison(2));
    assert!(picture.contains("% less work than side B: "), "{picture}");
    for words in
        ["redone since the last checkpoint", "hung", "checkpoint on request", "slowed", "no significant difference"]
    {
        assert!(picture.contains(&format!(">{words}</text>")), "{words}");
    }
}

#[test]
fn names_from_outside_cannot_become_markup() {
    let picture = svg(&comparison(2).named("<script>alert(1)</script>".into(), "a&b".into()));
    assert!(!picture.contains("<script") && picture.contains("&lt;script&gt;") && picture.contains("a&amp;b"));
}

#[test]
fn nothing_is_drawn_outside_the_picture() {
    let picture = svg(&comparison(40));
    for width in picture.split("<rect ").skip(1).filter_map(|rect| rect.split("width=\"").nth(1)) {
        let width: f64 = width.split('"').next().unwrap().parse().unwrap();
        assert!((0.0..=1_200.0).contains(&width), "{width}");
    }
}

#[test]
fn the_same_runs_give_the_same_picture() {
    assert_eq!(svg(&comparison(2)), svg(&comparison(2)));
}
