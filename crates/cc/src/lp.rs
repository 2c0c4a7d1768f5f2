//! TCP-LP: low priority. The one-way delay shows a queue before it overflows, and the window makes
//! room for others at once (Kuzmanovic and Knightly 2003).
//!
//! Reacts to one-way delay, and as Reno to loss, timeouts and ECN. Alone, and between early
//! indications, its response is Reno's.
//!
//! Two forms: Linux 6.12's (`tcp_lp.c`), in 32 bits, where the random offset of the receiver's
//! timestamps makes most flows plain Reno; and the paper's, in the same arithmetic. One departure
//! from the kernel: it estimates the tick of the receiver's clock from the timestamps, here the
//! tick is known to be a millisecond.

use cclab_units::parameter::Parameter;
use cclab_units::{Stream, Time};

use crate::module::{CaState, Measured, Modular, Module};
use crate::variant::{Departure, EcnFeedback, Variant, WindowInRecovery};
use crate::window::SegmentWindow;
use crate::{Arithmetic, Config};

const PARAMS: &[Parameter] = &[
    Parameter {
        name: "threshold",
        meaning: "share of the way from the least to the largest delay that means congestion",
        default: 0.15,
        least: 0.0,
        most: 1.0,
    },
    Parameter {
        name: "inference",
        meaning: "round trips after a reduction without growth, in which another leaves one segment",
        default: 3.0,
        least: 0.0,
        most: 1_000.0,
    },
    Parameter {
        name: "timestamp_offset",
        meaning: "ms that the receiver's timestamps are ahead; drawn at random on linux-6.12, else 0",
        default: f64::NAN,
        least: 0.0,
        most: u32::MAX as f64,
    },
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "lp",
    summary: "Low priority: makes room when the one-way delay grows",
    reference: "A. Kuzmanovic, E. Knightly, TCP-LP, INFOCOM 2003; Linux 6.12",
    recovery: None,
    params: PARAMS,
    window: WindowInRecovery::Stack,
    ecn: EcnFeedback::Classic,
    departures: &[Departure::NarrowedByDelay],
    build: |config| Box::new(Modular::new(config, Lp::new(config))),
};

/// What an early indication leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The extremes of the delay start again from what it is, and slow start returns.
    Linux,
    /// The extremes are of the connection, and growth is additive.
    Paper,
}

/// The module's state (`struct lp`). Delays are in milliseconds and 32 bits, as the kernel has
/// them.
struct Lp {
    form: Form,
    /// In hundredths.
    threshold: u32,
    /// In round trips.
    inference_rtts: u64,
    /// `None` until drawn.
    offset: Option<u32>,
    /// Smoothed, times 8; zero before the first sample.
    sowd: u32,
    owd_min: u32,
    owd_max: u32,
    /// The largest sample, of which the largest but one is believed.
    owd_max_rsv: u32,
    last_drop: Option<Time>,
    inference: Time,
    /// Whether a reduction is so recent that the window does not grow.
    in_inference: bool,
}

impl Lp {
    fn new(config: &Config) -> Lp {
        let form = match config.arithmetic {
            Arithmetic::Segments => Form::Linux,
            _ => Form::Paper,
        };
        let unset = (form == Form::Paper).then_some(0);
        let offset = config.params.given("timestamp_offset");
        Lp {
            form,
            threshold: (config.params.get("threshold") * 100.0).round() as u32,
            inference_rtts: config.params.get("inference") as u64,
            offset: offset.map(|ms| ms as u32).or(unset),
            sowd: 0,
            owd_min: u32::MAX,
            owd_max: 0,
            owd_max_rsv: 0,
            last_drop: None,
            inference: Time::ZERO,
            in_inference: false,
        }
    }

