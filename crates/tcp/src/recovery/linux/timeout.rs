//! The retransmission timer expired, and what shows whether it had to (F-RTO, RFC 5682).

use cclab_interface::{CaEvent, CaState};

use super::{Finder, Line, Linux, REORDERING, Resend, Scan, flag};

impl Linux {
    /// `tcp_retransmit_timer`. Returns whether the receiver let go of what it had.
    pub fn on_rto(&mut self, line: &mut Line<'_>) -> bool {
        if line.board.is_empty() {
            return false;
        }
        self.set_clock(line.now);
        line.counters.rtos += 1;
        let reneged = self.enter_loss(line);
        self.retransmits += 1; // after: the first timeout is none yet
        self.head_due = true;
        self.probe_due = false;
        self.resend = Resend::Lost;
        line.rtt.back_off();
        self.tcp.rto = line.rtt.rto().as_millis() as u32;
        self.set_rto(line, line.rtt.rto());
        reneged
    }

    /// `tcp_enter_loss`.
    fn enter_loss(&mut self, line: &mut Line<'_>) -> bool {
        let state = self.tcp.ca();
        let new_recovery = state < CaState::Recovery;
        let reneged = self.mark_at_timeout(line);
        self.see(line);
        let fresh = state <= CaState::Disorder
            || self.high_seq <= *line.snd_una
            || (state == CaState::Loss && self.retransmits == 0);
        if fresh {
            self.tcp.prior_ssthresh = self.tcp.current_ssthresh();
            self.tcp.prior_cwnd = self.tcp.snd_cwnd;
            self.tcp.snd_ssthresh = self.ops.ssthresh(&mut self.tcp);
            self.event(CaEvent::Loss);
            self.begin_undo(line);
        }
        self.tcp.snd_cwnd = Self::in_flight(line) + 1;
        self.tcp.snd_cwnd_cnt = 0;
        self.tcp.snd_cwnd_stamp = self.tcp.jiffies32();
        if state <= CaState::Disorder && line.board.delivered_segments() >= u64::from(REORDERING) {
            self.reordering = self.reordering.min(REORDERING);
        }
        self.set_state(CaState::Loss);
        self.high_seq = line.snd_nxt;
        self.tlp_high_seq = None;
        self.queue_cwr(line);
        self.frto = line.profile.undo && (new_recovery || self.retransmits > 0);
        reneged
    }

    /// `tcp_timeout_mark_lost`: the first segment is lost, and by the clock what left a round trip
    /// ago; without it, all. A receiver that let go of what it had shows by the first segment: then
    /// all is, too.
    fn mark_at_timeout(&mut self, line: &mut Line<'_>) -> bool {
        self.scan = Scan::default();
        line.board.presume_delivered(0);
        let ids = line.board.ids();
        let reneged = line.board.get(ids.start).sacked;
        if reneged {
            self.reneged = true;
            line.board.forget_sacked();
        }
        if reneged || self.finder != Finder::Time {
            line.board.mark_all_lost();
            return reneged;
        }
        let patience = line.rack.rtt();
        for id in ids.clone() {
            let sent = line.board.get(id).sent.whole_micros();
            if id == ids.start || sent + patience <= line.now.whole_micros() {
                line.board.mark_lost(id);
            }
        }
        false
    }

    /// `tcp_process_loss`: an acknowledgement after a timeout.
    pub(super) fn process_loss(
        &mut self,
        line: &mut Line<'_>,
        flags: u32,
        duplicate: bool,
        data_left: bool,
    ) {
        let has = |bits: u32| flags & bits != 0;
        let recovered = *line.snd_una >= self.high_seq;
        if has(flag::SND_UNA_ADVANCED) && self.undo_loss(line, false) {
            return;
        }
        if self.frto {
            if has(flag::ORIG_SACK_ACKED) && self.undo_loss(line, true) {
                return;
            }
            if line.snd_nxt > self.high_seq {
                if has(flag::DATA_SACKED) || duplicate {
                    self.frto = false;
                }
            } else if has(flag::SND_UNA_ADVANCED) && !recovered {
                self.high_seq = line.snd_nxt;
                if data_left {
                    self.resend = Resend::New;
                    return;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.undo_recovery(line);
            return;
        }
        if !self.finder.has_sack() {
            // A duplicate tells that new data arrived, which makes room for what is lost.
            if duplicate && line.snd_nxt > self.high_seq {
                self.add_duplicate(line, has(flag::ECE));
            } else if has(flag::SND_UNA_ADVANCED) {
                line.board.presume_delivered(0);
            }
        }
        self.resend = Resend::Lost;
    }
}
