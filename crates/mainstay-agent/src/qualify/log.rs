//! What a test said, bounded: its beginning, where it says what it is about to do, and its end, where it says what went
//! wrong.

use std::collections::VecDeque;

use serde::Serialize;

/// Of the beginning, and of the end.
const SIDE_BYTES_MAX: usize = 16 * 1024;

/// The beginning and the end of what was said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Log {
    /// How it began.
    pub head: String,
    /// How it ended, where that is not in the beginning.
    pub tail: String,
    /// How many bytes between the two are left out.
    pub left_out: u64,
    #[serde(skip)]
    first: Vec<u8>,
    #[serde(skip)]
    last: VecDeque<u8>,
}

// === impl Log ===

impl Log {
    /// Takes what was said, output and complaints in the order in which they came.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let fits = (SIDE_BYTES_MAX - self.first.len()).min(bytes.len());
        let (first, last) = bytes.split_at(fits);
        self.first.extend_from_slice(first);
        self.last.extend(last);
        let over = self.last.len().saturating_sub(SIDE_BYTES_MAX);
        self.last.drain(..over);
        self.left_out += u64::try_from(over).unwrap_or(0);
    }

    /// As text.
    pub(super) fn ended(mut self) -> Self {
        self.head = String::from_utf8_lossy(&std::mem::take(&mut self.first)).into_owned();
        self.tail = String::from_utf8_lossy(std::mem::take(&mut self.last).make_contiguous()).into_owned();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_are_kept_and_what_is_between_is_counted() {
        let mut log = Log::default();
        for number in 0..100_000 {
            log.take(format!("{number}\n").as_bytes());
        }
        let log = log.ended();
        assert!(log.head.starts_with("0\n1\n") && log.tail.ends_with("99998\n99999\n"));
        let kept = u64::try_from(log.head.len() + log.tail.len()).unwrap();
        assert_eq!((log.head.len(), log.tail.len(), kept + log.left_out), (SIDE_BYTES_MAX, SIDE_BYTES_MAX, 588_890));
    }

    #[test]
    fn a_short_log_is_all_head() {
        let mut log = Log::default();
        log.take(b"all");
        let log = log.ended();
        assert_eq!((log.head.as_str(), log.tail.as_str(), log.left_out), ("all", "", 0));
    }
}
