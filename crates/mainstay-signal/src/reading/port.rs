//! Counters of InfiniBand and Ethernet ports, by the names of their files in sysfs
//! (`/sys/class/infiniband/*/ports/*/{counters,hw_counters}`, `/sys/class/net/*/carrier_changes`). Counters without a
//! known limit (`port_xmit_wait`, `out_of_sequence` and others) belong in a metrics store and are not read here.

/// One error counter of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortCounter {
    /// The link failed and did not recover.
    LinkDowned,
    /// The carrier of the interface appeared or disappeared.
    CarrierChanges,
    /// Link errors above the limit of the port.
    LocalLinkIntegrity,
    /// Consecutive buffer overruns.
    BufferOverrun,
    /// A receiver was not ready, even at the last retry.
    ReceiverNotReady,
    /// Invalid symbols on the link.
    SymbolError,
    /// The link failed and recovered.
    LinkRecovery,
    /// Packets that were received with an error.
    ReceiveErrors,
    /// Packets that could not be sent.
    TransmitDiscards,
    /// Acknowledgements that did not arrive in time.
    AckTimeout,
    /// Senders that slowed down after being idle.
    SlowRestart,
}

impl PortCounter {
    /// All counters that the agent reads.
    pub const ALL: [Self; 11] = [
        Self::LinkDowned,
        Self::CarrierChanges,
        Self::LocalLinkIntegrity,
        Self::BufferOverrun,
        Self::ReceiverNotReady,
        Self::SymbolError,
        Self::LinkRecovery,
        Self::ReceiveErrors,
        Self::TransmitDiscards,
        Self::AckTimeout,
        Self::SlowRestart,
    ];

    /// Returns the counter of a file, or `None` if it is not used.
    #[must_use]
    pub fn of_file(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|counter| counter.file() == name)
    }

    /// Returns the name of the counter's file.
    #[must_use]
    pub const fn file(self) -> &'static str {
        match self {
            Self::LinkDowned => "link_downed",
            Self::CarrierChanges => "carrier_changes",
            Self::LocalLinkIntegrity => "local_link_integrity_errors",
            Self::BufferOverrun => "excessive_buffer_overrun_errors",
            Self::ReceiverNotReady => "rnr_nak_retry_err",
            Self::SymbolError => "symbol_error",
            Self::LinkRecovery => "link_error_recovery",
            Self::ReceiveErrors => "port_rcv_errors",
            Self::TransmitDiscards => "port_xmit_discards",
            Self::AckTimeout => "local_ack_timeout_err",
            Self::SlowRestart => "roce_slow_restart",
        }
    }

    /// Returns the evidence code of the counter.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::LinkDowned => "link-downed",
            Self::CarrierChanges => "carrier-changes",
            Self::LocalLinkIntegrity => "local-link-integrity-errors",
            Self::BufferOverrun => "excessive-buffer-overrun-errors",
            Self::ReceiverNotReady => "rnr-nak-retry-err",
            Self::SymbolError => "symbol-error",
            Self::LinkRecovery => "link-error-recovery",
            Self::ReceiveErrors => "port-rcv-errors",
            Self::TransmitDiscards => "port-xmit-discards",
            Self::AckTimeout => "local-ack-timeout-err",
            Self::SlowRestart => "roce-slow-restart",
        }
    }
}

impl PortCounter {
    /// Returns the minimum increase to report: one for errors that should never happen; for counters that normally
    /// rise, a value well below any limit.
    pub(super) const fn grain(self) -> u64 {
        match self {
            Self::LinkDowned
            | Self::CarrierChanges
            | Self::LocalLinkIntegrity
            | Self::BufferOverrun
            | Self::ReceiverNotReady => 1,
            Self::LinkRecovery => 10,
            Self::SymbolError => 20,
            Self::AckTimeout => 100,
            Self::ReceiveErrors | Self::SlowRestart => 1_000,
            Self::TransmitDiscards => 10_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_name_of_the_file_with_dashes() {
        for counter in PortCounter::ALL {
            assert_eq!(counter.word(), counter.file().replace('_', "-"));
            assert_eq!(PortCounter::of_file(counter.file()), Some(counter));
        }
        assert_eq!(PortCounter::of_file("port_rcv_data"), None);
    }
}
