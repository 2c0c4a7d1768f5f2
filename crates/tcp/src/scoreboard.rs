//! What has been sent and not yet acknowledged: one record per segment, in sequence order, and
//! the counts from which the bytes in flight follow.
//!
//! A segment is found by its identity, the count of segments sent before it, so that cursors
//! into the scoreboard stay valid while it slides.

mod lost;
mod segment;
#[cfg(test)]
mod tests;

use std::ops::Range;

use cclab_cc::LostSegment;
use cclab_packet::MAX_SACK_BLOCKS;
use cclab_units::hint::{rarely, unlikely};
use cclab_units::memory::prefetch;
use cclab_units::{Rare, Usual};

pub use segment::Segment;

/// So many segments from the last one that was acknowledged selectively are looked at before the rest is searched.
const NEAR: u64 = 4;

/// Identity of a segment: how many were sent before it.
pub type SegmentId = u64;

/// Segments where [`Scoreboard`] counts bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Taken for lost.
    pub lost: u32,
    /// Retransmitted and in the network.
    pub resent: u32,
    /// Taken for lost and not retransmitted since.
    pub waiting: u32,
    /// Taken for lost over the connection's life, modulo 2^32.
    pub lost_ever: u32,
    /// Delivered, as duplicate acknowledgements without SACK tell: how many, but not which.
    pub presumed: u32,
}

/// The segments between `snd_una` and `snd_nxt`.
#[derive(Debug)]
pub struct Scoreboard {
    ring: Box<[Segment]>,
    head: SegmentId,
    tail: SegmentId,
    outstanding: u64,
    sacked: u64,
    sacked_segments: u64,
    lost: u64,
    lost_ever: u64,
    /// What lists there are.
    pub(crate) lists: Rare<Lists>,
    tells_losses: bool,
    resent: u64,
    counts: Counts,
    /// No segment before this one is lost and waiting to be retransmitted.
    lost_hint: SegmentId,
    highest_sacked: SegmentId,
}

/// What a scoreboard lists once segments were lost or selected.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    /// What was taken for lost and not yet told to a variant that wants to know.
    pub just_lost: Vec<LostSegment>,
    /// Blocks of the previous acknowledgement: what they covered need not be walked again.
    previous_blocks: [(u64, u64); MAX_SACK_BLOCKS],
    /// How many.
    previous: usize,
}

impl Lists {
    fn previous(&self) -> &[(u64, u64)] {
        &self.previous_blocks[..self.previous]
    }
}

impl Usual for Lists {
    const USUAL: &'static Lists = &Lists {
        just_lost: Vec::new(),
        previous_blocks: [(0, 0); MAX_SACK_BLOCKS],
        previous: 0,
    };
}

impl Default for Scoreboard {
    fn default() -> Scoreboard {
        Scoreboard {
            ring: vec![Segment::default(); 1].into_boxed_slice(),
            head: 0,
            tail: 0,
            outstanding: 0,
            sacked: 0,
            sacked_segments: 0,
            lost: 0,
            lost_ever: 0,
            lists: Rare::default(),
            tells_losses: false,
            resent: 0,
            counts: Counts::default(),
            lost_hint: 0,
            highest_sacked: 0,
        }
    }
}

impl Scoreboard {
    fn slot(&self, id: SegmentId) -> usize {
        id as usize & (self.ring.len() - 1)
    }

    /// Has the memory fetched of the first segments and of the next one to be sent. Acknowledgements
    /// often come in pairs: the first is not taken in yet when the second's memory is fetched.
    #[inline]
    pub fn fetch_ends(&self) {
        for id in [self.head, self.head + 1, self.tail] {
            prefetch(&self.ring[self.slot(id)]);
        }
    }

    /// The segment with identity `id`, which must be in [`Scoreboard::ids`].
    #[inline]
    pub fn get(&self, id: SegmentId) -> &Segment {
        &self.ring[self.slot(id)]
    }

    #[inline]
    fn get_mut(&mut self, id: SegmentId) -> &mut Segment {
        let slot = self.slot(id);
        &mut self.ring[slot]
    }

    /// Identities of all segments, in sequence order.
    pub fn ids(&self) -> Range<SegmentId> {
        self.head..self.tail
    }

