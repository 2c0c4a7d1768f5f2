//! Recovery by counting duplicate ACKs: Tahoe, Reno (RFC 5681 section 3.2) and NewReno
//! (RFC 6582).

use cclab_cc::Congestion;
use cclab_units::Time;

use super::episode::Phase;
use super::flight::Flight;
use super::news::{AckNews, DUP_THRESH};
use crate::profile::Recovery;

impl Flight {
    pub(super) fn on_news_classic(&mut self, now: Time, news: &AckNews) -> u64 {
        if news.advanced {
            self.on_new_ack_classic(now, news)
        } else if news.duplicate {
            self.episode.dup_acks += 1;
            self.on_duplicate(now)
        } else {
            0
        }
    }

    fn on_duplicate(&mut self, now: Time) -> u64 {
        if self.episode.phase == Phase::Recovery {
            self.episode.inflation += self.mss as i64;
            return 0;
        }
        if self.episode.dup_acks != DUP_THRESH || !self.may_fast_retransmit() {
            return 0;
        }
        if self.recovery == Recovery::Tahoe {
            return self.go_back(now, Congestion::Loss);
        }
        self.begin_episode(now);
        self.episode.inflation = i64::from(DUP_THRESH) * self.mss as i64;
        self.board.mark_lost(self.board.ids().start)
    }

    /// RFC 6582 section 3.2 step 2: duplicates of what was sent before the last reduction may
    /// be echoes of retransmissions. So may those of the acknowledgement that ends it: more
    /// than `recover` must be covered.
    fn may_fast_retransmit(&self) -> bool {
        !self.profile.careful_fast_retransmit
            || self
                .episode
                .recover
                .is_none_or(|recover| self.snd_una > recover)
    }

    /// Everything outstanding is sent again from the lowest unacknowledged byte.
    fn go_back(&mut self, now: Time, kind: Congestion) -> u64 {
        self.counters.fast_recoveries += 1;
        self.congestion(now, kind, false);
        self.episode.phase = Phase::Open;
        self.episode.recover = Some(self.snd_nxt);
        self.episode.retransmit_first = true;
        self.board.mark_all_lost()
    }

    fn on_new_ack_classic(&mut self, now: Time, news: &AckNews) -> u64 {
        let over = self.episode.recovered(self.snd_una);
        let mut lost = 0;
        match self.episode.phase {
            Phase::Recovery if over || self.recovery == Recovery::Reno => {
                self.episode.phase = Phase::Open;
                self.episode.inflation = 0;
                self.forget_resent_head();
            }
            Phase::Recovery => lost = self.on_partial_ack(news),
            Phase::Loss => {
                if self.try_undo(now, news) {
                    self.episode.dup_acks = 0;
                    return 0;
                }
                if over {
                    self.episode.phase = Phase::Open;
                }
            }
            Phase::Open => {}
        }
        self.episode.dup_acks = 0;
        lost
    }

    /// Reno takes nothing more for lost once it left recovery, so nothing waits to be sent
    /// again.
    fn forget_resent_head(&mut self) {
        if self.recovery == Recovery::Reno {
            self.board.clear_lost();
        }
    }

    /// RFC 6582 section 3.2 step 5, partial acknowledgements.
    fn on_partial_ack(&mut self, news: &AckNews) -> u64 {
        let lost = self.board.mark_lost(self.board.ids().start);
        self.episode.retransmit_first = true;
        self.episode.inflation -= news.newly_acked as i64;
        if news.newly_acked >= self.mss {
            self.episode.inflation += self.mss as i64;
        }
        self.episode.partial_acks += 1;
        lost
    }
}
