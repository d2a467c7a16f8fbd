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
use mainstay_api::http;
use mainstay_engine::{BreakerLine, BudgetLine};

use self::doctor::Doctor;
use self::incident::Incident;
use self::limits::Limits;
use self::node::Node;
use self::plan::Plan;
use self::review::Review;
use self::status::Status;
use self::why::Why;
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
    Budget(Limits),
    /// Tell which rules are stopped because they took out too many at once
    #[command(after_help = limits::BREAKER_HELP)]
    Breaker(Limits),
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
            Self::Budget(limits) => limits.budget(),
            Self::Breaker(limits) => limits.breaker(),
            Self::Review(review) => review.run(),
            Self::Node { word } => word.run(),
            Self::Doctor(doctor) => doctor.run(),
        }
    }
}

fn budget_of(line: &BudgetLine) -> http::Budget {
    http::Budget { pool: line.pool.to_string(), level: line.level, most: line.most, out: line.out, nodes: line.nodes }
}

fn breaker_of(line: &BreakerLine) -> http::Breaker {
    http::Breaker {
        pool: line.pool.to_string(),
        rule: line.rule.to_string(),
        state: line.state,
        since: line.since.unwrap_or_default().0,
        condemned: line.condemned,
        waiting: line.waiting,
        test: line.test.as_ref().map(ToString::to_string),
    }
}
