//! Loss recovery: what is lost, when the window falls, what leaves again.
//!
//! [`Episode`] is the state that all forms of recovery share. Each form is one file:
//! - `classic`: Tahoe, Reno, NewReno, by counting duplicate ACKs;
//! - `vegas`: ns-2's Vegas, with a fine-grained timeout;
//! - `sack`: RFC 6675;
//! - `rack` with `prr`: RFC 8985 and RFC 9937;
//! - `timeout`: the retransmission timer and F-RTO;
//! - `probe`: tail loss probes;
//! - `undo`: taking back a reduction that was a mistake.

mod classic;
mod probe;
pub mod prr;
pub mod rack;
pub mod sack;
mod timeout;
mod undo;
mod vegas;

use cclab_cc::{Arithmetic, Repair};
use cclab_units::Time;

pub(crate) use timeout::Frto;

use crate::acknowledge::AckNews;
use crate::profile::Recovery;
use crate::sender::Sender;

/// Duplicate ACKs that show a loss (RFC 5681 section 3.2).
pub(crate) const DUP_THRESH: u32 = 3;

/// Where loss recovery is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is known to be lost.
    #[default]
    Open,
    /// Losses found by acknowledgements are being repaired.
    Recovery,
    /// The retransmission timer expired; everything outstanding then is being repaired.
    Loss,
}

/// State of loss recovery.
#[derive(Debug)]
pub struct Episode {
    pub(crate) phase: Phase,
    /// `snd_nxt` when the episode began: acknowledged, it is over (`RecoveryPoint`).
    pub(crate) recover: Option<u64>,
    pub(crate) dup_acks: u32,
    /// What duplicate ACKs add to ssthresh during fast recovery (RFC 5681 section 3.2); partial
    /// ACKs may take it below zero (RFC 6582).
    pub(crate) inflation: i64,
    /// Whether the first lost segment leaves whatever the window says.
    pub(crate) retransmit_first: bool,
    pub(crate) prr: prr::Prr,
    pub(crate) rack: rack::Rack,
    pub(crate) sack: sack::LossCursor,
    pub(crate) undo: undo::Undo,
    pub(crate) frto: timeout::Frto,
    pub(crate) probe: probe::Probe,
    pub(crate) vegas: vegas::FineTimer,
    pub(crate) reorder_at: Time,
    pub(crate) probe_at: Time,
    /// Partial ACKs of this episode (RFC 6582 section 3.2, step 5).
    pub(crate) partial_acks: u32,
}

impl Default for Episode {
    fn default() -> Episode {
        Episode {
            phase: Phase::Open,
            recover: None,
            dup_acks: 0,
            inflation: 0,
            retransmit_first: false,
            prr: prr::Prr::default(),
            rack: rack::Rack::default(),
            sack: sack::LossCursor::default(),
            undo: undo::Undo::default(),
            frto: timeout::Frto::default(),
            probe: probe::Probe::default(),
            vegas: vegas::FineTimer::default(),
            reorder_at: Time::NEVER,
            probe_at: Time::NEVER,
            partial_acks: 0,
        }
    }
}

impl From<Phase> for Repair {
    fn from(phase: Phase) -> Repair {
        match phase {
            Phase::Open => Repair::Nothing,
            Phase::Recovery => Repair::Losses,
            Phase::Loss => Repair::Timeout,
        }
    }
}

impl Episode {
    /// Where loss recovery is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn is_recovery(&self) -> bool {
        self.phase == Phase::Recovery
    }

    pub(crate) fn recover(&self) -> u64 {
        self.recover.unwrap_or(0)
    }

    pub(crate) fn deadline(&self) -> Time {
        self.reorder_at.min(self.probe_at)
    }

    pub(crate) fn stop_timers(&mut self) {
        self.reorder_at = Time::NEVER;
        self.probe_at = Time::NEVER;
    }

    /// The window in force, given the variant's.
    pub(crate) fn window(&self, recovery: Recovery, cwnd: u64, mss: u64) -> u64 {
        match (self.phase, recovery) {
            (Phase::Recovery, Recovery::Reno | Recovery::NewReno) => {
                cwnd.saturating_add_signed(self.inflation).max(mss)
            }
            (_, Recovery::Vegas) => cwnd.saturating_add_signed(self.inflation).max(mss),
            (Phase::Recovery, Recovery::RackPrr) => self.prr.cwnd(),
            _ => cwnd,
        }
    }
}

impl Sender {
    /// Lets the form of recovery in force take in an acknowledgement. Returns the bytes newly
    /// taken for lost.
    pub(crate) fn on_news(&mut self, now: cclab_units::Time, news: &AckNews) -> u64 {
        self.note_for_undo(news);
        match self.recovery {
            Recovery::Tahoe | Recovery::Reno | Recovery::NewReno => self.on_news_classic(now, news),
            Recovery::Vegas => self.on_news_vegas(now, news),
            Recovery::Sack => self.on_news_sack(now, news),
            Recovery::RackPrr => self.on_news_rack(now, news),
        }
    }

    /// RFC 3042: new data on the first two duplicate ACKs. With SACK the scoreboard already
    /// counts them out of the network.
    pub(crate) fn limited_transmit(&self) -> u64 {
        let applies = self.profile.limited_transmit
            && self.episode.phase == Phase::Open
            && self.episode.dup_acks > 0
            && self.episode.dup_acks < DUP_THRESH
            && !self.recovery.uses_sack()
            && self.recovery != Recovery::Vegas;
        if applies {
            u64::from(self.episode.dup_acks) * self.mss
        } else {
            0
        }
    }

    /// Whether an episode that began before is over.
    fn recovered(&self) -> bool {
        self.episode
            .recover
            .is_none_or(|recover| self.snd_una >= recover)
    }

    /// RACK with PRR: detection, entry, window, exit.
    fn on_news_rack(&mut self, now: Time, news: &AckNews) -> u64 {
        if news.dsack {
            self.episode.rack.on_dsack(self.snd_una, self.snd_nxt);
        }
        self.on_probe_news(now, news);
        if self.try_undo(now, news) {
            return 0;
        }
        if self.episode.phase != Phase::Open && self.recovered() {
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
                self.on_news_frto(news);
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
        self.episode.reorder_at = self.profile.reorder_timer.expiry(now, again);
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
        self.episode.prr = prr::Prr::begin(recover_fs, quantum);
        self.update_prr(news, lost);
    }

    fn update_prr(&mut self, news: &AckNews, lost: u64) {
        let progress = prr::Progress {
            newly_delivered: news.newly_delivered,
            newly_lost: lost,
            advanced: news.advanced,
            in_flight: self.board.in_flight(),
        };
        // The window to fall to is the variant's after its reduction.
        self.episode.prr.on_ack(progress, self.cc.cwnd(), self.mss);
    }

    /// Recovery by acknowledgements begins: one reduction, and everything sent so far belongs
    /// to it.
    fn begin_episode(&mut self, now: Time) {
        self.counters.fast_recoveries += 1;
        self.episode.probe.end();
        self.episode.probe_at = Time::NEVER;
        if self.reduced_by_mark() {
            self.episode.undo.end(); // RFC 3168 section 6.1.2: once for a window of data
        } else {
            self.begin_undo();
            self.congestion(now, cclab_cc::Congestion::Loss, false);
        }
        self.episode.phase = Phase::Recovery;
        self.episode.recover = Some(self.snd_nxt);
        self.episode.retransmit_first = true;
        self.episode.partial_acks = 0;
    }
}
