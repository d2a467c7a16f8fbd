//! The agent at work: sources say, the store counts, the keeper keeps, and the watchdog looks after them all. One task
//! does it; what may hang is on threads.

use std::sync::Arc;
use std::time::Duration;

use mainstay_signal::{Flag, Place, Reading};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::journal::JournalStart;
use crate::kmsg::StartPosition;
use crate::settings::Settings;
use crate::sources::nvml::NvmlSession;
use crate::sources::{self, Heartbeat, SourceMessage, SourceName, WAITING_MAX, journal, kernel_log};
use crate::store::state_file::StateWriter;
use crate::store::{Change, Store};

/// How often pulses are felt. A source may work for seconds before it is said to hang.
const WATCHDOG_EVERY: Duration = Duration::from_secs(1);

/// How long the kernel log is left unread for parts to become known: what is counted without them is counted under a
/// place instead of a serial.
const PARTS_WAIT: Duration = Duration::from_secs(3);

/// The same for GPUs, which take longer to answer where nobody keeps them initialised.
const GPUS_WAIT: Duration = Duration::from_secs(8);

/// The agent.
#[derive(Debug)]
pub struct Agent {
    settings: Settings,
    store: Store,
    keeper: Option<StateWriter>,
    pulses: Vec<Arc<Heartbeat>>,
    guest: NvmlSession,
    /// Whether parts were known before anybody looked.
    parts_kept: bool,
    sender: mpsc::Sender<SourceMessage>,
    messages: mpsc::Receiver<SourceMessage>,
    /// Where to begin with the kernel log, while it has not begun.
    log_from: Option<StartPosition>,
    /// Where to begin with the journal, while it has not begun.
    journal_from: Option<JournalStart>,
    /// Sources that have not yet looked once.
    first_looks: Vec<SourceName>,
    started_at: Instant,
    felt_at: Instant,
}

/// Result of one step of the agent: counted evidence, and the source message behind it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentUpdate {
    /// What was counted.
    pub changes: Vec<Change>,
    /// What was heard, for who wants to see more than what was counted.
    pub event: Option<SourceEvent>,
}

/// Progress that a source reported: the end of the kernel log, or one completed poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceEvent {
    /// The kernel log is read to its end.
    CaughtUp,
    /// A source looked once, and read this.
    Looked {
        /// Which.
        source: SourceName,
        /// Its states and counters.
        readings: Vec<(Place, Reading)>,
        /// Whether something stood in its way.
        trouble: bool,
    },
}

// === impl Agent ===

