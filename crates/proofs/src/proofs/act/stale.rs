//! The controller acts on a view that is not the present: an event of a watch is lost or late, all events about a change are, a server's
//! cache lags, or a new leader begins with an old snapshot. In each scenario something changes that makes an action wrong, and the proof
//! counts the actions that the API server carried out all the same. Without the guards (fresh reads, and writes that test the state) at
//! least one must be found, or the proof could not fail.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use testbed::fault_proxy::{EventFault, EventRule, SentWrite, Turn, WatchEvent};
use tokio::sync::Mutex;
use xtask::output;

use super::acting_cluster::Run;
use super::bench::{self, Bench, Program};
use super::scenario::Step::{self, Ask, Mark, Mode, Move, Pod, Protect, Register, Report, Settle};
use super::scenario::{CONTAINED, OFF, Saves::Never};
use crate::prove::{Context, Measurement};

const NODES: usize = 4;
/// Clusters that run at the same time. A run mostly waits.
const CLUSTERS: usize = 3;
/// Budget of the pool.
const BUDGET: usize = 2;
/// Idle time after which a step is over.
const QUIET: Duration = Duration::from_millis(2_500);
/// Idle time after which a run is over: an eviction that a disruption budget refused is tried again after 5 s.
const QUIET_LONG: Duration = Duration::from_secs(7);
/// A controller without an event may try again without an end.
const RUN_AT_MOST: Duration = Duration::from_secs(20);
/// How late a late event is.
const LATE: Duration = Duration::from_secs(3);
/// Runs in CI, drawn by commit; the last one is without guards.
const SLICE: usize = 4;

/// Something that changes while the controller has an old view.
#[derive(Debug, Clone, Copy)]
struct Change {
    name: &'static str,
    before: &'static [Step],
    /// From here on the view is old.
    change: &'static [Step],
    after: &'static [Step],
    /// Resources whose events show the change.
    shown_by: &'static [&'static str],
    wrong: Wrong,
}

/// Which actions are wrong after the change.
#[derive(Debug, Clone, Copy)]
enum Wrong {
    /// Any on the first node and its pods.
    OnFirstNode,
    /// The eviction of this pod.
    EvictionOf(&'static str),
    /// One that was decided for a former registration of its node.
    OfFormerNode,
    /// Any.
    All,
    /// More nodes out of service than the budget.
    OverBudget,
}

/// What is wrong with the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Staleness {
    /// Nothing. The events are counted.
    None,
    /// The event of this number is lost.
    Lost(u64),
    /// The event of this number is late, and so is what follows it.
    Late(u64),
    /// All events that show the change are lost.
    Hidden,
    /// The server's cache lags from the change on.
    Lagging,
    /// A new leader begins with a snapshot from before the change.
    OldSnapshot,
    /// All reads are of the moment before the change, and writes test nothing.
    Unguarded,
}

const DISTURBED: &[Step] = &[Pod("a-0", 0, "a", Never), Protect("a", 1), Report(0, OFF), Settle];

#[rustfmt::skip] // one change a line, to be read as a table
const CHANGES: [Change; 7] = [
    Change { name: "an operator holds the node", before: &[Pod("a-0", 0, "a", Never)], change: &[Ask(0, "Hold")], after: &[Report(0, OFF)], shown_by: &["gpunodes"], wrong: Wrong::OnFirstNode },
    Change { name: "an operator holds the node during its drain", before: DISTURBED, change: &[Ask(0, "Hold")], after: &[Protect("a", 0)], shown_by: &["gpunodes"], wrong: Wrong::OnFirstNode },
    Change { name: "another tool treats the node", before: &[Pod("a-0", 0, "a", Never)], change: &[Mark(0)], after: &[Report(0, OFF)], shown_by: &["nodes"], wrong: Wrong::OnFirstNode },
    Change { name: "a pod moves to another node", before: DISTURBED, change: &[Move("a-0", 1, "a")], after: &[Protect("a", 0)], shown_by: &["pods"], wrong: Wrong::EvictionOf("a-0") },
    Change { name: "a node registers again", before: &[Report(0, CONTAINED), Settle], change: &[Register(1)], after: &[Report(1, OFF)], shown_by: &["nodes"], wrong: Wrong::OfFormerNode },
    Change { name: "an operator stops all actions", before: &[Report(0, CONTAINED), Settle], change: &[Mode("Observe")], after: &[Report(1, OFF)], shown_by: &["cells"], wrong: Wrong::All },
    Change { name: "three nodes fail at once", before: &[], change: &[Report(0, OFF), Report(1, OFF), Report(2, OFF)], after: &[], shown_by: &["gpunodes"], wrong: Wrong::OverBudget },
];

