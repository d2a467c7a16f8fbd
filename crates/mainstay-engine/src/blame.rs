//! Blame between findings and nodes: what each node shows is told to `mainstay-health`, which says whether a domain or a
//! driver version explains it. A node whose faults are all explained waits; one with a fault of its own does not.

use mainstay_health::{FaultStatus, Findings, NodeFault, NodeGroup, SharedCause};
use mainstay_model::{Bounded, Level, NodeIndex, Response, RuleName, Stage, Subject, Timestamp, Transition};
use mainstay_remedy::life;
use mainstay_remedy::verdict::UNREACHABLE;

use crate::Engine;
use crate::cause::{REQUEST, UNCONFIRMED};
use crate::node::Node;
use crate::sight::Witnesses;
use crate::switch::Switch;

/// Levels that are blamed. A spine is too wide for half of it to be one fault, and its leaves say so by themselves.
const LEVELS: [Level; 4] = [Level::NvlinkDomain, Level::Rack, Level::Pdu, Level::Leaf];

/// What of a node's faults others are to blame for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Explained {
    /// Nothing.
    Nothing,
    /// Some; these are its own.
    Partly(Findings),
    /// All, by a domain.
    ByDomain,
    /// All, by its driver version.
    ByDriver,
}

impl Engine {
    /// Every domain and driver version that is blamed for what its nodes show.
    #[must_use]
    pub fn blamed(&self) -> Vec<SharedCause> {
        let is_on = |blamed: &SharedCause| match &blamed.subject {
            Subject::Driver(_) => self.switches.is_on(Switch::BlameDriver),
            Subject::Domain { .. } | Subject::Node(_) | Subject::Part { .. } => {
                self.switches.is_on(Switch::BlameDomain)
            }
        };
        self.blame.blamed().into_iter().filter(is_on).collect()
    }

    /// Who is blamed for what wants a node out.
    pub(crate) fn to_blame(&self, node: &Node) -> Option<SharedCause> {
        node.wanted_by.as_deref().and_then(|(_, rule)| self.whom(node, rule))
    }

    /// Who is blamed for what a rule found on a node.
    pub(crate) fn whom(&self, node: &Node, rule: &RuleName) -> Option<SharedCause> {
        self.blame.blamed_for(&node.places, rule, |place| match place {
            NodeGroup::Domain(..) => self.switches.is_on(Switch::BlameDomain),
            NodeGroup::Driver(..) => self.switches.is_on(Switch::BlameDriver),
            NodeGroup::Pool(_) => false,
        })
    }

    /// What is wrong with a node, and what everybody learns from that. All who are to be judged are looked at before the
    /// first of them is, so that a leaf is blamed before its first node is taken out.
    pub(crate) fn look(&mut self, index: NodeIndex, now: Timestamp) -> Findings {
        if self.node(index).facts.is_none() {
            return Findings::default();
        }
        let findings = self.findings(index, now);
        self.settle_show(index, &findings, now);
        findings
    }

    /// Tells what the node shows now.
    pub(crate) fn settle_show(&mut self, index: NodeIndex, findings: &Findings, now: Timestamp) {
        let after = self.shows(self.node(index), findings, now);
        let node = &mut self.nodes[index.get()];
        if node.shows != after {
            let before = std::mem::replace(&mut node.shows, after);
            self.retell_shows(index, &before);
        }
    }

    fn retell_shows(&mut self, index: NodeIndex, before: &[NodeFault]) {
        let Node { places, shows, .. } = &self.nodes[index.get()];
        let of = |shows: &'_ [NodeFault], rule: &RuleName| shows.iter().position(|show| show.rule == *rule);
        for old in before {
            let new = of(shows, &old.rule).map(|at| &shows[at]);
            self.dirty.extend(self.blame.turn(index, places, Some(old), new));
        }
        for new in shows.iter().filter(|new| of(before, &new.rule).is_none()) {
            self.dirty.extend(self.blame.turn(index, places, None, Some(new)));
        }
    }

    /// The node has other places in common with others than before: it joined, moved, left, or runs another driver.
    pub(crate) fn settle_places(&mut self, index: NodeIndex) {
        let places = self.places_of(self.node(index));
        let shows = std::mem::take(&mut self.node_mut(index).shows);
        self.retell_shows(index, &shows);
        let before = std::mem::take(&mut self.node_mut(index).places);
        self.dirty.extend(self.blame.leave(&before));
        if self.node(index).facts.is_some() {
            let (joined, touched) = self.blame.join(places);
            self.dirty.extend(touched);
            let node = self.node_mut(index);
            (node.places, node.shows) = (joined, shows);
            self.retell_shows(index, &[]);
        }
    }

    pub(crate) fn places_of(&self, node: &Node) -> Vec<NodeGroup> {
        let Some(facts) = node.facts.as_deref() else { return Vec::new() };
        let domains =
            LEVELS.iter().filter_map(|level| Some(NodeGroup::Domain(*level, facts.domains.get(level)?.clone())));
        let driver =
            node.heard.as_ref().map(|heard| NodeGroup::Driver(facts.pool.clone(), heard.inventory.driver.clone()));
        domains.chain(driver).chain([NodeGroup::Pool(facts.pool.clone())]).collect()
    }

