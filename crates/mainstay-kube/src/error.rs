//! Classes of failed API calls and the retry policy for each, so that no code parses error messages.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

use crate::jitter::jittered;

/// Time limit of one call. The API server's own limit is one minute, except for watches.
pub(crate) const CALL_WITHIN: Duration = Duration::from_secs(20);
/// First pause before a retry.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// Longest pause before a retry, unless the server asks for more.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Longest Retry-After that is honoured. After it, the Lease would be lost anyway.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// Class of a failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Another client wrote first, or the object exists already.
    Conflict,
    /// The object does not exist.
    Absent,
    /// The resource version is no longer available: list again.
    Expired,
    /// The server throttles requests.
    Busy {
        /// Pause that the server asks for.
        after: Option<Duration>,
    },
    /// The server or the network fails at the moment.
    Broken,
    /// The server rejects the call, and a retry does not help: admission policy, role or schema.
    Refused,
}

impl Failure {
    pub(crate) fn of(error: &kube::Error) -> Self {
        let kube::Error::Api(status) = error else { return Self::of_client(error) };
        match status.code {
            404 => Self::Absent,
            409 => Self::Conflict,
            410 => Self::Expired,
            429 => {
                let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
                let after = Duration::from_secs(seconds.into()).min(RETRY_AFTER_MAX);
                Self::Busy { after: (seconds > 0).then_some(after) }
            }
            // A token that was rotated under us is read again with the next call.
            401 | 408 | 500..=599 => Self::Broken,
            _ => Self::Refused,
        }
    }

    fn of_client(error: &kube::Error) -> Self {
        // What we ask for, or what we read, does not fit; anything else is the way to the server.
        let is_ours =
            matches!(error, kube::Error::SerdeError(_) | kube::Error::BuildRequest(_) | kube::Error::HttpError(_));
        if is_ours { Self::Refused } else { Self::Broken }
    }

    /// Label value for metrics.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Absent => "absent",
            Self::Expired => "expired",
            Self::Busy { .. } => "busy",
            Self::Broken => "broken",
            Self::Refused => "refused",
        }
    }
}

/// Pauses between retries: each doubles up to a limit, with jitter.
#[derive(Debug)]
pub(crate) struct Backoff(ExponentialBackoff);

impl Backoff {
    pub(crate) fn new() -> Self {
        // The crate adds a random share of up to the whole delay, so half the pause becomes a pause between half and all.
        let delays = ExponentialBuilder::new().with_min_delay(PAUSE_FIRST / 2).with_max_delay(PAUSE_MAX / 2);
        Self(delays.with_factor(2.0).without_max_times().with_jitter().build())
    }

    /// Starts again with the shortest pause, after a success.
    pub(crate) fn reset(&mut self) {
        *self = Self::new();
    }

    /// How long to wait after this failure.
    pub(crate) fn after(&mut self, failure: &Failure) -> Duration {
        let own = self.0.next().unwrap_or(PAUSE_MAX);
        match failure {
            Failure::Busy { after: Some(after) } => *after + jittered(PAUSE_FIRST),
            Failure::Conflict | Failure::Absent | Failure::Expired | Failure::Broken | Failure::Refused => own,
            Failure::Busy { after: None } => own,
        }
    }
}

/// Failure that ends the controller, keeps it from starting, or is returned to a user.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No kubeconfig and no service account can be used.
    #[error("{0}")]
    Kubeconfig(String),
    /// The server does not answer, for the stated cause.
    #[error("the API server cannot be reached: {0}")]
    Server(String),
    /// The server answers 401: it does not know the caller.
    #[error("the API server does not accept the credentials: {0}")]
    Credentials(String),
    /// The controller does not find what it needs in the cluster.
    #[error("missing: {0}")]
    Incomplete(String),
    /// The server answered that we may not.
    #[error("{what} was rejected: {why}")]
    Refused {
        /// What was tried.
        what: &'static str,
        /// Message of the server.
        why: String,
    },
    /// A call kept failing.
    #[error("{what} failed, attempts: {tries}, last error: {why}")]
    Failed {
        /// What was tried.
        what: &'static str,
        /// Number of attempts.
        tries: u32,
        /// Last error message.
        why: String,
    },
    /// The API server accepts writes of a stale leader, so this controller does not lead.
    #[error("the admission policies do not reject writes of a stale leader: {0}")]
    Fence(String),
    /// The Cell does not exist, or cannot be read.
    #[error("cannot use the Cell: {0}")]
    Cell(String),
    /// The audit log cannot be written.
    #[error("cannot write the audit log: {0}")]
    Journal(#[from] std::io::Error),
}

