//! What reading a catalogue refuses, and what switching a rule off leaves.

use super::*;

const LAST: &str = "*\t*\t-\t-\t1/24\tunknown-code\tWATCH\tours";

fn problems(lines: &[&str]) -> Vec<(u32, String)> {
    let text = lines.join("\n");
    let problems = Catalogue::parse(&text).err().unwrap_or_default();
    problems.into_iter().map(|problem| (problem.line, problem.what)).collect()
}

#[test]
fn the_built_in_catalogue_is_sound_and_in_the_order_of_its_tables() {
    let catalogue = all_tables().unwrap();
    assert_eq!(catalogue, Catalogue::built_in());
    let mut ranks: Vec<u16> = catalogue.rows().map(|row| row.rank).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, (0..u16::try_from(ranks.len()).unwrap()).collect::<Vec<_>>());
    let rank = |rule: &str| catalogue.rule(rule).map(|row| row.rank).unwrap();
    assert_eq!(rank("recovery-reboot"), 0, "the vendor's verdict leads");
    assert!(rank("gpu-off-the-bus") < rank("gpu-timeout"), "hand-written rows come before plain ones");
    assert_eq!(usize::from(rank("unknown-code")), ranks.len() - 1, "whoever's codes come last");
}

#[test]
fn every_published_code_has_rows() {
    let (catalogue, published) = (Catalogue::built_in(), VendorTables::built_in());
    let (xids, sxids) = (&published.xids, &published.sxids);
    assert_eq!((xids.len(), published.nvlink5.len(), sxids.len()), (172, 98, 93), "95 causes, 3 with a second action");
    let numbers: Vec<u32> = xids.iter().map(|xid| xid.code.as_str().parse().unwrap()).collect();
    assert_eq!(numbers, (1..=172).collect::<Vec<u32>>());
    for code in xids.iter().map(|xid| &xid.code) {
        assert!(catalogue.known(Source::Xid, code.as_str()).is_some(), "XID {code}");
    }
    for code in sxids.iter().map(|sxid| &sxid.code) {
        assert!(catalogue.known(Source::Sxid, code.as_str()).is_some(), "SXid {code}");
    }
}

#[test]
fn every_exception_names_a_rule_of_its_code() {
    let catalogue = Catalogue::built_in();
    for exception in VendorTables::built_in().exceptions {
        let group = catalogue.known(exception.source, exception.code.as_str()).unwrap();
        assert!(group.rows.iter().any(|row| row.rule == exception.rule), "{exception:?}");
    }
}

#[test]
fn everything_wrong_with_a_line_is_told_at_once() {
    let bad = "Xyz\t7 9\tany r9:1\t\t0/25\tGPU Gone\tKILL\t ";
    let found: Vec<String> = problems(&["# a comment", "", bad, LAST]).into_iter().map(|(_, what)| what).collect();
    assert_eq!(
        found,
        [
            "source has an unknown value",
            "the code cannot be read",
            "the condition cannot be read",
            "the code cannot be read",
            "the threshold cannot be read",
            "the rule name is invalid",
            "the bucket is unknown",
            "the source of the fact is missing",
        ]
    );
}

#[test]
fn a_problem_says_where_what_and_what_to_do() {
    let text = format!("Xid\t79\t-\t-\tonce\toff\tNOTE\tours\n{LAST}");
    let problem = Catalogue::parse(&text).unwrap_err().remove(0);
    assert_eq!(
        problem.to_string(),
        "catalogue line 1: the threshold cannot be read\n  detail: count is \"once\"\n  \
         hint:   write a count of at least 1 and a number of hours from 1 to 24: 3/24"
    );
}

#[test]
fn a_short_row_is_one_problem() {
    assert_eq!(problems(&["Xid\t79", LAST]), [(1, "the row is not complete".to_owned())]);
}

#[test]
fn no_code_may_be_passed_over_in_silence() {
    let storm = "PcieAer\tcorrectable\t-\t-\t1000/1\tstorm\tWATCH\tours";
    let needs = "evidence of this code could be ignored";
    assert_eq!(problems(&[storm, LAST]), [(1, needs.to_owned())]);
    let shorter = "Xid\t79\t-\t-\t1/23\toff\tWATCH\tours";
    assert_eq!(problems(&[shorter, LAST]), [(1, needs.to_owned())]);
    assert_eq!(problems(&["# nothing"]), [(0, "unknown codes would be ignored".to_owned())]);
}

#[test]
fn a_row_that_cannot_be_reached_is_told() {
    let wide = "Xid\t79\t-\t-\t1/24\toff\tWATCH\tours";
    let narrow = "Xid\t79\tto 0x1\t63\t3/24\toff-again\tWATCH\tours";
    let found = problems(&[wide, narrow, LAST]);
    assert!(found.contains(&(2, "the row is never reached".to_owned())), "{found:?}");
    assert_eq!(problems(&[narrow, wide, LAST]), []);
    assert_eq!(problems(&[wide, wide, LAST]), [(2, "the row is never reached".to_owned())]);
}

#[test]
fn a_detail_is_parsed_only_for_a_code_with_a_condition_on_it() {
    let plain = "Xid\t79\t-\t-\t1/24\toff\tWATCH\tours";
    let narrow = "Xid\t80\tto 0x1\t-\t1/24\tone\tRESTART_BM\tours";
    let wide = "Xid\t80\t-\t-\t1/24\tany\tWATCH\tours";
    let catalogue = Catalogue::parse(&[plain, narrow, wide, LAST].join("\n")).unwrap();
    let of = |code: &str| catalogue.known(Source::Xid, code).map(|group| (group.detail, group.strongest)).unwrap();
    assert_eq!(of("79"), (DetailUse::No, Response::Watch));
    assert_eq!(of("80"), (DetailUse::Yes, Response::Remove));
}

#[test]
fn one_rule_has_one_answer() {
    let first = "Xid\t79\t-\t-\t1/24\toff\tRESTART_BM\tours";
    let same = "Xid\t80\t-\t-\t1/24\toff\tRESTART_BM\tours";
    let other = "Xid\t81\t-\t-\t1/24\toff\tRESTART_SOON\tours";
    assert_eq!(problems(&[first, same, LAST]), []);
    assert_eq!(problems(&[first, other, LAST]), [(2, "one rule has two responses".to_owned())]);
}

#[test]
fn unknown_codes_have_one_rule_whatever_their_source() {
    let half = "Xid\t*\t-\t-\t1/24\tunknown-xid\tWATCH\tours";
    assert_eq!(problems(&[half, LAST]), [(1, "a row for any code of one source".to_owned())]);
}

#[test]
fn without_a_rule_the_others_keep_their_rank() {
    let whole = Catalogue::built_in();
    let less = whole.without("gpu-off-the-bus");
    assert_eq!(less.rule("gpu-off-the-bus"), None);
    let own = whole.rows().filter(|row| row.rule.as_str() == "gpu-off-the-bus").count();
    assert_eq!((less.rows().count() + own, own), (whole.rows().count(), 3));
    assert!(less.rows().all(|row| whole.rows().any(|known| known == row)));
}
