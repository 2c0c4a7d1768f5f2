//! AIMD in whole segments, as Linux has it (`tcp_reno_cong_avoid`).

use cclab_units::Time;

use super::OnLoss;
use crate::window::{Prior, SegmentWindow, may_grow, segments};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// The rule at one flow.
pub(super) struct Segments {
    mss: u64,
    initial_window: u64,
    on_loss: OnLoss,
    window: SegmentWindow,
    prior: Option<Prior<u64>>,
}

impl Segments {
    pub(super) fn new(config: &Config, on_loss: OnLoss) -> Segments {
        let window = SegmentWindow::new(config);
        Segments {
            mss: config.mss,
            initial_window: window.cwnd,
            on_loss,
            window,
            prior: None,
        }
    }
}

impl CongestionControl for Segments {
    fn on_ack(&mut self, ack: &AckSample, _cx: &mut Cx<'_>) {
        if !may_grow(ack) {
            return;
        }
        // Linux counts what was delivered, so that data reported by SACK counts once.
        let mut acked = segments(ack.newly_delivered, self.mss);
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        if acked > 0 {
            self.window.avoid(self.window.cwnd, acked);
        }
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        let cwnd = self.window.cwnd;
        if at.repeated && kind == Congestion::Rto {
            return self.window.reduce(1, self.window.ssthresh);
        }
        self.prior = Some(Prior {
            cwnd,
            ssthresh: self.window.ssthresh,
        });
        let ssthresh = (cwnd >> 1).max(2); // tcp_reno_ssthresh
        let restart = kind == Congestion::Rto
            || (kind == Congestion::Loss && self.on_loss == OnLoss::Restart);
        self.window
            .reduce(if restart { 1 } else { ssthresh }, ssthresh);
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        if let Some(prior) = self.prior.take() {
            self.window.cwnd = self.window.cwnd.max(prior.cwnd); // tcp_reno_undo_cwnd
            self.window.ssthresh = self.window.ssthresh.max(prior.ssthresh);
        }
    }

    fn on_restart(&mut self, idle: Time, rto: Time, _cx: &mut Cx<'_>) {
        self.window.restart(idle, rto, self.initial_window);
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd * self.mss
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh.saturating_mul(self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Bench, ack, config, congestion};
    use crate::{Arithmetic, SlowStart};

    #[test]
    fn linux_reno_by_hand() {
        let config = config(Arithmetic::Segments, SlowStart::Plain);
        let mut flow = Bench::new(Segments::new(&config, OnLoss::Halve));
        flow.ack(&ack(1_000));
        flow.ack(&ack(4_000)); // slow start counts all that is delivered
        assert_eq!(flow.cc.cwnd(), 15_000);
        flow.congestion(Congestion::Loss, &congestion(3_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (7_000, 7_000)); // 15 >> 1, not flight
        for _ in 0..3 {
            flow.ack(&ack(2_000));
        }
        assert_eq!(flow.cc.cwnd(), 7_000);
        flow.ack(&ack(500)); // a partial segment counts whole
        assert_eq!(flow.cc.cwnd(), 8_000);
        flow.congestion(Congestion::Rto, &congestion(8_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 4_000));
        flow.undo();
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (8_000, 7_000));
    }
}
