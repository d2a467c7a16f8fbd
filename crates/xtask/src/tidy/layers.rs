//! The map of the crates: which crate may use which, and which third-party crates the pure crates may use. It reads like the table in
//! ARCHITECTURE.md; changing it is a decision and needs a record. It knows nothing of the workspace at hand.

/// What a crate is, which decides what may be near it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The decision engine and the simulator: no I/O, no clock, same input, same output.
    Pure,
    /// Talks to other systems, holds no policy.
    Edge,
    /// A binary that users start.
    Program,
    /// For developers of Mainstay; never shipped.
    Tool,
}

/// Which workspace crates the code of a crate may use.
#[derive(Clone, Copy, Debug)]
pub enum DependencyRule {
    /// The crates of this list.
    These(&'static [&'static str]),
    /// Whatever is shipped: pure crates, edges and programs.
    Shipped,
    /// Every crate of the workspace.
    Everything,
}

/// A crate's place on the map.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Name of the crate.
    pub name: &'static str,
    /// What the crate is.
    pub kind: Kind,
    /// Crates that its code may use.
    pub uses: DependencyRule,
}

/// Every crate, existing or planned. Planned crates are created once they have code.
#[rustfmt::skip] // one line a crate, to be read as a table
pub const MAP: &[Layer] = &[
    layer("mainstay-model",   Kind::Pure,    DependencyRule::These(&[])),
    layer("mainstay-text",    Kind::Pure,    DependencyRule::These(&["mainstay-model"])),
    layer("mainstay-signal",  Kind::Pure,    DependencyRule::These(&["mainstay-model"])),
    layer("mainstay-health",  Kind::Pure,    DependencyRule::These(&["mainstay-model"])),
    layer("mainstay-remedy",  Kind::Pure,    DependencyRule::These(&["mainstay-model"])),
    layer("mainstay-arbiter", Kind::Pure,    DependencyRule::These(&["mainstay-model"])),
    layer("mainstay-sched",   Kind::Pure,    DependencyRule::These(&["mainstay-model"])),
    layer("mainstay-account", Kind::Pure,    DependencyRule::These(&["mainstay-model"])),
    layer("mainstay-audit",   Kind::Pure,    DependencyRule::These(&["mainstay-model"])),
    layer("mainstay-engine",  Kind::Pure,    DependencyRule::These(&[
        "mainstay-model", "mainstay-signal", "mainstay-health", "mainstay-remedy", "mainstay-arbiter", "mainstay-sched",
        "mainstay-account", "mainstay-audit",
    ])),
    // It emits raw lines as machines do, and never reads the catalogue.
    layer("mainstay-sim",     Kind::Pure,    DependencyRule::These(&["mainstay-model", "mainstay-text", "mainstay-signal", "mainstay-engine"])),
    layer("mainstay-api",     Kind::Edge,    DependencyRule::These(&["mainstay-account", "mainstay-model"])),
    // What every long-running process has. It knows nothing of the fleet.
    layer("mainstay-telemetry", Kind::Edge,  DependencyRule::These(&[])),
    layer("mainstay-prometheus", Kind::Edge, DependencyRule::These(&["mainstay-text"])),
    // What every backend shares when it executes effects. It knows no backend.
    layer("mainstay-act",     Kind::Edge,    DependencyRule::These(&["mainstay-model"])),
    layer("mainstay-kube",    Kind::Edge,    DependencyRule::These(&[
        "mainstay-account", "mainstay-act", "mainstay-api", "mainstay-engine", "mainstay-model", "mainstay-prometheus",
        "mainstay-telemetry", "mainstay-text",
    ])),
    layer("mainstay-slurm",   Kind::Edge,    DependencyRule::These(&["mainstay-api", "mainstay-engine"])),
    layer("mainstay-agent",   Kind::Edge,    DependencyRule::These(&[
        "mainstay-api", "mainstay-model", "mainstay-signal", "mainstay-telemetry",
    ])),
    layer("mainstay-assess",  Kind::Edge,    DependencyRule::These(&[
        "mainstay-engine", "mainstay-kube", "mainstay-model", "mainstay-prometheus", "mainstay-signal", "mainstay-text",
    ])),
    layer("mainstay-web",     Kind::Edge,    DependencyRule::These(&[
        "mainstay-api", "mainstay-engine", "mainstay-model", "mainstay-telemetry", "mainstay-text",
    ])),
    layer("mainstay",         Kind::Program, DependencyRule::Shipped),
    layer("fake-nvml",        Kind::Tool,    DependencyRule::These(&[])),
    layer("fake-kernel",      Kind::Tool,    DependencyRule::These(&[])),
    // The tests of the edges use it, so it uses none of them.
    layer("testbed",          Kind::Tool,    DependencyRule::These(&[])),
    // `cargo xtask tidy` compiles in seconds because it uses no product crate.
    layer("xtask",            Kind::Tool,    DependencyRule::These(&[])),
    layer("generate",         Kind::Tool,    DependencyRule::These(&[
        "mainstay-api", "mainstay-audit", "mainstay-health", "mainstay-model", "mainstay-telemetry", "xtask",
    ])),
    layer("proofs",           Kind::Tool,    DependencyRule::Everything),
];

