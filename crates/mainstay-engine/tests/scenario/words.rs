//! The words of scenarios, turned into the model's types; a word that is not one ends the test.

use mainstay_model::{
    ActionKind, Bounded, GangId, GangName, Gpu, GpuUuid, Inventory, Level, Mode, Namespace, Nic, PciAddress, Product,
    Serial, TextError, Timestamp, Version,
};

pub(crate) fn name<T>(parse: impl Fn(&str) -> Result<T, TextError>, text: &str) -> T {
    parse(text).unwrap_or_else(|refused| panic!("{refused}"))
}

pub(crate) fn gang_id(text: &str) -> GangId {
    GangId { namespace: name(Namespace::parse, "team"), name: name(GangName::parse, text) }
}

pub(crate) fn inventory(node: &str) -> Inventory {
    let gpus = (0..8_u16).map(|index| Gpu {
        index,
        serial: name(Serial::parse, &format!("{node}-gpu{index}")),
        uuid: name(GpuUuid::parse, &format!("GPU-{node}-{index}")),
        pci: name(PciAddress::parse, &format!("0000:{:02x}:00.0", 0x10 + index)),
    });
    let nics = (0..8_u16).map(|rail| Nic {
        rail,
        serial: name(Serial::parse, &format!("{node}-nic{rail}")),
        pci: name(PciAddress::parse, &format!("0000:{:02x}:00.0", 0x40 + rail)),
    });
    Inventory {
        board: name(Serial::parse, &format!("{node}-board")),
        product: name(Product::parse, "NVIDIA H100 80GB HBM3"),
        driver: name(Version::parse, "580.95.05"),
        gpus: Bounded::try_from(gpus.collect::<Vec<_>>()).unwrap(),
        gpus_unavailable: None,
        nics: Bounded::try_from(nics.collect::<Vec<_>>()).unwrap(),
    }
}

pub(crate) fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("not a number: {text}"))
}

pub(crate) fn mode_of(word: &str) -> Mode {
    match word {
        "observe" => Mode::Observe,
        "propose" => Mode::Propose,
        "act" => Mode::Act,
        other => panic!("no mode {other}"),
    }
}

pub(crate) fn level_of(word: &str) -> Level {
    match word {
        "rack" => Level::Rack,
        "leaf" => Level::Leaf,
        other => panic!("no level {other}"),
    }
}

pub(crate) fn kind_of(word: &str) -> ActionKind {
    serde_json::from_value(serde_json::json!(word)).unwrap()
}

/// A time of the scenario's first day.
pub(crate) fn time_of(text: &str) -> Timestamp {
    let (hours, minutes) = text.split_once(':').unwrap_or_else(|| panic!("no time: {text}"));
    Timestamp((number::<i64>(hours) * 60 + number::<i64>(minutes)) * 60_000)
}
