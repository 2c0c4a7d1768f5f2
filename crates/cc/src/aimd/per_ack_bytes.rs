//! AIMD in bytes, one step per acknowledgement whatever it covers, as ns-3 had it up to 3.2x.
//!
//! Two traits of that simulator are kept because results depend on them: the window grows
//! while the receiver's window limits, and Reno takes half of *all* that was sent past the
//! lowest unacknowledged byte, which after a go-back-N may be more than the window was.

use super::OnLoss;
use crate::window::{MAX_WINDOW, Prior};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// The rule at one flow.
pub(super) struct PerAckBytes {
    mss: u64,
    on_loss: OnLoss,
    cwnd: u64,
    ssthresh: u64,
    prior: Option<Prior<u64>>,
}

impl PerAckBytes {
    pub(super) fn new(config: &Config, on_loss: OnLoss) -> PerAckBytes {
        PerAckBytes {
            mss: config.mss,
            on_loss,
            cwnd: config.initial_window.max(config.mss),
            ssthresh: config.initial_ssthresh,
            prior: None,
        }
    }
}

impl CongestionControl for PerAckBytes {
    fn on_ack(&mut self, ack: &AckSample, _cx: &mut Cx<'_>) {
        if ack.newly_acked == 0 || ack.in_recovery {
            return;
        }
        self.cwnd += match self.cwnd < self.ssthresh {
            true => self.mss,
            false => (self.mss * self.mss / self.cwnd).max(1),
        };
        self.cwnd = self.cwnd.min(MAX_WINDOW);
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        self.prior = Some(Prior {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
        });
        let halved = match self.on_loss {
            OnLoss::Restart => self.cwnd / 2,
            OnLoss::Halve => at.flight_size / 2,
        };
        self.ssthresh = halved.max(2 * self.mss);
        let restart = kind == Congestion::Rto
            || (kind == Congestion::Loss && self.on_loss == OnLoss::Restart);
        self.cwnd = if restart { self.mss } else { self.ssthresh };
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        if let Some(prior) = self.prior.take() {
            self.cwnd = self.cwnd.max(prior.cwnd);
            self.ssthresh = self.ssthresh.max(prior.ssthresh);
        }
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Bench, ack, config, congestion};
    use crate::{Arithmetic, SlowStart};

    fn flow(on_loss: OnLoss) -> Bench<PerAckBytes> {
        let config = Config {
            mss: 536,
            initial_window: 536,
            initial_ssthresh: 2_000,
            ..config(Arithmetic::PerAckBytes, SlowStart::Plain)
        };
        Bench::new(PerAckBytes::new(&config, on_loss))
    }

    #[test]
    fn each_acknowledgement_is_one_step() {
        let mut flow = flow(OnLoss::Halve);
        // Limited by the receiver's window: it grows nevertheless.
        let limited = AckSample {
            cwnd_limited: false,
            ..ack(1_072)
        };
        let seen: Vec<_> = (0..5)
            .map(|_| {
                flow.ack(&limited);
                flow.cc.cwnd()
            })
            .collect();
        // 536 each below 2000; then floor(287296 / 2144) = 134, floor(287296 / 2278) = 126.
        assert_eq!(seen, [1_072, 1_608, 2_144, 2_278, 2_404]);
    }

    #[test]
    fn tahoe_halves_its_window_and_reno_what_is_outstanding() {
        let mut tahoe = flow(OnLoss::Restart);
        for _ in 0..5 {
            tahoe.ack(&ack(536));
        }
        tahoe.congestion(Congestion::Loss, &congestion(9_000));
        assert_eq!((tahoe.cc.cwnd(), tahoe.cc.ssthresh()), (536, 1_202));
        let mut reno = flow(OnLoss::Halve);
        reno.congestion(Congestion::Loss, &congestion(9_000));
        assert_eq!((reno.cc.cwnd(), reno.cc.ssthresh()), (4_500, 4_500));
        reno.congestion(Congestion::Rto, &congestion(1_000));
        assert_eq!((reno.cc.cwnd(), reno.cc.ssthresh()), (536, 1_072));
    }
}
