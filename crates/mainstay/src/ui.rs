//! `mainstay ui`: the web UI for a real cluster. Options are here; the modules below watch the cluster and render it. By
//! default it reads with the caller's permissions and listens on the loopback. Shared, it reads with its own account and
//! requires bearer tokens.

mod actions;
mod capacity;
mod incidents;
mod jobs;
mod render;
mod tokens;
mod watcher;

use std::net::SocketAddr;
use std::sync::Arc;

use clap::Args;
use mainstay_api::http::{AllowedAction as Shown, ClusterAccess};
use mainstay_kube::user_actions::{self, UserAction};
use mainstay_kube::{Authenticator, Client, Error, LiveView};
use mainstay_telemetry::shutdown::TerminationSignals;
use mainstay_text::{counted, thousands};
use mainstay_web::access::Access;
use mainstay_web::{ServerState, WebUi};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

pub(crate) use incidents::incident;

use crate::output::{self, CommandOutput, Problem, TextFormat as Output};
use tokens::{ApiServerLookup, TokenCache};
use watcher::Watcher;

pub(crate) const HELP: &str = concat!(
    "\
The web UI reads the cluster with your kubeconfig and your permissions. It shows which kinds you may not read. Reading \
changes nothing. Every user of this machine can open it, so actions need --allow-actions.

With --shared the server runs in a cluster for several users. It reads with its own account, and each request needs a \
bearer token, which the API server validates (TokenReview, SubjectAccessReview). Actions are disabled. Put TLS in front \
of it.

Examples:
  mainstay ui
  mainstay ui --allow-actions
  KUBECONFIG=viewer.kubeconfig mainstay ui --listen 127.0.0.1:0 -o json
  mainstay ui --shared --listen 0.0.0.0:7879 --audience mainstay-ui

",
    crate::output::exit_codes!()
);

/// Arguments of `mainstay ui`.
#[derive(Args)]
pub(crate) struct Ui {
    /// Listen address; port 0 for any free port
    #[arg(long, default_value = "127.0.0.1:7879")]
    listen: SocketAddr,
    /// Enable actions in the web UI, with your permissions
    #[arg(long, conflicts_with = "shared")]
    allow_actions: bool,
    /// Require bearer tokens; needed to listen beyond the loopback
    #[arg(long)]
    shared: bool,
    /// Required token audience [default: the API server's]
    #[arg(long, requires = "shared", value_name = "AUDIENCE")]
    audience: Option<String>,
    /// Cluster name in the web UI [default: from the kubeconfig]
    #[arg(long)]
    name: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

impl Ui {
    /// Shows it until it is told to stop.
    pub(crate) fn run(self) -> Result<CommandOutput, Problem> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.map_err(|error| broke(&error))?.block_on(self.show())
    }

    async fn show(self) -> Result<CommandOutput, Problem> {
        if !self.shared {
            open_on(self.listen)?;
        }
        let listener = TcpListener::bind(self.listen).await.map_err(|error| self.cannot_listen(&error))?;
        let address = listener.local_addr().map_err(|error| self.cannot_listen(&error))?;
        let mut stops = TerminationSignals::new().map_err(|error| broke(&error))?;
        if self.output == Output::Text && output::line("Reading the cluster.\n").is_err() {
            return Ok(CommandOutput::closed());
        }
        let begun = tokio::select! {
            _ = stops.received() => return Ok(CommandOutput::success(String::new())),
            begun = self.begin() => begun.map_err(|trouble| problem(&trouble))?,
        };
        let (client, following, seen) = begun;
        let name = self.name.clone().or_else(mainstay_kube::context).unwrap_or_else(|| "cluster".to_owned());
        let began = self.began(address, &name, &seen, &following)?;
        let acts = seen.allowed_actions.clone();
        let (looker, asked) = Watcher::new(following, name.into(), seen);
        let board = looker.board();
        let access = if self.shared {
            let gate = Authenticator::new(client.clone(), self.audience.clone());
            Access::Tokens(Arc::new(TokenCache::new(ApiServerLookup { gate, board: board.clone() })))
        } else {
            Access::OpenOnLoopback
        };
        let (end, ends) = watch::channel(());
        let served = ServerState::new(board.clone(), access);
        let serving = tokio::spawn(mainstay_web::serve(listener, served, ends.clone()));
        let acting = tokio::spawn(actions::run((client.clone(), acts), board, asked, ends.clone()));
        let looking = tokio::spawn(looker.run(client, ends));
        let is_read = output::line(&began).is_ok();
        if is_read {
            stops.received().await;
        }
        let _ = end.send(());
        let _ = tokio::join!(acting, looking);
        serving.await.map_err(|error| broke(&error))?.map_err(|error| broke(&error))?;
        Ok(if is_read { CommandOutput::success(String::new()) } else { CommandOutput::closed() })
    }

