//! Proptest strategies for values of the model, within their bounds.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_model::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::{
    CapacityFloor, CatalogueOverride, FleetPolicySpec, MaintenanceWindow, Moment, NodeReportSpec, Outcome, Promotion,
    TestResult, Weekday,
};

fn text<T: std::fmt::Debug + Clone + 'static>(
    parse: fn(&str) -> Result<T, TextError>,
) -> impl Strategy<Value = T> + Clone {
    "[A-Za-z0-9][a-z0-9.:-]{0,11}".prop_map(move |text| parse(&text).unwrap())
}

fn few<T: std::fmt::Debug, const MAX: usize>(one: impl Strategy<Value = T>) -> impl Strategy<Value = Bounded<T, MAX>> {
    vec(one, 0..=MAX.min(5)).prop_map(|items| Bounded::try_from(items).unwrap())
}

/// A moment of the calendar, to the millisecond.
fn moment() -> impl Strategy<Value = Timestamp> + Clone {
    (-62_135_596_800_000_i64..253_402_207_200_000).prop_map(Timestamp)
}

fn source() -> impl Strategy<Value = Source> {
    select(vec![Source::Xid, Source::Sxid, Source::PcieAer, Source::Nic, Source::Inventory, Source::External])
}

fn rung() -> impl Strategy<Value = RepairStep> {
    select(vec![
        RepairStep::Capture,
        RepairStep::RestartService,
        RepairStep::ResetGpu,
        RepairStep::Reboot,
        RepairStep::PowerCycle,
        RepairStep::Replace,
    ])
}

fn urgency() -> impl Strategy<Value = Urgency> {
    select(vec![Urgency::Now, Urgency::Minutes, Urgency::NextCheckpoint])
}

fn word() -> impl Strategy<Value = Option<Resolution>> {
    select(vec![None, Some(Resolution::FaultFound), Some(Resolution::NothingFound)])
}

fn bucket() -> impl Strategy<Value = u32> {
    prop_oneof![0..50_u32, Just(i32::MAX.unsigned_abs())]
}

prop_compose! {
    fn arrivals()(
        source in source(), code in text(Code::parse), device in option::of(text(Serial::parse)),
        counted in 0..i64::MAX.unsigned_abs(), before_tests in 0..9_u64, newest_hour in any::<u32>(), hours in few(bucket()), days in few(bucket()),
    ) -> Arrivals {
        Arrivals { source, code, device, counted, before_tests, newest_hour, hours, days }
    }
}

prop_compose! {
    fn order()(
        id in text(OrderId::parse), epoch in 0..i64::MAX.unsigned_abs(), boot_id in text(BootId::parse),
        nonce in text(Nonce::parse), device in option::of(text(Serial::parse)), start_by in moment(), done_by in moment(),
        task in prop_oneof![rung().prop_map(Task::Rung), text(SuiteName::parse).prop_map(Task::Suite)],
    ) -> Order {
        Order { id, epoch: Epoch(epoch), boot_id, nonce, task, device, start_by, done_by }
    }
}

prop_compose! {
    fn cause()(
        rule in text(RuleName::parse), urgency in urgency(), device in option::of(text(Serial::parse)), rungs in few(rung()),
    ) -> Cause {
        Cause { rule, urgency, device, rungs }
    }
}

prop_compose! {
    fn grant()(
        claim in text(ClaimId::parse), by in select(ClaimSource::ALL.to_vec()),
        needs in select(vec![Need::Avoid, Need::Cordon, Need::Stop, Need::Exclusive]), at in moment(),
        epoch in 0..i64::MAX.unsigned_abs(),
    ) -> Grant {
        Grant { claim, by, needs, at, epoch: Epoch(epoch) }
    }
}

prop_compose! {
    fn proposal()(
        action in text(OrderId::parse), rule in text(RuleName::parse), decided_at in moment(),
        happened in select(vec![ProposalOutcome::Pending, ProposalOutcome::Recovered, ProposalOutcome::NodeLost, ProposalOutcome::Executed, ProposalOutcome::Superseded]),
        happened_at in option::of(moment()),
    ) -> Proposal {
        Proposal { action, rule, decided_at, happened, happened_at }
    }
}

fn history() -> impl Strategy<Value = Bounded<Transition, 16>> {
    let one = (select(Stage::ALL.to_vec()), moment(), text(RuleName::parse), word());
    few(one.prop_map(|(to, at, rule, word)| Transition { to, at, rule, word }))
}

