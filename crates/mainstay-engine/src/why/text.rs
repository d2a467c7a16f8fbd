//! The sentences of `why`: what is wrong, since when, what it waits for and until when, what happens next, and what the
//! operator must do. They state only what the types hold.

mod actions;
mod moments;
mod words;

use std::fmt;

use mainstay_arbiter::domains::Ledger;
use mainstay_health::{SharedCause, rule_text};
use mainstay_model::{
    BreakerState, OrderId, PlannedWork, Ready, RepairStep, Request, RequestKind, Span, Stage, SuiteName, Timestamp,
    UnrecognisedLine, WaitingOn, counted,
};
use mainstay_remedy::life::Machine;

use super::{After, Call, Cap, Doubt, Evidence, Spent, TestProgress, Unseen, Wait, Why};
use crate::breakers::BreakerLine;
use crate::fault::level_name;
use moments::{ago, at, long};
pub use words::source;
use words::{action, capped, is_or_are, named, raised, request, step_of, were};

/// The longest text in characters: it must fit a terminal and an event.
const TEXT_CHARS_MAX: usize = 1_000;

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text();
        let cut: String = text.chars().take(TEXT_CHARS_MAX).collect();
        f.write_str(&cut)
    }
}

impl Why {
    fn text(&self) -> String {
        let Self { as_of, stage, since, .. } = self;
        let on = self.wait.on();
        let wait = if on == WaitingOn::Nothing {
            capital(&self.what())
        } else {
            format!("Waiting for {}: {}{}", on.noun(), self.what(), self.limit())
        };
        format!(
            "{}. {stage:?} for {}. {wait}. Next: {}. {}.",
            self.problem(),
            long(as_of.since(*since)),
            self.next(),
            self.action().map_or_else(|| NO_ACTION.to_owned(), |action| format!("Operator: {action}")),
        )
    }

    /// What is wrong, with the evidence; the node's name alone where no rule is behind its stage.
    #[must_use]
    pub fn problem(&self) -> String {
        let Some(fault) = &self.fault else { return self.node.to_string() };
        let seen = self.seen();
        if seen.is_empty() { fault.title.clone() } else { format!("{}: {}", fault.title, seen.join("; ")) }
    }

    /// Until when it waits at most, or when a longer stay needs an operator.
    fn limit(&self) -> String {
        match (self.until, self.stuck_at.filter(|_| self.is_limited())) {
            (Some(until), _) => format!(", until {} at most", at(until, self.as_of)),
            (None, Some(stuck_at)) => {
                format!(", operator action needed if it lasts until {}", at(stuck_at, self.as_of))
            }
            (None, None) => String::new(),
        }
    }

    /// Whether the limit of the stage still has to be named. Only the leader keeps it.
    const fn is_limited(&self) -> bool {
        !matches!(
            self.wait,
            Wait::Leadership
                | Wait::Operator(Call::Withdraw(_) | Call::Replace { .. } | Call::Failed(_) | Call::Unreachable { .. })
        )
    }

    /// The evidence, one line each.
    #[must_use]
    pub fn seen(&self) -> Vec<String> {
        self.evidence.as_slice().iter().map(|one| evidence(one, self.as_of)).collect()
    }

    /// Error lines that no parser knows, one line per template.
    #[must_use]
    pub fn unrecognised(&self) -> Vec<String> {
        let line = |line: &UnrecognisedLine| {
            let times = if line.count == 1 { "once".to_owned() } else { format!("{} times", line.count) };
            let last = at(line.last_seen_at, self.as_of);
            format!("{} {times}, last at {last}: {}", line.code, line.template)
        };
        self.unrecognised.as_slice().iter().map(line).collect()
    }

