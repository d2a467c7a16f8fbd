//! Tickets beside findings: which belong together, and where they disagree.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_model::{NodeName, Serial, Span, Timestamp};
use mainstay_signal::{Place, Signal};

use super::build::id;
use super::parts::size;
use super::{Finding, Review, TicketLine};
use crate::input::{EventKind, Input};
use crate::replay::Episode;
use crate::tickets::{FaultKind, Ticket};
use crate::timestamp::written;

/// A ticket may be opened this long before the evidence: clocks differ, and people see jobs fail first.
const BEFORE_MS: i64 = 3_600_000;
/// And this long after the last of it, which is a day old by then: people come on Monday.
const AFTER_MS: i64 = 2 * 86_400_000;
/// Evidence counts towards what a finding is about from this long before it.
const SHOWN_BEFORE_MS: i64 = 24 * 3_600_000;

/// Tickets by the finding that they belong to.
pub(super) struct TicketMatches<'a> {
    by_episode: BTreeMap<usize, Vec<&'a Ticket>>,
    /// The number of the episode of each ticket, and what that is about.
    episodes: Vec<Option<(usize, BTreeSet<FaultKind>)>>,
}

impl<'a> TicketMatches<'a> {
    /// The tickets of a finding, the first one first.
    pub(super) fn of(&self, episode: usize) -> impl Iterator<Item = &'a Ticket> + '_ {
        self.by_episode.get(&episode).into_iter().flatten().copied()
    }
}

pub(super) fn matched<'a>(
    gathered: &Input,
    episodes: &[Episode],
    tickets: &'a [Ticket],
    to: Timestamp,
) -> TicketMatches<'a> {
    let mut by_node: BTreeMap<&NodeName, Vec<usize>> = BTreeMap::new();
    for (number, episode) in episodes.iter().enumerate() {
        if let Some(name) = gathered.nodes.get(episode.node as usize) {
            by_node.entry(name).or_default().push(number);
        }
    }
    let mut matched = TicketMatches { by_episode: BTreeMap::new(), episodes: Vec::new() };
    for ticket in tickets {
        let candidates = by_node.get(&ticket.node).into_iter().flatten().rev();
        let belongs = |number: &&usize| {
            episodes.get(**number).is_some_and(|episode| {
                let end = episode.ended_at.unwrap_or(to);
                (episode.began_at.0 - BEFORE_MS..=end.0 + AFTER_MS).contains(&ticket.opened_at.0)
            })
        };
        let number = candidates.into_iter().find(belongs).copied();
        if let Some(number) = number {
            matched.by_episode.entry(number).or_default().push(ticket);
        }
        let kinds = number.and_then(|number| Some((number, kinds_of(gathered, episodes.get(number)?))));
        matched.episodes.push(kinds);
    }
    matched
}

/// What a finding is about: the kinds of everything that its parts said by then, the most telling first.
pub(super) fn kinds(gathered: &Input, episode: &Episode) -> Vec<FaultKind> {
    let all = kinds_of(gathered, episode);
    // What applications say stands beside most faults and is none of its own.
    let telling = all.iter().copied().filter(|kind| *kind != FaultKind::Software);
    let rest = all.iter().copied().filter(|kind| *kind == FaultKind::Software);
    telling.chain(rest).collect()
}

fn kinds_of(gathered: &Input, episode: &Episode) -> BTreeSet<FaultKind> {
    said(gathered, episode).map(|(_, signal)| FaultKind::of_evidence(signal.source, signal.code.as_str())).collect()
}

/// When the parts of a finding last said anything before they were quiet for this long.
pub(super) fn last_said(gathered: &Input, episode: &Episode, quiet: Span) -> Option<Timestamp> {
    let moments = said(gathered, episode).map(|(at, _)| at);
    // What was said before it began is a beginning, too, wherever it was.
    moments.fold(None, |last, at| match last {
        Some(last) if at > episode.began_at && at.since(episode.began_at.max(last)) > quiet => Some(last),
        Some(_) | None => Some(at),
    })
}

/// What the parts of a finding said, from a day before it.
fn said<'a>(gathered: &'a Input, episode: &Episode) -> impl Iterator<Item = (Timestamp, &'a Signal)> {
    let from = episode.began_at.0 - SHOWN_BEFORE_MS;
    let to = episode.ended_at.map_or(i64::MAX, |at| at.0);
    let devices: BTreeSet<String> =
        episode.findings.keys().filter_map(|(_, device)| device.as_ref()).map(ToString::to_string).collect();
    gathered.of_node(episode.node).filter(move |event| (from..=to).contains(&event.at.0)).filter_map(move |event| {
        let EventKind::Signal(number, _) = event.what else { return None };
        let signal = gathered.signals.get(number as usize)?;
        let is_its = match &signal.place {
            Place::Pci(place) => {
                let serial = gathered.serial_at(event.node, place, event.at);
                devices.is_empty() || devices.contains(serial.map_or(place.as_str(), Serial::as_str))
            }
            Place::Interface(_) | Place::NvSwitch(_) | Place::Node => devices.is_empty(),
        };
        is_its.then_some((event.at, signal))
    })
}

pub(super) fn review(
    episodes: &[Episode],
    findings: &[Finding],
    tickets: &[Ticket],
    matched: &TicketMatches<'_>,
) -> Review {
    let mut review = Review { tickets: size(tickets.len()), ..Review::default() };
    let mut earlier = Vec::new();
    for (ticket, belongs) in tickets.iter().zip(&matched.episodes) {
        let line = TicketLine {
            id: ticket.id.clone(),
            node: ticket.node.to_string(),
            opened_at: written(ticket.opened_at),
            cause: ticket.cause.clone(),
            says: ticket.kind,
            finding: belongs.as_ref().map(|(number, _)| id(*number)),
            shown: belongs.as_ref().map(|(_, kinds)| kinds.iter().copied().collect()).unwrap_or_default(),
        };
        let Some((number, kinds)) = belongs else {
            review.without_finding.push(line);
            continue;
        };
        if let Some(at) = episodes.get(*number).and_then(|episode| episode.decided_at) {
            earlier.push(ticket.opened_at.since(at).0 / 1_000);
        }
        if ticket.kind == FaultKind::Unknown || kinds.is_empty() || kinds.contains(&ticket.kind) {
            review.agree += 1;
        } else {
            review.different_cause.push(line);
        }
    }
    let without = findings.iter().filter(|finding| finding.tickets.is_empty());
    review.finding_without_ticket = without.map(|finding| finding.id.clone()).collect();
    earlier.sort_unstable();
    review.earlier_p50_seconds = share(&earlier, 50);
    review.earlier_p90_seconds = share(&earlier, 90);
    review
}

/// The value that so many of a hundred are at most; sorted.
pub(super) fn share(sorted: &[u64], percent: usize) -> u64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get(last * percent / 100).copied().unwrap_or(0)
}
