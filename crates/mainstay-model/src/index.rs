//! Positions in dense tables, one type per table, so that code cannot look up a node with the position of a domain.
//! They are valid inside one process and are never written down: records and objects carry names.

use std::fmt;

macro_rules! index {
    ($(#[$doc:meta])+ $name:ident) => {
        $(#[$doc])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// Marks no entry: no table is this long.
            pub const NONE: Self = Self(u32::MAX);

            /// Position of the entry that a table of this length gets next.
            #[must_use]
            pub fn next(len: usize) -> Self {
                u32::try_from(len).map_or(Self::NONE, Self)
            }

            /// Returns the position as a table takes it.
            #[must_use]
            pub const fn get(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

index!(
    /// Position of a node in the engine's table of nodes.
    NodeIndex
);
index!(
    /// Position of a pool, or of a failure domain within a pool, in a table of counts.
    DomainIndex
);
index!(
    /// Position of a place that may be the common cause of faults: a pool, a failure domain or a driver version.
    PlaceIndex
);
