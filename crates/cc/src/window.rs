//! Steps that variants share: counted slow start, Linux's segment counter, and what undo
//! returns to.

use cclab_units::Time;

use crate::AckSample;

/// No window grows past this: far above any path, and far from overflow.
pub(crate) const MAX_WINDOW: u64 = 1 << 44;

/// Whether a window that reacts to loss may grow at this acknowledgement; not at an echo of
/// congestion (RFC 3168 section 6.1.2).
pub(crate) fn may_grow(ack: &AckSample) -> bool {
    ack.newly_acked > 0 && ack.cwnd_limited && !ack.in_recovery && !ack.ece
}

/// Full segments in `bytes`, a partial one counted whole. Nearly every acknowledgement covers
/// one or two: only the others pay a division.
pub(crate) fn segments(bytes: u64, mss: u64) -> u64 {
    if bytes <= mss {
        u64::from(bytes > 0)
    } else if bytes <= 2 * mss {
        2
    } else {
        bytes.div_ceil(mss)
    }
}

/// What an acknowledgement adds in slow start, with appropriate byte counting (RFC 3465).
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedSlowStart {
    /// The most that one acknowledgement adds, in bytes.
    most: u64,
    mss: u64,
    /// Up to this offset the data was lost with a timeout.
    lost_until: u64,
}

impl CountedSlowStart {
    /// `limit` is `L` in segments: 2 (RFC 3465 section 2.2) unless slow start says otherwise.
    pub(crate) fn new(mss: u64, limit: u64) -> CountedSlowStart {
        CountedSlowStart {
            most: mss.saturating_mul(limit),
            mss,
            lost_until: 0,
        }
    }

    /// After a timeout `L` is 1 until what was outstanding is acknowledged: an ACK that
    /// fills a gap covers what left the network long ago (RFC 3465 section 2.3).
    pub(crate) fn on_timeout(&mut self, snd_nxt: u64) {
        self.lost_until = snd_nxt;
    }

    /// Bytes by which the window grows.
    pub(crate) fn step(&self, ack: &AckSample) -> u64 {
        let most = if ack.snd_una < self.lost_until {
            self.mss
        } else {
            self.most
        };
        ack.newly_acked.min(most)
    }
}

/// A window in whole segments with Linux's counter of acknowledged ones (`snd_cwnd_cnt`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentWindow {
    /// Segments.
    pub(crate) cwnd: u64,
    /// Segments; `u64::MAX` before it is known.
    pub(crate) ssthresh: u64,
    counter: u64,
    most: u64,
}

impl SegmentWindow {
    pub(crate) fn new(config: &crate::Config) -> SegmentWindow {
        SegmentWindow {
            cwnd: segments(config.initial_window, config.mss).max(1),
            ssthresh: match config.initial_ssthresh {
                u64::MAX => u64::MAX,
                bytes => (bytes / config.mss).max(2),
            },
            counter: 0,
            most: MAX_WINDOW / config.mss,
        }
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// `tcp_slow_start`: grows to ssthresh at most; returns what is left for avoidance.
    pub(crate) fn slow_start(&mut self, acked: u64) -> u64 {
        let grown = (self.cwnd + acked).min(self.ssthresh);
        let left = acked - (grown - self.cwnd);
        self.cwnd = grown.min(self.most);
        left
    }

    /// `tcp_cong_avoid_ai`: a segment for every `per` acknowledged.
    pub(crate) fn avoid(&mut self, per: u64, acked: u64) {
        // What was counted under a longer `per` is worth one segment, no more.
        if self.counter >= per {
            self.counter = 0;
            self.cwnd += 1;
        }
        self.counter += acked;
        if self.counter >= per {
            let grown = self.counter / per;
            self.counter -= grown * per;
            self.cwnd += grown;
        }
        self.cwnd = self.cwnd.min(self.most);
    }

    /// Goes down to `cwnd`, never up.
    pub(crate) fn reduce(&mut self, cwnd: u64, ssthresh: u64) {
        self.cwnd = self.cwnd.min(cwnd);
        self.ssthresh = ssthresh;
        self.counter = 0;
    }

    /// `tcp_cwnd_restart`: halved for each timeout spent idle, down to the initial window;
    /// ssthresh remembers three quarters of what there was.
    pub(crate) fn restart(&mut self, idle: Time, rto: Time, initial: u64) {
        if idle <= rto || rto == Time::ZERO {
            return;
        }
        self.ssthresh = self.ssthresh.max((self.cwnd >> 1) + (self.cwnd >> 2));
        let floor = initial.min(self.cwnd);
        let mut left = idle - rto;
        while left > Time::ZERO && self.cwnd > floor {
            self.cwnd >>= 1;
            left = left - rto;
        }
        self.cwnd = self.cwnd.max(floor);
    }
}

/// The window before the last reduction, in whatever unit the variant counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prior<T> {
    pub(crate) cwnd: T,
    pub(crate) ssthresh: T,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::config;
    use crate::{Arithmetic, SlowStart};

    fn window(cwnd: u64, ssthresh: u64) -> SegmentWindow {
        let config = config(Arithmetic::Segments, SlowStart::Plain);
        SegmentWindow {
            cwnd,
            ssthresh,
            ..SegmentWindow::new(&config)
        }
    }

    #[test]
    fn linux_slow_start_hands_on_what_passes_the_threshold() {
        let mut w = window(9, 10);
        assert_eq!((w.slow_start(3), w.cwnd), (2, 10));
        assert!(!w.in_slow_start());
    }

    #[test]
    fn linux_avoidance_counts_segments() {
        let mut w = window(10, 2);
        for _ in 0..4 {
            w.avoid(10, 2);
        }
        assert_eq!((w.cwnd, w.counter), (10, 8));
        w.avoid(10, 3);
        assert_eq!((w.cwnd, w.counter), (11, 1));
        // The step became shorter than what is counted: one segment and a fresh count.
        w.counter = 9;
        w.avoid(2, 1);
        assert_eq!((w.cwnd, w.counter), (12, 1));
    }

    #[test]
    fn linux_restart_halves_for_each_timeout() {
        let ms = Time::from_millis;
        let mut w = window(64, 40);
        w.restart(ms(200), ms(200), 10);
        assert_eq!(w.cwnd, 64);
        w.restart(ms(500), ms(200), 10);
        assert_eq!((w.cwnd, w.ssthresh), (16, 48)); // two timeouts begun after the first
        w.restart(ms(60_000), ms(200), 10);
        assert_eq!(w.cwnd, 10);
        let mut w = window(4, 40);
        w.restart(ms(60_000), ms(200), 10);
        assert_eq!(w.cwnd, 4);
    }

    #[test]
    fn slow_start_counts_bytes_up_to_a_limit() {
        let mut counted = CountedSlowStart::new(1_000, 2);
        let ack = |newly_acked, snd_una| AckSample {
            newly_acked,
            snd_una,
            ..AckSample::default()
        };
        assert_eq!(counted.step(&ack(500, 500)), 500);
        assert_eq!(counted.step(&ack(5_000, 5_500)), 2_000);
        counted.on_timeout(9_000);
        assert_eq!(counted.step(&ack(3_000, 8_500)), 1_000);
        assert_eq!(counted.step(&ack(3_000, 9_000)), 2_000);
    }
}
