//! What a link did.

use cclab_trace::schema::DropReason;

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

/// What few packets count.
#[derive(Clone, Debug, Default)]
pub struct Incidents {
    /// Largest backlog in bytes.
    pub backlog_max: u64,
    /// Copies that were born on the link.
    pub duplicates: u64,
    /// Packets lost, by reason: see [`cclab_trace::schema::LinkSummary`].
    pub queue_drops: u64,
    /// See `queue_drops`.
    pub random_drops: u64,
    /// See `queue_drops`.
    pub listed_drops: u64,
    /// See `queue_drops`.
    pub outage_drops: u64,
    /// See `queue_drops`.
    pub corrupt_drops: u64,
}

impl Incidents {
    /// Counts a loss.
    pub fn count_loss(&mut self, reason: DropReason) {
        match reason {
            DropReason::Queue => self.queue_drops += 1,
            DropReason::Random | DropReason::Burst => self.random_drops += 1,
            DropReason::Listed => self.listed_drops += 1,
            DropReason::Outage => self.outage_drops += 1,
            DropReason::Corrupt => self.corrupt_drops += 1,
        }
    }

    /// Packets lost, for whatever reason.
    pub fn drops(&self) -> u64 {
        self.queue_drops
            + self.random_drops
            + self.listed_drops
            + self.outage_drops
            + self.corrupt_drops
    }
}
