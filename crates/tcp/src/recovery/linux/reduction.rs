//! The window on its way down, by proportional rate reduction, and the way back where the reduction
//! was a mistake.

use cclab_interface::{CaEvent, CaState, TCP_INFINITE_SSTHRESH};
use cclab_units::hint::rarely;

use super::{ECN_QUEUE_CWR, Line, Linux, Scan, flag};
use crate::seq;

/// What an acknowledgement inside an episode shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Partial {
    /// A hole was filled by what was sent again.
    Repaired,
    /// By what was late: the reduction is taken back.
    Undone,
    /// By what was late: the reduction is, once nothing that was sent again is in the network.
    Waits,
}

impl Linux {
    /// `tcp_enter_recovery`: losses that acknowledgements or the clock showed are repaired.
    pub(super) fn enter_recovery(&mut self, line: &mut Line<'_>, ece: bool) {
        line.counters.fast_recoveries += 1;
        self.clean_retrans_stamp(line);
        self.tcp.prior_ssthresh = 0;
        self.begin_undo(line);
        if !self.tcp.in_cwnd_reduction() {
            if !ece {
                self.tcp.prior_ssthresh = self.tcp.current_ssthresh();
            }
            self.begin_reduction(line);
        }
        self.set_state(CaState::Recovery);
    }

    /// `tcp_enter_cwr`: a mark, which no undo takes back.
    pub(super) fn enter_cwr(&mut self, line: &mut Line<'_>) {
        self.tcp.prior_ssthresh = 0;
        if self.tcp.ca() < CaState::Cwr {
            self.undo_marker = None;
            self.begin_reduction(line);
            self.set_state(CaState::Cwr);
        }
    }

    /// A module may have begun a reduction itself while the window was to grow (`tcp_enter_cwr`, as
    /// CDG does): it wrote what it knows into the connection; the rest is the stack's.
    pub(super) fn note_entered_cwr(&mut self, line: &mut Line<'_>) {
        if self.tcp.ca() == CaState::Cwr {
            rarely();
            self.undo_marker = None;
            self.high_seq = line.snd_nxt;
            self.tlp_high_seq = None;
            self.prr_delivered = 0;
            self.prr_out = 0;
            self.queue_cwr(line);
        }
    }

    /// `tcp_init_cwnd_reduction`.
    pub(super) fn begin_reduction(&mut self, line: &mut Line<'_>) {
        self.high_seq = line.snd_nxt;
        self.tlp_high_seq = None;
        self.prr_delivered = 0;
        self.prr_out = 0;
        self.see(line);
        self.tcp.snd_cwnd_cnt = 0;
        self.tcp.prior_cwnd = self.tcp.snd_cwnd;
        self.tcp.snd_ssthresh = self.ops.ssthresh(&mut self.tcp);
        self.queue_cwr(line);
    }

    /// `tcp_cwnd_reduction`: what the window may be in flight and what PRR lets go now.
    #[inline(never)]
    pub(super) fn reduce(&mut self, line: &Line<'_>, delivered: u32, lost: u32, flags: u32) {
        if delivered == 0 || self.tcp.prior_cwnd == 0 {
            return;
        }
        let in_flight = Self::in_flight(line);
        let prior = u64::from(self.tcp.prior_cwnd);
        let ssthresh = self.tcp.snd_ssthresh;
        self.prr_delivered = self.prr_delivered.wrapping_add(delivered);
        let budget = i64::from(self.prr_delivered) - i64::from(self.prr_out);
        let more = if in_flight > ssthresh {
            let share = (u64::from(ssthresh) * u64::from(self.prr_delivered)).div_ceil(prior);
            share as i64 - i64::from(self.prr_out)
        } else {
            let progress = flags & flag::SND_UNA_ADVANCED != 0 && lost == 0;
            let conserved = budget.max(i64::from(delivered)) + i64::from(progress);
            conserved.min(i64::from(ssthresh - in_flight))
        };
        // The fast retransmit itself always leaves.
        let more = more.max(i64::from(self.prr_out == 0));
        self.tcp.snd_cwnd = in_flight.saturating_add_signed(more as i32);
    }

    /// `tcp_end_cwnd_reduction`.
    pub(super) fn end_reduction(&mut self) {
        if self.controls {
            return;
        }
        let reduced = self.tcp.ca() == CaState::Cwr || self.undo_marker.is_some();
        if self.tcp.snd_ssthresh < TCP_INFINITE_SSTHRESH && reduced {
            self.tcp.snd_cwnd = self.tcp.snd_ssthresh;
            self.tcp.snd_cwnd_stamp = self.tcp.jiffies32();
        }
        self.event(CaEvent::CompleteCwr);
    }

    /// `tcp_init_undo`: retransmissions that are in the network may yet be reported as duplicates.
    pub(super) fn begin_undo(&mut self, line: &Line<'_>) {
        self.undo_marker = Some(*line.snd_una);
        let probes = self.tlp_high_seq.is_some() && self.tlp_retrans;
        let in_network = line.board.counts().resent + u32::from(probes);
        self.undo_retrans = (in_network > 0).then_some(in_network);
    }

