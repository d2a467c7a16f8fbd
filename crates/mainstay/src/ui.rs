//! `mainstay ui`: the page of the demo for a real cluster. Words and options are here; who follows the cluster, and what is
//! drawn of it, is below. By itself it looks with the caller's rights and on the loopback; shared, it looks with its own and
//! asks everybody for a token.

mod deeds;
mod incidents;
mod jobs;
mod looker;
mod painter;
mod tokens;

use std::net::SocketAddr;
use std::sync::Arc;

use clap::Args;
use mainstay_api::http::{Act as Shown, ClusterSeen};
use mainstay_kube::people::{self, Act};
use mainstay_kube::{Client, Following, Gate, Trouble};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::draw::{counted, thousands};
use crate::http::access::Access;
use crate::http::{self, Served};
use crate::output::{self, Plain as Output, Problem, Said};
use crate::stops::Stops;
use looker::Looker;
use tokens::{Door, Tokens};

pub(crate) const HELP: &str = concat!(
    "\
It reads the cluster as you, with the kubeconfig that kubectl would use: what you may not read is named on the page, and
nothing is written by looking. Whoever can log in to this machine can reach it, so the page acts for you only with --acts.

With --shared it runs in a cluster for several people: it reads as its own account, and every call needs a bearer token,
which the API server is asked about (TokenReview, SubjectAccessReview). The page then acts for nobody. Put TLS before it.

Examples:
  mainstay ui
  mainstay ui --acts
  KUBECONFIG=viewer.kubeconfig mainstay ui --listen 127.0.0.1:0 -o json
  mainstay ui --shared --listen 0.0.0.0:7879 --audience mainstay-ui

",
    crate::output::exit_codes!()
);

/// Everything that `ui` is told.
#[derive(Args)]
pub(crate) struct Ui {
    /// Where the page is; port 0 takes any free one
    #[arg(long, default_value = "127.0.0.1:7879")]
    listen: SocketAddr,
    /// Let the page acknowledge, ask, withdraw and set the mode as you, where the API server lets you
    #[arg(long, conflicts_with = "shared")]
    acts: bool,
    /// Ask everybody for a token; needed to listen anywhere but on the loopback
    #[arg(long)]
    shared: bool,
    /// For whom tokens have to be made; the API server's own audience where absent
    #[arg(long, requires = "shared", value_name = "AUDIENCE")]
    audience: Option<String>,
    /// What the page calls the cluster; the kubeconfig's name for it where absent
    #[arg(long)]
    name: Option<String>,
    /// How to print what it says of itself
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

impl Ui {
    /// Shows it until it is told to stop.
    pub(crate) fn run(self) -> Result<Said, Problem> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.map_err(|error| broke(&error))?.block_on(self.show())
    }

    async fn show(self) -> Result<Said, Problem> {
        if !self.shared {
            open_on(self.listen)?;
        }
        let listener = TcpListener::bind(self.listen).await.map_err(|error| self.cannot_listen(&error))?;
        let address = listener.local_addr().map_err(|error| self.cannot_listen(&error))?;
        let mut stops = Stops::new().map_err(|error| broke(&error))?;
        if self.output == Output::Text && output::line("Reading the cluster.\n").is_err() {
            return Ok(Said::closed());
        }
        let begun = tokio::select! {
            () = stops.heard() => return Ok(Said::done(String::new())),
            begun = self.begin() => begun.map_err(|trouble| problem(&trouble))?,
        };
        let (client, following, seen) = begun;
        let name = self.name.clone().or_else(mainstay_kube::context).unwrap_or_else(|| "cluster".to_owned());
        let began = self.began(address, &name, &seen, &following)?;
        let acts = seen.acts.clone();
        let (looker, asked) = Looker::new(following, name.into(), seen);
        let board = looker.board();
        let access = if self.shared {
            let gate = Gate::new(client.clone(), self.audience.clone());
            Access::Tokens(Arc::new(Tokens::new(Door { gate, board: board.clone() })))
        } else {
            Access::OpenOnLoopback
        };
        let (end, ends) = watch::channel(());
        let served = Served::new(board.clone(), access);
        let serving = tokio::spawn(http::serve(listener, served, ends.clone()));
        let acting = tokio::spawn(deeds::take((client.clone(), acts), board, asked, ends.clone()));
        let looking = tokio::spawn(looker.run(client, ends));
        let is_read = output::line(&began).is_ok();
        if is_read {
            stops.heard().await;
        }
        let _ = end.send(());
        let _ = tokio::join!(acting, looking);
        serving.await.map_err(|error| broke(&error))?.map_err(|error| broke(&error))?;
        Ok(if is_read { Said::done(String::new()) } else { Said::closed() })
    }

