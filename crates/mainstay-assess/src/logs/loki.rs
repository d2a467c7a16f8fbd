//! What Loki answers to a query (`/loki/api/v1/query_range`), and what `logcli --output=jsonl` prints. Streams carry the node
//! in a label; a line carries whatever the shipper wrote: the kernel's words, a journal's line, or the journal's JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _};

use mainstay_model::Timestamp;
use mainstay_text::{JsonLine, Lines};
use serde::Deserialize;

use super::LogReader;
use crate::dropped::DropReason;
use crate::timestamp::{self, Zone};

/// An answer is one document, so it is held whole. Loki itself answers 5,000 lines unless told otherwise.
const DOCUMENT_BYTES_MAX: u64 = 256 * 1024 * 1024;
const LINE_BYTES_MAX: usize = 1024 * 1024;

/// Labels that name a node, the most telling first.
const NODE_LABELS: [&str; 9] = [
    "node_name",
    "node",
    "nodename",
    "hostname",
    "host",
    "_HOSTNAME",
    "kubernetes_node_name",
    "k8s_node_name",
    "instance",
];

/// Labels of what tenants print: a kernel runs in no pod.
const POD_LABELS: [&str; 7] =
    ["pod", "container", "namespace", "pod_name", "container_name", "k8s_pod_name", "k8s_container_name"];

/// Body of a Loki `query_range` response.
#[derive(Deserialize)]
struct LokiResponse<'a> {
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    result: Vec<Stream<'a>>,
}

#[derive(Deserialize)]
struct Stream<'a> {
    #[serde(borrow, default)]
    stream: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    #[serde(borrow, default)]
    values: Vec<Value<'a>>,
}

/// Nanoseconds and the line; newer ones add structured metadata.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value<'a> {
    Plain(#[serde(borrow)] Cow<'a, str>, #[serde(borrow)] Cow<'a, str>),
    Rich(#[serde(borrow)] Cow<'a, str>, #[serde(borrow)] Cow<'a, str>, serde::de::IgnoredAny),
}

/// One JSON line as `logcli --output=jsonl` prints it.
#[derive(Deserialize)]
struct LogcliLine<'a> {
    #[serde(borrow, default)]
    labels: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    #[serde(borrow)]
    line: Cow<'a, str>,
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
}

pub(super) fn read(reading: &mut LogReader<'_>, from: &mut impl BufRead) -> io::Result<()> {
    let mut bytes = Vec::new();
    from.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    reading.volume.bytes = length;
    if length > DOCUMENT_BYTES_MAX {
        reading.skip(DropReason::TooLarge, 1);
        return Ok(());
    }
    let Ok(answer) = serde_json::from_slice::<LokiResponse<'_>>(&bytes) else {
        reading.skip(DropReason::NotUnderstood, 1);
        return Ok(());
    };
    for Stream { stream, values } in answer.data.result {
        for value in values {
            let (Value::Plain(at, line) | Value::Rich(at, line, _)) = value;
            let at = at.parse::<i64>().ok().map(|nanoseconds| Timestamp(nanoseconds / 1_000_000));
            told(reading, at, &stream, &line);
        }
    }
    Ok(())
}

pub(super) fn read_lines(reading: &mut LogReader<'_>, from: &mut impl BufRead) -> io::Result<()> {
    let mut lines = Lines::new(from, LINE_BYTES_MAX);
    let utc = Zone { offset_minutes: 0, ..reading.zone };
    while let Some(line) = lines.next_json::<LogcliLine<'_>>()? {
        match line {
            JsonLine::Value(LogcliLine { labels, line, timestamp }) => {
                told(reading, timestamp::rfc3339(&timestamp, utc), &labels, &line);
            }
            JsonLine::TooLong => reading.skip(DropReason::LineTooLong, 1),
            JsonLine::Invalid => reading.skip(DropReason::NotUnderstood, 1),
        }
    }
    reading.volume.bytes = lines.bytes();
    Ok(())
}

fn told(reading: &mut LogReader<'_>, at: Option<Timestamp>, labels: &BTreeMap<Cow<'_, str>, Cow<'_, str>>, line: &str) {
    reading.volume.entries += 1;
    let Some(at) = at else { return reading.skip(DropReason::NoTime, 1) };
    let label = NODE_LABELS.iter().find_map(|name| labels.get(*name));
    // An instance is `host:port` of whoever was scraped.
    let host = label.map(|host| host.split_once(':').map_or(host.as_ref(), |(host, _)| host));
    let is_program = |name: &str| labels.get(name).is_some_and(|program| program != "kernel");
    let is_pod = POD_LABELS.iter().any(|name| labels.contains_key(*name));
    if is_pod || is_program("transport") || is_program("syslog_identifier") {
        return reading.skip(DropReason::NotTheKernel, 1);
    }
    // Promtail's `json: true` ships whole entries of the journal.
    let inner = line.starts_with('{').then(|| serde_json::from_str::<JournalEntry<'_>>(line).ok()).flatten();
    match inner {
        Some(JournalEntry { transport, message, host: inner_host }) => {
            if transport.is_some_and(|transport| transport != "kernel") {
                return reading.skip(DropReason::NotTheKernel, 1);
            }
            reading.line(host.or(inner_host.as_deref()), at, &message);
        }
        None => {
            let (host, text) = host.map_or_else(|| journal_host(line), |host| (Some(host), line));
            reading.line(host, at, text);
        }
    }
}

/// A journal entry as JSON inside a log line, as Promtail ships it.
#[derive(Deserialize)]
struct JournalEntry<'a> {
    #[serde(rename = "_TRANSPORT", borrow)]
    transport: Option<Cow<'a, str>>,
    #[serde(rename = "MESSAGE", borrow)]
    message: Cow<'a, str>,
    #[serde(rename = "_HOSTNAME", borrow)]
    host: Option<Cow<'a, str>>,
}

/// `TIME HOST kernel: text` without a label that names the node.
fn journal_host(line: &str) -> (Option<&str>, &str) {
    let host = line.split_once(" kernel: ").and_then(|(before, _)| before.rsplit(' ').next());
    (host, line)
}
