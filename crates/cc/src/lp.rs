//! TCP-LP: low priority. The one-way delay shows a queue before it overflows, and the window makes
//! room for others at once (Kuzmanovic and Knightly 2003).
//!
//! Reacts to one-way delay, and as Reno to loss, timeouts and ECN. Alone, and between early
//! indications, its response is Reno's.
//!
//! Two forms: Linux 6.12's (`tcp_lp.c`), in 32 bits and with its estimate of the receiver's tick,
//! which makes most flows plain Reno; and the paper's, in the same arithmetic and with the tick of
//! a millisecond that the clocks here have.

use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure, Stream, Time};

use crate::module::{CaState, Measured, Modular, Module};
use crate::variant::{Departure, EcnFeedback, Signal, Variant, WindowInRecovery};
use crate::window::SegmentWindow;
use crate::{Arithmetic, Config, Timestamps};

/// What a timestamp, 32 bits of milliseconds, can count.
const MOST_SECONDS: f64 = u32::MAX as f64 / 1e3;

const PARAMS: &[Parameter] = &[
    Parameter {
        name: "threshold",
        measure: Measure::Share,
        meaning: "share of the way from the least to the largest delay that means congestion",
        default: 0.15,
        least: 0.0,
        most: 1.0,
    },
    Parameter {
        name: "inference",
        measure: Measure::Whole,
        meaning: "round trips after a reduction without growth, in which another leaves one segment",
        default: 3.0,
        least: 0.0,
        most: 1_000.0,
    },
    Parameter {
        name: "timestamp_offset",
        measure: Measure::Time,
        meaning: "by how much the receiver's timestamps are ahead; drawn at random on linux-6.12, else 0",
        default: f64::NAN,
        least: 0.0,
        most: MOST_SECONDS,
    },
    Parameter {
        name: "uptime",
        measure: Measure::Time,
        meaning: "how long both clocks have run before; on linux-6.12 only",
        // What the guests of the kernel backends have behind them.
        default: 10.0,
        least: 0.0,
        most: MOST_SECONDS,
    },
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "lp",
    version: 1,
    summary: "Low priority: makes room when the one-way delay grows",
    reference: "A. Kuzmanovic, E. Knightly, TCP-LP, INFOCOM 2003; Linux 6.12",
    near: &[],
    kernel: Some(InKernel::Module {
        name: "tcp_lp",
        symbol: "CONFIG_TCP_CONG_LP",
    }),
    recovery: None,
    params: PARAMS,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Delay,
    departures: &[Departure::NarrowedByDelay],
    relations: &[],
    ops: None,
    build: Some(|config| Box::new(Modular::new(config, Lp::new(config)))),
};

/// What an early indication leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The extremes of the delay start again from what it is, and slow start returns.
    Linux,
    /// The extremes are of the connection, and growth is additive.
    Paper,
}

/// Ticks per second of a clock of timestamps (`TCP_TS_HZ`), and of what a delay is counted in.
const TICKS: u32 = 1_000;

/// How fast the receiver's clock ticks, as the kernel estimates it
/// (`tcp_lp_remote_hz_estimator`). A second is counted by the echoes, in whole ticks from one
/// sample to the next, so that a sample is far off; and what is smoothed loses its fraction each
/// time, so that it falls by one at least for a sample below it and stands for one that is less
/// than 64 above.
#[derive(Clone, Copy, Debug)]
struct RemoteTick {
    /// Ticks per second; zero before the second sample.
    hz: u32,
    /// The receiver's clock at the sample before, and the echo.
    last: Option<(u32, u32)>,
}

impl RemoteTick {
    fn sample(&mut self, stamps: &Timestamps) {
        let (value, echo) = (stamps.value, stamps.echo);
        if let Some((last_value, last_echo)) = self.last.replace((value, echo))
            && value != last_value
            && echo != last_echo
        {
            let passed = TICKS.wrapping_mul(value.wrapping_sub(last_value));
            let sample = u64::from(passed / echo.wrapping_sub(last_echo));
            let smoothed = u64::from(self.hz << 6);
            self.hz = match smoothed {
                0 => sample as u32, // as wide as what it was divided from
                _ => ((smoothed - (smoothed >> 6) + sample) >> 6) as u32, // the mean of such
            };
        }
    }

