//! Tail loss probes (RFC 8985 section 7): when acknowledgements stop coming, one segment is
//! sent to provoke one, long before the retransmission timer.

use cclab_units::Time;

use crate::recovery::news::AckNews;
use crate::scoreboard::Scoreboard;

/// `TCP_TIMEOUT_MIN_US` of Linux: the least that a probe waits beyond two round trips.
const LEAST_SLACK: Time = Time::from_millis(2);
/// RFC 8985 section 7.2, `TLP.max_ack_delay`: a lone segment may be waiting for a delayed
/// acknowledgement.
const MAX_ACK_DELAY: Time = Time::from_millis(200);

/// State of the probe.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// `snd_nxt` when the outstanding probe left (`TLP.end_seq`).
    outstanding: Option<u64>,
    /// Whether the probe was a retransmission (`TLP.is_retrans`).
    resent: bool,
    /// A probe is to leave.
    pub(crate) due: bool,
}

impl Probe {
    /// None is under way.
    pub(crate) const NEW: Probe = Probe {
        outstanding: None,
        resent: false,
        due: false,
    };

    pub(crate) fn end(&mut self) {
        *self = Probe::NEW;
    }

    pub(crate) fn on_sent(&mut self, snd_nxt: u64, resent: bool) {
        *self = Probe {
            outstanding: Some(snd_nxt),
            resent,
            due: false,
        };
    }

    /// When the next probe is due (section 7.2), given the smoothed round-trip time and when the
    /// retransmission timer fires, which the probe must not outlast. Only one probe is under way,
    /// and none while the scoreboard shows that something was lost or reordered.
    pub(crate) fn expiry(&self, now: Time, board: &Scoreboard, srtt: Time, rto_at: Time) -> Time {
        let applies = self.outstanding.is_none()
            && !board.is_empty()
            && board.sacked_segments() == 0
            && srtt > Time::ZERO;
        if !applies {
            return Time::NEVER;
        }
        let ids = board.ids();
        let lone = ids.end - ids.start == 1;
        let wait = srtt * 2 + if lone { MAX_ACK_DELAY } else { LEAST_SLACK };
        (now + wait).min(rto_at)
    }

    /// What an acknowledgement says about the probe (section 7.4): returns whether the probe
    /// repaired a loss.
    #[inline]
    pub(crate) fn on_news(&mut self, news: &AckNews) -> bool {
        // Only what reaches the probe tells of it: a duplicate of an earlier acknowledgement must
        // leave it outstanding, or probes would follow each other and hold the timer off for ever.
        let Some(end) = self.outstanding.filter(|&end| news.ack >= end) else {
            return false;
        };
        let resent = self.resent;
        if !resent && news.advanced {
            self.end();
        } else if resent && news.dsack {
            self.end(); // original and probe arrived: nothing was lost
        } else if resent && news.advanced && news.ack > end {
            self.end();
            return true; // no duplicate was reported
        } else if !news.advanced && news.newly_delivered == 0 && news.duplicate {
            self.end(); // without SACK: original and probe arrived
        }
        false
    }
}
