//! How far long work is and how long it will still take, on standard error and on a terminal only; one line is left at
//! the end.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use mainstay_sim::Progress;
use mainstay_text::{counted, duration, thousands};

use super::World;
use crate::output::progress_style as style;

/// The progress of one run or of many.
pub(super) struct Bar {
    bar: ProgressBar,
    what: String,
    began_at: Instant,
}

impl Bar {
    pub(super) fn new(world: &World, runs: u64) -> Self {
        let run_milliseconds = u64::from(world.days) * 86_400_000;
        let fleet = format!("{} GPUs for {}", thousands(world.gpus.into()), counted(world.days.into(), "day", "days"));
        let what = if runs == 1 { fleet } else { format!("{} of {fleet}", counted(runs, "run", "runs")) };
        let bar = ProgressBar::new(run_milliseconds.saturating_mul(runs));
        bar.set_style(style("{msg}  {bar:40}  {percent:>3} %  {eta} left"));
        bar.set_message(what.clone());
        Self { bar, what, began_at: Instant::now() }
    }

    /// Returns the callback for the progress of one run. Runs on several threads add up.
    pub(super) fn of_run(&self) -> impl FnMut(Progress) {
        let bar = self.bar.clone();
        let mut told: u64 = 0;
        move |progress: Progress| {
            let done = u64::try_from(progress.done.0.min(progress.of.0)).unwrap_or(0);
            bar.inc(done.saturating_sub(told));
            told = told.max(done);
        }
    }

    pub(super) fn finish(&self) {
        self.bar.set_style(style("{msg}"));
        self.bar.finish_with_message(format!("{} in {}", self.what, duration(self.began_at.elapsed().as_secs())));
    }
}

/// Spinner that counts the attempts to minimise a failing seed. Their number is not known in advance.
pub(super) struct MinimiseProgress {
    bar: ProgressBar,
    what: String,
    began_at: Instant,
}

impl MinimiseProgress {
    pub(super) fn new(what: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_style(style("{spinner} {msg}  {elapsed}"));
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar, what: what.to_owned(), began_at: Instant::now() }
    }

    pub(super) fn count(&self, tries: u32) {
        self.bar.set_position(tries.into());
        self.bar.set_message(format!("{}: a check failed; minimising, attempt {tries}", self.what));
    }

    pub(super) fn finish(&self) {
        self.bar.set_style(style("{msg}"));
        let took = duration(self.began_at.elapsed().as_secs());
        let tries = match self.bar.position() {
            0 => String::new(),
            tries => format!(", minimised in {}", counted(tries, "attempt", "attempts")),
        };
        self.bar.finish_with_message(format!("{}{tries}, {took}", self.what));
    }
}
