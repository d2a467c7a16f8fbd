//! Log of failed writes: at most one line per object and minute, with the words of the API server.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use super::{Outcome, Target};

/// Time after which a failure of the same object is logged again.
const LOG_EVERY: Duration = Duration::from_mins(1);
/// Largest number of objects that are remembered as logged. Beyond it the memory is cleared.
const LOGGED_MAX: usize = 10_000;

/// Logs the outcomes of writes that failed.
#[derive(Debug, Default)]
pub(crate) struct FailureLog {
    logged_at: BTreeMap<Target, Instant>,
}

impl FailureLog {
    /// Logs a write that failed. A write that was not made without the Lease is only counted: the log has the end of the
    /// leadership. Returns whether a line was written.
    pub(crate) fn report(&mut self, target: &Target, outcome: &Outcome) -> bool {
        self.report_at(target, outcome, Instant::now())
    }

    fn report_at(&mut self, target: &Target, outcome: &Outcome, now: Instant) -> bool {
        let why = match outcome {
            Outcome::Failed(why) => why,
            Outcome::Done | Outcome::NotLeading => return false,
        };
        if self.logged_at.get(target).is_some_and(|at| now - *at < LOG_EVERY) {
            return false;
        }
        if self.logged_at.len() >= LOGGED_MAX {
            self.logged_at.clear();
        }
        self.logged_at.insert(target.clone(), now);
        warn!(object = target.words(), why, "write failed");
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_is_logged_once_per_object_and_minute() {
        let mut log = FailureLog::default();
        let now = Instant::now();
        let failed = Outcome::Failed("no (403)".to_owned());
        let (incident, slo) = (Target::Incident("leaf".to_owned()), Target::Slo("s".to_owned()));
        assert!(log.report_at(&Target::Cell, &failed, now));
        assert!(!log.report_at(&Target::Cell, &failed, now + LOG_EVERY / 2));
        assert!(log.report_at(&incident, &failed, now));
        assert!(!log.report_at(&slo, &Outcome::Done, now) && !log.report_at(&slo, &Outcome::NotLeading, now));
        assert!(log.report_at(&Target::Cell, &failed, now + LOG_EVERY));
    }
}
