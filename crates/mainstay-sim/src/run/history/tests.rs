use std::collections::BTreeSet;

use mainstay_model::NodeName;

use super::*;
use crate::Rates;

fn lived(seed: u64) -> History {
    let mut options = Options::new(64 * 8, 60, seed, Rates::Base).unwrap();
    options.submit(0).unwrap();
    options.set("mode=observe").unwrap();
    history(&options, &mut |_| {})
}

#[test]
fn the_same_seed_writes_the_same_logs() {
    let one = lived(3);
    assert_eq!(one, lived(3));
    assert_ne!(one, lived(4));
    assert!(one.lines.is_sorted_by_key(|line| line.at));
}

#[test]
fn what_is_about_a_part_is_evidence_and_a_gpu_is_named_first() {
    let lived = lived(3);
    let mut named: BTreeSet<(NodeName, u32, String)> = BTreeSet::new();
    for line in &lived.lines {
        assert_eq!(mainstay_signal::parse(&line.text).is_some(), line.about.is_some(), "{}", line.text);
        if let Some(serial) = line.text.strip_prefix("NVRM: GPU Board Serial Number: ") {
            named.insert((line.node.clone(), line.boot, serial.to_owned()));
        }
        if line.text.starts_with("NVRM: Xid")
            && let Some((_, serial)) = &line.about
        {
            assert!(named.contains(&(line.node.clone(), line.boot, serial.to_string())), "{}", line.text);
        }
    }
    assert!(lived.faults.iter().any(|fault| fault.printed_at.is_some() && !fault.said.is_empty()));
}

#[test]
fn people_open_tickets_for_what_is_there_and_close_most_of_them() {
    let lived = lived(3);
    assert!(lived.tickets.len() > 3, "{}", lived.tickets.len());
    assert!(lived.tickets.iter().filter(|ticket| ticket.closed_at.is_some()).count() * 2 > lived.tickets.len());
    assert!(lived.tickets.iter().filter(|ticket| !ticket.faults.is_empty()).count() > 3);
}
