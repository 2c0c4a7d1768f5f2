//! The retransmission timer (RFC 6298 section 5.4 on).

use cclab_cc::Congestion;
use cclab_units::Time;

use super::episode::{Frto, Phase};
use super::flight::Flight;
use crate::profile::Recovery;

impl Flight {
    /// What is outstanding is taken for lost and sent again from the lowest byte: all of it, or with
    /// RACK what did not leave lately.
    pub(crate) fn on_rto(&mut self, now: Time) {
        if self.board.is_empty() {
            return;
        }
        let repeated = self.episode.phase == Phase::Loss
            && self.episode.recover.is_some()
            && self.episode.undo.una_at_entry() == Some(self.snd_una);
        self.counters.rtos += 1;
        if !repeated {
            self.episode.undo.begin(&self.board, self.snd_una, self.mss);
        }
        // A receiver that let go of what it had selectively acknowledged shows by the first segment
        // (RFC 2018 section 8): believed, it would leave nothing to send and no timer.
        let reneged = self.board.get(self.board.ids().start).sacked;
        if reneged || !self.recovery.uses_sack() || !self.profile.undo {
            self.board.forget_sacked();
        }
        if self.recovery == Recovery::RackPrr && !reneged {
            let rtts = (self.rtt.min_rtt(), self.rtt.srtt());
            let in_recovery = self.episode.phase != Phase::Open;
            let rack = &self.episode.rack;
            rack.mark_at_timeout(&mut self.board, now, in_recovery, rtts);
        } else {
            self.board.mark_all_lost();
        }
        // Told when the marks are set: what is in flight now is what a variant may go by.
        self.congestion(now, Congestion::Rto, repeated);
        self.episode.sack.restart(&self.board);
        // RFC 5682 section 3.1 step 1: not during recovery. Repeated timeouts are examined, as in
        // Linux: a pause longer than one timeout is the commonest cause of spurious ones.
        let watch =
            self.profile.undo && self.recovery.uses_sack() && self.episode.phase != Phase::Recovery;
        self.episode.phase = Phase::Loss;
        self.episode.recover = Some(self.snd_nxt);
        self.episode.dup_acks = 0;
        self.episode.inflation = 0;
        self.episode.retransmit_first = true;
        self.episode.stop_timers();
        self.episode.probe.end();
        self.episode.vegas.on_timeout(now);
        self.episode.frto = if watch { Frto::Watching } else { Frto::Off };
        self.rtt.back_off();
    }
}
