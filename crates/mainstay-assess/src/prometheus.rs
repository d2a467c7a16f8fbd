//! A Prometheus by its HTTP API: what the DCGM exporter counted, hour by hour, in windows of a week. The server is asked
//! only for hours in which something changed or was set, so that a calm fleet costs a calm answer. Plain HTTP: a server
//! behind TLS is reached through a tunnel that its operator makes.

mod series;

use std::collections::BTreeMap;
use std::time::Duration;

use mainstay_model::{NodeName, Part, PciAddress, Product, Serial, Source, Timestamp, Version};
use mainstay_prometheus::{Answer, Error, Limits, Range, Server};
use mainstay_signal::{Flag, Memory, Meter, Place, Signal};
use mainstay_text::Problem;

use super::dropped::DropReason;
use super::input::{Input, Volume};
use series::{Query, SeriesKind};

/// This source in the report.
pub(super) const KIND: &str = "Prometheus, DCGM exporter";

/// An answer with a week of 10,000 series that change every hour. Servers give up after two minutes themselves.
const LIMITS: Limits = Limits { answer_within: Duration::from_secs(150), answer_bytes_max: 256 * 1024 * 1024 };
/// A week in steps of an hour is 168 points, far below the server's limit of 11,000.
const WINDOW_MS: i64 = 7 * 86_400_000;
const HOUR_MS: i64 = 3_600_000;
const HOUR_SECONDS: u32 = 3_600;
/// A year; beyond it nobody keeps these series.
const WINDOWS_MAX: usize = 53;

/// DCGM's word for "not known" and its neighbours are above this.
const BLANK_MIN: f64 = 9.223_372_036_854_774e18;

/// Node and PCI address of the GPU that a series belongs to.
struct GpuLocation {
    node: NodeName,
    place: PciAddress,
}