    /// Reads the cluster, and asks who the caller is and what they may do.
    async fn begin(&self) -> Result<(Client, Following, ClusterSeen), Trouble> {
        let client = mainstay_kube::connect().await?;
        let mut seen = ClusterSeen::default();
        if self.acts {
            seen.person = Some(people::whoami(&client).await?.to_string());
            for act in Act::ALL {
                if act.is_allowed(&client).await? {
                    seen.acts.push(match act {
                        Act::Acknowledge => Shown::Acknowledge,
                        Act::Ask => Shown::Ask,
                        Act::SetMode => Shown::SetMode,
                    });
                }
            }
        }
        let following = Following::begin(client.clone()).await?;
        Ok((client, following, seen))
    }

    fn began(
        &self,
        address: SocketAddr,
        name: &str,
        seen: &ClusterSeen,
        following: &Following,
    ) -> Result<String, Problem> {
        let view = following.view();
        let nodes = u64::try_from(view.nodes().len()).unwrap_or(u64::MAX);
        let unread: Vec<&str> = view.unread().iter().map(|unread| unread.kind).collect();
        if self.output == Output::Json {
            return output::json_line(&json!({
                "event": "began", "address": format!("http://{address}"), "cluster": name, "nodes": nodes,
                "person": seen.person, "acts": seen.acts, "unread": unread, "shared": self.shared,
            }));
        }
        let nodes = counted(nodes, "node", "nodes");
        let mut text = format!("The cluster {name}, {nodes}, is shown at\n\n  http://{address}\n\n");
        if !unread.is_empty() {
            let kinds = counted(u64::try_from(unread.len()).unwrap_or(0), "kind is", "kinds are");
            text += &format!("{kinds} not seen: {}.\n", unread.join(", "));
        }
        text += &match (&seen.person, self.shared) {
            (_, true) => "Everybody is asked for a token. The page acts for nobody.\n".to_owned(),
            (Some(person), false) => {
                let may = thousands(u64::try_from(seen.acts.len()).unwrap_or(0));
                format!("The page acts as {person}, who may do {may} of {} things.\n", Act::ALL.len())
            }
            (None, false) => "The page acts for nobody; --acts lets it act as you.\n".to_owned(),
        };
        Ok(text + "Ctrl-C ends it.\n")
    }

    fn cannot_listen(&self, error: &std::io::Error) -> Problem {
        Problem {
            what: format!("{} cannot be listened on", self.listen),
            detail: format!("{error}."),
            hint: "another one may run there; say --listen 127.0.0.1:0 to take any free port.".to_owned(),
        }
    }
}

/// Without tokens everybody who reaches the page sees what its caller may see.
fn open_on(address: SocketAddr) -> Result<(), Problem> {
    Access::OpenOnLoopback.fits(address).map_err(|problem| Problem {
        detail: "whoever reaches it sees what you may see, so it listens on the loopback only.".to_owned(),
        hint: "leave --listen out, or say --shared, which asks everybody for a token.".to_owned(),
        ..problem
    })
}

fn problem(trouble: &Trouble) -> Problem {
    let (what, hint) = match trouble {
        Trouble::Server(_) => ("the cluster cannot be reached", "try `kubectl get nodes` with the same KUBECONFIG."),
        Trouble::Refused { .. } => (
            "the cluster does not show itself to this account",
            "ask an administrator for the role mainstay-viewer, and try `kubectl auth whoami`.",
        ),
        Trouble::Failed { .. } | Trouble::Fence(_) | Trouble::Cell(_) | Trouble::Journal(_) => {
            ("the cluster does not answer as it should", "look at the API server, and try again.")
        }
    };
    Problem { what: what.to_owned(), detail: format!("{trouble}."), hint: hint.to_owned() }
}

fn broke(error: &dyn std::fmt::Display) -> Problem {
    Problem {
        what: "the page broke".to_owned(),
        detail: format!("{error}."),
        hint: "this is a defect of mainstay: please report it with the command you ran.".to_owned(),
    }
}
