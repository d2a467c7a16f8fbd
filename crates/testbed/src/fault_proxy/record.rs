//! What a program under test has sent, and what the real API server answered to its writes.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use serde_json::Value;

use super::Call;
use crate::go::short_sha256;

/// Calls that are remembered; the oldest go first.
const CALLS_MAX: usize = 100_000;
/// Writes that are remembered with their bodies; the oldest go first.
const WRITES_MAX: usize = 20_000;
/// A larger body is remembered by its digest alone.
const BODY_BYTES_MAX: usize = 16 << 10;

/// A write as the program under test sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentWrite {
    /// Verb, place and name of the write.
    pub call: Call,
    /// Content type, which differs between the kinds of patches.
    pub content_type: String,
    /// The first 16 hexadecimal digits of the body's SHA-256.
    pub digest: String,
    /// The body; empty where it has more than 16 KiB.
    pub body: Bytes,
    /// HTTP status of the API server's answer. `None` where the server did not get the write, or has not answered yet.
    pub status: Option<u16>,
}

impl SentWrite {
    /// Whether the server carried it out, whatever the program under test saw of the answer.
    pub fn is_carried_out(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Where the server's answer to a write is noted.
pub(super) type Answer = Arc<OnceLock<u16>>;

#[derive(Debug, Default)]
pub(super) struct Record {
    calls: VecDeque<Call>,
    written: VecDeque<(SentWrite, Answer)>,
    writes: u64,
}

impl Record {
    /// Remembers a call and, if it is a write, its body.
    pub(super) fn enter(&mut self, call: &Call, content_type: &str, body: &Bytes) -> Answer {
        let answer = Answer::default();
        push(&mut self.calls, CALLS_MAX, call.clone());
        if call.is_write() {
            let kept = if body.len() > BODY_BYTES_MAX { Bytes::new() } else { body.clone() };
            let (call, content_type, digest) = (call.clone(), content_type.to_owned(), short_sha256(body));
            let write = SentWrite { call, content_type, digest, body: kept, status: None };
            push(&mut self.written, WRITES_MAX, (write, Arc::clone(&answer)));
            self.writes += 1;
        }
        answer
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.calls.iter().cloned().collect()
    }

    pub(super) fn written(&self) -> Vec<SentWrite> {
        let answered =
            |(write, answer): &(SentWrite, Answer)| SentWrite { status: answer.get().copied(), ..write.clone() };
        self.written.iter().map(answered).collect()
    }

    pub(super) const fn writes(&self) -> u64 {
        self.writes
    }
}

fn push<T>(queue: &mut VecDeque<T>, items_max: usize, item: T) {
    if queue.len() >= items_max {
        queue.pop_front();
    }
    queue.push_back(item);
}
