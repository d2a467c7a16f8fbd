//! Whiskers in a terminal.

use mainstay_sim::Estimate;

use super::text::whiskers;

fn side(low_milli: i64, mean_milli: i64, high_milli: i64) -> Estimate {
    Estimate { mean_milli, low_milli, high_milli }
}

#[test]
fn a_bar_ends_where_its_interval_ends() {
    let bar = whiskers(side(28, 42, 56), 56);
    assert_eq!(bar, format!("{}├{}┼{}┤", "█".repeat(28), "─".repeat(13), "─".repeat(13)));
}

#[test]
fn an_interval_narrower_than_a_column_leaves_a_plain_bar() {
    assert_eq!(whiskers(side(28, 28, 28), 56), "█".repeat(28));
    assert_eq!(whiskers(side(0, 0, 0), 0), "");
}

#[test]
fn a_mean_at_the_end_of_its_interval_leaves_both_ends_visible() {
    assert_eq!(whiskers(side(2, 2, 5), 56), "██├┼─┤");
    assert_eq!(whiskers(side(2, 5, 5), 56), "██├─┼┤");
}

#[test]
fn figures_of_any_size_draw_a_bar_that_fits() {
    assert_eq!(whiskers(side(i64::MIN, 0, i64::MAX), i64::MAX).chars().count(), 57);
}
