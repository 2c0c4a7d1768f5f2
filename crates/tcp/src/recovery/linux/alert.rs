//! The machine of the five states (`tcp_fastretrans_alert`): losses and marks move it, and it asks
//! the variant for thresholds; the window moves later.

use cclab_interface::CaState;
use cclab_units::Time;
use cclab_units::hint::{likely, unlikely};

use super::reduction::Partial;
use super::{Line, Linux, Resend, flag};

impl Linux {
    /// An acknowledgement that is not ordinary, or any outside Open. `data_left` tells whether there
    /// is new data that the receiver has room for.
    #[inline(never)]
    pub(super) fn alert(
        &mut self,
        line: &mut Line<'_>,
        prior_una: u64,
        flags: &mut u32,
        duplicate: bool,
        data_left: bool,
    ) {
        let has = |bits: u32| *flags & bits != 0;
        let (ece, advanced) = (has(flag::ECE), has(flag::SND_UNA_ADVANCED));
        // Whether more may be lost, as far as that is counted.
        let mut count = duplicate || (has(flag::DATA_SACKED) && self.is_far_ahead(line));
        if unlikely(line.board.is_empty()) {
            line.board.presume_delivered(0);
        }
        if unlikely(ece) {
            self.tcp.prior_ssthresh = 0;
        }
        if self.check_reneging(line, flags) {
            return;
        }
        if self.tcp.ca() == CaState::Open {
            self.retrans_stamp = 0;
        } else if *line.snd_una >= self.high_seq && self.leave(line) {
            return;
        }
        let mut begins = false;
        match self.tcp.ca() {
            CaState::Recovery => {
                if !advanced {
                    self.note_duplicate(line, duplicate, ece);
                } else {
                    match self.undo_partial(line, prior_una) {
                        Partial::Waits => return,
                        Partial::Repaired => count = self.is_far_ahead(line),
                        Partial::Undone => {}
                    }
                }
                if self.undo_by_dsack(line) {
                    self.try_to_open(line, *flags);
                }
                self.mark_losses(line, flags);
                if self.tcp.ca() != CaState::Recovery {
                    if !self.is_time_to_recover(line) {
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
                begins = self.watch(line, flags, duplicate);
                if !begins {
                    return;
                }
            }
            CaState::Open | CaState::Disorder | CaState::Cwr => {
                begins = self.watch(line, flags, duplicate);
                if !begins {
                    return;
                }
            }
        }
        if count {
            self.mark_by_count(line, begins);
        }
        self.resend = Resend::Lost;
    }

    /// Outside Recovery and Loss, or out of Loss: whether losses begin an episode.
    fn watch(&mut self, line: &mut Line<'_>, flags: &mut u32, duplicate: bool) -> bool {
        let ece = *flags & flag::ECE != 0;
        if unlikely(!self.finder.has_sack()) && *flags & flag::SND_UNA_ADVANCED != 0 {
            line.board.presume_delivered(0);
        }
        self.note_duplicate(line, duplicate, ece);
        if self.tcp.ca() <= CaState::Disorder {
            self.undo_by_dsack(line);
        }
        self.mark_losses(line, flags);
        if !self.is_time_to_recover(line) {
            self.try_to_open(line, *flags);
            return false;
        }
        self.enter_recovery(line, ece);
        true
    }

    fn note_duplicate(&mut self, line: &mut Line<'_>, duplicate: bool, ece: bool) {
        if duplicate && unlikely(!self.finder.has_sack()) {
            self.add_duplicate(line, ece);
        }
    }

    /// All that was out when the state was entered is acknowledged. Returns whether the state is
    /// held on to until more is, and nothing else is to be done.
    fn leave(&mut self, line: &mut Line<'_>) -> bool {
        match self.tcp.ca() {
            // The receiver has to see the answer to its mark: something beyond is acknowledged.
            CaState::Cwr if *line.snd_una != self.high_seq => {
                self.end_reduction();
                self.set_state(CaState::Open);
            }
            CaState::Recovery => {
                line.board.presume_delivered(0);
                if self.undo_recovery(line) {
                    return true;
                }
                self.end_reduction();
            }
            _ => {}
        }
        false
    }

    /// `tcp_check_sack_reneging`: the first segment outstanding is one that the receiver has. It gets
    /// some time to say so.
    fn check_reneging(&mut self, line: &mut Line<'_>, flags: &mut u32) -> bool {
        let signs = flag::SACK_RENEGING | flag::SND_UNA_ADVANCED;
        if likely(*flags & signs != signs) {
            return false;
        }
        let (eighths, _) = line.rtt.scaled();
        let patience = Time::from_micros(eighths / 16).max(Time::from_millis(10));
        self.set_rto(line, patience);
        *flags &= !flag::SET_XMIT_TIMER;
        true
    }
}
