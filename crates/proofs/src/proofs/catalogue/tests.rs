//! That the proof notices: a rule that is missing, an exception that is not listed, one that is not needed, a table that
//! differs.

use mainstay_engine::Guards;
use mainstay_health::Catalogue;
use mainstay_model::Response;

use super::*;

fn cases() -> Vec<Case> {
    TABLES.iter().flat_map(|text| case::read(text).unwrap()).collect()
}

fn wrong(catalogue: Catalogue, published: &VendorTables) -> Vec<String> {
    let cases = cases();
    let outcomes = fleet::play(&cases, Engine::with(catalogue, Guards::all_on())).unwrap();
    Verdict::of(&cases, &outcomes, published).wrong
}

#[test]
fn the_catalogue_does_what_is_published() {
    assert_eq!(wrong(Catalogue::built_in(), &VendorTables::built_in()), Vec::<String>::new());
}

/// A rule that watches is left out: without it, the code is unknown and watched as well.
#[test]
fn every_rule_of_the_vendors_tables_is_missed_where_it_is_missing() {
    let (whole, published) = (Catalogue::built_in(), VendorTables::built_in());
    let of_xids = published.xids.iter().filter_map(|xid| xid.rule.as_ref());
    let of_causes = published.nvlink5.iter().map(|cause| &cause.rule);
    let of_sxids = published.sxids.iter().map(|sxid| &sxid.rule);
    let rules: BTreeSet<&str> = of_xids.chain(of_causes).chain(of_sxids).map(|rule| rule.as_str()).collect();
    assert!(rules.len() > 50, "{} rules", rules.len());
    for rule in rules {
        let response = whole.rule(rule).unwrap().response;
        let noticed = !wrong(whole.without(rule), &published).is_empty();
        assert!(noticed || response == Response::Watch, "nothing changes without {rule}");
    }
}

#[test]
fn a_difference_that_is_not_listed_is_noticed_and_so_is_a_list_that_makes_none() {
    let mut published = VendorTables::built_in();
    let dropped = published.exceptions.remove(0);
    assert!(wrong(Catalogue::built_in(), &published).iter().any(|line| line.contains("should be")));
    published.exceptions.extend([dropped.clone(), Exception { published: "RESET_GPU".into(), ..dropped }]);
    let told = wrong(Catalogue::built_in(), &published);
    assert_eq!(told.len(), 1);
    assert!(told.iter().all(|line| line.ends_with("is listed and makes no difference")), "{told:?}");
}

#[test]
fn a_table_that_says_something_else_is_noticed() {
    let mut published = VendorTables::built_in();
    let reset = published.buckets.iter().find(|bucket| &*bucket.name == "RESET_GPU").cloned();
    published.xids.iter_mut().filter(|xid| xid.code.as_str() == "8").for_each(|xid| xid.immediate = reset.clone());
    let told = wrong(Catalogue::built_in(), &published);
    assert!(told.iter().any(|line| line == "xid 8 is RESTART_APP and our table has RESET_GPU"), "{told:?}");
}

#[test]
fn a_table_that_cannot_be_read_is_told() {
    assert!(case::read("xid 1\tgpu").is_err());
    assert!(case::read("xid 1\tgpu\tdriver\tx\tdies\tline").is_err());
}
