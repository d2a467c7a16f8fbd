//! Words that ask a cluster: how it stands, why, what would be done, what came of it. Each reads with the rights of whoever
//! asks, hands what it read to the same brain that leads, and writes nothing; acknowledging an incident is the one exception,
//! and that is the person's own word.

mod cases;
mod doctor;
mod incident;
mod leader;
mod limits;
mod names;
mod needs;
mod node;
mod plan;
mod review;
mod status;
mod why;

use clap::Subcommand;

use self::doctor::Doctor;
use self::incident::Incident;
use self::node::Node;
use self::plan::Plan;
use self::review::Review;
use self::status::Status;
use self::why::Why;
use crate::cluster::How;
use crate::output::{Problem, Said};

#[derive(Subcommand)]
pub(crate) enum Ask {
    /// Tell how the fleet stands: one screen, and what needs a person
    #[command(after_help = status::HELP)]
    Status(Status),
    /// Tell why a node, an incident or a pod stands where it does
    #[command(after_help = why::HELP)]
    Why {
        #[command(subcommand)]
        word: Why,
    },
    /// Tell what would be done now, node by node, and what waits on what
    #[command(after_help = plan::HELP)]
    Plan(Plan),
    /// Tell what would have been done beside what then happened, rule by rule
    #[command(after_help = review::HELP)]
    Review(Review),
    /// List nodes, show one, or tell what became of it
    #[command(after_help = node::HELP)]
    Node {
        #[command(subcommand)]
        word: Node,
    },
    /// List incidents, show one, or say that you have seen it
    #[command(after_help = incident::HELP)]
    Incident {
        #[command(subcommand)]
        word: Incident,
    },
    /// Tell how many nodes may be out at once, and how many are
    #[command(after_help = limits::BUDGET_HELP)]
    Budget(How),
    /// Tell which rules are stopped because they took out too many at once
    #[command(after_help = limits::BREAKER_HELP)]
    Breaker(How),
    /// Check the installation, and say what to do about what is not right
    #[command(after_help = doctor::HELP)]
    Doctor(Doctor),
}

impl Ask {
    /// What the command prints.
    pub(crate) fn run(self) -> Result<Said, Problem> {
        match self {
            Self::Status(status) => status.run(),
            Self::Why { word } => word.run(),
            Self::Plan(plan) => plan.run(),
            Self::Incident { word } => word.run(),
            Self::Budget(how) => limits::budget(&how),
            Self::Breaker(how) => limits::breaker(&how),
            Self::Review(review) => review.run(),
            Self::Node { word } => word.run(),
            Self::Doctor(doctor) => doctor.run(),
        }
    }
}
