//! TCP-LP with a window of its own, in Linux's form (`tcp_lp.c`).

use cclab_units::{Stream, Time};

use crate::lp::{Delays, Limits, TICKS};
use crate::module::{CaState, Measured, Module};
use crate::stamps::{TIMESTAMP_OFFSET, UPTIME, milliseconds};
use crate::window::SegmentWindow;
use crate::{Config, Timestamps};

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

/// The module's state (`struct lp`).
pub(crate) struct Lp {
    limits: Limits,
    /// `None` until drawn.
    offset: Option<u32>,
    /// Ticks, and no matter where a millisecond is one.
    uptime: u32,
    tick: RemoteTick,
    delays: Delays,
    /// By the sender's clock of timestamps, as what follows.
    last_drop: Option<u32>,
    inference: u32,
    /// Whether a reduction is so recent that the window does not grow.
    in_inference: bool,
}

impl Lp {
    pub(crate) fn new(config: &Config) -> Lp {
        Lp {
            limits: Limits::of(config),
            offset: config.params.given(TIMESTAMP_OFFSET).map(milliseconds),
            uptime: milliseconds(config.params.get(UPTIME)),
            tick: RemoteTick { hz: 0, last: None },
            delays: Delays::NONE,
            last_drop: None,
            inference: 0,
            in_inference: false,
        }
    }

    /// An early indication of congestion.
    fn give_way(&mut self, now: u32, state: CaState, window: &mut SegmentWindow) {
        self.last_drop = Some(now);
        self.delays.start_again();
        // Recovery has a window of its own, and puts it in place of any other.
        if state == CaState::Recovery {
            return;
        }
        window.cwnd = match self.in_inference {
            true => 1,
            false => (window.cwnd >> 1).max(1),
        };
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
            self.tick.sample(&stamps);
            if let Some(owd) = self.tick.delay(&stamps) {
                self.delays.take(owd);
            }
        }
        if (1..1 << 31).contains(&passed) {
            self.inference = passed.saturating_mul(self.limits.inference_rtts);
        }
        self.in_inference = self
            .last_drop
            .is_some_and(|drop| stamps.now.wrapping_sub(drop) < self.inference);
        if self.delays.smoothed >> 3 >= self.delays.limit(self.limits.threshold) {
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
    use crate::lp::{PARAMS, VARIANT};
    use crate::module::Modular;
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::{AckSample, Arithmetic, Congestion, CongestionControl, SlowStart};

    /// A flow whose receiver's timestamps are `ahead` ms ahead.
    fn flow(ahead: f64) -> Bench<Modular<Lp>> {
        let given = [
            ("timestamp_offset".to_owned(), ahead / 1e3),
            ("uptime".to_owned(), 0.0),
        ]
        .into();
        let config = Config {
            params: Params::new(PARAMS, &given).expect("in range"),
            ..config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain)
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
        let mut flow = flow(0.0);
        // One sample does not tell the tick of the receiver's clock: ten segments become eleven.
        acked(&mut flow, 0, 20);
        assert_eq!(
            (flow.cc.cwnd(), flow.cc.module.delays.smoothed),
            (11_000, 0)
        );
        // 10 ms by both clocks: 1000 Hz. The first delay is least and largest at once, so that it is
        // an indication: 11 to 5 segments. The next is due at 20 + 15 (40 - 20) / 100 = 23 ms.
        acked(&mut flow, 10, 20);
        assert_eq!(flow.cc.cwnd(), 6_000); // halved, and grown by the same acknowledgement
        let lp = &flow.cc.module;
        assert_eq!(
            (
                lp.tick.hz,
                lp.delays.least,
                lp.delays.most,
                lp.delays.smoothed
            ),
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
        assert_eq!(lp.delays.smoothed, 0_u32.wrapping_sub(1_062));
        assert_eq!(lp.delays.least, 0_u32.wrapping_sub(1_062) >> 3);
        assert_eq!(flow.cc.cwnd(), 4_000);
        // The slow-start threshold never moved.
        assert_eq!(flow.cc.ssthresh(), u64::MAX);
    }

    #[test]
    fn an_indication_within_the_inference_leaves_one_segment() {
        let mut flow = flow(0.0);
        // Below 7 ms, 15% is no whole millisecond: every acknowledgement is an indication.
        acked(&mut flow, 0, 5);
        acked(&mut flow, 10, 5);
        assert_eq!(flow.cc.cwnd(), 6_000);
        acked(&mut flow, 29, 5); // of 3 round trips of 10 ms
        assert_eq!(
            (flow.cc.module.delays.smoothed, flow.cc.cwnd()),
            (40, 1_000)
        );
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

    /// 2^29 milliseconds times 8 do not fit: the smoothed delay stays below the least one.
    #[test]
    fn large_offsets_of_timestamps_make_it_reno() {
        let mut flow = flow(f64::from(1 << 29));
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
    fn recovery_keeps_its_window() {
        let mut flow = flow(0.0);
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
