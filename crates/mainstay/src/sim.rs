//! `mainstay sim`: the simulator on the command line. Subcommands and options are here; a run itself is in `mainstay-sim`,
//! and the modules below print its results.

mod chart;
mod compare;
mod logs;
mod progress;
mod replay;
mod runs;
mod settings;
mod summary;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mainstay_sim::{Options, Rates};

use crate::output::{self, CommandOutput, Problem, TextFormat as Output};

/// The subcommands of `mainstay sim`.
#[derive(Subcommand)]
pub(crate) enum Sim {
    /// Simulate a fleet with the production engine
    #[command(after_help = concat!(
    "\
The result depends only on these options and the version: the same command gives the same bytes. Standard error shows \
progress if it is a terminal.

--set takes policies (checkpoint=at-once, mode=observe), and rates and parameters of the failure model, as a value \
(lemon_share=0.02) or a factor (link-flap=x3, all-rates=x0.3). `mainstay sim settings` lists all.

Examples:
  mainstay sim run
  mainstay sim run --gpus 100000 --days 30 --seed 7
  mainstay sim run --rates high --set checkpoint=at-once --set link-flap=x3
  mainstay sim run --seed 7 -o json > seed-7.json

",
    crate::output::exit_codes!()
))]
    Run {
        #[command(flatten)]
        world: World,
        /// Random seed
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[command(flatten)]
        format: Format,
    },
    /// Compare two policies or versions on the same seeds
    #[command(after_help = concat!(
    "\
Each seed runs on both sides, and the runs are compared in pairs. Intervals are 95 % bootstrap intervals; if an interval \
contains zero, there is no significant difference. A side without settings uses the defaults.

To compare versions, pass files written by `mainstay sim run -o json`. A file may contain several runs.

Examples:
  mainstay sim compare --a checkpoint=wait --b checkpoint=at-once
  mainstay sim compare --b mode=observe --seeds 40 --gpus 4096 --svg observe.svg
  mainstay sim compare --a-runs old/*.json --b-runs new/*.json -o json

",
    crate::output::exit_codes!()
))]
    Compare(CompareArgs),
    /// Replay a controller's journal, or one fault-injection seed
    #[command(after_help = concat!(
    "\
--journal gives the facts of a controller's journal (`mainstay serve --journal`) to a new engine, and compares each \
decision with the recorded one. With --policy it compares the decisions under the recorded policies with those under the \
given ones. The facts stay as recorded: they do not follow the other decisions.

--seed runs a simulated fleet. The fault-injection phase injects faults of every class into 208 nodes. In the recovery phase no more faults are injected. \
Safety checks hold in both phases; in the recovery phase every wait must end within its limit.

If a check fails, the command removes faults that do not matter and prints the timeline of the rest. Each fault has a \
number. Removing one does not change the others.

Examples:
  mainstay sim replay --seed 17
  mainstay sim replay --seed 17 --only-faults 3,174 -o json
  mainstay sim replay --journal journal.jsonl.zst
  mainstay sim replay --journal journal.jsonl.zst --policy h100.yaml -o json

",
    crate::output::exit_codes!()
))]
    Replay(replay::Replay),
    /// Write kernel logs and tickets of a virtual fleet
    #[command(after_help = "\
Input for `mainstay assess`. The folder contains logs/ in every supported format, nodes.csv and tickets.csv. truth.json \
contains the injected faults, the deliberately wrong tickets and the lemons (nodes that fail many times as often as others).

Examples:
  mainstay sim logs --gpus 1024 --days 30 --out fleet
  mainstay assess fleet/logs --nodes fleet/nodes.csv --tickets fleet/tickets.csv")]
    Logs(logs::Logs),
    /// List every setting of --set
    #[command(after_help = "Examples:\n  mainstay sim settings\n  mainstay sim settings --rates high -o json")]
    Settings(settings::Settings),
}

/// The fleet and the length of a run.
#[derive(Args)]
pub(crate) struct World {
    /// GPUs in the fleet, a multiple of 8, up to 1,000,000
    #[arg(long, default_value_t = 1_024)]
    gpus: u32,
    /// Virtual days, up to 366
    #[arg(long, default_value_t = 30)]
    days: u32,
    /// Fault rates: low, base, high or stress
    #[arg(long, default_value = "base", value_parser = rates)]
    rates: Rates,
    /// Jobs submitted [default: two per GPU in thirty days]
    #[arg(long)]
    jobs: Option<u32>,
    /// Policy or parameter, name=value or name=x3; repeatable
    #[arg(long = "set", value_name = "SETTING")]
    settings: Vec<String>,
}

/// The two sides of a comparison.
#[derive(Args)]
pub(crate) struct CompareArgs {
    /// Setting of side A; repeatable
    #[arg(long, value_name = "SETTING", conflicts_with = "a_runs")]
    a: Vec<String>,
    /// Setting of side B; repeatable
    #[arg(long, value_name = "SETTING", conflicts_with = "b_runs")]
    b: Vec<String>,
    /// Files with the runs of side A
    #[arg(long, value_name = "FILE", num_args = 1..)]
    a_runs: Vec<PathBuf>,
    /// Files with the runs of side B
    #[arg(long, value_name = "FILE", num_args = 1..)]
    b_runs: Vec<PathBuf>,
    /// Seeds per side
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    seeds: u16,
    /// First seed
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    #[command(flatten)]
    world: World,
    /// Chart of the comparison, SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

#[derive(Args)]
pub(crate) struct Format {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

fn rates(word: &str) -> Result<Rates, String> {
    Rates::of(word).ok_or_else(|| format!("allowed: {}", Rates::ALL.map(Rates::word).join(", ")))
}

impl Sim {
    /// What the command prints.
    pub(crate) fn run(self) -> Result<CommandOutput, Problem> {
        match self {
            Self::Run { world, seed, format } => {
                let options = world.options(seed, &[])?;
                let bar = progress::Bar::new(&world, 1);
                let outcome = mainstay_sim::run(&options, &mut bar.of_run());
                bar.finish();
                Ok(CommandOutput::success(match format.output {
                    Output::Text => summary::text(&outcome),
                    Output::Json => output::json(&outcome)?,
                }))
            }
            Self::Compare(sides) => compare::run(&sides).map(CommandOutput::success),
            Self::Replay(asked) => replay::run(&asked),
            Self::Logs(asked) => logs::run(&asked),
            Self::Settings(asked) => settings::run(&asked),
        }
    }
}

impl World {
    /// What one run depends on: what holds for both sides of a comparison, then what is the side's own.
    fn options(&self, seed: u64, own: &[String]) -> Result<Options, Problem> {
        let mut options = Options::new(self.gpus, self.days, seed, self.rates)?;
        if let Some(jobs) = self.jobs {
            options.submit(jobs)?;
        }
        for setting in self.settings.iter().chain(own) {
            options.set(setting)?;
        }
        Ok(options)
    }
}
