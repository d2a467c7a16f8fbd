//! The executor with a backend that answers from a script. Real servers are in the tests of `mainstay-kube` and in the proofs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use mainstay_model::{
    ClaimId, Epoch, Execution, Executor as Who, GangName, Namespace, NodeUid, Precondition, RequestKind, RuleName,
    Schedulable, Span, Stage, Step,
};
use tokio::time::timeout;

use super::*;
use crate::backend::{Failure, FreshTarget, Reply, StoredIntent, TargetState};

const SOON: Duration = Duration::from_secs(5);

/// What the backend answers, and what it was asked for.
struct Script {
    stage: Stage,
    uid: &'static str,
    request: Option<RequestKind>,
    treated_by: Option<&'static str>,
    replies: AtomicU32,
    later: u32,
    pause: Duration,
    sent: AtomicU32,
    most_at_once: AtomicU32,
    running: AtomicU32,
    fence_refusals: AtomicU32,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            stage: Stage::Quarantined,
            uid: "u1",
            request: None,
            treated_by: None,
            replies: AtomicU32::new(0),
            later: 0,
            pause: Duration::from_millis(10),
            sent: AtomicU32::new(0),
            most_at_once: AtomicU32::new(0),
            running: AtomicU32::new(0),
            fence_refusals: AtomicU32::new(0),
        }
    }
}

impl Backend for Script {
    type Target = ();

    async fn intent(&self, node: &NodeName) -> Result<Option<StoredIntent>, Failure> {
        Ok(Some(StoredIntent { stage: self.stage, claim: Some(claim(node)), request: self.request }))
    }

    async fn read(&self, _: &Effect) -> Result<FreshTarget<()>, Failure> {
        let state = TargetState {
            uid: NodeUid::parse(self.uid).unwrap(),
            schedulable: Schedulable::Yes,
            is_empty: None,
            treated_by: self.treated_by.map(Into::into),
        };
        Ok(FreshTarget::Ready { state, target: () })
    }

    async fn send(&self, _: &Effect, (): (), _: Duration) -> Reply {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(running, Ordering::SeqCst);
        sleep(Duration::from_millis(20)).await;
        self.running.fetch_sub(1, Ordering::SeqCst);
        self.sent.fetch_add(1, Ordering::SeqCst);
        if self.replies.fetch_add(1, Ordering::SeqCst) < self.later {
            let why = Reason::lossy("a disruption budget of a tenant");
            return Reply::Later { after: self.pause, why };
        }
        Reply::Ended(Outcome::Applied)
    }

    async fn fence(&self) -> Result<(), Failure> {
        match self.fence_refusals.load(Ordering::SeqCst) {
            0 => Ok(()),
            left => {
                self.fence_refusals.store(left - 1, Ordering::SeqCst);
                Err(Failure(Reason::lossy("not yet")))
            }
        }
    }
}

/// A leadership with this many milliseconds left.
struct Left(AtomicU64);

