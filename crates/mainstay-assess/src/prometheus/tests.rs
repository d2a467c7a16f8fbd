use super::*;

#[test]
fn weeks_begin_on_whole_hours_and_cover_everything() {
    let windows = windows(Timestamp(1_800_000), Timestamp(20 * 86_400_000));
    assert_eq!(windows.len(), 3);
    assert_eq!(windows[0], (HOUR_MS, WINDOW_MS));
    assert!(windows.windows(2).all(|pair| pair[0].1 + HOUR_MS == pair[1].0));
    assert_eq!(windows[2].1, 20 * 86_400_000);
}

#[test]
fn a_series_is_owned_by_its_address_or_by_a_uuid_that_a_log_named() {
    let mut known = Input::default();
    let node = known.node(&NodeName::parse("r1n1").unwrap()).unwrap();
    known.line(node, Timestamp(0), "NVRM: GPU at PCI:0000:1b:00: GPU-95c1");
    let labels = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let place = |pairs: &[(&str, &str)]| owner(&labels(pairs), &known).map(|owner| owner.place.to_string());
    assert_eq!(place(&[("Hostname", "r1n1"), ("pci_bus_id", "00000000:3B:00.0")]).as_deref(), Some("0000:3b:00.0"));
    assert_eq!(place(&[("hostname", "r1n1"), ("UUID", "GPU-95c1")]).as_deref(), Some("0000:1b:00.0"));
    assert_eq!(place(&[("Hostname", "r1n1"), ("UUID", "GPU-other")]), None);
    assert_eq!(place(&[("UUID", "GPU-95c1")]), None);
}
