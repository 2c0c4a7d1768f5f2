//! Recovery of ns-2's Vegas agent: duplicate ACKs are counted, and the first two of them, as well
//! as the two new ACKs after a retransmission, look at a timeout in real time instead of clock
//! ticks (Brakmo and Peterson 1995, section 3.1).
//!
//! One way of the agent is left out: a window that fewer than four duplicates inflated stays so
//! there for the variant too, here for the sender only.

use cclab_cc::Congestion;
use cclab_units::Time;

use super::{DUP_THRESH, Phase};
use crate::acknowledge::AckNews;
use crate::sender::Sender;

/// New ACKs after a retransmission that look for the next lost segment.
const WORRIED_ACKS: u8 = 2;

/// The fine-grained timeout, and what the agent remembers of its last reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FineTimer {
    /// 8 times the smoothed round-trip time, and 4 times its deviation, in nanoseconds.
    srtt_x8: i64,
    rttvar_x4: i64,
    /// In nanoseconds.
    timeout: i64,
    /// New ACKs that still look for a lost segment.
    worried: u8,
    /// When the window was last reduced.
    reduced_at: Time,
    /// Whether the last reduction was a retransmission timeout.
    after_timeout: bool,
}

impl Default for FineTimer {
    fn default() -> FineTimer {
        FineTimer {
            srtt_x8: 0,
            rttvar_x4: 0,
            timeout: i64::MAX,
            worried: 0,
            reduced_at: Time::ZERO,
            after_timeout: false,
        }
    }
}

impl FineTimer {
    /// Jacobson's estimator; the timeout is the smoothed round trip and half of `rttvar_x4`, and
    /// a sixteenth more.
    fn on_sample(&mut self, rtt: Time) {
        let rtt = rtt.as_nanos() as i64;
        if self.srtt_x8 == 0 {
            self.srtt_x8 = 8 * rtt;
            self.rttvar_x4 = rtt;
        }
        let error = rtt - self.srtt_x8 / 8;
        self.srtt_x8 += error;
        self.rttvar_x4 += error.abs() - self.rttvar_x4 / 4;
        let timeout = (self.srtt_x8 / 4 + self.rttvar_x4) / 2;
        self.timeout = timeout + timeout / 16;
    }

    /// After a retransmission: doubled if the segment had left before, an eighth more if not.
    fn back_off(&mut self, resent: bool) {
        let more = if resent {
            self.timeout
        } else {
            self.timeout / 8
        };
        self.timeout = self.timeout.saturating_add(more);
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        self.reduced_at = now;
        self.after_timeout = true;
    }
}

impl Sender {
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
        if self.episode.phase == Phase::Recovery
            || self
                .episode
                .recover
                .is_none_or(|recover| self.snd_una >= recover)
        {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_the_round_trip() {
        let mut timer = FineTimer::default();
        timer.on_sample(Time::from_millis(80));
        // srtt 80, 4 rttvar = 80 - 20 = 60: (160 + 60) / 2 = 110, and 110 / 16.
        assert_eq!(timer.timeout, 116_875_000);
        timer.on_sample(Time::from_millis(96));
        // error 16: 8 srtt = 656, 4 rttvar = 60 + 16 - 15 = 61: (164 + 61) / 2 = 112.5.
        assert_eq!(timer.timeout, 119_531_250);
        timer.back_off(false);
        assert_eq!(timer.timeout, 134_472_656);
        timer.back_off(true);
        assert_eq!(timer.timeout, 268_945_312);
    }
}
