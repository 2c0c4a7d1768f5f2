//! Vegas as ns-2.35's agent has it: fractions of a segment, decisions once a round trip, growth
//! with each acknowledgement, doubling every other round trip.
//!
//! What the agent decides by acknowledgements that are duplicates (its fine-grained timeout, how
//! long it looks for more losses) is loss recovery and lives with the sender.

use cclab_units::Time;

use crate::window::{MAX_WINDOW, Prior, window_in_use};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// `v_alpha_`, in segments.
const ALPHA: f64 = 1.0;
/// `v_beta_`, in segments.
const BETA: f64 = 3.0;
/// The least window of a step, the window after a timeout (`v_slowstart_`), and the threshold
/// that keeps it in avoidance.
const LEAST: f64 = 2.0;
/// Windows up to this fall to [`LEAST`] at a loss.
const SMALL: u64 = 3;
/// The agent lags behind its window by at most this where it grows.
const MOST_UNUSED: f64 = 2.0;

/// The variant at one flow; windows in segments, times in nanoseconds.
pub(super) struct Vegas {
    mss: u64,
    initial_window: f64,
    alpha: i64,
    beta: i64,
    gamma: i64,
    cwnd: f64,
    /// A whole number, as in ns-2.
    ssthresh: f64,
    /// What each acknowledgement adds.
    step: f64,
    /// Whether slow start grows in this round trip.
    doubling: bool,
    /// Smallest mean of a round trip, and smallest sample.
    base: f64,
    /// Samples of this round trip: their sum and count.
    sum: f64,
    count: u32,
    /// Past this offset the round trip is over; when it began.
    begin: u64,
    began: Time,
    /// The first round trip of data is made with one segment.
    first: bool,
    most: f64,
    prior: Option<Prior<f64>>,
}

impl Vegas {
    pub(super) fn new(config: &Config) -> Vegas {
        let in_segments = |bytes: u64| bytes as f64 / config.mss as f64;
        let params = &config.params;
        Vegas {
            mss: config.mss,
            initial_window: in_segments(config.initial_window).max(1.0),
            alpha: params.given("alpha").unwrap_or(ALPHA) as i64,
            beta: params.given("beta").unwrap_or(BETA) as i64,
            gamma: params.get("gamma") as i64,
            cwnd: in_segments(config.initial_window).max(1.0),
            ssthresh: match config.initial_ssthresh {
                u64::MAX => f64::INFINITY,
                bytes => in_segments(bytes).floor(),
            },
            step: 0.0,
            doubling: false,
            base: f64::INFINITY,
            sum: 0.0,
            count: 0,
            begin: 0,
            began: Time::ZERO,
            first: false,
            most: in_segments(MAX_WINDOW),
            prior: None,
        }
    }

    /// Once a round trip, when the segment sent first in it is acknowledged.
    fn decide(&mut self, ack: &AckSample, now: Time) {
        let rtt = if self.count > 0 {
            self.sum / f64::from(self.count)
        } else {
            (now - self.began).as_nanos() as f64
        };
        self.sum = 0.0;
        self.count = 0;
        let sent = ack.snd_una + ack.in_flight; // where the agent will go on sending
        let sent_in_round = (sent.saturating_sub(self.begin) / self.mss) as f64;
        self.begin = sent;
        self.began = now;
        if rtt <= 0.0 {
            return;
        }
        if rtt < self.base || sent_in_round <= 1.0 {
            self.base = rtt;
        }
        // Expected less actual rate, as segments of the window that wait in the queue.
        let outstanding = (ack.in_flight / self.mss) as f64 + 1.0;
        let queued = (outstanding - sent_in_round * self.base / rtt + 0.5) as i64;
        if self.cwnd < self.ssthresh {
            self.doubling = !self.doubling;
            self.step = 0.0;
            if self.doubling && queued > self.gamma {
                self.ssthresh = LEAST;
                self.cwnd = (self.cwnd - self.cwnd / 8.0).max(LEAST);
            } else if self.doubling {
                self.step = 1.0;
            }
        } else if queued > self.beta {
            self.cwnd = (self.cwnd - 1.0).max(LEAST);
            self.step = 0.0;
        } else if queued < self.alpha {
            self.step = 1.0 / self.cwnd;
        } else {
            self.step = 0.0;
        }
    }

