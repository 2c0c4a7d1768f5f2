//! Veno: Reno that asks, at each step, whether the path has a queue. Without one, a loss is taken
//! for random and costs a fifth of the window; with one, growth halves (Fu and Liew 2003).
//!
//! Reacts to loss, timeouts and ECN; delay says by how much. One form, that of Linux 6.12
//! (`tcp_veno.c`) in integers, on every stack.

use cclab_interface::{AckSample, CaEvent, CaState, CongestionOps, Tcp};
use cclab_units::InKernel;

use crate::lent::lent;
use crate::variant::{EcnFeedback, Signal, Variant, WindowInRecovery};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "veno",
    version: 2,
    summary: "AIMD that cuts less and grows more while the path shows no queue",
    reference: "C. Fu and S. Liew, TCP Veno, IEEE JSAC 21(2), 2003; Linux 6.12",
    near: &[],
    kernel: Some(InKernel::Module {
        name: "tcp_veno",
        symbol: "CONFIG_TCP_CONG_VENO",
    }),
    recovery: None,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Losses,
    departures: &[],
    params: &[],
    relations: &[],
    ops: Some(|_| Box::new(Veno::new())),
    build: Some(|config| lent(config, Veno::new())),
};

/// Segments in the queue are counted in halves (`V_PARAM_SHIFT`).
const SHIFT: u32 = 1;
/// `beta`: three segments in the queue make a path congested.
const BETA: u32 = 3 << SHIFT;
/// Up to so many samples it is Reno.
const FEW_SAMPLES: u16 = 2;
/// The least window of a step.
const LEAST: u32 = 2;
/// A round-trip time before there is one.
const UNKNOWN: u32 = 0x7fff_ffff;

/// The module's state (`struct veno`). Round-trip times are in microseconds and one more.
struct Veno {
    /// Whether the stack is Open (`doing_veno_now`): otherwise it is Reno.
    enabled: bool,
    /// Samples of the connection (`cntrtt`); 16 bits, after which it is Reno for three.
    samples: u16,
    /// Smallest since the last step (`minrtt`).
    min: u32,
    /// Smallest since the connection was last idle (`basertt`).
    base: u32,
    /// Whether the next window's worth of acknowledgements grows it, where every other does
    /// (`inc`).
    grows: bool,
    /// Segments in the queue, in halves (`diff`).
    queued: u32,
}

impl Veno {
    fn new() -> Veno {
        Veno {
            enabled: false,
            samples: 0,
            min: 0,
            base: 0,
            grows: false,
            queued: 0,
        }
    }

    /// `veno_enable`.
    fn enable(&mut self) {
        self.enabled = true;
        self.min = UNKNOWN;
    }

    /// `tcp_veno_init`, of the connection and after each idle time. What was counted and what was
    /// queued stay.
    fn begin(&mut self) {
        self.base = UNKNOWN;
        self.grows = true;
        self.enable();
    }

    fn step(&mut self, tcp: &mut Tcp, mut acked: u32) {
        let halves = tcp.snd_cwnd << SHIFT;
        let path = u64::from(tcp.snd_cwnd).wrapping_mul(u64::from(self.base)) << SHIFT;
        self.queued = halves.wrapping_sub((path / u64::from(self.min)) as u32);
        if tcp.in_slow_start() {
            acked = tcp.slow_start(acked);
        }
        if acked > 0 {
            self.avoid(tcp, acked);
        }
        if tcp.snd_cwnd < LEAST {
            tcp.snd_cwnd = LEAST;
        } else if tcp.snd_cwnd > tcp.snd_cwnd_clamp {
            tcp.snd_cwnd = tcp.snd_cwnd_clamp;
        }
    }

    fn avoid(&mut self, tcp: &mut Tcp, acked: u32) {
        if self.queued < BETA {
            tcp.cong_avoid_ai(tcp.snd_cwnd, acked);
        } else if tcp.snd_cwnd_cnt >= tcp.snd_cwnd {
            if self.grows && tcp.snd_cwnd < tcp.snd_cwnd_clamp {
                tcp.snd_cwnd += 1;
                self.grows = false;
            } else {
                self.grows = true;
            }
            tcp.snd_cwnd_cnt = 0;
        } else {
            tcp.snd_cwnd_cnt = tcp.snd_cwnd_cnt.wrapping_add(acked);
        }
    }
}