    /// The delay of the acknowledged data, in milliseconds; `None` before the tick is known, and
    /// where it comes to nothing. A clock that seems faster than 1000 Hz does not count at all.
    fn delay(&self, stamps: &Timestamps) -> Option<u32> {
        let tick = TICKS.checked_div(self.hz)?;
        let ahead = stamps.value.wrapping_mul(tick);
        Some(ahead.wrapping_sub(stamps.echo)).filter(|delay| *delay > 0)
    }
}

/// The module's state (`struct lp`). Delays are in milliseconds and 32 bits, as the kernel has
/// them.
struct Lp {
    form: Form,
    /// In hundredths.
    threshold: u32,
    /// In round trips.
    inference_rtts: u32,
    /// `None` until drawn.
    offset: Option<u32>,
    /// Ticks, and no matter where a millisecond is one.
    uptime: u32,
    tick: RemoteTick,
    /// Smoothed, times 8; zero before the first sample.
    sowd: u32,
    owd_min: u32,
    owd_max: u32,
    /// The largest sample, of which the largest but one is believed.
    owd_max_rsv: u32,
    /// By the sender's clock of timestamps, as what follows.
    last_drop: Option<u32>,
    inference: u32,
    /// Whether a reduction is so recent that the window does not grow.
    in_inference: bool,
}

/// `seconds` as a clock of milliseconds counts them.
fn milliseconds(seconds: f64) -> u32 {
    (seconds * 1e3).round() as u32
}

impl Lp {
    fn new(config: &Config) -> Lp {
        let form = match config.arithmetic {
            Arithmetic::Segments => Form::Linux,
            _ => Form::Paper,
        };
        let unset = (form == Form::Paper).then_some(0);
        let offset = config.params.given("timestamp_offset");
        let tick = RemoteTick {
            hz: if form == Form::Paper { TICKS } else { 0 },
            last: None,
        };
        Lp {
            form,
            threshold: (config.params.get("threshold") * 100.0).round() as u32,
            inference_rtts: config.params.get("inference") as u32,
            offset: offset.map(milliseconds).or(unset),
            uptime: milliseconds(config.params.get("uptime")),
            tick,
            sowd: 0,
            owd_min: u32::MAX,
            owd_max: 0,
            owd_max_rsv: 0,
            last_drop: None,
            inference: 0,
            in_inference: false,
        }
    }

    /// `tcp_lp_rtt_sample`. All of it wraps at 32 bits; what is kept times 8 loses three more.
    fn take_delay(&mut self, owd: u32) {
        self.owd_min = self.owd_min.min(owd);
        if owd > self.owd_max {
            self.owd_max = match self.owd_max_rsv {
                0 => owd,
                reserved => owd.min(reserved),
            };
            self.owd_max_rsv = self.owd_max_rsv.max(owd);
        }
        self.sowd = match self.sowd {
            0 => owd << 3,
            sowd => sowd.wrapping_sub(sowd >> 3).wrapping_add(owd),
        };
    }

    /// Whether the smoothed delay is near the least.
    fn is_within_threshold(&self) -> bool {
        let range = self.owd_max.wrapping_sub(self.owd_min);
        let part = self.threshold.wrapping_mul(range) / 100;
        let limit = self.owd_min.wrapping_add(part);
        match self.form {
            Form::Linux => self.sowd >> 3 < limit,
            Form::Paper => self.owd_max == 0 || self.sowd >> 3 <= limit,
        }
    }

    /// An early indication of congestion.
    fn give_way(&mut self, now: u32, state: CaState, window: &mut SegmentWindow) {
        self.last_drop = Some(now);
        if self.form == Form::Linux {
            self.owd_min = self.sowd >> 3;
            self.owd_max = self.sowd >> 2;
            self.owd_max_rsv = self.sowd >> 2;
        }
        // Recovery has a window of its own, and puts it in place of any other.
        if state == CaState::Recovery {
            return;
        }
        window.cwnd = match self.in_inference {
            true => 1,
            false => (window.cwnd >> 1).max(1),
        };
        if self.form == Form::Paper {
            window.ssthresh = window.ssthresh.min(window.cwnd.max(2));
        }
    }
}

