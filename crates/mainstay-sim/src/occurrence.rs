//! What can happen in a fault-injection run, by the key under which a run counts it: what a script injects, and the
//! situations that follow from it. The proof `seeds` demands every one of them.

use crate::FaultClass;

/// Declares kinds, each with its key.
macro_rules! kinds {
    ($(#[$doc:meta])* $name:ident { $($(#[$kind_doc:meta])* $kind:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$kind_doc])* $kind,)* }

        impl $name {
            /// All of them.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$kind),*];

            /// The key under which a run counts it.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$kind => $word),* }
            }
        }
    };
}

kinds! {
    /// What a script injects. It is counted when it takes effect.
    InjectionKind {
        /// A fault of any class; each class is counted too.
        Fault = "injected-fault",
        /// Nodes log lines of a fault that they do not have.
        FalseAlarms = "false-alarms",
        /// The leader dies.
        Restart = "restart",
        /// The watch stalls.
        Stall = "stalled-watch",
        /// An operator sets mode Observe.
        ModeObserve = "mode-observe",
        /// An operator sets mode Propose.
        ModePropose = "mode-propose",
        /// An operator approves proposed actions.
        Approves = "approval",
        /// An operator holds a node.
        AsksHold = "request-hold",
        /// An operator quarantines a node.
        AsksQuarantine = "request-quarantine",
        /// An operator drains a node.
        AsksDrain = "request-drain",
        /// An operator wants a node back.
        AsksReturn = "request-return",
        /// Another tool cordons a node.
        Cordoned = "cordon-by-others",
        /// Planned maintenance.
        Maintenance = "planned-maintenance",
        /// A planned upgrade.
        Upgrade = "planned-upgrade",
        /// A GPU is swapped, and the operators do not say so.
        Swapped = "swapped-gpu",
        /// An agent hangs.
        Silent = "silent-agent",
        /// Kubernetes does not hear from a node.
        Unready = "unready-node",
        /// A node object is deleted and created again.
        Recreated = "recreated-node",
        /// The backend loses and refuses more than usual.
        Flaky = "flaky-backend",
        /// An agent is replaced.
        AgentRollout = "agent-rollout",
        /// A working machine is cut off from the API server.
        Partition = "partition",
        /// A fault begins during tests.
        FaultDuringTests = "fault-during-tests",
        /// A job crashes on every GPU of a node.
        CrashedJob = "crashed-job",
        /// An operator undoes a cordon of Mainstay.
        CordonUndone = "undone-cordon",
        /// Two nodes of one gang break at once.
        TwoNodesOfOneGang = "two-nodes-of-one-gang",
        /// Two GPUs of one node log the same fault.
        TwoGpusOfOneNode = "two-gpus-of-one-node",
        /// A job hangs while its pods look alive.
        HungJob = "hung-job",
        /// A part takes weeks.
        PartOnBackOrder = "part-on-back-order",
        /// Small jobs take every spare node.
        SparesTaken = "spares-taken",
        /// An operator raises the capacity floor.
        FloorRaised = "raised-floor",
    }
}

kinds! {
    /// A situation that follows from what a script injects.
    Situation {
        /// A write was lost, refused or overtaken.
        LostEffect = "lost-effect",
        /// A node waited for a place of a budget.
        SpentBudget = "spent-budget",
        /// A node waited for the capacity floor.
        SpentFloor = "spent-floor",
        /// A circuit breaker opened.
        BreakerOpen = "breaker-open",
        /// A stopped rule was tried on a node.
        BreakerHalfOpen = "breaker-half-open",
        /// A circuit breaker closed.
        BreakerClosed = "breaker-closed",
        /// A dead machine kept pods.
        PodsLeftBehind = "pods-left-behind",
        /// Mainstay stopped a job while its pool had no spare node.
        DrainWithoutSpare = "drain-without-spare",
        /// A rule removed a node with eight whole GPUs.
        RemovalHgx = "removal-hgx",
        /// A rule removed a node whose GPUs are split by MIG.
        RemovalMig = "removal-mig",
        /// A rule removed a tray of an NVL72 rack.
        RemovalNvl72 = "removal-nvl72",
        /// A job began on nodes with eight whole GPUs.
        JobHgx = "job-hgx",
        /// A job began on nodes whose GPUs are split by MIG.
        JobMig = "job-mig",
        /// A job began on trays of NVL72 racks.
        JobNvl72 = "job-nvl72",
    }
}

/// The keys of all that the seeds must contain, with every class of faults.
pub fn occurrences() -> impl Iterator<Item = &'static str> {
    let classes = FaultClass::ALL.into_iter().map(FaultClass::word);
    let injected = InjectionKind::ALL.into_iter().map(InjectionKind::word);
    classes.chain(injected).chain(Situation::ALL.into_iter().map(Situation::word))
}
