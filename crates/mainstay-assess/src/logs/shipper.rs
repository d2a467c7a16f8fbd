//! Objects of JSON, one a line, as log shippers and container runtimes write them: fluent-bit, Fluentd, Vector, Filebeat,
//! Docker. They name the same few things differently. A line of a pod is what a tenant printed, and is left out.

use std::io::{self, BufRead};

use mainstay_model::Timestamp;
use mainstay_signal::{Recognition, Writer, recognise};
use mainstay_text::{JsonLine, Lines};
use serde_json::{Map, Value};

use super::{LogReader, shape};
use crate::dropped::DropReason;
use crate::timestamp::{self, Zone};

const LINE_BYTES_MAX: usize = 1024 * 1024;

/// Names of the message, the most telling first.
const MESSAGES: [&str; 6] = ["MESSAGE", "message", "log", "msg", "text", "body"];
const TIMES: [&str; 7] = ["@timestamp", "timestamp", "time", "ts", "date", "datetime", "_SOURCE_REALTIME_TIMESTAMP"];
const HOSTS: [&str; 6] = ["_HOSTNAME", "hostname", "host", "node_name", "node", "nodename"];
const PROGRAMS: [&str; 6] = ["SYSLOG_IDENTIFIER", "appname", "ident", "program", "tag", "syslog_identifier"];
const PODS: [&str; 3] = ["kubernetes", "pod_name", "pod"];

/// Whether the first line of a file is such an object.
pub(super) fn is_one(line: &str) -> bool {
    let Ok(Value::Object(object)) = serde_json::from_str::<Value>(line) else { return false };
    text(&object, &MESSAGES).is_some()
}

pub(super) fn read(reading: &mut LogReader<'_>, from: &mut impl BufRead) -> io::Result<()> {
    let mut lines = Lines::new(from, LINE_BYTES_MAX);
    while let Some(line) = lines.next_json::<Map<String, Value>>()? {
        match line {
            JsonLine::Value(object) => entry(reading, &object),
            JsonLine::TooLong => reading.skip(DropReason::LineTooLong, 1),
            JsonLine::Invalid => {
                reading.volume.entries += 1;
                reading.skip(DropReason::NotUnderstood, 1);
            }
        }
    }
    reading.volume.bytes = lines.bytes();
    Ok(())
}

fn entry(reading: &mut LogReader<'_>, object: &Map<String, Value>) {
    reading.volume.entries += 1;
    let Some(message) = text(object, &MESSAGES) else { return reading.skip(DropReason::NotUnderstood, 1) };
    if PODS.iter().any(|name| object.contains_key(*name)) {
        return reading.skip(DropReason::NotTheKernel, 1);
    }
    let shape = shape::read(message.trim_end(), reading.zone);
    let stamped = match shape.stamp {
        Some(timestamp::Stamp::At(at)) => Some(at),
        Some(timestamp::Stamp::SinceBoot(_)) | None => None,
    };
    let utc = Zone { offset_minutes: 0, ..reading.zone };
    let at = TIMES.iter().find_map(|name| moment(object.get(*name)?, utc)).or(stamped);
    reading.volume.estimated += u64::from(at.is_none());
    let at = at.unwrap_or(reading.zone.until);
    let program = text(object, &PROGRAMS);
    let is_kernel = text(object, &["_TRANSPORT", "transport"]) == Some("kernel")
        || program.is_some_and(|program| program == "kernel" || program.starts_with("kern"));
    let writer = match program {
        _ if is_kernel => Writer::Kernel,
        Some(program) => Writer::Program(program),
        None => shape.writer,
    };
    let host = text(object, &HOSTS).or(shape.host);
    // An object of another tool may name the fault in a field of its own.
    if writer == Writer::Unstated && recognise(shape.text, writer) == Recognition::Unknown {
        let whole = Value::Object(object.clone()).to_string();
        return reading.line_of(host, at, &whole, writer, shape.priority);
    }
    reading.line_of(host, at, shape.text, writer, shape.priority);
}

fn text<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| object.get(*name)?.as_str())
}

/// A time as text, or as seconds, milliseconds, microseconds or nanoseconds since 1970.
fn moment(value: &Value, zone: Zone) -> Option<Timestamp> {
    if let Some(text) = value.as_str()
        && let Some(at) = timestamp::rfc3339(text, zone)
    {
        return Some(at);
    }
    let number = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
    let seconds =
        [1.0, 1e3, 1e6, 1e9].into_iter().map(|unit| number / unit).find(|seconds| (1e8..1e11).contains(seconds))?;
    #[expect(clippy::cast_possible_truncation, reason = "at most 1e14, by the range above")]
    Some(Timestamp((seconds * 1_000.0) as i64))
}