const fn layer(name: &'static str, kind: Kind, uses: DependencyRule) -> Layer {
    Layer { name, kind, uses }
}

impl Layer {
    /// The place of a crate, if it is on the map.
    pub fn of(name: &str) -> Option<&'static Layer> {
        MAP.iter().find(|layer| layer.name == name)
    }

    /// Whether the code of this crate may use `other`.
    pub fn may_use(&self, other: &Layer) -> bool {
        match self.uses {
            DependencyRule::These(names) => names.contains(&other.name),
            DependencyRule::Shipped => other.kind != Kind::Tool,
            DependencyRule::Everything => true,
        }
    }

    /// Whether the tests of this crate may use `other`. Pure crates are tested with pure crates alone (an oracle, the
    /// numbered invariants); everything else also with tools.
    pub fn may_test_with(&self, other: &Layer) -> bool {
        match (self.kind, other.kind) {
            (_, Kind::Pure) | (Kind::Edge | Kind::Program | Kind::Tool, Kind::Tool) => true,
            (Kind::Pure, Kind::Edge | Kind::Program | Kind::Tool) => false,
            (Kind::Edge | Kind::Program | Kind::Tool, Kind::Edge | Kind::Program) => self.may_use(other),
        }
    }

    /// What its code may use, in words.
    pub fn uses_in_words(&self) -> String {
        match self.uses {
            DependencyRule::These([]) => "no Mainstay crate".to_owned(),
            DependencyRule::These(names) => names.join(", "),
            DependencyRule::Shipped => "every crate that is shipped".to_owned(),
            DependencyRule::Everything => "every crate".to_owned(),
        }
    }
}

/// Where a pure crate may use a third-party crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsageScope {
    Everywhere,
    /// In the code only behind a feature, which the engine itself does not turn on.
    BehindFeature,
    /// In the code of these crates, and in the tests of all.
    CodeOf(&'static [&'static str]),
    Tests,
}

/// A third-party crate that pure crates may use, where, and the reason. All of them compute; none of them reads the
/// machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThirdPartyRule {
    pub(crate) name: &'static str,
    pub(crate) place: UsageScope,
    pub(crate) reason: &'static str,
}

/// The short allow-list of the pure crates.
#[rustfmt::skip] // one line a crate, to be read as a table
pub(crate) const PURE_MAY_USE: &[ThirdPartyRule] = &[
    allowed("ecow",       UsageScope::CodeOf(&["mainstay-model"]), "short texts inline, long ones shared"),
    allowed("serde",      UsageScope::Everywhere,    "what persists is serialised"),
    allowed("thiserror",  UsageScope::Everywhere,    "typed errors"),
    allowed("schemars",   UsageScope::BehindFeature, "behind a feature, for the schemas of mainstay-api"),
    allowed("serde_json", UsageScope::CodeOf(&["mainstay-engine", "mainstay-text"]), "the engine's records, JSON lines; elsewhere in tests"),
    allowed("libm",        UsageScope::CodeOf(&["mainstay-sim"]), "logarithms with the same bits on every machine"),
    allowed("rand_chacha", UsageScope::CodeOf(&["mainstay-sim"]), "random numbers from a seed, without the machine's entropy"),
    allowed("proptest",   UsageScope::Tests,         "property tests"),
    allowed("insta",      UsageScope::Tests,         "snapshots, in tests"),
];

const fn allowed(name: &'static str, place: UsageScope, reason: &'static str) -> ThirdPartyRule {
    ThirdPartyRule { name, place, reason }
}
