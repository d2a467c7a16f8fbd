use super::*;

#[cfg(feature = "developer")]
#[test]
fn every_rule_can_be_named() {
    for rule in Guard::ALL {
        assert_eq!(guard(rule.name()), Ok(rule));
    }
}

#[test]
fn a_long_line_of_a_story_goes_on_below_its_text() {
    let words = "word ".repeat(30);
    let told = in_columns(&format!("01:02:03.004    {words}"));
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines.len() > 1 && lines[0].starts_with("  01:02:03.004    word word"), "{told}");
    assert!(lines[1..].iter().all(|line| line.starts_with(&format!("{}word", " ".repeat(18)))), "{told}");
    assert!(lines.iter().all(|line| line.chars().count() <= COLUMNS), "{told}");
}
