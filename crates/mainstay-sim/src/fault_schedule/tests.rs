use std::collections::BTreeMap;

use super::*;
use crate::Rates;

const DAY: u64 = 86_400_000;

fn fleet(nodes: u32) -> FleetShape {
    FleetShape { nodes, gpus_per_node: 8, nics_per_node: 8, nodes_per_rack: 4, nodes_per_leaf: 32 }
}

fn base() -> FailureModel {
    FailureModel::built_in(Rates::Base)
}

fn days(days: u64) -> Timestamp {
    Timestamp(0) + Span(days * DAY)
}

fn count(list: &[ScheduledFault], keep: impl Fn(FaultClass) -> bool) -> f64 {
    f64::from(u32::try_from(list.iter().filter(|onset| keep(onset.class)).count()).unwrap())
}

fn is_hardware(class: FaultClass) -> bool {
    process(class) == Process::Hardware
}

/// Those that the published count of stops is made of. A slow node stops nobody, an NVLink error or a flap seldom does,
/// and new nodes are not in that fleet.
fn stops(class: FaultClass) -> bool {
    (is_hardware(class) && class != FaultClass::FailSlowOnset) || class == FaultClass::SoftwareAndWatchdog
}

#[test]
fn the_published_total_is_met() {
    let (nodes, length, seeds) = (2_000, 365, 8_u32);
    let found: f64 = (0..seeds)
        .map(|seed| count(&fault_schedule(&base(), &fleet(nodes), u64::from(seed), days(length)), stops))
        .sum();
    let per_1000_node_days = found / f64::from(seeds) / 2_000.0 / 365.0 * 1_000.0;
    let model = base();
    let table: f64 = FaultClass::ALL
        .into_iter()
        .filter(|&class| stops(class))
        .map(|class| model.rate_per_day(class) * fleet(nodes).per_node(model.unit(class)) * 1_000.0)
        .sum();
    // The classes sum to 3.777: the 3.79 of the source less what we take off its 35 switches and cables.
    assert!((table - 3.777).abs() < 0.001, "{table}");
    assert!((table / model.get(Parameter::StopRateBase) - 1.0).abs() < 0.005);
    assert!((per_1000_node_days / table - 1.0).abs() < 0.05, "{per_1000_node_days} against {table}");
}

#[test]
fn every_class_comes_as_often_as_its_rate_says() {
    let mut model = base();
    // Rare ones are made frequent enough to be counted.
    model.scale("leaf-switch-crash", 1_000.0).unwrap();
    model.scale("rack-power", 1_000.0).unwrap();
    model.scale("gpu-silent-data-corruption", 30.0).unwrap();
    model.scale("nic-hard-fault", 30.0).unwrap();
    let shape = fleet(8_000);
    let list: Vec<ScheduledFault> = (0..3).flat_map(|seed| fault_schedule(&model, &shape, seed, days(300))).collect();
    for class in FaultClass::ALL.into_iter().filter(|&class| process(class) != Process::Once) {
        let units = match model.unit(class) {
            Unit::Leaf => 250.0,
            Unit::Rack => 2_000.0,
            unit @ (Unit::Gpu | Unit::Nic | Unit::Link | Unit::Node | Unit::NodeOnce) => shape.per_node(unit) * 8_000.0,
        };
        let expected = model.rate_per_day(class) * units * 300.0 * 3.0;
        let found = count(&list, |other| other == class);
        assert!((found / expected - 1.0).abs() < 0.08, "{}: {found} against {expected}", class.word());
    }
}

/// The share of hardware faults that the worst such part of the nodes carries.
fn carried(list: &[ScheduledFault], nodes: u32, worst: usize) -> f64 {
    let mut per_node = vec![0_u32; usize::try_from(nodes).unwrap()];
    for onset in list.iter().filter(|onset| is_hardware(onset.class)) {
        per_node[usize::try_from(onset.node).unwrap()] += 1;
    }
    per_node.sort_unstable_by(|a, b| b.cmp(a));
    f64::from(per_node[..worst].iter().sum::<u32>()) / f64::from(per_node.iter().sum::<u32>())
}

