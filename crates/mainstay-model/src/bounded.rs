//! Bounded text and lists: every text from outside enters the model in one of these types.
//!
//! A text has one byte per character in JSON and no control characters. A stated limit is therefore a limit in bytes,
//! and printing text from a hostile node is safe. The caller decides about truncation.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

/// The reason why a text was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// The text is empty where a name is required.
    #[error("{what} is empty")]
    Empty {
        /// The type that rejected the text.
        what: &'static str,
    },
    /// The text is longer than its bound.
    #[error("{what} has {bytes} bytes; at most {bytes_max} are taken")]
    TooLong {
        /// The type that rejected the text.
        what: &'static str,
        /// Length of the text, in bytes.
        bytes: usize,
        /// Maximum length, in bytes.
        bytes_max: usize,
    },
    /// The text has a character outside the type's alphabet.
    #[error("{what} has a character that is not taken, at byte {at}")]
    Character {
        /// The type that rejected the text.
        what: &'static str,
        /// Position of the first invalid character.
        at: usize,
    },
}

/// A list is longer than its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a list of {len} items; at most {len_max} are taken")]
pub struct TooMany {
    /// Length of the rejected list.
    pub len: usize,
    /// Maximum length of the list.
    pub len_max: usize,
}

/// A list of at most `MAX` items, in order. It allocates no spare capacity: a fleet keeps a dozen of these lists per
/// node, most of them are empty or short, and they seldom change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Bounded<T, const MAX: usize>(Box<[T]>);

// === impl Bounded ===

impl<T, const MAX: usize> Bounded<T, MAX> {
    /// Creates an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self(Box::default())
    }

    /// Creates a list from items that cannot be more than `MAX`.
    ///
    /// # Panics
    /// More items are a defect of the caller: to drop some of them, or all, would hide it.
    #[must_use]
    pub fn within(items: impl IntoIterator<Item = T>) -> Self {
        let items: Box<[T]> = items.into_iter().collect();
        assert!(items.len() <= MAX, "{} items in a list of at most {MAX}", items.len());
        Self(items)
    }

    /// Returns the items, oldest or first-named first.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// Adds an item and drops the oldest one if the list is full. Use it for histories, where the newest items matter
    /// most.
    pub fn push_forgetting_oldest(&mut self, item: T) {
        if MAX == 0 {
            return;
        }
        self.edit(|items| {
            if items.len() >= MAX {
                items.remove(0);
            }
            items.reserve_exact(1);
            items.push(item);
        });
    }

    /// Removes the last item for which `wanted` returns true, if there is one.
    pub fn remove_last(&mut self, wanted: impl FnMut(&T) -> bool) {
        if let Some(last) = self.0.iter().rposition(wanted) {
            self.edit(|items| drop(items.remove(last)));
        }
    }

    /// Keeps only the items for which `wanted` returns true.
    pub fn retain(&mut self, wanted: impl FnMut(&T) -> bool) {
        self.edit(|items| items.retain(wanted));
    }

    /// Returns an iterator that can change the items in place.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.0.iter_mut()
    }

    /// Adds an item if the list has room.
    ///
    /// # Errors
    /// Returns [`TooMany`] if the list is full. The item is dropped and the list stays unchanged.
    pub fn try_push(&mut self, item: T) -> Result<(), TooMany> {
        if self.0.len() >= MAX {
            return Err(TooMany { len: self.0.len() + 1, len_max: MAX });
        }
        self.edit(|items| {
            items.reserve_exact(1);
            items.push(item);
        });
        Ok(())
    }

    fn edit(&mut self, change: impl FnOnce(&mut Vec<T>)) {
        let mut items = std::mem::take(&mut self.0).into_vec();
        change(&mut items);
        self.0 = items.into_boxed_slice();
    }
}

impl<T, const MAX: usize> Default for Bounded<T, MAX> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const MAX: usize> TryFrom<Vec<T>> for Bounded<T, MAX> {
    type Error = TooMany;

    fn try_from(items: Vec<T>) -> Result<Self, TooMany> {
        if items.len() > MAX { Err(TooMany { len: items.len(), len_max: MAX }) } else { Ok(Self(items.into())) }
    }
}

impl<T, const MAX: usize> From<Bounded<T, MAX>> for Vec<T> {
    fn from(items: Bounded<T, MAX>) -> Self {
        items.0.into_vec()
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Bounded<T, MAX> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(Vec::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema, const MAX: usize> schemars::JsonSchema for Bounded<T, MAX> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{}AtMost{MAX}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        // One writer owns each list as a whole. An atomic list needs one entry in managedFields. A list-map would
        // repeat every key there and double the stored size.
        schemars::json_schema!({
            "type": "array",
            "items": generator.subschema_for::<T>(),
            "maxItems": MAX,
            "x-kubernetes-list-type": "atomic",
        })
    }
}

/// The characters that a bounded text may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alphabet {
    /// Names and ids: letters, digits and `. _ : / @ + -`, starting with a letter or digit; never empty.
    Token,
    /// Messages: printable ASCII without the five characters that JSON writers escape.
    Line,
}