/// How a run ended.
#[derive(Debug)]
struct End {
    events: u64,
    wrong: Vec<String>,
    actions: usize,
}

#[derive(Debug, Default)]
struct Tally {
    runs: u64,
    actions: usize,
    wrong: i64,
    unguarded: u64,
    found: usize,
}

/// Every event of every scenario.
pub(super) async fn full(context: &Context) -> Result<Measurement> {
    measure(context, CHANGES.to_vec(), None).await
}

/// A few runs, drawn by commit.
pub(super) async fn slice(context: &Context) -> Result<Measurement> {
    let seed = bench::seed_of_commit(context).await?;
    // Without guards, this change always leads to a wrong action.
    let sure = CHANGES.into_iter().filter(|change| matches!(change.wrong, Wrong::EvictionOf(_)));
    let drawn = CHANGES[usize::try_from(seed % CHANGES.len() as u64)?];
    measure(context, sure.chain([drawn]).collect(), Some(seed)).await
}

async fn measure(context: &Context, changes: Vec<Change>, slice: Option<u64>) -> Result<Measurement> {
    let program = Program::copy(context).await?;
    let (queue, tally) = (Mutex::new(changes), Mutex::new(Tally::default()));
    let work = async |number: usize| -> Result<()> {
        let trials = Trials { bench: Bench::start(&format!("stale{number}"), NODES).await?, program: program.path() };
        loop {
            let Some(change) = queue.lock().await.pop() else { return Ok(()) };
            trials.all(&change, slice, &tally).await.context(change.name)?;
        }
    };
    let clusters = if slice.is_some() { 1 } else { CLUSTERS };
    try_join_all((0..clusters).map(work)).await?;
    let Tally { runs, actions, wrong, unguarded, found } = tally.into_inner();
    ensure!(actions > 0, "nothing was done in {runs} runs");
    ensure!(found > 0, "{unguarded} runs without guards had no wrong action, so the proof cannot find one");
    let detail = format!(
        "{runs} runs with a lost or late event, a lagging cache or an old snapshot: {actions} actions, {wrong} of them wrong; {unguarded} runs without guards: {found} wrong"
    );
    Ok(Measurement { value: wrong, detail })
}

/// One cluster and the program.
struct Trials {
    bench: Bench,
    program: PathBuf,
}

impl Trials {
    /// Runs a change with every staleness, or with those that the slice chooses.
    async fn all(&self, change: &Change, slice: Option<u64>, tally: &Mutex<Tally>) -> Result<()> {
        let smooth = self.run(change, Staleness::None).await?;
        ensure!(smooth.wrong.is_empty(), "with a view of the present: {:?}", smooth.wrong);
        let mut all = vec![Staleness::Hidden, Staleness::Lagging, Staleness::OldSnapshot];
        all.extend((1..=smooth.events).flat_map(|number| [Staleness::Lost(number), Staleness::Late(number)]));
        if let Some(seed) = slice {
            fastrand::Rng::with_seed(seed).shuffle(&mut all);
            all.truncate(SLICE / 2);
        }
        for staleness in all.into_iter().chain([Staleness::Unguarded]) {
            let end = self.run(change, staleness).await.with_context(|| format!("{staleness:?}"))?;
            for what in &end.wrong {
                output::note(format_args!("{}, {staleness:?}: {what}", change.name));
            }
            let mut tally = tally.lock().await;
            if staleness == Staleness::Unguarded {
                tally.unguarded += 1;
                tally.found += end.wrong.len();
            } else {
                tally.runs += 1;
                tally.actions += end.actions;
                tally.wrong += i64::try_from(end.wrong.len())?;
            }
        }
        let tally = tally.lock().await;
        output::note(format_args!("{}: {} events, so far {tally:?}", change.name, smooth.events));
        Ok(())
    }

