//! The setting of a scenario: its fleet, what it is made of, its budgets, modes and jobs, as written before the first
//! event.

use std::collections::BTreeMap;

use mainstay_model::{
    Bounded, Budget, Checkpoints, Contract, DomainName, Epoch, GangFacts, Inventory, Level, NodeFacts, NodeLimit,
    NodeName, NodeUid, PlannedWork, PoolName, Ppm, Product, RateLimit, Ready, RuleName, RuleRecord, Schedulable, Span,
    Version,
};
use mainstay_signal::{Meter, Tally, UnrecognisedCounts};

use super::{Machine, POOL, World};
use crate::words::{gang_id, inventory, kind_of, level_of, mode_of, name, number, time_of};

impl World {
    pub(super) fn set(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["fleet", racks, "racks", "x", nodes, "nodes"] => self.build(number(racks), number(nodes)),
            ["budget", nodes, "out", "per", level] => {
                self.allow(Some(level_of(level)), NodeLimit::Nodes(number(nodes)));
            }
            ["budget", nodes, "out"] => self.allow(None, NodeLimit::Nodes(number(nodes))),
            ["budget", share, "percent", "out"] => {
                self.allow(None, NodeLimit::Share(Ppm(number::<u32>(share) * 10_000)));
            }
            ["floor", nodes] => self.policy.floor = Some(NodeLimit::Nodes(number(nodes))),
            ["rate", grants, "an", "hour"] => {
                self.policy.rate = Some(RateLimit { grants: number(grants), per: Span::hours(1) });
            }
            ["job", gang, "on", rest @ ..] => self.start(gang, rest),
            ["checkpoints", gang, rest @ ..] => self.tells(gang, rest),
            ["gpus", product @ ..] => {
                self.fit(|inventory| inventory.product = name(Product::parse, &product.join(" ")));
            }
            ["driver", driver, "on", nodes @ ..] => {
                for node in nodes {
                    let machine = self.machines.get_mut(&name(NodeName::parse, node)).unwrap();
                    machine.inventory.driver = name(Version::parse, driver);
                }
            }
            ["no", "domains"] => self.machines.values_mut().for_each(|machine| machine.facts.domains.clear()),
            ["pdu", pdu, "feeds", racks @ ..] => self.label(Level::Pdu, pdu, racks),
            ["nvlink", domain, "is", rack] => self.label(Level::NvlinkDomain, domain, &[rack]),
            ["driver", driver] => self.fit(|inventory| inventory.driver = name(Version::parse, driver)),
            ["promote", kind, "to", mode] => {
                self.policy.promotions.insert(kind_of(kind), mode_of(mode));
            }
            ["on", "record", rule, confirmed, "confirmed", refuted, "refuted"] => {
                let mut record = RuleRecord::new(name(RuleName::parse, rule));
                (record.confirmed, record.refuted) = (number(confirmed), number(refuted));
                self.cell.record.rules.try_push(record).unwrap();
            }
            ["mode", mode] => self.cell.mode = mode_of(mode),
            ["epoch", epoch] => self.cell.epoch = Epoch(number(epoch)),
            ["ladder", rule, attempts, "attempts", rungs @ ..] => {
                let rungs: Vec<_> =
                    rungs.iter().map(|rung| serde_json::from_value(serde_json::json!(rung)).unwrap()).collect();
                let rungs = Bounded::try_from(rungs).unwrap();
                let ladder =
                    mainstay_model::RepairPlan { rungs, attempts_max: number(attempts), window: Span::hours(24) };
                self.policy.ladders.insert(name(RuleName::parse, rule), ladder);
            }
            ["override", source, code, "is", rule] => {
                let source = serde_json::from_value(serde_json::json!(source)).unwrap();
                let (code, rule) = (name(mainstay_model::Code::parse, code), name(RuleName::parse, rule));
                self.policy.overrides.try_push(mainstay_model::Override { source, code, rule, urgency: None }).unwrap();
            }
            _ => panic!("not understood: {line}"),
        }
    }

    pub(super) fn allow(&mut self, level: Option<Level>, most: NodeLimit) {
        self.policy.budgets.try_push(Budget { level, most }).unwrap();
    }

    /// All nodes of these racks share a domain.
    fn label(&mut self, level: Level, domain: &str, racks: &[&str]) {
        for machine in self.machines.values_mut() {
            let rack = machine.facts.domains.get(&Level::Rack).map(DomainName::as_str);
            if rack.is_some_and(|rack| racks.contains(&rack)) {
                machine.facts.domains.insert(level, name(DomainName::parse, domain));
            }
        }
    }

    /// What every node of the fleet is made of.
    fn fit(&mut self, change: impl Fn(&mut Inventory)) {
        self.machines.values_mut().for_each(|machine| change(&mut machine.inventory));
    }

    fn build(&mut self, racks: u32, nodes: u32) {
        for rack in 1..=racks {
            for node in 1..=nodes {
                let text = format!("r{rack}n{node}");
                let domains = BTreeMap::from([
                    (Level::Rack, name(DomainName::parse, &format!("r{rack}"))),
                    (Level::Leaf, name(DomainName::parse, &format!("leaf{}", rack.div_ceil(2)))),
                ]);
                let facts = NodeFacts {
                    uid: name(NodeUid::parse, &format!("uid-{text}")),
                    domains,
                    pool: name(PoolName::parse, POOL),
                    gpus: 8,
                    ready: Ready::Yes,
                    schedulable: Schedulable::Yes,
                    planned: PlannedWork::Nothing,
                    avoided: false,
                    // Most machines have a BMC.
                    power: mainstay_model::Power::On,
                };
                let machine = Machine {
                    facts,
                    boot: 1,
                    sequence: 0,
                    inventory: inventory(&text),
                    tally: Tally::default(),
                    unrecognised: UnrecognisedCounts::default(),
                    meter: Meter::default(),
                    said: None,
                    outcomes: Vec::new(),
                    results: Vec::new(),
                    orders: Vec::new(),
                    recorded: None,
                    request: None,
                    reported: None,
                    by_others_too: false,
                    is_gone: false,
                };
                self.machines.insert(name(NodeName::parse, &text), machine);
            }
        }
    }

    /// `train-7 saved at 00:05 every 60 minutes in 120 seconds`, in any part; numbers as a gang might tell them.
    fn tells(&mut self, gang: &str, words: &[&str]) {
        let checkpoints = &mut self.gangs.get_mut(&gang_id(gang)).unwrap().checkpoints;
        for part in words.chunks(3) {
            match part {
                ["saved", "at", time] => checkpoints.last = Some(time_of(time)),
                ["every", count, "minutes"] => checkpoints.every = Some(Span(number::<u64>(count) * 60_000)),
                ["in", count, "seconds"] => checkpoints.save = Some(Span(number::<u64>(count) * 1_000)),
                other => panic!("no checkpoints: {other:?}"),
            }
        }
    }

    fn start(&mut self, gang: &str, rest: &[&str]) {
        let split = rest.iter().position(|word| *word == "saves").unwrap_or(rest.len());
        let nodes: Vec<NodeName> = rest[..split].iter().map(|node| name(NodeName::parse, node)).collect();
        let contract = match &rest[split..] {
            ["saves", "on", "request"] => Contract::OnRequest,
            ["saves", "on", "stop"] => Contract::OnStop { within: Span::seconds(30) },
            [] => Contract::None,
            other => panic!("no such contract: {other:?}"),
        };
        let facts = GangFacts {
            nodes: Bounded::try_from(nodes).unwrap(),
            contract,
            checkpoints: Checkpoints::default(),
            progressed_at: None,
        };
        self.gangs.insert(gang_id(gang), facts);
    }
}
