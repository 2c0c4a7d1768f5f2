//! YeAH with a window of its own (`tcp_yeah.c`).

use cclab_units::Time;

use super::round::Rounds;
use crate::window::may_grow;
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// `TCP_YEAH_ALPHA`: segments in the queue from which on the window shrinks.
const ALPHA: u64 = 80;
/// `TCP_YEAH_DELTA`: a loss costs an eighth at least.
const DELTA: u32 = 3;
/// `TCP_YEAH_EPSILON`: the queue is taken off up to half the window.
const EPSILON: u32 = 1;
/// `TCP_YEAH_PHY`: a queue of more than an eighth of the base round trip makes the mode slow.
const PHI: u64 = 8;
/// `TCP_YEAH_RHO`: slow round trips from which on a loss halves, because others compete.
const RHO: u64 = 16;
/// `TCP_YEAH_ZETA`: fast round trips that forget Reno's window.
const ZETA: u64 = 50;
/// `TCP_SCALABLE_AI_CNT`: acknowledged segments per one of growth.
const SCALABLE: u64 = 100;
/// The least window.
const LEAST: u64 = 2;

/// The variant at one flow.
pub(crate) struct Yeah {
    rounds: Rounds,
    /// Segments in the queue in the last round measured (`lastQ`).
    queued: u64,
    /// Slow round trips in a row (`doing_reno_now`).
    slow_rounds: u64,
    /// The window that Reno would have (`reno_count`).
    reno: u64,
    /// Fast round trips (`fast_count`).
    fast_rounds: u64,
}

impl Yeah {
    pub(crate) fn new(config: &Config) -> Yeah {
        Yeah {
            rounds: Rounds::new(config),
            queued: 0,
            slow_rounds: 0,
            reno: LEAST,
            fast_rounds: 0,
        }
    }

    fn grow(&mut self, mut acked: u64) {
        let window = &mut self.rounds.stack.window;
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        let per = match self.slow_rounds {
            0 => window.cwnd.min(SCALABLE),
            _ => window.cwnd,
        };
        window.avoid(per, acked);
    }

    /// What a round that was measured says of the queue.
    fn decide(&mut self) {
        let window = &mut self.rounds.stack.window;
        let queueing = self.rounds.round.min - self.rounds.round.base;
        let queued = (u128::from(window.cwnd) * u128::from(queueing)
            / u128::from(self.rounds.round.min)) as u64;
        if queued > ALPHA || queueing > self.rounds.round.base / PHI {
            if queued > ALPHA && window.cwnd > self.reno {
                let cut = queued.min(window.cwnd >> EPSILON);
                window.cwnd = (window.cwnd - cut).max(self.reno);
                window.ssthresh = window.cwnd;
            }
            self.reno = match self.reno {
                ..=LEAST => (window.cwnd >> 1).max(LEAST),
                reno => reno + 1,
            };
            self.slow_rounds = (self.slow_rounds + 1).min(0xff_ffff);
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > ZETA {
                self.reno = LEAST;
                self.fast_rounds = 0;
            }
            self.slow_rounds = 0;
        }
        self.queued = queued;
    }
}

impl CongestionControl for Yeah {
    fn on_ack(&mut self, ack: &AckSample, _cx: &mut Cx<'_>) {
        self.rounds.take(ack);
        if !may_grow(ack) {
            return;
        }
        let acked = self.rounds.stack.acked(ack);
        self.grow(acked);
        if self.rounds.round.is_over(ack) {
            if self.rounds.round.is_measured() {
                self.decide();
            }
            self.rounds.round.begin(ack.snd_nxt);
        }
    }

    /// `tcp_yeah_ssthresh`: the queue is taken off, an eighth at least and half at most; with
    /// others that fill the queue, half.
    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        let Yeah {
            rounds,
            queued,
            slow_rounds,
            reno,
            fast_rounds,
            ..
        } = self;
        rounds.stack.reduce(kind, at, |window| {
            let half = window.half();
            let cut = match *slow_rounds {
                RHO.. => half,
                _ => half.min(*queued).max(window.cwnd >> DELTA),
            };
            *fast_rounds = 0;
            *reno = (*reno >> 1).max(LEAST);
            window.cwnd.saturating_sub(cut).max(LEAST)
        });
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
    use crate::yeah::VARIANT;
    use crate::{Arithmetic, SlowStart};

    fn flow(cwnd: u64) -> Bench<Yeah> {
        let config = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
        let mut flow = Bench::new(Yeah::new(&config));
        flow.cc.rounds.stack.window.cwnd = cwnd;
        flow.cc.rounds.stack.window.ssthresh = 2;
        flow.cc.rounds.round.base = 40_000;
        flow
    }

