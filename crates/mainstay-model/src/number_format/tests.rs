use super::{counted, format_milli, thousands};

#[test]
fn thousandths_have_commas_and_are_rounded() {
    let inputs = [(0, 0), (999, 0), (1_234_567_499, 0), (-1_499, 1), (-49, 1), (1_500, 3), (i64::MIN, 0)];
    let texts = inputs.map(|(milli, decimals)| format_milli(milli, decimals));
    assert_eq!(texts, ["0", "1", "1,234,567", "-1.5", "0.0", "1.500", "-9,223,372,036,854,776"]);
}

#[test]
fn numbers_have_commas_and_their_nouns_agree() {
    assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    assert_eq!(thousands(u64::MAX), "18446744073709551615");
    assert_eq!([counted(1, "node", "nodes"), counted(0, "node", "nodes")], ["1 node", "0 nodes"]);
}