    /// Whether nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Bytes between `snd_una` and `snd_nxt` (`FlightSize`, RFC 5681).
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Estimated bytes in the network (`pipe`, RFC 6675).
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.outstanding - self.sacked - self.lost + self.resent
    }

    /// Bytes acknowledged selectively.
    pub(crate) fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Segments acknowledged selectively.
    pub fn sacked_segments(&self) -> u64 {
        self.sacked_segments
    }

    /// Bytes taken for lost, retransmitted or not.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Bytes retransmitted and in the network.
    pub(crate) fn resent(&self) -> u64 {
        self.resent
    }

    /// Segments lost and resent.
    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Segments between `snd_una` and `snd_nxt`.
    pub(crate) fn segments(&self) -> u64 {
        self.tail - self.head
    }

    /// Segments estimated to be in the network.
    pub(crate) fn segments_in_flight(&self) -> u64 {
        self.segments() + u64::from(self.counts.resent)
            - self.delivered_segments()
            - u64::from(self.counts.lost)
    }

    /// Segments delivered beyond the first one missing (`sacked_out`): those acknowledged
    /// selectively, or what stands for them without SACK.
    #[inline]
    pub(crate) fn delivered_segments(&self) -> u64 {
        self.sacked_segments + u64::from(self.counts.presumed)
    }

    /// So many segments, nobody knows which, were delivered beyond the first one missing.
    pub(crate) fn presume_delivered(&mut self, segments: u32) {
        self.counts.presumed = segments;
    }

    /// Bytes taken for lost over the connection's life, a segment as often as it was.
    pub fn lost_ever(&self) -> u64 {
        self.lost_ever
    }

    /// From now on what is taken for lost is kept until it is told.
    pub(crate) fn tell_losses(&mut self) {
        self.tells_losses = true;
    }

    /// Whether it is.
    #[inline]
    pub(crate) fn tells(&self) -> bool {
        self.tells_losses
    }

    /// The last segment acknowledged selectively, when there is one outstanding.
    pub fn highest_sacked(&self) -> Option<SegmentId> {
        (self.sacked_segments > 0).then_some(self.highest_sacked)
    }

    /// Adds a segment sent for the first time.
    #[inline]
    pub fn push(&mut self, segment: Segment) -> SegmentId {
        if self.tail - self.head == self.ring.len() as u64 {
            self.grow();
        }
        let id = self.tail;
        self.outstanding += u64::from(segment.len);
        *self.get_mut(id) = segment;
        self.tail += 1;
        id
    }

    #[cold]
    fn grow(&mut self) {
        let mut ring = vec![Segment::default(); self.ring.len() * 2].into_boxed_slice();
        let mask = ring.len() - 1;
        for id in self.ids() {
            ring[id as usize & mask] = *self.get(id);
        }
        self.ring = ring;
    }

    /// Removes what `ack` covers, calling `delivered` with each segment that is gone and had
    /// not been acknowledged selectively before. A segment covered in part loses that part.
    #[inline]
    pub fn acknowledge(&mut self, ack: u64, mut delivered: impl FnMut(&Segment)) {
        self.acknowledge_each(ack, |segment| {
            if !segment.sacked {
                delivered(segment);
            }
        });
    }

    /// As [`Scoreboard::acknowledge`], calling `gone` with each segment that is gone.
    #[inline]
    pub(crate) fn acknowledge_each(&mut self, ack: u64, mut gone: impl FnMut(&Segment)) {
        while self.head < self.tail {
            let slot = self.slot(self.head);
            let segment = &self.ring[slot];
            if segment.end() > ack {
                if unlikely(segment.start < ack) {
                    self.trim(ack);
                }
                break;
            }
            let len = u64::from(segment.len);
            self.outstanding -= len;
            if segment.sacked {
                rarely();
                self.sacked -= len;
                self.sacked_segments -= 1;
            }
            gone(segment);
            if segment.lost || segment.resent {
                self.no_longer_repaired(self.head);
            }
            self.head += 1;
        }
        self.lost_hint = self.lost_hint.max(self.head);
    }

    #[cold]
    fn trim(&mut self, ack: u64) {
        let head = self.head;
        let segment = self.get_mut(head);
        let cut = ack - segment.start;
        segment.start = ack;
        segment.len -= cut as u32;
        let segment = *segment;
        self.outstanding -= cut;
        if segment.sacked {
            self.sacked -= cut;
        } else if segment.lost {
            self.lost -= cut;
        }
        if segment.resent {
            self.resent -= cut;
        }
    }

    /// The first segment that ends after `offset`.
    pub(crate) fn find(&self, offset: u64) -> SegmentId {
        self.find_within(self.ids(), offset)
    }

    /// As [`Scoreboard::find`], of those in `ids`, or the end of these.
    fn find_within(&self, ids: Range<SegmentId>, offset: u64) -> SegmentId {
        let (mut low, mut high) = (ids.start, ids.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).end() <= offset {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// As [`Scoreboard::find`]; it is mostly the last segment that was acknowledged selectively, as what is
    /// new in a block lies behind what was known of it, or, after a new loss, one of the next.
    fn find_near_highest(&self, offset: u64) -> SegmentId {
        let highest = self.highest_sacked;
        if !self.ids().contains(&highest) {
            return self.find(offset);
        }
        if offset < self.get(highest).start {
            return self.find_within(self.head..highest, offset);
        }
        let near = highest..self.tail.min(highest + NEAR);
        match near.clone().find(|&id| offset < self.get(id).end()) {
            Some(id) => id,
            None => self.find_within(near.end..self.tail, offset),
        }
    }

    /// Marks what `blocks` cover, calling `delivered` with each segment newly covered whole,
    /// and its identity.
    ///
    /// What the blocks of the previous acknowledgement covered is skipped, so that a long
    /// block costs what it grew by.
    pub fn select(
        &mut self,
        blocks: &[(u64, u64)],
        mut delivered: impl FnMut(SegmentId, &Segment),
    ) {
        for &(left, right) in blocks {
            let known = self
                .lists
                .previous()
                .iter()
                .copied()
                .find(|&(l, r)| l < right && left < r);
            match known {
                None => self.select_range(left, right, &mut delivered),
                Some((l, r)) => {
                    if left < l {
                        self.select_range(left, l, &mut delivered);
                    }
                    if r < right {
                        // A segment may straddle the old edge: begin where it begins.
                        self.select_range(r.saturating_sub(1).max(left), right, &mut delivered);
                    }
                }
            }
        }
        let lists = &mut *self.lists;
        lists.previous = blocks.len().min(MAX_SACK_BLOCKS);
        lists.previous_blocks[..lists.previous].copy_from_slice(&blocks[..lists.previous]);
    }

    fn select_range(
        &mut self,
        left: u64,
        right: u64,
        delivered: &mut impl FnMut(SegmentId, &Segment),
    ) {
        for id in self.find_near_highest(left)..self.tail {
            let segment = *self.get(id);
            if segment.end() > right {
                break;
            }
            if segment.start < left || segment.sacked {
                continue;
            }
            let len = u64::from(segment.len);
            if segment.lost {
                self.no_longer_lost(&segment);
                if segment.resent {
                    self.no_longer_resent(&segment);
                }
            }
            let slot = self.get_mut(id);
            slot.sacked = true;
            slot.resent &= !segment.lost;
            slot.lost = false;
            self.highest_sacked = if self.sacked_segments == 0 {
                id
            } else {
                self.highest_sacked.max(id)
            };
            self.sacked += len;
            self.sacked_segments += 1;
            delivered(id, &segment);
        }
    }

    /// Forgets all selective acknowledgements: the receiver may renege (RFC 2018 section 8).
    pub fn forget_sacked(&mut self) {
        for id in self.ids() {
            self.get_mut(id).sacked = false;
        }
        self.sacked = 0;
        self.sacked_segments = 0;
        if self.lists.previous > 0 {
            self.lists.previous = 0;
        }
    }

    /// Recounts everything from the segments: the invariant behind the running counts.
    pub fn is_consistent(&self) -> bool {
        let mut counts = [0_u64; 5];
        let mut segments = Counts {
            lost_ever: self.counts.lost_ever,
            presumed: self.counts.presumed,
            ..Counts::default()
        };
        let mut expected = None;
        let mut contiguous = true;
        for id in self.ids() {
            let segment = self.get(id);
            let len = u64::from(segment.len);
            contiguous &= expected.is_none_or(|start| start == segment.start);
            expected = Some(segment.end());
            counts[0] += len;
            counts[1] += if segment.sacked { len } else { 0 };
            counts[2] += u64::from(segment.sacked);
            counts[3] += if segment.lost { len } else { 0 };
            counts[4] += if segment.resent { len } else { 0 };
            segments.lost += u32::from(segment.lost);
            segments.resent += u32::from(segment.resent);
            let waits = segment.lost && !segment.resent;
            segments.waiting += u32::from(waits);
            contiguous &= !(segment.sacked && segment.lost);
            contiguous &= !waits || self.lost_hint <= id;
        }
        let left = self.delivered_segments() + u64::from(self.counts.lost);
        contiguous
            && left <= self.segments()
            && segments == self.counts
            && counts
                == [
                    self.outstanding,
                    self.sacked,
                    self.sacked_segments,
                    self.lost,
                    self.resent,
                ]
    }
}
