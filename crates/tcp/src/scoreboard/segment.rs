//! What is known of a segment that left.

use cclab_units::Time;

/// A segment that is not yet acknowledged cumulatively.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// Offset of its first byte.
    pub start: u64,
    /// Bytes of sequence space.
    pub len: u32,
    /// When it last left.
    pub sent: Time,
    /// Delivery-rate state when it last left (draft-cheng-iccrg-delivery-rate-estimation).
    pub delivered: u64,
    /// See `delivered`.
    pub delivered_time: Time,
    /// See `delivered`.
    pub first_sent: Time,
    /// Bytes in flight when it last left, itself included.
    pub tx_in_flight: u32,
    /// [`Scoreboard::lost_ever`] when it last left, its low 32 bits.
    pub lost_ever: u32,
    /// Segments delivered with a mark when it last left, where the stack counts them.
    pub delivered_ce: u32,
    /// Acknowledged selectively.
    pub sacked: bool,
    /// Taken for lost.
    pub lost: bool,
    /// Retransmitted since it was last taken for lost: that copy is in the network, even if the loss
    /// was taken back.
    pub resent: bool,
    /// Retransmitted at least once.
    pub ever_resent: bool,
    /// Gives no RTT sample (Karn).
    pub no_rtt: bool,
    /// Sent while the application limited the sender.
    pub app_limited: bool,
    /// Carries the FIN, which takes the last byte of `len`.
    pub fin: bool,
    /// The detector of losses by time has done with it, until it leaves again.
    pub judged: bool,
}

impl Segment {
    /// Bytes taken for lost since it last left, given those of the connection's life.
    pub(crate) fn lost_since(&self, lost_ever: u64) -> u64 {
        u64::from((lost_ever as u32).wrapping_sub(self.lost_ever))
    }

    /// Offset after its last byte.
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Bytes of payload.
    pub fn payload(&self) -> u32 {
        self.len - u32::from(self.fin)
    }
}

const _: () = assert!(size_of::<Segment>() <= 64, "a segment is one cache line");
