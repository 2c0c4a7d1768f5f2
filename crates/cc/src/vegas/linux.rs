//! Vegas as Linux 6.12 has it (`tcp_vegas.c`): whole segments and microseconds, one step a
//! round trip.

use cclab_interface::state::columns::{BASE_RTT, ENABLED, ROUND_MIN_RTT, ROUND_SAMPLES};
use cclab_interface::state::{counted, flagged};
use cclab_interface::{AckSample, CaEvent, CaState, CongestionOps, StateColumn, Tcp};

use super::Round;
use crate::Config;

/// `alpha`, in segments.
const ALPHA: f64 = 2.0;
/// `beta`, in segments.
const BETA: f64 = 4.0;
/// The least window of a step.
const LEAST: u32 = 2;

/// The module's state and its parameters.
pub(super) struct Vegas {
    round: Round,
    alpha: u32,
    beta: u32,
    gamma: u32,
}

impl Vegas {
    pub(super) fn new(config: &Config) -> Vegas {
        let params = &config.params;
        Vegas {
            round: Round::default(),
            alpha: params.given("alpha").unwrap_or(ALPHA) as u32,
            beta: params.given("beta").unwrap_or(BETA) as u32,
            gamma: params.get("gamma") as u32,
        }
    }

    /// The step of a round that was measured.
    fn step(&mut self, tcp: &mut Tcp, acked: u32) {
        let Round { base, min, .. } = self.round;
        // Segments in the queue: the window less what the path holds without one.
        let queued = tcp.snd_cwnd.wrapping_mul(min.wrapping_sub(base)) / base;
        if queued > self.gamma && tcp.in_slow_start() {
            let without_queue = u64::from(tcp.snd_cwnd) * u64::from(base) / u64::from(min);
            // One more, for what the division cuts off.
            tcp.snd_cwnd = tcp.snd_cwnd.min((without_queue as u32).wrapping_add(1));
            tcp.snd_ssthresh = tcp.snd_ssthresh.min(tcp.snd_cwnd);
        } else if tcp.in_slow_start() {
            tcp.slow_start(acked);
        } else if queued > self.beta {
            tcp.snd_cwnd -= 1;
            tcp.snd_ssthresh = tcp.snd_ssthresh.min(tcp.snd_cwnd);
        } else if queued < self.alpha {
            tcp.snd_cwnd += 1;
        }
        if tcp.snd_cwnd < LEAST {
            tcp.snd_cwnd = LEAST;
        } else if tcp.snd_cwnd > tcp.snd_cwnd_clamp {
            tcp.snd_cwnd = tcp.snd_cwnd_clamp;
        }
        tcp.snd_ssthresh = tcp.current_ssthresh();
    }
}

