//! The timeout of ns-2's Vegas agent, in real time instead of clock ticks (Brakmo and Peterson 1995,
//! section 3.1).

use cclab_units::Time;

/// The fine-grained timeout, and what the agent remembers of its last reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FineTimer {
    /// 8 times the smoothed round-trip time, and 4 times its deviation, in nanoseconds.
    srtt_x8: i64,
    rttvar_x4: i64,
    /// In nanoseconds.
    pub(crate) timeout: i64,
    /// New ACKs that still look for a lost segment.
    pub(crate) worried: u8,
    /// When the window was last reduced.
    pub(crate) reduced_at: Time,
    /// Whether the last reduction was a retransmission timeout.
    pub(crate) after_timeout: bool,
}

impl FineTimer {
    /// Before the first sample.
    pub(crate) const NEW: FineTimer = FineTimer {
        srtt_x8: 0,
        rttvar_x4: 0,
        timeout: i64::MAX,
        worried: 0,
        reduced_at: Time::ZERO,
        after_timeout: false,
    };

    /// Jacobson's estimator; the timeout is the smoothed round trip and half of `rttvar_x4`, and
    /// a sixteenth more.
    pub(crate) fn on_sample(&mut self, rtt: Time) {
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
    pub(crate) fn back_off(&mut self, resent: bool) {
        let more = if resent {
            self.timeout
        } else {
            self.timeout / 8
        };
        self.timeout = self.timeout.saturating_add(more);
    }

    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.reduced_at = now;
        self.after_timeout = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_the_round_trip() {
        let mut timer = FineTimer::NEW;
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
