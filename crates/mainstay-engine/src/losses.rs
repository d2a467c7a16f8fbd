//! Items that a list of limited length had no room for. They are counted, so that every loss shows.

/// Number of items without room since the decision before, by list. A list that is made again counts them again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// Checkpoint requests to gangs that are not known yet. Such a gang is asked again.
    pub checkpoint_requests: u64,
    /// Open orders that left a full list.
    pub orders: u64,
    /// Kinds of evidence of a report. Until the next boot they are watched, and remove no node.
    pub evidence: u64,
    /// Findings on a node, milder than those in the list.
    pub findings: u64,
}
