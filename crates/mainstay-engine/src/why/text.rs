//! The sentence: since when, because of what, on what it waits and until when, what comes next, what would end it sooner.
//! Plain words and the glossary's; it says nothing that the types do not hold.

mod moments;
mod words;

use std::fmt;

use mainstay_model::{BreakerState, Planned, Ready, Request, RequestKind, Stage, Timestamp};
use mainstay_remedy::arbiter::Ledger;

use super::{After, Call, Doubt, Evidence, Spent, Unseen, Wait, Why};
use crate::breakers::BreakerLine;
use moments::{ago, at, long};
pub use words::source;
use words::{act, capped, is_or_are, named, raise, request, rung_of, were};

/// However long names are, a sentence is no longer than this: it must fit a terminal and an event.
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
        let Self { node, as_of, stage, since, .. } = self;
        let because = self.rule.as_ref().map(|(rule, device)| {
            let on = device.as_ref().map(|device| format!(" on {device}")).unwrap_or_default();
            let seen = self.seen();
            let seen = if seen.is_empty() { String::new() } else { format!(" ({})", seen.join("; ")) };
            format!(": {rule}{on}{seen}")
        });
        let limit = match (self.until, self.stuck_at.filter(|_| self.tells_nobody())) {
            (Some(until), _) => format!(", until {} at most", at(until, *as_of)),
            (None, Some(stuck_at)) => format!(", and a person is told at {}", at(stuck_at, *as_of)),
            (None, None) => String::new(),
        };
        let sooner = self.sooner().map(|sooner| format!(" Sooner: {sooner}."));
        format!(
            "{node} has been {stage:?} for {}{}. It waits on {}: {}{limit}. Next: {}.{}",
            long(as_of.since(*since)),
            because.unwrap_or_default(),
            self.wait.on().word(),
            self.what(),
            self.next(),
            sooner.unwrap_or_default(),
        )
    }

    /// Whether nobody has been told yet, and somebody will be. Only the leader tells anybody anything.
    const fn tells_nobody(&self) -> bool {
        !matches!(
            self.wait,
            Wait::Leadership | Wait::Operator(Call::Withdraw(_) | Call::Replace { .. } | Call::Failed(_))
        )
    }

    /// What speaks against the node.
    #[must_use]
    pub fn seen(&self) -> Vec<String> {
        self.evidence.as_slice().iter().map(|one| evidence(one, self.as_of)).collect()
    }

    /// What the wait is on.
    #[must_use]
    pub fn what(&self) -> String {
        match &self.wait {
            Wait::Nothing => calm(self.stage).to_owned(),
            Wait::Approval { action, kind, cap } => {
                format!("{}, so {} needs a yes to {action}", capped(cap), act(*kind))
            }
            Wait::Breaker(Some(line)) => breaker(line, self.as_of),
            Wait::Breaker(None) => "the rule has just been let go on".to_owned(),
            Wait::Budget(spent) => budget(spent),
            Wait::Checkpoint { gangs } => format!("{} asked to save", were(gangs)),
            Wait::SharedCause(Some(blamed)) => format!(
                "{} is blamed, because {} of its {} nodes show {} since {}",
                blamed.subject,
                blamed.nodes.len(),
                blamed.of,
                blamed.rule,
                at(blamed.since, self.as_of)
            ),
            Wait::SharedCause(None) => "whoever was blamed is so no longer".to_owned(),
            Wait::Drain { gangs } => format!("{} told to stop, and the node is not empty yet", were(gangs)),
            Wait::WatchSync(unseen) => match unseen {
                Unseen::View { as_of: Some(as_of) } => format!("the view is {} old", ago(*as_of, self.as_of)),
                Unseen::View { as_of: None } => "nothing was seen of the cluster yet".to_owned(),
                Unseen::Record => "our own record is not seen in the cluster yet".to_owned(),
                Unseen::Cordon => "our cordon is not seen in the cluster yet".to_owned(),
                Unseen::Uncordon => "that it takes work again is not seen in the cluster yet".to_owned(),
            },
            Wait::Leadership => "this controller does not lead the cell, and only the leader acts".to_owned(),
            Wait::Mode { action, kind, cap } => {
                format!("{}, so {} stands on paper as {action}", capped(cap), act(*kind))
            }
            Wait::Order { order: Some((id, rung)), .. } => {
                format!("its agent was ordered to {} ({id})", rung_of(*rung))
            }
            Wait::Order { order: None, .. } => "its agent can be ordered nothing until it reports".to_owned(),
            Wait::Operator(call) => self.call(call),
            Wait::Qualification { order: Some((id, suite)) } => format!("suite {suite} runs there ({id})"),
            Wait::Qualification { order: None } => {
                "a suite is ordered once it is kept from work and reports".to_owned()
            }
            Wait::Report => "its last report was of an earlier registration, and says nothing of this one".to_owned(),
            Wait::SecondSignal(Doubt::Agent { heard_at: Some(heard_at), .. }) => {
                format!("only the backend says so, its agent was heard {} ago", ago(*heard_at, self.as_of))
            }
            Wait::SecondSignal(Doubt::Agent { heard_at: None, .. }) => "only the backend says so".to_owned(),
            Wait::SecondSignal(Doubt::Watched) => "what was found stops nothing by itself".to_owned(),
        }
    }

    fn call(&self, call: &Call) -> String {
        match call {
            Call::Withdraw(Request { kind, by, reason, .. }) => format!("{by} asked for {} ({reason})", request(*kind)),
            Call::Replace { tried } if tried.as_slice().is_empty() => "nothing is left to be tried".to_owned(),
            Call::Replace { tried } => {
                let tried: Vec<String> = tried.as_slice().iter().map(|rung| format!("{rung:?}")).collect();
                format!("nothing is left to be tried after {}", tried.join(", "))
            }
            Call::Finish(planned) => match planned {
                Planned::Nothing => "planned work is over".to_owned(),
                Planned::Bootstrap => "it is being set up".to_owned(),
                Planned::Maintenance => "somebody works on it".to_owned(),
                Planned::Upgrade => "its versions are being changed".to_owned(),
            },
            Call::Failed(Request { by, .. }) => format!("{by} asked for it back, and it failed its suite"),
            Call::Stuck { within, gangs } => {
                let there = if gangs.all == 0 { String::new() } else { format!(" with {} still there", named(gangs)) };
                format!("{:?} may take {}, and it is past that{there}", self.stage, long(*within))
            }
        }
    }

    /// What happens when the wait ends by itself.
    #[must_use]
    pub fn next(&self) -> String {
        let step = self.step();
        match &self.wait {
            Wait::Nothing | Wait::WatchSync(_) | Wait::Report => step.to_owned(),
            Wait::Approval { .. } | Wait::Mode { .. } => format!("nothing before somebody says so, then {step}"),
            Wait::Breaker(line) => match line.as_ref().and_then(|line| line.test.as_ref()) {
                Some(test) => format!("{step} if {test} fails its test, and waits longer if it passes"),
                None => "one of those that wait is tested for all".to_owned(),
            },
            Wait::Budget(_) => format!("{step} when it is its turn"),
            Wait::Checkpoint { .. } => "what has not saved by then is stopped".to_owned(),
            Wait::SharedCause(_) => {
                "what is left when fewer than a third still show it is looked at by itself".to_owned()
            }
            Wait::Drain { .. } => step.to_owned(),
            Wait::Leadership => "the leader goes on from what is on record".to_owned(),
            Wait::Order { after: After::Rung(then), .. } => then.map_or("ask a person", rung_of).to_owned(),
            Wait::Order { after: After::Test { otherwise }, .. } => {
                format!("a test if that was done, else {}", otherwise.map_or("ask a person", rung_of))
            }
            Wait::Operator(call) => match call {
                Call::Withdraw(_) => format!("nothing before the request is withdrawn, then {}", leads_to(self.stage)),
                Call::Replace { .. } => "a part is replaced, and the node tested".to_owned(),
                Call::Finish(_) => format!("once it is given back, {step}"),
                Call::Failed(_) => "nothing before the request is withdrawn, then a repair".to_owned(),
                Call::Stuck { .. } => format!("what it waited on before, then {step}"),
            },
            Wait::Qualification { .. } => "it returns to service if all pass, and is repaired if one fails".to_owned(),
            Wait::SecondSignal(Doubt::Agent { blamed: Some(blamed), .. }) => {
                format!("if the agent is silent by then, {} is blamed and not the node", blamed.subject)
            }
            Wait::SecondSignal(Doubt::Agent { blamed: None, .. }) => {
                "if the agent is silent by then, it is taken out".to_owned()
            }
            Wait::SecondSignal(Doubt::Watched) => {
                "work goes on there, and it is cleared if nothing more comes".to_owned()
            }
        }
    }

    fn step(&self) -> &'static str {
        let asked = self.evidence.as_slice().iter().find_map(|one| match one {
            Evidence::Asked(request) => Some(request.kind),
            Evidence::Counted(_) | Evidence::Gpus { .. } | Evidence::Backend(_) | Evidence::Agent { .. } => None,
        });
        match (self.stage, asked) {
            (Stage::Draining, Some(RequestKind::Retire)) => "it is retired",
            (Stage::Draining, Some(RequestKind::Drain | RequestKind::Quarantine)) => "it stays empty until asked back",
            (_, Some(_) | None) => leads_to(self.stage),
        }
    }

    /// What would end it sooner; nothing where nothing would.
    #[must_use]
    pub fn sooner(&self) -> Option<String> {
        let sooner = match &self.wait {
            Wait::Nothing if self.stage == Stage::Retired => "a request for its return".to_owned(),
            Wait::Nothing => return None,
            Wait::Approval { action, .. } => format!("{action} among the approvals of the Cell, or a higher mode"),
            Wait::Breaker(_) => "a person's request to drain it".to_owned(),
            Wait::Budget(Spent::NoBudget) => "a budget in the pool's policy".to_owned(),
            Wait::Budget(Spent::Full { held_by, .. }) => match held_by.names.as_slice() {
                [] => "a larger budget".to_owned(),
                [_, ..] => "one of them returns, or a larger budget".to_owned(),
            },
            Wait::Checkpoint { .. } => "the save".to_owned(),
            Wait::SharedCause(Some(blamed)) => format!("{} is mended, or a person drains the node", blamed.subject),
            Wait::SharedCause(None) => "a person drains the node".to_owned(),
            Wait::Drain { .. } => "the last of it ends".to_owned(),
            Wait::WatchSync(_) => "the watch catches up".to_owned(),
            Wait::Leadership => "this controller becomes the leader".to_owned(),
            Wait::Mode { cap, .. } => raise(cap),
            Wait::Order { order: Some(_), .. } => "the agent says how it ended".to_owned(),
            Wait::Order { order: None, .. } | Wait::Report => "the agent reports".to_owned(),
            Wait::Operator(call) => match call {
                Call::Withdraw(_) | Call::Failed(_) => "somebody changes the request".to_owned(),
                Call::Replace { .. } => "a request for its return once it is mended".to_owned(),
                Call::Finish(_) => "it is given back".to_owned(),
                Call::Stuck { .. } => "somebody looks at it and files a request".to_owned(),
            },
            Wait::Qualification { .. } => "the suite ends".to_owned(),
            Wait::SecondSignal(Doubt::Agent { .. }) => "the node is ready again".to_owned(),
            Wait::SecondSignal(Doubt::Watched) => "a rule that takes it out, or a person".to_owned(),
        };
        Some(sooner)
    }
}

