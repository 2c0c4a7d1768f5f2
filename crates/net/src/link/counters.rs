//! What a link did.

/// What every packet counts: it lies beside what every packet touches.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Counters {
    /// Packets offered.
    pub offered: u64,
    /// Packets handed to the other end.
    pub delivered: u64,
    /// Bytes that the transmitter has taken on, the packet in transmission included.
    pub(super) taken_bytes: u64,
}
