//! Progress of `cluster up`: a moving bar on a terminal, one plain line per phase elsewhere.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use testbed::ProgressEvent;
use xtask::output;

/// Prints each step of a cluster start as it begins.
pub(super) struct Progress {
    begun: Instant,
    bar: ProgressBar,
    /// The phase that was last announced.
    phase: AtomicU8,
}

impl Progress {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::no_length();
        let style = ProgressStyle::with_template("{elapsed:>4} {msg:<24} {wide_bar} {pos:>6}/{len}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { begun: Instant::now(), bar, phase: AtomicU8::new(0) }
    }

    pub(super) fn step(&self, step: ProgressEvent) {
        if self.bar.is_hidden() { self.plainly(step) } else { self.on_the_bar(step) }
    }

    /// Clears the bar away.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn on_the_bar(&self, step: ProgressEvent) {
        let (done, of) = match step {
            ProgressEvent::Building { done, of, .. }
            | ProgressEvent::Creating { done, of }
            | ProgressEvent::Readying { done, of } => (done, of),
            ProgressEvent::WaitingForBuild | ProgressEvent::Starting(_) => (0, 1),
        };
        self.bar.set_message(words(step));
        self.bar.set_length(u64::try_from(of).unwrap_or(u64::MAX));
        self.bar.set_position(u64::try_from(done).unwrap_or(u64::MAX));
    }

    fn plainly(&self, step: ProgressEvent) {
        if begins(self.phase.swap(phase(step), Ordering::Relaxed), step) {
            output::note(format_args!("{:>8}  {}", output::seconds(self.begun.elapsed()), words(step)));
        }
    }
}

const fn phase(step: ProgressEvent) -> u8 {
    match step {
        ProgressEvent::Building { .. } | ProgressEvent::WaitingForBuild => 1,
        ProgressEvent::Starting(_) => 2,
        ProgressEvent::Creating { .. } => 3,
        ProgressEvent::Readying { .. } => 4,
    }
}

/// Building and starting are news for every program, the rest once.
fn begins(last_phase: u8, step: ProgressEvent) -> bool {
    match step {
        ProgressEvent::Building { .. } | ProgressEvent::WaitingForBuild | ProgressEvent::Starting(_) => true,
        ProgressEvent::Creating { .. } | ProgressEvent::Readying { .. } => last_phase != phase(step),
    }
}

fn words(step: ProgressEvent) -> String {
    match step {
        ProgressEvent::Building { program, .. } => format!("building {program}"),
        ProgressEvent::WaitingForBuild => "waiting for another build".to_owned(),
        ProgressEvent::Starting(program) => format!("starting {program}"),
        ProgressEvent::Creating { of, .. } => format!("creating {of} nodes"),
        ProgressEvent::Readying { of, .. } => format!("waiting until {of} nodes are Ready"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testbed::Program;

    #[test]
    fn a_long_phase_is_one_line_and_every_program_is_one() {
        let creating = |done| ProgressEvent::Creating { done, of: 9 };
        let steps =
            [ProgressEvent::Starting(Program::Etcd), ProgressEvent::Starting(Program::Kwok), creating(1), creating(9)];
        let mut last = 0;
        let news = |&step: &ProgressEvent| begins(std::mem::replace(&mut last, phase(step)), step);
        let lines: Vec<ProgressEvent> = steps.into_iter().filter(news).collect();
        assert_eq!(
            lines,
            [ProgressEvent::Starting(Program::Etcd), ProgressEvent::Starting(Program::Kwok), creating(1)]
        );
    }
}
