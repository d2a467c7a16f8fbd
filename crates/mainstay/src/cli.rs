//! The command line: subcommands, options and help. Each subcommand is implemented in its own module.

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;
use serde::Serialize;

use crate::argv0::ProgramName;
use crate::assess::{self, AssessArgs};
use crate::commands::ClusterCommand;
use crate::completion;
use crate::demo::{self, Demo};
use crate::gameday::{self, Gameday};
use crate::manifests::{self, RenderArgs};
use crate::output::{self, CommandOutput, Problem, TextFormat};
use crate::runbook::{self, RunbookArgs};
use crate::serve::{self, ServeArgs};
use crate::sim::Sim;
use crate::ui::{self, Ui};

const EXIT_CODES: &str = crate::output::exit_codes!();

const SIM_HELP: &str = "\
Examples:
  mainstay sim run --gpus 1024 --days 30 --seed 7
  mainstay sim compare --a checkpoint=wait --b checkpoint=at-once --svg checkpoint.svg
  mainstay sim replay --seed 17
  mainstay sim settings";

#[derive(Parser)]
#[command(name = "mainstay", version, about = "Reliability control plane for GPU fleets.", after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    word: Command,
}

/// All subcommands of the `mainstay` program.
#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Ask(ClusterCommand),
    /// Print the version and the API version
    #[command(after_help = "Examples:\n  mainstay version\n  mainstay version -o json")]
    Version {
        /// Output format
        #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
        output: TextFormat,
    },
    /// Print the custom resource definitions
    #[command(
        after_help = "Examples:\n  mainstay crds | kubectl apply --server-side -f -\n  mainstay crds --kind GpuNode -o json"
    )]
    Crds {
        /// Kind to print [default: all]
        #[arg(long, value_name = "KIND")]
        kind: Option<String>,
        #[command(flatten)]
        format: Format,
    },
    /// Print the manifests to install in a cluster
    #[command(after_help = "\
The Cell is rendered in mode Observe, and the controller has no permission to change nodes or pods.
Apply the parts in the order below. If you apply them in another order, other clients can still
write; apply the parts again to complete the installation.

Examples:
  mainstay render --part crds   | kubectl apply --server-side -f -
  mainstay render --part policy | kubectl apply --server-side -f -
  mainstay render --part workloads --image registry.example/mainstay:0.2.0 \\
    --agent-image registry.example/mainstay-agent:0.2.0 | kubectl apply --server-side -f -
  mainstay render --part defaults --pool h100 | kubectl create -f -
  mainstay render --namespace gpu-ops --part policy > fence.yaml
  mainstay render --part policy --allow-actions | kubectl diff --server-side -f -")]
    Render {
        #[command(flatten)]
        wanted: RenderArgs,
        #[command(flatten)]
        format: Format,
    },
    /// List the runbooks, or print one
    #[command(after_help = runbook::HELP)]
    Runbook(RunbookArgs),
    /// Run a drill: a fault on purpose, with a report
    #[command(after_help = gameday::HELP)]
    Gameday {
        #[command(subcommand)]
        word: Gameday,
    },
    /// Print a shell completion script
    #[command(after_help = completion::HELP)]
    Completion {
        /// Shell name
        shell: Shell,
    },
    /// Simulate a virtual fleet with the production engine
    #[command(after_help = SIM_HELP)]
    Sim {
        #[command(subcommand)]
        word: Sim,
    },
    /// Report faults and Mainstay's decisions from existing logs
    #[command(after_help = assess::HELP)]
    Assess(AssessArgs),
    /// Run a live demo with a virtual fleet
    #[command(after_help = demo::HELP)]
    Demo(Demo),
    /// Run the controller of a cluster
    #[command(after_help = serve::HELP)]
    Serve(ServeArgs),
    /// Serve the web UI for a cluster
    #[command(after_help = ui::HELP)]
    Ui(Ui),
}

#[derive(Args)]
struct Format {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = output::Format::Yaml)]
    output: output::Format,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    version: &'static str,
    api: String,
}

impl Cli {
    /// The command line of this process; clap reports an invalid one and exits.
    pub(crate) fn parsed(called: ProgramName) -> Self {
        let matches = called.command(Self::command()).get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// Runs the subcommand and returns what it prints.
    pub(crate) fn run(self) -> Result<CommandOutput, Problem> {
        let text = match self.word {
            Command::Version { output } => {
                let api = format!("{}/{}", mainstay_api::GROUP, mainstay_api::VERSION);
                let version = Version { version: env!("CARGO_PKG_VERSION"), api };
                match output {
                    TextFormat::Text => format!("mainstay {} ({})\n", version.version, version.api),
                    TextFormat::Json => output::json(&version)?,
                }
            }
            Command::Crds { kind, format } => output::documents(&manifests::crds(kind.as_deref())?, format.output)?,
            Command::Ask(ask) => return ask.run(),
            Command::Runbook(runbook) => return runbook.run(),
            Command::Gameday { word } => return word.run(),
            Command::Completion { shell } => completion::script(shell)?,
            Command::Sim { word } => return word.run(),
            Command::Demo(demo) => return demo.run(),
            Command::Serve(serve) => return serve.run(),
            Command::Ui(ui) => return ui.run(),
            Command::Assess(assess) => return assess.run(),
            Command::Render { wanted, format } => output::documents(&manifests::render(&wanted)?, format.output)?,
        };
        Ok(CommandOutput::success(text))
    }
}
