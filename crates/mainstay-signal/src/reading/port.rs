//! Counters of InfiniBand and Ethernet ports, by the names of their files in sysfs
//! (`/sys/class/infiniband/*/ports/*/{counters,hw_counters}`, `/sys/class/net/*/{statistics,carrier_changes}`).

/// One counter of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortCounter {
    /// The link failed and was not recovered.
    LinkDowned,
    /// The carrier of the interface came or went.
    CarrierChanges,
    /// Errors of the link beyond what it may have.
    LocalLinkIntegrity,
    /// Buffers overran in a row.
    BufferOverrun,
    /// A receiver was not ready, to the last retry.
    ReceiverNotReady,
    /// Symbols that were none.
    SymbolError,
    /// The link failed and was recovered.
    LinkRecovery,
    /// Packets received with an error.
    ReceiveErrors,
    /// Packets received and thrown away.
    ReceiveDiscards,
    /// Packets that the other end marked as broken.
    RemotePhysical,
    /// Packets that could not be relayed.
    SwitchRelay,
    /// Packets that were not sent.
    TransmitDiscards,
    /// Ticks with something to send and no credit.
    TransmitWait,
    /// Answers that did not come in time.
    AckTimeout,
    /// Sequences that imply a loss.
    ImpliedNak,
    /// Packets out of order.
    OutOfSequence,
    /// Packets of a wrong sequence.
    PacketSequence,
    /// Requests given up.
    RetriesExceeded,
    /// Senders that slowed down after being idle.
    SlowRestart,
    /// Frames with a wrong checksum.
    RxCrc,
    /// Frames received with an error.
    RxErrors,
    /// Frames that there was no room for.
    RxMissed,
    /// Frames that found no carrier.
    TxCarrier,
    /// Frames that were not sent.
    TxErrors,
}

impl PortCounter {
    /// Every counter that is read.
    pub const ALL: [Self; 24] = [
        Self::LinkDowned,
        Self::CarrierChanges,
        Self::LocalLinkIntegrity,
        Self::BufferOverrun,
        Self::ReceiverNotReady,
        Self::SymbolError,
        Self::LinkRecovery,
        Self::ReceiveErrors,
        Self::ReceiveDiscards,
        Self::RemotePhysical,
        Self::SwitchRelay,
        Self::TransmitDiscards,
        Self::TransmitWait,
        Self::AckTimeout,
        Self::ImpliedNak,
        Self::OutOfSequence,
        Self::PacketSequence,
        Self::RetriesExceeded,
        Self::SlowRestart,
        Self::RxCrc,
        Self::RxErrors,
        Self::RxMissed,
        Self::TxCarrier,
        Self::TxErrors,
    ];

    /// The counter that a file holds; none where nobody asks for it.
    #[must_use]
    pub fn of_file(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|counter| counter.file() == name)
    }

    /// The name of its file.
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
            Self::ReceiveDiscards => "port_rcv_discards",
            Self::RemotePhysical => "port_rcv_remote_physical_errors",
            Self::SwitchRelay => "port_rcv_switch_relay_errors",
            Self::TransmitDiscards => "port_xmit_discards",
            Self::TransmitWait => "port_xmit_wait",
            Self::AckTimeout => "local_ack_timeout_err",
            Self::ImpliedNak => "implied_nak_seq_err",
            Self::OutOfSequence => "out_of_sequence",
            Self::PacketSequence => "packet_seq_err",
            Self::RetriesExceeded => "req_transport_retries_exceeded",
            Self::SlowRestart => "roce_slow_restart",
            Self::RxCrc => "rx_crc_errors",
            Self::RxErrors => "rx_errors",
            Self::RxMissed => "rx_missed_errors",
            Self::TxCarrier => "tx_carrier_errors",
            Self::TxErrors => "tx_errors",
        }
    }

    /// The same as a code.
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
            Self::ReceiveDiscards => "port-rcv-discards",
            Self::RemotePhysical => "port-rcv-remote-physical-errors",
            Self::SwitchRelay => "port-rcv-switch-relay-errors",
            Self::TransmitDiscards => "port-xmit-discards",
            Self::TransmitWait => "port-xmit-wait",
            Self::AckTimeout => "local-ack-timeout-err",
            Self::ImpliedNak => "implied-nak-seq-err",
            Self::OutOfSequence => "out-of-sequence",
            Self::PacketSequence => "packet-seq-err",
            Self::RetriesExceeded => "req-transport-retries-exceeded",
            Self::SlowRestart => "roce-slow-restart",
            Self::RxCrc => "rx-crc-errors",
            Self::RxErrors => "rx-errors",
            Self::RxMissed => "rx-missed-errors",
            Self::TxCarrier => "tx-carrier-errors",
            Self::TxErrors => "tx-errors",
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