    fn grow(&mut self, ack: &AckSample) {
        if self.step == 1.0 && self.cwnd >= self.ssthresh {
            self.step = 0.0;
        }
        let outstanding = (ack.in_flight / self.mss) as f64 + 1.0;
        if self.step > 0.0 && self.cwnd - outstanding <= MOST_UNUSED {
            self.cwnd = (self.cwnd + self.step).min(self.most);
        }
    }
}

impl CongestionControl for Vegas {
    /// The agent's connection begins with a segment of data in place of a SYN, and its initial
    /// window comes into force with the acknowledgement of the second.
    fn on_established(&mut self, _rtt: Option<Time>, cx: &mut Cx<'_>) {
        self.cwnd = 1.0;
        self.first = true;
        self.began = cx.now;
    }

    fn on_ack(&mut self, ack: &AckSample, cx: &mut Cx<'_>) {
        if ack.newly_acked == 0 || ack.in_recovery {
            return;
        }
        if self.first {
            self.first = false;
            self.cwnd = self.initial_window;
        }
        if ack.snd_una > self.begin {
            self.decide(ack, cx.now);
        }
        self.grow(ack);
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_nanos() as f64;
            self.sum += rtt;
            self.count += 1;
            self.base = self.base.min(rtt);
        }
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        self.prior = Some(Prior {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
        });
        let in_use = window_in_use(self.cwnd, at, self.mss);
        match kind {
            Congestion::Loss => {
                let whole = in_use as u64;
                // Three quarters; half if the segment had been lost before.
                self.cwnd = match whole {
                    0..=SMALL => LEAST,
                    _ if at.repeated => (whole / 2) as f64,
                    _ => (whole - whole / 4) as f64,
                };
                self.ssthresh = LEAST;
            }
            Congestion::Ecn => {
                self.cwnd = (in_use / 2.0).max(1.0);
                self.ssthresh = (in_use / 2.0).floor().max(LEAST);
            }
            Congestion::Rto => {
                self.cwnd = LEAST;
                self.ssthresh = (in_use / 2.0).floor().max(LEAST);
            }
        }
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
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::{Arithmetic, SlowStart};

    const RTT: Time = Time::from_millis(100);

    fn flow() -> Bench<Vegas> {
        let config = Config {
            initial_window: 2_000,
            initial_ssthresh: 20_000,
            ..config_of(
                &super::super::VARIANT,
                Arithmetic::PerAckSegments,
                SlowStart::Plain,
            )
        };
        Bench::new(Vegas::new(&config))
    }

    /// Acknowledges what is in flight, segment by segment; what the window allows leaves at once.
    fn round(flow: &mut Bench<Vegas>, una: &mut u64, nxt: &mut u64, rtt: Time) {
        flow.now += rtt;
        let end = *nxt;
        while *una < end {
            *una += 1_000;
            flow.ack(&AckSample {
                rtt: Some(rtt),
                snd_una: *una,
                snd_nxt: *nxt,
                in_flight: *nxt - *una,
                ..ack(1_000)
            });
            *nxt = (*nxt).max(*una + flow.cc.cwnd());
        }
    }

    #[test]
    fn the_window_doubles_every_other_round_trip() {
        let mut flow = flow();
        flow.established(RTT);
        assert_eq!(flow.cc.cwnd(), 1_000);
        let (mut una, mut nxt) = (0, 1_000);
        let mut seen = Vec::new();
        for _ in 0..6 {
            round(&mut flow, &mut una, &mut nxt, RTT);
            seen.push(flow.cc.cwnd());
        }
        // One segment, then the initial window of two and the first step, then every other
        // round trip.
        assert_eq!(seen, [3_000, 3_000, 6_000, 6_000, 12_000, 12_000]);
    }

