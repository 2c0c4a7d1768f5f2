//! Recovery by time: RACK finds what is lost, PRR sets the window, and a probe asks after the tail
//! (RFC 8985, RFC 9937).

use cclab_cc::{Arithmetic, Congestion};
use cclab_units::Time;

use super::episode::{Phase, Progress, Prr};
use super::flight::Flight;
use super::news::AckNews;
use crate::due::Due;
use crate::profile::Recovery;

impl Flight {
    /// RACK with PRR: detection, entry, window, exit.
    pub(super) fn on_news_rack(&mut self, now: Time, news: &AckNews) -> u64 {
        if news.dsack {
            self.episode.rack.on_dsack(self.snd_una, self.snd_nxt);
        }
        self.on_probe_news(now, news);
        if self.try_undo(now, news) {
            return 0;
        }
        if self.episode.phase != Phase::Open && self.episode.recovered(self.snd_una) {
            self.episode.phase = Phase::Open;
            self.episode.rack.on_recovered();
            self.episode.frto.end();
        }
        let resent = self.board.resent();
        let lost = self.detect_by_rack(now);
        let lost_again = self.board.resent() < resent;
        match self.episode.phase {
            // What an episode that is over had sent again may still be unacknowledged beyond its
            // end: the loss is known, and another reduction follows at once (`tcp_time_to_recover`).
            Phase::Open if self.board.lost() > 0 => self.enter_prr(now, news, lost),
            Phase::Recovery => self.update_prr(news, lost),
            Phase::Open => {}
            Phase::Loss => {
                self.episode.frto.on_news(news, self.snd_nxt < self.written);
                // `FLAG_LOST_RETRANS`: congestion after the timeout's.
                if lost_again {
                    self.episode.frto.end();
                    self.enter_prr(now, news, lost);
                }
            }
        }
        lost
    }

    fn detect_by_rack(&mut self, now: Time) -> u64 {
        let in_recovery = self.episode.phase != Phase::Open;
        let rtts = (self.rtt.min_rtt(), self.rtt.srtt());
        let (lost, again) = self
            .episode
            .rack
            .detect(&mut self.board, now, in_recovery, rtts);
        self.episode.reorder_at = self.profile.timer.overdue(now, again);
        lost
    }

    /// RFC 8985 section 6.3: an overdue segment waited out the reordering window.
    pub(crate) fn on_reorder_timer(&mut self, now: Time) {
        let lost = self.detect_by_rack(now);
        let news = AckNews {
            ack: self.snd_una,
            advanced: false,
            newly_acked: 0,
            // In the window's reduction Linux counts the timer as a delivery.
            newly_delivered: self.mss,
            duplicate: false,
            dsack: false,
            dsack_end: 0,
            original_delivered: false,
            newest_rtt: None,
            tsecr: 0,
        };
        match self.episode.phase {
            Phase::Open | Phase::Loss if lost > 0 => {
                self.episode.frto.end();
                self.enter_prr(now, &news, lost);
            }
            // What was found lost leaves again by the window as it is.
            Phase::Open | Phase::Recovery | Phase::Loss => {}
        }
    }

    fn enter_prr(&mut self, now: Time, news: &AckNews, lost: u64) {
        // RecoverFS is the flight (RFC 9937 section 6.1); in Linux, the window before.
        let (recover_fs, quantum) = match self.profile.arithmetic {
            Arithmetic::Segments => (self.cc.cwnd(), self.mss),
            _ => (self.board.outstanding(), 1),
        };
        self.begin_episode(now);
        self.episode.prr = Prr::begin(recover_fs, quantum);
        self.update_prr(news, lost);
    }

    fn update_prr(&mut self, news: &AckNews, lost: u64) {
        let progress = Progress {
            newly_delivered: news.newly_delivered,
            newly_lost: lost,
            advanced: news.advanced,
            in_flight: self.board.in_flight(),
        };
        // The window to fall to is the variant's after its reduction.
        self.episode.prr.on_ack(progress, self.cc.cwnd(), self.mss);
    }

    /// RFC 8985 section 7.2: the timer runs while data is outstanding in open state.
    pub(crate) fn arm_loss_probe(&mut self, now: Time) {
        let applies = self.recovery == Recovery::RackPrr
            && self.episode.phase == Phase::Open
            && self.profile.tail_loss_probes;
        self.episode.probe_at = if applies {
            let srtt = self.rtt.srtt();
            let probe = &self.episode.probe;
            Due::at(probe.expiry(now, &self.board, srtt, self.rto_at))
        } else {
            Due::NEVER
        };
    }

    /// RFC 8985 section 7.3: send the probe, and let the timer run from it.
    pub(crate) fn on_probe_timer(&mut self, now: Time) {
        if self.board.is_empty() || self.episode.phase != Phase::Open {
            return;
        }
        self.counters.tail_loss_probes += 1;
        self.episode.probe.due = true;
        self.rto_at = now + self.rtt.rto();
    }

    /// A probe that repaired a loss shows congestion (RFC 8985 section 7.4).
    fn on_probe_news(&mut self, now: Time, news: &AckNews) {
        if self.episode.probe.on_news(news) && self.episode.phase == Phase::Open {
            self.episode.undo.end(); // what it knows is of an earlier reduction
            self.congestion(now, Congestion::Loss, false);
        }
    }
}
