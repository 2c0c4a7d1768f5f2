//! Hybla: every flow grows as one with a round trip of `rtt0` would, so that long paths (by
//! satellite) are not at a disadvantage (Caini and Firrincieli 2004).
//!
//! Reacts to loss, timeouts and ECN as Reno does. One form, that of Linux 6.12 (`tcp_hybla.c`)
//! in fixed point, on every stack.

use cclab_interface::{CaState, CongestionOps, Tcp};
use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::Config;
use crate::lent::lent;
use crate::variant::{EcnFeedback, Signal, Variant, WindowInRecovery};

/// Binary digits of rho.
const RHO_SHIFT: u32 = 3;
/// Binary digits of increments.
const SHIFT: u32 = 7;
const ONE: u32 = 1 << SHIFT;
/// 2^(k/8) in units of [`ONE`], as the kernel rounds it.
const FRACTIONS: [u32; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// The largest power of two that slow start adds.
const MOST_DOUBLINGS: u32 = 16;
/// `snd_cwnd_clamp`, in segments.
const CLAMP: u32 = 65_535;

const PARAMS: &[Parameter] = &[Parameter {
    name: "rtt0",
    measure: Measure::Time,
    meaning: "round-trip time of the flow that growth is likened to",
    default: 0.025,
    least: 0.001,
    most: 10.0,
}];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "hybla",
    version: 2,
    summary: "Grows as a flow with a round trip of 25 ms would, whatever its own",
    reference: "C. Caini and R. Firrincieli, TCP Hybla, IJSCN 22(5), 2004; Linux 6.12",
    near: &[],
    kernel: Some(InKernel::Module {
        name: "tcp_hybla",
        symbol: "CONFIG_TCP_CONG_HYBLA",
    }),
    recovery: None,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Losses,
    departures: &[],
    params: PARAMS,
    relations: &[],
    ops: Some(|config| Box::new(Hybla::new(config))),
    build: Some(|config| lent(config, Hybla::new(config))),
};

/// The module at one flow (`struct hybla`), in the kernel's widths: what wraps there wraps here.
struct Hybla {
    rtt0_us: u32,
    /// `hybla_en`: only in state Open it is more than Reno.
    enabled: bool,
    /// rho = RTT / rtt0, at least 1, in units of 1/8 (`rho_3ls`).
    rho: u32,
    /// Its square, in units of [`ONE`] (`rho2_7ls`).
    rho2: u32,
    /// Smallest smoothed round-trip time, the one that rho is of, in eighths of a microsecond.
    min_srtt: u32,
    /// What was grown less than a segment (`snd_cwnd_cents`), in units of [`ONE`].
    cents: u32,
}

impl Hybla {
    fn new(config: &Config) -> Hybla {
        Hybla {
            rtt0_us: (config.params.get("rtt0") * 1e6).round() as u32,
            enabled: true,
            rho: 0,
            rho2: 0,
            min_srtt: 0,
            cents: 0,
        }
    }

    /// `hybla_recalc_param`.
    fn liken(&mut self, srtt_us: u32) {
        self.rho = (srtt_us / self.rtt0_us).max(1 << RHO_SHIFT);
        self.rho2 = self.rho.wrapping_mul(self.rho) << 1;
    }

    fn whole_rho(&self) -> u32 {
        self.rho >> RHO_SHIFT
    }

    /// `2^rho - 1`, in units of [`ONE`].
    fn increment_in_slow_start(&self) -> u32 {
        let fraction = FRACTIONS[(self.rho % (1 << RHO_SHIFT)) as usize];
        (fraction << self.whole_rho().min(MOST_DOUBLINGS)) - ONE
    }
}

impl CongestionOps for Hybla {
    /// The window starts at rho, not at the stack's initial one.
    fn init(&mut self, tcp: &mut Tcp) {
        self.cents = 0;
        self.enabled = true;
        tcp.snd_cwnd_clamp = CLAMP;
        self.liken(tcp.srtt_us);
        self.min_srtt = tcp.srtt_us;
        tcp.snd_cwnd = self.whole_rho();
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        tcp.reno_ssthresh()
    }

