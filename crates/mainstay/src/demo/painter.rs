//! Draws pictures of a live fleet. Only what may have changed is drawn again, and what comes out the same is kept: most of a
//! hundred thousand GPUs are calm at any moment.

mod job;
mod node;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_api::http::{self, StoryStep};
use mainstay_engine::{BreakerLine, BudgetLine};
use mainstay_model::{Level, Line, NodeName, Span, Timestamp};
use mainstay_sim::{GPUS_PER_NODE, Gauge, Live, NodeView, Step};

use super::cases::Cases;
use crate::http::board::GpuGauge;
use crate::http::picture::{Gauges, Hall, NodePicture, Picture, Stand};
use node::Mark;

/// Decisions that a picture holds: hours of a busy fleet, and as many as the fleet itself keeps.
const DECISIONS_MAX: usize = 4_096;

/// What is shown of a temperature that nobody knows.
const CELSIUS_UNKNOWN: u8 = u8::MAX;

/// Draws pictures, each from the one before.
pub(super) struct Painter {
    hall: Arc<Hall>,
    last: Option<Arc<Picture>>,
    marks: Vec<Mark>,
    /// Nodes that were not calm in the last picture.
    restless: BTreeSet<u32>,
    /// The moment of the latest decision, and how many of that moment are known.
    decided: (Timestamp, usize),
}

impl Painter {
    pub(super) fn new(live: &Live) -> Self {
        let domain = |view: &NodeView<'_>, level: Level| {
            view.facts.domains.get(&level).map_or_else(String::new, |name| name.as_str().to_owned())
        };
        let stands = live.nodes().map(|view| Stand {
            name: view.name.as_str().to_owned(),
            spine: domain(&view, Level::Spine),
            leaf: domain(&view, Level::Leaf),
            rack: domain(&view, Level::Rack),
        });
        Self {
            hall: Arc::new(Hall::new(stands, GPUS_PER_NODE)),
            last: None,
            marks: Vec::new(),
            restless: BTreeSet::new(),
            decided: (Timestamp(i64::MIN), 0),
        }
    }

    pub(super) fn hall(&self) -> &Hall {
        &self.hall
    }

    /// The fleet as it is.
    pub(super) fn paint(&mut self, live: &Live, cases: &Cases) -> Arc<Picture> {
        let books = live.books();
        let picture = Arc::new(Picture {
            name: "demo",
            now: live.now(),
            mode: live.mode(),
            hall: self.hall.clone(),
            nodes: self.nodes(live, cases),
            jobs: job::jobs(live, cases, self.last.as_deref()),
            incidents: cases.details(live, self.last.as_deref()),
            decisions: self.decisions(live),
            budgets: live.engine().budgets().iter().map(budget).collect(),
            breakers: live.engine().breakers().iter().map(breaker).collect(),
            lost_gpu_seconds: books.lost_gpu_seconds,
            saved_gpu_seconds: books.saved_gpu_seconds,
            lost_gpu_seconds_last_hour: live.lost_since(live.now() - Span::hours(1)),
            gauges: Some(columns(live)),
            story: live.story().iter().map(step).collect(),
        });
        self.last = Some(picture.clone());
        picture
    }

    fn nodes(&mut self, live: &Live, cases: &Cases) -> Vec<Arc<NodePicture>> {
        let lines: BTreeMap<NodeName, Line> = live.engine().standing().map(|line| (line.node.clone(), line)).collect();
        let mut restless = BTreeSet::new();
        let mut nodes = Vec::with_capacity(self.marks.len());
        for (place, view) in live.nodes().enumerate() {
            let line = lines.get(view.name);
            let mark = Mark::of(&view);
            let known = self.last.as_ref().and_then(|last| last.nodes.get(place));
            let calm = line.is_none() && !self.restless.contains(&view.number);
            let same = self.marks.get(place) == Some(&mark);
            nodes.push(match known {
                Some(known) if calm && same => known.clone(),
                Some(_) | None => {
                    let drawn = node::node(live, &view, line, cases);
                    known.filter(|known| ***known == drawn).cloned().unwrap_or_else(|| Arc::new(drawn))
                }
            });
            if line.is_some() {
                restless.insert(view.number);
            }
            match self.marks.get_mut(place) {
                Some(known) => *known = mark,
                None => self.marks.push(mark),
            }
        }
        self.restless = restless;
        nodes
    }

    fn decisions(&mut self, live: &Live) -> Vec<Arc<http::Decision>> {
        let known = self.last.as_ref().map_or(&[][..], |last| &last.decisions);
        let (at, seen) = self.decided;
        let new: Vec<Arc<http::Decision>> =
            live.decisions_since(at).skip(seen).map(|line| Arc::new(decision(line))).collect();
        if let Some(last) = new.last() {
            let before = if last.at == at.0 { seen } else { 0 };
            let of_moment = new.iter().rev().take_while(|decision| decision.at == last.at).count();
            self.decided = (Timestamp(last.at), before + of_moment);
        }
        let surplus = (known.len() + new.len()).saturating_sub(DECISIONS_MAX);
        known.iter().skip(surplus).cloned().chain(new).collect()
    }
}

/// What every GPU shows, by node and GPU.
pub(super) fn gauges(live: &Live) -> Arc<[Option<GpuGauge>]> {
    let gauge = |gauge: Gauge| GpuGauge {
        celsius: gauge.temperature_celsius,
        watts: gauge.power_watts,
        utilization_percent: gauge.utilization_percent,
    };
    live.nodes().flat_map(|view| (0..GPUS_PER_NODE).map(move |gpu| view.gauge(gpu).map(gauge))).collect()
}

/// The hottest GPU of each node, and the power of its GPUs on average.
fn columns(live: &Live) -> Gauges {
    let of_node = |view: NodeView<'_>| {
        let shown = || (0..GPUS_PER_NODE).filter_map(|gpu| view.gauge(gpu));
        let celsius = shown().map(|gauge| gauge.temperature_celsius).max().unwrap_or(CELSIUS_UNKNOWN);
        let watts: u32 = shown().map(|gauge| u32::from(gauge.power_watts)).sum();
        (celsius, u8::try_from(watts / GPUS_PER_NODE / 10).unwrap_or(u8::MAX))
    };
    let (celsius, decawatts) = live.nodes().map(of_node).unzip();
    Gauges { celsius, decawatts }
}

pub(super) fn step(step: &Step) -> StoryStep {
    StoryStep {
        at: step.happened_at.unwrap_or(step.due_at).0,
        title: step.title.to_owned(),
        text: step.text.clone(),
        done: step.happened_at.is_some(),
    }
}

fn decision(line: &mainstay_sim::DecisionLine) -> http::Decision {
    http::Decision {
        at: line.at.0,
        node: line.node.to_string(),
        act: line.act.clone(),
        standing: line.standing,
        rule: Some(line.rule.to_string()),
    }
}

fn budget(line: &BudgetLine) -> http::Budget {
    let BudgetLine { pool, level, most, out, nodes } = line;
    http::Budget { pool: pool.to_string(), level: *level, most: *most, out: *out, nodes: *nodes }
}

fn breaker(line: &BreakerLine) -> http::Breaker {
    http::Breaker {
        pool: line.pool.to_string(),
        rule: line.rule.to_string(),
        state: line.state,
        since: line.since.unwrap_or_default().0,
        condemned: line.condemned,
        waiting: line.waiting,
        test: line.test.as_ref().map(ToString::to_string),
    }
}
