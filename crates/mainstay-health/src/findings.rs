//! Applies the catalogue to one node: its arrivals, the details of its latest report and the expected hardware. It does
//! not decide what is done about a finding.
//!
//! Windows count whole hour buckets including the current one: "24 hours" is between 23 and 24 hours. Only the arrivals
//! decide whether evidence counts, and a passed qualification clears them. The report only adds the details.

mod evidence_count;

use std::cmp::Reverse;

use mainstay_model::{
    Arrivals, Bounded, Evidence, Finding, Inventory, NodeFacts, Product, Response, Serial, Source, Timestamp, Urgency,
};

use crate::arrivals::{CountChange, EvidenceKinds, HOURS, Kind, buckets, sum};
use crate::catalogue::{
    COUNTER_IMPOSSIBLE, DetailCondition, DetailUse, EvidenceCondition, GPU_MISSING, Generation, Generations, Layout,
    ParsedDetail, Row, Rules,
};
use evidence_count::{Detail, EvidenceCount};

/// Expected hardware, inventory, evidence and arrivals of one node. The report is the one that was stamped last.
#[derive(Debug, Clone, Copy)]
pub struct FindingInput<'a> {
    /// Expected hardware from the backend; if absent, no GPU counts as missing.
    pub facts: Option<&'a NodeFacts>,
    /// Inventory of the latest report; if absent, no GPU counts as missing.
    pub inventory: Option<&'a Inventory>,
    /// Evidence of the latest report.
    pub evidence: &'a [Evidence],
    /// Arrivals of each kind of evidence.
    pub arrivals: &'a [Arrivals],
}

/// The suspected faults of one node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// Findings, worst first: by response, then by rank.
    pub list: Bounded<Finding, 16>,
    /// Number of milder findings without room in the list.
    pub dropped: u32,
    /// Time until which the same input gives the same findings; unlimited if absent.
    pub changes_at: Option<Timestamp>,
}

impl Findings {
    /// Returns the highest urgency among the findings with the same response as the worst one. The worst finding
    /// defines the repair plan. The urgency comes from all of them, because a recommendation with a high rank may not
    /// cover that the work is lost.
    #[must_use]
    pub fn urgency(&self) -> Option<Urgency> {
        let list = self.list.as_slice();
        let worst = list.first()?.response;
        list.iter().filter(|finding| finding.response == worst).map(|finding| finding.urgency).min()
    }
}

/// Computes the findings of one node. The result does not depend on the order of the evidence.
#[must_use]
pub fn findings(rules: Rules<'_>, sight: &FindingInput<'_>, now: Timestamp) -> Findings {
    let evidence = EvidenceKinds::new(sight.evidence);
    let hour = buckets::hour_of(now);
    let mut judge = Evaluator {
        rules,
        product: sight.inventory.map(|inventory| &inventory.product),
        layout: sight.inventory.and_then(|inventory| Layout::of(&inventory.driver)),
        hour,
        heard: Vec::new(),
        found: Vec::new(),
        changes_at: None,
    };
    judge.missing(sight);
    judge.hear(sight.arrivals, &evidence);
    for at in 0..judge.heard.len() {
        judge.judge(at);
    }
    judge.done()
}

/// Applies the rows of the catalogue to the evidence of one node.
struct Evaluator<'a> {
    rules: Rules<'a>,
    /// GPU model of the node, if known.
    product: Option<&'a Product>,
    /// Register layout of the node's driver, if known.
    layout: Option<Layout>,
    hour: u32,
    /// Every kind that arrived within the longest window.
    heard: Vec<EvidenceCount<'a>>,
    found: Vec<Finding>,
    changes_at: Option<Timestamp>,
}

impl<'a> Evaluator<'a> {
    fn missing(&mut self, sight: &FindingInput<'_>) {
        let (Some(facts), Some(inventory)) = (sight.facts, sight.inventory) else { return };
        // An agent that cannot list GPUs says nothing about how many there are.
        if inventory.gpus_unavailable.is_none() && inventory.gpus.as_slice().len() < usize::from(facts.gpus) {
            let row = self.plain(Source::Inventory, GPU_MISSING);
            self.find((Source::Inventory, GPU_MISSING), None, row, Response::Remove);
        }
    }

