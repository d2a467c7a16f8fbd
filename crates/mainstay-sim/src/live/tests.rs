use mainstay_model::{Execution, Stage};

use super::*;
use crate::GPUS_PER_NODE;

/// The story is over by then.
const OVER: Span = Span::minutes(120);

fn live(gpus: u32, seed: u64, story: DemoScript) -> LiveFleet {
    LiveFleet::new(LiveOptions { gpus, seed, story }).unwrap()
}

fn at(minutes: u32) -> Timestamp {
    LiveFleet::BEGINS_AT + Span::minutes(minutes)
}

fn name(live: &LiveFleet, number: u32) -> NodeName {
    live.node_at(number).unwrap().name.clone()
}

/// Everything that anybody can see of it.
fn seen(live: &LiveFleet) -> String {
    let mut text = format!("{:?} {:?} {:?}", live.now(), live.story(), live.books());
    for node in live.nodes() {
        text.push_str(&format!("{node:?} {:?} {:?}", node.gpu_readings(3), live.engine().report(node.name)));
        text.push_str(&format!("{:?}", live.lines(node.name).collect::<Vec<_>>()));
    }
    for job in live.jobs() {
        text.push_str(&format!("{:?} {} {:?} {:?}", job.state(), job.step(), job.log(), job.checkpoints()));
    }
    text.push_str(&format!("{:?}", live.decisions_since(Timestamp(0)).collect::<Vec<_>>()));
    text.push_str(&format!("{:?}", live.moves_since(Timestamp(0)).collect::<Vec<_>>()));
    text
}

fn tells_its_story(gpus: u32, seed: u64) {
    let mut live = live(gpus, seed, DemoScript::Tour);
    live.advance(LiveFleet::BEGINS_AT + OVER);
    let mut before = LiveFleet::BEGINS_AT;
    for step in live.story() {
        let happened_at = step.happened_at.unwrap_or_else(|| panic!("{gpus} GPUs, seed {seed}: no {}", step.title));
        assert!(before <= step.due_at && step.due_at < happened_at, "{gpus} GPUs, seed {seed}: {step:?}");
        before = happened_at;
    }
    assert!(before.since(LiveFleet::BEGINS_AT) < Span::minutes(90), "{gpus} GPUs, seed {seed}: {before:?}");
    assert_eq!(live.world.promises.broken, [], "{gpus} GPUs, seed {seed}");
    assert!(live.books().saved_gpu_seconds > live.job(jobs::LARGE).unwrap().log().lost_gpu_seconds);
}

#[test]
#[expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "users wait for the demo, so its duration is bounded"
)]
fn every_step_of_the_story_happens_in_order_with_the_real_brain() {
    let began = std::time::Instant::now();
    for seed in 1..=10 {
        tells_its_story(1_024, seed);
    }
    assert!(began.elapsed().as_secs() < 50, "5 s each: {:?}", began.elapsed());
}

#[test]
fn the_story_fits_other_fleets() {
    for gpus in [256, 512, 4_096, 16_384] {
        tells_its_story(gpus, 3);
    }
    let refused = |gpus| LiveFleet::new(LiveOptions { gpus, ..LiveOptions::default() }).is_err();
    assert!(refused(0) && refused(64) && refused(1_023) && refused(GPUS_MAX + GPUS_PER_NODE));
}

#[test]
fn what_is_told_is_what_happened() {
    let mut live = live(1_024, 7, DemoScript::Tour);
    live.advance(LiveFleet::BEGINS_AT + OVER);
    let text = |step: usize| live.story()[step].text.clone();
    let large = live.job_named("train-7").unwrap();
    let asked = large.log().interruptions().next().unwrap();
    assert_eq!(large.log().checkpoints().filter(|checkpoint| checkpoint.asked).count(), 1);
    let hours = |gpu_seconds: u64| (gpu_seconds + 1_800) / 3_600;
    let (lost, saved) = (hours(asked.lost_gpu_seconds), hours(asked.saved_gpu_seconds));
    assert!(text(0).contains(&format!("{lost} GPU-hours lost, {saved} saved by the checkpoint")), "{}", text(0));
    assert!(text(0).contains("512-GPU job train-7 saved step"), "{}", text(0));
    assert!(text(1).contains("(XID 79). train-4 could not save"), "{}", text(1));
    assert!(text(2).contains("passes no traffic"), "{}", text(2));
    assert!(
        text(3).contains("one incident, attributed to the leaf") && text(3).contains("no node was removed"),
        "{}",
        text(3)
    );
    assert!(text(4).contains("3 nodes with driver") && text(4).contains("kept running"), "{}", text(4));
    assert!(text(5).contains("passed its tests and is back in service; 28 min out of service"), "{}", text(5));
}

