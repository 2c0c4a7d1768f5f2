//! Recovery of ns-2's Vegas agent: duplicate ACKs are counted, and the first two of them, as well
//! as the two new ACKs after a retransmission, look at a timeout in real time instead of clock
//! ticks (Brakmo and Peterson 1995, section 3.1).
//!
//! One way of the agent is left out: a window that fewer than four duplicates inflated stays so
//! there for the variant too, here for the sender only.

use cclab_cc::Congestion;
use cclab_units::Time;

use super::episode::Phase;
use super::flight::Flight;
use super::news::{AckNews, DUP_THRESH};

/// New ACKs after a retransmission that look for the next lost segment.
const WORRIED_ACKS: u8 = 2;

impl Flight {
    pub(super) fn on_news_vegas(&mut self, now: Time, news: &AckNews) -> u64 {
        if news.advanced {
            self.on_new_ack_vegas(now, news)
        } else if news.duplicate {
            self.episode.dup_acks += 1;
            self.on_duplicate_vegas(now)
        } else {
            0
        }
    }

    fn on_new_ack_vegas(&mut self, now: Time, news: &AckNews) -> u64 {
        if self.episode.dup_acks > DUP_THRESH {
            self.episode.inflation = 0;
        }
        self.episode.dup_acks = 0;
        if self.episode.phase == Phase::Recovery || self.episode.recovered(self.snd_una) {
            self.episode.phase = Phase::Open;
        }
        if let Some(rtt) = news.newest_rtt {
            self.episode.vegas.on_sample(rtt);
        }
        if self.episode.vegas.worried == 0 {
            return 0;
        }
        self.episode.vegas.worried -= 1;
        if !self.head_is_overdue(now) {
            self.episode.vegas.worried = 0;
            return 0;
        }
        self.episode.dup_acks = DUP_THRESH;
        self.resend_head()
    }

    fn on_duplicate_vegas(&mut self, now: Time) -> u64 {
        let overdue = self.head_is_overdue(now);
        if !overdue && self.episode.dup_acks != DUP_THRESH {
            if self.episode.dup_acks > DUP_THRESH {
                self.episode.inflation += self.mss as i64;
            }
            return 0;
        }
        // RFC 6582 section 3.2 step 2, after timeouts only.
        let echo = self.episode.vegas.after_timeout
            && self
                .episode
                .recover
                .is_some_and(|recover| self.snd_una <= recover);
        if echo {
            return 0;
        }
        self.begin_episode_vegas(now)
    }

    fn begin_episode_vegas(&mut self, now: Time) -> u64 {
        let head = *self.board.get(self.board.ids().start);
        let resent = head.ever_resent;
        self.counters.fast_recoveries += 1;
        self.episode.phase = Phase::Recovery;
        self.episode.recover = Some(self.snd_nxt);
        let timer = &mut self.episode.vegas;
        timer.after_timeout = false;
        timer.worried = WORRIED_ACKS;
        timer.back_off(resent);
        // A segment that left after the reduction was lost by the smaller window.
        if timer.reduced_at < head.sent {
            timer.reduced_at = now;
            self.episode.inflation = i64::from(self.episode.dup_acks) * self.mss as i64;
            self.congestion(now, Congestion::Loss, resent);
        }
        self.rtt.back_off();
        self.rto_at = now + self.rtt.rto();
        if !resent {
            self.episode.dup_acks = DUP_THRESH;
        }
        self.resend_head()
    }

    fn head_is_overdue(&self, now: Time) -> bool {
        !self.board.is_empty() && {
            let head = self.board.get(self.board.ids().start);
            (now - head.sent).as_nanos() as i64 >= self.episode.vegas.timeout
        }
    }

    fn resend_head(&mut self) -> u64 {
        self.episode.retransmit_first = true;
        self.board.mark_lost(self.board.ids().start)
    }
}
