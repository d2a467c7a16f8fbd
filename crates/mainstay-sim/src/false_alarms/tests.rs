use super::*;

#[test]
fn two_of_five_cry_and_each_once_an_hour() {
    let crying: Vec<u32> = (0..100).filter(|node| fleet::has_new_driver(*node)).collect();
    assert_eq!(crying.len(), 40);
    let cries = cries(&crying, 7);
    assert_eq!(cries.len(), 40 * 12);
    assert!(cries.iter().all(|cry| cry.at >= Timestamp(0) + BEGINS && cry.at < Timestamp(0) + MENDED));
}

#[test]
fn what_really_breaks_breaks_in_racks_of_its_own() {
    let nodes: BTreeSet<u32> = breaks(1_000, 7).iter().map(|onset| onset.node).collect();
    assert_eq!(u64::try_from(nodes.len()).ok(), Some(BREAK));
}
