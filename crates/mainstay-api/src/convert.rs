//! Conversion between custom resources and the model. It is total: every stored object is converted, or rejected with a
//! named error, and what the model holds survives the round trip. Nothing is decided here.
//!
//! The server's schemas reject most invalid objects before they are stored. This code does not rely on that: an
//! installed definition may be older than this program, and a backup may hold anything.

mod cell;
mod fabric;
mod fleet_policy;
mod gpu_node;
mod node_report;
mod slo;
mod subject;

pub use fabric::Topology;
pub use gpu_node::DisplayFields;

use mainstay_model::{Bounded, TooMany};

/// Why a stored object cannot be converted to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConversionError {
    /// A number that counts something is below zero.
    #[error("{field} is {value}; it must not be negative")]
    Negative {
        /// Which field.
        field: &'static str,
        /// What it says.
        value: i64,
    },
    /// A number is larger than anything of its kind.
    #[error("{field} is {value}; the maximum is {value_max}")]
    TooLarge {
        /// Which field.
        field: &'static str,
        /// What it says.
        value: i64,
        /// The most that is taken.
        value_max: i64,
    },
    /// A list is longer than its bound.
    #[error("{field}: {too_many}")]
    TooMany {
        /// Which field.
        field: &'static str,
        /// How long it is.
        too_many: TooMany,
    },
    /// A list names the same thing twice, so it is unclear which one applies.
    #[error("{field} names {name} twice")]
    Twice {
        /// Which field.
        field: &'static str,
        /// What.
        name: String,
    },
    /// Of two exclusive fields, both or neither is set.
    #[error("{field} has {found}; set exactly one of {choices}")]
    Choice {
        /// Which field.
        field: &'static str,
        /// What is set.
        found: &'static str,
        /// What one of is to be set.
        choices: &'static str,
    },
    /// The lower of two limits is above the upper one.
    #[error("{field} is {value}; it must not exceed {field_max}, which is {value_max}")]
    Exceeds {
        /// Field of the lower limit.
        field: &'static str,
        /// The lower limit.
        value: i64,
        /// Field of the upper limit.
        field_max: &'static str,
        /// The upper limit.
        value_max: i64,
    },
    /// A service level objective is outside its limits.
    #[error("{0}")]
    Objective(String),
}

/// A count that cannot be negative.
fn count(field: &'static str, value: i64) -> Result<u64, ConversionError> {
    u64::try_from(value).map_err(|_| ConversionError::Negative { field, value })
}

/// A count of a smaller kind.
fn small<T: TryFrom<i64>>(field: &'static str, value: i64, value_max: i64) -> Result<T, ConversionError> {
    if value < 0 {
        return Err(ConversionError::Negative { field, value });
    }
    let refused = ConversionError::TooLarge { field, value, value_max };
    if value > value_max { Err(refused) } else { T::try_from(value).map_err(|_| refused) }
}

/// A count of the model's in the API's integers, which have a sign; one that does not fit says no more by growing.
fn wire64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn wire32(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// Every item of a list, turned.
fn each<'a, A, B, const FROM: usize, const TO: usize>(
    field: &'static str,
    items: &'a Bounded<A, FROM>,
    turn: impl FnMut(&'a A) -> Result<B, ConversionError>,
) -> Result<Bounded<B, TO>, ConversionError> {
    let turned: Vec<B> = items.as_slice().iter().map(turn).collect::<Result<_, _>>()?;
    Bounded::try_from(turned).map_err(|too_many| ConversionError::TooMany { field, too_many })
}

/// Every item of a list, turned; both lists have one bound, so none is left out.
fn all<A, B, const MAX: usize>(items: &Bounded<A, MAX>, turn: impl FnMut(&A) -> B) -> Bounded<B, MAX> {
    Bounded::within(items.as_slice().iter().map(turn))
}

#[cfg(test)]
mod tests;