impl CongestionOps for Vegas {
    fn init(&mut self, tcp: &mut Tcp) {
        self.round.forget(tcp);
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        tcp.reno_ssthresh()
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, ack: u32, acked: u32) {
        if !self.round.enabled {
            tcp.reno_cong_avoid(acked);
        } else if self.round.is_over(ack) {
            match self.round.is_measured() {
                true => self.step(tcp, acked),
                false => tcp.reno_cong_avoid(acked),
            }
            self.round.begin(tcp);
        } else if tcp.in_slow_start() {
            tcp.slow_start(acked);
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

    fn state_columns(&self) -> &'static [StateColumn] {
        &[ENABLED, ROUND_SAMPLES, BASE_RTT, ROUND_MIN_RTT]
    }

    fn tell_state(&self, _tcp: &Tcp, values: &mut [f64]) {
        let Round {
            enabled,
            samples,
            base,
            min,
            ..
        } = self.round;
        let nanos = |micros: u32| {
            let known = Some(micros).filter(|&micros| micros < Round::UNKNOWN);
            counted(known.map(|micros| u64::from(micros) * 1_000))
        };
        values.copy_from_slice(&[
            flagged(enabled),
            counted(u64::from(samples)),
            nanos(base),
            nanos(min),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use cclab_units::parameter::Params;

    use super::*;
    use crate::tests::{config_of, lent};
    use crate::vegas::{PARAMS, VARIANT};
    use crate::{Arithmetic, SlowStart};

    fn started(given: &[(&str, f64)], cwnd: u32, ssthresh: u32) -> (Vegas, Tcp) {
        let given = given.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        let mut module = Vegas::new(&Config {
            params: Params::new(PARAMS, &given).expect("in range"),
            ..config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain)
        });
        let mut tcp = lent(cwnd, ssthresh);
        module.init(&mut tcp);
        (module, tcp)
    }

    /// A round of three samples of `micros` each, the last of which ends it.
    fn round(module: &mut Vegas, tcp: &mut Tcp, micros: i32) -> (u32, u32) {
        let end = tcp.snd_nxt;
        tcp.snd_nxt += 20_000;
        for ack in [end, end, end + 1_000] {
            let sample = AckSample {
                rtt_us: micros,
                ..AckSample::default()
            };
            module.pkts_acked(tcp, &sample);
            module.cong_avoid(tcp, ack, 1);
        }
        (tcp.snd_cwnd, tcp.snd_ssthresh)
    }

    /// baseRTT is 40 ms + 1 us. 41 * 4000 / 40001 = 4: stays; 41 * 3100 = 127100, 3: stays;
    /// 41 * 1000, 1: grows; 42 * 5100 = 214200, 5: shrinks; 41 * 5200 = 213200, 5: shrinks.
    /// ssthresh is at least three quarters: 41/2 + 41/4 = 30, 42/2 + 42/4 = 31.
    #[test]
    fn between_alpha_and_beta_it_stays() {
        let (mut module, mut tcp) = started(&[], 40, 20);
        let micros = [40_000, 44_000, 43_100, 41_000, 45_100, 45_200];
        let seen = micros.map(|micros| round(&mut module, &mut tcp, micros));
        assert_eq!(
            seen,
            [(41, 30), (41, 30), (41, 30), (42, 31), (41, 31), (40, 31)]
        );
        // It does not ask whether the window was used.
        tcp.is_cwnd_limited = 0;
        assert_eq!(round(&mut module, &mut tcp, 40_000).0, 41);
        tcp.snd_cwnd_clamp = 41;
        assert_eq!(round(&mut module, &mut tcp, 40_000).0, 41);
    }

    /// Two acknowledgements inside the round, and the one that ends it: nothing is queued. Then,
    /// 25 * 6000 / 40001 = 3 > gamma: 25 * 40001 / 46001 = 21, and one.
    #[test]
    fn slow_start_ends_at_what_the_path_holds() {
        let (mut module, mut tcp) = started(&[], 20, u32::MAX);
        assert_eq!(round(&mut module, &mut tcp, 40_000).0, 23);
        assert_eq!(round(&mut module, &mut tcp, 46_000), (22, 22));
    }

    /// As above with gamma 3, which 3 segments do not pass; with beta 6, which 5 do not pass; with
    /// alpha 4, below which 3 grow.
    #[test]
    fn parameters_are_segments_in_the_queue() {
        let (mut module, mut tcp) = started(&[("gamma", 3.0)], 20, u32::MAX);
        round(&mut module, &mut tcp, 40_000);
        assert_eq!(round(&mut module, &mut tcp, 46_000).0, 26);
        let (mut module, mut tcp) = started(&[("alpha", 4.0), ("beta", 6.0)], 40, 20);
        let micros = [40_000, 45_100, 43_100];
        let seen = micros.map(|micros| round(&mut module, &mut tcp, micros).0);
        assert_eq!(seen, [41, 41, 42]);
    }

    /// 32 bits: 2^17 segments times 40 ms in microseconds are 2^17 * 40000 - 2^32 = 947912704,
    /// through 40001 us 23697 segments: more than beta, but not the 131068 in the queue.
    #[test]
    fn the_product_wraps() {
        let (mut module, mut tcp) = started(&[("beta", 30_000.0)], 1 << 17, 2);
        (module.round.base, module.round.min) = (40_001, 80_001);
        module.step(&mut tcp, 1);
        assert_eq!(tcp.snd_cwnd, 1 << 17);
        module.beta = 23_696;
        module.step(&mut tcp, 1);
        assert_eq!(tcp.snd_cwnd, (1 << 17) - 1);
    }

    #[test]
    fn with_too_few_samples_or_outside_open_it_is_reno() {
        let (mut module, mut tcp) = started(&[], 4, 2);
        for ack in (1..=8).map(|n| n * 1_000) {
            tcp.snd_nxt = ack; // each acknowledgement ends a round
            module.cong_avoid(&mut tcp, ack, 1);
        }
        // A segment for four acknowledged; then four of the five for the next.
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (5, 4));
        module.set_state(&mut tcp, CaState::Disorder);
        module.cong_avoid(&mut tcp, 9_000, 1);
        assert_eq!((tcp.snd_cwnd, module.round.end), (6, 8_000));
        // Open again: a round begins, within which nothing grows past slow start.
        module.set_state(&mut tcp, CaState::Open);
        module.cong_avoid(&mut tcp, 8_000, 6);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (6, 0));
    }

    #[test]
    fn a_loss_halves_and_an_idle_time_forgets_the_base() {
        let (mut module, mut tcp) = started(&[], 10, 5);
        round(&mut module, &mut tcp, 40_000);
        assert_eq!((tcp.snd_cwnd, module.ssthresh(&mut tcp)), (11, 5));
        module.cwnd_event(&mut tcp, CaEvent::TxStart);
        assert_eq!(module.round.base, Round::UNKNOWN);
        tcp.prior_cwnd = 12;
        assert_eq!(module.undo_cwnd(&mut tcp), 12);
    }

    /// A window of one segment, as a timeout leaves, becomes two at the next step: 1 * 20000 /
    /// 40001 = 0 segments are queued, and 2 is the threshold.
    #[test]
    fn a_step_leaves_two_segments_at_least() {
        let (mut module, mut tcp) = started(&[("alpha", 0.0)], 1, 1);
        (module.round.base, module.round.min) = (40_001, 60_001);
        module.step(&mut tcp, 1);
        assert_eq!((tcp.snd_cwnd, tcp.snd_ssthresh), (2, 1));
    }
}
