//! Entry points for the fuzzer to parsers of untrusted input whose modules are private. Those that are public anyway
//! (records of the kernel log, files of sysfs, the state file, what tests print) it calls where they are. See
//! `fuzz/README.md`.

use mainstay_model::SuiteName;
use mainstay_telemetry::metrics::Format;

use crate::control::{self, Request};
use crate::qualify::{Suite, SuiteProblem};
use crate::settings::CounterMapping;
use crate::sources::PollResult;
use crate::sources::scrape::Scraper;

/// What an exporter answers, with or without its HTTP head.
#[must_use]
pub fn exporter(answer: &str, counters: Vec<CounterMapping>) -> PollResult {
    Scraper::new(Vec::new(), counters).parse(answer)
}

/// A line on the socket of a running agent; whether it was understood.
#[must_use]
pub fn control_request(line: &str) -> bool {
    Request::read(line).is_some()
}

/// A length of time as a person writes it, in seconds.
#[must_use]
pub fn length(text: &str) -> Option<u64> {
    control::length(text).ok().map(|length| length.as_secs())
}

/// Content type of `/metrics` for an `Accept` header.
#[must_use]
pub fn metrics_content_type(accept: &str) -> &'static str {
    Format::negotiate(accept).content_type()
}

/// The file of a suite.
///
/// # Errors
/// Where it is none.
pub fn suite(text: &str, name: &SuiteName) -> Result<Suite, SuiteProblem> {
    Suite::parse(text, name)
}
