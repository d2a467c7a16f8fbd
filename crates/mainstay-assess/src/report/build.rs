//! Builds the report from the evidence, the replayed decisions and the tickets.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_engine::Factor;
use mainstay_model::{NodeName, Source, Span, Timestamp};

use super::parts::{Counts, name, part_of, size};
use super::review::{self, TicketMatches};
use super::{
    CodeCount, Exposure, ExposureLine, FORMAT, Finding, FlagReason, Fleet, LemonLine, PartLine, Reaction, Report,
    SharedFaultLine, SourceVolume, Week, Window,
};
use crate::input::{EventKind, Input};
use crate::nodes::NodeRow;
use crate::replay::{Episode, Lemon, ReplayResult};
use crate::tickets::{FaultKind, Ticket};
use crate::timestamp::written;

const DAY_MS: i64 = 86_400_000;

/// Evidence counts for a day.
const EVIDENCE_LASTS: Span = Span::hours(24);

/// Parts in the report; a hostile log may make up more.
const PARTS_MAX: usize = 100_000;

/// The period, node list, default GPU count and tickets that a report is built with.
pub(crate) struct ReportOptions<'a> {
    pub(crate) window: (Timestamp, Timestamp),
    pub(crate) rows: &'a BTreeMap<NodeName, NodeRow>,
    pub(crate) gpus_per_node: u16,
    pub(crate) tickets: Option<&'a [Ticket]>,
}

pub(crate) fn build(gathered: &Input, played: &ReplayResult, asked: &ReportOptions<'_>) -> Report {
    let counts = Counts::of(gathered);
    let matched = review::matched(gathered, &played.episodes, asked.tickets.unwrap_or_default(), asked.window.1);
    let boots = boots(gathered);
    let findings: Vec<Finding> = (0..)
        .zip(&played.episodes)
        .map(|(number, episode)| finding(gathered, number, episode, &matched, &boots, asked))
        .collect();
    let review = asked.tickets.map(|tickets| review::review(&played.episodes, &findings, tickets, &matched));
    let (from, to) = asked.window;
    Report {
        format: FORMAT,
        window: Window {
            from: written(from),
            to: written(to),
            days: to.since(from).0.div_ceil(86_400_000).max(1),
            from_ms: from.0,
            to_ms: to.0,
        },
        fleet: fleet(gathered, &counts, asked),
        read: gathered.volumes.iter().map(|(kind, volume)| SourceVolume { kind, volume: *volume }).collect(),
        skipped: gathered.skipped.lines(),
        evidence: counts.evidence(),
        unrecognised: gathered.unrecognised.section(),
        shared: played.shared.iter().map(shared).collect(),
        lemons: lemons(gathered, played, &findings),
        parts: parts(&counts, &findings),
        stake: stake(&findings, &played.episodes),
        tickets: review,
        cluster: None,
        weeks: weeks(&findings, asked.window),
        findings,
    }
}

fn boots(gathered: &Input) -> BTreeMap<u32, Vec<Timestamp>> {
    let mut boots: BTreeMap<u32, Vec<Timestamp>> = BTreeMap::new();
    for event in gathered.events.iter().filter(|event| event.what == EventKind::Boot) {
        boots.entry(event.node).or_default().push(event.at);
    }
    boots
}

fn gpus_of(asked: &ReportOptions<'_>, node: &str) -> u64 {
    let row = NodeName::parse(node).ok().and_then(|node| asked.rows.get(&node)).and_then(|row| row.gpus);
    u64::from(row.unwrap_or(asked.gpus_per_node))
}

fn fleet(gathered: &Input, counts: &Counts, asked: &ReportOptions<'_>) -> Fleet {
    let mut names: BTreeSet<&str> = gathered.nodes.iter().map(NodeName::as_str).collect();
    names.extend(asked.rows.keys().map(NodeName::as_str));
    Fleet {
        nodes: size(names.len()),
        gpus: names.iter().map(|node| gpus_of(asked, node)).sum(),
        nodes_heard: size(gathered.entry_spans.len()),
        nodes_with_evidence: counts.nodes_with_evidence(),
        serials_known: size(gathered.slots.values().filter(|slot| !slot.serials.is_empty()).count()),
        boots: counts.boots,
    }
}

