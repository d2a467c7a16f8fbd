//! Subcommands that read a cluster. Each reads with the caller's permissions, runs the same engine as the controller on
//! what it read, and writes nothing. `incident ack` is the one exception: it writes under the caller's own name.

mod doctor;
mod incident;
mod incidents;
mod leader;
mod limits;
mod names;
mod needs;
mod node;
mod plan;
mod review;
mod slo;
mod status;
mod why;

use clap::Subcommand;

use self::doctor::Doctor;
use self::incident::IncidentCommand;
use self::node::NodeCommand;
use self::plan::Plan;
use self::review::Review;
use self::slo::SloCommand;
use self::status::Status;
use self::why::WhyCommand;
use crate::kubeconfig::QueryArgs;
use crate::output::{CommandOutput, Problem};

pub(crate) use self::leader::leadership;
pub(crate) use self::needs::facts;
pub(crate) use self::why::labelled;

/// Subcommands that read a cluster with the caller's permissions.
#[derive(Subcommand)]
pub(crate) enum ClusterCommand {
    /// Show fleet status and anything that needs operator action
    #[command(after_help = status::HELP)]
    Status(Status),
    /// Explain the state of a node, incident or pod
    #[command(after_help = why::HELP)]
    Why {
        #[command(subcommand)]
        word: WhyCommand,
    },
    /// Show the next action for each node, without executing it
    #[command(after_help = plan::HELP)]
    Plan(Plan),
    /// Compare dry-run decisions with what happened, per rule
    #[command(after_help = review::HELP)]
    Review(Review),
    /// List nodes, or show one node or its history
    #[command(after_help = node::HELP)]
    Node {
        #[command(subcommand)]
        word: NodeCommand,
    },
    /// List, show or acknowledge incidents
    #[command(after_help = incident::HELP)]
    Incident {
        #[command(subcommand)]
        word: IncidentCommand,
    },
    /// Show disruption budgets and how much of them is used
    #[command(after_help = limits::BUDGET_HELP)]
    Budget(QueryArgs),
    /// Show circuit breakers that are not closed
    #[command(after_help = limits::BREAKER_HELP)]
    Breaker(QueryArgs),
    /// List or show service level objectives, or print their rules
    #[command(after_help = slo::HELP)]
    Slo {
        #[command(subcommand)]
        word: SloCommand,
    },
    /// Check the installation and show how to fix it
    #[command(after_help = doctor::HELP)]
    Doctor(Doctor),
}

impl ClusterCommand {
    /// Runs the subcommand and returns its output.
    pub(crate) fn run(self) -> Result<CommandOutput, Problem> {
        match self {
            Self::Status(status) => status.run(),
            Self::Why { word } => word.run(),
            Self::Plan(plan) => plan.run(),
            Self::Incident { word } => word.run(),
            Self::Budget(how) => limits::budget(&how),
            Self::Breaker(how) => limits::breaker(&how),
            Self::Review(review) => review.run(),
            Self::Node { word } => word.run(),
            Self::Slo { word } => word.run(),
            Self::Doctor(doctor) => doctor.run(),
        }
    }
}
