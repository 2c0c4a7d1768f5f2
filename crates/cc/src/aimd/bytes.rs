//! AIMD in bytes, as the standards have it (RFC 5681, RFC 3465).

use cclab_units::Time;

use super::OnLoss;
use crate::window::{CountedSlowStart, MAX_WINDOW, Prior, may_grow};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// `L` of RFC 3465 section 2.2.
const SLOW_START_LIMIT: u64 = 2;

/// The rule at one flow.
pub(super) struct Bytes {
    mss: u64,
    initial_window: u64,
    on_loss: OnLoss,
    cwnd: u64,
    ssthresh: u64,
    slow_start: CountedSlowStart,
    /// Bytes acknowledged since the window last grew in avoidance.
    acked: u64,
    prior: Option<Prior<u64>>,
}

impl Bytes {
    pub(super) fn new(config: &Config, on_loss: OnLoss) -> Bytes {
        Bytes {
            mss: config.mss,
            initial_window: config.initial_window.max(config.mss),
            on_loss,
            cwnd: config.initial_window.max(config.mss),
            ssthresh: config.initial_ssthresh,
            slow_start: CountedSlowStart::new(config.mss, SLOW_START_LIMIT),
            acked: 0,
            prior: None,
        }
    }
}

impl CongestionControl for Bytes {
    fn on_ack(&mut self, ack: &AckSample, _cx: &mut Cx<'_>) {
        if !may_grow(ack) {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd += self.slow_start.step(ack);
        } else {
            // RFC 3465 section 2.1: a segment for each window acknowledged. An ACK of more
            // than a window, after a gap was filled, is worth one segment.
            self.acked = (self.acked + ack.newly_acked).min(2 * self.cwnd);
            if self.acked >= self.cwnd {
                self.acked -= self.cwnd;
                self.cwnd += self.mss;
            }
        }
        self.cwnd = self.cwnd.min(MAX_WINDOW);
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        self.acked = 0;
        if kind == Congestion::Rto {
            self.slow_start.on_timeout(at.snd_nxt);
            if at.repeated {
                self.cwnd = self.mss;
                return; // RFC 5681 section 3.1 holds ssthresh constant
            }
        }
        self.prior = Some(Prior {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
        });
        // RFC 5681 equation (4). Outstanding beyond the window is what limited transmit or an
        // inflated window let go: the first is not to be counted, the second has arrived.
        self.ssthresh = (at.flight_size.min(self.cwnd) / 2).max(2 * self.mss);
        let restart = kind == Congestion::Rto
            || (kind == Congestion::Loss && self.on_loss == OnLoss::Restart);
        self.cwnd = if restart {
            self.mss
        } else {
            self.cwnd.min(self.ssthresh)
        };
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        if let Some(prior) = self.prior.take() {
            self.cwnd = self.cwnd.max(prior.cwnd);
            self.ssthresh = self.ssthresh.max(prior.ssthresh);
        }
    }

    /// RFC 5681 section 4.1: the restart window after more than a timeout of silence.
    fn on_restart(&mut self, idle: Time, rto: Time, _cx: &mut Cx<'_>) {
        if idle > rto {
            self.cwnd = self.cwnd.min(self.initial_window);
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

    fn flow(on_loss: OnLoss) -> Bench<Bytes> {
        Bench::new(Bytes::new(
            &config(Arithmetic::Bytes, SlowStart::Plain),
            on_loss,
        ))
    }

    #[test]
    fn doubles_in_slow_start_and_then_adds_a_segment_per_window() {
        let mut flow = flow(OnLoss::Halve);
        for _ in 0..5 {
            flow.ack(&ack(2_000)); // delayed ACKs: L = 2 doubles nevertheless
        }
        assert_eq!(flow.cc.cwnd(), 20_000);
        flow.congestion(Congestion::Loss, &congestion(20_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (10_000, 10_000));
        for _ in 0..9 {
            flow.ack(&ack(1_000));
        }
        assert_eq!(flow.cc.cwnd(), 10_000);
        flow.ack(&ack(1_000));
        assert_eq!(flow.cc.cwnd(), 11_000);
    }

    #[test]
    fn half_of_what_is_in_flight_remains_and_a_timeout_restarts() {
        let mut flow = flow(OnLoss::Halve);
        flow.congestion(Congestion::Loss, &congestion(7_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (3_500, 3_500));
        flow.congestion(Congestion::Rto, &congestion(2_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 2_000));
        flow.congestion(
            Congestion::Rto,
            &CongestionSample {
                repeated: true,
                ..congestion(9_000)
            },
        );
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 2_000));
    }

    #[test]
    fn tahoe_restarts_at_every_loss_but_not_at_a_mark() {
        let mut flow = flow(OnLoss::Restart);
        flow.congestion(Congestion::Ecn, &congestion(10_000));
        assert_eq!(flow.cc.cwnd(), 5_000);
        flow.congestion(Congestion::Loss, &congestion(5_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 2_500));
    }

    #[test]
    fn a_silence_of_more_than_a_timeout_restarts_from_the_initial_window() {
        let mut flow = flow(OnLoss::Halve);
        for _ in 0..10 {
            flow.ack(&ack(1_000));
        }
        let rto = Time::from_secs(1);
        flow.restart(rto, rto);
        assert_eq!(flow.cc.cwnd(), 20_000);
        flow.restart(rto + Time::from_nanos(1), rto);
        assert_eq!(flow.cc.cwnd(), 10_000);
        flow.congestion(Congestion::Loss, &congestion(10_000));
        flow.restart(Time::from_secs(2), rto);
        assert_eq!(flow.cc.cwnd(), 5_000);
    }
}