fn finding(
    gathered: &Input,
    number: usize,
    episode: &Episode,
    matched: &TicketMatches<'_>,
    boots: &BTreeMap<u32, Vec<Timestamp>>,
    asked: &ReportOptions<'_>,
) -> Finding {
    let node = name(gathered, episode.node);
    let part = part_of(gathered, episode.node, episode.device.as_ref(), episode.began_at);
    let end = episode.ended_at.unwrap_or(asked.window.1);
    let acts_at = episode.decided_at;
    let tickets: Vec<&Ticket> = matched.of(number).collect();
    let ticket = tickets.first().map(|ticket| (ticket.opened_at.max(episode.began_at), Reaction::Ticket));
    let boot = boots.get(&episode.node).and_then(|all| all.iter().find(|at| **at > episode.began_at && **at <= end));
    let boot = boot.map(|at| (*at, Reaction::Boot));
    let reacted = ticket.into_iter().chain(boot).min();
    let is_stale =
        review::last_said(gathered, episode, EVIDENCE_LASTS).is_none_or(|at| at + EVIDENCE_LASTS < asked.window.1);
    let otherwise = if episode.ended_at.is_some() || is_stale { Reaction::Missing } else { Reaction::Open };
    // An engine that has no room for when evidence arrived keeps its finding, so the evidence itself ends the exposure.
    let end = end.min(review::last_said(gathered, episode, EVIDENCE_LASTS).map_or(end, |at| at + EVIDENCE_LASTS));
    let left_in = acts_at.map_or(0, |at| reacted.map_or(end, |(at, _)| at).min(end).since(at).0 / 1_000);
    let because =
        |((rule, device), since): (&(mainstay_model::RuleName, Option<mainstay_model::Serial>), &Timestamp)| {
            FlagReason {
                rule: rule.to_string(),
                part: part_of(gathered, episode.node, device.as_ref(), *since),
                since: written(*since),
            }
        };
    Finding {
        id: id(number),
        rule: episode.rule.as_ref().map_or_else(String::new, ToString::to_string),
        kind: review::kinds(gathered, episode).into_iter().next().unwrap_or(FaultKind::Unknown),
        found_at: written(episode.began_at),
        would_act_at: acts_at.map(written),
        held_by: episode.held_by,
        ended_at: episode.ended_at.map(written),
        urgency: episode.urgency,
        plan: episode.rungs.clone(),
        because: episode.findings.iter().map(because).collect(),
        reacted_at: reacted.map(|(at, _)| written(at)),
        reaction: reacted.map_or(otherwise, |(_, reaction)| reaction),
        gpu_seconds_at_stake: left_in.saturating_mul(gpus_of(asked, &node)),
        tickets: tickets.iter().map(|ticket| ticket.id.clone()).collect(),
        found_ms: episode.began_at.0,
        node,
        part,
    }
}

pub(super) fn id(number: usize) -> String {
    format!("f{}", number + 1)
}

fn shared(one: &crate::replay::SharedFault) -> SharedFaultLine {
    SharedFaultLine {
        subject: one.subject.to_string(),
        rule: one.rule.to_string(),
        since: written(one.since),
        nodes: size(one.nodes.len()),
    }
}

fn lemons(gathered: &Input, played: &ReplayResult, findings: &[Finding]) -> Vec<LemonLine> {
    let line = |(node, lemon): (&u32, &Lemon)| {
        let node = name(gathered, *node);
        let own: Vec<&Finding> = findings.iter().filter(|finding| finding.node == node).collect();
        let speaking = lemon.worst.contributions.iter().filter(|one| one.factor != Factor::Base);
        let (because, because_short): (Vec<String>, Vec<String>) = speaking
            .map(|one| {
                (format!("{} {}", one.factor.words(), one.count), format!("{} {}", short(one.factor), one.count))
            })
            .unzip();
        LemonLine {
            named_at: written(lemon.named_at),
            risk_ppm: lemon.worst.ppm.0,
            because: because.join(", "),
            because_short: because_short.join(", "),
            findings: size(own.len()),
            tickets: own.iter().map(|finding| size(finding.tickets.len())).sum(),
            gpu_seconds_at_stake: own.iter().map(|finding| finding.gpu_seconds_at_stake).sum(),
            found_ms: own.iter().map(|finding| finding.found_ms).collect(),
            node,
        }
    };
    let mut lemons: Vec<LemonLine> = played.lemons.iter().map(line).collect();
    lemons.sort_by(|a, b| (b.findings, b.risk_ppm, &a.node).cmp(&(a.findings, a.risk_ppm, &b.node)));
    lemons
}

