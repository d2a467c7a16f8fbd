//! Why a node stands where it does: what was found, what it waits on, until when, what comes next and what would end the
//! wait sooner. Typed first; the sentence is made of it in `why/text.rs`. Nothing is decided here.

mod evidence;
mod text;
mod waits;

use mainstay_health::Blamed;
use mainstay_model::{
    ActionKind, Bounded, DomainName, GangId, Level, Mode, NodeName, OrderId, Planned, PoolName, Ready, Request,
    RuleName, Rung, Serial, Span, Stage, SuiteName, Timestamp, WaitingOn,
};
use mainstay_remedy::arbiter::Ledger;

use crate::breakers::BreakerLine;
use crate::fault::Fault;
use crate::incidents;
use crate::node::Node;
use crate::{Engine, Ordinal};

pub use text::{NO_ACTION, source as source_word};

/// So much evidence is told: more of it says the same.
pub const EVIDENCE_MAX: usize = 3;
/// So many are called by name; the others are counted.
pub const NAMES_MAX: usize = 3;

/// Why a node stands where it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// Which node.
    pub node: NodeName,
    /// As of when: the last decision.
    pub as_of: Timestamp,
    /// Where it is in its life.
    pub stage: Stage,
    /// Since when.
    pub since: Timestamp,
    /// The rule behind it, and the part that it is about.
    pub rule: Option<(RuleName, Option<Serial>)>,
    /// Part and fault in words; none where no rule is behind it.
    pub fault: Option<Fault>,
    /// What the rule saw.
    pub evidence: Bounded<Evidence, EVIDENCE_MAX>,
    /// What it waits on.
    pub wait: Wait,
    /// Until when at most; none where time alone does not end it.
    pub until: Option<Timestamp>,
    /// When the stage's own limit shows it to a person; none where that is past, or where it may stay.
    pub stuck_at: Option<Timestamp>,
}

/// One thing that speaks against a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// What its agent counted.
    Counted(mainstay_health::Seen),
    /// It lists fewer GPUs than it should have.
    Gpus {
        /// So many.
        listed: u16,
        /// Of so many.
        of: u16,
    },
    /// The backend does not hear from it, or hears that it is not ready.
    Backend(Ready),
    /// When its agent was last heard.
    Agent {
        /// Then; never where absent.
        heard_at: Option<Timestamp>,
    },
    /// A person asked.
    Asked(Request),
}

/// A few by name, and how many there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Few<T> {
    /// The first of them.
    pub names: Bounded<T, NAMES_MAX>,
    /// All of them.
    pub all: u32,
}

/// What a node waits on, each with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    Nothing,
    /// A person's yes.
    Approval {
        /// What it is to be added to.
        action: OrderId,
        /// What is to be done.
        kind: ActionKind,
        /// What asks for the yes.
        cap: Cap,
    },
    /// A rule that is stopped; none where it has just been let go on.
    Breaker(Option<Box<BreakerLine>>),
    /// Room.
    Budget(Spent),
    /// Gangs that have time to save.
    Checkpoint {
        /// Which.
        gangs: Few<GangId>,
    },
    /// Whoever is blamed; none where that has just ended.
    SharedCause(Option<Box<Blamed>>),
    /// Gangs that are to leave.
    Drain {
        /// Which.
        gangs: Few<GangId>,
    },
    /// A newer view.
    WatchSync(Unseen),
    /// Leadership.
    Leadership,
    /// A higher mode.
    Mode {
        /// As which it is written down.
        action: OrderId,
        /// What is to be done.
        kind: ActionKind,
        /// What forbids it.
        cap: Cap,
    },
    /// The agent.
    Order {
        /// The order and its rung; none where it could not be given yet.
        order: Option<(OrderId, Rung)>,
        /// What follows it.
        after: After,
    },
    /// A person.
    Operator(Call),
    /// A suite.
    Qualification {
        /// The order and its suite; none where it could not be given yet.
        order: Option<(OrderId, SuiteName)>,
    },
    /// A report of this registration.
    Report,
    /// A second witness.
    SecondSignal(Doubt),
}

/// What follows an order to an agent; a person where no rung does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The next rung in any case: this one mends nothing that matters.
    Rung(Option<Rung>),
    /// A test where it was carried out, and the next rung where it was not.
    Test {
        /// Which.
        otherwise: Option<Rung>,
    },
}

