//! What is taken for lost, and what left again.

use cclab_cc::LostSegment;
use cclab_units::hint::unlikely;

use super::{Scoreboard, Segment, SegmentId};

impl Scoreboard {
    /// Takes a segment for lost, its retransmission included. Returns the bytes newly lost.
    pub fn mark_lost(&mut self, id: SegmentId) -> u64 {
        let segment = self.get_mut(id);
        let len = u64::from(segment.len);
        if segment.sacked || (segment.lost && !segment.resent) {
            return 0;
        }
        let was = *segment;
        segment.lost = true;
        segment.resent &= !was.lost;
        let segment = *segment;
        self.lost_ever += len;
        self.counts.lost_ever = self.counts.lost_ever.wrapping_add(1);
        if unlikely(self.tells_losses) {
            self.lists.just_lost.push(LostSegment {
                len,
                tx_in_flight: u64::from(segment.tx_in_flight),
                lost: segment.lost_since(self.lost_ever),
                app_limited: segment.app_limited,
            });
        }
        if !was.lost {
            self.lost += len;
            self.counts.lost += 1;
        } else if was.resent {
            self.no_longer_resent(&was);
        }
        if !segment.resent {
            self.wait(id);
        }
        len
    }

    /// A lost segment waits to be retransmitted.
    fn wait(&mut self, id: SegmentId) {
        // Where nothing else waits, nothing has to be passed over on the way to it.
        self.lost_hint = match self.counts.waiting {
            0 => id,
            _ => self.lost_hint.min(id),
        };
        self.counts.waiting += 1;
    }

    /// Takes everything that is not acknowledged selectively for lost. Returns the bytes newly
    /// lost.
    pub fn mark_all_lost(&mut self) -> u64 {
        self.ids().map(|id| self.mark_lost(id)).sum()
    }

    /// Nothing that is waiting to be retransmitted is lost after all.
    pub fn clear_lost(&mut self) {
        for id in self.ids() {
            let segment = self.get_mut(id);
            if segment.lost {
                let was = *segment;
                segment.lost = false;
                segment.resent = false;
                self.no_longer_lost(&was);
                if was.resent {
                    self.no_longer_resent(&was);
                }
            }
        }
    }

    /// Nothing is lost after all; what left again is in the network all the same.
    pub(crate) fn unmark_lost(&mut self) {
        for id in self.ids() {
            self.get_mut(id).lost = false;
        }
        self.lost = 0;
        self.counts.lost = 0;
        self.counts.waiting = 0;
    }

    /// The copy of a segment that left again is out of the network.
    pub(crate) fn forget_resent(&mut self, id: SegmentId) {
        let segment = self.get_mut(id);
        let was = *segment;
        segment.resent = false;
        if was.resent {
            self.no_longer_resent(&was);
            if was.lost {
                self.wait(id); // the only caller asks of segments that are not lost
            }
        }
    }

    /// A segment that was taken for lost, or left again, is acknowledged.
    #[cold]
    pub(super) fn no_longer_repaired(&mut self, id: SegmentId) {
        let segment = *self.get(id);
        if segment.lost {
            self.no_longer_lost(&segment);
        }
        if segment.resent {
            self.no_longer_resent(&segment);
        }
    }

    /// The detector of losses by time has done with a segment.
    pub(crate) fn set_judged(&mut self, id: SegmentId) {
        self.get_mut(id).judged = true;
    }

    /// The first segment that is lost and not yet retransmitted.
    #[inline]
    pub fn next_lost(&mut self) -> Option<SegmentId> {
        match self.counts.waiting {
            0 => None,
            _ => self.seek_lost(),
        }
    }

    #[inline(never)]
    fn seek_lost(&mut self) -> Option<SegmentId> {
        while self.lost_hint < self.tail {
            let segment = self.get(self.lost_hint);
            if segment.lost && !segment.resent {
                return Some(self.lost_hint);
            }
            self.lost_hint += 1;
        }
        None
    }

    /// Records that a segment left again. A segment not taken for lost (a probe) counts once
    /// in flight all the same.
    pub fn mark_resent(&mut self, id: SegmentId, update: impl FnOnce(&mut Segment)) -> Segment {
        let segment = self.get_mut(id);
        let len = u64::from(segment.len);
        let newly = segment.lost && !segment.resent;
        segment.resent |= segment.lost;
        segment.ever_resent = true;
        segment.no_rtt = true;
        segment.judged = false;
        update(segment);
        let segment = *segment;
        if newly {
            self.resent += len;
            self.counts.resent += 1;
            self.counts.waiting -= 1;
        }
        segment
    }

    pub(super) fn no_longer_lost(&mut self, segment: &Segment) {
        self.lost -= u64::from(segment.len);
        self.counts.lost -= 1;
        self.counts.waiting -= u32::from(!segment.resent);
    }

    pub(super) fn no_longer_resent(&mut self, segment: &Segment) {
        self.resent -= u64::from(segment.len);
        self.counts.resent -= 1;
    }
}
