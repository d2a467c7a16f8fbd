//! What can happen to a call, and which calls it happens to.

use std::fmt;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use axum::response::IntoResponse as _;
use serde_json::json;

use super::{Call, CallFilter};

#[cfg(test)]
mod tests;

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The server never gets it, and nothing passes any more: the program under test is killed now.
    HoldBefore,
    /// The server carries it out, the answer is held, and nothing passes any more.
    HoldAfter,
    /// The connection ends before the server gets it.
    CutBefore,
    /// The server carries it out, and the connection ends without the answer.
    LoseAnswer,
    /// The server never gets it, and this is the answer.
    Answer(Reply),
    /// It waits this long before the server gets it.
    Stall(Duration),
    /// The server carries it out, and the answer arrives this much later.
    DelayAnswer(Duration),
}

/// An answer in the server's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// 403: not permitted.
    Forbidden,
    /// 409: the object has changed.
    Conflict,
    /// 410: the resource version is too old.
    Gone,
    /// 422: the object is not valid, as after a failed test of a JSON patch.
    Invalid,
    /// 429: too many requests; try again after these seconds.
    TooManyRequests(u8),
    /// 500: an error inside the server.
    InternalError,
    /// 503: the server is overloaded or shuts down.
    Unavailable,
    /// 504: the server gave up waiting, for example for its cache to reach a resource version.
    Timeout,
    /// The answer of a server that has moved on: 409 to a write, 410 to a watch that continues, 503 to any other read.
    MovedOn,
}

impl Reply {
    fn status(self, call: &Call) -> (StatusCode, &'static str) {
        match self {
            Self::Forbidden => (StatusCode::FORBIDDEN, "Forbidden"),
            Self::Conflict => (StatusCode::CONFLICT, "Conflict"),
            Self::Gone => (StatusCode::GONE, "Expired"),
            Self::Invalid => (StatusCode::UNPROCESSABLE_ENTITY, "Invalid"),
            Self::TooManyRequests(_) => (StatusCode::TOO_MANY_REQUESTS, "TooManyRequests"),
            Self::InternalError => (StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"),
            Self::Timeout => (StatusCode::GATEWAY_TIMEOUT, "Timeout"),
            Self::MovedOn if !call.is_read() => Self::Conflict.status(call),
            Self::MovedOn if call.is_watch() && call.parameter("resourceVersion").is_some() => Self::Gone.status(call),
            Self::MovedOn => Self::Unavailable.status(call),
        }
    }

    /// The Status object that a server sends.
    pub(super) fn response(self, call: &Call) -> Response<Body> {
        let (status, reason) = self.status(call);
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason,
            "message": "answered by the fault proxy of a test", "code": status.as_u16(),
        });
        let json = (header::CONTENT_TYPE, "application/json");
        if let Self::TooManyRequests(seconds) = self {
            body["details"] = json!({ "retryAfterSeconds": seconds });
            let after = (header::RETRY_AFTER, seconds.to_string());
            return (status, [(json.0, json.1.to_owned()), after], body.to_string()).into_response();
        }
        (status, [json], body.to_string()).into_response()
    }
}

/// Which of the calls that a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Every one of the calls.
    Every,
    /// The one with this number, counted from 1.
    Nth(u64),
    /// This number of them from the first on.
    First(u64),
    /// Of each `of` calls the one with this number, counted from 1.
    Cycle {
        /// The number within a cycle.
        nth: u64,
        /// The length of a cycle.
        of: u64,
    },
}

impl Turn {
    pub(super) fn is_at(self, count: u64) -> bool {
        match self {
            Self::Every => true,
            Self::Nth(number) => count == number,
            Self::First(number) => count <= number,
            Self::Cycle { nth, of } => count % of.max(1) == nth % of.max(1),
        }
    }
}

/// A fault, and the calls that it happens to.
pub struct Rule {
    fault: Fault,
    turn: Turn,
    about: Box<dyn Fn(&Call) -> bool + Send + Sync>,
    count: u64,
}

impl Rule {
    /// The fault happens to the calls of which `about` is true and whose turn it is.
    pub fn new(fault: Fault, turn: Turn, about: impl Fn(&Call) -> bool + Send + Sync + 'static) -> Self {
        Self { fault, turn, about: Box::new(about), count: 0 }
    }

    /// The fault happens to the calls that a filter chooses and whose turn it is.
    pub fn on(fault: Fault, turn: Turn, filter: CallFilter) -> Self {
        Self::new(fault, turn, move |call| filter.matches(call))
    }

    /// Counts a call, and returns the fault if it happens to this call.
    pub(super) fn due(&mut self, call: &Call) -> Option<Fault> {
        if !(self.about)(call) {
            return None;
        }
        self.count += 1;
        self.turn.is_at(self.count).then_some(self.fault)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, turn, count, about: _ } = self;
        f.debug_struct("Rule").field("fault", fault).field("turn", turn).field("count", count).finish_non_exhaustive()
    }
}