/// What a node does that waits on nothing.
const fn calm(stage: Stage) -> &'static str {
    match stage {
        Stage::InService => "nothing speaks against it",
        Stage::Retired => "it was retired, and takes no work again",
        Stage::Bootstrapping | Stage::Suspect | Stage::Quarantined | Stage::Draining | Stage::Repairing => {
            "it is looked at again"
        }
        Stage::Qualifying | Stage::Maintenance | Stage::Upgrading | Stage::Held => "it is looked at again",
    }
}

/// What a stage leads to.
const fn leads_to(stage: Stage) -> &'static str {
    match stage {
        Stage::Bootstrapping => "it goes into service",
        Stage::InService => "work goes on there",
        Stage::Suspect => "it takes no new work",
        Stage::Quarantined => "its work is asked to save and to leave",
        Stage::Draining => "it is repaired",
        Stage::Repairing => "it is tested",
        Stage::Qualifying => "it returns to service",
        Stage::Maintenance | Stage::Upgrading => "it is tested while others still keep work away, and returns",
        Stage::Held => "it is tested if it was out before, and takes work if not",
        Stage::Retired => "nothing",
    }
}

fn evidence(evidence: &Evidence, now: Timestamp) -> String {
    match evidence {
        Evidence::Counted(seen) => {
            let last = seen.last_seen_at.map(|last| format!(", last {}", at(last, now))).unwrap_or_default();
            let times = if seen.count == 1 { "once".to_owned() } else { format!("{} times", seen.count) };
            format!("{} {}, {times}{last}", source(seen.source), seen.code)
        }
        Evidence::Gpus { listed, of } => format!("{listed} of {of} GPUs are listed"),
        Evidence::Backend(Ready::Yes) => "the backend hears from it".to_owned(),
        Evidence::Backend(Ready::No) => "it says that it is not ready".to_owned(),
        Evidence::Backend(Ready::Unknown) => "the backend does not hear from it".to_owned(),
        Evidence::Agent { heard_at: Some(heard_at) } => format!("its agent last spoke {}", at(*heard_at, now)),
        Evidence::Agent { heard_at: None } => "its agent never spoke".to_owned(),
        Evidence::Asked(Request { kind, by, reason, .. }) => format!("{} by {by}: {reason}", request(*kind)),
    }
}

