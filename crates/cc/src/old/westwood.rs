//! Westwood+ with a window of its own.

use cclab_units::Time;

use crate::window::{StackWindow, may_grow};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// `TCP_WESTWOOD_RTT_MIN`: bandwidth is measured over this at least, in milliseconds.
const LEAST_INTERVAL: u64 = 50;
/// `TCP_WESTWOOD_INIT_RTT`, in milliseconds: before the first sample.
const INITIAL_RTT: u64 = 20_000;
/// The least window that the estimate makes.
const LEAST: u64 = 2;

/// The bandwidth estimate. Times are in milliseconds, the kernel's ticks at 1000 Hz.
#[derive(Debug)]
struct Bandwidth {
    /// Bytes per millisecond, filtered once and twice (`bw_ns_est`, `bw_est`).
    once: u64,
    twice: u64,
    /// Where the interval began; `None` before the first acknowledgement.
    began: Option<u64>,
    /// Bytes acknowledged in the interval.
    acked: u64,
    /// Bytes that duplicates counted and the acknowledgement to come counts again.
    accounted: u64,
    rtt: u64,
    rtt_min: u64,
    /// Whether the next sample replaces `rtt_min`.
    forgets: bool,
    mss: u64,
}

impl Bandwidth {
    fn new(mss: u64) -> Bandwidth {
        Bandwidth {
            once: 0,
            twice: 0,
            began: None,
            acked: 0,
            accounted: 0,
            rtt: INITIAL_RTT,
            rtt_min: INITIAL_RTT,
            forgets: true,
            mss,
        }
    }

    /// `tcp_westwood_pkts_acked` and `tcp_westwood_ack`.
    fn on_ack(&mut self, ack: &AckSample, now_ms: u64) {
        if let Some(rtt) = ack.rtt.filter(|rtt| rtt.as_micros() > 0) {
            self.rtt = rtt.as_micros().div_ceil(1_000);
        }
        self.close_interval(now_ms);
        self.acked += self.newly_acked(ack);
        self.rtt_min = match std::mem::take(&mut self.forgets) {
            true => self.rtt,
            false => self.rtt_min.min(self.rtt),
        };
    }

    fn close_interval(&mut self, now_ms: u64) {
        let interval = now_ms.saturating_sub(*self.began.get_or_insert(now_ms));
        if interval <= self.rtt.max(LEAST_INTERVAL) {
            return;
        }
        let sample = self.acked / interval;
        if self.once == 0 && self.twice == 0 {
            self.once = sample;
            self.twice = sample;
        } else {
            self.once = (7 * self.once + sample) >> 3;
            self.twice = (7 * self.twice + self.once) >> 3;
        }
        self.acked = 0;
        self.began = Some(now_ms);
    }

    /// `westwood_acked_count`: a duplicate counts a segment, which the acknowledgement that
    /// covers it then does not.
    fn newly_acked(&mut self, ack: &AckSample) -> u64 {
        let in_order =
            ack.newly_acked > 0 && !ack.in_recovery && ack.newly_delivered <= ack.newly_acked;
        if in_order {
            return ack.newly_acked; // the kernel's fast path
        }
        if ack.newly_acked == 0 {
            self.accounted += self.mss;
            return self.mss;
        }
        if ack.newly_acked <= self.mss {
            return ack.newly_acked;
        }
        match self.accounted.checked_sub(ack.newly_acked) {
            Some(left) => {
                self.accounted = left;
                self.mss
            }
            None => ack.newly_acked - std::mem::take(&mut self.accounted),
        }
    }

    /// `tcp_westwood_bw_rttmin`, in segments.
    fn window(&self) -> u64 {
        (self.twice.saturating_mul(self.rtt_min) / self.mss).max(LEAST)
    }
}

/// The variant at one flow.
pub(crate) struct Westwood {
    stack: StackWindow,
    bandwidth: Bandwidth,
    /// Whether the window is set when the reduction under way is complete.
    completing: bool,
}

impl Westwood {
    pub(crate) fn new(config: &Config) -> Westwood {
        Westwood {
            stack: StackWindow::new(config),
            bandwidth: Bandwidth::new(config.mss),
            completing: false,
        }
    }
}

