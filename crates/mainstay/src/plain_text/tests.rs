//! Figures as people read them.

use super::{Align, Table, bar, duration, gpu_hours, gpu_hours_beside, percent, sparkline, wrapped};

#[test]
fn durations_have_their_two_largest_units() {
    let told = [0, 59, 60, 1_305, 15_120, 86_400, 188_400].map(duration);
    assert_eq!(told, ["0 s", "59 s", "1 min", "21 min 45 s", "4 h 12 min", "1 d", "2 d 4 h"]);
    assert_eq!(
        [0, 360, 3_600 * 99, 3_600 * 100, u64::MAX].map(gpu_hours),
        ["0", "0.1", "99.0", "100", "5,124,095,576,030,431"]
    );
    assert_eq!([percent(1, 3, 1), percent(0, 0, 1), percent(0, 5, 0)], ["33.3", "–", "0"]);
}

#[test]
fn a_column_of_gpu_hours_has_one_number_of_digits_and_little_is_not_nothing() {
    let hours = 3_600;
    assert_eq!([0, 20, 700, 5_040].map(|it| gpu_hours_beside(it, 50 * hours)), ["0", "<0.1", "0.2", "1.4"]);
    assert_eq!([0, 20, 5_040, 400 * hours].map(|it| gpu_hours_beside(it, 400 * hours)), ["0", "<1", "1", "400"]);
}

#[test]
fn a_bar_is_as_long_as_its_share_and_something_is_never_nothing() {
    assert_eq!([bar(10, 10, 4), bar(5, 10, 4), bar(1, 1_000, 4)], ["████", "██", "▏"]);
    assert_eq!([bar(0, 10, 4), bar(0, 0, 4)], ["", ""]);
    assert_eq!(bar(u64::MAX, 1, 4), "████");
}

#[test]
fn a_sparkline_has_one_column_a_value() {
    assert_eq!(sparkline(&[0, 1, 4, 8]), "·▁▄█");
    assert_eq!(sparkline(&[0, 0]), "··");
    assert_eq!(sparkline(&[]), "");
}

#[test]
fn columns_align_and_lines_have_no_blanks_at_their_end() {
    let mut table = Table::new(&[("name", Align::Left), ("hours", Align::Right), ("", Align::Left)]);
    table.row(["µ".into(), "5".into(), "██".into()]);
    table.row(["longer".into(), "1,234".into(), String::new()]);
    assert_eq!(table.text(), "  name    hours\n  µ           5  ██\n  longer  1,234\n");
}

#[test]
fn long_sentences_break_between_words() {
    assert_eq!(wrapped("one two three", 7, "  "), "one two\n  three\n");
    assert_eq!(wrapped("unbreakable x", 4, ""), "unbreakable\nx\n");
    assert_eq!(wrapped("in 95 % of", 6, ""), "in\n95 %\nof\n");
}