#[test]
fn what_jobs_lost_is_what_the_books_say() {
    let mut live = live(1_024, 2, DemoScript::Tour);
    live.advance(LiveFleet::BEGINS_AT + OVER);
    let sum = |of: fn(&JobLog) -> u64| live.jobs().map(|job| of(job.log())).sum::<u64>();
    assert_eq!(sum(|log| log.lost_gpu_seconds), live.books().lost_gpu_seconds);
    assert_eq!(sum(|log| log.saved_gpu_seconds), live.books().saved_gpu_seconds);
    assert_eq!(live.lost_since(LiveFleet::BEGINS_AT), live.books().lost_gpu_seconds);
    assert_eq!(live.lost_since(live.now()), 0);
    assert!(live.lost_since(at(30)) > 0 && live.lost_since(at(30)) < live.books().lost_gpu_seconds);
}

#[test]
fn in_how_many_steps_it_is_moved_on_makes_no_difference() {
    let mut at_once = live(512, 5, DemoScript::Tour);
    at_once.advance(LiveFleet::BEGINS_AT + OVER);
    let mut by_and_by = live(512, 5, DemoScript::Tour);
    while by_and_by.now() < at_once.now() {
        let next = (by_and_by.now() + Span(997)).min(at_once.now());
        by_and_by.advance(next);
    }
    assert!(seen(&at_once) == seen(&by_and_by));
}

#[test]
fn the_past_can_be_lived_through_again() {
    let mut live = live(512, 5, DemoScript::Tour);
    let first = live.clone();
    let node = name(&live, 40);
    live.advance(at(10));
    live.inject(Injection::GpuProcessorTimeout, &node).unwrap();
    live.advance(at(20));
    let (by, reason) = (UserName::parse("ana").unwrap(), Reason::parse("looks odd").unwrap());
    live.request(&name(&live, 41), RequestKind::Hold, by, reason).unwrap();
    let middle = live.clone();
    live.advance(at(30));
    live.set_mode(Mode::Observe);
    live.advance(at(40));
    let then = live.clone();
    live.advance(at(60));
    live.release(&name(&live, 41)).unwrap();
    for from in [&first, &middle, &then] {
        assert!(seen(&live.replay(from, at(40)).unwrap()) == seen(&then));
    }
    assert!(live.replay(&then, at(39)).is_none());
}

#[test]
fn everything_that_can_be_planted_has_a_word_and_a_voice_and_breaks_no_promise() {
    for (place, injection) in (0..).zip(Injection::ALL) {
        assert_eq!(Injection::of(injection.word()), Some(injection));
        assert!(!injection.title().is_empty() && injection.text().ends_with('.'), "{}", injection.word());
        let mut live = live(512, 1, DemoScript::Calm);
        if let InjectionEffect::Fault(class, manner) | InjectionEffect::Cry(class, manner) = injection.planting() {
            let has_voice = crate::signature::Signatures::built_in().in_manner(class, manner).is_some();
            assert_eq!(has_voice, manner != crate::signature::SignatureChoice::AsDrawn, "{}", injection.word());
        }
        let injected = live.inject(injection, &name(&live, place * 2)).unwrap();
        assert!(injected.nodes > 0, "{}", injection.word());
        live.advance(at(180));
        assert_eq!(live.world.promises.broken, [], "{}", injection.word());
        assert!(live.nodes().all(|node| live.lines(node.name).count() <= 32));
    }
}

#[test]
fn what_people_ask_for_is_done_and_what_is_not_there_is_refused() {
    let mut live = live(512, 1, DemoScript::Calm);
    let node = name(&live, 2);
    let (by, reason) = (UserName::parse("ana").unwrap(), Reason::parse("looks odd").unwrap());
    let stage = |live: &LiveFleet| live.engine().report(&name(live, 2)).unwrap().stage;
    live.request(&node, RequestKind::Drain, by.clone(), reason.clone()).unwrap();
    live.advance(at(10));
    assert_eq!(stage(&live), Stage::Draining);
    assert_eq!(live.job(jobs::LARGE).unwrap().log().attempts_total, 2);
    assert!(live.books().saved_gpu_seconds > 0);
    live.release(&node).unwrap();
    live.advance(at(120));
    assert_eq!(stage(&live), Stage::InService);
    live.set_mode(Mode::Observe);
    live.inject(Injection::RowRemapPending, &node).unwrap();
    live.advance(at(130));
    assert!(
        live.decisions_since(at(120)).all(|line| line.standing != Execution::Ordered || line.act.contains("Suspect"))
    );
    let nobody = NodeName::parse("r9999n09").unwrap();
    assert!(live.release(&node).is_err() && live.inject(Injection::Slow, &nobody).is_err());
    assert!(live.request(&nobody, RequestKind::Hold, by, reason).is_err() && live.node(&nobody).is_none());
}

#[test]
fn a_crowded_fleet_has_about_one_node_in_twenty_out() {
    let live = LiveFleet::crowded(32_768, 7).unwrap();
    let (out, nodes) = (live.nodes_out(), live.world.nodes());
    assert!((nodes / 25..=nodes / 16).contains(&out), "{out} of {nodes}");
    assert!(live.jobs().filter(|job| job.state() == JobState::Running).count() > 280);
    assert_eq!((live.jobs().count(), live.now()), (300, LiveFleet::BEGINS_AT));
    assert_eq!(live.world.promises.broken, []);
}