    /// `tcp_undo_cwnd_reduction`.
    pub(super) fn undo_reduction(&mut self, line: &mut Line<'_>, unmark: bool) {
        line.counters.undos += 1;
        if unmark {
            line.board.unmark_lost();
            self.scan = Scan::default();
        }
        if self.tcp.prior_ssthresh != 0 {
            self.see(line);
            self.tcp.snd_cwnd = self.ops.undo_cwnd(&mut self.tcp);
            if self.tcp.prior_ssthresh > self.tcp.snd_ssthresh {
                self.tcp.snd_ssthresh = self.tcp.prior_ssthresh;
                self.tcp.ecn_flags &= !ECN_QUEUE_CWR;
                *line.cwr_due = false;
            }
        }
        self.tcp.snd_cwnd_stamp = self.tcp.jiffies32();
        self.undo_marker = None;
        line.rack.restart();
    }

    /// `tcp_may_undo`.
    fn may_undo(&self, line: &Line<'_>) -> bool {
        line.profile.undo
            && self.undo_marker.is_some()
            && (self.undo_retrans == Some(0) || self.was_delayed(line))
    }

    /// `tcp_packet_delayed`: nothing was sent again, or what the echo is of left before.
    fn was_delayed(&self, line: &Line<'_>) -> bool {
        if self.retrans_stamp == 0 {
            // Without SACK the stamp may have been forgotten while the end was waited for.
            return self.finder.has_sack() || *line.snd_una < self.high_seq;
        }
        self.echo_is_before(self.retrans_stamp)
    }

    /// `tcp_tsopt_ecr_before`.
    pub(super) fn echo_is_before(&self, stamp: u32) -> bool {
        let echo = self.echo;
        self.tcp.saw_tstamp != 0 && echo != 0 && seq::before(echo, stamp)
    }

    /// `tcp_try_undo_recovery`: the episode ends, and may have been a mistake. Returns whether it is
    /// held on to all the same.
    pub(super) fn undo_recovery(&mut self, line: &mut Line<'_>) -> bool {
        if self.may_undo(line) {
            self.undo_reduction(line, false);
        } else {
            line.rack.on_genuine();
        }
        if self.waits_beyond(line) {
            return true;
        }
        self.set_state(CaState::Open);
        self.reneged = false;
        false
    }

    /// `tcp_try_undo_dsack`: all that was sent again arrived twice.
    pub(super) fn undo_by_dsack(&mut self, line: &mut Line<'_>) -> bool {
        let mistaken =
            line.profile.undo && self.undo_marker.is_some() && self.undo_retrans == Some(0);
        if mistaken {
            line.rack.on_mistaken();
            self.undo_reduction(line, false);
        }
        mistaken
    }

    /// `tcp_try_undo_loss`: the timeout was a mistake, by the clock or by F-RTO.
    pub(super) fn undo_loss(&mut self, line: &mut Line<'_>, by_frto: bool) -> bool {
        let mistaken = by_frto || self.may_undo(line);
        if mistaken {
            self.undo_reduction(line, true);
            self.retransmits = 0;
            if !self.waits_beyond(line) && (by_frto || self.finder.has_sack()) {
                self.set_state(CaState::Open);
                self.reneged = false;
            }
        }
        mistaken
    }

    /// `tcp_try_undo_partial`: whether a hole was filled by what was late.
    pub(super) fn undo_partial(&mut self, line: &mut Line<'_>, prior_una: u64) -> Partial {
        if !line.profile.undo || self.undo_marker.is_none() || !self.was_delayed(line) {
            return Partial::Repaired;
        }
        self.check_reordering(line, prior_una);
        if line.board.counts().resent > 0 {
            return Partial::Waits;
        }
        self.clean_retrans_stamp(line);
        self.undo_reduction(line, true);
        self.try_keep_open(line);
        Partial::Undone
    }

    /// `tcp_any_retrans_done`.
    fn any_retrans_done(line: &Line<'_>) -> bool {
        let board = &line.board;
        board.counts().resent > 0 || (!board.is_empty() && board.get(board.ids().start).ever_resent)
    }

    /// `tcp_retrans_stamp_cleanup`.
    pub(super) fn clean_retrans_stamp(&mut self, line: &Line<'_>) {
        if !Self::any_retrans_done(line) {
            self.retrans_stamp = 0;
        }
    }

    /// `tcp_try_keep_open`.
    pub(super) fn try_keep_open(&mut self, line: &mut Line<'_>) {
        let left_out = line.board.delivered_segments() > 0 || line.board.counts().lost > 0;
        let state = match left_out || Self::any_retrans_done(line) {
            true => CaState::Disorder,
            false => CaState::Open,
        };
        if self.tcp.ca() != state {
            self.set_state(state);
            self.high_seq = line.snd_nxt;
        }
    }

    /// `tcp_try_to_open`.
    pub(super) fn try_to_open(&mut self, line: &mut Line<'_>, flags: u32) {
        self.clean_retrans_stamp(line);
        if flags & flag::ECE != 0 {
            self.enter_cwr(line);
        }
        if self.tcp.ca() != CaState::Cwr {
            self.try_keep_open(line);
        }
    }

    /// `tcp_ecn_queue_cwr`: the next new data says that the window was reduced, unless the receiver
    /// counts marks.
    pub(super) fn queue_cwr(&mut self, line: &mut Line<'_>) {
        if line.ecn && line.accurate.is_none() {
            self.tcp.ecn_flags |= ECN_QUEUE_CWR;
            *line.cwr_due = true;
        }
    }
}