#[test]
fn few_nodes_carry_many_faults() {
    // As long as the records of LANL, where a node had three to four failures.
    let list = fault_schedule(&base(), &fleet(4_000), 3, days(900));
    let shares = [40, 200, 400].map(|worst| carried(&list, 4_000, worst));
    // LANL's systems 18 to 20: 8.5 to 10.4 %, 21.5 to 24.5 %, 32 to 38.5 %. Lemons put ours at the upper end.
    for (share, (least, most)) in shares.into_iter().zip([(0.085, 0.115), (0.215, 0.265), (0.32, 0.40)]) {
        assert!((least..most).contains(&share), "{shares:?}");
    }
    // The same number of faults, thrown blindly, has a tenth of the nodes carry a quarter.
    let mut alike = base();
    alike.set("node_multiplier_shape", 100.0).unwrap();
    alike.set("lemon_share", 0.0).unwrap();
    alike.set("time_between_failures_shape", 1.0).unwrap();
    assert!(carried(&fault_schedule(&alike, &fleet(4_000), 3, days(900)), 4_000, 400) < 0.26);
}

/// The share of hardware faults that another on the same node follows within each of the days.
fn followed(faults: &BTreeMap<u32, Vec<u64>>, until: u64) -> [f64; 3] {
    [1, 7, 30].map(|within| {
        let (mut all, mut followed) = (0_u32, 0_u32);
        for times in faults.values() {
            for (place, at) in times.iter().enumerate().filter(|(_, at)| **at + 30 * DAY < until) {
                all += 1;
                followed += u32::from(times.get(place + 1).is_some_and(|next| next - at <= within * DAY));
            }
        }
        f64::from(followed) / f64::from(all)
    })
}

#[test]
fn relapses_and_fresh_faults_together_come_back_as_often_as_at_lanl() {
    let (model, shape, seed, length) = (base(), fleet(20_000), 5, 400);
    let relapses = Relapses::new(&model, &shape);
    let mut faults: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let list = fault_schedule(&model, &shape, seed, days(length));
    for onset in list.iter().filter(|onset| is_hardware(onset.class)) {
        faults.entry(onset.node).or_default().push(onset.at.since(Timestamp(0)).0);
    }
    let fresh = followed(&faults, length * DAY);
    // Repaired at once, and each relapse may relapse.
    for onset in list.iter().filter(|onset| is_hardware(onset.class)) {
        let mut chance = stream(seed, Purpose::Fault, onset.key);
        let mut at = onset.at.since(Timestamp(0)).0;
        while let Some(after) = relapses.after(&mut chance) {
            at += after.0;
            if at >= length * DAY {
                break;
            }
            faults.entry(onset.node).or_default().push(at);
        }
    }
    faults.values_mut().for_each(|times| times.sort_unstable());
    let both = followed(&faults, length * DAY);
    // LANL: 9.9 %, 21.3 % and 35.5 %. Of the last the fresh faults of unlike nodes explain all by themselves.
    for (found, expected) in both.into_iter().zip([0.099, 0.213, 0.355]) {
        assert!((found - expected).abs() < 0.03, "{both:?}, of which fresh {fresh:?}");
    }
    assert!(fresh[0] < 0.075, "{fresh:?}");
}

#[test]
fn a_relapse_comes_within_the_interval_its_share_is_of() {
    let mut model = base();
    // Far too few fresh faults to explain anything.
    model.scale(crate::model::ALL_RATES, 1e-6).unwrap();
    let relapses = Relapses::new(&model, &fleet(1));
    let mut chance = stream(1, Purpose::Fault, 1);
    let drawn: Vec<Option<Span>> = (0..20_000).map(|_| relapses.after(&mut chance)).collect();
    for (within, expected) in [(1, 0.099), (7, 0.213), (30, 0.355), (60, 0.355)] {
        let came = drawn.iter().flatten().filter(|after| after.0 <= within * DAY).count();
        let share = f64::from(u32::try_from(came).unwrap()) / 20_000.0;
        assert!((share - expected).abs() < 0.01, "within {within} days {share} against {expected}");
    }
}

#[test]
fn lemons_are_few_and_multipliers_keep_the_rate_of_the_fleet() {
    let model = base();
    let lemons = (0..50_000).filter(|&node| is_lemon(&model, 9, node)).count();
    assert!((500..700).contains(&lemons), "{lemons}");
    let mean = (0..50_000).map(|node| multiplier(&model, 9, node)).sum::<f64>() / 50_000.0;
    assert!((mean - 1.0).abs() < 0.02, "{mean}");
}

