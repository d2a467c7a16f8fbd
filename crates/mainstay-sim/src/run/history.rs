//! A run that keeps the kernel logs of the fleet and the truth behind them, instead of totals.

#[cfg(test)]
mod tests;

use mainstay_model::Level;

use super::{Progress, plan, run_to_end};
use crate::fault_schedule::is_lemon;
use crate::fleet::{self, GPUS};
use crate::history::{History, HistoryRecorder, NodeLocation};
use crate::options::Options;
use crate::world::{Heartbeats, World};

/// Simulates the days in the options, and returns the kernel logs, the true faults and the repair tickets.
pub fn history(options: &Options, progress: &mut dyn FnMut(Progress)) -> History {
    let plan = plan(options, Heartbeats::Telling);
    let nodes = plan.nodes;
    let mut world = World::new(plan);
    world.ledger = Some(Box::new(HistoryRecorder::new(nodes)));
    run_to_end(&mut world, progress);
    let recorded = world.ledger.take().map(|ledger| ledger.into_history()).unwrap_or_default();
    let is_lemon = |node: &u32| is_lemon(&options.model, options.seed, *node);
    History {
        lemons: (0..nodes).filter(is_lemon).map(fleet::name).collect(),
        nodes: (0..nodes).map(location).collect(),
        ..recorded
    }
}

fn location(node: u32) -> NodeLocation {
    let domains = fleet::facts(node, 1).domains;
    let of = |level| domains.get(&level).map_or_else(String::new, ToString::to_string);
    NodeLocation { node: fleet::name(node), rack: of(Level::Rack), leaf: of(Level::Leaf), gpus: GPUS }
}
