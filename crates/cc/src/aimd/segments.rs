//! AIMD in whole segments, as Linux has it (`tcp_reno_cong_avoid`).

use cclab_units::Time;

use super::OnLoss;
use crate::window::{StackWindow, may_grow};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// The rule at one flow.
pub(super) struct Segments {
    on_loss: OnLoss,
    stack: StackWindow,
}

impl Segments {
    pub(super) fn new(config: &Config, on_loss: OnLoss) -> Segments {
        Segments {
            on_loss,
            stack: StackWindow::new(config),
        }
    }
}

impl CongestionControl for Segments {
    fn on_ack(&mut self, ack: &AckSample, _cx: &mut Cx<'_>) {
        if may_grow(ack) {
            let acked = self.stack.acked(ack);
            self.stack.window.reno(acked);
        }
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        self.stack.reduce(kind, at, |window| window.half());
        if kind == Congestion::Loss && self.on_loss == OnLoss::Restart {
            self.stack.window.cwnd = 1;
        }
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
