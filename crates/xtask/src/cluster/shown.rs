//! How the steps of `up` are shown: a moving bar on a terminal, one plain line per phase elsewhere.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use testbed::Step;

use crate::output;

/// Shows one step after the other.
pub(super) struct Shown {
    begun: Instant,
    bar: ProgressBar,
    /// The phase that was last announced.
    phase: AtomicU8,
}

impl Shown {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::no_length();
        let style = ProgressStyle::with_template("{elapsed:>4} {msg:<24} {wide_bar} {pos:>6}/{len}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { begun: Instant::now(), bar, phase: AtomicU8::new(0) }
    }

    pub(super) fn step(&self, step: Step) {
        if self.bar.is_hidden() { self.plainly(step) } else { self.on_the_bar(step) }
    }

    /// Clears the bar away.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn on_the_bar(&self, step: Step) {
        let (done, of) = match step {
            Step::Building { done, of, .. } | Step::Creating { done, of } | Step::Readying { done, of } => (done, of),
            Step::WaitingForBuild | Step::Starting(_) => (0, 1),
        };
        self.bar.set_message(words(step));
        self.bar.set_length(u64::try_from(of).unwrap_or(u64::MAX));
        self.bar.set_position(u64::try_from(done).unwrap_or(u64::MAX));
    }

    fn plainly(&self, step: Step) {
        if begins(self.phase.swap(phase(step), Ordering::Relaxed), step) {
            output::note(format_args!("{:>8}  {}", output::seconds(self.begun.elapsed()), words(step)));
        }
    }
}

const fn phase(step: Step) -> u8 {
    match step {
        Step::Building { .. } | Step::WaitingForBuild => 1,
        Step::Starting(_) => 2,
        Step::Creating { .. } => 3,
        Step::Readying { .. } => 4,
    }
}

/// Building and starting are news for every program, the rest once.
fn begins(last_phase: u8, step: Step) -> bool {
    match step {
        Step::Building { .. } | Step::WaitingForBuild | Step::Starting(_) => true,
        Step::Creating { .. } | Step::Readying { .. } => last_phase != phase(step),
    }
}

fn words(step: Step) -> String {
    match step {
        Step::Building { program, .. } => format!("building {program}"),
        Step::WaitingForBuild => "waiting for another build".to_owned(),
        Step::Starting(program) => format!("starting {program}"),
        Step::Creating { of, .. } => format!("creating {of} nodes"),
        Step::Readying { of, .. } => format!("waiting until {of} nodes are Ready"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testbed::Program;

    #[test]
    fn a_long_phase_is_one_line_and_every_program_is_one() {
        let creating = |done| Step::Creating { done, of: 9 };
        let steps = [Step::Starting(Program::Etcd), Step::Starting(Program::Kwok), creating(1), creating(9)];
        let mut last = 0;
        let news = |&step: &Step| begins(std::mem::replace(&mut last, phase(step)), step);
        let lines: Vec<Step> = steps.into_iter().filter(news).collect();
        assert_eq!(lines, [Step::Starting(Program::Etcd), Step::Starting(Program::Kwok), creating(1)]);
    }
}
