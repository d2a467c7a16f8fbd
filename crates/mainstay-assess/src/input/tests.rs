use super::*;

const OFF_THE_BUS: &str =
    "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";

fn log(lines: &[(i64, &str)]) -> Input {
    let mut gathered = Input::default();
    let node = gathered.node(&NodeName::parse("r1n1").unwrap()).unwrap();
    for (at, text) in lines {
        gathered.line(node, Timestamp(*at), text);
    }
    gathered
}

fn times(gathered: &Input) -> Vec<(i64, u32)> {
    let signals = gathered.events.iter().filter_map(|event| match event.what {
        EventKind::Signal(_, times) => Some((event.at.0, times)),
        EventKind::Boot => None,
    });
    signals.collect()
}

#[test]
fn what_two_sources_say_of_one_second_was_said_once() {
    let mut all = Input::default();
    all.merge(log(&[(5_000, OFF_THE_BUS), (5_400, OFF_THE_BUS), (9_000, OFF_THE_BUS)]));
    all.merge(log(&[(5_100, OFF_THE_BUS), (20_000, OFF_THE_BUS)]));
    all.settle();
    assert_eq!(times(&all), [(5_000, 2), (9_000, 1), (20_000, 1)]);
}

#[test]
fn a_part_is_known_before_and_after_it_is_named_and_until_another_is() {
    let mut all = log(&[
        (1_000, "NVRM: GPU at PCI:0000:1b:00: GPU-95c1e5f6"),
        (1_000, "NVRM: GPU Board Serial Number: 111"),
        (9_000, "NVRM: GPU 0000:1b:00.0: GPU serial number is 222."),
    ]);
    all.settle();
    let place = PciAddress::parse("0000:1b:00.0").unwrap();
    let at = |moment| all.serial_at(0, &place, Timestamp(moment)).map(|serial| serial.to_string());
    assert_eq!([at(0), at(8_999), at(9_000)].map(Option::unwrap), ["111", "111", "222"]);
}

#[test]
fn a_boot_that_two_sources_tell_of_is_one() {
    let boot = "Linux version 6.8.0";
    let mut all = Input::default();
    all.merge(log(&[(0, boot), (500_000, boot)]));
    all.merge(log(&[(60_000, boot)]));
    all.settle();
    assert_eq!(all.events.iter().filter(|event| event.what == EventKind::Boot).count(), 2);
}
