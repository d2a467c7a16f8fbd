//! The functions of this library by name, so that a script cannot name one that is not there.

use crate::abi;

/// Every function that the library exports.
#[must_use]
pub fn all() -> Vec<&'static str> {
    abi::SYMBOLS.iter().flat_map(|group| group.iter().copied()).collect()
}

/// Whether a script may name it: a function, or `*` for every one.
pub(crate) fn is_known(symbol: &str) -> bool {
    symbol == "*" || abi::SYMBOLS.iter().any(|group| group.contains(&symbol))
}