    #[test]
    fn a_queue_ends_slow_start_and_holds_the_window() {
        let mut flow = flow();
        flow.cc.cwnd = 8.0;
        flow.cc.base = 1e8;
        flow.cc.ssthresh = 20.0;
        let ms = |ms| Some(Time::from_millis(ms));
        let mut una = 0;
        let mut end_of_round = |flow: &mut Bench<Vegas>, rtt, cwnd: u64| {
            flow.cc.sum = 0.0;
            flow.cc.count = 0;
            flow.cc.begin = una;
            // A sample for the round, then the acknowledgement that ends it.
            flow.ack(&AckSample {
                rtt,
                snd_una: una,
                in_flight: (cwnd - 1) * 1_000,
                ..ack(1_000)
            });
            una += 1_000;
            flow.ack(&AckSample {
                rtt,
                snd_una: una,
                in_flight: (cwnd - 1) * 1_000,
                ..ack(1_000)
            });
            una += cwnd * 1_000;
            flow.cc.cwnd
        };
        // 8 sent; 8 - 8 * 100/130 = 1.8, with a half 2 > gamma: an eighth less, and avoidance.
        assert_eq!(end_of_round(&mut flow, ms(130), 8), 7.0);
        assert_eq!((flow.cc.ssthresh, flow.cc.step), (2.0, 0.0));
        // 7 - 7 * 100/130 = 1.6: 2 segments wait, between alpha and beta.
        assert_eq!(end_of_round(&mut flow, ms(130), 7), 7.0);
        // 7 - 7 * 100/105 = 0.3: none waits: a seventh with each acknowledgement.
        assert_eq!(end_of_round(&mut flow, ms(105), 7), 7.0 + 1.0 / 7.0);
        flow.cc.step = 0.0;
        // 7 - 7 * 100/210 = 3.7: 4 wait, above beta.
        assert_eq!(end_of_round(&mut flow, ms(210), 7), 6.0 + 1.0 / 7.0);
    }

    #[test]
    fn three_quarters_remain_and_half_of_what_was_lost_again() {
        let mut flow = flow();
        flow.cc.cwnd = 11.5;
        flow.congestion(Congestion::Loss, &congestion(11_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (9_000, 2_000)); // 11 - 2
        flow.congestion(
            Congestion::Loss,
            &CongestionSample {
                repeated: true,
                ..congestion(9_000)
            },
        );
        assert_eq!(flow.cc.cwnd(), 4_000);
        flow.cc.cwnd = 3.9;
        flow.congestion(Congestion::Loss, &congestion(3_000));
        assert_eq!(flow.cc.cwnd(), 2_000);
        flow.cc.cwnd = 12.0;
        flow.congestion(Congestion::Rto, &congestion(12_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (2_000, 6_000));
    }

    /// The agent grows while no more than two segments of its window are unused: of ten, eight are
    /// out with seven in flight and the one that was just acknowledged.
    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut flow = flow();
        flow.cc.begin = u64::MAX;
        flow.cc.cwnd = 10.0;
        flow.cc.step = 0.125;
        let mut after = |in_flight| {
            flow.ack(&AckSample {
                in_flight,
                ..ack(1_000)
            });
            flow.cc.cwnd
        };
        assert_eq!(after(7_000), 10.125);
        assert_eq!(after(7_000), 10.125); // 2.125 are unused
        assert_eq!(after(8_000), 10.25);
    }

    #[test]
    fn a_mark_halves_what_is_in_use() {
        let mut flow = flow();
        flow.cc.cwnd = 11.5;
        flow.congestion(Congestion::Ecn, &congestion(11_000));
        // Of 5.75 segments 5 fit, and the threshold is whole.
        assert_eq!((flow.cc.cwnd, flow.cc.ssthresh), (5.75, 5.0));
        // Seven are out of a window of nine and a half.
        flow.cc.cwnd = 9.5;
        flow.congestion(Congestion::Ecn, &congestion(7_000));
        assert_eq!((flow.cc.cwnd, flow.cc.ssthresh), (3.5, 3.0));
        flow.cc.cwnd = 1.5;
        flow.congestion(Congestion::Ecn, &congestion(1_000));
        assert_eq!((flow.cc.cwnd, flow.cc.ssthresh), (1.0, 2.0));
    }
}
