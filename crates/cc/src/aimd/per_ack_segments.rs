//! AIMD in fractions of a segment, one step per acknowledgement, as in ns-2.35 (`opencwnd`,
//! `slowdown`). Nothing but a reduction stops the growth (`control_increase_` is off there).

use super::OnLoss;
use crate::window::{MAX_WINDOW, Prior, window_in_use};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// The rule at one flow; windows in segments.
pub(super) struct PerAckSegments {
    mss: u64,
    on_loss: OnLoss,
    cwnd: f64,
    /// A whole number, as the type of ns-2's `ssthresh_` makes it.
    ssthresh: f64,
    most: f64,
    prior: Option<Prior<f64>>,
}

impl PerAckSegments {
    pub(super) fn new(config: &Config, on_loss: OnLoss) -> PerAckSegments {
        let in_segments = |bytes: u64| bytes as f64 / config.mss as f64;
        PerAckSegments {
            mss: config.mss,
            on_loss,
            cwnd: in_segments(config.initial_window).max(1.0),
            ssthresh: match config.initial_ssthresh {
                u64::MAX => f64::INFINITY,
                bytes => in_segments(bytes).floor(),
            },
            most: in_segments(MAX_WINDOW),
            prior: None,
        }
    }
}

impl CongestionControl for PerAckSegments {
    fn on_ack(&mut self, ack: &AckSample, _cx: &mut Cx<'_>) {
        if ack.newly_acked == 0 || ack.in_recovery {
            return;
        }
        let step = if self.cwnd < self.ssthresh {
            1.0
        } else {
            1.0 / self.cwnd
        };
        self.cwnd = (self.cwnd + step).min(self.most);
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        self.prior = Some(Prior {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
        });
        let half = window_in_use(self.cwnd, at, self.mss) / 2.0;
        self.ssthresh = half.floor().max(2.0);
        let restart = kind == Congestion::Rto
            || (kind == Congestion::Loss && self.on_loss == OnLoss::Restart);
        self.cwnd = if restart { 1.0 } else { half.max(1.0) };
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        if let Some(prior) = self.prior.take() {
            self.cwnd = self.cwnd.max(prior.cwnd);
            self.ssthresh = self.ssthresh.max(prior.ssthresh);
        }
    }

    /// Whole segments: ns-2 sends a packet only when all of it fits.
    fn cwnd(&self) -> u64 {
        self.cwnd as u64 * self.mss
    }

    fn ssthresh(&self) -> u64 {
        (self.ssthresh as u64).saturating_mul(self.mss) // infinity saturates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Bench, ack, config, congestion};
    use crate::{Arithmetic, SlowStart};

    fn flow(on_loss: OnLoss) -> Bench<PerAckSegments> {
        let config = Config {
            initial_window: 2_000,
            initial_ssthresh: 4_000,
            ..config(Arithmetic::PerAckSegments, SlowStart::Plain)
        };
        Bench::new(PerAckSegments::new(&config, on_loss))
    }

    #[test]
    fn fractions_of_a_segment_add_up() {
        let mut flow = flow(OnLoss::Halve);
        for _ in 0..2 {
            flow.ack(&ack(1_000));
        }
        assert_eq!(flow.cc.cwnd, 4.0);
        flow.ack(&ack(3_000));
        assert_eq!(flow.cc.cwnd, 4.25);
        flow.ack(&ack(1_000));
        assert_eq!(flow.cc.cwnd, 4.25 + 1.0 / 4.25);
        assert_eq!(flow.cc.cwnd(), 4_000);
    }

    #[test]
    fn half_of_the_window_in_use_remains() {
        let mut flow = flow(OnLoss::Halve);
        flow.cc.cwnd = 11.5;
        flow.congestion(Congestion::Loss, &congestion(11_000));
        assert_eq!((flow.cc.cwnd, flow.cc.ssthresh()), (5.75, 5_000));
        // The receiver's window of 20 limits a congestion window that kept growing.
        flow.cc.cwnd = 64.0;
        flow.congestion(Congestion::Loss, &congestion(20_000));
        assert_eq!((flow.cc.cwnd, flow.cc.ssthresh()), (10.0, 10_000));
        flow.congestion(Congestion::Rto, &congestion(20_000));
        assert_eq!((flow.cc.cwnd, flow.cc.ssthresh()), (1.0, 5_000));
        flow.congestion(Congestion::Rto, &congestion(20_000));
        assert_eq!((flow.cc.cwnd, flow.cc.ssthresh()), (1.0, 2_000));
    }
}