impl Module for Lp {
    fn on_measured(&mut self, measured: &Measured, window: &mut SegmentWindow, dice: &mut Stream) {
        let Some(mut stamps) = measured.stamps else {
            return;
        };
        let passed = stamps.now.wrapping_sub(stamps.echo);
        if measured.rtt.is_some() {
            let offset = *self.offset.get_or_insert_with(|| dice.bits() as u32);
            stamps.value = stamps.value.wrapping_add(self.uptime).wrapping_add(offset);
            stamps.echo = stamps.echo.wrapping_add(self.uptime);
            if self.form == Form::Linux {
                self.tick.sample(&stamps);
            }
            if let Some(owd) = self.tick.delay(&stamps) {
                self.take_delay(owd);
            }
        }
        if (1..1 << 31).contains(&passed) {
            self.inference = passed.saturating_mul(self.inference_rtts);
        }
        self.in_inference = self
            .last_drop
            .is_some_and(|drop| stamps.now.wrapping_sub(drop) < self.inference);
        if !self.is_within_threshold() {
            self.give_way(stamps.now, measured.state, window);
        }
    }

    fn grow(&mut self, window: &mut SegmentWindow, acked: u64, _now: Time) {
        if !self.in_inference {
            window.reno(acked);
        }
    }

    fn ssthresh(&mut self, window: &SegmentWindow, _now: Time) -> u64 {
        window.half()
    }
}

#[cfg(test)]
mod tests {
    use cclab_units::parameter::Params;

    use super::*;
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::{AckSample, Congestion, CongestionControl, SlowStart};

    /// A flow whose receiver's timestamps are `ahead` ms ahead.
    fn flow(arithmetic: Arithmetic, ahead: f64) -> Bench<Modular<Lp>> {
        let given = [
            ("timestamp_offset".to_owned(), ahead / 1e3),
            ("uptime".to_owned(), 0.0),
        ]
        .into();
        let config = Config {
            params: Params::new(PARAMS, &given).expect("in range"),
            ..config_of(&VARIANT, arithmetic, SlowStart::Plain)
        };
        Bench::new(Modular::new(&config, Lp::new(&config)))
    }

    /// An acknowledgement, now, of data that took `owd` ms there and as many for the way back.
    fn delayed(now: Time, owd: u64) -> AckSample {
        let now = now.as_millis();
        AckSample {
            rtt: Some(Time::from_millis(2 * owd)),
            stamps: Some(Timestamps {
                value: (now - owd) as u32,
                echo: (now - 2 * owd) as u32,
                now: now as u32,
            }),
            ..ack(1_000)
        }
    }

    /// As [`delayed`], `passed` ms after the one before.
    fn acked(flow: &mut Bench<Modular<Lp>>, passed: u64, owd: u64) {
        flow.now += Time::from_millis(passed);
        flow.ack(&delayed(flow.now, owd));
    }

    #[test]
    fn an_early_indication_halves_and_a_second_one_leaves_one_segment() {
        let mut flow = flow(Arithmetic::Segments, 0.0);
        // One sample does not tell the tick of the receiver's clock: ten segments become eleven.
        acked(&mut flow, 0, 20);
        assert_eq!((flow.cc.cwnd(), flow.cc.module.sowd), (11_000, 0));
        // 10 ms by both clocks: 1000 Hz. The first delay is least and largest at once, so that it is
        // an indication: 11 to 5 segments. The next is due at 20 + 15 (40 - 20) / 100 = 23 ms.
        acked(&mut flow, 10, 20);
        assert_eq!(flow.cc.cwnd(), 6_000); // halved, and grown by the same acknowledgement
        let lp = &flow.cc.module;
        assert_eq!(
            (lp.tick.hz, lp.owd_min, lp.owd_max, lp.sowd),
            (1_000, 20, 40, 160)
        );
        // For 3 round trips of 40 ms nothing grows.
        acked(&mut flow, 119, 20);
        assert_eq!(flow.cc.cwnd(), 6_000);
        acked(&mut flow, 1, 20);
        assert_eq!(flow.cc.cwnd(), 7_000);
        // 140 ms by the receiver's clock and 112 by the echoes are 1250 Hz, smoothed
        // (64000 - 1000 + 1250) / 64 = 1003 Hz: above 1000 a tick counts for nothing, and the delay
        // is 0 - echo, a clock of 1 s + 10 + 119 + 1 + 168 - 96 ms below 2^32. Smoothed
        // 140 + 2^32 - 1202: 2^32 - 1062, of which the three lowest bits go. That is not below
        // 20 + 15 (2^32 - 1202 - 20 modulo 2^32) / 100: an indication, of 7 segments 3, and grown.
        acked(&mut flow, 168, 48);
        let lp = &flow.cc.module;
        assert_eq!(lp.tick.hz, 1_003);
        assert_eq!(lp.sowd, 0_u32.wrapping_sub(1_062));
        assert_eq!(lp.owd_min, 0_u32.wrapping_sub(1_062) >> 3);
        assert_eq!(flow.cc.cwnd(), 4_000);
        // The slow-start threshold never moved.
        assert_eq!(flow.cc.ssthresh(), u64::MAX);
    }