impl CongestionOps for Veno {
    fn init(&mut self, _tcp: &mut Tcp) {
        self.begin();
    }

    /// Four fifths remain of a window without a queue, half of one with.
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        match self.queued < BETA {
            true => (tcp.snd_cwnd.wrapping_mul(4) / 5).max(2),
            false => (tcp.snd_cwnd >> 1).max(2),
        }
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, acked: u32) {
        if !self.enabled {
            return tcp.reno_cong_avoid(acked);
        }
        if !tcp.is_cwnd_limited() {
            return;
        }
        if self.samples <= FEW_SAMPLES {
            tcp.reno_cong_avoid(acked);
        } else {
            self.step(tcp, acked);
        }
        self.min = UNKNOWN;
    }

    fn set_state(&mut self, _tcp: &mut Tcp, new: CaState) {
        match new {
            CaState::Open => self.enable(),
            _ => self.enabled = false,
        }
    }

    /// The path may have changed while nothing was sent: its delay is learnt anew.
    fn cwnd_event(&mut self, _tcp: &mut Tcp, event: CaEvent) {
        if matches!(event, CaEvent::CwndRestart | CaEvent::TxStart) {
            self.begin();
        }
    }

    fn pkts_acked(&mut self, _tcp: &mut Tcp, sample: &AckSample) {
        if sample.rtt_us < 0 {
            return;
        }
        let rtt = sample.rtt_us as u32 + 1;
        self.base = self.base.min(rtt);
        self.min = self.min.min(rtt);
        self.samples = self.samples.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::lent;

    /// An acknowledgement of `acked` segments that measured `micros`, one of which is the one more.
    fn acknowledge(module: &mut Veno, tcp: &mut Tcp, micros: i32, acked: u32) {
        let sample = AckSample {
            rtt_us: micros - 1,
            pkts_acked: acked,
            ..AckSample::default()
        };
        module.pkts_acked(tcp, &sample);
        module.cong_avoid(tcp, 0, acked);
    }

    /// A path of 40 ms of which three samples are known.
    fn measured(cwnd: u32, ssthresh: u32) -> (Veno, Tcp) {
        let mut module = Veno::new();
        let mut tcp = lent(cwnd, ssthresh);
        module.init(&mut tcp);
        module.base = 40_000;
        module.samples = 3;
        (module, tcp)
    }

    /// 40 halves less 40 * 40000 / 44000 = 36 are 4, two segments; less 33 at 48 ms, 7.
    #[test]
    fn a_loss_without_a_queue_costs_a_fifth_and_with_one_half() {
        let (mut module, mut tcp) = measured(20, 2);
        acknowledge(&mut module, &mut tcp, 44_000, 1);
        assert_eq!((module.queued, module.ssthresh(&mut tcp)), (4, 16));
        acknowledge(&mut module, &mut tcp, 48_000, 1);
        assert_eq!((module.queued, module.ssthresh(&mut tcp)), (7, 10));
        // 5 halves are not yet a queue: 40 less 1600000 / 45700 = 35.
        acknowledge(&mut module, &mut tcp, 45_700, 1);
        assert_eq!((module.queued, module.ssthresh(&mut tcp)), (5, 16));
        tcp.snd_cwnd = 2;
        assert_eq!(module.ssthresh(&mut tcp), 2); // 8 / 5 = 1
    }

    /// 20 halves less 20 * 40000 / 80000 are 10. Ten are counted and the eleventh grows; the next
    /// window's worth does not.
    #[test]
    fn a_queue_halves_the_growth() {
        let (mut module, mut free) = measured(10, 2);
        for _ in 0..10 {
            acknowledge(&mut module, &mut free, 41_000, 1);
        }
        assert_eq!(free.snd_cwnd, 11);
        let (mut module, mut tcp) = measured(10, 2);
        let mut seen = Vec::new();
        for _ in 0..4 {
            for _ in 0..12 {
                acknowledge(&mut module, &mut tcp, 80_000, 1);
            }
            seen.push(tcp.snd_cwnd);
        }
        assert_eq!(seen, [11, 11, 12, 12]);
        // At the clamp the turn passes without growth.
        let (mut module, mut tcp) = measured(10, 2);
        tcp.snd_cwnd_clamp = 10;
        tcp.snd_cwnd_cnt = 10;
        acknowledge(&mut module, &mut tcp, 80_000, 1);
        assert_eq!(
            (tcp.snd_cwnd, tcp.snd_cwnd_cnt, module.grows),
            (10, 0, true)
        );
    }

    /// Without one since the last step `minrtt` is 2^31 - 1: 20 * 40000 / (2^31 - 1) = 0.
    #[test]
    fn without_a_sample_the_path_counts_for_nothing() {
        let (mut module, mut tcp) = measured(10, 2);
        module.cong_avoid(&mut tcp, 0, 1);
        assert_eq!(module.queued, 20);
        // Nor has it a base after an idle time: 2 * 10 less 2 * 10.
        module.cwnd_event(&mut tcp, CaEvent::TxStart);
        module.cong_avoid(&mut tcp, 0, 1);
        assert_eq!(module.queued, 0);
    }

    /// Two samples are few; the third counts, and 65,536 are none again.
    #[test]
    fn it_is_reno_up_to_two_samples_of_sixteen_bits() {
        let mut module = Veno::new();
        let mut tcp = lent(10, 2);
        module.init(&mut tcp);
        for queued in [0, 0, 10] {
            module.base = 40_000;
            acknowledge(&mut module, &mut tcp, 80_000, 1);
            assert_eq!(module.queued, queued);
        }
        assert_eq!(tcp.snd_cwnd_cnt, 3);
        module.samples = u16::MAX;
        module.queued = 4;
        acknowledge(&mut module, &mut tcp, 80_000, 1);
        assert_eq!((module.samples, module.queued, tcp.snd_cwnd_cnt), (0, 4, 4));
        let none = AckSample {
            rtt_us: -1,
            ..AckSample::default()
        };
        module.pkts_acked(&mut tcp, &none);
        assert_eq!((module.samples, module.min), (0, UNKNOWN));
    }

    /// Outside Open it is Reno and measures on, a step does not begin anew; Open forgets what was
    /// measured, not the base.
    #[test]
    fn only_open_is_venos() {
        let (mut module, mut tcp) = measured(10, 2);
        for state in [
            CaState::Disorder,
            CaState::Cwr,
            CaState::Recovery,
            CaState::Loss,
        ] {
            module.set_state(&mut tcp, CaState::Open);
            module.set_state(&mut tcp, state);
            let counted = tcp.snd_cwnd_cnt;
            acknowledge(&mut module, &mut tcp, 80_000, 2);
            assert_eq!((tcp.snd_cwnd_cnt, module.queued), (counted + 2, 0));
            assert_eq!(module.min, 80_000, "{state:?}");
        }
        module.set_state(&mut tcp, CaState::Open);
        assert_eq!((module.min, module.base), (UNKNOWN, 40_000));
    }

    #[test]
    fn an_idle_time_forgets_the_path_and_not_the_queue() {
        for event in [CaEvent::TxStart, CaEvent::CwndRestart, CaEvent::CompleteCwr] {
            let (mut module, mut tcp) = measured(10, 2);
            module.set_state(&mut tcp, CaState::Cwr);
            (module.queued, module.grows) = (7, false);
            module.cwnd_event(&mut tcp, event);
            let forgets = event != CaEvent::CompleteCwr;
            assert_eq!((module.base == UNKNOWN, module.grows), (forgets, forgets));
            // The first transmission enables it in any state.
            assert_eq!(module.enabled, forgets);
            assert_eq!((module.queued, module.samples), (7, 3));
        }
    }

    /// Slow start: 8 + 3 passes 10 by one, which the free path's avoidance counts.
    #[test]
    fn slow_start_hands_on_and_two_segments_are_the_least() {
        let (mut module, mut tcp) = measured(8, 10);
        acknowledge(&mut module, &mut tcp, 40_000, 3);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (10, 1));
        let (mut module, mut tcp) = measured(1, 1);
        tcp.snd_cwnd_clamp = 1;
        acknowledge(&mut module, &mut tcp, 80_000, 1);
        assert_eq!(tcp.snd_cwnd, 2); // above the clamp, as the module has it
        tcp.is_cwnd_limited = 0;
        module.min = 77;
        module.cong_avoid(&mut tcp, 0, 1);
        assert_eq!((tcp.snd_cwnd, module.min), (2, 77));
    }
}
