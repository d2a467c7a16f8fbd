use super::*;
use crate::{FaultClass, Rates};

const CAUSE: Cause = Cause::Fault(FaultClass::GpuHardFault);

fn at(seconds: u32) -> Timestamp {
    Timestamp(0) + Span::seconds(seconds)
}

/// A job of one node and an hour that saves every ten minutes and starts within 100 seconds.
fn job() -> Job {
    let mut job = jobs(&FailureModel::built_in(Rates::Base), 1, 1, 8, at(86_400)).remove(0);
    job.work = Span::hours(1);
    job.period = Span::minutes(10);
    job.start = Span::seconds(100);
    job
}

#[test]
fn a_stopped_job_begins_again_at_its_last_save() {
    let mut job = job();
    assert_eq!(job.begins(vec![0], at(0)), at(3_700));
    // 25 minutes of progress, of which 20 are safe.
    let stopped = job.stops(CAUSE, at(1_600));
    assert_eq!(stopped, LostProgress { redone: Span::minutes(5), hung: Span::ZERO, spared: Span::ZERO });
    assert_eq!(job.begins(vec![0], at(2_000)), at(2_000 + 100 + 2_400));
}

#[test]
fn what_it_saved_when_asked_is_not_lost() {
    let mut job = job();
    job.begins(vec![0], at(0));
    assert_eq!(job.saves(at(1_600)), 1_500);
    let stopped = job.stops(CAUSE, at(1_610));
    assert_eq!(stopped.redone, Span::seconds(10));
}

#[test]
fn a_job_that_hangs_makes_no_progress_and_says_for_how_long() {
    let mut job = job();
    job.begins(vec![0], at(0));
    job.stuck = Some((at(1_600), CAUSE));
    let stopped = job.stops(CAUSE, at(2_200));
    assert_eq!(stopped, LostProgress { redone: Span::minutes(5), hung: Span::minutes(10), spared: Span::ZERO });
}

#[test]
fn a_slow_node_makes_the_rest_longer() {
    let mut job = job();
    job.begins(vec![0], at(0));
    assert_eq!(job.slows(2.0, at(1_900)), Span::ZERO);
    assert_eq!(job.ends_at(), at(1_900 + 3_600));
    assert_eq!(job.slows(1.0, at(1_900 + 1_800)), Span::seconds(900));
    assert_eq!(job.ends_at(), at(1_900 + 1_800 + 900));
}

#[test]
fn wrong_results_are_not_safe() {
    let mut job = job();
    job.begins(vec![0], at(0));
    job.tainted = Some(job.progress(at(1_000)));
    let stopped = job.stops(CAUSE, at(3_100));
    assert_eq!(stopped.redone, Span::minutes(40));
}

#[test]
fn jobs_hold_about_the_share_of_the_fleet_that_they_should() {
    let model = FailureModel::built_in(Rates::Base);
    let month = at(30 * 86_400);
    let held: u64 = jobs(&model, 7, 20_000, 1_250, month).iter().map(|job| job.gpu_seconds(job.work)).sum();
    let all = 1_250 * 8 * 30 * 86_400;
    let percent = held * 100 / all;
    assert!((65..=90).contains(&percent), "{percent} %");
}

#[test]
fn what_asking_kept_is_the_work_since_its_last_save() {
    let mut job = job();
    job.begins(vec![0], at(0));
    // 25 minutes of progress, of which 20 are safe; ten seconds later it is stopped.
    assert_eq!(job.saves_as_asked(at(1_600)), 1_500);
    assert_eq!(job.stops(CAUSE, at(1_610)).spared, Span::minutes(5));
    // A save of its own came in between: asking kept nothing.
    job.begins(vec![0], at(2_000));
    job.saves_as_asked(at(2_300));
    assert_eq!(job.stops(CAUSE, at(2_401)).spared, Span::ZERO);
}

#[test]
fn its_own_saves_are_where_its_progress_was() {
    let mut job = job();
    job.begins(vec![0], at(0));
    assert_eq!(job.own_saves(at(1_600)).collect::<Vec<_>>(), [(at(700), 600), (at(1_300), 1_200)]);
    job.slows(2.0, at(1_600));
    assert_eq!(job.own_saves(at(2_300)).collect::<Vec<_>>(), [(at(2_200), 1_800)]);
    assert_eq!(Job::number_of(&job.gang()), Some(0));
}
