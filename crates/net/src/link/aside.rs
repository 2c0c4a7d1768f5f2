//! What packets seldom touch of a link.

use cclab_trace::schema::DropReason;
use cclab_units::{Rare, Rate, Usual};

/// What lies beside a link, in a place of its own.
pub struct Aside {
    /// Its rate at the beginning; `None`: infinitely fast.
    pub rate: Option<Rate>,
    /// The link that alone feeds this one, ahead of time.
    pub fed_by: Option<u32>,
    /// Largest backlog in bytes.
    pub backlog_max: u64,
    /// What else happened, on most links nothing.
    pub incidents: Rare<Incidents>,
    /// At the end, packets on the wire and those that the next links have ahead of their time.
    pub(super) in_flight: u64,
}

impl Aside {
    /// Of a link that has done nothing yet.
    pub(super) fn new(rate: Option<Rate>) -> Aside {
        Aside {
            rate,
            fed_by: None,
            backlog_max: 0,
            incidents: Rare::default(),
            in_flight: 0,
        }
    }

    /// So many bytes wait.
    #[inline]
    pub(super) fn note_backlog(&mut self, bytes: u64) {
        self.backlog_max = self.backlog_max.max(bytes);
    }

    /// Counts packets that a queue lost.
    #[inline]
    pub(super) fn count_queue_drops(&mut self, lost: u64) {
        if lost > 0 {
            self.incidents.queue_drops += lost;
        }
    }
}

/// What few packets count, and on most links none.
#[derive(Clone, Copy, Debug)]
pub struct Incidents {
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

impl Usual for Incidents {
    const USUAL: &'static Incidents = &Incidents {
        duplicates: 0,
        queue_drops: 0,
        random_drops: 0,
        listed_drops: 0,
        outage_drops: 0,
        corrupt_drops: 0,
    };
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
