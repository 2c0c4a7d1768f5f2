//! Hybla with a window of its own.

use cclab_units::Time;

use crate::window::{StackWindow, may_grow};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// Binary digits of rho.
const RHO_SHIFT: u32 = 3;
/// Binary digits of increments.
const SHIFT: u32 = 7;
const ONE: u64 = 1 << SHIFT;
/// 2^(k/8) in units of [`ONE`], as the kernel rounds it.
const FRACTIONS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// `snd_cwnd_clamp`, in segments.
const MOST: u64 = 65_535;

/// The variant at one flow.
pub(crate) struct Hybla {
    stack: StackWindow,
    rtt0_us: u64,
    /// rho = RTT / rtt0, at least 1, in units of 1/8; zero before the first round-trip time.
    rho: u64,
    /// Smallest smoothed round-trip time, the one that rho is of.
    min_srtt: Time,
    /// What was grown less than a segment (`snd_cwnd_cents`), in units of [`ONE`].
    cents: u64,
}

impl Hybla {
    pub(crate) fn new(config: &Config) -> Hybla {
        let mut stack = StackWindow::new(config);
        stack.window.most = stack.window.most.min(MOST);
        Hybla {
            stack,
            rtt0_us: (config.params.get("rtt0") * 1e6).round() as u64,
            rho: 0,
            min_srtt: Time::ZERO,
            cents: 0,
        }
    }

    /// `hybla_recalc_param`.
    fn liken(&mut self, srtt: Time) {
        let srtt_x8_us = srtt.as_nanos() * 8 / 1_000;
        self.rho = (srtt_x8_us / self.rtt0_us).max(1 << RHO_SHIFT);
        self.min_srtt = srtt;
    }

    /// `2^rho - 1` in slow start, `rho^2 / cwnd` after it, in units of [`ONE`].
    fn increment(&self) -> u64 {
        let whole = self.rho >> RHO_SHIFT;
        if self.stack.window.in_slow_start() {
            let fraction = FRACTIONS[(self.rho & 7) as usize];
            (fraction << whole.min(16)) - ONE
        } else {
            ((self.rho * self.rho) << 1) / self.stack.window.cwnd
        }
    }

    /// `hybla_cong_avoid`: each acknowledgement counts once, whatever it covers.
    fn grow(&mut self) {
        let slow_start = self.stack.window.in_slow_start();
        let increment = self.increment();
        let window = &mut self.stack.window;
        if !slow_start && increment < ONE {
            window.counter += 1;
        }
        self.cents += increment % ONE;
        window.cwnd += increment >> SHIFT;
        if self.cents >= ONE {
            window.cwnd += self.cents >> SHIFT;
            self.cents %= ONE;
            window.counter = 0;
        }
        // Increments too small to be counted: no slower than Reno.
        if increment == 0 && window.counter >= window.cwnd {
            window.cwnd += 1;
            window.counter = 0;
        }
        if slow_start {
            window.cwnd = window.cwnd.min(window.ssthresh);
        }
        window.cwnd = window.cwnd.min(window.most);
    }
}

impl CongestionControl for Hybla {
    /// The kernel starts with a window of rho, not with the stack's initial window.
    fn on_established(&mut self, rtt: Option<Time>, _cx: &mut Cx<'_>) {
        self.liken(rtt.unwrap_or(Time::ZERO));
        self.stack.window.cwnd = self.rho >> RHO_SHIFT;
    }

    fn on_ack(&mut self, ack: &AckSample, _cx: &mut Cx<'_>) {
        if self.rho == 0 || ack.srtt < self.min_srtt {
            self.liken(ack.srtt);
        }
        self.stack.reopens(ack);
        if !may_grow(ack) {
            return;
        }
        if self.stack.is_repairing() {
            let acked = self.stack.acked(ack);
            self.stack.window.reno(acked);
        } else {
            self.grow();
        }
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        self.stack.reduce(kind, at, |window| window.half());
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
    use crate::hybla::VARIANT;
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::{Arithmetic, SlowStart};

    fn flow(srtt_ms: u64) -> Bench<Hybla> {
        let config = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
        let mut flow = Bench::new(Hybla::new(&config));
        flow.established(Time::from_millis(srtt_ms));
        flow
    }

    fn grow(flow: &mut Bench<Hybla>, srtt_ms: u64) -> u64 {
        flow.ack(&AckSample {
            srtt: Time::from_millis(srtt_ms),
            ..ack(1_000)
        });
        flow.cc.stack.window.cwnd
    }

    #[test]
    fn the_window_starts_at_rho() {
        for (ms, rho) in [(10, 1), (25, 1), (60, 2), (600, 24)] {
            assert_eq!(flow(ms).cc.stack.window.cwnd, rho);
        }
    }

    /// rho = 60 / 25 = 2.4, 19 in eighths: 2^(19/8) - 1 = 4 * 165/128 - 1 = 532/128.
    #[test]
    fn slow_start_adds_a_power_of_two() {
        let mut flow = flow(60);
        // 2 + 4, 20/128 kept; 6 + 4, 40/128; ... the seventh carries: 140/128.
        let seen: Vec<_> = (0..7).map(|_| grow(&mut flow, 60)).collect();
        assert_eq!(seen, [6, 10, 14, 18, 22, 26, 31]);
        flow.cc.stack.window.ssthresh = 32;
        assert_eq!(grow(&mut flow, 60), 32);
    }

    /// rho = 100 / 25 = 4: 16 / cwnd an acknowledgement, 2048/128 in fixed point.
    #[test]
    fn avoidance_adds_rho_squared_a_window() {
        let mut flow = flow(100);
        flow.cc.stack.window.cwnd = 100;
        flow.cc.stack.window.ssthresh = 2;
        for _ in 0..6 {
            assert_eq!(grow(&mut flow, 100), 100); // 2048 / 100 = 20 of 128 each
        }
        assert_eq!((grow(&mut flow, 100), flow.cc.cents), (101, 12));
        // A smaller round trip takes rho down; a larger one does not take it up.
        grow(&mut flow, 50);
        grow(&mut flow, 80);
        assert_eq!(flow.cc.rho, 16);
    }

    #[test]
    fn increments_below_the_fixed_point_are_counted_as_reno_does() {
        let mut flow = flow(25);
        flow.cc.stack.window.cwnd = 200; // 128 / 200 = 0
        flow.cc.stack.window.ssthresh = 2;
        for _ in 0..199 {
            assert_eq!(grow(&mut flow, 25), 200);
        }
        assert_eq!(grow(&mut flow, 25), 201);
        flow.congestion(Congestion::Loss, &congestion(200_000));
        assert_eq!(flow.cc.cwnd(), 100_000);
    }
}
