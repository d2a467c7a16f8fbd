//! `mainstay sim logs`: what the machines of a virtual fleet print over its days, as an operator would have it on disk, with
//! tickets of its people, and the truth in a file of its own. For trying `mainstay assess`, and for its proof.

mod files;
mod ground_truth;
mod metrics;

use std::path::PathBuf;

use clap::Args;
use mainstay_model::Timestamp;
use mainstay_sim::{History, history};
use mainstay_text::{counted, thousands, wrapped};

use super::{Format, Output, World, progress};
use crate::output::{self, CommandOutput, Problem};

/// Where and how they are written.
#[derive(Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    world: World,
    /// Random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Output folder; must not exist
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// First day
    #[arg(long, value_name = "DATE", default_value = "2026-05-01")]
    from: String,
    /// Unrelated log lines per node and day
    #[arg(long, default_value_t = 4)]
    noise: u32,
    /// Last days with DCGM exporter series, OpenMetrics text; 0 for none
    #[arg(long, default_value_t = 0)]
    metrics_days: u32,
    #[command(flatten)]
    format: Format,
}

/// A day in milliseconds.
const DAY_MS: i64 = 86_400_000;

/// The simulated history and the options, with run times shifted to a calendar date.
struct WriteContext<'a> {
    asked: &'a Logs,
    lived: &'a History,
    first_ms: i64,
}

impl WriteContext<'_> {
    const fn moved(&self, at: Timestamp) -> i64 {
        self.first_ms + at.0
    }
}

pub(super) fn run(asked: &Logs) -> Result<CommandOutput, Problem> {
    let first: jiff::Timestamp = format!("{}T00:00:00Z", asked.from).parse().map_err(|error| Problem {
        what: format!("invalid date: {}", asked.from),
        detail: format!("{error}."),
        hint: "example: --from 2026-05-01.".into(),
    })?;
    if asked.out.exists() {
        return Err(Problem {
            what: format!("{} already exists", asked.out.display()),
            detail: "its files would be read as logs of this fleet.".into(),
            hint: "choose a new folder.".into(),
        });
    }
    // Only operators act, and no jobs run: jobs print nothing into a kernel log.
    let mut options = asked.world.options(asked.seed, &["mode=observe".to_owned()])?;
    if asked.world.jobs.is_none() {
        options.submit(0)?;
    }
    let bar = progress::Bar::new(&asked.world, 1);
    let lived = history(&options, &mut bar.of_run());
    bar.finish();
    let writing = WriteContext { asked, lived: &lived, first_ms: first.as_millisecond() };
    let written = files::write(&writing).and_then(|written| {
        metrics::write(&writing)?;
        Ok(written)
    });
    let written = written.map_err(|error| Problem {
        what: format!("cannot write the logs to {}", asked.out.display()),
        detail: format!("{error}."),
        hint: "check free disk space, remove the folder and try again.".into(),
    })?;
    Ok(CommandOutput::success(match asked.format.output {
        Output::Json => output::json(&written)?,
        Output::Text => wrapped(
            &format!(
                "{} of {} in {}: {} of kernel logs, {} of them evidence, and {}. Ground truth: {}.",
                counted(u64::from(asked.world.days), "day", "days"),
                counted(written.nodes, "node", "nodes"),
                asked.out.display(),
                counted(written.lines, "line", "lines"),
                thousands(written.evidence),
                counted(written.tickets, "ticket", "tickets"),
                asked.out.join("truth.json").display(),
            ),
            100,
            "",
        ),
    }))
}
