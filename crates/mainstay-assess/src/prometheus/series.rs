//! The series that are asked for, and how: each with the reading that it becomes, the same as the node agent makes of it.

use mainstay_signal::{Flag, Reading};

use super::DRAM;

/// How the values of a series become readings.
#[derive(Clone, Copy)]
pub(super) enum SeriesKind {
    /// A total that only rises.
    Total(fn(u64) -> Reading),
    /// Something that is so, or not.
    State(fn(Flag) -> Reading),
    /// The last Xid, again and again.
    LastXid,
}

/// One series.
pub(super) struct Query {
    pub(super) metric: &'static str,
    pub(super) asked: SeriesKind,
}

impl Query {
    pub(super) fn all() -> [Self; 6] {
        [
            Self {
                metric: "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
                asked: SeriesKind::Total(|total| Reading::EccUncorrected(DRAM, total)),
            },
            Self {
                metric: "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
                asked: SeriesKind::Total(|total| Reading::EccCorrected(DRAM, total)),
            },
            Self { metric: "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", asked: SeriesKind::Total(Reading::PcieReplays) },
            Self { metric: "DCGM_FI_DEV_ROW_REMAP_FAILURE", asked: SeriesKind::State(Reading::RemapFailed) },
            Self { metric: "DCGM_FI_DEV_ROW_REMAP_PENDING", asked: SeriesKind::State(Reading::RemapPending) },
            Self { metric: "DCGM_FI_DEV_XID_ERRORS", asked: SeriesKind::LastXid },
        ]
    }

    /// In the server's language: only hours in which something happened. A total is asked for twice, at the end of such an
    /// hour and at the end of the one before; five minutes more, because it may have risen between two scrapes.
    pub(super) fn texts(&self) -> Vec<String> {
        let metric = self.metric;
        match self.asked {
            SeriesKind::Total(_) => vec![
                format!("last_over_time({metric}[1h]) and changes({metric}[65m]) > 0"),
                format!("last_over_time({metric}[1h] offset 1h) and changes({metric}[65m]) > 0"),
            ],
            SeriesKind::State(_) => vec![format!("max_over_time({metric}[1h]) > 0")],
            SeriesKind::LastXid => vec![format!("last_over_time({metric}[1h]) > 0 and changes({metric}[65m]) > 0")],
        }
    }
}
