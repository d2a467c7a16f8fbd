//! Counts that are kept as facts come in equal a count from nothing, in whatever order the facts came, and a budget is
//! found exceeded exactly where counting every node by hand finds it so.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_model::{
    Budget, Decision, DomainName, Effect, Epoch, Execution, Fact, Level, Mode, NodeFacts, NodeLimit, NodeName,
    Observation, Persisted, PlannedWork, Policy, PoolName, Ppm, Precondition, Ready, Schedulable, Stage, Step,
    Timestamp,
};
use proptest::prelude::*;

use super::world::{NOW, list, name};
use crate::{Auditor, Invariant};

const NODES: usize = 6;

/// Nodes and nodes out, by pool, level and domain.
type Counts = BTreeMap<(PoolName, Option<Level>, Option<DomainName>), (u32, u32)>;

fn node(number: usize) -> NodeName {
    name(&format!("n{number}"))
}

fn any_stage() -> impl Strategy<Value = Stage> {
    prop::sample::select(vec![
        Stage::Bootstrapping,
        Stage::InService,
        Stage::Suspect,
        Stage::Quarantined,
        Stage::Draining,
        Stage::Repairing,
        Stage::Qualifying,
        Stage::Maintenance,
        Stage::Upgrading,
        Stage::Held,
        Stage::Retired,
    ])
}

fn any_domain() -> impl Strategy<Value = Option<DomainName>> {
    prop::option::weighted(0.8, prop::sample::select(vec![name("a"), name("b")]))
}

prop_compose! {
    fn any_facts()(
        pool in prop::sample::select(vec!["p", "q"]),
        rack in any_domain(),
        leaf in any_domain(),
        ready in prop::sample::select(vec![Ready::Yes, Ready::Yes, Ready::Yes, Ready::No, Ready::Unknown]),
        schedulable in prop::sample::select(vec![
            Schedulable::Yes, Schedulable::Yes, Schedulable::Yes, Schedulable::NotByUs, Schedulable::NotByOthers,
        ]),
        uid in prop::sample::select(vec!["u1", "u2"]),
    ) -> NodeFacts {
        let domains = [(Level::Rack, rack), (Level::Leaf, leaf)];
        let domains = domains.into_iter().filter_map(|(level, domain)| Some((level, domain?))).collect();
        NodeFacts { uid: name(uid), domains, pool: name(pool), gpus: 8, ready, schedulable, planned: PlannedWork::Nothing, avoided: false, power: mainstay_model::Power::Unknown }
    }
}

fn any_fact() -> impl Strategy<Value = Fact> {
    let seen = (0..NODES, any_facts()).prop_map(|(n, facts)| Fact::Node { node: node(n), facts: Box::new(facts) });
    let gone = (0..NODES).prop_map(|n| Fact::NodeGone { node: node(n) });
    let recorded = (0..NODES, any_stage())
        .prop_map(|(n, stage)| Fact::Recorded { node: node(n), persisted: Box::new(Persisted::new(stage, NOW)) });
    prop_oneof![4 => seen, 1 => gone, 3 => recorded]
}

fn any_policy(pool: &'static str) -> impl Strategy<Value = Fact> {
    let level = prop::sample::select(vec![None, Some(Level::Rack), Some(Level::Leaf), Some(Level::Spine)]);
    let most = prop_oneof![
        (0..4_u32).prop_map(NodeLimit::Nodes),
        (0..=4_u32).prop_map(|quarters| NodeLimit::Share(Ppm(quarters * 250_000))),
    ];
    let budgets = prop::collection::vec((level, most).prop_map(|(level, most)| Budget { level, most }), 0..4);
    budgets.prop_map(move |budgets| {
        Fact::Policy(Box::new(Policy { mode: Mode::Act, budgets: list(budgets), ..Policy::new(name(pool)) }))
    })
}

/// The fleet counted by a simple and slow method, for comparison.
#[derive(Default)]
struct NaiveCount {
    nodes: BTreeMap<NodeName, NodeFacts>,
    stages: BTreeMap<NodeName, Stage>,
    budgets: BTreeMap<PoolName, Vec<Budget>>,
}

impl NaiveCount {
    fn of<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> Self {
        let mut by_hand = Self::default();
        for fact in facts {
            if let Fact::Node { node, facts } = fact {
                by_hand.nodes.insert(node.clone(), facts.as_ref().clone());
            } else if let Fact::NodeGone { node } = fact {
                by_hand.nodes.remove(node);
            } else if let Fact::Recorded { node, persisted } = fact {
                by_hand.stages.insert(node.clone(), persisted.stage);
            } else if let Fact::Policy(policy) = fact {
                by_hand.budgets.insert(policy.pool.clone(), policy.budgets.as_slice().to_vec());
            }
        }
        by_hand
    }

    fn takes_work(&self, node: &NodeName) -> bool {
        let facts = &self.nodes[node];
        facts.ready == Ready::Yes && facts.schedulable == Schedulable::Yes
    }

    fn is_out(&self, node: &NodeName) -> bool {
        const OUT: [Stage; 6] = [
            Stage::Quarantined,
            Stage::Draining,
            Stage::Repairing,
            Stage::Qualifying,
            Stage::Maintenance,
            Stage::Upgrading,
        ];
        !self.takes_work(node) || self.stages.get(node).is_some_and(|stage| OUT.contains(stage))
    }

