//! The first line of a journal.

use mainstay_api::CELL_NAME;
use mainstay_engine::record;
use serde::{Deserialize, Serialize};

/// Format version of the files that this build writes, and the only one that it reads.
pub const JOURNAL_FORMAT: u32 = 1;

/// First line of a journal: which program wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Format version of the file.
    pub journal: u32,
    /// Version of Mainstay that decided.
    pub mainstay: String,
    /// Digest of the fault catalogue that it used.
    pub catalogue: String,
    /// Name of the Cell.
    pub cell: String,
}

impl Header {
    /// The header that this build writes.
    #[must_use]
    pub fn of_this_build() -> Self {
        Self {
            journal: JOURNAL_FORMAT,
            mainstay: env!("CARGO_PKG_VERSION").to_owned(),
            catalogue: record::catalogue_digest(),
            cell: CELL_NAME.to_owned(),
        }
    }
}
