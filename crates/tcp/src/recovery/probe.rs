//! Tail loss probes (RFC 8985 section 7): when acknowledgements stop coming, one segment is
//! sent to provoke one, long before the retransmission timer.

use cclab_cc::Congestion;
use cclab_units::Time;

use super::Phase;
use crate::acknowledge::AckNews;
use crate::profile::Recovery;
use crate::sender::{Sender, State};

/// `TCP_TIMEOUT_MIN_US` of Linux: the least that a probe waits beyond two round trips.
const LEAST_SLACK: Time = Time::from_millis(2);
/// RFC 8985 section 7.2, `TLP.max_ack_delay`: a lone segment may be waiting for a delayed
/// acknowledgement.
const MAX_ACK_DELAY: Time = Time::from_millis(200);

/// State of the probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probe {
    /// `snd_nxt` when the outstanding probe left (`TLP.end_seq`).
    outstanding: Option<u64>,
    /// Whether the probe was a retransmission (`TLP.is_retrans`).
    resent: bool,
    /// A probe is to leave.
    pub(crate) due: bool,
}

impl Probe {
    pub(crate) fn end(&mut self) {
        *self = Probe::default();
    }

    pub(crate) fn on_sent(&mut self, snd_nxt: u64, resent: bool) {
        *self = Probe {
            outstanding: Some(snd_nxt),
            resent,
            due: false,
        };
    }
}

impl Sender {
    /// RFC 8985 section 7.2: the timer runs while data is outstanding in open state.
    pub(crate) fn arm_loss_probe(&mut self, now: Time) {
        let applies = self.recovery == Recovery::RackPrr
            && self.state == State::Established
            && self.episode.phase == Phase::Open
            && self.episode.probe.outstanding.is_none()
            && !self.board.is_empty()
            && self.board.sacked_segments() == 0
            && self.rtt.srtt() > Time::ZERO;
        if !applies {
            self.episode.probe_at = Time::NEVER;
            return;
        }
        let ids = self.board.ids();
        let lone = ids.end - ids.start == 1;
        let wait = self.rtt.srtt() * 2 + if lone { MAX_ACK_DELAY } else { LEAST_SLACK };
        // Section 7.2: not later than the retransmission timer would have fired.
        self.episode.probe_at = (now + wait).min(self.rto_at);
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

    /// RFC 8985 section 7.4: what the acknowledgement says about the probe.
    pub(super) fn on_probe_news(&mut self, now: Time, news: &AckNews) {
        // Only what reaches the probe tells of it: a duplicate of an earlier acknowledgement must
        // leave it outstanding, or probes would follow each other and hold the timer off for ever.
        let outstanding = self.episode.probe.outstanding;
        let Some(end) = outstanding.filter(|&end| news.ack >= end) else {
            return;
        };
        let resent = self.episode.probe.resent;
        if !resent && news.advanced {
            self.episode.probe.end();
        } else if resent && news.dsack {
            self.episode.probe.end(); // original and probe arrived: nothing was lost
        } else if resent && news.advanced && news.ack > end {
            // No duplicate was reported: the probe repaired a loss.
            self.episode.probe.end();
            if self.episode.phase == Phase::Open {
                self.episode.undo.end(); // what it knows is of an earlier reduction
                self.congestion(now, Congestion::Loss, false);
            }
        } else if !news.advanced && news.newly_delivered == 0 && news.duplicate {
            self.episode.probe.end(); // without SACK: original and probe arrived
        }
    }
}
