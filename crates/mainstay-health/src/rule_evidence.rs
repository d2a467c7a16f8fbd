//! The evidence behind a rule, for operators: its codes, their counts and the time of the last one. It decides nothing.

use mainstay_model::{Arrivals, Code, Evidence, RuleName, Serial, Source, Timestamp};

use crate::arrivals::{EvidenceKinds, HOURS, Kind, buckets, sum};
use crate::catalogue::Rules;
use crate::findings::FindingInput;

/// One code behind a rule, with its count and the time of its last event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleEvidence {
    /// The source that reported it.
    pub source: Source,
    /// The fault code.
    pub code: Code,
    /// Number of events within a day, since the node last returned.
    pub count: u64,
    /// Time of the last event, by the agent's clock; `None` if the report no longer contains it.
    pub last_seen_at: Option<Timestamp>,
}

/// Returns the evidence that may have led to a rule's finding on a part, or on the node if there is no part.
#[must_use]
pub fn rule_evidence(
    rules: Rules<'_>,
    sight: &FindingInput<'_>,
    (rule, device): (&RuleName, Option<&Serial>),
    now: Timestamp,
) -> Vec<RuleEvidence> {
    let reported = EvidenceKinds::new(sight.evidence);
    let speaks = |kind: Kind<'_>| kind.device == device && rules.leads_to(kind.source, kind.code, rule);
    let entry_of = |kind: Kind<'_>| sight.arrivals.iter().find(|entry| Kind::of_entry(entry) == kind);
    let recorded = sight.arrivals.iter().map(|entry: &Arrivals| (Kind::of_entry(entry), Some(entry)));
    let unrecorded = reported.kinds().map(|(kind, _)| (kind, None)).filter(|(kind, _)| entry_of(*kind).is_none());
    let mut all = Vec::new();
    for (kind, entry) in recorded.chain(unrecorded).filter(|(kind, _)| speaks(*kind)) {
        let details = reported.details(kind);
        let hour = buckets::hour_of(now);
        let count = entry.map_or_else(|| sum(details), |entry| buckets::within(entry, HOURS, hour));
        let last_seen_at = details.iter().map(|one: &&Evidence| one.last_seen_at).max();
        if count > 0 {
            all.push(RuleEvidence { source: kind.source, code: kind.code.clone(), count, last_seen_at });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use mainstay_model::Policy;

    use super::*;
    use crate::catalogue::Catalogue;
    use crate::fixture::{Node, hours, policy, report};

    fn counts(node: &Node, policy: Option<&Policy>, rule: &str, device: &str) -> Vec<(String, u64)> {
        let sight = FindingInput {
            facts: Some(&node.facts),
            inventory: Some(&node.latest.inventory),
            evidence: node.latest.evidence.as_slice(),
            arrivals: node.persisted.arrivals.as_slice(),
        };
        let (rule, device) = (rule.parse().unwrap(), device.parse().unwrap());
        let evidence = rule_evidence(
            Rules { catalogue: &Catalogue::built_in(), policy },
            &sight,
            (&rule, Some(&device)),
            hours(1),
        );
        evidence.into_iter().map(|one| (one.code.to_string(), one.count)).collect()
    }

    #[test]
    fn evidence_is_that_of_the_rule_and_the_part_and_counts_once() {
        let mut node = Node::new();
        node.report(hours(1), report("b1", &["Xid 94 G1 2", "Xid 94 G2 1", "Xid 79 G1 1"]));
        let of = |count| vec![("94".to_owned(), count)];
        assert_eq!(counts(&node, None, "memory-contained", "G1"), of(2));
        assert_eq!(counts(&node, None, "memory-contained", "G2"), of(1));
        assert_eq!(counts(&node, None, "memory-contained", "G3"), []);
    }

    #[test]
    fn a_pools_own_meaning_of_a_code_replaces_the_catalogues() {
        let mut node = Node::new();
        node.report(hours(1), report("b1", &["Xid 94 G1 2", "Xid 79 G1 1"]));
        let policy = policy(Source::Xid, "94", "gpu-off-the-bus", None);
        let both = vec![("79".to_owned(), 1), ("94".to_owned(), 2)];
        assert_eq!(counts(&node, Some(&policy), "gpu-off-the-bus", "G1"), both);
        assert_eq!(counts(&node, Some(&policy), "memory-contained", "G1"), []);
    }
}
