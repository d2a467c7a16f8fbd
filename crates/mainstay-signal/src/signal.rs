//! One thing that a line says. It is bounded and typed, and it is not judged.

use mainstay_model::{Code, Detail, Source};

use crate::Place;
use crate::scan::clean;

/// A code that was clearly meant as one and cannot be one, such as an XID of ten digits.
pub(crate) const UNREADABLE: &str = "unreadable";

/// What a line says: who, what, where, and which of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// Who said it.
    pub source: Source,
    /// In which words.
    pub code: Code,
    /// Where.
    pub place: Place,
    /// Which of its kind. It becomes part of the key of evidence, so it holds nothing that differs from line to line
    /// (process, address, time) and nothing that a tenant may choose.
    pub detail: Detail,
}

// === impl Signal ===

impl Signal {
    /// Codes are words of this crate or short numbers, and details are cleaned here, so nothing is refused; the tests
    /// hold every line they know to that. The model has no constructor that says so in its type.
    pub(crate) fn new(source: Source, code: &str, place: Place, detail: &str) -> Option<Self> {
        let code = Code::parse(code).ok()?;
        Some(Self { source, code, place, detail: bounded_detail(detail)? })
    }
}

/// The one way in which words become a detail.
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
