//! Proof that a faulty sensor cannot drain the fleet: every node of one driver version raises false alarms for twelve hours.

use anyhow::ensure;
use mainstay_sim::run_false_alarms;

use super::parallel::parallel_map;
use crate::prove::{Context, Measurement, Proof};

/// Fleet sizes, each simulated with several seeds. Below 800 nodes three are more than half a percent.
const NODES: [u32; 2] = [1_024, 4_096];
const SEEDS: u64 = 6;

pub(super) const PROOF: Proof = Proof { name: "mad-sensor", run: |_: &Context| Box::pin(async { measure() }) };

fn measure() -> anyhow::Result<Measurement> {
    let (mut worst, mut opened, mut half_opened, mut broke, mut taken_out, mut closed_after) = (0, 0, 0, 0, 0, 0);
    for nodes in NODES {
        for seen in parallel_map(SEEDS, |number| run_false_alarms(nodes, number + 1)) {
            let what = format!("{seen:?}");
            ensure!(seen.broken.is_empty(), "something was broken: {what}");
            ensure!(seen.opened > 0 && seen.half_opened > 0, "no breaker opened or was tried: {what}");
            let Some(after) = seen.closed_after_seconds else { anyhow::bail!("a breaker is still open: {what}") };
            ensure!(seen.broke > 0 && seen.broke_and_back == seen.broke, "a real fault was not repaired: {what}");
            worst = worst.max(u64::from(seen.taken_out_within_an_hour) * 1_000_000 / u64::from(nodes));
            closed_after = closed_after.max(after);
            opened += seen.opened;
            half_opened += seen.half_opened;
            broke += seen.broke;
            taken_out += seen.taken_out;
        }
    }
    let hours = closed_after / 3_600;
    Ok(Measurement {
        value: i64::try_from(worst)?,
        detail: format!(
            "{taken_out} sound nodes in all; breakers opened {opened} and were tried {half_opened} times, and were closed {hours} h after the mending at most, because evidence counts for a day; {broke} real faults, all repaired"
        ),
    })
}
