//! A large fleet for the map: three hundred jobs, and about one node in twenty out of service. It is there to be looked
//! at; its faults are planted by number and not drawn from rates.

use mainstay_model::{PlannedWork, Ppm, Reason, Request, RequestKind, Span, UserName};
use mainstay_text::Problem;

use super::{DemoScript, Injection, KEYS, LiveFleet, LiveOptions, jobs, nodes_of, plant};
use crate::fleet::GPUS;
use crate::injected_fault::{InjectedFault, InjectionEvent};
use crate::options::Policies;
use crate::rng::{Purpose, stream};

/// What breaks, in turn.
const BREAKS: [Injection; 9] = [
    Injection::GpuOffTheBus,
    Injection::RowRemapPending,
    Injection::RowRemapFailed,
    Injection::NvlinkBroken,
    Injection::GpuProcessorTimeout,
    Injection::UncontainedMemoryError,
    Injection::AdapterFailed,
    Injection::SilentRail,
    Injection::HostBroken,
];

/// One node in so many breaks, is worked on, or is asked for by people. No rule gets as many as would open its breaker.
const BREAK_ONE_IN: u32 = 24;
const PLANNED_ONE_IN: u32 = 160;
const ASKED_ONE_IN: u32 = 160;

/// Faults come in so many rounds, this far apart: when the last has been seen, those of the first are still out.
const ROUNDS: u32 = 2;
const ROUND: Span = Span::minutes(13);

/// Until every job runs.
const SETTLES: Span = Span::minutes(5);

/// Nodes that may be out at once.
const OUT_MAX: Ppm = Ppm(80_000);

impl LiveFleet {
    /// A fleet that has been through a bad night: about one node in twenty is out, three hundred jobs run.
    ///
    /// # Errors
    ///
    /// A fleet that is not made of whole nodes or is out of bounds.
    pub fn crowded(gpus: u32, seed: u64) -> Result<Self, Problem> {
        let nodes = nodes_of(gpus)?;
        let starts_at = Self::BEGINS_AT - Span(ROUND.0 * u64::from(ROUNDS)) - SETTLES;
        let policies = Policies { fleet_out_max: OUT_MAX, ..Policies::default() };
        let options = LiveOptions { gpus, seed, story: DemoScript::Calm };
        let jobs = jobs::crowd(nodes, seed, starts_at);
        let mut live = Self::stands(options, starts_at, policies, jobs);
        live.advance(starts_at + SETTLES);
        live.is_planned_and_asked(nodes, seed);
        for round in 0..ROUNDS {
            live.breaks_here_and_there(nodes, seed, round);
            let now = live.now();
            live.advance(now + ROUND);
        }
        Ok(live)
    }

    fn breaks_here_and_there(&mut self, nodes: u32, seed: u64, round: u32) {
        let each = (nodes / BREAK_ONE_IN / ROUNDS).max(1);
        for number in 0..each {
            self.injected += 1;
            let key = KEYS + self.injected;
            let mut chance = stream(seed, Purpose::Live, key);
            let (node, device) = (chance.below(nodes), chance.below(GPUS));
            let kind = BREAKS[((number + round) as usize) % BREAKS.len()];
            plant(&mut self.world, kind, node, device, key);
        }
    }

    fn is_planned_and_asked(&mut self, nodes: u32, seed: u64) {
        let now = self.now();
        for number in 0..nodes / PLANNED_ONE_IN {
            let mut chance = stream(seed, Purpose::Live, u64::from(number) << 32);
            let (node, upgrades) = (chance.below(nodes), chance.happens(0.5));
            let planned = if upgrades { PlannedWork::Upgrade } else { PlannedWork::Maintenance };
            let trouble = InjectedFault::Planned { node, planned, lasts: Span::hours(20) };
            self.world.plants(InjectionEvent { at: now, trouble });
        }
        for number in 0..nodes / ASKED_ONE_IN {
            let mut chance = stream(seed, Purpose::Live, (u64::from(number) << 32) + 1);
            let node = chance.below(nodes);
            let kinds = [RequestKind::Hold, RequestKind::Quarantine, RequestKind::Drain];
            let kind = kinds[chance.below(3) as usize];
            let (by, reason) = (
                const { UserName::literal("ana") }.get(),
                const { Reason::literal("slow in the last benchmark") }.get(),
            );
            self.world.is_asked(node, Some(Request { kind, reason, by, word: None }));
        }
    }
}
