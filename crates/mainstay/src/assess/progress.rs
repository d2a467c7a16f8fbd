//! How far an assessment is, on standard error and on a terminal only.

use std::path::PathBuf;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::plain_text::duration;

/// The progress of one assessment.
pub(super) struct Bar {
    bar: ProgressBar,
    began_at: Instant,
}

impl Bar {
    pub(super) fn new() -> Self {
        Self { bar: ProgressBar::new(0), began_at: Instant::now() }
    }

    pub(super) fn reads(&self, files: &[PathBuf]) {
        let bytes = files.iter().filter_map(|path| path.metadata().ok()).map(|meta| meta.len()).sum();
        self.bar.set_length(bytes);
        self.bar.set_style(style("reading logs  {bar:40}  {bytes} of {total_bytes}  {eta} left"));
    }

    pub(super) fn read(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    pub(super) fn asks(&self, done: usize, of: usize) {
        self.step(done, of, "querying Prometheus  {bar:40}  {percent:>3} %  {eta} left");
    }

    pub(super) fn plays(&self, events: usize) {
        self.step(0, events, "replaying  {bar:40}  {percent:>3} %  {eta} left");
    }

    pub(super) fn at(&self, done: usize) {
        self.bar.set_position(u64::try_from(done).unwrap_or(0));
    }

    fn step(&self, done: usize, of: usize, template: &str) {
        self.bar.set_style(style(template));
        self.bar.set_length(u64::try_from(of).unwrap_or(0));
        self.at(done);
    }

    pub(super) fn finish(&self) {
        self.bar.set_style(style("{msg}"));
        self.bar.finish_with_message(format!("report made in {}", duration(self.began_at.elapsed().as_secs())));
    }
}

/// The templates are ours; one that could not be read would show as indicatif's own bar.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("█▉▊▋▌▍▎▏ ")
}
