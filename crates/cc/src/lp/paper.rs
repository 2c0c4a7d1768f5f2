//! The paper's form: in Linux's arithmetic, with clocks whose tick is known and extremes of the
//! connection; growth after an indication is additive.

use cclab_units::{Stream, Time};

use super::{Delays, Limits};
use crate::module::{CaState, Measured, Module};
use crate::stamps::TIMESTAMP_OFFSET;
use crate::window::SegmentWindow;
use crate::{Config, stamps};

/// The variant's own part.
pub(super) struct Lp {
    limits: Limits,
    /// Milliseconds by which the receiver's timestamps are ahead.
    offset: u32,
    delays: Delays,
    /// By the sender's clock of timestamps, as what follows.
    last_drop: Option<u32>,
    inference: u32,
    /// Whether a reduction is so recent that the window does not grow.
    in_inference: bool,
}

impl Lp {
    pub(super) fn new(config: &Config) -> Lp {
        let offset = config.params.given(TIMESTAMP_OFFSET);
        Lp {
            limits: Limits::of(config),
            offset: offset.map_or(0, stamps::milliseconds),
            delays: Delays::NONE,
            last_drop: None,
            inference: 0,
            in_inference: false,
        }
    }

    /// Whether the smoothed delay is near the least.
    fn is_within_threshold(&self) -> bool {
        let limit = self.delays.limit(self.limits.threshold);
        self.delays.most == 0 || self.delays.smoothed >> 3 <= limit
    }

    /// An early indication of congestion.
    fn give_way(&mut self, now: u32, state: CaState, window: &mut SegmentWindow) {
        self.last_drop = Some(now);
        // Recovery has a window of its own, and puts it in place of any other.
        if state == CaState::Recovery {
            return;
        }
        window.cwnd = match self.in_inference {
            true => 1,
            false => (window.cwnd >> 1).max(1),
        };
        window.ssthresh = window.ssthresh.min(window.cwnd.max(2));
    }
}

impl Module for Lp {
    fn on_measured(&mut self, measured: &Measured, window: &mut SegmentWindow, _dice: &mut Stream) {
        let Some(stamps) = measured.stamps else {
            return;
        };
        let passed = stamps.now.wrapping_sub(stamps.echo);
        if measured.rtt.is_some() {
            let ahead = stamps.value.wrapping_add(self.offset);
            let delay = ahead.wrapping_sub(stamps.echo);
            if delay > 0 {
                self.delays.take(delay);
            }
        }
        if (1..1 << 31).contains(&passed) {
            self.inference = passed.saturating_mul(self.limits.inference_rtts);
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
    use super::*;
    use crate::lp::VARIANT;
    use crate::module::Modular;
    use crate::tests::{Bench, ack, config_of};
    use crate::{AckSample, Arithmetic, CongestionControl, SlowStart, Timestamps};

    fn flow() -> Bench<Modular<Lp>> {
        let config = config_of(&VARIANT, Arithmetic::Bytes, SlowStart::Plain);
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

    #[test]
    fn the_paper_keeps_the_extremes_and_grows_additively() {
        let mut flow = flow();
        for owd in [20, 20, 60, 20] {
            flow.ack(&delayed(flow.now, owd));
        }
        // The largest but one: 20. Smoothed 160, 160, 200, 195: 25 and 24, above 20.
        assert_eq!(flow.cc.module.delays.least, 20);
        // 12, halved to 6, and grown by one in avoidance's counter; then within the inference.
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 2_000));
    }

    #[test]
    fn recovery_keeps_its_window() {
        let mut flow = flow();
        for owd in [20, 20] {
            flow.ack(&delayed(flow.now, owd));
        }
        flow.ack(&AckSample {
            in_recovery: true,
            ..delayed(flow.now, 60)
        });
        assert_eq!(flow.cc.cwnd(), 12_000);
        assert!(flow.cc.module.last_drop.is_some());
    }
}
