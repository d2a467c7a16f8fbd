//! `mainstay demo`: a live virtual fleet with the production engine, its events in the terminal, and its web UI in a browser.
//! Subcommands and options are here; the modules below run the fleet and render it.

mod history;
mod incidents;
mod printer;
mod remote;
mod render;
mod runner;
mod why;

use std::net::{Ipv4Addr, SocketAddr};

use clap::{Args, Subcommand, ValueEnum};
use mainstay_api::http::{AcceptedResponse, DemoChange, InjectRequest, NodeExplanation, Route, SPEED_MAX};
use mainstay_sim::{DemoScript, Injection, LiveFleet, LiveOptions};
use mainstay_telemetry::shutdown::TerminationSignals;
use mainstay_web::ServerState;
use mainstay_web::access::{Access, OpenAddress};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

use crate::output::{self, CommandOutput, Problem, TextFormat as Output};
use printer::Printer;
use runner::{Runner, ScriptEvent, Summary};

/// The port of a demo where no other is given.
const PORT: u16 = 7_878;
/// Lines for the terminal that may wait to be printed.
const NEWS_MAX: usize = 64;

pub(crate) const HELP: &str = concat!(
    "\
The fleet is virtual; the engine is the one that runs in a cluster. The server listens on this machine only. The same \
options give the same sequence of events. Ctrl-C stops the demo.

Examples:
  mainstay demo
  mainstay demo --gpus 100000 --script crowded --speed 10
  mainstay demo --speed 3600x --exit-after-script -o json
  mainstay demo inject gpu-off-the-bus r0003n01
  mainstay demo why r0003n01
  mainstay demo pause

",
    crate::output::exit_codes!()
);

/// A live fleet, or a request to a running one.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Demo {
    #[command(subcommand)]
    command: Option<ControlCommand>,
    #[command(flatten)]
    show: RunArgs,
}

/// Subcommands that control a running demo.
#[derive(Subcommand)]
enum ControlCommand {
    /// Inject a fault into a node
    #[command(after_help = inject_help())]
    Inject {
        /// Fault to inject (see the list below)
        fault: String,
        /// Node name
        node: String,
        #[command(flatten)]
        to: TargetArgs,
    },
    /// Explain the state of a node of the demo
    #[command(after_help = "Examples:\n  mainstay demo why r0003n01\n  mainstay demo why r0003n01 -o json")]
    Why {
        /// Node name
        node: String,
        #[command(flatten)]
        to: TargetArgs,
    },
    /// Pause the demo clock
    #[command(after_help = "Examples:\n  mainstay demo pause\n  mainstay demo pause --port 9000")]
    Pause {
        #[command(flatten)]
        to: TargetArgs,
    },
    /// Resume the demo clock
    #[command(after_help = "Examples:\n  mainstay demo resume")]
    Resume {
        #[command(flatten)]
        to: TargetArgs,
    },
    /// Set the speed of the demo clock
    #[command(after_help = "Examples:\n  mainstay demo speed 600")]
    Speed {
        /// Virtual seconds per second
        #[arg(value_parser = speed)]
        speed: u32,
        #[command(flatten)]
        to: TargetArgs,
    },
}

/// Address of the running demo and the output format.
#[derive(Args)]
struct TargetArgs {
    /// Address of the demo, HOST:PORT or URL [default: 127.0.0.1:7878]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "port")]
    address: Option<String>,
    /// Port of the demo on this machine
    #[arg(long)]
    port: Option<u16>,
    #[command(flatten)]
    format: Format,
}

/// The fleet of a new demo.
#[derive(Args)]
struct RunArgs {
    /// GPUs in the fleet, a multiple of 8, 256 to 1,000,000
    #[arg(long, default_value_t = 1_024)]
    gpus: u32,
    /// Demo script
    #[arg(long, value_enum, default_value_t = ScriptChoice::Default)]
    script: ScriptChoice,
    /// Virtual seconds per second
    #[arg(long, default_value_t = 60, value_parser = speed)]
    speed: u32,
    /// Random seed
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Listen port on this machine; 0 for any free port
    #[arg(long, default_value_t = PORT)]
    port: u16,
    /// Exit at the end of the script
    #[arg(long)]
    exit_after_script: bool,
    #[command(flatten)]
    format: Format,
}

#[derive(Args, Clone, Copy)]
struct Format {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// Value of `--script`: which faults the demo injects by itself.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScriptChoice {
    /// Five faults within 90 virtual minutes
    Default,
    /// No faults
    None,
    /// No new faults; 1 node in 20 is already out of service
    Crowded,
}

/// The faults with their titles, and examples.
fn inject_help() -> String {
    let faults = Injection::ALL.map(|one| format!("  {:<26}{}\n", one.word(), one.title())).concat();
    format!(
        "Faults:\n{faults}\nExamples:\n  mainstay demo inject row-remap-pending r0003n01\n  \
         mainstay demo inject leaf-down r0010n00 --port 9000 -o json"
    )
}

impl Demo {
    /// Runs the demo or the request, and returns what the command prints.
    pub(crate) fn run(self) -> Result<CommandOutput, Problem> {
        match self.command {
            None => runtime()?.block_on(self.show.run()),
            Some(ControlCommand::Inject { fault, node, to }) => {
                let said = format!("Injected {fault} on {node}");
                to.call(Route::DemoInject, &InjectRequest { fault, node }, &said)
            }
            Some(ControlCommand::Pause { to }) => to.changes(Some(true), None, "Paused"),
            Some(ControlCommand::Resume { to }) => to.changes(Some(false), None, "Resumed"),
            Some(ControlCommand::Speed { speed, to }) => {
                to.changes(None, Some(speed), &format!("Speed set to {speed}x"))
            }
            Some(ControlCommand::Why { node, to }) => to.why(&node),
        }
    }
}

