//! Runs a scenario: events become facts, the brain decides, the world follows, and what was decided is printed.

use mainstay_engine::why::{Spent, Wait};
use mainstay_engine::{BreakerLine, Engine, Guard, Precision, SharedCause, VerdictLine, Why};
use mainstay_model::{Effect, Execution, NodeName, NodeSummary, Ppm, RuleRecord, Step, Task, Timestamp, WaitingOn};

use crate::text::{self, Scenario};
use crate::words::name;
use crate::world::World;

/// A decision whose effects the world follows may lead to the next one; a node's whole repair is shorter than this.
const ROUNDS_MAX: usize = 12;

/// One output for each step.
pub(crate) fn run(scenario: &Scenario, mut engine: Engine) -> Vec<String> {
    let mut world = World::new(&scenario.setting);
    let mut outputs = Vec::new();
    let newborn = engine.clone();
    world.begin(&mut engine);
    // The nodes' first records are no part of the story.
    settle(Timestamp(0), false, &mut world, &mut engine);
    let weighs = scenario.rule == Guard::DrainCost.name();
    for step in &scenario.steps {
        outputs.push(run_step(step, weighs, &mut world, &mut engine, &newborn));
    }
    outputs
}

fn run_step(step: &text::Step, weighs: bool, world: &mut World, engine: &mut Engine, newborn: &Engine) -> String {
    let now = Timestamp(step.at_seconds * 1_000);
    let (asked, events): (Vec<&str>, Vec<&str>) =
        step.events.iter().map(String::as_str).partition(|event| event.starts_with("why ") || *event == "verdicts");
    for event in &events {
        if *event == "the controller restarts" {
            engine.clone_from(newborn);
            world.retell(now, engine);
        } else {
            world.happen(event, now, engine);
        }
    }
    let mut output = settle(now, weighs, world, engine);
    if asked.contains(&"verdicts") {
        output.extend(engine.verdicts().iter().map(verdict));
    }
    // Where nothing happened, what is asked is all that is of interest.
    if !events.is_empty() {
        output.extend(engine.standing().map(|line| stands(&line)));
        output.extend(engine.breakers().iter().map(breaker));
        output.extend(engine.blamed().iter().map(blamed));
    }
    output.extend(
        asked
            .iter()
            .filter_map(|event| event.strip_prefix("why "))
            .flat_map(str::split_whitespace)
            .map(|node| why(node, engine)),
    );
    output.extend(step.events.iter().filter_map(|event| Some(risk(event.strip_prefix("risk ")?, engine))));
    if output.is_empty() {
        output.push("nothing".to_owned());
    }
    // The same said again in a later round of the same step is no news.
    output.dedup();
    let mut text = output.join("\n");
    text.push('\n');
    text
}

/// Decides and lets the world follow, until nothing more is asked of it. What was weighed is told where the story is
/// about that.
fn settle(now: Timestamp, weighs: bool, world: &mut World, engine: &mut Engine) -> Vec<String> {
    let mut output = Vec::new();
    for _ in 0..ROUNDS_MAX {
        world.sync(now, engine);
        let decision = engine.decide(now);
        for violation in engine.audit(&decision, now) {
            output.push(format!("VIOLATION {violation:?}"));
        }
        for weighing in engine.weighings().filter(|_| weighs) {
            let line = format!("weighed   {}  {weighing}", weighing.node);
            if !output.contains(&line) {
                output.push(line);
            }
        }
        output.extend(decision.effects.iter().map(told));
        output.extend(decision.forgotten.iter().map(|node| format!("forget    {node}")));
        if !world.follow(&decision, now, engine) {
            break;
        }
    }
    output
}

fn why(node: &str, engine: &Engine) -> String {
    let why = engine.why(&name(NodeName::parse, node)).unwrap_or_else(|| panic!("{node} is unknown"));
    counts_agree(&why, engine);
    format!("why       {node} [{:?}, {}]: {why}", why.stage, why.wait.on().word())
}

