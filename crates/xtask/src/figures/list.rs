//! The list of published figures, one line each. A new figure has a line here, an entry in `claims.toml`, and a proof of the
//! same name in the crate `proofs`.

use std::time::Duration;

use super::Goal::{AtLeast, AtMost, Exactly};
use super::{Figure, Goal, Schedule, TestServers};

/// Cases of the fence: a new case is counted here as well, so that none is lost unnoticed.
const FENCE_CASES: i64 = 2_643;

/// Every figure, in the order in which the proofs run.
#[rustfmt::skip] // one line a figure, to be read as a table
pub const ALL: &[Figure] = &[
    in_ci("crate-map",            "arrows",                     Exactly(0),           1),
    in_ci("catalogue",            "faults",                     Exactly(0),           2),
    in_ci("wild-lines",           "excerpts per thousand",      AtLeast(900),         2),
    in_ci("unrecognised",         "of 1,000",                   AtLeast(600),         5),
    in_ci("unrecognised-cost",    "percent",                    AtMost(200),          5),
    in_ci("why",                  "stages and waits",           Exactly(0),           1),
    in_ci("node-bytes-calm",      "bytes",                      AtMost(8 * 1024 - 1), 2).on_servers(),
    in_ci("node-bytes-fullest",   "bytes",                      AtMost(64 * 1024 - 1), 2).on_servers(),
    in_ci("storm",                "transitions a second",       AtLeast(10_000),      5),
    in_ci("storm-memory",         "MB",                         AtMost(400),          5),
    in_ci("noisy-node",           "nodes",                      Exactly(0),           5),
    by_hand("noisy-node-full",    "nodes",                      Exactly(0),           5),
    in_ci("seeds",                "seeds",                      Exactly(0),           10),
    in_ci("teeth",                "guards",                     Exactly(0),           10),
    by_hand("seeds-1000",         "seeds",                      Exactly(0),           60),
    // It needs an hour or two of a machine without other work.
    by_hand("mutants",            "of 1,000",                   AtLeast(950),         480),
    in_ci("sim-month",            "seconds",                    AtMost(60),           10),
    // It simulates the month twice.
    by_hand("sim-month-same",     "bytes",                      Exactly(0),           10),
    in_ci("quarantine-quality",   "classes",                    Exactly(0),           5),
    in_ci("mad-sensor",           "ppm of the fleet an hour",   AtMost(5_000),        5),
    by_hand("lemons",             "of 1,000",                   AtLeast(900),         10),
    in_ci("lemons-false",         "false names",                AtMost(1_000),        10),
    by_hand("sweep",              "conclusions",                AtLeast(2),           60),
    by_hand("backtest",           "outcomes",                   AtMost(1),            10),
    in_ci("backtest-small",       "outcomes",                   AtMost(1),            2),
    by_hand("act-pays",           "comparisons",                Exactly(0),           60),
    in_ci("act-pays-small",       "per thousand",               AtMost(1_000),        2),
    by_hand("act-pays-sweep",     "reversed comparisons",       Exactly(0),           60),
    by_hand("ettr",               "milli-points",               AtMost(1_000),        30),
    // It needs Debian's prometheus, and a minute or two.
    by_hand("assess",             "milliseconds",               AtMost(60_000),       20),
    // CI replays one month.
    in_ci("slo-false-pages",      "pages in 1,000 months",      AtMost(200),          5),
    // It builds Sloth the first time.
    by_hand("slo-false-pages-year", "pages in 1,000 months",    AtMost(200),          90),
    in_ci("slo-fires",            "outages",                    Exactly(0),           5),
    by_hand("alerts-fire",        "alerts",                     Exactly(0),           3),
    // It needs Debian's prometheus, 16 GB of memory and ten minutes.
    by_hand("metrics-cost",       "series",                     AtMost(20),           40),
    in_ci("api-calls",            "failures",                   Exactly(0),           40),
    in_ci("demo-start",           "ms",                         AtMost(5_000),        40),
    in_ci("first-five-minutes",   "seconds",                    AtMost(300),          60),
    // CI runs its test without the builds and the cluster of the tour.
    by_hand("tour",               "groups of commands",         Exactly(0),           120).on_servers(),
    in_ci("map-100k",             "µs",                         AtMost(33_000),       40),
    in_ci("agent-latency",        "milliseconds",               AtMost(100),          10),
    by_hand("agent-latency-full", "milliseconds",               AtMost(100),          10),
    in_ci("agent-flood",          "lines",                      Exactly(0),           10),
    // The client of the API server and its TLS are two thirds of the size.
    in_ci("agent-aarch64",        "KiB",                        AtMost(16 * 1024),    20),
    // It takes three minutes.
    by_hand("agent-kills",        "events",                     Exactly(0),           10),
    by_hand("agent-guest",        "refusals",                   Exactly(0),           30),
    by_hand("agent-footprint",    "millionths of a core",       AtMost(1_000),        30),
    by_hand("agent-unknown-lines", "millionths of a core",      AtMost(1_000),        30),
    in_ci("fence-matrix",         "cases as expected",          Exactly(FENCE_CASES), 8).on_servers(),
    in_ci("agent-attacks",        "attempts",                   Exactly(0),           5).on_servers(),
    in_ci("install-orders",       "refused writes",             Exactly(0),           25).on_servers(),
    by_hand("install-orders-all", "refused writes",             Exactly(0),           120).on_servers(),
    in_ci("untouched",            "writes to what is not ours", Exactly(0),           12).on_servers(),
    by_hand("one-page",           "causes",                     Exactly(0),           8).on_servers(),
    by_hand("dashboards",         "panels",                     Exactly(0),           20).on_servers(),
    by_hand("gameday",            "checks",                     Exactly(0),           20).on_servers(),
    in_ci("journal-replay",       "decisions",                  Exactly(0),           15).on_servers(),
    by_hand("journal-replay-full", "decisions",                 Exactly(0),           40).on_servers(),
    by_hand("hpa-queue-wait",     "checks",                     Exactly(0),           40).on_servers(),
    by_hand("observe-end-to-end", "milliseconds",               AtMost(2_000),        20).on_servers(),
    by_hand("agent-cell",         "requests",                   AtMost(5),            60).on_servers(),
    by_hand("scale-10k",          "kB per node",                AtMost(20),           40).on_servers(),
    by_hand("scale-100k",         "kB per node",                AtMost(20),           180).on_servers(),
    by_hand("crash-observe",      "ends that differ",           Exactly(0),           120).on_servers(),
    in_ci("crash-act",            "ends that differ",           Exactly(0),           10).on_servers(),
    by_hand("crash-act-full",     "ends that differ",           Exactly(0),           120).on_servers(),
    // It builds the kubelet the first time, and needs root and Debian's containerd.
    by_hand("real-nodes",         "expectations",               Exactly(0),           10).on_servers(),
    by_hand("shared-budget",      "violations",                 Exactly(0),           20).on_servers(),
    by_hand("shared-budget-full", "violations",                 Exactly(0),           20).on_servers(),
    by_hand("retry-elsewhere",    "pods",                       Exactly(0),           60).on_servers(),
    by_hand("stale-act",          "wrong actions",              Exactly(0),           10).on_servers(),
    by_hand("stale-act-full",     "wrong actions",              Exactly(0),           120).on_servers(),
    by_hand("split-brain",        "late actions",               Exactly(0),           90).on_servers(),
    in_ci("overload",             "violations",                 Exactly(0),           10).on_servers(),
    by_hand("overload-full",      "violations",                 Exactly(0),           30).on_servers(),
    in_ci("restore",              "violations",                 Exactly(0),           10).on_servers(),
    by_hand("restore-full",       "violations",                 Exactly(0),           30).on_servers(),
    // The agent's release build is not among the builds of CI.
    by_hand("image",              "calls refused by RBAC",      Exactly(0),           40).on_servers(),
    // It builds both programs for both architectures, twice.
    by_hand("release",            "files that differ",          Exactly(0),           240),
    // CI does not build the oldest server.
    by_hand("oldest-kubernetes",  "cases as expected",          Exactly(FENCE_CASES), 60).on_oldest_server(),
    in_ci("cluster-1k",           "seconds",                    AtMost(60),           5).on_servers(),
    by_hand("cluster-10k",        "seconds",                    AtMost(120),          20).on_servers(),
    by_hand("cluster-10k-steady", "nodes",                      Exactly(10_000),      20).on_servers(),
    by_hand("cluster-100k",       "seconds",                    AtMost(900),          40).on_servers(),
    by_hand("cluster-100k-memory", "MB",                        AtMost(14_000),       40).on_servers(),
];

const fn in_ci(name: &'static str, unit: &'static str, goal: Goal, limit_minutes: u64) -> Figure {
    let limit = Duration::from_mins(limit_minutes);
    Figure { name, runs: Schedule::InCi, unit, goal, limit, servers: TestServers::Unused }
}

const fn by_hand(name: &'static str, unit: &'static str, goal: Goal, limit_minutes: u64) -> Figure {
    Figure { runs: Schedule::ByHand, ..in_ci(name, unit, goal, limit_minutes) }
}

impl Figure {
    const fn on_servers(self) -> Figure {
        Figure { servers: TestServers::Newest, ..self }
    }

    const fn on_oldest_server(self) -> Figure {
        Figure { servers: TestServers::Oldest, ..self }
    }
}
