//! The list of proofs: one for every number that a document claims. A new proof is a file in this folder, a line here, a line
//! in `crates/xtask/src/figures/list.rs` and an entry in `crates/xtask/claims.toml`. `prove.rs` defines what a proof is.

mod act;
mod act_pays;
mod agent;
mod alerts;
mod api_calls;
mod assess;
mod backtest;
mod catalogue;
mod cluster;
mod crate_map;
mod demo_start;
mod engine_load;
mod ettr;
mod explanations;
mod false_alarms;
mod fence;
mod image;
mod install_orders;
mod lemons;
mod map_100k;
mod metrics_cost;
mod mutants;
mod node_bytes;
mod observe;
mod parallel;
mod quality;
mod release;
mod repeatable;
mod seeds;
mod sim_month;
mod slo;
mod sweep;
mod tour;
mod wild_lines;

use anyhow::Context as _;

use crate::prove::Proof;

/// The proof of a figure.
pub(crate) fn of(name: &str) -> anyhow::Result<&'static Proof> {
    ALL.iter().find(|proof| proof.name == name).with_context(|| format!("the figure {name} has no proof"))
}

/// In the order of the figures.
pub(crate) const ALL: &[Proof] = &[
    crate_map::PROOF,
    catalogue::PROOF,
    wild_lines::PROOF,
    wild_lines::UNRECOGNISED,
    wild_lines::UNRECOGNISED_COST,
    explanations::PROOF,
    node_bytes::CALM,
    node_bytes::FULLEST,
    engine_load::SPEED,
    engine_load::MEMORY,
    engine_load::NOISY,
    engine_load::NOISY_FULL,
    seeds::SEEDS,
    seeds::TEETH,
    seeds::THOUSAND,
    mutants::PROOF,
    sim_month::SPEED,
    sim_month::SAME,
    quality::PROOF,
    false_alarms::PROOF,
    lemons::NAMED,
    lemons::FALSE,
    sweep::PROOF,
    backtest::PROOF,
    backtest::SMALL,
    act_pays::PROOF,
    act_pays::SMALL,
    act_pays::SWEEP,
    ettr::PROOF,
    assess::PROOF,
    slo::FALSE_PAGES,
    slo::FALSE_PAGES_YEAR,
    slo::FIRES,
    alerts::FIRE,
    metrics_cost::PROOF,
    api_calls::PROOF,
    demo_start::PROOF,
    release::FIRST_FIVE_MINUTES,
    tour::PROOF,
    map_100k::PROOF,
    agent::LATENCY,
    agent::LATENCY_FULL,
    agent::FLOOD,
    agent::AARCH64,
    agent::KILLS,
    agent::GUEST,
    agent::FOOTPRINT,
    agent::UNKNOWN_LINES,
    fence::PROOF,
    fence::ATTACKS,
    install_orders::SLICED,
    install_orders::ALL,
    observe::UNTOUCHED,
    observe::ONE_PAGE,
    observe::DASHBOARDS,
    observe::GAMEDAY,
    observe::JOURNAL,
    observe::JOURNAL_FULL,
    observe::AUTOSCALER,
    observe::END_TO_END,
    observe::CELL,
    observe::SCALE_10K,
    observe::SCALE_100K,
    observe::CRASH,
    act::CRASH,
    act::CRASH_FULL,
    act::REAL_NODES,
    act::SHARED,
    act::SHARED_FULL,
    act::RETRY,
    act::STALE,
    act::STALE_FULL,
    act::SPLIT_BRAIN,
    act::OVERLOAD,
    act::OVERLOAD_FULL,
    act::RESTORE,
    act::RESTORE_FULL,
    image::PROOF,
    release::RELEASE,
    fence::OLDEST,
    cluster::READY_1K,
    cluster::READY_10K,
    cluster::STEADY_10K,
    cluster::READY_100K,
    cluster::MEMORY_100K,
];