    /// Each acknowledgement counts once, whatever it covers.
    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, acked: u32) {
        if tcp.srtt_us < self.min_srtt {
            self.liken(tcp.srtt_us);
            self.min_srtt = tcp.srtt_us;
        }
        if !tcp.is_cwnd_limited() {
            return;
        }
        if !self.enabled {
            tcp.reno_cong_avoid(acked);
            return;
        }
        let slow_start = tcp.in_slow_start();
        let increment = match slow_start {
            true => self.increment_in_slow_start(),
            false => self.rho2 / tcp.snd_cwnd, // rho^2 segments a window
        };
        if !slow_start && increment < ONE {
            tcp.snd_cwnd_cnt = tcp.snd_cwnd_cnt.wrapping_add(1);
        }
        self.cents += increment % ONE;
        tcp.snd_cwnd = tcp.snd_cwnd.wrapping_add(increment >> SHIFT);
        if self.cents >= ONE {
            tcp.snd_cwnd = tcp.snd_cwnd.wrapping_add(self.cents >> SHIFT);
            self.cents %= ONE;
            tcp.snd_cwnd_cnt = 0;
        }
        // Increments too small to be counted: no slower than Reno.
        if increment == 0 && tcp.snd_cwnd_cnt >= tcp.snd_cwnd {
            tcp.snd_cwnd = tcp.snd_cwnd.wrapping_add(1);
            tcp.snd_cwnd_cnt = 0;
        }
        if slow_start {
            tcp.snd_cwnd = tcp.snd_cwnd.min(tcp.snd_ssthresh);
        }
        tcp.snd_cwnd = tcp.snd_cwnd.min(tcp.snd_cwnd_clamp);
    }

    fn set_state(&mut self, _tcp: &mut Tcp, new: CaState) {
        self.enabled = new == CaState::Open;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{config_with, lent};

    /// A flow whose handshake took `ms`, with a window of `cwnd` in use.
    fn flow(ms: u32, cwnd: u32, ssthresh: u32) -> (Hybla, Tcp) {
        let mut hybla = Hybla::new(&config_with(&VARIANT, &[]));
        let mut tcp = Tcp {
            srtt_us: ms * 8_000,
            ..lent(10, ssthresh)
        };
        hybla.init(&mut tcp);
        tcp.snd_cwnd = cwnd;
        (hybla, tcp)
    }

    /// The windows after acknowledgements of a segment each.
    fn grown((hybla, tcp): &mut (Hybla, Tcp), acks: usize) -> Vec<u32> {
        let mut grow = || {
            hybla.cong_avoid(tcp, 0, 1);
            tcp.snd_cwnd
        };
        (0..acks).map(|_| grow()).collect()
    }

    #[test]
    fn the_window_starts_at_rho() {
        for (ms, rho) in [(0, 1), (10, 1), (25, 1), (60, 2), (600, 24)] {
            let (mut hybla, mut tcp) = flow(ms, 10, 2);
            hybla.init(&mut tcp);
            assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_clamp), (rho, 65_535));
        }
    }

    /// rho = 60 / 25 = 2.4, 19 in eighths: 2^(19/8) - 1 = 4 * 165/128 - 1 = 532/128.
    #[test]
    fn slow_start_adds_a_power_of_two() {
        let mut flow = flow(60, 2, 32);
        // 2 + 4, 20/128 kept; 6 + 4, 40/128; ... the seventh carries: 140/128. Then the threshold.
        assert_eq!(grown(&mut flow, 8), [6, 10, 14, 18, 22, 26, 31, 32]);
        assert_eq!(flow.0.cents, 32);
    }

    /// 2 s are 80 rho: no more than 16 doublings, (2^16 - 1) segments, and the clamp.
    #[test]
    fn doublings_and_the_window_are_limited() {
        let mut flow = flow(2_000, 10, 1_000_000);
        assert_eq!(flow.0.increment_in_slow_start(), 65_535 * ONE);
        assert_eq!(grown(&mut flow, 1), [65_535]);
    }

    /// rho = 100 / 25 = 4: 16 / cwnd an acknowledgement, 2048/128 in fixed point.
    #[test]
    fn avoidance_adds_rho_squared_a_window() {
        let mut flow = flow(100, 100, 2);
        // 2048 / 100 = 20 of 128 each: the seventh carries 140.
        assert_eq!(grown(&mut flow, 6), [100; 6]);
        assert_eq!((flow.1.snd_cwnd_cnt, grown(&mut flow, 1)), (6, vec![101]));
        assert_eq!((flow.0.cents, flow.1.snd_cwnd_cnt), (12, 0));
        // 2048 / 10 = 204, a segment and 76: nothing is counted.
        flow.1.snd_cwnd = 10;
        assert_eq!((grown(&mut flow, 1), flow.1.snd_cwnd_cnt), (vec![11], 0));
    }

    #[test]
    fn a_smaller_round_trip_takes_rho_down_and_a_larger_one_not_up() {
        let mut flow = flow(100, 100, 2);
        flow.1.is_cwnd_limited = 0; // a window in no use stays, but round trips are looked at
        for (ms, rho) in [(100, 32), (50, 16), (80, 16)] {
            flow.1.srtt_us = ms * 8_000;
            assert_eq!((grown(&mut flow, 1), flow.0.rho), (vec![100], rho));
        }
    }

    #[test]
    fn increments_below_the_fixed_point_are_counted_as_reno_does() {
        let mut flow = flow(25, 200, 2); // 128 / 200 = 0
        assert_eq!(grown(&mut flow, 199), [200; 199]);
        assert_eq!((grown(&mut flow, 1), flow.1.snd_cwnd_cnt), (vec![201], 0));
    }

    /// Reno counts the segments acknowledged: 5 of 10.
    #[test]
    fn in_other_states_than_open_it_is_reno() {
        let (mut hybla, mut tcp) = flow(100, 10, 2);
        for state in [
            CaState::Disorder,
            CaState::Cwr,
            CaState::Recovery,
            CaState::Loss,
        ] {
            hybla.set_state(&mut tcp, state);
            tcp.snd_cwnd_cnt = 0;
            hybla.cong_avoid(&mut tcp, 0, 5);
            assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (10, 5));
        }
        hybla.set_state(&mut tcp, CaState::Open);
        hybla.cong_avoid(&mut tcp, 0, 5);
        assert_eq!((tcp.snd_cwnd, hybla.cents), (11, 76)); // 2048 / 10 = 204
    }

    #[test]
    fn reductions_and_undo_are_renos() {
        let (mut hybla, mut tcp) = flow(100, 15, 2);
        assert_eq!(hybla.ssthresh(&mut tcp), 7);
        (tcp.snd_cwnd, tcp.prior_cwnd) = (7, 15);
        assert_eq!(hybla.undo_cwnd(&mut tcp), 15);
    }

    /// `rtt0=50`: 100 ms are two of them.
    #[test]
    fn the_reference_is_a_parameter() {
        let mut hybla = Hybla::new(&config_with(&VARIANT, &[("rtt0", 0.05)]));
        let mut tcp = Tcp {
            srtt_us: 800_000,
            ..lent(10, 20)
        };
        hybla.init(&mut tcp);
        assert_eq!((tcp.snd_cwnd, hybla.rho2), (2, 4 * ONE));
    }
}
