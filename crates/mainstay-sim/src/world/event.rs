//! What is going to happen, in order of time; what was planned first comes first at the same moment.

use std::collections::BTreeMap;

use mainstay_model::{
    CellRecord, Effect, Epoch, Nonce, Order, OrderOutcome, PlannedWork, RequestKind, Span, Timestamp,
};

use crate::{FaultClass, ScheduledFault};

/// Something that happens at its time.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// A planted trouble begins.
    Trouble {
        number: usize,
    },
    /// A trouble that lasts is over.
    Ends {
        node: u32,
        ending: FaultEnd,
    },
    Submits {
        job: u32,
    },
    /// The scheduler makes a pass.
    Places,
    Finishes {
        job: u32,
        turn: u32,
    },
    /// A job that could not go on gives up.
    Dies {
        job: u32,
        turn: u32,
    },
    /// A job has saved as it was asked to.
    Saved {
        job: u32,
        turn: u32,
    },
    /// A job that was told to stop has left.
    Left {
        job: u32,
        turn: u32,
    },
    /// A drain tool looks at the findings of a node.
    ToolLooks {
        node: u32,
    },
    /// The timer of its drain is over.
    ToolStops {
        node: u32,
        cordon: u32,
    },
    /// A fault prints its lines.
    Speaks {
        node: u32,
        key: u64,
    },
    /// An agent looks at a port whose link is down.
    Polls {
        node: u32,
        key: u64,
    },
    /// Lines with nothing behind them.
    Alarms {
        node: u32,
        class: FaultClass,
        /// Which of the class's voices; one that is drawn where absent.
        voice: Option<usize>,
        key: u64,
    },
    /// A detector that compares nodes calls one slow, rightly where it names the fault.
    Straggles {
        node: u32,
        key: Option<u64>,
    },
    /// A fault goes away by itself.
    Passes {
        node: u32,
        key: u64,
    },
    /// A fault that was mended comes back.
    Relapses {
        node: u32,
        onset: Box<ScheduledFault>,
    },
    /// An agent writes what it has seen.
    Reports {
        node: u32,
    },
    /// An agent says that it is there.
    Beats {
        node: u32,
    },
    OrderEnds {
        node: u32,
        boot: u32,
        order: Box<Order>,
    },
    /// A machine is up again, and an order that brought it down has ended.
    ComesUp {
        node: u32,
        boot: u32,
        after: Option<(Nonce, OrderOutcome)>,
    },
    /// The backend has not heard from a node for too long.
    Unheard {
        node: u32,
        boot: u32,
    },
    /// An effect reaches the backend.
    Arrives {
        effect: Box<Effect>,
    },
    /// What the cell is to keep of its rules reaches the backend.
    Keeps {
        epoch: Epoch,
        number: u64,
        record: Box<CellRecord>,
    },
    /// A fact reaches the brain.
    Told {
        number: u64,
    },
    /// Somebody notices what nobody did anything about.
    Notices {
        node: u32,
        key: u64,
    },
    /// A part that a node's repair waited for has come.
    PartIsHere {
        node: u32,
    },
    /// A crew is done with a node.
    Repaired {
        node: u32,
    },
    /// A fault begins that was waiting for its moment.
    Breaks {
        onset: Box<ScheduledFault>,
    },
    /// An agent stops and is away for this time.
    AgentStops {
        node: u32,
        down: Span,
    },
    /// A new leader has raised the epoch.
    TakesOver,
}

/// Which lasting injected fault ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultEnd {
    Mode,
    Request(RequestKind),
    Cordon,
    Planned(PlannedWork),
    Silence,
    Unready,
    Flaky,
    Stall,
    Floor,
    /// Unplanned work of people on a node.
    Work,
}

/// Future events of the world, in order of time.
#[derive(Debug, Clone, Default)]
pub(super) struct EventQueue {
    planned: BTreeMap<(Timestamp, u64), Event>,
    count: u64,
}

impl EventQueue {
    pub(super) fn add(&mut self, at: Timestamp, event: Event) {
        self.count += 1;
        self.planned.insert((at, self.count), event);
    }

    pub(super) fn next_at(&self) -> Option<Timestamp> {
        self.planned.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next event that is due by now.
    pub(super) fn take(&mut self, now: Timestamp) -> Option<Event> {
        let entry = self.planned.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }
}