    /// What exactly the node waits for.
    #[must_use]
    pub fn what(&self) -> String {
        match &self.wait {
            Wait::Nothing => idle(self.stage).to_owned(),
            Wait::Approval { action: id, kind, cap } => {
                format!("{}, so the {} needs approval of {id}", capped(cap), action(*kind))
            }
            Wait::Breaker(Some(line)) => breaker(line, self.as_of),
            Wait::Breaker(None) => "the circuit breaker has just closed".to_owned(),
            Wait::Budget(spent) => budget(spent),
            Wait::CapacityFloor { floor, in_service } => {
                let nodes = counted(u64::from(*in_service), "node", "nodes");
                format!("the pool has {nodes} in service, and at least {floor} must stay")
            }
            Wait::Freeze => "a freeze stops this kind of removal".to_owned(),
            Wait::RateLimit { removals, per } => {
                let removals = counted(u64::from(*removals), "removal", "removals");
                format!("the pool allows {removals} in {}", long(*per))
            }
            Wait::Window => "no maintenance window of the pool is open".to_owned(),
            Wait::Checkpoint { gangs } => format!("{} asked to save a checkpoint", were(gangs)),
            Wait::SharedCause(Some(blamed)) => suspected(blamed, self.as_of),
            Wait::SharedCause(None) => "the shared cause has cleared".to_owned(),
            Wait::Drain { machine: Machine::Dead, .. } => {
                "its machine is being turned off, because it does not answer and its job has stopped".to_owned()
            }
            Wait::Drain { machine: Machine::Off, .. } => {
                "its machine is off, and its pods are being released".to_owned()
            }
            Wait::Drain { gangs, .. } => format!("{} asked to leave, and pods are still on the node", were(gangs)),
            Wait::WatchSync(missing) => unseen(missing, self.as_of),
            Wait::Leadership => "only the leader takes the next step".to_owned(),
            Wait::Mode { action: id, kind, cap } => {
                format!("{}, so the {} is recorded as a dry run and not executed ({id})", capped(cap), action(*kind))
            }
            Wait::Order { order: Some((id, step)), after } => ordered(id, *step, *after),
            Wait::Order { order: None, .. } => "its agent must report before it can get an order".to_owned(),
            Wait::Operator(call) => self.call(call),
            Wait::Qualification { order: Some((id, suite)), progress } => tested(id, suite, *progress),
            Wait::Qualification { order: None, .. } => {
                "the tests start once the node is cordoned and reports".to_owned()
            }
            Wait::Report => "its last report is from an earlier registration of the node".to_owned(),
            Wait::SecondSignal(signals) => doubt(signals, self.as_of),
        }
    }

    fn call(&self, call: &Call) -> String {
        match call {
            Call::Withdraw(Request { kind, by, reason, .. }) => {
                format!("{by} requested a {} ({reason})", request(*kind))
            }
            Call::Replace { tried } if tried.as_slice().is_empty() => "no automatic repair step is left".to_owned(),
            Call::Replace { tried } => {
                let tried: Vec<&str> = tried.as_slice().iter().map(|step| step_of(*step)).collect();
                format!("no automatic repair step is left (tried: {})", tried.join(", "))
            }
            Call::Finish(planned) => match planned {
                PlannedWork::Nothing => "the planned work has ended".to_owned(),
                PlannedWork::Bootstrap => "the node is being set up".to_owned(),
                PlannedWork::Maintenance => "the node is in maintenance".to_owned(),
                PlannedWork::Upgrade => "the node is being upgraded".to_owned(),
            },
            Call::Failed(Request { by, .. }) => format!("{by} requested its return, and it failed its tests"),
            Call::Unreachable { gangs } => {
                let there = if gangs.all == 0 { String::new() } else { format!("; {} still there", is_or_are(gangs)) };
                format!("it does not answer, and no other path shows whether its machine still runs{there}")
            }
            Call::Stuck { within, gangs } => {
                let there = if gangs.all == 0 { String::new() } else { format!("; {} still there", is_or_are(gangs)) };
                format!("it is past the limit of {} for stage {:?}{there}", long(*within), self.stage)
            }
        }
    }

