use super::*;

const DRAWS: u32 = 40_000;

fn mean(mut draw: impl FnMut(&mut RandomStream) -> f64) -> f64 {
    let mut chance = stream(11, Purpose::Fault, 5);
    (0..DRAWS).map(|_| draw(&mut chance)).sum::<f64>() / f64::from(DRAWS)
}

#[track_caller]
fn near(found: f64, expected: f64, within: f64) {
    assert!((found / expected - 1.0).abs() < within, "{found} is not within {within} of {expected}");
}

#[test]
fn a_draw_is_the_same_on_any_machine() {
    let chance = || stream(7, Purpose::Fault, 42);
    // To the bit: these values are part of every result that a seed stands for.
    let bits = [
        chance().unit(),
        chance().exponential(3.0),
        chance().weibull(100.0, 0.6),
        chance().lognormal(70.0, 1.17),
        chance().gamma(2.0, 0.5),
        chance().gamma(0.3, 1.0),
    ]
    .map(f64::to_bits);
    let expected: [u64; 6] = [
        0x3fdf_ff48_2fcb_a03c,
        0x4000_a228_64a0_4fb1,
        0x404b_237b_d8f5_aed9,
        0x406f_8143_b1a0_333a,
        0x3ffc_23eb_9964_9fdc,
        0x3fc0_fe1b_5908_5b58,
    ];
    assert_eq!(bits, expected);
    let mut several = chance();
    let whole: Vec<u32> = (0..6).map(|_| several.below(1_000)).collect();
    assert_eq!(whole, [181, 499, 423, 59, 435, 954]);
    let picks: Vec<usize> = (0..6).map(|_| several.pick(&[1.0, 0.0, 2.0, 3.0])).collect();
    assert_eq!(picks, [3, 3, 3, 2, 3, 0]);
}

#[test]
fn every_kind_of_draw_has_the_mean_it_should_have() {
    near(mean(RandomStream::unit), 0.5, 0.01);
    near(mean(|chance| f64::from(chance.below(9))), 4.0, 0.01);
    near(mean(|chance| if chance.happens(0.2) { 1.0 } else { 0.0 }), 0.2, 0.03);
    near(mean(|chance| chance.exponential(3.0)), 3.0, 0.02);
    near(mean(|chance| chance.weibull(100.0, 0.6)), 100.0 * libm::tgamma(1.0 + 1.0 / 0.6), 0.03);
    near(mean(|chance| chance.lognormal(70.0, 1.17)), 70.0 * libm::exp(1.17 * 1.17 / 2.0), 0.04);
    near(mean(|chance| chance.gamma(2.0, 0.5)), 1.0, 0.02);
    near(mean(|chance| chance.gamma(0.3, 2.0)), 0.6, 0.03);
}

#[test]
fn a_gamma_and_a_normal_have_the_spread_they_should_have() {
    let square = |value: f64| value * value;
    near(mean(|chance| square(chance.gamma(2.0, 0.5) - 1.0)), 0.5, 0.05);
    near(mean(|chance| square(chance.gamma(0.3, 1.0) - 0.3)), 0.3, 0.08);
    near(mean(|chance| square(libm::log(chance.lognormal(1.0, 2.0)))), 4.0, 0.03);
}

#[test]
fn a_pick_follows_the_weights_and_never_takes_one_of_none() {
    let weights = [1.0, 0.0, 3.0, 0.0];
    let mut chance = stream(3, Purpose::Fault, 0);
    let mut taken = [0_u32; 4];
    for _ in 0..DRAWS {
        taken[chance.pick(&weights)] += 1;
    }
    assert_eq!((taken[1], taken[3]), (0, 0));
    near(f64::from(taken[2]), f64::from(DRAWS) * 0.75, 0.02);
    assert_eq!(chance.pick(&[0.0, 0.0]), 0);
}

#[test]
fn streams_differ_by_seed_by_purpose_and_by_part() {
    let first = stream(1, Purpose::Fault, 1).unit().to_bits();
    assert_ne!(first, stream(2, Purpose::Fault, 1).unit().to_bits());
    assert_ne!(first, stream(1, Purpose::Burst, 1).unit().to_bits());
    assert_ne!(first, stream(1, Purpose::Fault, 2).unit().to_bits());
    assert_eq!(first, stream(1, Purpose::Fault, 1).unit().to_bits());
}

#[test]
fn a_span_is_never_negative_and_never_wraps() {
    assert_eq!(span_seconds(1.2345), Span(1_235));
    assert_eq!(span_seconds(-1.0), Span::ZERO);
    assert_eq!(span_seconds(f64::NAN), Span::ZERO);
    assert_eq!(span_seconds(f64::INFINITY), Span(u64::MAX));
}
