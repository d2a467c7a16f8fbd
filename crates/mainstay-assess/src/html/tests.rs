use super::*;

#[test]
fn nothing_of_a_log_becomes_part_of_the_page() {
    let mut body = String::new();
    table(&mut body, &["A", ">B"], [vec![cell("<b>"), right("1")]].into_iter(), 3);
    assert!(body.contains("<td>&lt;b&gt;</td>") && body.contains("1 of 3"), "{body}");
}

#[test]
fn the_page_fetches_nothing_and_runs_nothing() {
    for forbidden in ["http", "url(", "@import", "<script"] {
        assert!(!style::CSS.contains(forbidden), "{forbidden}");
    }
}
