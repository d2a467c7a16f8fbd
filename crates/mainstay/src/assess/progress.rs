//! Progress of an assessment, on standard error and on a terminal only.

use std::time::Instant;

use indicatif::ProgressBar;
use mainstay_assess::Progress;
use mainstay_text::duration;

use crate::output::progress_style as style;

/// The progress bar of one assessment.
pub(super) struct Bar {
    bar: ProgressBar,
    began_at: Instant,
}

impl Bar {
    pub(super) fn new() -> Self {
        Self { bar: ProgressBar::new(0), began_at: Instant::now() }
    }

    pub(super) fn show(&self, progress: Progress) {
        match progress {
            Progress::Reading { bytes } => {
                self.bar.set_length(bytes);
                self.bar.set_style(style("reading logs  {bar:40}  {bytes} of {total_bytes}  {eta} left"));
            }
            Progress::Read { bytes } => self.bar.inc(bytes),
            Progress::Querying { done, of } => {
                self.step(done, of, "querying Prometheus  {bar:40}  {percent:>3} %  {eta} left");
            }
            Progress::Replaying { done, of } => self.step(done, of, "replaying  {bar:40}  {percent:>3} %  {eta} left"),
        }
    }

    fn step(&self, done: usize, of: usize, template: &str) {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        // The first step sets the template; parsing it for each of a million events would be slow.
        if done == 0 {
            self.bar.set_style(style(template));
            self.bar.set_length(count(of));
        }
        self.bar.set_position(count(done));
    }

    pub(super) fn finish(&self) {
        self.bar.set_style(style("{msg}"));
        self.bar.finish_with_message(format!("report made in {}", duration(self.began_at.elapsed().as_secs())));
    }
}