fn attempts() -> impl Strategy<Value = Bounded<Attempt, 16>> {
    let one = (text(RuleName::parse), rung(), option::of(text(Serial::parse)), moment());
    few(one.prop_map(|(rule, rung, device, ordered_at)| Attempt { rule, rung, device, ordered_at }))
}

fn incidents() -> impl Strategy<Value = Bounded<PastIncident, 8>> {
    let one = (option::of(text(Serial::parse)), text(RuleName::parse), moment());
    few(one.prop_map(|(serial, rule, at)| PastIncident { serial, rule, at }))
}

prop_compose! {
    pub(super) fn persisted()(
        (stage, since, cause, round) in (select(Stage::ALL.to_vec()), moment(), option::of(cause()), 0..i32::MAX.unsigned_abs()),
        (grant, repairer) in (option::of(grant()), select(vec![Repairer::Mainstay, Repairer::Technician])),
        boot_id in option::of(text(BootId::parse)), arrivals in few(arrivals()), orders in few(order()),
        attempts in attempts(), history in history(), proposals in few(proposal()), incidents in incidents(),
    ) -> Persisted {
        Persisted { stage, since, cause: cause.map(Box::new), grant: grant.map(Box::new), repairer, round, boot_id, arrivals, attempts, orders, history, proposals, incidents }
    }
}

fn rule_record() -> impl Strategy<Value = RuleRecord> {
    let count = || 0..i64::MAX.unsigned_abs();
    (text(RuleName::parse), count(), count(), count(), count()).prop_map(|(rule, a, b, c, d)| RuleRecord {
        rule,
        confirmed: a,
        refuted: b,
        confirmed_on_paper: c,
        refuted_on_paper: d,
    })
}

pub(super) fn cell_record() -> impl Strategy<Value = CellRecord> {
    let state = select(vec![BreakerState::Open, BreakerState::HalfOpen]);
    let breaker = (text(PoolName::parse), text(RuleName::parse), state, moment())
        .prop_map(|(pool, rule, state, since)| Breaker { pool, rule, state, since });
    let rules = vec(rule_record(), 0..5).prop_map(|mut rules| {
        let mut seen = BTreeSet::new();
        rules.retain(|record| seen.insert(record.rule.clone()));
        Bounded::try_from(rules).unwrap()
    });
    (few(breaker), rules, moment()).prop_map(|(breakers, rules, counted_to)| CellRecord { breakers, rules, counted_to })
}

prop_compose! {
    fn evidence()(
        source in source(), code in text(Code::parse), device in option::of(text(Serial::parse)),
        detail in prop_oneof![Just(String::new()), "[a-z ]{1,12}"], count in 0..i64::MAX.unsigned_abs(),
        first_seen_at in moment(), last_seen_at in moment(),
    ) -> Evidence {
        let key = EvidenceKey { source, code, device, detail: Detail::parse(&detail).unwrap() };
        Evidence { key, count, first_seen_at, last_seen_at }
    }
}

prop_compose! {
    fn inventory()(
        board in text(Serial::parse), product in text(Product::parse), driver in text(Version::parse),
        gpus in vec((0..16_u16, text(Serial::parse), text(GpuUuid::parse), text(PciAddress::parse)), 0..9),
        nics in vec((0..16_u16, text(Serial::parse), text(PciAddress::parse)), 0..9),
        gpus_unavailable in option::of(text(GpusUnavailable::parse)),
    ) -> Inventory {
        let gpus = gpus.into_iter().map(|(index, serial, uuid, pci)| Gpu { index, serial, uuid, pci });
        let nics = nics.into_iter().map(|(rail, serial, pci)| Nic { rail, serial, pci });
        let gpus = Bounded::try_from(gpus.collect::<Vec<_>>()).unwrap();
        let nics = Bounded::try_from(nics.collect::<Vec<_>>()).unwrap();
        Inventory { board, product, driver, gpus, gpus_unavailable, nics }
    }
}