    /// Nodes of the same pool and, where a level is given, of the same domain, known or not.
    fn beside<'a>(&'a self, node: &NodeName, level: Option<Level>) -> impl Iterator<Item = &'a NodeName> {
        let facts = self.nodes[node].clone();
        let same = move |other: &NodeFacts| {
            other.pool == facts.pool && level.is_none_or(|level| other.domains.get(&level) == facts.domains.get(&level))
        };
        self.nodes.iter().filter(move |(_, other)| same(other)).map(|(name, _)| name)
    }

    fn exceeds(&self, node: &NodeName, leaving: &BTreeSet<NodeName>) -> bool {
        let budgets = self.budgets.get(&self.nodes[node].pool).map_or(&[][..], Vec::as_slice);
        let over = |budget: &Budget| {
            let all = self.beside(node, budget.level).count();
            let out = self.beside(node, budget.level).filter(|other| self.is_out(other) || leaving.contains(*other));
            out.count() > budget.most.of(u32::try_from(all).unwrap()) as usize
        };
        budgets.is_empty() || budgets.iter().any(over)
    }

    /// Nodes and nodes out of every pool, then of every domain of it.
    fn counts(&self) -> Counts {
        let mut counts = Counts::new();
        for (node, facts) in &self.nodes {
            for level in [None].into_iter().chain(Level::ALL.map(Some)) {
                let domain = level.and_then(|level| facts.domains.get(&level)).cloned();
                let (nodes, out) = counts.entry((facts.pool.clone(), level, domain)).or_insert((0, 0));
                *nodes += 1;
                *out += u32::from(self.is_out(node));
            }
        }
        counts
    }
}

fn auditor_of<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> Auditor {
    let mut auditor = Auditor::new();
    for fact in facts {
        auditor.observe(&Observation { at: NOW, fact: fact.clone() });
    }
    auditor
}

fn counts_of(auditor: &Auditor) -> Counts {
    let all = auditor.picture().places().all();
    all.into_iter().map(|(place, counts)| ((place.pool, place.level, place.domain), counts)).collect()
}

fn subject(fact: &Fact) -> Option<&NodeName> {
    if let Fact::Node { node, .. } | Fact::NodeGone { node } | Fact::Recorded { node, .. } = fact {
        Some(node)
    } else {
        None
    }
}

fn order(node: NodeName, step: Step) -> Effect {
    let expected = Precondition {
        uid: name("u1"),
        recorded: Stage::InService,
        schedulable: Schedulable::Yes,
        is_empty: false,
        request: None,
    };
    let (action, cause) = (name("a"), name("rule"));
    Effect {
        id: action,
        claim: None,
        node,
        executor: step.executor(),
        attempt: 1,
        step,
        execution: Execution::Ordered,
        expected,
        start_by: Timestamp(0),
        done_by: Timestamp(0),
        epoch: Epoch(0),
        rule: cause,
    }
}

proptest! {
    #[test]
    fn counts_kept_along_the_way_equal_a_count_from_nothing(facts in prop::collection::vec(any_fact(), 0..60)) {
        let mut auditor = Auditor::new();
        for (step, fact) in facts.iter().enumerate() {
            auditor.observe(&Observation { at: NOW, fact: fact.clone() });
            prop_assert_eq!(counts_of(&auditor), NaiveCount::of(&facts[..=step]).counts());
        }
    }

    #[test]
    fn a_fact_told_twice_and_facts_of_different_nodes_in_another_order_count_the_same(
        facts in prop::collection::vec(any_fact(), 0..60),
    ) {
        let once = counts_of(&auditor_of(&facts));
        let twice = auditor_of(facts.iter().flat_map(|fact| [fact, fact]));
        prop_assert_eq!(&counts_of(&twice), &once);
        let mut by_node: Vec<&Fact> = facts.iter().collect();
        by_node.sort_by_key(|fact| std::cmp::Reverse(subject(fact)));
        prop_assert_eq!(&counts_of(&auditor_of(by_node)), &once);
    }

    #[test]
    fn a_budget_is_exceeded_exactly_where_counting_by_hand_says_so(
        facts in prop::collection::vec(any_fact(), 0..40),
        policies in (any_policy("p"), any_policy("q")),
        cordons in prop::collection::btree_set(0..NODES, 0..NODES),
        records in prop::collection::btree_set(0..NODES, 0..NODES),
    ) {
        let all: Vec<Fact> = [policies.0, policies.1].into_iter().chain(facts).collect();
        let by_hand = NaiveCount::of(&all);
        let quarantined = || Step::Store(Box::new(Persisted::new(Stage::Quarantined, NOW)));
        let cordoned = cordons.into_iter().map(|n| order(node(n), Step::Cordon));
        let recorded = records.into_iter().map(|n| order(node(n), quarantined()));
        let decision = Decision { effects: cordoned.chain(recorded).collect(), ..Decision::default() };

        let is_leaving = |effect: &&Effect| {
            let is_new = by_hand.stages.get(&effect.node) == Some(&Stage::Bootstrapping);
            by_hand.nodes.contains_key(&effect.node)
                && if effect.step == Step::Cordon {
                    by_hand.takes_work(&effect.node)
                } else {
                    !by_hand.is_out(&effect.node) && !is_new
                }
        };
        let leaving: BTreeSet<NodeName> =
            decision.effects.iter().filter(is_leaving).map(|effect| effect.node.clone()).collect();
        let expected: BTreeSet<&NodeName> =
            leaving.iter().filter(|node| by_hand.exceeds(node, &leaving)).collect();

        let broken = auditor_of(&all).audit(&decision, NOW);
        let broken = broken.iter().filter(|violation| violation.invariant == Invariant::BudgetKept);
        let caught: BTreeSet<&NodeName> = broken.filter_map(|violation| violation.node.as_ref()).collect();
        prop_assert_eq!(caught, expected);
    }
}
