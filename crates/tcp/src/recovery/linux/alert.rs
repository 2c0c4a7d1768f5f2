//! The machine of the five states (`tcp_fastretrans_alert`): losses and marks move it, and it asks
//! the variant for thresholds; the window moves later.

use cclab_interface::CaState;
use cclab_units::Time;

use super::{Line, Linux, Resend, flag};

impl Linux {
    /// An acknowledgement that is not ordinary, or any outside Open. `data_left` tells whether there
    /// is new data that the receiver has room for.
    pub(super) fn alert(
        &mut self,
        line: &mut Line<'_>,
        prior_una: u64,
        flags: &mut u32,
        duplicate: bool,
        data_left: bool,
    ) {
        let ece = *flags & flag::ECE != 0;
        if ece {
            self.tcp.prior_ssthresh = 0;
        }
        if self.check_reneging(line, flags) {
            return;
        }
        if self.tcp.ca() == CaState::Open {
            self.retrans_stamp = 0;
        } else if *line.snd_una >= self.high_seq {
            self.leave(line);
        }
        match self.tcp.ca() {
            CaState::Recovery => {
                let advanced = *flags & flag::SND_UNA_ADVANCED != 0;
                if advanced && self.undo_partial(line, prior_una) {
                    return;
                }
                if self.undo_by_dsack(line) {
                    self.try_to_open(line, *flags);
                }
                self.mark_losses(line, flags);
                if self.tcp.ca() != CaState::Recovery {
                    if line.board.counts().lost == 0 {
                        return;
                    }
                    self.enter_recovery(line, ece);
                }
            }
            CaState::Loss => {
                self.process_loss(line, *flags, duplicate, data_left);
                self.mark_losses(line, flags);
                let again = *flags & flag::LOST_RETRANS != 0;
                if self.tcp.ca() != CaState::Open && !again {
                    return;
                }
                self.watch(line, flags);
                return;
            }
            CaState::Open | CaState::Disorder | CaState::Cwr => {
                self.watch(line, flags);
                return;
            }
        }
        self.resend = Resend::Lost;
    }

    /// Outside Recovery and Loss, or out of Loss: whether losses begin an episode.
    fn watch(&mut self, line: &mut Line<'_>, flags: &mut u32) {
        if self.tcp.ca() <= CaState::Disorder {
            self.undo_by_dsack(line);
        }
        self.mark_losses(line, flags);
        if line.board.counts().lost == 0 {
            self.try_to_open(line, *flags);
            return;
        }
        self.enter_recovery(line, *flags & flag::ECE != 0);
        self.resend = Resend::Lost;
    }

    /// All that was out when the state was entered is acknowledged.
    fn leave(&mut self, line: &mut Line<'_>) {
        match self.tcp.ca() {
            // The receiver has to see the answer to its mark: something beyond is acknowledged.
            CaState::Cwr if *line.snd_una != self.high_seq => {
                self.end_reduction();
                self.set_state(CaState::Open);
            }
            CaState::Recovery => {
                self.undo_recovery(line);
                self.end_reduction();
            }
            _ => {}
        }
    }

    /// `tcp_check_sack_reneging`: the first segment outstanding is one that the receiver has. It gets
    /// some time to say so.
    fn check_reneging(&mut self, line: &mut Line<'_>, flags: &mut u32) -> bool {
        let signs = flag::SACK_RENEGING | flag::SND_UNA_ADVANCED;
        if *flags & signs != signs {
            return false;
        }
        let patience = (line.rtt.srtt() / 2).max(Time::from_millis(10));
        self.set_rto(line, line.now + patience);
        *flags &= !flag::SET_XMIT_TIMER;
        true
    }

    /// `tcp_identify_packet_loss`, `tcp_rack_mark_lost`.
    fn mark_losses(&mut self, line: &mut Line<'_>, flags: &mut u32) {
        if line.board.is_empty() {
            return;
        }
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
        self.see(line);
    }

    /// Marks what is lost by the clock; returns when to look again.
    pub(super) fn detect(&mut self, line: &mut Line<'_>) -> Time {
        let rtts = self.rtts(line);
        let in_recovery = self.in_recovery();
        line.rack
            .mark_overdue(line.board, line.now, in_recovery, rtts)
    }
}
