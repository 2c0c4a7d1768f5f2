//! Acknowledgements that come in bursts: what is delivered above the model's rate is added to the
//! window (5.5.9).

use cclab_units::Time;

use super::{Bbr3, Sample, whole};
use crate::windowed_max::WindowedMax;

/// `ExtraAckedFilterLen`, in rounds; one in Startup.
const ROUNDS: u64 = 10;

/// The estimator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// When the interval began, and bytes delivered since.
    began: Time,
    delivered: u64,
    extra: WindowedMax,
}

impl Aggregation {
    /// An interval begins.
    pub(super) fn restart(&mut self, now: Time) {
        self.began = now;
        self.delivered = 0;
    }

    /// `BBR.extra_acked`, in bytes.
    pub(super) fn extra(&self) -> u64 {
        self.extra.get()
    }
}

impl Bbr3 {
    /// `UpdateACKAggregation`.
    pub(super) fn update_aggregation(&mut self, sample: &Sample) {
        let window = if self.pipe.reached() { ROUNDS } else { 1 };
        let aggregation = &mut self.aggregation;
        let passed = (sample.now - aggregation.began).as_secs_f64();
        let mut expected = whole(self.bw * passed);
        if aggregation.delivered <= expected {
            aggregation.restart(sample.now);
            expected = 0;
        }
        aggregation.delivered += sample.newly_acked;
        let extra = (aggregation.delivered - expected).min(self.cwnd);
        aggregation
            .extra
            .update(window, self.bandwidth.rounds, extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbr3::tests::{MSS, Path, sample};

    /// 5.5.9 by hand, at 1 MB/s: what came beyond 1000 bytes a millisecond since the interval began.
    #[test]
    fn what_is_above_the_rate_since_the_interval_began_is_extra() {
        let mut bbr = Path::in_drain().flow.cc;
        let began = Time::from_secs(20);
        bbr.aggregation = Aggregation::default();
        bbr.aggregation.restart(began);
        bbr.bw = 1e6;
        bbr.cwnd = 50 * MSS;
        let mut after = |millis, segments: u64, rounds| {
            bbr.bandwidth.rounds = rounds;
            bbr.update_aggregation(&Sample {
                newly_acked: segments * MSS,
                ..sample(began + Time::from_millis(millis))
            });
            (
                bbr.aggregation.delivered / MSS,
                bbr.aggregation.extra() / MSS,
            )
        };
        assert_eq!(after(0, 10, 1), (10, 10));
        assert_eq!(after(5, 10, 1), (20, 15));
        assert_eq!(after(20, 3, 1), (3, 15)); // 20 in 20 ms are no more than the rate
        assert_eq!(after(20, 90, 2), (93, 50)); // the window bounds it
        assert_eq!(after(200, 1, 12), (1, 50));
        assert_eq!(after(300, 1, 13), (1, 1)); // ten rounds on
    }
}
