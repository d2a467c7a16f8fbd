//! The count that this proof compares budgets with: nodes of one rack, as they were visible before a decision. It
//! shares no code with the engine.

/// Actors that mark nodes as out of service, besides Mainstay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Operator,
    Karpenter,
    Nvsentinel,
}

impl Owner {
    pub(super) const ALL: [Self; 3] = [Self::Operator, Self::Karpenter, Self::Nvsentinel];
}

/// Who keeps a node out of service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Outage {
    pub(super) rack: usize,
    /// An operator or another tool took it out, or it is not ready.
    pub(super) by_others: bool,
    /// Mainstay took it, or decided to.
    pub(super) by_mainstay: bool,
}

/// Counts over many schedules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) schedules: u64,
    /// Nodes in service that Mainstay took.
    pub(super) taken: u64,
    /// Nodes that Mainstay took after others had taken them out.
    pub(super) taken_over: u64,
    /// Waits of a node for a budget.
    pub(super) refused: u64,
    /// Nodes taken or taken over against a budget.
    pub(super) violations: u64,
}

impl Tally {
    pub(super) const fn add(&mut self, other: Self) {
        self.schedules += other.schedules;
        self.taken += other.taken;
        self.taken_over += other.taken_over;
        self.refused += other.refused;
        self.violations += other.violations;
    }
}

/// Whether a node was taken against the budget of its rack: with it, more nodes of the rack are out of service than
/// the budget allows, or Mainstay alone has more than that. A node that others removed from service before is missing
/// anyway, so only the second limit applies to it.
pub(super) fn exceeds(nodes: &[Outage], taken: usize, budget: usize) -> bool {
    let node = nodes[taken];
    let of_rack = || nodes.iter().enumerate().filter(|(_, one)| one.rack == node.rack);
    let ours = of_rack().filter(|(number, one)| one.by_mainstay || *number == taken).count();
    let out = of_rack().filter(|(number, one)| one.by_mainstay || one.by_others || *number == taken).count();
    ours > budget || (out > budget && !node.by_others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rack(marks: &str) -> Vec<Outage> {
        let node = |mark: char| Outage { rack: 0, by_others: "ob".contains(mark), by_mainstay: "mb".contains(mark) };
        let elsewhere = Outage { rack: 1, by_others: true, by_mainstay: true };
        marks.chars().map(node).chain([elsewhere]).collect()
    }

    #[test]
    fn everyone_counts_once_and_a_node_that_is_out_anyway_counts_for_mainstay_alone() {
        for (marks, taken, budget, expected) in [
            ("...", 0, 1, false),
            ("...", 0, 0, true),
            (".o.", 0, 1, true),
            (".o.", 0, 2, false),
            (".m.", 0, 1, true),
            (".b.", 0, 1, true),
            (".b.", 0, 2, false),
            ("oo.", 0, 1, false),
            ("om.", 0, 1, true),
            ("oom", 0, 2, false),
        ] {
            assert_eq!(exceeds(&rack(marks), taken, budget), expected, "{marks} {taken} {budget}");
        }
    }
}
