//! `mainstay demo`: a live virtual fleet with the production brain, its story in the terminal, and its page in a browser.
//! Words and options are here; who owns the fleet, and what is drawn of it, is below.

mod cases;
mod history;
mod owner;
mod painter;
mod remote;
#[cfg(test)]
mod tests;
mod told;

use std::net::{Ipv4Addr, SocketAddr};

use clap::{Args, Subcommand, ValueEnum};
use mainstay_api::http::{Accepted, DemoChange, Inject, Route, SPEED_MAX};
use mainstay_sim::{Live, LiveOptions, Story};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

use crate::http::access::Access;
use crate::http::{self, Served};
use crate::output::{self, Plain as Output, Problem, Said};
use crate::stops::Stops;
use owner::{Ending, News, Owner};
use told::Teller;

/// Where a demo is found where nothing else is said.
const PORT: u16 = 7_878;
const ADDRESS: &str = "http://127.0.0.1:7878";
/// Lines for the terminal that may wait to be printed.
const NEWS_MAX: usize = 64;

pub(crate) const HELP: &str = concat!(
    "\
The page, the calls and the terminal show a virtual fleet; the brain that decides is the one that a cluster runs. Only this \
machine can reach it. The same options give the same story; Ctrl-C ends it.

Examples:
  mainstay demo
  mainstay demo --gpus 100000 --story crowded --speed 10
  mainstay demo --speed 3600x --exit-after-story -o json
  mainstay demo inject gpu-off-the-bus r0003n01
  mainstay demo pause

",
    crate::output::exit_codes!()
);

/// A live fleet, or a word to one that runs.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Demo {
    #[command(subcommand)]
    word: Option<Word>,
    #[command(flatten)]
    show: Show,
}

/// What can be said to a demo that runs.
#[derive(Subcommand)]
enum Word {
    /// Break something: plant a fault on a node
    #[command(after_help = "\
Examples:
  mainstay demo inject row-remap-pending r0003n01
  mainstay demo inject leaf-down r0010n00 -o json

The faults, with what each does, are listed at /api/v1/demo/faults and on the page.")]
    Inject {
        /// What, by its word
        fault: String,
        /// Where
        node: String,
        #[command(flatten)]
        to: To,
    },
    /// Let time stand still
    #[command(after_help = "Examples:\n  mainstay demo pause")]
    Pause {
        #[command(flatten)]
        to: To,
    },
    /// Let it go on
    #[command(after_help = "Examples:\n  mainstay demo resume")]
    Resume {
        #[command(flatten)]
        to: To,
    },
    /// Let it go faster or slower
    #[command(after_help = "Examples:\n  mainstay demo speed 600")]
    Speed {
        /// Virtual seconds in one second
        #[arg(value_parser = speed)]
        speed: u32,
        #[command(flatten)]
        to: To,
    },
}

/// Which demo.
#[derive(Args)]
struct To {
    /// Where it is
    #[arg(long, default_value = ADDRESS)]
    address: String,
    #[command(flatten)]
    format: Format,
}

/// What is shown.
#[derive(Args)]
struct Show {
    /// GPUs in the fleet: a multiple of 8, from 256 to 1,000,000
    #[arg(long, default_value_t = 1_024)]
    gpus: u32,
    /// What happens by itself
    #[arg(long, value_enum, default_value_t = Tale::Default)]
    story: Tale,
    /// Virtual seconds in one second
    #[arg(long, default_value_t = 60, value_parser = speed)]
    speed: u32,
    /// What chance is drawn from
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Where to listen on this machine; 0 takes any free port
    #[arg(long, default_value_t = PORT)]
    port: u16,
    /// End when the story has been told
    #[arg(long)]
    exit_after_story: bool,
    #[command(flatten)]
    format: Format,
}

#[derive(Args, Clone, Copy)]
struct Format {
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Tale {
    /// Six troubles within an hour and a half of the fleet's time
    Default,
    /// Nothing
    None,
    /// Nothing more: one node in twenty is out after a bad night
    Crowded,
}

impl Demo {
    /// What the command prints at its end.
    pub(crate) fn run(self) -> Result<Said, Problem> {
        match self.word {
            None => runtime()?.block_on(self.show.run()),
            Some(Word::Inject { fault, node, to }) => {
                let said = format!("{fault} was planted on {node}");
                to.call(Route::DemoInject, &Inject { fault, node }, &said)
            }
            Some(Word::Pause { to }) => to.changes(Some(true), None, "Time stands still"),
            Some(Word::Resume { to }) => to.changes(Some(false), None, "Time goes on"),
            Some(Word::Speed { speed, to }) => {
                to.changes(None, Some(speed), &format!("Time goes {speed} times as fast as a clock"))
            }
        }
    }
}

impl To {
    fn changes(&self, paused: Option<bool>, speed: Option<u32>, said: &str) -> Result<Said, Problem> {
        self.call(Route::Demo, &DemoChange { paused, speed, pause_at: None }, said)
    }