impl TargetArgs {
    fn url(&self) -> Result<String, Problem> {
        match (&self.address, self.port) {
            (Some(address), _) => remote::url(address),
            (None, port) => Ok(format!("http://{}:{}", Ipv4Addr::LOCALHOST, port.unwrap_or(PORT))),
        }
    }

    fn why(&self, node: &str) -> Result<CommandOutput, Problem> {
        let why: NodeExplanation = remote::read(&self.url()?, Route::Why, node)?;
        Ok(CommandOutput::success(match self.format.output {
            Output::Text => why::text(node, &why),
            Output::Json => output::json_line(&why)?,
        }))
    }

    fn changes(&self, paused: Option<bool>, speed: Option<u32>, said: &str) -> Result<CommandOutput, Problem> {
        self.call(Route::Demo, &DemoChange { paused, speed, pause_at: None }, said)
    }

    fn call(&self, route: Route, body: &impl serde::Serialize, said: &str) -> Result<CommandOutput, Problem> {
        let taken: AcceptedResponse = remote::call(&self.url()?, route, body)?;
        Ok(CommandOutput::success(match self.format.output {
            Output::Text => format!("{said}, at {} demo time.\n", printer::since_begin(taken.at)),
            Output::Json => output::json_line(&taken)?,
        }))
    }
}

impl RunArgs {
    async fn run(self) -> Result<CommandOutput, Problem> {
        let listener = listen(self.port).await?;
        let address = listener.local_addr().map_err(|error| cannot_listen(self.port, &error))?;
        Access::OpenOnLoopback.fits(address).map_err(open_address)?;
        let live = self.fleet()?;
        let teller = Printer::new(self.format.output);
        let (news, heard) = mpsc::channel(NEWS_MAX);
        let (owner, asked) = Runner::new(live, self.speed, news);
        let served = ServerState::new(owner.board(), Access::OpenOnLoopback);
        let (end, ends) = watch::channel(());
        let serving = tokio::spawn(mainstay_web::serve(listener, served, ends.clone()));
        let owning = tokio::spawn(owner.run(asked, ends));
        let told = self.print_events(&teller, address, heard).await;
        let _ = end.send(());
        let ending = owning.await.map_err(|error| broke(&error))?;
        serving.await.map_err(|error| broke(&error))?.map_err(|error| broke(&error))?;
        match told? {
            PrintOutcome::ToTheEnd => teller.ended(&ending),
            PrintOutcome::Closed => Ok(CommandOutput::closed()),
        }
    }

    fn fleet(&self) -> Result<LiveFleet, Problem> {
        let (gpus, seed) = (self.gpus, self.seed);
        Ok(match self.script {
            ScriptChoice::Default => LiveFleet::new(LiveOptions { gpus, seed, story: DemoScript::Tour })?,
            ScriptChoice::None => LiveFleet::new(LiveOptions { gpus, seed, story: DemoScript::Calm })?,
            ScriptChoice::Crowded => LiveFleet::crowded(gpus, seed)?,
        })
    }

    /// Prints events until the demo ends.
    async fn print_events(
        &self,
        teller: &Printer,
        address: SocketAddr,
        mut heard: mpsc::Receiver<ScriptEvent>,
    ) -> Result<PrintOutcome, Problem> {
        let mut stops = TerminationSignals::new().map_err(|error| broke(&error))?;
        if output::line(&teller.began(self, address, mainstay_web::web_ui())?).is_err() {
            return Ok(PrintOutcome::Closed);
        }
        loop {
            let news = tokio::select! {
                _ = stops.received() => return Ok(PrintOutcome::ToTheEnd),
                news = heard.recv() => news,
            };
            let line = match news {
                Some(ScriptEvent::Step(step)) => teller.step(&step)?,
                Some(ScriptEvent::More(step)) => teller.more(&step)?,
                Some(ScriptEvent::Over) if self.exit_after_script => return Ok(PrintOutcome::ToTheEnd),
                Some(ScriptEvent::Over) => continue,
                None => return Ok(PrintOutcome::ToTheEnd),
            };
            if output::line(&line).is_err() {
                return Ok(PrintOutcome::Closed);
            }
        }
    }
}

/// A speed as the command line has it: `60` or `60x`.
fn speed(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('x').unwrap_or(text).parse().ok();
    number.filter(|speed| (1..=SPEED_MAX).contains(speed)).ok_or_else(|| format!("allowed: 1x to {SPEED_MAX}x"))
}

/// Whether standard output is still open.
enum PrintOutcome {
    ToTheEnd,
    Closed,
}

async fn listen(port: u16) -> Result<TcpListener, Problem> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|error| cannot_listen(port, &error))
}

fn cannot_listen(port: u16, error: &std::io::Error) -> Problem {
    Problem {
        what: format!("cannot listen on port {port}"),
        detail: format!("{error}."),
        hint: "another demo may use it; use --port 0 for any free port.".to_owned(),
    }
}

fn open_address(error: OpenAddress) -> Problem {
    Problem {
        what: error.to_string(),
        detail: "any client could use it, so it listens on the loopback only.".to_owned(),
        hint: "omit the address, and use a tunnel for access from elsewhere.".to_owned(),
    }
}

fn broke(error: &dyn std::fmt::Display) -> Problem {
    Problem {
        what: "the demo failed".to_owned(),
        detail: format!("{error}."),
        hint: "this is a bug in mainstay: please report it with the command you ran.".to_owned(),
    }
}

fn runtime() -> Result<Runtime, Problem> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| broke(&error))
}
