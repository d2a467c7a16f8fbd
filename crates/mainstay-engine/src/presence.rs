//! Whether each node counts against disruption budgets. The counts follow the nodes, so a budget recovers when a node
//! returns.

use mainstay_arbiter::domains::Presence;
use mainstay_model::{NodeIndex, PlannedWork, Schedulable, Stage};
use mainstay_remedy::verdict::UNREACHABLE;

use crate::guard::Guard;
use crate::index::Index;
use crate::plan::effects::keeps_budget;
use crate::spares;
use crate::state::State;

/// Brings the counts in line with one node, and wakes nodes that wait for a budget that it frees.
pub(crate) fn settle(state: &mut State, index: &mut Index, id: NodeIndex) {
    let Some(presence) = presence(state, id) else { return };
    let node = &mut state.nodes[id.get()];
    if presence != node.presence {
        let before = std::mem::replace(&mut node.presence, presence);
        state.counts.arbiter.domains.shift(&node.membership, before, presence);
        if presence < before {
            index.budget_freed(&node.membership);
        }
        // The arbiter grants a removal only if every budget is kept.
        let is_granted = presence == Presence::Out && !before.is_ours();
        if presence > before && !is_granted {
            mark_lost_budgets(state, index);
        }
    }
    spares::settle(state, index, id);
}

/// Wakes the nodes that keep their budget only with Mainstay's cordon, which they do not have.
fn mark_lost_budgets(state: &State, index: &mut Index) {
    let keeps = |id: &NodeIndex| index.waits_for_budget.contains(id) || keeps_budget(state, state.node(*id));
    let lost: Vec<NodeIndex> = index.uncordoned.iter().copied().filter(|id| !keeps(id)).collect();
    index.changed.extend(lost);
}

fn presence(state: &State, id: NodeIndex) -> Option<Presence> {
    let node = state.node(id);
    let facts = node.facts.as_ref()?;
    // A budget is freed when the stored status shows it, not when the engine only intends it.
    let stored = node.stored.as_ref().map(|stored| stored.stage);
    let stages = [Some(node.status.stage), stored];
    let stages = || stages.into_iter().flatten();
    let by_us = stages().any(Stage::is_treated) || facts.schedulable == Schedulable::NotByUs;
    let all_stored = [Some(&node.status), node.stored.as_deref()];
    let waits_for_part = all_stored.into_iter().all(|one| one.is_some_and(|one| one.repairer.is_technician()));
    let is_retired = stored.is_some() && stages().all(|stage| stage == Stage::Retired);
    let is_parked = (waits_for_part || is_retired) && state.is_on(Guard::PartPlaces);
    // A node that was tested since its removal has answered, so no partition hides it.
    let was_lost = node.status.cause.as_ref().is_some_and(|cause| cause.rule == UNREACHABLE);
    let is_unreachable = was_lost && node.tested_at().is_none();
    let is_out_anyway = node.is_out_anyway() || node.planned() != PlannedWork::Nothing;
    let by_others = stages().any(is_out_by_others) || (is_out_anyway && state.is_on(Guard::OthersCount));
    let in_dry_run = node.open_proposal().is_some() && state.is_on(Guard::DryRunBudget);
    Some(match (by_us, by_others, in_dry_run) {
        (true, _, _) if is_parked && is_unreachable => Presence::UnreachableForGood,
        (true, _, _) if is_parked => Presence::WaitsForPart,
        (true, _, _) => Presence::Out,
        (false, true, _) if is_parked => Presence::Retired,
        (false, true, _) => Presence::OutByOthers,
        (false, false, true) => Presence::OutOnPaper,
        (false, false, false) => Presence::In,
    })
}

/// Whether others removed a node in this stage.
fn is_out_by_others(stage: Stage) -> bool {
    !stage.is_treated() && !stage.gets_jobs() && stage != Stage::Held
}
