//! Permits: whether an action of one kind in one pool is a dry run, needs an approval or may be executed.

use mainstay_model::{ActionKind, CellFacts, Mode, OrderId, Permit, Policy, RepairStep};

/// Returns the mode for a kind of action in a pool. A pool without a policy is in mode Observe.
#[must_use]
pub fn mode(cell: &CellFacts, policy: Option<&Policy>, kind: ActionKind) -> Mode {
    let pool = policy.map_or(Mode::Observe, |policy| policy.promotions.get(&kind).copied().unwrap_or(policy.mode));
    pool.min(cell.mode)
}

/// Returns whether an action of this kind may be executed. An action that an operator requested needs an approval as
/// well: the fence checks approvals, not requests.
#[must_use]
pub fn permit(cell: &CellFacts, policy: Option<&Policy>, kind: ActionKind, action: &OrderId) -> Permit {
    match mode(cell, policy, kind) {
        Mode::Act => Permit::Granted,
        Mode::Propose if cell.approvals.as_slice().contains(action) => Permit::Granted,
        Mode::Propose => Permit::NeedsApproval,
        Mode::Observe => Permit::OnPaper,
    }
}

/// Returns the kind of action of a repair step. A capture changes nothing on the node and belongs to the drain.
#[must_use]
pub const fn kind_of(rung: RepairStep) -> ActionKind {
    match rung {
        RepairStep::Capture | RepairStep::Replace => ActionKind::Drain,
        RepairStep::RestartService => ActionKind::RestartService,
        RepairStep::ResetGpu => ActionKind::ResetGpu,
        RepairStep::Reboot => ActionKind::Reboot,
        RepairStep::PowerCycle => ActionKind::PowerCycle,
    }
}

#[cfg(test)]
mod tests {
    use mainstay_model::{Epoch, NodeName, PoolName};

    use super::*;

    fn policy(mode: Mode, promoted: &[(ActionKind, Mode)]) -> Policy {
        Policy { mode, promotions: promoted.iter().copied().collect(), ..Policy::new(PoolName::parse("p").unwrap()) }
    }

    #[test]
    fn the_lowest_of_cell_and_pool_decides_and_an_approval_is_by_name() {
        let action = OrderId::of("drain", &NodeName::parse("n1").unwrap(), 1);
        let cell = |mode| CellFacts { epoch: Epoch(1), mode, ..CellFacts::default() };
        let ask = |cell: &CellFacts, policy: Option<&Policy>| permit(cell, policy, ActionKind::Drain, &action);
        let acts = policy(Mode::Act, &[]);

        assert_eq!(ask(&cell(Mode::Act), None), Permit::OnPaper);
        assert_eq!(ask(&cell(Mode::Observe), Some(&acts)), Permit::OnPaper);
        assert_eq!(ask(&cell(Mode::Propose), Some(&acts)), Permit::NeedsApproval);
        assert_eq!(ask(&cell(Mode::Act), Some(&acts)), Permit::Granted);
        let demoted = policy(Mode::Act, &[(ActionKind::Drain, Mode::Propose)]);
        assert_eq!(ask(&cell(Mode::Act), Some(&demoted)), Permit::NeedsApproval);

        let mut approved = cell(Mode::Propose);
        approved.approvals.try_push(action.clone()).unwrap();
        assert_eq!(ask(&approved, Some(&acts)), Permit::Granted);
    }
}