    #[test]
    fn an_indication_within_the_inference_leaves_one_segment() {
        let mut flow = flow(Arithmetic::Segments, 0.0);
        // Below 7 ms, 15% is no whole millisecond: every acknowledgement is an indication.
        acked(&mut flow, 0, 5);
        acked(&mut flow, 10, 5);
        assert_eq!(flow.cc.cwnd(), 6_000);
        acked(&mut flow, 29, 5); // of 3 round trips of 10 ms
        assert_eq!((flow.cc.module.sowd, flow.cc.cwnd()), (40, 1_000));
    }

    #[test]
    fn the_tick_loses_its_fraction() {
        let mut tick = RemoteTick { hz: 0, last: None };
        let mut clock = Timestamps {
            value: 5_000,
            echo: 2_000,
            now: 2_000,
        };
        let mut sampled = |value, echo| {
            clock.value += value;
            clock.echo += echo;
            tick.sample(&clock);
            (tick.hz, tick.delay(&clock))
        };
        assert_eq!(sampled(0, 0), (0, None));
        assert_eq!(sampled(7, 0), (0, None)); // no time passed by one of the clocks
        assert_eq!(sampled(10, 10), (1_000, Some(3_007)));
        assert_eq!(sampled(21, 20), (1_000, Some(3_008))); // 1050: less than 64 above
        assert_eq!(sampled(19, 20), (999, Some(3_007))); // 950
        assert_eq!(sampled(20, 10), (1_014, Some(0_u32.wrapping_sub(2_060))));
        assert_eq!(sampled(1, 100), (998, Some(2_918)));
    }

    #[test]
    fn the_paper_keeps_the_extremes_and_grows_additively() {
        let mut flow = flow(Arithmetic::Bytes, 0.0);
        for owd in [20, 20, 60, 20] {
            acked(&mut flow, 0, owd);
        }
        // The largest but one: 20. Smoothed 160, 160, 200, 195: 25 and 24, above 20.
        assert_eq!(flow.cc.module.owd_min, 20);
        // 12, halved to 6, and grown by one in avoidance's counter; then within the inference.
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 2_000));
    }

    /// 2^29 milliseconds times 8 do not fit: the smoothed delay stays below the least one.
    #[test]
    fn large_offsets_of_timestamps_make_it_reno() {
        let mut flow = flow(Arithmetic::Segments, f64::from(1 << 29));
        for _ in 0..100 {
            acked(&mut flow, 10, 20);
        }
        assert_eq!(flow.cc.module.last_drop, None);
        assert_eq!(flow.cc.cwnd(), 110_000);
        flow.congestion(Congestion::Loss, &congestion(20_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (55_000, 55_000));
    }

    #[test]
    fn on_linux_the_offset_is_drawn() {
        let config = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
        let mut flow = Bench::new(Modular::new(&config, Lp::new(&config)));
        acked(&mut flow, 0, 20);
        let drawn = flow.cc.module.offset;
        acked(&mut flow, 0, 20);
        assert!(drawn.is_some());
        assert_eq!(flow.cc.module.offset, drawn);
    }

    #[test]
    fn the_largest_delay_but_one_counts() {
        let mut lp = flow(Arithmetic::Segments, 0.0).cc.module;
        lp.take_delay(20);
        lp.take_delay(100);
        assert_eq!((lp.owd_max, lp.owd_max_rsv), (20, 100));
        lp.take_delay(60);
        assert_eq!((lp.owd_max, lp.owd_max_rsv), (60, 100));
    }

    #[test]
    fn recovery_keeps_its_window() {
        let mut flow = flow(Arithmetic::Segments, 0.0);
        acked(&mut flow, 0, 20);
        flow.now += Time::from_millis(10);
        flow.ack(&AckSample {
            in_recovery: true,
            ..delayed(flow.now, 20)
        });
        assert_eq!(flow.cc.cwnd(), 11_000);
        assert!(flow.cc.module.last_drop.is_some());
    }
}
