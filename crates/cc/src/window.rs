//! Steps that variants share: counted slow start, Linux's segment counter, what Linux's stack
//! does for every module, and what undo returns to.

use cclab_units::Time;

use crate::{AckSample, Config, Congestion, CongestionSample};

/// No window grows past this: far above any path, and far from overflow.
pub(crate) const MAX_WINDOW: u64 = 1 << 44;

/// Whether a window that reacts to loss may grow at this acknowledgement; not at an echo of
/// congestion (RFC 3168 section 6.1.2).
pub(crate) fn may_grow(ack: &AckSample) -> bool {
    is_asked_to_grow(ack) && ack.cwnd_limited
}

/// Whether Linux asks a module to grow the window: data was acknowledged cumulatively and no
/// reduction is under way. That the window was used is the module's to ask.
pub(crate) fn is_asked_to_grow(ack: &AckSample) -> bool {
    ack.newly_acked > 0 && !ack.in_recovery && !ack.ece
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
    /// `snd_cwnd_cnt`.
    pub(crate) counter: u64,
    /// The largest window.
    pub(crate) most: u64,
}

impl SegmentWindow {
    pub(crate) fn new(config: &Config) -> SegmentWindow {
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

    /// `tcp_reno_cong_avoid`: slow start, and a segment per window in avoidance.
    pub(crate) fn reno(&mut self, mut acked: u64) {
        if self.in_slow_start() {
            acked = self.slow_start(acked);
        }
        if acked > 0 {
            self.avoid(self.cwnd, acked);
        }
    }

    /// `tcp_reno_ssthresh`.
    pub(crate) fn half(&self) -> u64 {
        (self.cwnd >> 1).max(2)
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

/// What Linux's stack does for every module that reacts to congestion: it keeps the window,
/// reduces it, takes a mistake back, and shrinks it after idle times.
pub(crate) struct StackWindow {
    pub(crate) window: SegmentWindow,
    mss: u64,
    initial: u64,
    prior: Option<Prior<u64>>,
    /// Where the episode ends that keeps the stack out of its state Open.
    open_from: Option<u64>,
}

impl StackWindow {
    pub(crate) fn new(config: &Config) -> StackWindow {
        let window = SegmentWindow::new(config);
        StackWindow {
            window,
            mss: config.mss,
            initial: window.cwnd,
            prior: None,
            open_from: None,
        }
    }

    /// Segments that growth counts: what was delivered, so that data reported by SACK counts
    /// once.
    pub(crate) fn acked(&self, ack: &AckSample) -> u64 {
        segments(ack.newly_delivered, self.mss)
    }

    /// `tcp_enter_loss`, `tcp_init_cwnd_reduction`: `ssthresh` is the module's, asked for
    /// unless a timeout repeats.
    pub(crate) fn reduce(
        &mut self,
        kind: Congestion,
        at: &CongestionSample,
        ssthresh: impl FnOnce(&SegmentWindow) -> u64,
    ) {
        self.open_from = Some(at.snd_nxt);
        let timeout = kind == Congestion::Rto;
        let mut lower = self.window.ssthresh;
        if !(timeout && at.repeated) {
            self.prior = Some(Prior {
                cwnd: self.window.cwnd,
                ssthresh: lower,
            });
            lower = ssthresh(&self.window);
        }
        self.window.reduce(if timeout { 1 } else { lower }, lower);
    }

    /// `tcp_undo_cwnd_reduction` with `tcp_reno_undo_cwnd`.
    pub(crate) fn undo(&mut self) {
        self.open_from = None;
        if let Some(prior) = self.prior.take() {
            self.window.cwnd = self.window.cwnd.max(prior.cwnd);
            self.window.ssthresh = self.window.ssthresh.max(prior.ssthresh);
        }
    }

    /// `tcp_cwnd_restart`.
    pub(crate) fn restart(&mut self, idle: Time, rto: Time) {
        self.window.restart(idle, rto, self.initial);
    }

    /// Whether the stack is in a state other than Open (`TCP_CA_Open`): losses or a mark are
    /// still being dealt with.
    pub(crate) fn is_repairing(&self) -> bool {
        self.open_from.is_some()
    }

    /// Lets the state return to Open; true at the acknowledgement that does it.
    pub(crate) fn reopens(&mut self, ack: &AckSample) -> bool {
        let reopens = self.open_from.is_some_and(|end| ack.snd_una >= end) && !ack.in_recovery;
        if reopens {
            self.open_from = None;
        }
        reopens
    }

    /// In bytes.
    pub(crate) fn cwnd(&self) -> u64 {
        self.window.cwnd * self.mss
    }

    /// In bytes.
    pub(crate) fn ssthresh(&self) -> u64 {
        self.window.ssthresh.saturating_mul(self.mss)
    }
}

/// The window in use in segments: `cwnd`, or the receiver's if that is less.
///
/// ns-2 knows both; here what is in flight tells, for it is within one segment of a congestion
/// window that is full.
pub(crate) fn window_in_use(cwnd: f64, at: &CongestionSample, mss: u64) -> f64 {
    let flight = at.flight_size as f64 / mss as f64;
    if cwnd < flight + 1.0 { cwnd } else { flight }
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
