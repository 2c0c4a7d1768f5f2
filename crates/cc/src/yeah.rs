//! YeAH: Scalable's growth while the queue is short, Reno's and a window shrunk by the queue when
//! it is long, unless others fill it (Baiocchi, Castellani and Vacirca 2007).
//!
//! Reacts to delay once a round trip, and to loss, timeouts and ECN. One form, that of Linux 6.12
//! (`tcp_yeah.c`) in integers, on every stack.

use cclab_interface::{AckSample, CaEvent, CaState, CongestionOps, Tcp};
use cclab_units::InKernel;

use crate::lent::lent;
use crate::variant::{Departure, EcnFeedback, Signal, Variant, WindowInRecovery};
use crate::vegas::Round;

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "yeah",
    version: 2,
    summary: "Scalable while the queue is short, Reno when it is long, and the queue taken off",
    reference: "A. Baiocchi, A. Castellani and F. Vacirca, YeAH-TCP, PFLDnet 2007; Linux 6.12",
    near: &[],
    kernel: Some(InKernel::Module {
        name: "tcp_yeah",
        symbol: "CONFIG_TCP_CONG_YEAH",
    }),
    recovery: None,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Delay,
    departures: &[Departure::NarrowedByDelay],
    params: &[],
    relations: &[],
    ops: Some(|_| Box::new(Yeah::new())),
    build: Some(|config| lent(config, Yeah::new())),
};

/// `TCP_YEAH_ALPHA`: segments in the queue from which on the window shrinks.
const ALPHA: u32 = 80;
/// `TCP_YEAH_DELTA`: a loss costs an eighth at least.
const DELTA: u32 = 3;
/// `TCP_YEAH_EPSILON`: the queue is taken off up to half the window.
const EPSILON: u32 = 1;
/// `TCP_YEAH_PHY`: a queue of more than an eighth of the base round trip makes the mode slow.
const PHI: u32 = 8;
/// `TCP_YEAH_RHO`: slow round trips from which on a loss halves, because others compete.
const RHO: u32 = 16;
/// `TCP_YEAH_ZETA`: fast round trips that forget Reno's window.
const ZETA: u32 = 50;
/// `TCP_SCALABLE_AI_CNT`: acknowledged segments per one of growth.
const SCALABLE: u32 = 100;
/// The least window, and Reno's before it is known.
const LEAST: u32 = 2;
/// Slow round trips are counted up to here.
const MOST_SLOW_ROUNDS: u32 = 0xff_ffff;
/// No window is larger (`tcp_yeah_init`).
const LARGEST: u32 = u32::MAX / 128;

/// The module's state (`struct yeah`).
struct Yeah {
    round: Round,
    /// Segments in the queue in the last round measured (`lastQ`).
    queued: u32,
    /// Slow round trips in a row (`doing_reno_now`).
    slow_rounds: u32,
    /// The window that Reno would have (`reno_count`).
    reno: u32,
    /// Fast round trips (`fast_count`).
    fast_rounds: u32,
}

impl Yeah {
    fn new() -> Yeah {
        Yeah {
            round: Round::default(),
            queued: 0,
            slow_rounds: 0,
            reno: 0,
            fast_rounds: 0,
        }
    }

    /// What a round that was measured says of the queue.
    fn decide(&mut self, tcp: &mut Tcp) {
        let Round { base, min, .. } = self.round;
        let queueing = min.wrapping_sub(base);
        let queued = (u64::from(tcp.snd_cwnd) * u64::from(queueing) / u64::from(min)) as u32;
        if queued > ALPHA || queueing > base / PHI {
            if queued > ALPHA && tcp.snd_cwnd > self.reno {
                let cut = queued.min(tcp.snd_cwnd >> EPSILON);
                tcp.snd_cwnd = (tcp.snd_cwnd - cut).max(self.reno);
                tcp.snd_ssthresh = tcp.snd_cwnd;
            }
            self.reno = match self.reno {
                ..=LEAST => (tcp.snd_cwnd >> 1).max(LEAST),
                reno => reno.wrapping_add(1),
            };
            self.slow_rounds = (self.slow_rounds + 1).min(MOST_SLOW_ROUNDS);
        } else {
            self.fast_rounds = self.fast_rounds.wrapping_add(1);
            if self.fast_rounds > ZETA {
                self.reno = LEAST;
                self.fast_rounds = 0;
            }
            self.slow_rounds = 0;
        }
        self.queued = queued;
    }
}

