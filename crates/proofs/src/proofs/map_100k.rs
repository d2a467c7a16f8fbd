//! Proof that the map of 100,000 GPUs is small to send and quick to draw, measured in the page.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use xtask::{command, dist};

use crate::prove::{Context, Measurement, Proof};

pub(super) const PROOF: Proof = Proof { name: "map-100k", run: |context| Box::pin(measure(context)) };

const RUN_LIMIT: Duration = Duration::from_mins(4);

const GPUS: u64 = 100_000;
const JOBS: u64 = 300;
const OUT_PERCENT_MIN: u64 = 5;
const PAINT_MAX: Duration = Duration::from_secs(1);
const BYTES_MAX: u64 = 150_000;

/// Sizes and drawing times that `ui/e2e/map.mjs` prints.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MapReport {
    gpus: u64,
    nodes: u64,
    out: u64,
    jobs: u64,
    /// Different ones.
    risks: u64,
    payload_bytes: u64,
    js_bytes: u64,
    paint_ms: u64,
    paint_ms_max: u64,
    redraw_us: u64,
    redraw_us_p95: i64,
    bare_us: u64,
    canvas: String,
}

async fn measure(context: &Context) -> anyhow::Result<Measurement> {
    let binary = dist::binary(&context.workspace).await?;
    let mut node = command::program("node", &context.workspace.root.join("ui"));
    node.arg("e2e/map.mjs").env("MAINSTAY", binary);
    let line = command::text(&mut node, RUN_LIMIT).await?;
    let seen: MapReport = serde_json::from_str(line.trim()).with_context(|| format!("what was measured: {line}"))?;
    let enough = seen.gpus == GPUS && seen.jobs == JOBS && seen.risks == seen.nodes;
    ensure!(enough && seen.out * 100 >= seen.nodes * OUT_PERCENT_MIN, "the fleet is not the one to measure: {line}");
    context.within("the first paint", Duration::from_millis(seen.paint_ms), PAINT_MAX)?;
    ensure!(seen.payload_bytes <= BYTES_MAX, "the map travels in {} bytes", seen.payload_bytes);
    ensure!(seen.js_bytes <= BYTES_MAX, "the scripts travel in {} bytes", seen.js_bytes);
    let detail = format!(
        "{} of {} nodes out, map {} bytes, scripts {} bytes, first paint {} ms ({} at most), redraw of {} pixels {} µs (median) and {} µs (p95), {} times a bare copy ({} µs)",
        seen.out,
        seen.nodes,
        seen.payload_bytes,
        seen.js_bytes,
        seen.paint_ms,
        seen.paint_ms_max,
        seen.canvas,
        seen.redraw_us,
        seen.redraw_us_p95,
        seen.redraw_us.div_ceil(seen.bare_us.max(1)),
        seen.bare_us,
    );
    Ok(Measurement { value: seen.redraw_us_p95, detail })
}
