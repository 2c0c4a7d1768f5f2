//! TCP-LP as Linux 6.12 has it (`tcp_lp.c`): 32 bits, milliseconds, and its own estimate of the
//! receiver's tick.

use cclab_interface::{AckSample, CongestionOps, Tcp};

use super::{Delays, Limits, TICKS};
use crate::Config;

/// How fast the receiver's clock ticks (`tcp_lp_remote_hz_estimator`). A second is counted by the
/// echoes, in whole ticks from one sample to the next, so that a sample is far off; and what is
/// smoothed loses its fraction each time, so that it falls by one at least for a sample below it
/// and stands for one that is less than 64 above.
#[derive(Clone, Copy, Debug, Default)]
struct RemoteTick {
    /// Ticks per second (`remote_hz`); zero: not known (`LP_VALID_RHZ`).
    hz: u32,
    /// The receiver's clock at the sample before, and the echo; zero: none.
    value: u32,
    echo: u32,
}

impl RemoteTick {
    fn sample(&mut self, value: u32, echo: u32) {
        let known = self.value != 0 && self.echo != 0;
        if known && value != self.value && echo != self.echo {
            let passed = TICKS.wrapping_mul(value.wrapping_sub(self.value));
            let sample = u64::from(passed / echo.wrapping_sub(self.echo));
            let smoothed = u64::from(self.hz << 6); // 32 bits
            self.hz = match smoothed {
                0 => sample as u32,
                _ => ((smoothed - (smoothed >> 6) + sample) >> 6) as u32,
            };
        } else {
            self.hz = (self.hz << 6) >> 6;
        }
        (self.value, self.echo) = (value, echo);
    }

    /// `tcp_lp_owd_calculator`: the delay of the acknowledged data; `None` before the tick is
    /// known, and where it comes to nothing (`LP_VALID_OWD`). A clock that seems faster than
    /// 1000 Hz does not count at all.
    fn delay(&self) -> Option<u32> {
        let tick = TICKS.checked_div(self.hz)?;
        let ahead = self.value.wrapping_mul(tick);
        Some(ahead.wrapping_sub(self.echo)).filter(|delay| *delay > 0)
    }
}

/// The module's state (`struct lp`) and its parameters.
pub(super) struct Lp {
    limits: Limits,
    tick: RemoteTick,
    delays: Delays,
    /// By the sender's clock of timestamps, as what follows; zero: never.
    last_drop: u32,
    inference: u32,
    /// Whether a reduction is so recent that the window does not grow (`LP_WITHIN_INF`).
    in_inference: bool,
}

impl Lp {
    pub(super) fn new(config: &Config) -> Lp {
        Lp::of(Limits::of(config))
    }

    fn of(limits: Limits) -> Lp {
        Lp {
            limits,
            tick: RemoteTick::default(),
            delays: Delays::NONE,
            last_drop: 0,
            inference: 0,
            in_inference: false,
        }
    }
}

impl CongestionOps for Lp {
    fn init(&mut self, _tcp: &mut Tcp) {
        *self = Lp::of(self.limits);
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        tcp.reno_ssthresh()
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, acked: u32) {
        if !self.in_inference {
            tcp.reno_cong_avoid(acked);
        }
    }

    /// The window is cut at every acknowledgement whose smoothed delay is not near the least.
    fn pkts_acked(&mut self, tcp: &mut Tcp, sample: &AckSample) {
        let now = (tcp.tcp_mstamp / 1_000) as u32;
        if sample.rtt_us > 0 {
            self.tick.sample(tcp.rcv_tsval, tcp.rcv_tsecr);
            if let Some(delay) = self.tick.delay() {
                self.delays.take(delay);
            }
        }
        let passed = now.wrapping_sub(tcp.rcv_tsecr);
        if passed as i32 > 0 {
            self.inference = passed.wrapping_mul(self.limits.inference_rtts);
        }
        self.in_inference =
            self.last_drop != 0 && now.wrapping_sub(self.last_drop) < self.inference;
        if self.delays.smoothed >> 3 < self.delays.limit(self.limits.threshold) {
            return;
        }
        self.delays.start_again();
        tcp.snd_cwnd = match self.in_inference {
            true => 1,
            false => (tcp.snd_cwnd >> 1).max(1),
        };
        self.last_drop = now;
    }
}