pub(super) fn report() -> impl Strategy<Value = Report> {
    let outcome = select(vec![OrderOutcome::Done, OrderOutcome::Failed, OrderOutcome::NotRun]);
    let verdict = select(vec![Verdict::Passed, Verdict::Failed, Verdict::Unknown]);
    let pieces = vec(evidence(), 0..9).prop_map(|mut pieces| {
        let mut seen = BTreeSet::new();
        pieces.retain(|piece| seen.insert(piece.key.clone()));
        Bounded::try_from(pieces).unwrap()
    });
    let said = (few((text(Nonce::parse), outcome)), few((text(Nonce::parse), verdict)), few(unrecognised()));
    (text(NodeUid::parse), text(BootId::parse), 0..i64::MAX.unsigned_abs(), inventory(), pieces, said).prop_map(
        |(uid, boot_id, sequence, inventory, evidence, (outcomes, results, unrecognised))| Report {
            uid,
            boot_id,
            sequence: Sequence(sequence),
            inventory,
            evidence,
            outcomes,
            results,
            unrecognised,
        },
    )
}

fn unrecognised() -> impl Strategy<Value = UnrecognisedLine> {
    let component = select(vec![Component::Gpu, Component::Nic, Component::Pcie, Component::Host, Component::Storage]);
    let line = (text(Code::parse), text(Template::parse), component, 0..i64::MAX.unsigned_abs(), moment(), moment());
    line.prop_map(|(code, template, component, count, first_seen_at, last_seen_at)| UnrecognisedLine {
        code,
        template,
        component,
        count,
        first_seen_at,
        last_seen_at,
    })
}

/// The object that an agent writes of it.
pub(super) fn spec_of(report: &Report) -> NodeReportSpec {
    fn list<'a, A, B, const MAX: usize>(items: &'a Bounded<A, MAX>, turn: impl FnMut(&'a A) -> B) -> Bounded<B, MAX> {
        Bounded::try_from(items.as_slice().iter().map(turn).collect::<Vec<_>>()).unwrap()
    }
    let at = Moment::from(Timestamp(0));
    let version = Version::parse("1").unwrap();
    NodeReportSpec {
        node_uid: report.uid.clone(),
        boot_id: report.boot_id.clone(),
        sequence: i64::try_from(report.sequence.0).unwrap(),
        reported_at: at,
        agent_version: version.clone(),
        inventory: crate::Inventory {
            board: report.inventory.board.clone(),
            product: report.inventory.product.clone(),
            driver: report.inventory.driver.clone(),
            firmware: None,
            kernel: version,
            software: Bounded::new(),
            gpus: list(&report.inventory.gpus, crate::Gpu::from),
            gpus_unavailable: report.inventory.gpus_unavailable.clone(),
            nics: list(&report.inventory.nics, crate::Nic::from),
        },
        evidence: list(&report.evidence, crate::Evidence::from),
        unrecognised: list(&report.unrecognised, crate::UnrecognisedLine::from),
        unrecognised_more: 0,
        highest_epoch: None,
        outcomes: list(&report.outcomes, |(nonce, outcome)| Outcome {
            nonce: nonce.clone(),
            outcome: *outcome,
            ended_at: at,
            detail: None,
        }),
        results: list(&report.results, |(nonce, verdict)| TestResult {
            nonce: nonce.clone(),
            test: TestName::parse("t").unwrap(),
            verdict: *verdict,
            detail: None,
        }),
        acknowledged: Bounded::new(),
    }
}

pub(super) fn policy() -> impl Strategy<Value = Policy> {
    let mode = || select(vec![Mode::Observe, Mode::Propose, Mode::Act]);
    let action = select(vec![ActionKind::Cordon, ActionKind::Drain, ActionKind::Reboot, ActionKind::Return]);
    let most = prop_oneof![
        (0..100_000_u32).prop_map(NodeLimit::Nodes),
        (0..=100_u32).prop_map(|n| NodeLimit::Share(Ppm(n * 10_000)))
    ];
    let level = option::of(select(Level::ALL.to_vec()));
    let budgets = vec((level, most), 0..6).prop_map(|budgets| {
        let budgets: BTreeMap<_, _> = budgets.into_iter().collect();
        let budgets: Vec<_> = budgets.into_iter().map(|(level, most)| Budget { level, most }).collect();
        Bounded::try_from(budgets).unwrap()
    });
    let ladder =
        (vec(rung(), 0..5), 1..=16_u32, 60..2_592_000_u32).prop_map(|(rungs, attempts_max, seconds)| RepairPlan {
            rungs: Bounded::try_from([vec![RepairStep::Capture], rungs].concat()).unwrap(),
            attempts_max,
            window: Span::seconds(seconds),
        });
    let ladders = proptest::collection::btree_map(text(RuleName::parse), ladder, 0..4);
    let overrides = (source(), text(Code::parse), text(RuleName::parse), option::of(urgency()))
        .prop_map(|(source, code, rule, urgency)| Override { source, code, rule, urgency });
    let promotions = proptest::collection::btree_map(action, mode(), 0..4);
    let suite = option::of(text(SuiteName::parse));
    let floor = option::of(prop_oneof![
        (0..100_000_u32).prop_map(NodeLimit::Nodes),
        (0..=100_u32).prop_map(|n| NodeLimit::Share(Ppm(n * 10_000)))
    ]);
    let rate = option::of((1..100_000_u32, 60..86_400_u32))
        .prop_map(|rate| rate.map(|(grants, seconds)| RateLimit { grants, per: Span::seconds(seconds) }));
    let window = (0..10_080_u16, 1..10_080_u32)
        .prop_map(|(start_minute, minutes)| WeeklyWindow { start_minute, length: Span::minutes(minutes) });
    let limits = (budgets, floor, rate, few(window), pool_limits());
    (text(PoolName::parse), mode(), promotions, limits, ladders, few(overrides), suite).prop_map(
        |(
            pool,
            mode,
            promotions,
            (budgets, floor, rate, windows, (breaker, hazards, deadlines)),
            ladders,
            overrides,
            suite,
        )| Policy {
            pool,
            mode,
            promotions,
            budgets,
            floor,
            rate,
            windows,
            drain_rule: DrainRule::AskOnly,
            breaker,
            hazards,
            deadlines,
            ladders,
            overrides,
            suite,
        },
    )
}