    /// What a node shows: what condemns it, what it was taken out for, or what it came back from. One that does not answer
    /// shows that from the first witness on: a dead leaf is known as one before the second has spoken.
    fn shows(&self, node: &Node, findings: &Findings, now: Timestamp) -> Vec<NodeFault> {
        let history = node.persisted.history.as_slice();
        let last = |stage: Stage| history.iter().rev().find(|transition| transition.to == stage);
        let condemning = findings.list.as_slice().iter().take_while(|finding| finding.response == Response::Remove);
        let (since, first) = match node.persisted.stage {
            Stage::InService | Stage::Suspect => {
                let is_new = node.persisted.stage == Stage::InService;
                let silent = self.witnesses(node, now) != Witnesses::Fine;
                (Some(if is_new { now } else { node.persisted.since }), silent.then(|| UNREACHABLE.get()))
            }
            Stage::Quarantined | Stage::Draining | Stage::Repairing | Stage::Qualifying => {
                let by_rule = last(Stage::Quarantined).filter(|transition| transition.rule != REQUEST);
                (last(Stage::Suspect).map(|began| began.at), by_rule.map(|transition| transition.rule.clone()))
            }
            Stage::Bootstrapping | Stage::Maintenance | Stage::Upgrading | Stage::Held | Stage::Retired => (None, None),
        };
        let mut shows: Vec<NodeFault> = Vec::new();
        if let Some(since) = since {
            for rule in first.into_iter().chain(condemning.map(|finding| finding.rule.clone())) {
                if !shows.iter().any(|show| show.rule == rule) {
                    shows.push(NodeFault { rule, since, shown: FaultStatus::Still });
                }
            }
        }
        if let (true, Some(Transition { rule, at, .. })) = (shows.is_empty(), last(Stage::Suspect)) {
            let rule = if *rule == UNCONFIRMED { UNREACHABLE.get() } else { rule.clone() };
            shows.push(NodeFault { rule, since: *at, shown: FaultStatus::Before });
        }
        shows
    }

    /// What of the node's faults is explained. Asked of nodes that take work; the others are on their way already.
    pub(crate) fn explain(&self, node: &Node, findings: &Findings, now: Timestamp) -> Explained {
        if !matches!(node.persisted.stage, Stage::InService | Stage::Suspect) {
            return Explained::Nothing;
        }
        let list = findings.list.as_slice();
        let condemns = |response: Response| response == Response::Remove;
        let is_lost = self.witnesses(node, now) == Witnesses::Both;
        let Some(worst) = list.first().filter(|finding| condemns(finding.response)) else {
            let by = is_lost.then(|| self.blamed_for(node, &UNREACHABLE.get())).flatten();
            return by.unwrap_or(Explained::Nothing);
        };
        let own = |rule: &RuleName| self.blamed_for(node, rule).is_none();
        let is_own_silence = is_lost && own(&UNREACHABLE.get());
        if is_own_silence || list.iter().any(|finding| condemns(finding.response) && own(&finding.rule)) {
            let is_own = |finding: &&mainstay_model::Finding| !condemns(finding.response) || own(&finding.rule);
            let kept: Vec<_> = list.iter().filter(is_own).cloned().collect();
            if kept.len() == list.len() {
                return Explained::Nothing;
            }
            return Explained::Partly(Findings {
                list: Bounded::try_from(kept).unwrap_or_default(),
                ..findings.clone()
            });
        }
        self.blamed_for(node, &worst.rule).unwrap_or(Explained::Nothing)
    }

    /// Who else is to blame for what a rule found on a node.
    pub(crate) fn blamed_for(&self, node: &Node, rule: &RuleName) -> Option<Explained> {
        self.blame.explains(&node.places, rule).find_map(|place| match place {
            NodeGroup::Domain(..) => self.switches.is_on(Switch::BlameDomain).then_some(Explained::ByDomain),
            NodeGroup::Driver(..) => self.switches.is_on(Switch::BlameDriver).then_some(Explained::ByDriver),
            NodeGroup::Pool(_) => None,
        })
    }

    /// Whether the node waits for whoever is to blame. Where a driver is, the rule itself may be wrong, and its breaker says
    /// who goes: as many as it lets through, then one at a time as a test that answers for all.
    pub(crate) fn blames(
        &self,
        node: &Node,
        explained: &Explained,
        accuser: Option<&RuleName>,
        now: Timestamp,
    ) -> life::Blamed {
        let is_let_through = || {
            let (Some(rule), Some(facts)) = (accuser, node.facts.as_deref()) else { return false };
            self.breakers.standing(&facts.pool, rule, now).lets_through()
        };
        match explained {
            Explained::Nothing | Explained::Partly(_) => life::Blamed::Node,
            Explained::ByDriver if is_let_through() => life::Blamed::Node,
            Explained::ByDomain | Explained::ByDriver => life::Blamed::Domain,
        }
    }
}