    /// What happens when the wait ends.
    #[must_use]
    pub fn next(&self) -> String {
        let step = self.step();
        match &self.wait {
            Wait::Nothing | Wait::WatchSync(_) | Wait::Report | Wait::Drain { .. } => step.to_owned(),
            Wait::Approval { cap, .. } => format!("{step}, once an operator approves it or {}", raised(cap)),
            Wait::Mode { cap: cap @ (Cap::NoPolicy | Cap::Restored), .. } => format!("{step}, once {}", raised(cap)),
            // The adapter may only observe, so the engine does not announce an action for a higher mode.
            Wait::Mode { kind, .. } => {
                format!("no action in this mode; only a dry run of the {} is recorded", action(*kind))
            }
            Wait::Breaker(line) => match line.as_ref().and_then(|line| line.test.as_ref()) {
                Some(test) => format!("{step} if {test} fails its test; if it passes, the wait goes on"),
                None => "one of the waiting nodes is tested for all of them".to_owned(),
            },
            Wait::Budget(_) => format!("{step}, once the budget has room"),
            Wait::CapacityFloor { .. } => format!("{step}, once enough nodes are in service"),
            Wait::Freeze | Wait::RateLimit { .. } | Wait::Window => format!("{step} when the wait ends"),
            Wait::Checkpoint { .. } => "jobs that have not saved when the wait ends are stopped".to_owned(),
            Wait::SharedCause(_) => {
                "nodes that still show the fault after the shared cause recovers are handled one by one".to_owned()
            }
            Wait::Leadership => "the leader continues from the stored status".to_owned(),
            Wait::Order { after: After::Again, .. } => "the same order is given again".to_owned(),
            Wait::Order { after: After::Rung(then), .. } => then.map_or("operator action", step_of).to_owned(),
            Wait::Order { after: After::Test { otherwise }, .. } => {
                format!("a test if the order succeeds, otherwise {}", otherwise.map_or("operator action", step_of))
            }
            Wait::Operator(call) => match call {
                Call::Withdraw(_) => format!("{}, once the request is withdrawn", leads_to(self.stage)),
                Call::Replace { .. } => "the node is tested after the repair".to_owned(),
                Call::Finish(_) => format!("{step}, once the work has ended"),
                Call::Failed(_) => "the node is repaired, once the request is withdrawn".to_owned(),
                Call::Unreachable { gangs } if gangs.all == 0 => {
                    "the node is repaired and tested once it answers again".to_owned()
                }
                Call::Unreachable { .. } => "its jobs can run elsewhere once the machine is off".to_owned(),
                Call::Stuck { .. } => format!("the earlier wait continues, then {step}"),
            },
            Wait::Qualification { progress: TestProgress::NotRun, .. } => "the same suite is ordered again".to_owned(),
            Wait::Qualification { progress: TestProgress::NewFault, .. } => {
                "the node is repaired when the suite ends, whatever its result".to_owned()
            }
            Wait::Qualification { .. } => {
                "the node returns to service if all tests pass, and is repaired if one fails".to_owned()
            }
            Wait::SecondSignal(Doubt::Agent { blamed: Some(blamed), .. }) => {
                format!(
                    "if its agent still does not report when the wait ends, {} is treated as the cause",
                    blamed.subject
                )
            }
            Wait::SecondSignal(Doubt::Agent { blamed: None, .. }) => {
                "if its agent still does not report when the wait ends, the node is removed from service".to_owned()
            }
            Wait::SecondSignal(Doubt::Watched) => {
                "jobs continue, and the finding clears if no new evidence arrives".to_owned()
            }
        }
    }

    fn step(&self) -> &'static str {
        let asked = self.evidence.as_slice().iter().find_map(|one| match one {
            Evidence::Asked(request) => Some(request.kind),
            Evidence::Counted(_) | Evidence::Gpus { .. } | Evidence::Backend(_) | Evidence::Agent { .. } => None,
        });
        match (self.stage, asked) {
            (Stage::Draining, Some(RequestKind::Retire)) => "the node is retired",
            (Stage::Draining, Some(RequestKind::Drain | RequestKind::Quarantine)) => {
                "the node stays empty until an operator requests its return"
            }
            (_, Some(_) | None) => leads_to(self.stage),
        }
    }
}

/// What the last line reads where the operator has nothing to do.
pub const NO_ACTION: &str = "No action needed";

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The fault that many nodes share, in the words of the catalogue.
fn shared(rule: &str) -> String {
    rule_text(rule).map_or_else(|| rule.to_owned(), |text| format!("{} {}", text.part, text.title))
}

fn suspected(blamed: &SharedCause, now: Timestamp) -> String {
    format!(
        "{} is the suspected cause, because {} of its {} nodes show the same fault since {} ({})",
        blamed.subject,
        blamed.nodes.len(),
        blamed.of,
        at(blamed.since, now),
        shared(blamed.rule.as_str()),
    )
}

/// What the view of the cluster does not show yet.
fn unseen(missing: &Unseen, now: Timestamp) -> String {
    match missing {
        Unseen::View { as_of: Some(as_of) } => format!("the view of the cluster is {} old", ago(*as_of, now)),
        Unseen::View { as_of: None } => "the cluster has not been read yet".to_owned(),
        Unseen::Record => "the controller's own status write is not visible yet".to_owned(),
        Unseen::Cordon => "the controller's cordon is not visible in the API yet".to_owned(),
        Unseen::Uncordon => "the controller's uncordon is not visible in the API yet".to_owned(),
    }
}

/// The order for a repair step that the agent has.
fn ordered(id: &OrderId, step: RepairStep, after: After) -> String {
    let step = step_of(step);
    match after {
        After::Again => format!("its agent did not run the order to {step} ({id})"),
        After::Test { .. } | After::Rung(_) => format!("its agent has the order to {step} ({id})"),
    }
}

/// The order for a suite that the agent has.
fn tested(id: &OrderId, suite: &SuiteName, progress: TestProgress) -> String {
    match progress {
        TestProgress::NotRun => format!("its agent did not run suite {suite} ({id})"),
        TestProgress::NewFault => format!("suite {suite} is running ({id}), and a fault appeared meanwhile"),
        TestProgress::Running => format!("suite {suite} is running ({id})"),
    }
}