    async fn run(&self, change: &Change, staleness: Staleness) -> Result<End> {
        let Bench { cluster, proxy, .. } = &self.bench;
        cluster.clean().await?;
        proxy.clear();
        proxy.catch_up();
        let (mut run, events) = (Run::default(), Arc::new(AtomicU64::new(0)));
        let mut controller = Some(self.bench.lead(&self.program).await?);
        proxy.clear();
        for step in change.before {
            self.step(*step, &mut run).await?;
        }
        if staleness == Staleness::OldSnapshot
            && let Some(former) = controller.take()
        {
            former.kill().await?;
        }
        self.begin(staleness, change, &events).await?;
        for step in change.change {
            self.step(*step, &mut run).await?;
        }
        let changed = if matches!(change.wrong, Wrong::OverBudget) { 0 } else { proxy.written().len() };
        for step in change.after {
            self.step(*step, &mut run).await?;
        }
        if controller.is_none() {
            controller = Some(self.bench.start_controller(&self.program).await?);
        }
        self.bench.is_quiet_within(RUN_AT_MOST, QUIET_LONG, &mut run).await?;
        if matches!(staleness, Staleness::Lagging | Staleness::OldSnapshot) {
            proxy.catch_up();
            self.bench.is_quiet_within(RUN_AT_MOST, QUIET_LONG, &mut run).await?;
        }
        if let Some(controller) = controller {
            controller.kill().await?;
        }
        let mut carried: Vec<(usize, SentWrite)> = proxy.written().into_iter().enumerate().collect();
        carried.retain(|(_, write)| is_action(write) && write.is_carried_out());
        let actions = carried.len();
        let after: Vec<SentWrite> =
            carried.into_iter().filter(|(place, _)| *place >= changed).map(|(_, write)| write).collect();
        let wrong = wrong(change.wrong, &cluster.uids().await?, &cluster.bed.nodes[0].name, &after);
        Ok(End { events: events.load(Ordering::SeqCst), wrong, actions })
    }

    async fn step(&self, step: Step, run: &mut Run) -> Result<()> {
        if step == Settle {
            self.bench.is_quiet_within(RUN_AT_MOST, QUIET, run).await?;
        }
        self.bench.cluster.execute(step, run).await
    }

    async fn begin(&self, staleness: Staleness, change: &Change, events: &Arc<AtomicU64>) -> Result<()> {
        let proxy = &self.bench.proxy;
        let rule = |fault, turn| EventRule::new(fault, turn, is_change);
        match staleness {
            Staleness::None => {
                let events = Arc::clone(events);
                let count = move |event: &WatchEvent| {
                    events.fetch_add(u64::from(is_change(event)), Ordering::SeqCst);
                    false
                };
                proxy.add_for_events(EventRule::new(EventFault::Drop, Turn::Every, count));
            }
            Staleness::Lost(number) => proxy.add_for_events(rule(EventFault::Drop, Turn::Nth(number))),
            Staleness::Late(number) => proxy.add_for_events(rule(EventFault::Delay(LATE), Turn::Nth(number))),
            Staleness::Hidden => {
                let shown_by = change.shown_by;
                let shows = move |event: &WatchEvent| is_change(event) && shown_by.contains(&event.resource.as_str());
                proxy.add_for_events(EventRule::new(EventFault::Drop, Turn::Every, shows));
            }
            Staleness::Lagging | Staleness::OldSnapshot => proxy.lag().await?,
            Staleness::Unguarded => proxy.unguard().await?,
        }
        Ok(())
    }
}

fn is_change(event: &WatchEvent) -> bool {
    event.kind != "BOOKMARK" && event.resource != "leases" && event.resource != "events"
}

/// Whether a write takes a node out of service or disturbs a job.
pub(super) fn is_action(write: &SentWrite) -> bool {
    match write.call.place.as_str() {
        "nodes" => write.json().to_string().contains("mainstay.dev/quarantined"),
        "pods/eviction" | "checkpointrequests" => true,
        _ => false,
    }
}

/// Whether a patch of a node names the uid of a registration that is gone.
fn is_of_former_node(write: &SentWrite, uids: &BTreeMap<String, String>) -> bool {
    let json = write.json();
    let mut operations = json.as_array().into_iter().flatten();
    let tested = operations.find(|operation| operation["path"] == "/metadata/uid");
    tested.is_some_and(|tested| tested["value"].as_str() != uids.get(&write.call.name).map(String::as_str))
}

/// Which of the actions after the change are wrong, in words.
fn wrong(wrong: Wrong, uids: &BTreeMap<String, String>, first: &str, after: &[SentWrite]) -> Vec<String> {
    let actions = after.iter();
    let on_first = |write: &SentWrite| write.call.name == first || write.json().to_string().contains(first);
    let is_eviction = |write: &SentWrite| write.call.place == "pods/eviction";
    let found: Vec<&SentWrite> = match wrong {
        Wrong::OnFirstNode => actions.filter(|write| on_first(write)).collect(),
        Wrong::EvictionOf(pod) => actions.filter(|write| is_eviction(write) && write.call.name == pod).collect(),
        Wrong::OfFormerNode => actions.filter(|write| is_of_former_node(write, uids)).collect(),
        Wrong::All => actions.collect(),
        Wrong::OverBudget => {
            let taints: Vec<&SentWrite> = actions.filter(|write| write.call.place == "nodes").collect();
            let nodes: BTreeSet<&str> = taints.iter().map(|write| write.call.name.as_str()).collect();
            if nodes.len() > BUDGET { taints } else { Vec::new() }
        }
    };
    let words = |write: &&SentWrite| format!("{} of {}", write.call.place, write.call.name);
    found.iter().map(words).collect()
}
