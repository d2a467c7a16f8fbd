//! The map of the crates: which crate may use which, and which third-party crates the pure crates may use. It reads like the table in
//! ARCHITECTURE.md; changing it is a decision and needs a record. It knows nothing of the workspace at hand.

/// What a crate is, which decides what may be near it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The decision engine and the simulator: no I/O, no clock, same input, same output.
    Pure,
    /// Talks to other systems, holds no policy.
    Edge,
    /// A binary that users start.
    Program,
    /// For developers of Mainstay; never shipped.
    Tool,
}

/// Which of our crates a crate's code may use.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Uses {
    These(&'static [&'static str]),
    /// Whatever is shipped: pure crates, edges and programs.
    Shipped,
    Everything,
}

/// A crate's place on the map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) uses: Uses,
}

/// Every crate, existing or planned. Planned crates are created once they have code.
#[rustfmt::skip] // one line a crate, to be read as a table
pub(crate) const MAP: &[Layer] = &[
    layer("mainstay-model",   Kind::Pure,    Uses::These(&[])),
    layer("mainstay-signal",  Kind::Pure,    Uses::These(&["mainstay-model"])),
    layer("mainstay-health",  Kind::Pure,    Uses::These(&["mainstay-model"])),
    layer("mainstay-remedy",  Kind::Pure,    Uses::These(&["mainstay-model"])),
    layer("mainstay-sched",   Kind::Pure,    Uses::These(&["mainstay-model"])),
    layer("mainstay-account", Kind::Pure,    Uses::These(&["mainstay-model"])),
    layer("mainstay-audit",   Kind::Pure,    Uses::These(&["mainstay-model"])),
    layer("mainstay-engine",  Kind::Pure,    Uses::These(&[
        "mainstay-model", "mainstay-signal", "mainstay-health", "mainstay-remedy", "mainstay-sched",
        "mainstay-account", "mainstay-audit",
    ])),
    // It emits raw lines as machines do, and never reads the catalogue.
    layer("mainstay-sim",     Kind::Pure,    Uses::These(&["mainstay-model", "mainstay-signal", "mainstay-engine"])),
    layer("mainstay-api",     Kind::Edge,    Uses::These(&["mainstay-model"])),
    layer("mainstay-kube",    Kind::Edge,    Uses::These(&["mainstay-api", "mainstay-engine", "mainstay-model"])),
    layer("mainstay-slurm",   Kind::Edge,    Uses::These(&["mainstay-api", "mainstay-engine"])),
    layer("mainstay-agent",   Kind::Edge,    Uses::These(&["mainstay-api", "mainstay-model", "mainstay-signal"])),
    layer("mainstay",         Kind::Program, Uses::Shipped),
    layer("fake-nvml",        Kind::Tool,    Uses::These(&[])),
    layer("fake-kernel",      Kind::Tool,    Uses::These(&[])),
    // The tests of the edges use it, so it uses none of them.
    layer("testbed",          Kind::Tool,    Uses::These(&[])),
    layer("xtask",            Kind::Tool,    Uses::Everything),
];

const fn layer(name: &'static str, kind: Kind, uses: Uses) -> Layer {
    Layer { name, kind, uses }
}

impl Layer {
    /// The place of a crate, if it is on the map.
    pub(crate) fn of(name: &str) -> Option<&'static Layer> {
        MAP.iter().find(|layer| layer.name == name)
    }

    /// Whether the code of this crate may use `other`.
    pub(crate) fn may_use(&self, other: &Layer) -> bool {
        match self.uses {
            Uses::These(names) => names.contains(&other.name),
            Uses::Shipped => other.kind != Kind::Tool,
            Uses::Everything => true,
        }
    }

    /// Whether the tests of this crate may use `other`. Pure crates are tested with pure crates alone (an oracle, the
    /// numbered invariants); everything else also with tools.
    pub(crate) fn may_test_with(&self, other: &Layer) -> bool {
        match (self.kind, other.kind) {
            (_, Kind::Pure) | (Kind::Edge | Kind::Program | Kind::Tool, Kind::Tool) => true,
            (Kind::Pure, Kind::Edge | Kind::Program | Kind::Tool) => false,
            (Kind::Edge | Kind::Program | Kind::Tool, Kind::Edge | Kind::Program) => self.may_use(other),
        }
    }

    /// What its code may use, in words.
    pub(crate) fn uses_in_words(&self) -> String {
        match self.uses {
            Uses::These([]) => "no Mainstay crate".to_owned(),
            Uses::These(names) => names.join(", "),
            Uses::Shipped => "every crate that is shipped".to_owned(),
            Uses::Everything => "every crate".to_owned(),
        }
    }
}

/// Where a pure crate may use a third-party crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Everywhere,
    /// In the code only behind a feature, which the engine itself does not turn on.
    BehindFeature,
    /// In the code of these crates, and in the tests of all.
    CodeOf(&'static [&'static str]),
    Tests,
}

/// A third-party crate that pure crates may use. All of them compute; none of them reads the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    pub(crate) reason: &'static str,
}

/// The short allow-list of the pure crates.
#[rustfmt::skip] // one line a crate, to be read as a table
pub(crate) const PURE_MAY_USE: &[Allowed] = &[
    allowed("serde",      Place::Everywhere,    "what persists is serialised"),
    allowed("thiserror",  Place::Everywhere,    "typed errors"),
    allowed("schemars",   Place::BehindFeature, "behind a feature, for the schemas of mainstay-api"),
    allowed("serde_json", Place::CodeOf(&["mainstay-engine"]), "the engine's records; elsewhere in tests"),
    allowed("libm",        Place::CodeOf(&["mainstay-sim"]), "logarithms with the same bits on every machine"),
    allowed("rand_chacha", Place::CodeOf(&["mainstay-sim"]), "random numbers from a seed, without the machine's entropy"),
    allowed("proptest",   Place::Tests,         "property tests"),
    allowed("insta",      Place::Tests,         "snapshots, in tests"),
];

const fn allowed(name: &'static str, place: Place, reason: &'static str) -> Allowed {
    Allowed { name, place, reason }
}