/// A factor of the risk in few words, for the terminal.
const fn short(factor: Factor) -> &'static str {
    match factor {
        Factor::Base => "base",
        Factor::Incidents => "incidents",
        Factor::Relapses => "relapses",
        Factor::Repeats => "link error days",
        Factor::SpareRows => "low spare rows",
        Factor::CorrectedRising => "rising corrected errors",
    }
}

fn parts(counts: &Counts, findings: &[Finding]) -> Vec<PartLine> {
    let mut found: BTreeMap<(&str, Option<&str>), BTreeSet<&str>> = BTreeMap::new();
    for finding in findings {
        for because in &finding.because {
            let part = &because.part;
            let key = (part.node.as_str(), part.serial.as_deref().or(part.slot.as_deref()));
            found.entry(key).or_default().insert(&finding.id);
        }
    }
    let mut lines: Vec<PartLine> = counts
        .parts
        .iter()
        .map(|(part, counted)| {
            let key = (part.node.as_str(), part.serial.as_deref().or(part.slot.as_deref()));
            let said = |((source, code), count): (&(Source, String), &u64)| CodeCount {
                source: *source,
                code: code.clone(),
                count: *count,
            };
            PartLine {
                name: part.clone(),
                first_at: written(counted.first.unwrap_or(counted.last)),
                last_at: written(counted.last),
                findings: found.get(&key).map_or(0, |ids| size(ids.len())),
                said: counted.said.iter().map(said).collect(),
            }
        })
        .collect();
    lines.sort_by(|a, b| (b.findings, &a.name).cmp(&(a.findings, &b.name)));
    lines.truncate(PARTS_MAX);
    lines
}

fn stake(findings: &[Finding], episodes: &[Episode]) -> Exposure {
    let mut by_kind: BTreeMap<FaultKind, (u64, u64)> = BTreeMap::new();
    let mut delays = Vec::new();
    for (finding, episode) in findings.iter().zip(episodes) {
        let (count, seconds) = by_kind.entry(finding.kind).or_default();
        (*count, *seconds) = (*count + 1, *seconds + finding.gpu_seconds_at_stake);
        let is_reacted = matches!(finding.reaction, Reaction::Ticket | Reaction::Boot);
        if let (Some(at), Some(reacted), true) = (episode.decided_at, &finding.reacted_at, is_reacted) {
            let reacted = reacted.parse::<jiff::Timestamp>().map_or(at.0, jiff::Timestamp::as_millisecond);
            delays.push(Timestamp(reacted).since(at).0 / 1_000);
        }
    }
    delays.sort_unstable();
    let line = |(kind, (findings, gpu_seconds))| ExposureLine { kind, findings, gpu_seconds };
    let mut by_kind: Vec<ExposureLine> = by_kind.into_iter().map(line).collect();
    by_kind.sort_by_key(|line| std::cmp::Reverse(line.gpu_seconds));
    Exposure {
        gpu_seconds: findings.iter().map(|finding| finding.gpu_seconds_at_stake).sum(),
        reacted: size(delays.len()),
        reacted_p50_seconds: review::share(&delays, 50),
        reacted_p90_seconds: review::share(&delays, 90),
        by_kind,
    }
}

fn weeks(findings: &[Finding], (from, to): (Timestamp, Timestamp)) -> Vec<Week> {
    let week_ms = 7 * DAY_MS;
    let count = usize::try_from(to.since(from).0 / 1_000 / (7 * 86_400)).unwrap_or(0) + 1;
    let mut by_week: Vec<BTreeMap<FaultKind, u64>> = vec![BTreeMap::new(); count.min(1_000)];
    for finding in findings {
        let week = usize::try_from((finding.found_ms.min(to.0) - from.0).div_euclid(week_ms)).unwrap_or(0);
        if let Some(week) = by_week.get_mut(week) {
            *week.entry(finding.kind).or_default() += 1;
        }
    }
    let begin = |week: i64| written(Timestamp(from.0 + week * week_ms));
    (0..).zip(by_week).map(|(week, kinds)| Week { from: begin(week), by_kind: kinds.into_iter().collect() }).collect()
}