/// Why the signals do not remove the node yet.
fn doubt(signals: &Doubt, now: Timestamp) -> String {
    let alone = "only Kubernetes reports it unreachable";
    match signals {
        Doubt::Agent { progressed_at: Some(at), .. } => format!("{alone}, its job made progress {} ago", ago(*at, now)),
        Doubt::Agent { heard_at: Some(at), .. } => format!("{alone}, its agent reported {} ago", ago(*at, now)),
        Doubt::Agent { heard_at: None, .. } => alone.to_owned(),
        Doubt::Watched => "this fault alone does not remove a node from service".to_owned(),
    }
}

/// The state of a node that waits for nothing.
const fn idle(stage: Stage) -> &'static str {
    match stage {
        Stage::InService => "no fault found",
        Stage::Retired => "the node is retired and takes no jobs",
        Stage::Bootstrapping | Stage::Suspect | Stage::Quarantined | Stage::Draining | Stage::Repairing => {
            "the next decision continues"
        }
        Stage::Qualifying | Stage::Maintenance | Stage::Upgrading | Stage::Held => "the next decision continues",
    }
}

/// What follows a stage.
const fn leads_to(stage: Stage) -> &'static str {
    match stage {
        Stage::Bootstrapping => "the node goes into service",
        Stage::InService => "jobs continue",
        Stage::Suspect => "the node is cordoned",
        Stage::Quarantined => "its jobs are asked to save a checkpoint and to leave",
        Stage::Draining => "the node is repaired",
        Stage::Repairing => "the node is tested",
        Stage::Qualifying => "the node returns to service",
        Stage::Maintenance | Stage::Upgrading => "the node is tested, then returns to service",
        Stage::Held => "the node is tested if it was out of service before, otherwise it takes jobs again",
        Stage::Retired => "none, the node stays retired",
    }
}

fn evidence(evidence: &Evidence, now: Timestamp) -> String {
    match evidence {
        Evidence::Counted(seen) => {
            let last = seen.last_seen_at.map(|last| format!(", last at {}", at(last, now))).unwrap_or_default();
            let times = if seen.count == 1 { "once".to_owned() } else { format!("{} times", seen.count) };
            format!("{} {} {times}{last}", source(seen.source), seen.code)
        }
        Evidence::Gpus { listed, of } => format!("the driver lists {listed} of {of} GPUs"),
        Evidence::Backend(Ready::Yes) => "Kubernetes sees the node".to_owned(),
        Evidence::Backend(Ready::No) => "the node reports NotReady".to_owned(),
        Evidence::Backend(Ready::Unknown) => "Kubernetes does not see the node".to_owned(),
        Evidence::Agent { heard_at: Some(heard_at) } => format!("last agent report at {}", at(*heard_at, now)),
        Evidence::Agent { heard_at: None } => "its agent has never reported".to_owned(),
        Evidence::Asked(Request { kind, by, reason, .. }) => format!("{} requested by {by}: {reason}", request(*kind)),
    }
}

fn breaker(line: &BreakerLine, now: Timestamp) -> String {
    let BreakerLine { rule, state, condemned, waiting, test, .. } = line;
    let since = line.since.map(|since| format!(" since {}", at(since, now))).unwrap_or_default();
    let state = match state {
        BreakerState::Closed => "is not stopped".to_owned(),
        BreakerState::Open => format!("is stopped{since}"),
        BreakerState::HalfOpen => match test {
            Some(test) => format!("is tested on {test}{since}"),
            None => format!("may be tested on one node{since}"),
        },
    };
    let dry = if line.is_on_paper { " in dry run" } else { "" };
    let window = if line.window == Span::hours(1) { "an hour".to_owned() } else { long(line.window) };
    format!("rule {rule} {state}: it flagged {condemned} nodes within {window}{dry}, and {waiting} wait")
}

const fn out(counted: Ledger) -> &'static str {
    match counted {
        Ledger::Real => "out of service",
        Ledger::Paper => "out of service or flagged in dry run",
        Ledger::Ours => "removed from service by Mainstay",
    }
}

fn budget(spent: &Spent) -> String {
    match spent {
        Spent::NoBudget => "the pool has no disruption budget, so no node may be removed from service".to_owned(),
        Spent::Full { level, domain, most, held_by, counted } => {
            let place = match (level, domain) {
                (None, _) => "the pool".to_owned(),
                (Some(level), Some(domain)) => format!("{} {domain}", level_name(*level)),
                (Some(level), None) => format!("its {} without a name", level_name(*level)),
            };
            let nodes = if *most == 1 { "node" } else { "nodes" };
            match held_by.names.as_slice() {
                [] => format!("{place} allows {most} {nodes} out of service"),
                [_, ..] => format!("{place} has {} {}, limit {most} ({})", held_by.all, out(*counted), named(held_by)),
            }
        }
    }
}