#[test]
fn a_burst_stays_in_its_rack_and_does_not_add_to_the_total() {
    let mut model = base();
    model.set("burst_share", 1.0).unwrap();
    let shape = fleet(2_002);
    let list = fault_schedule(&model, &shape, 1, days(300));
    let firsts: BTreeMap<u64, ScheduledFault> = list
        .iter()
        .filter(|onset| onset.key >> 56 == NODE_PROCESS)
        .map(|onset| (onset.key & ((1 << 56) - 1), *onset))
        .collect();
    let seconds: Vec<&ScheduledFault> = list.iter().filter(|onset| onset.key >> 56 == BURST_PROCESS).collect();
    assert!(firsts.len() > 1_000 && seconds.len() + 3 > firsts.len());
    for second in seconds {
        let first = firsts[&(second.key & ((1 << 56) - 1))];
        assert!(second.node / 4 == first.node / 4 && second.node != first.node && second.node < 2_002);
        assert!(second.at.since(first.at) < BURST_WITHIN && second.at >= first.at);
    }
    let without = {
        model.set("burst_share", 0.0).unwrap();
        count(&fault_schedule(&model, &shape, 1, days(300)), is_hardware)
    };
    assert!((count(&list, is_hardware) / without - 1.0).abs() < 0.1);
}

#[test]
fn a_node_alone_in_its_rack_is_its_own_neighbour() {
    let mut chance = stream(1, Purpose::Burst, 1);
    let alone = FleetShape { nodes_per_rack: 1, ..fleet(5) };
    assert_eq!(alone.neighbour(3, &mut chance), 3);
    // The last rack has one node only.
    assert_eq!(fleet(5).neighbour(4, &mut chance), 4);
}

#[test]
fn new_nodes_show_their_defects_early_and_old_ones_have_none() {
    let mut model = base();
    model.set("new_nodes_share", 0.5).unwrap();
    let list = fault_schedule(&model, &fleet(20_000), 1, days(60));
    let defects: Vec<&ScheduledFault> = list.iter().filter(|onset| onset.class == FaultClass::DeliveryDefect).collect();
    assert!((420..580).contains(&defects.len()), "{}", defects.len());
    assert!(defects.iter().all(|onset| onset.at <= days(14) && onset.device < 8));
    model.set("new_nodes_share", 0.0).unwrap();
    assert!(
        fault_schedule(&model, &fleet(20_000), 1, days(60))
            .iter()
            .all(|onset| onset.class != FaultClass::DeliveryDefect)
    );
}

#[test]
fn a_class_that_is_gone_leaves_the_processes_it_is_not_part_of() {
    let shape = fleet(500);
    let all = fault_schedule(&base(), &shape, 4, days(90));
    let without = |gone: FaultClass| {
        let mut model = base();
        model.set(gone.word(), 0.0).unwrap();
        fault_schedule(&model, &shape, 4, days(90))
    };
    let rest = |list: &[ScheduledFault], keep: &dyn Fn(FaultClass) -> bool| -> Vec<ScheduledFault> {
        list.iter().filter(|onset| keep(onset.class)).copied().collect()
    };
    for gone in FaultClass::ALL.into_iter().filter(|&class| !is_hardware(class)) {
        assert_eq!(rest(&all, &|class| class != gone), without(gone), "without {}", gone.word());
    }
    let others = |class: FaultClass| !is_hardware(class);
    assert_eq!(rest(&all, &others), rest(&without(FaultClass::GpuHardFault), &others));
    assert!(without(FaultClass::GpuHardFault).iter().all(|onset| onset.class != FaultClass::GpuHardFault));
}

#[test]
fn a_longer_run_and_a_larger_fleet_begin_with_the_same_faults() {
    let short = fault_schedule(&base(), &fleet(512), 4, days(30));
    let mut long = fault_schedule(&base(), &fleet(1_024), 4, days(60));
    long.retain(|onset| onset.node < 512 && onset.at < days(30));
    assert_eq!(short, long);
}

#[test]
fn faults_are_in_order_and_no_two_share_a_key() {
    let list = fault_schedule(&FailureModel::built_in(Rates::Stress), &fleet(1_000), 2, days(60));
    assert!(list.is_sorted_by_key(|onset| (onset.at, onset.node, onset.class, onset.key)));
    let keys: std::collections::BTreeSet<u64> = list.iter().map(|onset| onset.key).collect();
    assert_eq!(keys.len(), list.len());
    assert!(keys.iter().all(|key| *key < 1 << 62));
    assert!(list.iter().all(|onset| onset.at >= Timestamp(0) && onset.at < days(60) && onset.node < 1_000));
}

/// FNV-1a over every field.
fn digest(list: &[ScheduledFault]) -> u64 {
    let fields = |onset: &ScheduledFault| {
        let at = onset.at.since(Timestamp(0)).0;
        [at, number(onset.class), u64::from(onset.node), u64::from(onset.device), onset.key]
    };
    let bytes = list.iter().flat_map(fields).flat_map(u64::to_le_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn a_seed_stands_for_the_same_faults_on_any_machine() {
    let list = fault_schedule(&base(), &fleet(1_000), 1, days(30));
    assert_eq!((list.len(), digest(&list)), (2_560, 5_006_528_926_374_375_292));
}
