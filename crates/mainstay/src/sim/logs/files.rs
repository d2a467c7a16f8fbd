//! Logs, nodes and tickets as files. Nodes keep their logs in different ways, one after the other: as exports and JSON of the
//! journal, as `dmesg` text with two kinds of times, in one syslog of many hosts, as answers of Loki.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};

use mainstay_sim::KernelLogLine;
use serde::Serialize;

use super::ground_truth::{self, GroundTruth};
use super::{DAY_MS, WriteContext};

/// Number of nodes, lines, evidence lines and tickets written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WriteSummary {
    pub(super) nodes: u64,
    pub(super) lines: u64,
    pub(super) evidence: u64,
    pub(super) tickets: u64,
}

/// Format in which a node stores its log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LogFormat {
    Export,
    Json,
    DmesgDate,
    DmesgIso,
    Syslog,
    Loki,
}

const fn way(number: usize) -> LogFormat {
    match number % 10 {
        0..4 => LogFormat::Export,
        4..6 => LogFormat::Json,
        6 => LogFormat::DmesgDate,
        7 => LogFormat::DmesgIso,
        8 => LogFormat::Syslog,
        _ => LogFormat::Loki,
    }
}

/// Lines about nothing. Some are made to be mistaken: a tenant chooses the names of its processes.
const NOISE: [&str; 6] = [
    "IPv6: ADDRCONF(NETDEV_CHANGE): cali7f0e2d1c9aa: link becomes ready",
    "audit: type=1400 audit(1717000000.123:456): apparmor=\"STATUS\" operation=\"profile_load\" name=\"cri\"",
    "NVRM: Xid (PCI:[4242]: segfault at 0 ip 00007f10 sp 00007ffd error 4 in libc.so.6[7f1000000000+1c0000]",
    "docker0: port 1(veth3fa29c1) entered blocking state",
    "overlayfs: fs on '/var/lib/containerd' does not support file handles, falling back to xino=off.",
    "python3 (GPU has fallen off the bus): drop_caches: 3",
];

pub(super) fn write(writing: &WriteContext<'_>) -> io::Result<WriteSummary> {
    let into = &writing.asked.out;
    for folder in ["logs/export", "logs/json", "logs/dmesg", "logs/loki"] {
        fs::create_dir_all(into.join(folder))?;
    }
    let mut by_node: BTreeMap<&str, Vec<&KernelLogLine>> = BTreeMap::new();
    for line in &writing.lived.lines {
        by_node.entry(line.node.as_str()).or_default().push(line);
    }
    let mut syslog = BufWriter::new(File::create(into.join("logs/syslog.log"))?);
    let mut lines = 0;
    for (number, placed) in writing.lived.nodes.iter().enumerate() {
        let node = placed.node.as_str();
        let own = by_node.get(node).map_or(&[][..], Vec::as_slice);
        let all = with_noise(writing, number, own);
        lines += u64::try_from(all.len()).unwrap_or(0);
        let path = |folder: &str, ending: &str| into.join("logs").join(folder).join(format!("{node}.{ending}"));
        match way(number) {
            LogFormat::Export => export(&mut create(&path("export", "export"))?, node, &all)?,
            LogFormat::Json => json(&mut create(&path("json", "json"))?, node, &all)?,
            LogFormat::DmesgDate => dmesg(&mut create(&path("dmesg", "log"))?, "[%a %b %e %H:%M:%S %Y]", &all)?,
            LogFormat::DmesgIso => dmesg(&mut create(&path("dmesg", "log"))?, "%Y-%m-%dT%H:%M:%S,%f+00:00", &all)?,
            LogFormat::Syslog => {
                for (at, _, text) in &all {
                    writeln!(syslog, "{} {node} kernel: {text}", stamp(*at, "%Y-%m-%dT%H:%M:%S+0000"))?;
                }
            }
            LogFormat::Loki => loki(&mut create(&path("loki", "json"))?, node, &all)?,
        }
    }
    syslog.flush()?;
    let mut nodes = create(&into.join("nodes.csv"))?;
    writeln!(nodes, "node,gpus,rack,leaf")?;
    for placed in &writing.lived.nodes {
        writeln!(nodes, "{},{},{},{}", placed.node, placed.gpus, placed.rack, placed.leaf)?;
    }
    nodes.flush()?;
    let truth = ground_truth::write(writing)?;
    Ok(written(writing, lines, &truth))
}