fn breaker(line: &BreakerLine, now: Timestamp) -> String {
    let BreakerLine { rule, state, condemned, waiting, test, .. } = line;
    let since = line.since.map(|since| format!(" since {}", at(since, now))).unwrap_or_default();
    let stands = match state {
        BreakerState::Closed => "goes on".to_owned(),
        BreakerState::Open => format!("is stopped{since}"),
        BreakerState::HalfOpen => match test {
            Some(test) => format!("is tried on {test}{since}"),
            None => format!("may be tried on one node{since}"),
        },
    };
    let took_out = if line.is_on_paper { "would have taken out" } else { "took out" };
    format!("{rule} {stands}, because it {took_out} too many at once ({condemned} within the hour, {waiting} wait)")
}

const fn out(counted: Ledger) -> &'static str {
    match counted {
        Ledger::Real => "out",
        Ledger::Paper => "out, really or on paper",
        Ledger::Ours => "out by us",
    }
}

fn budget(spent: &Spent) -> String {
    match spent {
        Spent::NoBudget => "the pool has no budget, and none is not unlimited".to_owned(),
        Spent::Full { level, domain, most, held_by, counted } => {
            let place = match (level, domain) {
                (None, _) => "the pool".to_owned(),
                (Some(level), Some(domain)) => format!("{level:?} {domain}"),
                (Some(level), None) => format!("its unnamed {level:?}"),
            };
            let nodes = if *most == 1 { "node" } else { "nodes" };
            match held_by.names.as_slice() {
                [] => format!("{place} may have {most} {nodes} out"),
                [_, ..] => format!("{place} may have {most} {nodes} out, and {} {}", is_or_are(held_by), out(*counted)),
            }
        }
    }
}