    /// A round measured at `micros`, without growth.
    fn round(flow: &mut Bench<Yeah>, micros: u64) -> u64 {
        flow.cc.rounds.round.min = micros;
        flow.cc.decide();
        flow.cc.rounds.stack.window.cwnd
    }

    #[test]
    fn scalable_in_a_short_queue_and_reno_in_a_long_one() {
        let mut flow = flow(200);
        for _ in 0..100 {
            flow.ack(&ack(1_000));
        }
        assert_eq!(flow.cc.rounds.stack.window.cwnd, 201);
        // 46 ms: 6 ms is more than 40 / 8, although 201 * 6 / 46 = 26 segments is a short queue.
        assert_eq!(round(&mut flow, 46_000), 201);
        assert_eq!((flow.cc.slow_rounds, flow.cc.reno), (1, 100));
        for _ in 0..100 {
            flow.ack(&ack(1_000));
        }
        assert_eq!(flow.cc.rounds.stack.window.cwnd, 201);
    }

    #[test]
    fn a_queue_of_more_than_alpha_is_taken_off() {
        let mut flow = flow(400);
        // 400 * 12 / 52 = 92 segments wait: 400 - 92, and the threshold with it.
        assert_eq!(round(&mut flow, 52_000), 308);
        assert_eq!((flow.cc.ssthresh(), flow.cc.reno), (308_000, 154));
        // 308 * 40 / 80 = 154: half of the window.
        assert_eq!(round(&mut flow, 80_000), 154);
        // Reno would have 155 by now: nothing is taken off any more.
        assert_eq!((flow.cc.reno, round(&mut flow, 100_000)), (155, 154));
    }

    #[test]
    fn a_loss_takes_the_queue_off_or_half_when_others_compete() {
        let mut short = flow(100);
        round(&mut short, 44_000); // 100 * 4 / 44 = 9
        short.congestion(Congestion::Loss, &congestion(100_000));
        assert_eq!(short.cc.cwnd(), 88_000); // an eighth, 12, is more than 9
        let mut long = flow(100);
        round(&mut long, 56_000); // 100 * 16 / 56 = 28
        long.congestion(Congestion::Loss, &congestion(100_000));
        assert_eq!((long.cc.cwnd(), long.cc.reno), (72_000, 25));
        let mut shared = flow(100);
        for _ in 0..16 {
            round(&mut shared, 56_000);
        }
        shared.congestion(Congestion::Loss, &congestion(100_000));
        assert_eq!(shared.cc.cwnd(), 50_000);
    }

    #[test]
    fn fifty_fast_rounds_forget_renos_window() {
        let mut flow = flow(20);
        flow.cc.reno = 10;
        for _ in 0..50 {
            round(&mut flow, 41_000);
        }
        assert_eq!(flow.cc.reno, 10);
        round(&mut flow, 41_000);
        assert_eq!((flow.cc.reno, flow.cc.fast_rounds), (2, 0));
    }

    /// `TCP_YEAH_EPSILON`: 400 * 160 / 200 = 320 segments wait, of which half the window goes.
    #[test]
    fn no_more_than_half_the_window_is_taken_off() {
        let mut flow = flow(400);
        assert_eq!(round(&mut flow, 200_000), 200);
        assert_eq!(flow.cc.ssthresh(), 200_000);
    }

    /// `TCP_YEAH_ALPHA` and `TCP_YEAH_PHY` are what a short queue may reach: 720 * 5 / 45 = 80
    /// segments, and an eighth of the base round trip, 5 ms.
    #[test]
    fn a_queue_of_alpha_and_an_eighth_is_short() {
        let mut flow = flow(720);
        assert_eq!(round(&mut flow, 45_000), 720);
        assert_eq!((flow.cc.slow_rounds, flow.cc.fast_rounds), (0, 1));
        // 1000 * 5 / 45 = 111 segments are too many, however short they make the delay.
        flow.cc.rounds.stack.window.cwnd = 1_000;
        assert_eq!(round(&mut flow, 45_000), 889);
        assert_eq!(flow.cc.slow_rounds, 1);
    }

    #[test]
    fn what_is_taken_off_is_more_than_alpha_and_more_than_renos_window() {
        let mut flow = flow(400);
        // 400 * 10 / 50 = 80: a long delay, but no more than alpha.
        assert_eq!(round(&mut flow, 50_000), 400);
        assert_eq!((flow.cc.ssthresh(), flow.cc.reno), (2_000, 200));
        flow.cc.reno = 400;
        assert_eq!(round(&mut flow, 52_000), 400);
        assert_eq!((flow.cc.ssthresh(), flow.cc.reno), (2_000, 401));
    }
}
