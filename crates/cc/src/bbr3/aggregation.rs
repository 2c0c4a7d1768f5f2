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
