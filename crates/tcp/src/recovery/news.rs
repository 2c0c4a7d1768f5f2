//! What an acknowledgement tells loss recovery.

use cclab_units::Time;

/// Duplicate ACKs that show a loss (RFC 5681 section 3.2).
pub(crate) const DUP_THRESH: u32 = 3;

/// What an acknowledgement means for loss recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckNews {
    pub ack: u64,
    pub advanced: bool,
    pub newly_acked: u64,
    pub newly_delivered: u64,
    /// A duplicate acknowledgement (RFC 5681 section 2).
    pub duplicate: bool,
    /// A duplicate segment was reported (RFC 2883).
    pub dsack: bool,
    /// Where what was reported ends; 0 if nothing was.
    pub dsack_end: u64,
    /// A segment was delivered that left before the episode and was never retransmitted.
    pub original_delivered: bool,
    /// RTT by the last segment newly acknowledged, if it left once.
    pub newest_rtt: Option<Time>,
    pub tsecr: u32,
}
