//! Connects to a cluster with the caller's kubeconfig, and prints query results once or on every change. It is the
//! person's own kubeconfig and the person's own rights.

use std::path::PathBuf;

use clap::Args;
use mainstay_kube::{Client, Error, LiveView, View};
use mainstay_telemetry::shutdown::TerminationSignals;
use serde::Serialize;
use serde_json::Value;

use crate::argv0::ProgramName;
use crate::marks;
use crate::output::{self, CommandOutput, Problem, TableFormat};

/// From the top of an empty screen.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

/// Options that select a cluster: kubeconfig file and context.
#[derive(Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    /// Kubeconfig file [default: $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Kubeconfig context [default: the current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// Output format and cluster of a command that reads a cluster.
#[derive(Args)]
pub(crate) struct QueryArgs {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = TableFormat::Table)]
    pub(crate) output: TableFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Option for the namespace where the controller runs.
#[derive(Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct NamespaceArgs {
    /// Namespace of the controller and its Lease
    #[arg(short, long, value_name = "NAME", default_value = crate::manifests::NAMESPACE)]
    pub(crate) namespace: String,
}

/// Result of a query as a JSON value and as text, before an output format is chosen.
pub(crate) struct QueryOutput {
    value: Value,
    text: String,
    needs_person: bool,
}

// === impl ClusterArgs ===

impl ClusterArgs {
    /// Does something with the cluster.
    pub(crate) fn run(
        &self,
        ask: impl AsyncFnOnce(Client) -> Result<CommandOutput, Problem>,
    ) -> Result<CommandOutput, Problem> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| internal_error(&error))?.block_on(async { ask(self.connect().await?).await })
    }

    pub(crate) async fn connect(&self) -> Result<Client, Problem> {
        let connected = mainstay_kube::connect_to(self.kubeconfig.as_deref(), self.context.as_deref()).await;
        connected.map_err(|trouble| problem(&trouble))
    }

    /// Where the cluster is and who we are there.
    pub(crate) async fn config(&self) -> Result<mainstay_kube::Config, Problem> {
        let config = mainstay_kube::config(self.kubeconfig.as_deref(), self.context.as_deref()).await;
        config.map_err(|trouble| problem(&trouble))
    }

    /// Tells once what is seen.
    pub(crate) fn query(
        &self,
        form: TableFormat,
        ask: impl AsyncFnOnce(&Client, &View) -> Result<QueryOutput, Problem>,
    ) -> Result<CommandOutput, Problem> {
        self.run(async |client| {
            let view = View::read(&client).await.map_err(|trouble| problem(&trouble))?;
            ask(&client, &view).await?.into_output(form)
        })
    }

    /// Tells what is seen, and again whenever that changes, until it is told to stop.
    pub(crate) fn watch(
        &self,
        form: TableFormat,
        ask: &impl AsyncFn(&Client, &View) -> Result<QueryOutput, Problem>,
    ) -> Result<CommandOutput, Problem> {
        self.run(async |client| {
            let mut stops = TerminationSignals::new().map_err(|error| internal_error(&error))?;
            let mut following = tokio::select! {
                _ = stops.received() => return Ok(CommandOutput::success(String::new())),
                begun = LiveView::begin(client.clone()) => begun.map_err(|trouble| problem(&trouble))?,
            };
            let mut last = String::new();
            loop {
                let text = ProgramName::of_process()
                    .with_program_name(&ask(&client, following.view()).await?.into_update(form)?);
                if text != last && output::line(&text).is_err() {
                    return Ok(CommandOutput::closed());
                }
                last = text;
                tokio::select! {
                    _ = stops.received() => return Ok(CommandOutput::success(String::new())),
                    next = following.next() => next.map_err(|trouble| problem(&trouble))?,
                };
            }
        })
    }
}

// === impl QueryOutput ===

impl QueryOutput {
    pub(crate) fn new(value: &impl Serialize, text: String) -> Result<Self, Problem> {
        let value = serde_json::to_value(value).map_err(|error| internal_error(&error))?;
        Ok(Self { value, text, needs_person: false })
    }

    /// It needs a person, which the exit code says.
    pub(crate) fn needs_operator(self, needs_person: bool) -> Self {
        Self { needs_person, ..self }
    }

    pub(crate) fn into_output(self, form: TableFormat) -> Result<CommandOutput, Problem> {
        let text = match form {
            TableFormat::Table | TableFormat::Wide if marks::are_wanted() => marks::coloured(&self.text),
            TableFormat::Table | TableFormat::Wide => self.text,
            TableFormat::Json => output::json(&self.value)?,
            TableFormat::Yaml => output::yaml(&self.value)?,
        };
        Ok(if self.needs_person { CommandOutput::needs_operator(text) } else { CommandOutput::success(text) })
    }

    /// The same for somebody who has seen the one before: over it on a terminal, after it elsewhere.
    fn into_update(self, form: TableFormat) -> Result<String, Problem> {
        Ok(match form {
            TableFormat::Json => output::json_line(&self.value)?,
            TableFormat::Yaml => format!("---\n{}", output::yaml(&self.value)?),
            TableFormat::Table | TableFormat::Wide if !output::is_terminal() => format!("{}\n", self.text),
            TableFormat::Table | TableFormat::Wide if marks::are_wanted() => {
                format!("{CLEAR}{}", marks::coloured(&self.text))
            }
            TableFormat::Table | TableFormat::Wide => format!("{CLEAR}{}", self.text),
        })
    }
}

/// A cluster that cannot be asked, for whoever asks.
pub(crate) fn problem(trouble: &Error) -> Problem {
    let (what, hint) = match trouble {
        Error::Kubeconfig(_) => (
            "there is no usable kubeconfig",
            "set KUBECONFIG or --kubeconfig, and --context if it is not the current one.",
        ),
        Error::Server(_) => (
            "the cluster cannot be reached",
            "check the address with `kubectl config view --minify`; choose another with --context or --kubeconfig.",
        ),
        Error::Credentials(_) => (
            "the API server does not accept these credentials",
            "log in again, or choose another kubeconfig; `kubectl auth whoami` shows whether they are accepted.",
        ),
        Error::Refused { .. } => (
            "this account may not do that",
            "ask for the ClusterRole mainstay-viewer to look, and for mainstay-operator to acknowledge.",
        ),
        Error::Incomplete(_) => (
            "Mainstay is not installed in this cluster, or not completely",
            "install the definitions with `mainstay render --part crds | kubectl apply --server-side -f -`; `mainstay doctor` names what else is missing.",
        ),
        Error::Failed { .. } | Error::Fence(_) | Error::Cell(_) | Error::Journal(_) => {
            ("the cluster does not answer as it should", "look at the API server, and try again.")
        }
    };
    Problem { what: what.to_owned(), detail: format!("{trouble}."), hint: hint.to_owned() }
}

pub(crate) fn internal_error(error: &dyn std::fmt::Display) -> Problem {
    Problem {
        what: "the question broke".to_owned(),
        detail: format!("{error}."),
        hint: "this is a defect of mainstay: please report it with the command you ran.".to_owned(),
    }
}