impl Leadership for Left {
    fn remaining(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}

fn claim(node: &NodeName) -> ClaimId {
    ClaimId::parse(&format!("fault-{node}-1")).unwrap()
}

fn effect(node: &str, step: Step) -> Effect {
    let node = NodeName::parse(node).unwrap();
    let start_by = now() + Span::seconds(3);
    Effect {
        id: OrderId::of("drain", &node, 1),
        claim: Some(claim(&node)),
        executor: Who::Backend,
        attempt: 1,
        execution: Execution::Ordered,
        expected: Precondition {
            uid: NodeUid::parse("u1").unwrap(),
            recorded: Stage::Quarantined,
            schedulable: Schedulable::Yes,
            is_empty: false,
            request: None,
        },
        start_by,
        done_by: start_by,
        epoch: Epoch(7),
        rule: RuleName::parse("gpu-off-the-bus").unwrap(),
        node,
        step,
    }
}

fn stop(node: &str, gang: &str) -> Effect {
    let gang = GangId { namespace: Namespace::parse("a").unwrap(), name: GangName::parse(gang).unwrap() };
    effect(node, Step::Stop { gang })
}

fn pool() -> PoolName {
    PoolName::parse("p").unwrap()
}

fn executor(script: Script, left: u64) -> Executor<Script, Left> {
    let (backend, leadership) = (Arc::new(script), Arc::new(Left(AtomicU64::new(left))));
    Executor::start(backend, leadership, RateLimits::default(), Duration::ZERO)
}

async fn ends(executor: &mut Executor<Script, Left>, count: usize) -> Vec<(String, Outcome)> {
    let mut all = Vec::new();
    for _ in 0..count {
        let finished = timeout(SOON, executor.next()).await.expect("an effect must end");
        all.push((finished.effect.node.to_string(), finished.outcome));
    }
    all
}

#[tokio::test]
async fn an_effect_is_sent_once_and_its_outcome_returned() {
    let mut executor = executor(Script::default(), 10_000);
    assert_eq!(executor.offer(effect("n1", Step::Cordon), pool()), Offer::Queued);
    assert_eq!(executor.offer(effect("n1", Step::Cordon), pool()), Offer::Queued);
    assert_eq!(ends(&mut executor, 1).await, [("n1".to_owned(), Outcome::Applied)]);
    assert_eq!(executor.backend.sent.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn nothing_starts_before_the_fence_refuses_a_stale_write() {
    let mut executor = executor(Script { fence_refusals: AtomicU32::new(1), ..Script::default() }, 10_000);
    executor.offer(effect("n1", Step::Cordon), pool());
    assert!(timeout(Duration::from_millis(500), executor.next()).await.is_err());
    assert_eq!(executor.barrier(), BarrierStep::Fence);
    assert_eq!(ends(&mut executor, 1).await, [("n1".to_owned(), Outcome::Applied)]);
}

#[tokio::test]
async fn an_effect_that_cannot_start_in_time_ends_with_the_reason() {
    let mut executor = executor(Script { fence_refusals: AtomicU32::new(100), ..Script::default() }, 10_000);
    executor.offer(effect("n1", Step::Cordon), pool());
    let ended = ends(&mut executor, 1).await;
    let Outcome::Refused(why) = &ended[0].1 else { panic!("{ended:?}") };
    assert_eq!(why.as_str(), BarrierStep::Fence.to_string());
    assert_eq!(executor.backend.sent.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_changed_target_or_status_ends_the_effect_without_a_request() {
    let changed = [
        Script { uid: "another", ..Script::default() },
        Script { stage: Stage::Suspect, ..Script::default() },
        Script { request: Some(RequestKind::Hold), ..Script::default() },
    ];
    for script in changed {
        let mut executor = executor(script, 10_000);
        executor.offer(effect("n1", Step::Cordon), pool());
        assert_eq!(ends(&mut executor, 1).await, [("n1".to_owned(), Outcome::Conflict)]);
        assert_eq!(executor.backend.sent.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn another_tool_that_treats_the_node_is_named_and_a_return_is_not_stopped_by_it() {
    let mut executor = executor(Script { treated_by: Some("nvsentinel"), ..Script::default() }, 10_000);
    executor.offer(effect("n1", Step::Cordon), pool());
    executor.offer(effect("n2", Step::Uncordon), pool());
    let ended: BTreeMap<String, Outcome> = ends(&mut executor, 2).await.into_iter().collect();
    assert_eq!(ended["n1"], Outcome::Refused(Reason::lossy("nvsentinel treats this node now")));
    assert_eq!(ended["n2"], Outcome::Applied);
}

#[tokio::test]
async fn no_request_is_sent_when_the_lease_ends_too_soon() {
    let mut executor = executor(Script::default(), 250);
    executor.offer(effect("n1", Step::Cordon), pool());
    let ended = ends(&mut executor, 1).await;
    assert!(matches!(&ended[0].1, Outcome::Refused(why) if why.as_str().contains("lease")), "{ended:?}");
    assert_eq!(executor.backend.sent.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn one_step_is_in_flight_for_each_node_and_each_gang() {
    let mut executor = executor(Script::default(), 10_000);
    // Two gangs of one node, and one gang on two nodes: no two of them may run together.
    for (node, gang) in [("n1", "g1"), ("n1", "g2"), ("n2", "g2")] {
        executor.offer(stop(node, gang), pool());
    }
    assert_eq!(ends(&mut executor, 3).await.len(), 3);
    assert!(executor.backend.most_at_once.load(Ordering::SeqCst) <= 2);

    let mut executor = self::executor(Script::default(), 10_000);
    for gang in ["g1", "g2", "g3"] {
        executor.offer(stop("n1", gang), pool());
    }
    assert_eq!(ends(&mut executor, 3).await.len(), 3);
    assert_eq!(executor.backend.most_at_once.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_refusal_that_may_pass_is_repeated_until_the_latest_start() {
    let mut patient = executor(Script { later: 3, ..Script::default() }, 10_000);
    patient.offer(stop("n1", "g1"), pool());
    assert_eq!(ends(&mut patient, 1).await, [("n1".to_owned(), Outcome::Applied)]);
    assert_eq!(patient.backend.sent.load(Ordering::SeqCst), 4);

    let mut stuck = executor(Script { later: u32::MAX, ..Script::default() }, 10_000);
    stuck.offer(stop("n1", "g1"), pool());
    let ended = ends(&mut stuck, 1).await;
    assert_eq!(ended[0].1, Outcome::Refused(Reason::lossy("a disruption budget of a tenant")));
}

#[tokio::test]
async fn refused_effects_hold_up_no_other() {
    let refused = u32::try_from(IN_FLIGHT_MAX).unwrap();
    let mut executor = executor(Script { later: refused, pause: SOON * 10, ..Script::default() }, 10_000);
    for number in 0..IN_FLIGHT_MAX {
        let mut patient = stop(&format!("n{number}"), &format!("g{number}"));
        patient.start_by = now() + Span::seconds(600);
        executor.offer(patient, pool());
    }
    let waits = timeout(Duration::from_millis(500), executor.next()).await;
    assert!(waits.is_err(), "{waits:?}");
    // The same node gets a step of another action meanwhile.
    executor.offer(effect("n1", Step::Uncordon), pool());
    executor.offer(effect("last", Step::Cordon), pool());
    let ended: BTreeMap<String, Outcome> = ends(&mut executor, 2).await.into_iter().collect();
    assert_eq!(ended["last"], Outcome::Applied);
    assert_eq!(ended["n1"], Outcome::Applied);
    // Effects that were under way when the queue was withdrawn do not return to it.
    executor.withdraw();
    assert!(timeout(Duration::from_millis(300), executor.next()).await.is_err());
    assert_eq!(executor.backend.sent.load(Ordering::SeqCst), refused + 2);
}

#[tokio::test]
async fn a_withdrawn_effect_does_not_start_and_can_be_offered_again() {
    let mut executor = executor(Script::default(), 10_000);
    assert_eq!(executor.offer(effect("n1", Step::Cordon), pool()), Offer::Queued);
    executor.withdraw();
    assert!(timeout(Duration::from_millis(500), executor.next()).await.is_err());
    assert_eq!(executor.backend.sent.load(Ordering::SeqCst), 0);
    assert_eq!(executor.offer(effect("n1", Step::Cordon), pool()), Offer::Queued);
    assert_eq!(ends(&mut executor, 1).await, [("n1".to_owned(), Outcome::Applied)]);
}

#[tokio::test]
async fn a_full_queue_refuses_and_names_the_reason() {
    let mut executor = executor(Script { fence_refusals: AtomicU32::new(100), ..Script::default() }, 10_000);
    for number in 0..QUEUE_MAX {
        assert_eq!(executor.offer(effect(&format!("n{number}"), Step::Cordon), pool()), Offer::Queued);
    }
    assert!(matches!(executor.offer(effect("late", Step::Cordon), pool()), Offer::Refused(_)));
}

#[tokio::test]
async fn rates_limit_how_many_start() {
    let limits = RateLimits { pool: 2, ..RateLimits::default() };
    let (backend, leadership) = (Arc::new(Script::default()), Arc::new(Left(AtomicU64::new(10_000))));
    let mut executor = Executor::start(backend, leadership, limits, Duration::ZERO);
    for number in 0..4 {
        executor.offer(effect(&format!("n{number}"), Step::Cordon), pool());
    }
    let ended = ends(&mut executor, 4).await;
    let applied = ended.iter().filter(|(_, outcome)| *outcome == Outcome::Applied).count();
    assert_eq!(applied, 2, "{ended:?}");
    let refused = ended.iter().filter_map(|(_, outcome)| match outcome {
        Outcome::Refused(why) => Some(why.as_str().to_owned()),
        Outcome::Applied | Outcome::Conflict | Outcome::Started | Outcome::Unknown => None,
    });
    assert_eq!(refused.collect::<Vec<_>>(), ["the limit of actions a minute in pool p is reached"; 2]);
}