    fn call(&self, route: Route, body: &impl serde::Serialize, said: &str) -> Result<Said, Problem> {
        let taken: Accepted = remote::call(&self.address, route, body)?;
        Ok(Said::done(match self.format.output {
            Output::Text => format!("{said}, {} into the demo.\n", told::since_begin(taken.at)),
            Output::Json => output::json_line(&taken)?,
        }))
    }
}

impl Show {
    async fn run(self) -> Result<Said, Problem> {
        let listener = listen(self.port).await?;
        let address = listener.local_addr().map_err(|error| cannot_listen(self.port, &error))?;
        Access::OpenOnLoopback.fits(address)?;
        let live = self.fleet()?;
        let teller = Teller::new(self.format.output);
        let (news, heard) = mpsc::channel(NEWS_MAX);
        let (owner, asked) = Owner::new(live, self.speed, news);
        let served = Served::new(owner.board(), Access::OpenOnLoopback);
        let (end, ends) = watch::channel(());
        let serving = tokio::spawn(http::serve(listener, served, ends.clone()));
        let owning = tokio::spawn(owner.run(asked, ends));
        let told = self.tells(&teller, address, heard).await;
        let _ = end.send(());
        let ending = owning.await.map_err(|error| broke(&error))?;
        serving.await.map_err(|error| broke(&error))?.map_err(|error| broke(&error))?;
        match told? {
            Told::ToTheEnd => teller.ended(&ending),
            Told::Closed => Ok(Said::closed()),
        }
    }

    fn fleet(&self) -> Result<Live, Problem> {
        let (gpus, seed) = (self.gpus, self.seed);
        Ok(match self.story {
            Tale::Default => Live::new(LiveOptions { gpus, seed, story: Story::Tour })?,
            Tale::None => Live::new(LiveOptions { gpus, seed, story: Story::Calm })?,
            Tale::Crowded => Live::crowded(gpus, seed)?,
        })
    }

    /// Prints what happens until somebody ends it.
    async fn tells(
        &self,
        teller: &Teller,
        address: SocketAddr,
        mut heard: mpsc::Receiver<News>,
    ) -> Result<Told, Problem> {
        let mut stops = Stops::new().map_err(|error| broke(&error))?;
        if output::line(&teller.began(self, address)?).is_err() {
            return Ok(Told::Closed);
        }
        loop {
            let news = tokio::select! {
                () = stops.heard() => return Ok(Told::ToTheEnd),
                news = heard.recv() => news,
            };
            let line = match news {
                Some(News::Step(step)) => teller.step(&step)?,
                Some(News::More(step)) => teller.more(&step)?,
                Some(News::Over) if self.exit_after_story => return Ok(Told::ToTheEnd),
                Some(News::Over) => continue,
                None => return Ok(Told::ToTheEnd),
            };
            if output::line(&line).is_err() {
                return Ok(Told::Closed);
            }
        }
    }
}

/// A speed as people write it: `60` or `60x`.
fn speed(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('x').unwrap_or(text).parse().ok();
    number.filter(|speed| (1..=SPEED_MAX).contains(speed)).ok_or_else(|| format!("from 1x to {SPEED_MAX}x"))
}

/// Whether somebody still reads.
enum Told {
    ToTheEnd,
    Closed,
}

async fn listen(port: u16) -> Result<TcpListener, Problem> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|error| cannot_listen(port, &error))
}

fn cannot_listen(port: u16, error: &std::io::Error) -> Problem {
    Problem {
        what: format!("port {port} of this machine cannot be used"),
        detail: format!("{error}."),
        hint: "another demo may run there; say --port 0 to take any free one.".to_owned(),
    }
}

fn broke(error: &dyn std::fmt::Display) -> Problem {
    Problem {
        what: "the demo broke".to_owned(),
        detail: format!("{error}."),
        hint: "this is a defect of mainstay: please report it with the command you ran.".to_owned(),
    }
}

fn runtime() -> Result<Runtime, Problem> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| broke(&error))
}