    /// Stored evidence counts by its buckets. Evidence that had no room counts as if it had just arrived, so that none is
    /// lost.
    fn hear(&mut self, arrivals: &'a [Arrivals], evidence: &'a EvidenceKinds<'a>) {
        for entry in arrivals {
            let details = evidence.details(Kind::of_entry(entry));
            self.hear_one(Kind::of_entry(entry), Some(entry), details);
        }
        for (kind, details) in evidence.kinds() {
            if !arrivals.iter().any(|entry| Kind::of_entry(entry) == kind) {
                self.hear_one(kind, None, details);
            }
        }
    }

    fn hear_one(&mut self, kind: Kind<'a>, entry: Option<&'a Arrivals>, details: &'a [&'a Evidence]) {
        let standing = CountChange::of(sum(details), entry.map_or(0, |entry| entry.counted));
        let ahead = match standing {
            CountChange::More(ahead) => ahead,
            CountChange::Leapt => {
                self.impossible(kind);
                0
            }
            // A fall is stored already, unless there was no room. Without a report, a missing kind is not a fall.
            CountChange::Fell if !details.is_empty() => {
                self.impossible(kind);
                0
            }
            CountChange::Same | CountChange::Fell => 0,
        };
        let group = self.rules.catalogue.known(kind.source, kind.code.as_str());
        let heard = EvidenceCount::new(kind, group, details, (entry, ahead), self.hour);
        if heard.total > 0 {
            self.heard.push(heard);
        }
    }

    /// Compares each detail with the rows separately, so that a harmless detail does not hide another.
    fn judge(&mut self, at: usize) {
        let Some(heard) = self.heard.get(at).copied() else { return };
        let (kind, code) = (heard.kind, heard.kind.code.as_str());
        self.lapses(&heard);
        let rows = heard.group.map_or(self.rules.catalogue.unknown(), |group| &group.rows);
        if heard.group.is_none_or(|group| group.detail == DetailUse::No) {
            let row = self.pick(rows, &heard, &[], ParsedDetail::NOTHING);
            return self.find((kind.source, code), kind.device, row, heard.at_most());
        }
        let details = heard.details();
        for detail in details.iter().filter(|detail| detail.is_live()) {
            let row = self.pick(rows, &heard, &details, detail.said);
            self.find((kind.source, code), kind.device, row, heard.at_most());
        }
        if details.is_empty() || heard.lost_details() {
            let row = self.pick(rows, &heard, &details, ParsedDetail::NOTHING);
            self.find((kind.source, code), kind.device, row, heard.at_most());
        }
    }

    fn pick(
        &self,
        rows: &'a [Row],
        heard: &EvidenceCount<'a>,
        details: &[Detail<'_>],
        said: ParsedDetail<'_>,
    ) -> Option<&'a Row> {
        let first = rows.iter().find(|row| {
            self.applies(row)
                && row.when.holds(said, self.layout)
                && in_one_place(row, details, said)
                && self.beside(&row.with, heard.kind)
                && self.often(row, heard, details, said)
        });
        first.or_else(|| self.rules.catalogue.unknown().first())
    }

    /// Few rows depend on the GPU model, and finding the model costs more than the rest of a row.
    fn applies(&self, row: &Row) -> bool {
        row.on == Generations::ANY || row.on.have(self.product.and_then(Generation::of))
    }

    fn often(&self, row: &Row, heard: &EvidenceCount<'_>, details: &[Detail<'_>], said: ParsedDetail<'_>) -> bool {
        let needed = u64::from(row.threshold.count);
        if heard.within(row.threshold.hours, self.hour) < needed {
            return false;
        }
        // The stored status counts a code, the report counts its details. At most this many arrivals had this detail.
        let alike = |other: &&Detail<'_>| row.when.adds_up(other.said, said) && row.when.holds(other.said, self.layout);
        row.when == DetailCondition::Always
            || needed == 1
            || details.iter().filter(alike).map(|other| other.count).fold(0, u64::saturating_add) >= needed
    }

    fn beside(&self, with: &EvidenceCondition, kind: Kind<'_>) -> bool {
        let mut heard = self.heard.iter();
        match with {
            EvidenceCondition::Whatever => true,
            EvidenceCondition::Codes(codes) => heard.any(|other| {
                let other = other.kind;
                other.source == kind.source && other.device == kind.device && codes.contains(other.code)
            }),
            EvidenceCondition::Other => heard.any(|other| {
                let of_a_gpu_or_switch = other.kind.source == Source::Xid || other.kind.source == Source::Sxid;
                let asks = other.group.is_none_or(|group| group.strongest > Response::Note);
                of_a_gpu_or_switch && other.kind.code != kind.code && asks
            }),
        }
    }

    fn impossible(&mut self, kind: Kind<'_>) {
        let row = self.plain(kind.source, COUNTER_IMPOSSIBLE);
        self.find((kind.source, COUNTER_IMPOSSIBLE), kind.device, row, Response::Remove);
    }

    /// Returns the last row of a code, which always matches.
    fn plain(&self, source: Source, code: &str) -> Option<&'a Row> {
        let last = self.rules.catalogue.known(source, code).and_then(|group| group.rows.last());
        last.or_else(|| self.rules.catalogue.unknown().first())
    }

    /// Adds a finding, using the pool's override for this code if there is one. Two findings of one rule about one part
    /// become one, with the higher urgency.
    fn find(
        &mut self,
        (source, code): (Source, &str),
        device: Option<&Serial>,
        row: Option<&'a Row>,
        at_most: Response,
    ) {
        let Some(row) = row else { return };
        let (row, urgency) = match self.overridden(source, code) {
            Some((named, urgency)) => (named, urgency.unwrap_or(named.urgency)),
            None => (row, row.urgency),
        };
        let same = |found: &&mut Finding| found.rule == row.rule && found.device.as_ref() == device;
        match self.found.iter_mut().find(same) {
            Some(found) => {
                found.response = found.response.max(row.response.min(at_most));
                found.urgency = found.urgency.min(urgency);
                found.rank = found.rank.min(row.rank);
            }
            None => self.found.push(Finding {
                response: row.response.min(at_most),
                rank: row.rank,
                rule: row.rule.clone(),
                device: device.cloned(),
                urgency,
                rungs: row.rungs.clone(),
            }),
        }
    }

    fn overridden(&self, source: Source, code: &str) -> Option<(&'a Row, Option<Urgency>)> {
        let one = self.rules.overriding(source, code)?;
        Some((self.rules.catalogue.rule(one.rule.as_str())?, one.urgency))
    }

    /// Records when a window of any row of this kind will contain less.
    fn lapses(&mut self, heard: &EvidenceCount<'_>) {
        let Some(entry) = heard.entry else { return };
        let rows = heard.group.map_or(&[][..], |group| &group.rows);
        for hours in rows.iter().map(|row| row.threshold.hours).filter(|hours| *hours != HOURS).chain([HOURS]) {
            let at = buckets::lapses_at(entry, hours, self.hour);
            self.changes_at = [self.changes_at, at].into_iter().flatten().min();
        }
    }

    fn done(mut self) -> Findings {
        self.found.sort_by(|a, b| {
            let key = |found: &Finding| (Reverse(found.response), found.rank);
            key(a).cmp(&key(b)).then_with(|| a.device.cmp(&b.device)).then_with(|| a.rule.cmp(&b.rule))
        });
        let mut list = Bounded::new();
        let mut dropped = 0;
        for finding in self.found {
            dropped += u32::from(list.try_push(finding).is_err());
        }
        Findings { list, dropped, changes_at: self.changes_at }
    }
}

/// Returns whether all reports name one place on the chip, for a row that requires it: an application that faults all
/// over the chip does not match.
fn in_one_place(row: &Row, details: &[Detail<'_>], said: ParsedDetail<'_>) -> bool {
    let elsewhere = |other: &Detail<'_>| other.is_live() && other.said.is_elsewhere(said);
    row.when != DetailCondition::OnePlace || !details.iter().any(elsewhere)
}

#[cfg(test)]
mod tests;