impl CongestionControl for Westwood {
    fn on_ack(&mut self, ack: &AckSample, cx: &mut Cx<'_>) {
        self.bandwidth.on_ack(ack, cx.now.as_millis());
        if self.stack.reopens(ack) && std::mem::take(&mut self.completing) {
            // CA_EVENT_COMPLETE_CWR
            let window = &mut self.stack.window;
            window.ssthresh = self.bandwidth.window().min(window.most);
            window.cwnd = window.ssthresh;
        }
        if may_grow(ack) {
            let acked = self.stack.acked(ack);
            self.stack.window.reno(acked);
        }
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        let bandwidth = &mut self.bandwidth;
        self.stack.reduce(kind, at, |window| {
            if kind != Congestion::Rto {
                return window.half();
            }
            bandwidth.forgets = true; // CA_EVENT_LOSS
            bandwidth.window().min(window.most)
        });
        self.completing = kind != Congestion::Rto;
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        self.stack.undo();
        self.completing = false;
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
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::westwood::VARIANT;
    use crate::{Arithmetic, SlowStart};

    fn flow() -> Bench<Westwood> {
        let config = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
        Bench::new(Westwood::new(&config))
    }

    /// A segment of 1000 bytes every millisecond for `ms`, with a round trip of 40 ms.
    fn stream(flow: &mut Bench<Westwood>, ms: u64) {
        for _ in 0..ms {
            flow.now += Time::from_millis(1);
            flow.ack(&AckSample {
                rtt: Some(Time::from_millis(40)),
                cwnd_limited: false,
                ..ack(1_000)
            });
        }
    }

    #[test]
    fn bandwidth_is_filtered_twice() {
        let mut flow = flow();
        stream(&mut flow, 52);
        // The first interval: from the first acknowledgement on, 51 segments in 51 ms.
        assert_eq!(
            (flow.cc.bandwidth.once, flow.cc.bandwidth.twice),
            (1_000, 1_000)
        );
        // Half the rate: 51 ms with 26 segments (one is left of before), 26000 / 51 = 509.
        for _ in 0..26 {
            flow.now += Time::from_millis(1);
            stream(&mut flow, 1);
        }
        // 52 ms pass before an interval of more than 50 ms is seen: 1000 * 26 / 52 = 500;
        // (7000 + 500) / 8 = 937; (7000 + 937) / 8 = 992.
        assert_eq!(
            (flow.cc.bandwidth.once, flow.cc.bandwidth.twice),
            (937, 992)
        );
    }

    #[test]
    fn the_window_after_recovery_is_what_the_path_holds() {
        let mut flow = flow();
        stream(&mut flow, 60);
        flow.cc.stack.window.cwnd = 60;
        flow.congestion(
            Congestion::Loss,
            &CongestionSample {
                snd_nxt: 60_000,
                ..congestion(60_000)
            },
        );
        assert_eq!(flow.cc.cwnd(), 30_000); // while losses are repaired: Reno's half
        flow.ack(&AckSample {
            snd_una: 60_000,
            cwnd_limited: false,
            ..ack(1_000)
        });
        // 1000 bytes/ms * 40 ms / 1000 bytes.
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (40_000, 40_000));
    }

    #[test]
    fn a_timeout_keeps_the_estimate_as_threshold_and_measures_anew() {
        let mut flow = flow();
        stream(&mut flow, 60);
        flow.congestion(Congestion::Rto, &congestion(10_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 40_000));
        flow.ack(&AckSample {
            rtt: Some(Time::from_millis(45)),
            ..ack(1_000)
        });
        assert_eq!(flow.cc.bandwidth.rtt_min, 45);
    }

    #[test]
    fn what_duplicates_counted_counts_once() {
        let mut bandwidth = Bandwidth::new(1_000);
        let repairing = |newly_acked| AckSample {
            newly_acked,
            in_recovery: true,
            ..AckSample::default()
        };
        let counted = [0, 0, 0, 5_000, 1_000].map(|n| bandwidth.newly_acked(&repairing(n)));
        assert_eq!(counted, [1_000, 1_000, 1_000, 2_000, 1_000]);
        bandwidth.accounted = 4_000;
        assert_eq!(bandwidth.newly_acked(&repairing(3_000)), 1_000);
        assert_eq!(bandwidth.accounted, 1_000);
    }
}
