//! That the proof notices: a line that is not recognised, a wrong component, a table that names what is not there.

use super::*;

fn excerpt(line: &str, label: &str, component_kind: &str) -> Excerpt {
    Excerpt {
        id: "wild-9999".to_owned(),
        lines: vec![line.to_owned()],
        label: label.to_owned(),
        component_kind: component_kind.to_owned(),
        confidence: "guess".to_owned(),
    }
}

#[test]
fn a_fault_is_told_with_its_component_and_its_flag() {
    let tables = Tables::read().unwrap();
    let line = "[  12.5] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.";
    let outcome = excerpt::assess(&excerpt(line, "gpu-off-bus", "GPU")).unwrap();
    assert_eq!(outcome.evidence, [("79".to_owned(), "GPU".to_owned())]);
    assert!(outcome.flagged);
    assert!(outcome.has_component(&tables, "GPU 3") && !outcome.has_component(&tables, "DIMM 3"));
    assert!(!outcome.has_component(&tables, "no such words"));
    let nothing = excerpt::assess(&excerpt("all is well", "noise/benign", "GPU")).unwrap();
    assert_eq!(nothing, Outcome::default());
}

#[test]
fn every_row_of_the_second_table_names_a_fault_excerpt() {
    let excerpts: Vec<Excerpt> = EXCERPTS.lines().map(|line| excerpt::read(line).unwrap()).collect();
    for row in include_str!("elsewhere.tsv").lines().filter(|line| !line.starts_with('#')) {
        let id = row.split('\t').next().unwrap();
        assert!(excerpts.iter().any(|one| one.id == id && one.is_fault()), "{row}");
    }
}