fn pool_limits() -> impl Strategy<Value = (BreakerLimits, Hazards, Deadlines)> {
    let ppm = || (0..=1_000_000_u32).prop_map(Ppm);
    let hazard = || (ppm(), ppm()).prop_map(|(hung, per_hour)| Hazard { hung, per_hour });
    let hazards = (hazard(), hazard()).prop_map(|(minutes, next_checkpoint)| Hazards { minutes, next_checkpoint });
    let times = vec((60..=604_800_u32).prop_map(Span::seconds), 17);
    (1..=100_000_u32, ppm(), hazards, times).prop_map(|(nodes_min, share, hazards, t)| {
        let (pause_min, pause_max) = (t[1].min(t[2]), t[1].max(t[2]));
        let breaker = BreakerLimits { nodes_min, share, window: t[0], pause_min, pause_max, test_within: t[3] };
        let deadlines = Deadlines {
            answer_minutes: t[4],
            answer_next_checkpoint: t[5],
            answer_min: t[6].min(t[4]).min(t[5]),
            capture: t[7],
            reset: t[8],
            reboot: t[9],
            suite: t[10],
            bootstrapping: t[11],
            quarantined: t[12],
            draining: t[13],
            repairing: t[14],
            qualifying: t[15],
            planned_work: t[16],
        };
        (breaker, hazards, deadlines)
    })
}

fn seconds_of(span: Span) -> Option<i32> {
    Some(i32::try_from(span.0 / 1_000).unwrap())
}

fn ppm_of(ppm: Ppm) -> i32 {
    i32::try_from(ppm.0).unwrap()
}

fn hazard_of(hazard: Hazard) -> Option<crate::Hazard> {
    Some(crate::Hazard { hung_ppm: ppm_of(hazard.hung), fails_per_hour_ppm: ppm_of(hazard.per_hour) })
}

fn breaker_of(breaker: BreakerLimits) -> crate::CircuitBreaker {
    crate::CircuitBreaker {
        nodes_min: Some(i32::try_from(breaker.nodes_min).unwrap()),
        share_ppm: Some(ppm_of(breaker.share)),
        window_seconds: seconds_of(breaker.window),
        pause_seconds_min: seconds_of(breaker.pause_min),
        pause_seconds_max: seconds_of(breaker.pause_max),
        test_seconds_max: seconds_of(breaker.test_within),
    }
}

fn deadlines_of(deadlines: Deadlines) -> crate::Deadlines {
    crate::Deadlines {
        answer_minutes_seconds: seconds_of(deadlines.answer_minutes),
        answer_next_checkpoint_seconds: seconds_of(deadlines.answer_next_checkpoint),
        answer_seconds_min: seconds_of(deadlines.answer_min),
        capture_seconds: seconds_of(deadlines.capture),
        reset_seconds: seconds_of(deadlines.reset),
        reboot_seconds: seconds_of(deadlines.reboot),
        suite_seconds: seconds_of(deadlines.suite),
        bootstrapping_seconds: seconds_of(deadlines.bootstrapping),
        quarantined_seconds: seconds_of(deadlines.quarantined),
        draining_seconds: seconds_of(deadlines.draining),
        repairing_seconds: seconds_of(deadlines.repairing),
        qualifying_seconds: seconds_of(deadlines.qualifying),
        planned_work_seconds: seconds_of(deadlines.planned_work),
    }
}

