//! Which segments are lost: by the clock (RACK), by the count of segments SACKed above, or by
//! duplicate acknowledgements where there is no SACK.

use cclab_interface::CaState;
use cclab_units::Time;
use cclab_units::hint::{rarely, unlikely};

use super::{Line, Linux, flag};
use crate::scoreboard::{Scoreboard, SegmentId};

/// How losses are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finder {
    /// By the clock: something that left later was delivered (`tcp_is_rack`). A retransmission is
    /// found lost as an original is.
    Time,
    /// By count: enough segments above were SACKed (RFC 6675). A retransmission that is lost waits
    /// for the timeout.
    Count,
    /// By duplicate acknowledgements, without SACK: the first segment is lost, and the next after
    /// each partial acknowledgement (RFC 6582).
    Duplicates,
}

impl Finder {
    /// Whether acknowledgements are selective.
    pub fn has_sack(self) -> bool {
        self != Finder::Duplicates
    }
}

/// Up to where segments are judged by what was SACKed above them (`lost_skb_hint`,
/// `lost_cnt_hint`), so that each is looked at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    at: SegmentId,
    /// Segments SACKed before it and not acknowledged cumulatively.
    below: u32,
}

impl Scan {
    #[inline]
    pub fn on_selected(&mut self, id: SegmentId) {
        self.below += u32::from(id < self.at);
    }

    /// Segments were acknowledged cumulatively, of which `sacked` were SACKed before.
    #[inline]
    pub fn on_cleaned(&mut self, sacked: u32, board: &Scoreboard) {
        let first = board.ids().start;
        if self.at < first {
            *self = Scan {
                at: first,
                below: 0,
            };
        } else {
            self.below = self.below.saturating_sub(sacked);
        }
    }

    /// Marks all that was not SACKed, up to where more than `sacked` SACKed ones are passed.
    fn mark(&mut self, board: &mut Scoreboard, sacked: u32) {
        let ids = board.ids();
        let mut below = self.below;
        for id in self.at.max(ids.start)..ids.end {
            *self = Scan { at: id, below };
            let segment = board.get(id);
            below += u32::from(segment.sacked);
            if below > sacked {
                break;
            }
            if !segment.lost {
                board.mark_lost(id);
            }
        }
    }
}

impl Linux {
    /// Whether retransmissions are judged by the clock.
    pub fn finds_by_time(&self) -> bool {
        self.finder == Finder::Time
    }

    /// `tcp_identify_packet_loss`.
    pub(super) fn mark_losses(&mut self, line: &mut Line<'_>, flags: &mut u32) {
        if line.board.is_empty() {
            return;
        }
        match self.finder {
            Finder::Time => self.mark_by_time(line, flags),
            Finder::Count => rarely(), // once more is known, see `mark_by_count`
            Finder::Duplicates => {
                rarely();
                self.mark_first(line, *flags & flag::SND_UNA_ADVANCED != 0);
            }
        }
        self.see(line);
    }

    /// `tcp_rack_mark_lost`.
    fn mark_by_time(&mut self, line: &mut Line<'_>, flags: &mut u32) {
        let resent = line.board.counts().resent;
        if line.rack.take_advanced() {
            let again = self.detect(line);
            if again != Time::NEVER {
                self.set_reorder_timer(line, again);
                *flags &= !flag::SET_XMIT_TIMER;
            }
        }
        if line.board.counts().resent < resent {
            *flags |= flag::LOST_RETRANS;
        }
    }

    /// Marks what is lost by the clock; returns when to look again.
    pub(super) fn detect(&mut self, line: &mut Line<'_>) -> Time {
        let rtts = (self.min_rtt(), line.rtt.srtt());
        let in_recovery = self.in_recovery();
        line.rack
            .mark_overdue(line.board, line.now, in_recovery, rtts)
    }

    /// `tcp_newreno_mark_lost`.
    fn mark_first(&self, line: &mut Line<'_>, advanced: bool) {
        let state = self.tcp.ca();
        let enough = state < CaState::Recovery && self.is_enough(line);
        if enough || (state == CaState::Recovery && advanced) {
            let first = line.board.ids().start;
            if !line.board.get(first).lost {
                line.board.mark_lost(first);
            }
        }
    }

    /// `tcp_update_scoreboard`, `tcp_mark_head_lost`: what has as many segments SACKed above it as
    /// reordering explains and one more; if none has, the first where recovery begins.
    pub(super) fn mark_by_count(&mut self, line: &mut Line<'_>, begins: bool) {
        if unlikely(self.finder == Finder::Count) && !line.board.is_empty() {
            self.mark_counted(line, begins);
        }
    }

    /// As [`Linux::mark_by_count`], where losses are found so.
    #[inline(never)]
    fn mark_counted(&mut self, line: &mut Line<'_>, begins: bool) {
        let sacked = line.board.delivered_segments() as u32;
        let first = line.board.ids().start;
        if let Some(above) = sacked.checked_sub(self.reordering) {
            self.scan.mark(line.board, above);
        } else if begins && self.scan.at <= first && !line.board.get(first).lost {
            line.board.mark_lost(first);
        }
        self.see(line);
    }

    /// As many segments were delivered out of place as show a loss (`tcp_dupack_heuristics`).
    fn is_enough(&self, line: &Line<'_>) -> bool {
        line.board.delivered_segments() >= u64::from(self.reordering)
    }

    /// `tcp_time_to_recover`.
    pub(super) fn is_time_to_recover(&self, line: &Line<'_>) -> bool {
        line.board.counts().lost > 0
            || (unlikely(self.finder != Finder::Time) && self.is_enough(line))
    }

    /// `tcp_force_fast_retransmit`: more than reordering explains lies between the first segment
    /// missing and the last one SACKed.
    pub(super) fn is_far_ahead(&self, line: &Line<'_>) -> bool {
        self.highest_sacked(line) > *line.snd_una + u64::from(self.reordering) * self.mss
    }
}
