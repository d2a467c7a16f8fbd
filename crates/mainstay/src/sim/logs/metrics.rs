//! What a DCGM exporter of the last days would have been scraped for, as OpenMetrics text for `promtool tsdb
//! create-blocks-from openmetrics`. Of the nodes whose memory failed in these days and a few others, because text is long.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write as _};

use mainstay_sim::KernelLogLine;

use super::{DAY_MS, WriteContext};

/// Nodes with an exporter.
const NODES: usize = 16;
/// How often it is scraped.
const STEP_MS: i64 = 600_000;

/// What an Xid does to the counters of its GPU.
#[derive(Default)]
struct Gpu {
    serial: String,
    /// When an uncorrected error was counted.
    uncorrected: Vec<i64>,
    /// When a row was marked for remapping.
    pending: Vec<i64>,
}

pub(super) fn write(writing: &WriteContext<'_>) -> io::Result<()> {
    if writing.asked.metrics_days == 0 {
        return Ok(());
    }
    let end = writing.first_ms + i64::from(writing.asked.world.days) * DAY_MS;
    let start = end - i64::from(writing.asked.metrics_days) * DAY_MS;
    let lines = writing.lived.lines.iter();
    let recent: Vec<&KernelLogLine> = lines.filter(|line| writing.moved(line.at) >= start + 2 * STEP_MS).collect();
    let is_memory = |text: &str| ["): 48,", "): 63,", "): 94,", "): 95,"].iter().any(|code| text.contains(code));
    let mut nodes: Vec<&str> = Vec::new();
    let sick = recent.iter().filter(|line| is_memory(&line.text)).map(|line| line.node.as_str());
    for node in sick.chain(writing.lived.nodes.iter().map(|placed| placed.node.as_str())) {
        if nodes.len() < NODES && !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    let chosen: BTreeSet<&str> = nodes.iter().copied().collect();
    let mut gpus: BTreeMap<(&str, String), Gpu> = BTreeMap::new();
    for node in &nodes {
        for gpu in 0..8 {
            gpus.entry((node, format!("0000:{:02x}:00.0", 0x11 + gpu * 0x11))).or_default();
        }
    }
    for line in &recent {
        let Some((slot, serial)) = line.about.as_ref().filter(|_| chosen.contains(line.node.as_str())) else {
            continue;
        };
        let Some(gpu) = gpus.get_mut(&(line.node.as_str(), slot.to_string())) else { continue };
        gpu.serial = serial.to_string();
        if line.text.contains("): 48,") || line.text.contains("): 94,") {
            gpu.uncorrected.push(writing.moved(line.at));
        } else if line.text.contains("): 63,") {
            gpu.pending.push(writing.moved(line.at));
        }
    }
    let mut out = BufWriter::new(File::create(writing.asked.out.join("metrics.om"))?);
    series(&mut out, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", &gpus, (start, end), |gpu, at| count(&gpu.uncorrected, at))?;
    series(&mut out, "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", &gpus, (start, end), |_, at| {
        u64::try_from((at - start) / 86_400_000).unwrap_or(0)
    })?;
    series(&mut out, "DCGM_FI_DEV_ROW_REMAP_PENDING", &gpus, (start, end), |gpu, at| {
        // Until somebody resets it, which here is half a day later.
        u64::from(gpu.pending.iter().any(|since| (*since..*since + DAY_MS / 2).contains(&at)))
    })?;
    writeln!(out, "# EOF")?;
    out.flush()?;
    truth(writing, &gpus)
}

fn count(moments: &[i64], at: i64) -> u64 {
    u64::try_from(moments.iter().filter(|moment| **moment <= at).count()).unwrap_or(0)
}

fn series(
    out: &mut impl io::Write,
    metric: &str,
    gpus: &BTreeMap<(&str, String), Gpu>,
    (start, end): (i64, i64),
    value: impl Fn(&Gpu, i64) -> u64,
) -> io::Result<()> {
    writeln!(out, "# TYPE {metric} gauge")?;
    for (number, ((node, slot), gpu)) in gpus.iter().enumerate() {
        let mut at = start;
        let bus = format!("0000{}", slot.to_uppercase());
        let serial =
            if gpu.serial.is_empty() { String::new() } else { format!(",DCGM_FI_DEV_SERIAL=\"{}\"", gpu.serial) };
        let labels = format!(
            "gpu=\"{}\",pci_bus_id=\"{bus}\",modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"{node}\"{serial}",
            number % 8
        );
        while at <= end {
            writeln!(out, "{metric}{{{labels}}} {} {}", value(gpu, at), at / 1_000)?;
            at += STEP_MS;
        }
    }
    Ok(())
}

/// How much each GPU counted, for whoever checks.
fn truth(writing: &WriteContext<'_>, gpus: &BTreeMap<(&str, String), Gpu>) -> io::Result<()> {
    let counted = gpus.iter().filter(|(_, gpu)| !gpu.uncorrected.is_empty() || !gpu.pending.is_empty());
    let lines: Vec<serde_json::Value> = counted
        .map(|((node, slot), gpu)| {
            serde_json::json!({ "node": node, "slot": slot, "uncorrected": gpu.uncorrected.len(), "pending": gpu.pending.len() })
        })
        .collect();
    let text = serde_json::to_string_pretty(&lines).map_err(io::Error::other)?;
    std::fs::write(writing.asked.out.join("metrics-truth.json"), text + "\n")
}
