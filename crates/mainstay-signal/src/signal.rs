//! One event from a line or a reading. It is bounded and typed, and it is not judged.

use mainstay_model::{Code, Detail, Source};

use crate::Place;
use crate::scan::clean;

/// Placeholder for an invalid code, such as an XID of ten digits.
pub(crate) const UNREADABLE: &str = "unreadable";

/// One event: source, code, place and detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// The source of the event.
    pub source: Source,
    /// The fault code.
    pub code: Code,
    /// The place of the event.
    pub place: Place,
    /// Detail that distinguishes events with the same code. It becomes part of the evidence key, so it contains nothing
    /// that differs from line to line (process, address, time) and nothing that a tenant may choose.
    pub detail: Detail,
}

// === impl Signal ===

impl Signal {
    /// Codes are constants of this crate or short numbers, and details are cleaned here, so the conversion never fails.
    /// The tests check this for every line they contain. The model has no constructor that states it in its type.
    pub(crate) fn new(source: Source, code: &str, place: Place, detail: &str) -> Option<Self> {
        let code = Code::parse(code).ok()?;
        Some(Self { source, code, place, detail: bounded_detail(detail)? })
    }
}

/// Converts text to a detail; this is the only conversion.
pub(crate) fn bounded_detail(text: &str) -> Option<Detail> {
    Detail::parse(&clean(text, Detail::BYTES_MAX)).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_words_become_a_detail(text in any::<String>()) {
            prop_assert!(bounded_detail(&text).is_some());
        }
    }
}
