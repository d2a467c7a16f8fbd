//! `mainstay sim`: the virtual fleet for people. Words and options are here; a run itself is the library's, and what it
//! shows is drawn by the modules below.

mod compare;
mod logs;
mod picture;
mod progress;
mod replay;
mod runs;
mod summary;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mainstay_sim::NotComparable;
use mainstay_sim::{BadSetting, Options, Rates};

use crate::output::{self, Plain as Output, Problem, Said};

/// What can be done with the virtual fleet.
#[derive(Subcommand)]
pub(crate) enum Sim {
    /// Run the production brain in a virtual fleet and show what came of it
    #[command(after_help = concat!(
    "\
The outcome depends on these options and on the version, and on nothing else: the same command gives the same \
bytes. Progress is shown on standard error when that is a terminal.

A setting is a policy (checkpoint=wait|ask|at-once, mode=observe|propose|act, rack-out-max=2, fleet-out-max=3%), or a rate or \
parameter of the failure model, as a value (lemon_share=0.02) or times a factor (link-flap=x3, all-rates=x0.3).

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
        /// What chance is drawn from
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[command(flatten)]
        format: Format,
    },
    /// Compare two policies, or two versions, on the same seeds: which is better at what, and how surely
    #[command(after_help = concat!(
    "\
Every seed is run on both sides and the runs are compared pair by pair. An interval is that of 95 % by bootstrap; \
where it holds zero, no difference was shown. A side without settings is the default.

Runs of another version come as files of `mainstay sim run -o json`, one document after the other.

Examples:
  mainstay sim compare --a checkpoint=wait --b checkpoint=at-once
  mainstay sim compare --b mode=observe --seeds 40 --gpus 4096 --rates high --picture observe.svg
  mainstay sim compare --a-runs old/*.json --b-runs new/*.json -o json

",
    crate::output::exit_codes!()
))]
    Compare(Compare),
    /// Live through one storm again; where it breaks a promise, find the troubles that matter and tell their story
    #[command(after_help = concat!(
    "\
A storm plants more trouble on 208 nodes than any fleet has seen, then the sky clears. In the storm nothing may be done \
that must not be; in the calm every wait ends within its bound. Each trouble has a number, and leaving one out leaves the \
others as they were: that is how a failing storm is cut down.

Examples:
  mainstay sim replay --seed 17
  mainstay sim replay --seed 17 --without budget
  mainstay sim replay --seed 17 --without budget --whole -o json

",
    crate::output::exit_codes!()
))]
    Replay(replay::Replay),
    /// Write the kernel logs of a virtual fleet and the tickets of its people, for `mainstay assess`
    #[command(after_help = "\
The folder holds logs/ in every format that `mainstay assess` reads, nodes.csv and tickets.csv; truth.json says what was \
really wrong, which tickets were turned wrong on purpose, and which nodes are lemons.

Examples:
  mainstay sim logs --gpus 1024 --days 30 --into fleet
  mainstay assess fleet/logs --nodes fleet/nodes.csv --tickets fleet/tickets.csv --html fleet.html")]
    Logs(logs::Logs),
}

/// The fleet and its days.
#[derive(Args)]
pub(crate) struct World {
    /// GPUs in the fleet: a multiple of 8, up to 1,000,000
    #[arg(long, default_value_t = 1_024)]
    gpus: u32,
    /// Virtual days, up to 366
    #[arg(long, default_value_t = 30)]
    days: u32,
    /// How often things break: low, base, high or stress
    #[arg(long, default_value = "base", value_parser = rates)]
    rates: Rates,
    /// Jobs submitted over the days [default: two per GPU in thirty days]
    #[arg(long)]
    jobs: Option<u32>,
    /// Sets a policy or a number of the failure model, name=value or name=x3; may be repeated
    #[arg(long = "set", value_name = "SETTING")]
    settings: Vec<String>,
}

/// Two sides.
#[derive(Args)]
pub(crate) struct Compare {
    /// A setting of side A; may be repeated
    #[arg(long, value_name = "SETTING", conflicts_with = "a_runs")]
    a: Vec<String>,
    /// A setting of side B; may be repeated
    #[arg(long, value_name = "SETTING", conflicts_with = "b_runs")]
    b: Vec<String>,
    /// Runs of side A, instead of running them
    #[arg(long, value_name = "FILE", num_args = 1..)]
    a_runs: Vec<PathBuf>,
    /// Runs of side B, instead of running them
    #[arg(long, value_name = "FILE", num_args = 1..)]
    b_runs: Vec<PathBuf>,
    /// How many seeds are run on each side
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    seeds: u16,
    /// The first of the seeds
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    #[command(flatten)]
    world: World,
    /// Also draw it, as SVG
    #[arg(long, value_name = "FILE.svg")]
    picture: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

#[derive(Args)]
pub(crate) struct Format {
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// How a result is printed.
fn rates(word: &str) -> Result<Rates, String> {
    Rates::of(word).ok_or_else(|| format!("rates are {}", Rates::ALL.map(Rates::word).join(", ")))
}

impl Sim {
    /// What the command prints.
    pub(crate) fn run(self) -> Result<Said, Problem> {
        match self {
            Self::Run { world, seed, format } => {
                let options = world.options(seed, &[])?;
                let bar = progress::Bar::new(&world, 1);
                let outcome = mainstay_sim::run(&options, &mut bar.of_run());
                bar.finish();
                Ok(Said::done(match format.output {
                    Output::Text => summary::text(&outcome),
                    Output::Json => output::json(&outcome)?,
                }))
            }
            Self::Compare(sides) => compare::run(&sides).map(Said::done),
            Self::Replay(asked) => replay::run(&asked),
            Self::Logs(asked) => logs::run(&asked),
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

impl From<BadSetting> for Problem {
    fn from(BadSetting { what, detail, hint }: BadSetting) -> Self {
        Self { what, detail, hint }
    }
}

impl From<NotComparable> for Problem {
    fn from(NotComparable { what, detail, hint }: NotComparable) -> Self {
        Self { what, detail, hint }
    }
}