    /// `tcp_lp_rtt_sample`. All of it wraps at 32 bits; what is kept times 8 loses three more.
    fn take_delay(&mut self, owd: u32) {
        if owd == 0 {
            return; // LP_VALID_OWD
        }
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
    fn give_way(&mut self, measured: &Measured, window: &mut SegmentWindow) {
        self.last_drop = Some(measured.now);
        if self.form == Form::Linux {
            self.owd_min = self.sowd >> 3;
            self.owd_max = self.sowd >> 2;
            self.owd_max_rsv = self.sowd >> 2;
        }
        // Recovery has a window of its own, and puts it in place of any other.
        if measured.state == CaState::Recovery {
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
        if let Some(rtt) = measured.rtt {
            if let Some(owd) = measured.one_way {
                let offset = *self.offset.get_or_insert_with(|| dice.bits() as u32);
                self.take_delay((owd.as_millis() as u32).wrapping_add(offset));
            }
            self.inference = Time::from_millis(rtt.as_millis()) * self.inference_rtts;
        }
        self.in_inference = self
            .last_drop
            .is_some_and(|drop| measured.now - drop < self.inference);
        if !self.is_within_threshold() {
            self.give_way(measured, window);
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

    fn flow(arithmetic: Arithmetic, offset: f64) -> Bench<Modular<Lp>> {
        let given = [("timestamp_offset".to_owned(), offset)].into();
        let config = Config {
            params: Params::new(PARAMS, &given).expect("in range"),
            ..config_of(&VARIANT, arithmetic, SlowStart::Plain)
        };
        Bench::new(Modular::new(&config, Lp::new(&config)))
    }

    fn delayed(owd: u64) -> AckSample {
        AckSample {
            rtt: Some(Time::from_millis(2 * owd)),
            one_way: Some(Time::from_millis(owd)),
            ..ack(1_000)
        }
    }

    #[test]
    fn an_early_indication_halves_and_a_second_one_leaves_one_segment() {
        let mut flow = flow(Arithmetic::Segments, 0.0);
        // The first sample is least and largest at once, so that it is an indication: 10 to 5
        // segments. The next indication is due at 20 + 15 (40 - 20) / 100 = 23 ms.
        flow.ack(&delayed(20));
        assert_eq!(flow.cc.cwnd(), 6_000); // halved, and grown by the same acknowledgement
        let lp = &flow.cc.module;
        assert_eq!((lp.owd_min, lp.owd_max, lp.sowd), (20, 40, 160));
        // For 3 round trips of 40 ms nothing grows.
        flow.now += Time::from_millis(119);
        flow.ack(&delayed(20));
        assert_eq!(flow.cc.cwnd(), 6_000);
        flow.now += Time::from_millis(1);
        flow.ack(&delayed(20));
        assert_eq!(flow.cc.cwnd(), 7_000);
        // Smoothed 160 - 20 + 48 = 188: 23, not below 23: halved to 3, and grown, for 3 round trips
        // of 96 ms have passed.
        flow.now += Time::from_millis(168);
        flow.ack(&delayed(48));
        assert_eq!(flow.cc.cwnd(), 4_000);
        let lp = &flow.cc.module;
        assert_eq!((lp.owd_min, lp.owd_max), (23, 47));
        // Within the inference 188 - 23 + 60 = 225: 28, not below 23 + 15 * 24 / 100 = 26.
        flow.ack(&delayed(60));
        assert_eq!(flow.cc.cwnd(), 1_000);
        // The slow-start threshold never moved.
        assert_eq!(flow.cc.ssthresh(), u64::MAX);
    }

    #[test]
    fn the_paper_keeps_the_extremes_and_grows_additively() {
        let mut flow = flow(Arithmetic::Bytes, 0.0);
        for owd in [20, 20, 60, 20] {
            flow.ack(&delayed(owd));
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
        for owd in 20..120 {
            flow.ack(&delayed(owd));
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
        flow.ack(&delayed(20));
        let drawn = flow.cc.module.offset;
        flow.ack(&delayed(20));
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
        lp.take_delay(0);
        assert_eq!(lp.owd_min, 20);
    }

    #[test]
    fn recovery_keeps_its_window() {
        let mut flow = flow(Arithmetic::Segments, 0.0);
        flow.ack(&AckSample {
            in_recovery: true,
            ..delayed(20)
        });
        assert_eq!(flow.cc.cwnd(), 10_000);
        assert!(flow.cc.module.last_drop.is_some());
    }
}
