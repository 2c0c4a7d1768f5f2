//! Illinois with a window of its own.

use cclab_units::Time;

use crate::window::{StackWindow, is_asked_to_grow};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

const ALPHA_SHIFT: u32 = 7;
/// 1, 0.3 and 10 segments a round trip.
const ALPHA_BASE: u64 = 1 << ALPHA_SHIFT;
const ALPHA_MIN: u64 = 3 * ALPHA_BASE / 10;
const ALPHA_MAX: u64 = 10 * ALPHA_BASE;
/// Samples are cut to this, in microseconds.
const RTT_MAX: u64 = u32::MAX as u64 / ALPHA_MAX;

const BETA_SHIFT: u32 = 6;
/// An eighth and half of the window.
const BETA_MIN: u64 = (1 << BETA_SHIFT) / 8;
const BETA_MAX: u64 = (1 << BETA_SHIFT) / 2;
const BETA_BASE: u64 = BETA_MAX;

/// The variant at one flow. Times are in microseconds.
pub(crate) struct Illinois {
    stack: StackWindow,
    least_window: u64,
    theta: u64,
    /// Sum and count of the round-trip times of this round.
    sum: u64,
    count: u64,
    /// Smallest (`u64::MAX` before the first) and largest of all.
    base: u64,
    largest: u64,
    /// Past this offset the round is over.
    end: u64,
    alpha: u64,
    beta: u64,
    /// Whether the delay was ever out of its low zone, and rounds in it since.
    was_queued: bool,
    low_rounds: u64,
    snd_nxt: u64,
}

impl Illinois {
    pub(crate) fn new(config: &Config) -> Illinois {
        Illinois {
            stack: StackWindow::new(config),
            least_window: config.params.get("win_thresh") as u64,
            theta: config.params.get("theta") as u64,
            sum: 0,
            count: 0,
            base: u64::MAX,
            largest: 0,
            end: 0,
            alpha: ALPHA_MAX,
            beta: BETA_BASE,
            was_queued: false,
            low_rounds: 0,
            snd_nxt: 0,
        }
    }

    fn take(&mut self, rtt: Time) {
        let micros = rtt.as_micros().min(RTT_MAX);
        self.base = self.base.min(micros);
        self.largest = self.largest.max(micros);
        self.count += 1;
        self.sum += micros;
    }

    fn begin_round(&mut self, snd_nxt: u64) {
        self.end = snd_nxt;
        self.count = 0;
        self.sum = 0;
    }

    /// `update_params`.
    fn end_round(&mut self, snd_nxt: u64) {
        if self.stack.window.cwnd < self.least_window {
            self.alpha = ALPHA_BASE;
            self.beta = BETA_BASE;
        } else if let Some(mean) = self.sum.checked_div(self.count) {
            let delay = mean - self.base;
            let largest = self.largest - self.base;
            self.alpha = self.alpha_of(delay, largest);
            self.beta = beta_of(delay, largest);
        }
        self.begin_round(snd_nxt);
    }

    /// Segments a round trip: `ALPHA_MAX` at a hundredth of the largest delay and below,
    /// `ALPHA_MIN` at the largest, `k1 / (k2 + delay)` between them.
    fn alpha_of(&mut self, delay: u64, largest: u64) -> u64 {
        let low = largest / 100;
        if delay <= low {
            if !self.was_queued {
                return ALPHA_MAX;
            }
            // One good round trip must not make the window leap.
            self.low_rounds += 1;
            if self.low_rounds < self.theta {
                return self.alpha;
            }
            self.low_rounds = 0;
            self.was_queued = false;
            return ALPHA_MAX;
        }
        self.was_queued = true;
        let (delay, largest) = (delay - low, largest - low);
        largest * ALPHA_MAX / (largest + delay * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
    }

    /// The round's step: `alpha` segments for a window acknowledged.
    fn avoid(&mut self, acked: u64) {
        let window = &mut self.stack.window;
        window.counter += acked;
        let grown = (window.counter * self.alpha) >> ALPHA_SHIFT;
        if grown >= window.cwnd {
            window.cwnd = (window.cwnd + grown / window.cwnd).min(window.most);
            window.counter = 0;
        }
    }
}

/// The share of the window that a loss costs: `BETA_MIN` up to a tenth of the largest delay,
/// `BETA_MAX` from eight tenths on, a line between them.
fn beta_of(delay: u64, largest: u64) -> u64 {
    let low = largest / 10;
    if delay <= low {
        return BETA_MIN;
    }
    let high = 8 * largest / 10;
    if delay >= high || high <= low {
        return BETA_MAX;
    }
    (BETA_MIN * high + (BETA_MAX - BETA_MIN) * delay - BETA_MAX * low) / (high - low)
}

impl CongestionControl for Illinois {
    fn on_ack(&mut self, ack: &AckSample, _cx: &mut Cx<'_>) {
        if let Some(rtt) = ack.rtt {
            self.take(rtt);
        }
        self.snd_nxt = ack.snd_nxt;
        if !is_asked_to_grow(ack) {
            return;
        }
        if ack.snd_una > self.end {
            self.end_round(ack.snd_nxt);
        }
        if !ack.cwnd_limited {
            return;
        }
        if self.stack.window.in_slow_start() {
            let acked = self.stack.acked(ack);
            self.stack.window.slow_start(acked);
        } else {
            let acked = self.stack.acked_cumulatively(ack);
            self.avoid(acked);
        }
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        let beta = self.beta;
        self.stack.reduce(kind, at, |window| {
            let cut = (window.cwnd * beta) >> BETA_SHIFT;
            (window.cwnd - cut).max(2)
        });
        if kind == Congestion::Rto {
            self.alpha = ALPHA_BASE;
            self.beta = BETA_BASE;
            self.low_rounds = 0;
            self.was_queued = false;
            self.begin_round(at.snd_nxt);
        }
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        self.stack.undo();
    }