fn written(writing: &WriteContext<'_>, lines: u64, truth: &GroundTruth) -> WriteSummary {
    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    WriteSummary {
        nodes: count(writing.lived.nodes.len()),
        lines,
        evidence: truth.evidence.iter().map(|line| line.count).sum(),
        tickets: truth.tickets,
    }
}

fn create(path: &std::path::Path) -> io::Result<BufWriter<File>> {
    File::create(path).map(BufWriter::new)
}

/// The lines of a node with others between them, in the order of time: when, in which boot, and what.
fn with_noise<'a>(writing: &WriteContext<'_>, number: usize, own: &[&'a KernelLogLine]) -> Vec<(i64, u32, &'a str)> {
    let mut all: Vec<(i64, u32, &str)> =
        own.iter().map(|line| (writing.moved(line.at), line.boot, line.text.as_str())).collect();
    let each = i64::from(writing.asked.noise);
    let boot_at =
        |at: i64| own.iter().rev().find(|line| writing.moved(line.booted_at) <= at).map_or(1, |line| line.boot);
    for place in 0..each * i64::from(writing.asked.world.days) {
        // Spread over the day, differently on each node.
        let number = i64::try_from(number).unwrap_or(0);
        let at = writing.first_ms
            + place * (DAY_MS / each.max(1))
            + (number * 7_919_000 + place * 104_729) % (DAY_MS / each.max(1));
        let text = usize::try_from(place + number)
            .ok()
            .and_then(|at| NOISE.get(at % NOISE.len()))
            .copied()
            .unwrap_or_default();
        all.push((at, boot_at(at), text));
    }
    all.sort_by_key(|(at, _, _)| *at);
    all
}

/// A moment in a way of writing it.
pub(super) fn stamp(at_ms: i64, format: &str) -> String {
    let at = jiff::Timestamp::from_millisecond(at_ms).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::UTC).strftime(format).to_string()
}

fn export(out: &mut impl Write, node: &str, lines: &[(i64, u32, &str)]) -> io::Result<()> {
    for (number, (at, boot, text)) in lines.iter().enumerate() {
        write!(
            out,
            "__CURSOR=s=0;i={number:x};b={boot:032x}\n__REALTIME_TIMESTAMP={at}000\n__MONOTONIC_TIMESTAMP={number}\n\
             _BOOT_ID={boot:032x}\nPRIORITY=4\nSYSLOG_FACILITY=0\nSYSLOG_IDENTIFIER=kernel\n_TRANSPORT=kernel\n_HOSTNAME={node}\n"
        )?;
        // Every third one as the journal writes what is not plain text.
        if number % 3 == 0 {
            out.write_all(b"MESSAGE\n")?;
            out.write_all(&u64::try_from(text.len()).unwrap_or(0).to_le_bytes())?;
            out.write_all(text.as_bytes())?;
            out.write_all(b"\n\n")?;
        } else {
            write!(out, "MESSAGE={text}\n\n")?;
        }
    }
    out.flush()
}

fn json(out: &mut impl Write, node: &str, lines: &[(i64, u32, &str)]) -> io::Result<()> {
    for (at, boot, text) in lines {
        let entry = serde_json::json!({
            "__REALTIME_TIMESTAMP": format!("{at}000"), "_BOOT_ID": format!("{boot:032x}"), "_HOSTNAME": node,
            "_TRANSPORT": "kernel", "PRIORITY": "4", "MESSAGE": text,
        });
        writeln!(out, "{entry}")?;
    }
    out.flush()
}

fn dmesg(out: &mut impl Write, format: &str, lines: &[(i64, u32, &str)]) -> io::Result<()> {
    for (at, _, text) in lines {
        writeln!(out, "{} {text}", stamp(*at, format))?;
    }
    out.flush()
}

fn loki(out: &mut impl Write, node: &str, lines: &[(i64, u32, &str)]) -> io::Result<()> {
    let values: Vec<[String; 2]> =
        lines.iter().map(|(at, _, text)| [format!("{at}000000"), (*text).to_owned()]).collect();
    let answer = serde_json::json!({ "status": "success", "data": { "resultType": "streams", "result": [
        { "stream": { "job": "systemd-journal", "transport": "kernel", "node_name": node }, "values": values }] } });
    writeln!(out, "{answer}")?;
    out.flush()
}
