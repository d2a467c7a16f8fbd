//! Timeline of a fault-injection run: injected faults, node states, orders and violations. Only the nodes that the
//! story is about are told of, and only its end where it is long.

use std::collections::VecDeque;

use mainstay_model::Timestamp;

use super::{SeedRun, endure};
use crate::injected_fault::{Incident, InjectedFault};

/// Lines that are kept before the end.
const LINES_MAX: usize = 400;

/// The story of a storm, a line each.
#[must_use]
pub fn timeline(storm: &SeedRun) -> Vec<String> {
    let mut lines: VecDeque<String> = VecDeque::new();
    let mut world = storm.world();
    let mut planted: VecDeque<(usize, crate::injected_fault::InjectionEvent)> = storm.script().into();
    world.diary = Some(Vec::new());
    let mut tell = |line: String| {
        if lines.len() >= LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line);
    };
    endure(&mut world, &mut |world| {
        while planted.front().is_some_and(|(_, planted)| planted.at <= world.now) {
            if let Some((number, planted)) = planted.pop_front() {
                tell(format!("{}  fault {number}: {}", clock(planted.at), in_words(&planted.trouble)));
            }
        }
        for (at, line) in world.diary.as_mut().map(std::mem::take).unwrap_or_default() {
            tell(format!("{}    {line}", clock(at)));
        }
    });
    for broken in &world.promises.broken {
        tell(format!("{}  VIOLATED {}: {}", clock(broken.at), broken.promise, broken.what));
    }
    lines.into()
}

fn clock(at: Timestamp) -> String {
    let seconds = at.0 / 1_000;
    format!("{:02}:{:02}:{:02}.{:03}", seconds / 3_600, seconds / 60 % 60, seconds % 60, at.0 % 1_000)
}

fn incident_in_words(incident: &Incident) -> String {
    use crate::fleet::name;
    match incident {
        Incident::AgentRollout { first, nodes, down } => {
            format!(
                "the agents of {nodes} nodes from {} on are replaced, each within {} s",
                name(*first),
                down.0 / 1_000
            )
        }
        Incident::Partition { node, lasts } => {
            format!("{} is cut off from the API server for {} s", name(*node), lasts.0 / 1_000)
        }
        Incident::FaultDuringTests { fault } => format!("{} during the next tests", fault.class.word()),
        Incident::CrashedJob { node, .. } => format!("a job crashes on {}", name(*node)),
        Incident::CordonUndone { node } => format!("an operator undoes the cordon of {} or the next", name(*node)),
        Incident::TwoGpusOfOneNode { fault } => format!("{} on two GPUs of {}", fault.class.word(), name(fault.node)),
        Incident::TwoNodesOfOneGang { fault } => format!("{} on two nodes of one gang", fault.class.word()),
        Incident::HungJob { lasts, .. } => format!("a job hangs for {} s", lasts.0 / 1_000),
        Incident::PartOnBackOrder { fault } => format!("{} needs a part that takes weeks", name(fault.node)),
        Incident::SparesTaken { lasts } => format!("small jobs take every free node for {} s", lasts.0 / 1_000),
        Incident::FloorRaised { lasts } => {
            format!("an operator raises the capacity floors for {} s", lasts.0 / 1_000)
        }
    }
}

fn in_words(trouble: &InjectedFault) -> String {
    use crate::fleet::name;
    match trouble {
        InjectedFault::Fault(onset) => format!("{} on {}, part {}", onset.class.word(), name(onset.node), onset.device),
        InjectedFault::FalseAlarms { first, nodes, class, .. } => {
            format!("false alarms of {nodes} nodes from {} on: {}", name(*first), class.word())
        }
        InjectedFault::Restart { takeover } => {
            format!("the leader fails; another takes over after {} s", takeover.0 / 1_000)
        }
        InjectedFault::Stall { lasts } => format!("the watch stalls for {} s", lasts.0 / 1_000),
        InjectedFault::Mode { mode, lasts } => {
            format!("an operator sets the mode to {mode:?} for {} s", lasts.0 / 1_000)
        }
        InjectedFault::Approves => "an operator approves the proposed actions".to_owned(),
        InjectedFault::Asks { node, kind, lasts } => {
            format!("an operator requests {kind:?} of {} for {} s", name(*node), lasts.0 / 1_000)
        }
        InjectedFault::Cordoned { node, lasts } => {
            format!("another tool cordons {} for {} s", name(*node), lasts.0 / 1_000)
        }
        InjectedFault::Planned { node, planned, lasts } => {
            format!("{planned:?} on {} for {} s", name(*node), lasts.0 / 1_000)
        }
        InjectedFault::Swapped { node, gpu } => format!("GPU {gpu} of {} is replaced without notice", name(*node)),
        InjectedFault::Silent { node, lasts } => {
            format!("the agent of {} hangs for {} s", name(*node), lasts.0 / 1_000)
        }
        InjectedFault::Unready { node, lasts } => {
            format!("Kubernetes has no heartbeat of {} for {} s", name(*node), lasts.0 / 1_000)
        }
        InjectedFault::Incident(incident) => incident_in_words(incident),
        InjectedFault::Recreated { node } => format!("{} is deleted and created again", name(*node)),
        InjectedFault::Flaky { lost_ppm, refused_ppm, lasts } => format!(
            "{} % of actions are lost and {} % rejected for {} s",
            lost_ppm / 10_000,
            refused_ppm / 10_000,
            lasts.0 / 1_000
        ),
    }
}
