//! Vegas with a window of its own (`tcp_vegas.c`): whole segments and microseconds, one step a
//! round trip.

use cclab_units::Time;

use super::round::Rounds;
use crate::window::{is_asked_to_grow, may_grow};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// `alpha`, in segments.
const ALPHA: f64 = 2.0;
/// `beta`, in segments.
const BETA: f64 = 4.0;
/// The least window of a step.
const LEAST: u64 = 2;

/// The variant at one flow.
pub(crate) struct LinuxVegas {
    rounds: Rounds,
    alpha: u64,
    beta: u64,
    gamma: u64,
}

impl LinuxVegas {
    pub(crate) fn new(config: &Config) -> LinuxVegas {
        let params = &config.params;
        LinuxVegas {
            rounds: Rounds::new(config),
            alpha: params.given("alpha").unwrap_or(ALPHA) as u64,
            beta: params.given("beta").unwrap_or(BETA) as u64,
            gamma: params.get("gamma") as u64,
        }
    }

    fn reno(&mut self, ack: &AckSample) {
        if may_grow(ack) {
            let acked = self.rounds.stack.acked(ack);
            self.rounds.stack.window.reno(acked);
        }
    }

    /// The step of a round that was measured.
    fn step(&mut self, acked: u64) {
        let window = &mut self.rounds.stack.window;
        let (base, rtt) = (self.rounds.round.base, self.rounds.round.min);
        // Segments in the queue: the window less what the path holds without one.
        let queued = (u128::from(window.cwnd) * u128::from(rtt - base) / u128::from(base)) as u64;
        if window.in_slow_start() && queued > self.gamma {
            let without_queue = u128::from(window.cwnd) * u128::from(base) / u128::from(rtt);
            // One more, for what the division cuts off.
            window.cwnd = window.cwnd.min(without_queue as u64 + 1);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if window.in_slow_start() {
            window.slow_start(acked);
        } else if queued > self.beta {
            window.cwnd -= 1;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if queued < self.alpha {
            window.cwnd += 1;
        }
        window.cwnd = window.cwnd.max(LEAST).min(window.most);
        // tcp_current_ssthresh
        let three_quarters = (window.cwnd >> 1) + (window.cwnd >> 2);
        window.ssthresh = window.ssthresh.max(three_quarters);
    }
}

impl CongestionControl for LinuxVegas {
    fn on_ack(&mut self, ack: &AckSample, _cx: &mut Cx<'_>) {
        self.rounds.take(ack);
        if !is_asked_to_grow(ack) {
            return;
        }
        if self.rounds.stack.is_repairing() {
            return self.reno(ack);
        }
        if self.rounds.round.is_over(ack) {
            if self.rounds.round.is_measured() {
                let acked = self.rounds.stack.acked(ack);
                self.step(acked);
            } else {
                self.reno(ack);
            }
            self.rounds.round.begin(ack.snd_nxt);
        } else if self.rounds.stack.window.in_slow_start() {
            let acked = self.rounds.stack.acked(ack);
            self.rounds.stack.window.slow_start(acked);
        }
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        self.rounds.stack.reduce(kind, at, |window| window.half());
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        self.rounds.undo();
    }

    fn on_restart(&mut self, idle: Time, rto: Time, _cx: &mut Cx<'_>) {
        self.rounds.restart(idle, rto);
    }

    fn cwnd(&self) -> u64 {
        self.rounds.stack.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.rounds.stack.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::{Arithmetic, SlowStart};

    fn flow(cwnd: u64, ssthresh: u64) -> Bench<LinuxVegas> {
        let config = config_of(
            &crate::vegas::VARIANT,
            Arithmetic::Segments,
            SlowStart::Plain,
        );
        let mut flow = Bench::new(LinuxVegas::new(&config));
        flow.cc.rounds.stack.window.cwnd = cwnd;
        flow.cc.rounds.stack.window.ssthresh = ssthresh;
        flow
    }

    /// A round of three samples of `micros` each, the last of which ends it.
    fn round(flow: &mut Bench<LinuxVegas>, micros: u64) {
        let start = flow.cc.rounds.snd_nxt;
        for snd_una in [start, start, start + 1_000] {
            flow.ack(&AckSample {
                rtt: Some(Time::from_micros(micros)),
                snd_una,
                snd_nxt: start + 20_000,
                ..ack(1_000)
            });
        }
    }

    /// baseRTT is 40 ms + 1 us. At 44 ms 40 * 4000 / 40001 = 3 segments are queued, at 43 ms 2,
    /// at 42 ms 1, at 45.1 ms 5.
    #[test]
    fn between_alpha_and_beta_it_stays() {
        let mut flow = flow(40, 20);
        let mut seen = Vec::new();
        for micros in [40_000, 44_000, 43_100, 41_000, 45_100, 45_200] {
            round(&mut flow, micros);
            seen.push((
                flow.cc.rounds.stack.window.cwnd,
                flow.cc.rounds.stack.window.ssthresh,
            ));
        }
        // 41 * 4000 / 40001 = 4: stays; 41 * 3100 = 127100, 3: stays; 41 * 1000, 1: grows;
        // 42 * 5100 = 214200, 5: shrinks; 41 * 5200 = 213200, 5: shrinks.
        // ssthresh is at least three quarters: 41/2 + 41/4 = 30, 42/2 + 42/4 = 31.
        assert_eq!(
            seen,
            [(41, 30), (41, 30), (41, 30), (42, 31), (41, 31), (40, 31)]
        );
    }

    #[test]
    fn slow_start_ends_at_what_the_path_holds() {
        let mut flow = flow(20, u64::MAX);
        round(&mut flow, 40_000);
        // Two acknowledgements inside the round, and the one that ends it: nothing is queued.
        assert_eq!(flow.cc.rounds.stack.window.cwnd, 23);
        round(&mut flow, 46_000);
        // 25 * 6000 / 40001 = 3 > gamma: 25 * 40001 / 46001 = 21, and one.
        let window = &flow.cc.rounds.stack.window;
        assert_eq!((window.cwnd, window.ssthresh), (22, 22));
    }

    #[test]
    fn with_too_few_samples_it_is_reno() {
        let mut flow = flow(4, 2);
        for snd_una in (1..=8).map(|n| n * 1_000) {
            flow.ack(&AckSample {
                snd_una,
                snd_nxt: snd_una, // each acknowledgement ends a round
                ..ack(1_000)
            });
        }
        // A segment for four acknowledged; then four of the five for the next.
        assert_eq!(flow.cc.rounds.stack.window.cwnd, 5);
    }

    #[test]
    fn an_idle_time_forgets_the_base() {
        let mut flow = flow(10, 5);
        round(&mut flow, 40_000);
        flow.congestion(Congestion::Loss, &congestion(11_000));
        assert_eq!(flow.cc.cwnd(), 5_000);
        flow.restart(Time::from_millis(1), Time::from_secs(1));
        assert_eq!(flow.cc.rounds.round.base, u64::MAX);
    }
}