#[cfg(test)]
mod tests {
    use cclab_units::parameter::Params;

    use super::*;
    use crate::lp::{PARAMS, VARIANT};
    use crate::tests::{config_of, lent};
    use crate::{Arithmetic, SlowStart};

    /// A flow on a clock, whose receiver's timestamps are ahead of it.
    struct Flow {
        module: Lp,
        tcp: Tcp,
        now: u32,
        ahead: u32,
    }

    fn flow(given: &[(&str, f64)], ahead: u32) -> Flow {
        let given = given.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        let module = Lp::new(&Config {
            params: Params::new(PARAMS, &given).expect("in range"),
            ..config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain)
        });
        Flow {
            module,
            tcp: lent(10, cclab_interface::TCP_INFINITE_SSTHRESH),
            now: 1_000,
            ahead,
        }
    }

    impl Flow {
        /// An acknowledgement, `passed` ms after the one before, of a segment that took `owd` ms
        /// there and as many for the way back.
        fn acked(&mut self, passed: u32, owd: u32) -> u32 {
            self.now += passed;
            self.tcp.tcp_mstamp = u64::from(self.now) * 1_000 + 999;
            self.tcp.rcv_tsval = (self.now - owd).wrapping_add(self.ahead);
            self.tcp.rcv_tsecr = self.now - 2 * owd;
            let sample = AckSample {
                rtt_us: owd as i32 * 2_000,
                pkts_acked: 1,
                in_flight: 10,
            };
            self.module.pkts_acked(&mut self.tcp, &sample);
            let seen = self.tcp.snd_cwnd;
            self.module.cong_avoid(&mut self.tcp, 0, 1);
            seen
        }
    }

    #[test]
    fn an_early_indication_halves_and_nothing_grows_for_three_round_trips() {
        let mut flow = flow(&[], 0);
        // One sample does not tell the tick of the receiver's clock.
        assert_eq!(flow.acked(0, 20), 10);
        // 10 ms by both clocks: 1000 Hz. The first delay is least and largest at once, so that it
        // is an indication: 11 to 5 segments. The next is due at 20 + 15 (40 - 20) / 100 = 23 ms.
        assert_eq!(flow.acked(10, 20), 5);
        let lp = &flow.module;
        assert_eq!((lp.tick.hz, lp.delays.smoothed), (1_000, 160));
        assert_eq!((lp.delays.least, lp.delays.most), (20, 40));
        assert_eq!((lp.last_drop, lp.inference), (1_010, 120));
        // For 3 round trips of 40 ms nothing grows but by the acknowledgement that cut.
        assert_eq!(flow.acked(119, 20), 6);
        assert_eq!(flow.acked(1, 20), 6);
        assert_eq!(flow.acked(1, 20), 7);
        // The slow-start threshold never moved.
        assert_eq!(
            flow.tcp.snd_ssthresh,
            cclab_interface::TCP_INFINITE_SSTHRESH
        );
    }

    /// Below 7 ms, 15% is no whole millisecond: every acknowledgement is an indication.
    #[test]
    fn an_indication_within_the_inference_leaves_one_segment() {
        let mut flow = flow(&[], 0);
        let seen = [(0, 5), (10, 5), (29, 5), (1, 5)].map(|(ms, owd)| flow.acked(ms, owd));
        assert_eq!(seen, [10, 5, 1, 1]);
        // 30 ms after the last it is not within: half of the one that there is, one at least.
        assert_eq!(flow.acked(30, 5), 1);
        flow.tcp.snd_cwnd = 9;
        assert_eq!(flow.acked(30, 5), 4);
    }

    #[test]
    fn the_tick_loses_its_fraction() {
        let mut tick = RemoteTick::default();
        let (mut value, mut echo) = (5_000, 2_000);
        let mut sampled = |more_value, more_echo| {
            value += more_value;
            echo += more_echo;
            tick.sample(value, echo);
            (tick.hz, tick.delay())
        };
        assert_eq!(sampled(0, 0), (0, None));
        assert_eq!(sampled(7, 0), (0, None)); // no time passed by one of the clocks
        assert_eq!(sampled(10, 10), (1_000, Some(3_007)));
        assert_eq!(sampled(21, 20), (1_000, Some(3_008))); // 1050: less than 64 above
        assert_eq!(sampled(19, 20), (999, Some(3_007))); // 950
        assert_eq!(sampled(20, 10), (1_014, Some(0_u32.wrapping_sub(2_060))));
        assert_eq!(sampled(1, 100), (998, Some(2_918)));
        // Where the clocks show zero nothing is remembered: no sample the next time.
        tick.sample(0, 3_000);
        let hz = tick.hz;
        tick.sample(100, 3_001);
        assert_eq!(tick.hz, hz);
        // A tick of 2^26 Hz and more loses its upper bits where it is shifted.
        tick.hz = (1 << 26) + 5;
        tick.sample(100, 3_002);
        assert_eq!(tick.hz, 5);
    }

    /// 2^29 milliseconds times 8 do not fit: the smoothed delay stays below the least one.
    #[test]
    fn large_offsets_of_timestamps_make_it_reno() {
        let mut flow = flow(&[], 1 << 29);
        for _ in 0..100 {
            flow.acked(10, 20);
        }
        assert_eq!((flow.module.last_drop, flow.tcp.snd_cwnd), (0, 110));
        assert_eq!(flow.module.ssthresh(&mut flow.tcp), 55);
        flow.tcp.prior_cwnd = 120;
        assert_eq!(flow.module.undo_cwnd(&mut flow.tcp), 120);
    }

    /// Without a round-trip time the clocks are not read, but what passed is.
    #[test]
    fn only_a_measured_acknowledgement_samples_the_delay() {
        let mut flow = flow(&[], 0);
        flow.acked(0, 20);
        let tick = flow.module.tick;
        for rtt_us in [-1, 0] {
            let sample = AckSample {
                rtt_us,
                ..AckSample::default()
            };
            flow.tcp.rcv_tsval += 10;
            flow.tcp.rcv_tsecr += 10;
            flow.module.pkts_acked(&mut flow.tcp, &sample);
        }
        assert_eq!(flow.module.tick.echo, tick.echo);
        assert_eq!(flow.module.inference, 3 * 20);
        // An echo from the future changes nothing.
        flow.tcp.rcv_tsecr = flow.now + 1;
        flow.module.pkts_acked(&mut flow.tcp, &AckSample::default());
        assert_eq!(flow.module.inference, 3 * 20);
        flow.module.init(&mut flow.tcp);
        assert_eq!((flow.module.inference, flow.module.tick.echo), (0, 0));
    }

    /// Half of the range: 20 + 50 (40 - 20) / 100 = 30 ms; one round trip of 40 ms.
    #[test]
    fn parameters_set_the_threshold_and_the_inference() {
        let mut flow = flow(&[("threshold", 0.5), ("inference", 1.0)], 0);
        flow.acked(0, 20);
        assert_eq!(flow.acked(10, 20), 5);
        assert_eq!(flow.module.inference, 40);
        assert_eq!(flow.module.delays.limit(flow.module.limits.threshold), 30);
        assert_eq!(flow.acked(39, 20), 6);
        assert_eq!(flow.acked(1, 20), 6);
        assert_eq!(flow.acked(1, 20), 7);
    }
}