impl Error {
    /// What a failed call means to the caller: credentials, permission, or no answer.
    pub(crate) fn of(what: &'static str, error: &kube::Error) -> Self {
        let why = words(error);
        let is_unknown = matches!(error, kube::Error::Api(status) if status.code == 401);
        match Failure::of(error) {
            _ if is_unknown => Self::Credentials(why),
            Failure::Refused => Self::Refused { what, why },
            Failure::Conflict | Failure::Absent | Failure::Expired | Failure::Busy { .. } | Failure::Broken => {
                Self::Server(why)
            }
        }
    }

    /// A call that was not answered in time.
    pub(crate) fn late() -> Self {
        Self::Server(format!("no answer within {} s", CALL_WITHIN.as_secs()))
    }

    /// The same failure with the address of the server.
    pub(crate) fn at(self, address: &str) -> Self {
        match self {
            Self::Server(why) => Self::Server(format!("{address}: {why}")),
            Self::Credentials(why) => Self::Credentials(format!("{address}: {why}")),
            Self::Refused { what, why } => Self::Refused { what, why: format!("{address}: {why}") },
            other @ (Self::Kubeconfig(_)
            | Self::Incomplete(_)
            | Self::Failed { .. }
            | Self::Fence(_)
            | Self::Cell(_)
            | Self::Journal(_)) => other,
        }
    }
}

/// The server's message with its code, or the cause of a call that was not answered; short enough to print.
pub(crate) fn words(error: &kube::Error) -> String {
    const WORDS_MAX: usize = 300;
    let words = if let kube::Error::Api(status) = error {
        format!("{} ({})", status.message, status.code)
    } else {
        cause(error)
    };
    words.chars().filter(|c| !c.is_control()).take(WORDS_MAX).collect()
}

/// The innermost cause: the client's own words name only the layer that failed.
pub(crate) fn cause(error: &dyn std::error::Error) -> String {
    const DEPTH_MAX: usize = 16;
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.take(DEPTH_MAX).last().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(code: u16, retry_after_seconds: u32) -> Failure {
        let status = serde_json::json!({ "code": code, "details": { "retryAfterSeconds": retry_after_seconds } });
        Failure::of(&kube::Error::Api(serde_json::from_value(status).unwrap()))
    }

    #[test]
    fn every_answer_has_its_class() {
        assert_eq!(answered(409, 0), Failure::Conflict);
        assert_eq!(answered(410, 0), Failure::Expired);
        assert_eq!(answered(503, 0), Failure::Broken);
        assert_eq!(answered(403, 0), Failure::Refused);
        assert_eq!(answered(422, 0), Failure::Refused);
        assert_eq!(answered(429, 0), Failure::Busy { after: None });
        assert_eq!(answered(429, 7), Failure::Busy { after: Some(Duration::from_secs(7)) });
        assert_eq!(answered(429, 86_400), Failure::Busy { after: Some(RETRY_AFTER_MAX) });
    }

    #[test]
    fn no_credentials_no_permission_and_no_answer_are_three_things() {
        let of = |code: u16| {
            let status = serde_json::json!({ "code": code, "message": "no" });
            Error::of("reading", &kube::Error::Api(serde_json::from_value(status).unwrap())).at("https://a:1")
        };
        assert!(matches!(of(401), Error::Credentials(why) if why == "https://a:1: no (401)"));
        assert!(matches!(of(403), Error::Refused { why, .. } if why == "https://a:1: no (403)"));
        assert!(matches!(of(503), Error::Server(why) if why == "https://a:1: no (503)"));
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let outer = std::io::Error::other(refused);
        let error = kube::Error::Service(Box::new(outer));
        assert!(matches!(Error::of("reading", &error), Error::Server(why) if why == "connection refused"));
    }

    #[test]
    fn pauses_grow_to_a_bound_and_a_server_that_asks_for_patience_gets_it() {
        let mut pauses = Backoff::new();
        let waited: Vec<Duration> = (0..20).map(|_| pauses.after(&Failure::Broken)).collect();
        assert!(waited.iter().all(|pause| *pause <= PAUSE_MAX), "{waited:?}");
        assert!(waited.last() >= Some(&(PAUSE_MAX / 2)), "{waited:?}");
        assert!(pauses.after(&Failure::Busy { after: Some(Duration::from_secs(7)) }) >= Duration::from_secs(7));
        pauses.reset();
        assert!(pauses.after(&Failure::Broken) <= PAUSE_FIRST);
    }
}