/// Asks a server for everything between two moments.
pub(super) fn read(
    url: &str,
    since: Timestamp,
    until: Timestamp,
    known: &Input,
    told: &dyn Fn(usize, usize),
) -> Result<Input, Problem> {
    let server = Server::new(url, LIMITS).map_err(|error| problem(url, &error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| Problem {
        what: "cannot start the HTTP client".into(),
        detail: format!("{error}."),
        hint: "run without --prometheus.".into(),
    })?;
    let mut into = Input::default();
    let mut volume = Volume::default();
    let queries = Query::all();
    let windows: Vec<(i64, i64)> = windows(since, until);
    for (number, query) in queries.iter().enumerate() {
        let mut meters: BTreeMap<NodeName, Meter> = BTreeMap::new();
        let mut set: BTreeMap<(NodeName, PciAddress), i64> = BTreeMap::new();
        for (place, (from, to)) in windows.iter().enumerate() {
            told(number * windows.len() + place, queries.len() * windows.len());
            let mut points: Vec<(i64, usize, GpuLocation, u64)> = Vec::new();
            for (order, text) in query.texts().into_iter().enumerate() {
                let range = Range { from: from.div_euclid(1_000), to: to.div_euclid(1_000), step: HOUR_SECONDS };
                let answer = runtime.block_on(server.range(&text, range));
                let Answer { series, bytes } = answer.map_err(|error| problem(url, &error))?;
                volume.pieces += 1;
                volume.bytes += u64::try_from(bytes).unwrap_or(0);
                for series in series {
                    let Some(owner) = owner(&series.metric, known) else {
                        into.skipped.add(DropReason::NoPlace, 1, query.metric);
                        continue;
                    };
                    introduce(&mut into, &owner, &series.metric, Timestamp(*from));
                    for (at, value) in series.points() {
                        let Some(value) = mainstay_prometheus::whole(value, BLANK_MIN) else { continue };
                        volume.entries += 1;
                        // The second question is for the hour before.
                        let at = at - if order == 1 { HOUR_MS } else { 0 };
                        let owner = GpuLocation { node: owner.node.clone(), place: owner.place.clone() };
                        points.push((at, order, owner, value));
                    }
                }
            }
            points.sort_by_key(|(at, order, _, _)| (*at, std::cmp::Reverse(*order)));
            for (at, _, GpuLocation { node, place }, value) in points {
                let Some(number) = into.node(&node) else { continue };
                let meter = meters.entry(node.clone()).or_default();
                let at_place = Place::Pci(place.clone());
                let at = Timestamp(at);
                let said = match query.asked {
                    SeriesKind::Total(reading) => meter.read(&at_place, &reading(value), at),
                    SeriesKind::State(reading) => {
                        let key = (node.clone(), place.clone());
                        // An hour without an answer is an hour in which it was not so.
                        if set.insert(key, at.0).is_some_and(|last| at.0 - last > HOUR_MS) {
                            let _ = meter.read(&at_place, &reading(Flag::Clear), Timestamp(at.0 - HOUR_MS));
                        }
                        meter.read(&at_place, &reading(Flag::Set), at)
                    }
                    // The kernel log has every Xid; this is the last one, for nodes whose log nobody has.
                    SeriesKind::LastXid if value > 0 && known.known(&node).is_none() => xid(value, at_place),
                    SeriesKind::LastXid => None,
                };
                if let Some((signal, times)) = said {
                    volume.signals += 1;
                    into.note_entry(number, at);
                    into.signal(number, at, &signal, u32::try_from(times).unwrap_or(u32::MAX));
                }
            }
        }
    }
    into.read(KIND, volume);
    Ok(into)
}

fn xid(value: u64, place: Place) -> Option<(Signal, u64)> {
    let code = mainstay_model::Code::parse(&value.to_string()).ok()?;
    let detail = mainstay_model::Detail::parse("").ok()?;
    Some((Signal { source: Source::Xid, code, place, detail }, 1))
}

/// Weeks between two moments, on whole hours.
fn windows(since: Timestamp, until: Timestamp) -> Vec<(i64, i64)> {
    let (mut from, end) = (since.0.div_euclid(HOUR_MS) * HOUR_MS + HOUR_MS, until.0);
    let mut windows = Vec::new();
    while from <= end && windows.len() < WINDOWS_MAX {
        let to = (from + WINDOW_MS - HOUR_MS).min(end);
        windows.push((from, to));
        from += WINDOW_MS;
    }
    windows
}

fn owner(labels: &BTreeMap<String, String>, known: &Input) -> Option<GpuLocation> {
    let label = |names: &[&str]| names.iter().find_map(|name| labels.get(*name)).map(String::as_str);
    let host = label(&["Hostname", "hostname", "node", "kubernetes_node", "instance"])?;
    let node = NodeName::parse(host.split(':').next().unwrap_or(host)).ok()?;
    let place = match label(&["pci_bus_id", "pci_bus"]).map(Place::pci_or_node) {
        Some(Place::Pci(place)) => place,
        Some(Place::Interface(_) | Place::NvSwitch(_) | Place::Node) | None => {
            let (number, uuid) = (known.known(&node)?, label(&["UUID", "uuid", "gpu_uuid"])?);
            let is_it = |slot: &super::input::Slot| slot.uuid.as_ref().is_some_and(|id| id.as_str() == uuid);
            let (_, place) = known.slots.iter().find(|((of, _), slot)| *of == number && is_it(slot))?.0;
            place.clone()
        }
    };
    Some(GpuLocation { node, place })
}

/// What the labels of a series say of the GPU.
fn introduce(into: &mut Input, owner: &GpuLocation, labels: &BTreeMap<String, String>, at: Timestamp) {
    let Some(node) = into.node(&owner.node) else { return };
    let _ = into.slot(node, &owner.place, Part::Gpu);
    let label = |names: &[&str]| names.iter().find_map(|name| labels.get(*name)).map(String::as_str);
    if let Some(serial) = label(&["DCGM_FI_DEV_SERIAL", "serial"]).and_then(|text| Serial::parse(text).ok()) {
        into.add_serial(node, &owner.place, at, serial);
    }
    if let Some(product) = label(&["modelName"]).and_then(|text| Product::parse(text).ok()) {
        into.products.insert(node, product);
    }
    let driver = label(&["DCGM_FI_DRIVER_VERSION", "DCGM_FI_SYSTEM_DRIVER_VERSION"]);
    if let Some(version) = driver.and_then(|text| Version::parse(text).ok()) {
        into.drivers.insert(node, version);
    }
}

fn problem(url: &str, error: &Error) -> Problem {
    let (what, detail, hint) = match error {
        Error::Address { .. } => {
            (format!("cannot reach Prometheus at {url}"), "only http:// is supported".into(), REACH)
        }
        Error::Unreachable { cause, .. } => (format!("cannot reach Prometheus at {url}"), cause.clone(), REACH),
        Error::TooLarge { bytes_max, .. } => (
            format!("response of {url} is too large"),
            format!("one query returned more than {bytes_max} bytes"),
            "choose a shorter period with --since and --until.",
        ),
        Error::Unexpected { cause, .. } => (
            format!("unexpected response from {url}"),
            cause.clone(),
            "the server must support /api/v1/query_range of the Prometheus HTTP API.",
        ),
    };
    Problem { what, detail: format!("{detail}."), hint: hint.into() }
}

const REACH: &str = "use http://HOST:PORT. For a server behind TLS or in a cluster, use `kubectl port-forward`.";

/// What is asked of memory that is off the chip: DCGM's totals have no other.
const DRAM: Memory = Memory::Dram;

#[cfg(test)]
mod tests;