/// Half the window, two segments at least.
fn half(cwnd: u32) -> u32 {
    (cwnd >> 1).max(2)
}

impl CongestionOps for Yeah {
    fn init(&mut self, tcp: &mut Tcp) {
        self.round.forget(tcp);
        self.slow_rounds = 0;
        self.queued = 0;
        self.reno = LEAST;
        tcp.snd_cwnd_clamp = tcp.snd_cwnd_clamp.min(LARGEST);
    }

    /// The queue is taken off, an eighth at least and half at most; with others that fill the
    /// queue, half.
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        let half = half(tcp.snd_cwnd);
        let cut = match self.slow_rounds {
            RHO.. => half,
            _ => self.queued.min(half).max(tcp.snd_cwnd >> DELTA),
        };
        self.fast_rounds = 0;
        self.reno = (self.reno >> 1).max(LEAST);
        (tcp.snd_cwnd.wrapping_sub(cut) as i32).max(2) as u32
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, ack: u32, mut acked: u32) {
        if !tcp.is_cwnd_limited() {
            return;
        }
        let in_slow_start = tcp.in_slow_start();
        if in_slow_start {
            acked = tcp.slow_start(acked);
        }
        if !in_slow_start || acked > 0 {
            let per = match self.slow_rounds {
                0 => tcp.snd_cwnd.min(SCALABLE),
                _ => tcp.snd_cwnd,
            };
            tcp.cong_avoid_ai(per, acked);
        }
        if self.round.is_over(ack) {
            if self.round.is_measured() {
                self.decide(tcp);
            }
            self.round.begin(tcp);
        }
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        self.round.set_state(tcp, new);
    }

    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        self.round.cwnd_event(tcp, event);
    }

    fn pkts_acked(&mut self, _tcp: &mut Tcp, sample: &AckSample) {
        self.round.pkts_acked(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::lent;

    /// A path of 40 ms.
    fn flow(cwnd: u32) -> (Yeah, Tcp) {
        let mut module = Yeah::new();
        let mut tcp = lent(cwnd, 2);
        module.init(&mut tcp);
        module.round.base = 40_000;
        (module, tcp)
    }

    /// A round measured at `micros`, without growth: the window and the threshold after it.
    fn round(module: &mut Yeah, tcp: &mut Tcp, micros: u32) -> (u32, u32) {
        module.round.min = micros;
        module.decide(tcp);
        (tcp.snd_cwnd, tcp.snd_ssthresh)
    }

    #[test]
    fn scalable_in_a_short_queue_and_reno_in_a_long_one() {
        let (mut module, mut tcp) = flow(200);
        for _ in 0..100 {
            module.cong_avoid(&mut tcp, 0, 1);
        }
        assert_eq!(tcp.snd_cwnd, 201);
        // 46 ms: 6 ms is more than 40 / 8, although 201 * 6 / 46 = 26 segments is a short queue.
        assert_eq!(round(&mut module, &mut tcp, 46_000), (201, 2));
        assert_eq!((module.slow_rounds, module.reno), (1, 100));
        for _ in 0..200 {
            module.cong_avoid(&mut tcp, 0, 1);
        }
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (201, 200));
        tcp.is_cwnd_limited = 0;
        module.cong_avoid(&mut tcp, 0, 1);
        assert_eq!(tcp.snd_cwnd_cnt, 200);
    }

    #[test]
    fn a_queue_of_more_than_alpha_is_taken_off() {
        let (mut module, mut tcp) = flow(400);
        // 400 * 12 / 52 = 92 segments wait: 400 - 92, and the threshold with it.
        assert_eq!(round(&mut module, &mut tcp, 52_000), (308, 308));
        assert_eq!(module.reno, 154);
        // 308 * 40 / 80 = 154: half of the window.
        assert_eq!(round(&mut module, &mut tcp, 80_000), (154, 154));
        // Reno would have 155 by now: nothing is taken off any more.
        assert_eq!(module.reno, 155);
        assert_eq!(round(&mut module, &mut tcp, 100_000), (154, 154));
        // 400 * 160 / 200 = 320 segments wait, of which half the window goes.
        let (mut module, mut tcp) = flow(400);
        assert_eq!(round(&mut module, &mut tcp, 200_000), (200, 200));
    }

    #[test]
    fn a_loss_takes_the_queue_off_or_half_when_others_compete() {
        let (mut short, mut tcp) = flow(100);
        round(&mut short, &mut tcp, 44_000); // 100 * 4 / 44 = 9
        assert_eq!(short.ssthresh(&mut tcp), 88); // an eighth, 12, is more than 9
        let (mut long, mut tcp) = flow(100);
        round(&mut long, &mut tcp, 56_000); // 100 * 16 / 56 = 28
        long.fast_rounds = 7;
        assert_eq!(long.ssthresh(&mut tcp), 72);
        assert_eq!((long.reno, long.fast_rounds), (25, 0));
        let (mut shared, mut tcp) = flow(100);
        for _ in 0..16 {
            round(&mut shared, &mut tcp, 56_000);
        }
        assert_eq!(shared.ssthresh(&mut tcp), 50);
        tcp.prior_cwnd = 100;
        assert_eq!(shared.undo_cwnd(&mut tcp), 100);
        tcp.snd_cwnd = 1;
        assert_eq!(shared.ssthresh(&mut tcp), 2); // 1 less 2 is below zero
    }

    #[test]
    fn fifty_fast_rounds_forget_renos_window() {
        let (mut module, mut tcp) = flow(20);
        module.reno = 10;
        for _ in 0..50 {
            round(&mut module, &mut tcp, 41_000);
        }
        assert_eq!(module.reno, 10);
        round(&mut module, &mut tcp, 41_000);
        assert_eq!((module.reno, module.fast_rounds), (2, 0));
    }

    /// What a short queue may reach: 720 * 5 / 45 = 80 segments, and an eighth of the base round
    /// trip, 5 ms.
    #[test]
    fn a_queue_of_alpha_and_an_eighth_is_short() {
        let (mut module, mut tcp) = flow(720);
        assert_eq!(round(&mut module, &mut tcp, 45_000), (720, 2));
        assert_eq!((module.slow_rounds, module.fast_rounds), (0, 1));
        // 1000 * 5 / 45 = 111 segments are too many, however short they make the delay.
        tcp.snd_cwnd = 1_000;
        assert_eq!(round(&mut module, &mut tcp, 45_000), (889, 889));
        assert_eq!(module.slow_rounds, 1);
    }

    #[test]
    fn what_is_taken_off_is_more_than_alpha_and_more_than_renos_window() {
        let (mut module, mut tcp) = flow(400);
        // 400 * 10 / 50 = 80: a long delay, but no more than alpha.
        assert_eq!(round(&mut module, &mut tcp, 50_000), (400, 2));
        assert_eq!(module.reno, 200);
        module.reno = 400;
        assert_eq!(round(&mut module, &mut tcp, 52_000), (400, 2));
        assert_eq!(module.reno, 401);
    }

    /// Three samples of 52 ms and an acknowledgement past the start decide, in slow start too and
    /// outside Open; two samples do not, but begin the next round.
    #[test]
    fn a_round_of_three_samples_decides() {
        let sample = AckSample {
            rtt_us: 51_999,
            ..AckSample::default()
        };
        for (samples, cwnd) in [(3, 308), (2, 400)] {
            let (mut module, mut tcp) = flow(390);
            tcp.snd_ssthresh = 1_000;
            (tcp.snd_nxt, module.round.end) = (90_000, 10_000);
            module.set_state(&mut tcp, CaState::Disorder);
            for _ in 0..samples {
                module.pkts_acked(&mut tcp, &sample);
            }
            module.cong_avoid(&mut tcp, 10_000, 4);
            assert_eq!((tcp.snd_cwnd, module.round.end), (394, 10_000));
            module.cong_avoid(&mut tcp, 10_001, 6);
            assert_eq!((tcp.snd_cwnd, module.round.end), (cwnd, 90_000));
            assert_eq!(module.round.samples, 0);
        }
    }

    /// What an idle time forgets is the path; slow rounds, Reno's window and the queue stay.
    #[test]
    fn an_idle_time_forgets_the_path() {
        let (mut module, mut tcp) = flow(400);
        round(&mut module, &mut tcp, 52_000);
        module.cwnd_event(&mut tcp, CaEvent::TxStart);
        assert_eq!(module.round.base, Round::UNKNOWN);
        assert_eq!(
            (module.queued, module.slow_rounds, module.reno),
            (92, 1, 154)
        );
        module.fast_rounds = 7;
        module.init(&mut tcp);
        assert_eq!((module.queued, module.slow_rounds, module.reno), (0, 0, 2));
        assert_eq!((module.fast_rounds, tcp.snd_cwnd_clamp), (7, 33_554_431));
    }
}