fn told(effect: &Effect) -> String {
    let node = &effect.node;
    let what = match &effect.step {
        Step::Store(persisted) => {
            let proposal = persisted
                .proposals
                .as_slice()
                .last()
                .map(|last| format!(", {} in dry run: {:?}", last.action, last.happened));
            format!("record    {node}  {:?}{}", persisted.stage, proposal.unwrap_or_default())
        }
        Step::Order(new) => {
            let task = match &new.order.task {
                Task::Rung(rung) => format!("{rung:?}"),
                Task::Suite(suite) => format!("suite {suite}"),
            };
            format!("order     {node}  {task} by {}", clock(new.order.done_by))
        }
        Step::Cordon => format!("cordon    {node}"),
        Step::Uncordon => format!("uncordon  {node}"),
        Step::Avoid => format!("avoid     {node}"),
        Step::EndAvoid => format!("no avoid  {node}"),
        Step::PowerOff => format!("power off {node}"),
        Step::ReleasePods => format!("release   {node}"),
        Step::AskCheckpoint { gang, answer_by, .. } => {
            format!("ask       {node}  {} to save by {}", gang.name, clock(*answer_by))
        }
        Step::Stop { gang } => format!("evict     {node}  {}", gang.name),
    };
    let because = match effect.step {
        Step::Store(_) | Step::Order(_) => String::new(),
        Step::Cordon | Step::Uncordon | Step::AskCheckpoint { .. } | Step::Stop { .. } | Step::PowerOff => {
            format!("  because {}", effect.rule)
        }
        Step::Avoid | Step::EndAvoid | Step::ReleasePods => {
            format!("  because {}", effect.rule)
        }
    };
    match effect.execution {
        Execution::Ordered => format!("{what}{because}"),
        Execution::Proposed => format!("{what}{because}  (proposed as {})", effect.id),
        Execution::DryRun => format!("{what}{because}  (dry run)"),
    }
}

/// `why` and the list of budgets count the same nodes: the fullest domain has at least as many as the node's own.
fn counts_agree(why: &Why, engine: &Engine) {
    let Wait::Budget(Spent::Full { level, held_by, .. }) = &why.wait else { return };
    let lines = engine.budgets().into_iter().filter(|line| line.level == *level);
    let most = lines.map(|line| line.out + line.dry_run).max();
    assert!(most >= Some(held_by.all), "{}: {most:?} in the budget, {} in why", why.node, held_by.all);
}

fn stands(line: &NodeSummary) -> String {
    let NodeSummary { node, stage, waiting_on, message, .. } = line;
    let waits =
        if *waiting_on == WaitingOn::Nothing { String::new() } else { format!("  waiting on {}", waiting_on.word()) };
    format!("state     {node}  {stage:?}{waits}  ({message})").replace("  ()", "")
}

fn breaker(line: &BreakerLine) -> String {
    let BreakerLine { rule, state, since, condemned, waiting, test, is_on_paper, .. } = line;
    let since = since.map(|at| format!(" since {}", clock(at))).unwrap_or_default();
    let test = test.as_ref().map(|node| format!(", tested on {node}")).unwrap_or_default();
    let paper = if *is_on_paper { " in dry run" } else { "" };
    format!("breaker   {rule}  {state:?}{paper}{since}: {condemned} in the last hour, {waiting} waiting{test}")
}

fn verdict(line: &VerdictLine) -> String {
    let VerdictLine { record, precision, on_paper } = line;
    let RuleRecord { rule, confirmed, refuted, confirmed_on_paper, refuted_on_paper } = record;
    let carried_out = (confirmed + refuted > 0).then(|| said(*confirmed, *refuted, *precision));
    let paper = (confirmed_on_paper + refuted_on_paper > 0)
        .then(|| format!("in dry run {}", said(*confirmed_on_paper, *refuted_on_paper, *on_paper)));
    let parts: Vec<String> = carried_out.into_iter().chain(paper).collect();
    format!("verdict   {rule}  {}", parts.join("; "))
}

fn said(confirmed: u64, refuted: u64, precision: Precision) -> String {
    let percent = |Ppm(ppm): Ppm| format!("{}.{}", ppm / 10_000, ppm / 1_000 % 10);
    let precision = match precision {
        Precision::TooFew => "too few to say".to_owned(),
        Precision::Share { of, low, high } => {
            format!("right in {} % ({} to {} %)", percent(of), percent(low), percent(high))
        }
    };
    format!("{confirmed} confirmed, {refuted} refuted: {precision}")
}

fn blamed(blamed: &SharedCause) -> String {
    let SharedCause { subject, rule, nodes, of, since } = blamed;
    format!("cause     {subject}  {rule} on {} of {of} nodes since {}", nodes.len(), clock(*since))
}

fn risk(node: &str, engine: &Engine) -> String {
    let risk = engine.risk(&name(NodeName::parse, node)).unwrap_or_else(|| panic!("no node {node}"));
    format!("risk      {node}  {risk}")
}

fn clock(at: Timestamp) -> String {
    let seconds = at.0 / 1_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if seconds == 0 { format!("{hours:02}:{minutes:02}") } else { format!("{hours:02}:{minutes:02}:{seconds:02}") }
}