/// What people write of it.
pub(super) fn policy_spec_of(policy: &Policy) -> FleetPolicySpec {
    let promotions = policy.promotions.iter().map(|(action, mode)| Promotion { action: *action, mode: *mode });
    let budgets = policy.budgets.as_slice().iter().map(|budget| match budget.most {
        NodeLimit::Nodes(nodes) => {
            crate::Budget { level: budget.level, nodes_max: Some(i32::try_from(nodes).unwrap()), percent_max: None }
        }
        NodeLimit::Share(Ppm(share)) => {
            let percent_max = Some(i32::try_from(share / 10_000).unwrap());
            crate::Budget { level: budget.level, nodes_max: None, percent_max }
        }
    });
    let ladders = policy.ladders.iter().map(|(rule, ladder)| crate::RepairPlan {
        rule: rule.clone(),
        steps: ladder.rungs.clone(),
        attempts_max: i32::try_from(ladder.attempts_max).unwrap(),
        window_seconds: i32::try_from(ladder.window.0 / 1_000).unwrap(),
    });
    let overrides = policy.overrides.as_slice().iter().map(|one| CatalogueOverride {
        source: one.source,
        code: one.code.clone(),
        rule: one.rule.clone(),
        urgency: one.urgency,
    });
    FleetPolicySpec {
        pool: policy.pool.clone(),
        mode: policy.mode,
        promotions: Bounded::try_from(promotions.collect::<Vec<_>>()).unwrap(),
        budgets: Bounded::try_from(budgets.collect::<Vec<_>>()).unwrap(),
        capacity_floor: policy.floor.map(|floor| match floor {
            NodeLimit::Nodes(nodes) => {
                CapacityFloor { nodes_min: Some(i32::try_from(nodes).unwrap()), percent_min: None }
            }
            NodeLimit::Share(Ppm(share)) => {
                CapacityFloor { nodes_min: None, percent_min: Some(i32::try_from(share / 10_000).unwrap()) }
            }
        }),
        rate_limit: policy.rate.map(|rate| crate::RateLimit {
            removals_max: i32::try_from(rate.grants).unwrap(),
            per_seconds: i32::try_from(rate.per.0 / 1_000).unwrap(),
        }),
        windows: Bounded::try_from(policy.windows.as_slice().iter().map(window_of).collect::<Vec<_>>()).unwrap(),
        drain_rule: policy.drain_rule,
        circuit_breaker: Some(breaker_of(policy.breaker)),
        hazards: Some(crate::Hazards {
            minutes: hazard_of(policy.hazards.minutes),
            next_checkpoint: hazard_of(policy.hazards.next_checkpoint),
        }),
        deadlines: Some(deadlines_of(policy.deadlines)),
        repair_plans: Bounded::try_from(ladders.collect::<Vec<_>>()).unwrap(),
        overrides: Bounded::try_from(overrides.collect::<Vec<_>>()).unwrap(),
        suite: policy.suite.clone(),
        gang: None,
    }
}

fn window_of(window: &WeeklyWindow) -> MaintenanceWindow {
    let days = [
        Weekday::Monday,
        Weekday::Tuesday,
        Weekday::Wednesday,
        Weekday::Thursday,
        Weekday::Friday,
        Weekday::Saturday,
        Weekday::Sunday,
    ];
    MaintenanceWindow {
        day: days[usize::from(window.start_minute / 1_440)],
        start_minute: i32::from(window.start_minute % 1_440),
        minutes: i32::try_from(window.length.0 / 60_000).unwrap(),
    }
}

pub(super) fn subject() -> impl Strategy<Value = Subject> {
    let part = (select(vec![Part::Gpu, Part::Board, Part::Nic]), text(Serial::parse));
    let domain = (select(Level::ALL.to_vec()), text(DomainName::parse));
    prop_oneof![
        part.prop_map(|(part, serial)| Subject::Part { part, serial }),
        text(NodeName::parse).prop_map(Subject::Node),
        domain.prop_map(|(level, name)| Subject::Domain { level, name }),
        text(Version::parse).prop_map(Subject::Driver),
    ]
}