impl Agent {
    /// Starts every source that is on, the kernel log last.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub fn start(
        settings: Settings,
        store: Store,
        keeper: Option<StateWriter>,
        log_from: StartPosition,
    ) -> std::io::Result<Self> {
        Self::start_as(NvmlSession::new(), settings, store, keeper, log_from)
    }

    /// Starts them with an arrangement about NVML that may hold already.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub fn start_as(
        guest: NvmlSession,
        settings: Settings,
        store: Store,
        keeper: Option<StateWriter>,
        log_from: StartPosition,
    ) -> std::io::Result<Self> {
        let (said, heard) = mpsc::channel(WAITING_MAX);
        let mut agent = Self {
            first_looks: Vec::new(),
            pulses: keeper.iter().map(StateWriter::pulse).collect(),
            guest,
            parts_kept: store.knows_parts(),
            store,
            keeper,
            sender: said,
            messages: heard,
            log_from: None,
            journal_from: None,
            started_at: Instant::now(),
            felt_at: Instant::now(),
            settings,
        };
        for source in agent.settings.sources() {
            match source {
                SourceName::KernelLog => agent.log_from = Some(log_from),
                SourceName::Journal => {
                    let position = agent.store.journal().position.clone();
                    agent.journal_from = Some(match (log_from, position) {
                        (StartPosition::Now, _) => JournalStart::Now,
                        (_, Some(position)) => JournalStart::After(position),
                        (_, None) => JournalStart::ThisBoot,
                    });
                }
                SourceName::Nvml
                | SourceName::Pcie
                | SourceName::Amdgpu
                | SourceName::Infiniband
                | SourceName::Versions
                | SourceName::Scrape => {
                    agent.first_looks.push(source);
                    let (settings, guest, boot) = (&agent.settings, &agent.guest, agent.store.boot());
                    agent.pulses.push(sources::start(source, settings, guest, boot, agent.sender.clone())?);
                }
            }
        }
        agent.start_logs()?;
        Ok(agent)
    }

    /// What is known.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Processes that the kernel killed since boot because host memory ran out. The kernel makes the file from its own
    /// memory, so reading it asks no device and cannot hang.
    #[must_use]
    pub fn oom_kills(&self) -> Option<u64> {
        crate::text::number_of(&self.settings.proc.join("vmstat"), "oom_kill")
    }

    /// Whether every source has looked once, or was waited for: before, a report would say less than the last one.
    #[must_use]
    pub fn has_looked(&self) -> bool {
        self.first_looks.is_empty() || self.started_at.elapsed() >= GPUS_WAIT
    }

    /// What is known, to make a report of.
    pub const fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Who keeps it.
    #[must_use]
    pub const fn keeper(&self) -> Option<&StateWriter> {
        self.keeper.as_ref()
    }

    /// The threads that may hang.
    #[must_use]
    pub fn pulses(&self) -> &[Arc<Heartbeat>] {
        &self.pulses
    }

    /// Whether NVML is open, and how to ask for the contrary.
    #[must_use]
    pub const fn guest(&self) -> &NvmlSession {
        &self.guest
    }

    /// Waits for the next thing to happen; now and then nothing does. Safe to be dropped while it waits.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub async fn next(&mut self) -> std::io::Result<AgentUpdate> {
        let mut end = self.felt_at + WATCHDOG_EVERY;
        if let Some(due) = self.keeper.as_ref().and_then(|keeper| keeper.due_in(&self.store)) {
            end = end.min(Instant::now() + due);
        }
        let mut happened = AgentUpdate::default();
        let said = tokio::select! {
            said = timeout_at(end, self.messages.recv()) => said.ok().flatten(),
            () = kept(self.keeper.as_ref()) => None,
        };
        if let Some(said) = said {
            happened.event = self.apply(&said);
            happened.changes = self.store.fold(said, crate::now());
        }
        if self.felt_at.elapsed() >= WATCHDOG_EVERY {
            self.felt_at = Instant::now();
            happened.changes.extend(self.feel());
        }
        self.start_logs()?;
        if let Some(keeper) = &mut self.keeper {
            keeper.keep(&self.store);
        }
        Ok(happened)
    }

    fn apply(&mut self, said: &SourceMessage) -> Option<SourceEvent> {
        match said {
            SourceMessage::Batch(batch) => batch.caught_up.then_some(SourceEvent::CaughtUp),
            SourceMessage::Events(_) | SourceMessage::Journal(_) => None,
            SourceMessage::Round(source, round) => {
                self.first_looks.retain(|waits| waits != source);
                let readings = self.store.readings_of(round);
                Some(SourceEvent::Looked { source: *source, readings, trouble: round.trouble.is_some() })
            }
        }
    }

    /// Whether each thread hangs.
    fn feel(&mut self) -> Vec<Change> {
        let now = crate::now();
        let mut changes = Vec::new();
        for pulse in &self.pulses {
            let flag = if pulse.stalled() { Flag::Set } else { Flag::Clear };
            changes.extend(self.store.stalled(pulse.name(), flag, now));
        }
        changes
    }

    /// Begins with the kernel log and the journal once the parts are known, or were waited for.
    fn start_logs(&mut self) -> std::io::Result<()> {
        if self.log_from.is_none() && self.journal_from.is_none() {
            return Ok(());
        }
        let wait = |source: &SourceName| match source {
            SourceName::Nvml => GPUS_WAIT,
            SourceName::Infiniband | SourceName::Versions => PARTS_WAIT,
            SourceName::KernelLog
            | SourceName::Journal
            | SourceName::Pcie
            | SourceName::Amdgpu
            | SourceName::Scrape => Duration::ZERO,
        };
        let longest = self.first_looks.iter().map(wait).max().unwrap_or_default();
        if !self.parts_kept && self.started_at.elapsed() < longest {
            return Ok(());
        }
        if let Some(from) = self.log_from.take() {
            self.pulses.push(kernel_log::start(self.settings.kmsg.clone(), from, self.sender.clone())?);
        }
        if let Some(from) = self.journal_from.take() {
            let (root, boot) = (self.settings.root.clone(), self.store.boot().clone());
            self.pulses.push(journal::start(root, boot, from, self.sender.clone())?);
        }
        Ok(())
    }

    /// Lets go of NVML and writes down what is left, waiting for the driver and the disk no longer than so.
    pub async fn end(&mut self, at_most: Duration) {
        self.guest.end();
        let end = Instant::now() + at_most;
        while Instant::now() < end {
            let kept = self.keeper.as_mut().is_none_or(|keeper| {
                // A store that is being written has to end first.
                keeper.keep_now(&self.store);
                keeper.settled() && keeper.due_in(&self.store).is_none()
            });
            if kept && self.guest.is_free() {
                return;
            }
            // Who waits to be heard cannot end.
            self.messages.close();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// A report waits for the disk, so whoever may write one is told when it is done and not at the next beat of the watchdog.
async fn kept(keeper: Option<&StateWriter>) {
    match keeper {
        Some(keeper) => keeper.kept().await,
        None => std::future::pending().await,
    }
}