impl Alphabet {
    #[cfg(feature = "schema")]
    pub(crate) const fn pattern(self) -> &'static str {
        match self {
            Self::Token => "^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$",
            Self::Line => r"^[ !#-%'-;=?-\[\]-~]*$",
        }
    }

    pub(crate) const fn takes(self, at: usize, byte: u8) -> bool {
        match self {
            Self::Token => {
                let is_separator = matches!(byte, b'.' | b'_' | b':' | b'/' | b'@' | b'+' | b'-');
                byte.is_ascii_alphanumeric() || (at > 0 && is_separator)
            }
            Self::Line => matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'&' | b'<' | b'>' | b'\\'),
        }
    }

    /// Checks a text. It is a const function, without iterators, so that [`Literal`] can check at compile time.
    pub(crate) const fn check(self, what: &'static str, text: &str, bytes_max: usize) -> Result<(), TextError> {
        let bytes = text.as_bytes();
        if bytes.is_empty() && matches!(self, Self::Token) {
            return Err(TextError::Empty { what });
        }
        if bytes.len() > bytes_max {
            return Err(TextError::TooLong { what, bytes: bytes.len(), bytes_max });
        }
        let mut at = 0;
        while at < bytes.len() {
            if !self.takes(at, bytes[at]) {
                return Err(TextError::Character { what, at });
            }
            at += 1;
        }
        Ok(())
    }
}

/// A bounded text that is known at compile time. A constant with a text that its type rejects does not compile, so code
/// needs no error path for it.
///
/// ```
/// use mainstay_model::{Literal, RuleName};
///
/// const DRAIN: Literal<RuleName> = RuleName::literal("drain");
/// assert_eq!(RuleName::from(DRAIN).as_str(), "drain");
/// ```
///
/// ```compile_fail
/// use mainstay_model::{Literal, RuleName};
///
/// const WITH_BLANK: Literal<RuleName> = RuleName::literal("no blanks");
/// ```
#[derive(Debug)]
pub struct Literal<T> {
    text: &'static str,
    of: PhantomData<fn() -> T>,
}

// === impl Literal ===

impl<T> Literal<T> {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self { text, of: PhantomData }
    }

    /// Returns the text as a string slice.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        self.text
    }
}

impl<T: From<Self>> Literal<T> {
    /// Returns the text as an owned value of its type.
    #[must_use]
    pub fn get(self) -> T {
        T::from(self)
    }
}

impl<T> Clone for Literal<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Literal<T> {}

impl<T> PartialEq for Literal<T> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<T> Eq for Literal<T> {}

/// Declares a text newtype with its alphabet and limit. The CRD schema states the same two.
macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $alphabet:ident, $bytes_max:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(ecow::EcoString);

        impl $name {
            /// Maximum length in bytes.
            pub const BYTES_MAX: usize = $bytes_max;

            /// Parses a text that satisfies alphabet and limit.
            ///
            /// # Errors
            /// [`TextError`](crate::TextError) names the rule that the text breaks.
            pub fn parse(text: &str) -> Result<Self, $crate::TextError> {
                $crate::bounded::Alphabet::$alphabet.check(stringify!($name), text, Self::BYTES_MAX)?;
                Ok(Self(text.into()))
            }

            /// Checks a text at compile time. Call it in a constant only: elsewhere a text that is rejected panics.
            #[must_use]
            pub const fn literal(text: &'static str) -> $crate::Literal<Self> {
                let checked = $crate::bounded::Alphabet::$alphabet.check(stringify!($name), text, Self::BYTES_MAX);
                assert!(checked.is_ok(), concat!("the literal is no ", stringify!($name)));
                $crate::Literal::new(text)
            }

            /// Returns the text as a string slice.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<$crate::Literal<Self>> for $name {
            fn from(literal: $crate::Literal<Self>) -> Self {
                Self(literal.as_str().into())
            }
        }

        impl PartialEq<$crate::Literal<Self>> for $name {
            fn eq(&self, literal: &$crate::Literal<Self>) -> bool {
                self.0 == literal.as_str()
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::TextError;

            fn from_str(text: &str) -> Result<Self, $crate::TextError> {
                Self::parse(text)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let alphabet = $crate::bounded::Alphabet::$alphabet;
                schemars::json_schema!({
                    "type": "string",
                    "maxLength": Self::BYTES_MAX,
                    "pattern": alphabet.pattern(),
                })
            }
        }
    };
}
pub(crate) use text;

#[cfg(test)]
mod tests;