    fn on_restart(&mut self, idle: Time, rto: Time, _cx: &mut Cx<'_>) {
        self.stack.restart(idle, rto);
    }

    fn cwnd(&self) -> u64 {
        self.stack.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.stack.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::illinois::VARIANT;
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::{Arithmetic, SlowStart};

    fn flow(cwnd: u64) -> Bench<Illinois> {
        let config = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
        let mut flow = Bench::new(Illinois::new(&config));
        flow.cc.stack.window.cwnd = cwnd;
        flow.cc.stack.window.ssthresh = 2;
        flow
    }

    #[test]
    fn constants_are_the_kernels() {
        assert_eq!(
            (ALPHA_MIN, ALPHA_MAX, BETA_MIN, BETA_MAX),
            (38, 1_280, 8, 32)
        );
        assert_eq!(RTT_MAX, 3_355_443);
    }

    /// The largest delay is 10 ms: low below 100 us, then 9900 * 1280 / (9900 + d * 1242 / 38)
    /// for d past it.
    #[test]
    fn alpha_falls_with_the_delay() {
        let mut cc = flow(20).cc;
        assert_eq!(cc.alpha_of(100, 10_000), 1_280);
        // d = 900: 900 * 1242 / 38 = 29415; 12672000 / 39315 = 322, 2.5 segments.
        assert_eq!(cc.alpha_of(1_000, 10_000), 322);
        // d = 9900: 323573; 12672000 / 333473 = 38, 0.3 segments.
        assert_eq!(cc.alpha_of(10_000, 10_000), 38);
        // Back in the low zone: four rounds as before, the fifth at the largest step.
        cc.alpha = 322;
        let seen: Vec<_> = (0..6).map(|_| cc.alpha_of(50, 10_000)).collect();
        assert_eq!(seen, [322, 322, 322, 322, 1_280, 1_280]);
    }

    /// Between 1 and 8 ms of 10: (8 * 8000 - 32 * 1000 + 24 d) / 7000.
    #[test]
    fn beta_rises_with_the_delay() {
        let seen = [1_000, 1_500, 4_500, 7_999, 8_000].map(|delay| beta_of(delay, 10_000));
        assert_eq!(seen, [8, 9, 20, 31, 32]); // 68000/7000, 140000/7000, 223976/7000
        assert_eq!(beta_of(1, 1), BETA_MAX);
    }

    #[test]
    fn a_round_without_a_queue_adds_ten_segments_and_a_loss_costs_an_eighth() {
        let mut flow = flow(40);
        for acked in 1..=41 {
            flow.ack(&AckSample {
                rtt: Some(Time::from_millis(40)),
                snd_una: acked * 1_000,
                snd_nxt: 200_000,
                ..ack(1_000)
            });
        }
        // 4 acknowledged make 4 * 10 / 40 = 1 segment: 40, 41 (5), 42 (5), ... to 49.
        assert_eq!(flow.cc.stack.window.cwnd, 48);
        assert_eq!(flow.cc.beta, BETA_MIN);
        flow.congestion(Congestion::Loss, &congestion(48_000));
        assert_eq!(flow.cc.cwnd(), 42_000); // 48 - 48 * 8 / 64
        flow.congestion(Congestion::Rto, &congestion(42_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 37_000)); // 42 - 5
        assert_eq!((flow.cc.alpha, flow.cc.beta), (ALPHA_BASE, BETA_BASE));
    }

    #[test]
    fn a_small_window_is_renos() {
        let mut flow = flow(14);
        flow.ack(&ack(1_000)); // no round has ended: nothing is known
        assert_eq!(flow.cc.alpha, ALPHA_MAX);
        flow.ack(&AckSample {
            snd_una: 2_000,
            snd_nxt: 2_000,
            ..ack(1_000)
        });
        assert_eq!((flow.cc.alpha, flow.cc.beta), (ALPHA_BASE, BETA_BASE));
    }
}