    /// Reads the cluster, and asks who the caller is and what they may do.
    async fn begin(&self) -> Result<(Client, LiveView, ClusterAccess), Error> {
        let client = mainstay_kube::connect().await?;
        let mut seen = ClusterAccess::default();
        if self.allow_actions {
            seen.user = Some(user_actions::whoami(&client).await?.to_string());
            for act in UserAction::ALL {
                if act.is_allowed(&client).await? {
                    seen.allowed_actions.push(match act {
                        UserAction::Acknowledge => Shown::Acknowledge,
                        UserAction::Ask => Shown::Request,
                        UserAction::SetMode => Shown::SetMode,
                    });
                }
            }
        }
        let following = LiveView::begin(client.clone()).await?;
        Ok((client, following, seen))
    }

    fn began(
        &self,
        address: SocketAddr,
        name: &str,
        seen: &ClusterAccess,
        following: &LiveView,
    ) -> Result<String, Problem> {
        let view = following.view();
        let nodes = u64::try_from(view.nodes().len()).unwrap_or(u64::MAX);
        let unread: Vec<&str> = view.unread().iter().map(|unread| unread.kind).collect();
        if self.output == Output::Json {
            return output::json_line(&json!({
                "event": "began", "address": format!("http://{address}"), "cluster": name, "nodes": nodes,
                "user": seen.user, "allowedActions": seen.allowed_actions, "unreadable": unread, "shared": self.shared,
                "webUi": mainstay_web::web_ui() == WebUi::Included,
            }));
        }
        let nodes = counted(nodes, "node", "nodes");
        let mut text = format!("Cluster {name}, {nodes}:\n\n{}\n", mainstay_web::web_ui().lines(address));
        if !unread.is_empty() {
            text += &format!("No permission to read: {}.\n", unread.join(", "));
        }
        text += &match (&seen.user, self.shared) {
            (_, true) => "Bearer tokens required. Actions are disabled.\n".to_owned(),
            (Some(person), false) => {
                let may = thousands(u64::try_from(seen.allowed_actions.len()).unwrap_or(0));
                format!("Actions are enabled as {person}: {may} of {} permitted.\n", UserAction::ALL.len())
            }
            (None, false) => "Read-only. Start with --allow-actions to enable actions as you.\n".to_owned(),
        };
        Ok(text + "Ctrl-C stops it.\n")
    }

    fn cannot_listen(&self, error: &std::io::Error) -> Problem {
        Problem {
            what: format!("cannot listen on {}", self.listen),
            detail: format!("{error}."),
            hint: "another program may use it; use --listen 127.0.0.1:0 for any free port.".to_owned(),
        }
    }
}

/// Without tokens every client sees what the caller may see.
fn open_on(address: SocketAddr) -> Result<(), Problem> {
    Access::OpenOnLoopback.fits(address).map_err(|error| Problem {
        what: error.to_string(),
        detail: "any client would see what you may see, so it listens on the loopback only.".to_owned(),
        hint: "omit --listen, or use --shared, which requires bearer tokens.".to_owned(),
    })
}

fn problem(trouble: &Error) -> Problem {
    let (what, hint) = match trouble {
        Error::Server(_) | Error::Kubeconfig(_) => {
            ("cannot reach the API server", "try `kubectl get nodes` with the same KUBECONFIG.")
        }
        Error::Credentials(_) => (
            "the API server does not accept these credentials",
            "log in again, or choose another kubeconfig; `kubectl auth whoami` shows whether they are accepted.",
        ),
        Error::Refused { .. } => (
            "this account has no permission to read the cluster",
            "ask an administrator for the role mainstay-viewer; `kubectl auth whoami` shows your account.",
        ),
        Error::Failed { .. } | Error::Incomplete(_) | Error::Fence(_) | Error::Cell(_) | Error::Journal(_) => {
            ("unexpected response from the API server", "check the API server, and try again.")
        }
    };
    Problem { what: what.to_owned(), detail: format!("{trouble}."), hint: hint.to_owned() }
}

fn broke(error: &dyn std::fmt::Display) -> Problem {
    Problem {
        what: "the web UI server failed".to_owned(),
        detail: format!("{error}."),
        hint: "this is a bug in mainstay: please report it with the command you ran.".to_owned(),
    }
}