/// What keeps an act below the mode that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cap {
    /// The cell's ceiling.
    Cell(Mode),
    /// The pool's policy.
    Pool(PoolName, Mode),
    /// The pool's word on this kind of act.
    Kind(PoolName, Mode),
    /// The pool has no policy.
    NoPolicy,
    /// The cell is older than what we have seen: a store was restored.
    Restored,
}

/// A budget without room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spent {
    /// The pool has none at all.
    NoBudget,
    /// Others have its places.
    Full {
        /// Per domain of this level; over the pool where absent.
        level: Option<Level>,
        /// Which domain; none where its label is missing.
        domain: Option<DomainName>,
        /// How many may be out.
        most: u32,
        /// Who is.
        held_by: Few<NodeName>,
        /// By which count.
        counted: Ledger,
    },
}

/// What the world does not show yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unseen {
    /// Anything new: the view is old.
    View {
        /// As of when it is complete; never where absent.
        as_of: Option<Timestamp>,
    },
    /// Our own record.
    Record,
    /// That work is kept away.
    Cordon,
    /// That it takes work again.
    Uncordon,
}

/// What a person is needed for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// To withdraw what was asked, or to ask for something else.
    Withdraw(Request),
    /// To replace a part: everything else was tried.
    Replace {
        /// Within a day.
        tried: Bounded<Rung, 8>,
    },
    /// To end work that was planned.
    Finish(Planned),
    /// To look at what failed after somebody asked for the node back.
    Failed(Request),
    /// To look at a node past the limit of its stage.
    Stuck {
        /// The limit.
        within: Span,
        /// Who still works there.
        gangs: Few<GangId>,
    },
}

/// Why one witness is not enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// The backend does not hear from it, but its agent was heard.
    Agent {
        /// When.
        heard_at: Option<Timestamp>,
        /// Who is blamed instead of the node if it is silent, too.
        blamed: Option<Box<Blamed>>,
    },
    /// The rule stops nothing by itself.
    Watched,
}

// === impl Wait ===

impl Wait {
    /// The word for it.
    #[must_use]
    pub const fn on(&self) -> WaitingOn {
        match self {
            Self::Nothing => WaitingOn::Nothing,
            Self::Approval { .. } => WaitingOn::Approval,
            Self::Breaker(_) => WaitingOn::Breaker,
            Self::Budget(_) => WaitingOn::Budget,
            Self::Checkpoint { .. } => WaitingOn::Checkpoint,
            Self::SharedCause(_) => WaitingOn::SharedCause,
            Self::Drain { .. } => WaitingOn::Drain,
            Self::WatchSync(_) => WaitingOn::WatchSync,
            Self::Leadership => WaitingOn::Leadership,
            Self::Mode { .. } => WaitingOn::Mode,
            Self::Order { .. } => WaitingOn::Order,
            Self::Operator(_) => WaitingOn::Operator,
            Self::Qualification { .. } => WaitingOn::Qualification,
            Self::Report => WaitingOn::Report,
            Self::SecondSignal(_) => WaitingOn::SecondSignal,
        }
    }
}

// === impl Few ===

impl<T> Few<T> {
    fn of(all: impl IntoIterator<Item = T>) -> Self {
        let mut all = all.into_iter();
        let names: Vec<T> = all.by_ref().take(NAMES_MAX).collect();
        let count = names.len().saturating_add(all.count());
        Self { names: Bounded::try_from(names).unwrap_or_default(), all: u32::try_from(count).unwrap_or(u32::MAX) }
    }
}

// === impl Engine ===

impl Engine {
    /// Why a node stands where it does, as of the last decision; none where nobody knows it, or where it is not registered.
    #[must_use]
    pub fn why(&self, node: &NodeName) -> Option<Why> {
        let ordinal: Ordinal = *self.names.get(node)?;
        let node: &Node = self.node(ordinal);
        node.facts.as_ref()?;
        let as_of = self.decided_at.unwrap_or_default();
        let findings = self.findings(ordinal, as_of);
        let rule = Self::rule_behind(node, &findings);
        let fault = rule.as_ref().map(|(rule, device)| {
            let subject = incidents::subject(node, device.as_ref());
            self.fault(&subject, rule, std::slice::from_ref(&node.name))
        });
        let evidence = self.evidence(node, rule.as_ref(), as_of);
        let (wait, until) = self.wait(ordinal, &findings, as_of);
        let stuck_at = self.limit_of(ordinal).filter(|at| *at > as_of);
        Some(Why {
            node: node.name.clone(),
            as_of,
            stage: node.persisted.stage,
            since: node.persisted.since,
            rule,
            fault,
            evidence,
            wait,
            until,
            stuck_at,
        })
    }
}
