//! What the SACK blocks of an acknowledgement tell (`tcp_sacktag_write_queue`).

use cclab_interface::{CaState, RateSample};
use cclab_units::Time;
use cclab_units::hint::unlikely;

use super::{Ack, Line, Linux, MAX_REORDERING, flag, rate};
use crate::scoreboard::Segment;

/// What an acknowledgement selected, in runs of segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selected(Vec<(u64, u64, bool)>);

impl Selected {
    fn add(&mut self, segment: &Segment) {
        let again = segment.resent && !segment.lost;
        match self.0.last_mut() {
            Some((_, end, kind)) if *end == segment.start && *kind == again => *end = segment.end(),
            _ => self.0.push((segment.start, segment.end(), again)),
        }
    }

    /// Whether it selected none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes them out: from where to where, and whether they left again although they were not taken
    /// for lost.
    pub fn drain(&mut self) -> impl Iterator<Item = (u64, u64, bool)> + '_ {
        self.0.drain(..)
    }
}

/// What the blocks delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sacked {
    pub flags: u32,
    /// Segments delivered, duplicates included.
    pub delivered: u32,
    /// Departure of the first and the last segment that left once.
    pub first: Option<Time>,
    pub last: Option<Time>,
}

impl Linux {
    #[inline(never)]
    pub(super) fn take_sack(
        &mut self,
        line: &mut Line<'_>,
        ack: &Ack<'_>,
        prior_una: u64,
        sample: &mut RateSample,
    ) -> Sacked {
        let mut sacked = Sacked::default();
        let mut lowest = line.snd_nxt; // of what shows reordering
        if unlikely(ack.dsack.is_some()) {
            self.take_dsack(line, ack, prior_una, &mut sacked, &mut lowest);
        }
        let min_rtt = self.min_rtt();
        let high_seq = self.high_seq;
        let first = self.first;
        let now = line.now;
        let up = self.clocks.uptime_us();
        let highest = line.board.highest_sacked();
        let (rack, tcp, scan) = (&mut *line.rack, &mut self.tcp, &mut self.scan);
        let selected = &mut self.selected;
        line.board.select(ack.blocks, |id, segment| {
            rack.on_delivered(segment, now, min_rtt);
            selected.add(segment);
            scan.on_selected(id);
            if !segment.ever_resent {
                if highest.is_some_and(|highest| id < highest) {
                    lowest = lowest.min(segment.start);
                }
                if segment.end() <= high_seq {
                    sacked.flags |= flag::ORIG_SACK_ACKED;
                }
                sacked.first = Some(sacked.first.map_or(segment.sent, |t| t.min(segment.sent)));
                sacked.last = sacked.last.max(Some(segment.sent));
            }
            sacked.flags |= flag::DATA_SACKED;
            sacked.delivered += 1;
            rate::on_delivered(tcp, sample, segment, (first, up));
        });
        if self.tcp.ca() != CaState::Loss || self.undo_marker.is_some() {
            self.check_reordering(line, lowest);
        }
        sacked
    }

    /// The acknowledgement reports what came again.
    #[inline(never)]
    fn take_dsack(
        &mut self,
        line: &mut Line<'_>,
        ack: &Ack<'_>,
        prior_una: u64,
        sacked: &mut Sacked,
        lowest: &mut u64,
    ) {
        if let Some(&(left, right)) = ack.dsack
            && self.note_dsack(line, left, right, prior_una, sacked)
            && right > prior_una
        {
            self.take_duplicate(line, left, right, lowest);
        }
    }

    /// `tcp_dsack_seen` and the counting of `tcp_check_dsack`. Returns whether the report is
    /// believed: not more may be reported than was sent again.
    fn note_dsack(
        &mut self,
        line: &mut Line<'_>,
        left: u64,
        right: u64,
        prior_una: u64,
        sacked: &mut Sacked,
    ) -> bool {
        let len = right - left;
        let duplicates = len.div_ceil(self.mss).max(1) as u32;
        if len <= self.mss && self.tlp_high_seq == Some(right) {
            sacked.flags |= flag::DSACK_TLP;
        }
        self.dsack_dups = self.dsack_dups.saturating_add(duplicates);
        if self.dsack_dups > self.total_retrans {
            return false;
        }
        if sacked.flags & flag::DSACK_TLP == 0 {
            line.rack.note_dsack();
        }
        sacked.flags |= flag::DSACKING_ACK;
        sacked.delivered += duplicates;
        let marker = self.undo_marker.filter(|&una| right > una);
        if marker.is_some() && right <= prior_una {
            self.count_down(duplicates);
        }
        true
    }

    /// What is reported and still on the board (`tcp_sacktag_one`).
    fn take_duplicate(&mut self, line: &mut Line<'_>, left: u64, right: u64, lowest: &mut u64) {
        for id in line.board.find(left)..line.board.ids().end {
            let segment = *line.board.get(id);
            if segment.end() > right {
                break;
            }
            if segment.start < left || !segment.ever_resent {
                continue;
            }
            if self.undo_marker.is_some_and(|una| segment.end() > una) {
                self.count_down(1);
            }
            if segment.sacked {
                *lowest = (*lowest).min(segment.start);
            }
            if segment.resent && !segment.lost && segment.end() > *line.snd_una {
                line.board.forget_resent(id);
            }
        }
    }

    fn count_down(&mut self, duplicates: u32) {
        self.undo_retrans = self
            .undo_retrans
            .map(|left| left.saturating_sub(duplicates));
    }

    /// `tcp_check_sack_reordering`: what begins at `low` and was never sent again arrived after
    /// something later.
    #[inline(never)]
    pub(super) fn check_reordering(&mut self, line: &mut Line<'_>, low: u64) {
        let highest = self.highest_sacked(line);
        if low >= highest {
            return;
        }
        let distance = (highest - low).div_ceil(self.mss);
        if highest - low > u64::from(self.reordering) * self.mss {
            self.reordering = (distance as u32).min(MAX_REORDERING);
        }
        line.rack.on_reordering();
    }
}
