//! Illinois: AIMD whose step and cut depend on the queue: `alpha` up to ten segments a round trip
//! and a cut of an eighth while it is empty, 0.3 segments and half when it is full (Liu, Basar
//! and Srikant 2008).
//!
//! Reacts to loss, timeouts and ECN; delay says by how much. One form, that of Linux 6.12
//! (`tcp_illinois.c`) in fixed point, on every stack.

use cclab_interface::{AckSample, CaState, CongestionOps, Tcp, after};
use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::Config;
use crate::lent::lent;
use crate::variant::{EcnFeedback, Near, Signal, Variant, WindowInRecovery};

const ALPHA_SHIFT: u32 = 7;
/// 1, 0.3 and 10 segments a round trip.
const ALPHA_BASE: u32 = 1 << ALPHA_SHIFT;
const ALPHA_MIN: u32 = 3 * ALPHA_BASE / 10;
const ALPHA_MAX: u32 = 10 * ALPHA_BASE;
/// Samples are cut to this, in microseconds.
const RTT_MAX: u32 = u32::MAX / ALPHA_MAX;
/// `base_rtt` before the first sample, in microseconds.
const NO_RTT: u32 = 0x7fff_ffff;

const BETA_SHIFT: u32 = 6;
/// An eighth and half of the window.
const BETA_MIN: u32 = (1 << BETA_SHIFT) / 8;
const BETA_MAX: u32 = (1 << BETA_SHIFT) / 2;
const BETA_BASE: u32 = BETA_MAX;

const PARAMS: &[Parameter] = &[
    Parameter {
        name: "win_thresh",
        measure: Measure::Segments,
        meaning: "window in segments below which it is Reno",
        default: 15.0,
        least: 0.0,
        most: 1e6,
    },
    Parameter {
        name: "theta",
        measure: Measure::Whole,
        meaning: "round trips without a queue before alpha is largest again",
        default: 5.0,
        least: 0.0,
        most: 255.0,
    },
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "illinois",
    version: 2,
    summary: "AIMD whose step shrinks and whose cut grows with the queueing delay",
    reference: "S. Liu, T. Basar and R. Srikant, TCP-Illinois, Perf. Eval. 65, 2008; Linux 6.12",
    near: &[Near::of("compound"), Near::of("ctcp")],
    kernel: Some(InKernel::Module {
        name: "tcp_illinois",
        symbol: "CONFIG_TCP_CONG_ILLINOIS",
    }),
    recovery: None,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Losses,
    departures: &[],
    params: PARAMS,
    relations: &[],
    ops: Some(|config| Box::new(Illinois::new(config))),
    build: Some(|config| lent(config, Illinois::new(config))),
};

/// The module at one flow (`struct illinois`), in the kernel's widths: what wraps there wraps
/// here. Times are in microseconds.
struct Illinois {
    win_thresh: u32,
    theta: u8,
    /// Sum and count of the round-trip times of this round.
    sum_rtt: u64,
    cnt_rtt: u16,
    /// Smallest and largest of all.
    base_rtt: u32,
    max_rtt: u32,
    /// Past this number the round is over.
    end_seq: u32,
    alpha: u32,
    beta: u32,
    /// What the next acknowledgement counts for.
    acked: u16,
    /// Whether the delay was ever out of its low zone, and rounds in it since.
    rtt_above: bool,
    rtt_low: u8,
}

impl Illinois {
    fn new(config: &Config) -> Illinois {
        Illinois {
            win_thresh: config.params.get("win_thresh") as u32,
            theta: config.params.get("theta") as u8,
            sum_rtt: 0,
            cnt_rtt: 0,
            base_rtt: NO_RTT,
            max_rtt: 0,
            end_seq: 0,
            alpha: ALPHA_MAX,
            beta: BETA_BASE,
            acked: 0,
            rtt_above: false,
            rtt_low: 0,
        }
    }

    /// `rtt_reset`: a round begins.
    fn start_round(&mut self, tcp: &Tcp) {
        self.end_seq = tcp.snd_nxt;
        self.cnt_rtt = 0;
        self.sum_rtt = 0;
    }

    /// `update_params`, once a round.
    fn update_params(&mut self, tcp: &Tcp) {
        if tcp.snd_cwnd < self.win_thresh {
            self.alpha = ALPHA_BASE;
            self.beta = BETA_BASE;
        } else if let Some(mean) = self.sum_rtt.checked_div(u64::from(self.cnt_rtt)) {
            let max_delay = self.max_rtt.wrapping_sub(self.base_rtt);
            let delay = (mean as u32).wrapping_sub(self.base_rtt);
            self.alpha = self.alpha_of(delay, max_delay);
            self.beta = beta_of(delay, max_delay);
        }
        self.start_round(tcp);
    }

    /// `alpha`, segments a round trip: `ALPHA_MAX` at a hundredth of the largest delay and below,
    /// `ALPHA_MIN` at the largest, `k1 / (k2 + delay)` between them.
    fn alpha_of(&mut self, delay: u32, max_delay: u32) -> u32 {
        let low = max_delay / 100;
        if delay <= low {
            if !self.rtt_above {
                return ALPHA_MAX;
            }
            // One good round trip must not make the window leap.
            self.rtt_low = self.rtt_low.wrapping_add(1);
            if self.rtt_low < self.theta {
                return self.alpha;
            }
            self.rtt_low = 0;
            self.rtt_above = false;
            return ALPHA_MAX;
        }
        self.rtt_above = true;
        let (delay, span) = (delay - low, max_delay - low);
        let slope = delay.wrapping_mul(ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN;
        span.wrapping_mul(ALPHA_MAX) / span.wrapping_add(slope)
    }
}

/// `beta`, the share of the window that a loss costs: `BETA_MIN` up to a tenth of the largest
/// delay, `BETA_MAX` from eight tenths on, a line between them.
fn beta_of(delay: u32, max_delay: u32) -> u32 {
    let low = max_delay / 10;
    if delay <= low {
        return BETA_MIN;
    }
    let high = max_delay.wrapping_mul(8) / 10;
    if delay >= high || high <= low {
        return BETA_MAX;
    }
    let line = (BETA_MIN * high).wrapping_sub(BETA_MAX * low);
    line.wrapping_add((BETA_MAX - BETA_MIN) * delay) / (high - low)
}

impl CongestionOps for Illinois {
    fn init(&mut self, tcp: &mut Tcp) {
        self.start_round(tcp);
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        let cut = tcp.snd_cwnd.wrapping_mul(self.beta) >> BETA_SHIFT;
        tcp.snd_cwnd.wrapping_sub(cut).max(2)
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, ack: u32, acked: u32) {
        if after(ack, self.end_seq) {
            self.update_params(tcp);
        }
        if !tcp.is_cwnd_limited() {
            return;
        }
        if tcp.in_slow_start() {
            tcp.slow_start(acked); // what it leaves is not used
            return;
        }
        tcp.snd_cwnd_cnt = tcp.snd_cwnd_cnt.wrapping_add(u32::from(self.acked));
        self.acked = 1;
        let grown = tcp.snd_cwnd_cnt.wrapping_mul(self.alpha) >> ALPHA_SHIFT;
        if grown >= tcp.snd_cwnd {
            let cwnd = tcp.snd_cwnd.wrapping_add(grown / tcp.snd_cwnd);
            tcp.snd_cwnd = cwnd.min(tcp.snd_cwnd_clamp);
            tcp.snd_cwnd_cnt = 0;
        }
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        if new == CaState::Loss {
            self.alpha = ALPHA_BASE;
            self.beta = BETA_BASE;
            self.rtt_low = 0;
            self.rtt_above = false;
            self.start_round(tcp);
        }
    }

    fn pkts_acked(&mut self, _tcp: &mut Tcp, sample: &AckSample) {
        self.acked = sample.pkts_acked as u16;
        if sample.rtt_us < 0 {
            return;
        }
        let rtt = (sample.rtt_us as u32).min(RTT_MAX);
        self.base_rtt = self.base_rtt.min(rtt);
        self.max_rtt = self.max_rtt.max(rtt);
        self.cnt_rtt = self.cnt_rtt.wrapping_add(1);
        self.sum_rtt += u64::from(rtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{config_with, lent};

    fn module() -> Illinois {
        Illinois::new(&config_with(&VARIANT, &[]))
    }

    fn sample(pkts_acked: u32, rtt_us: i32) -> AckSample {
        AckSample {
            pkts_acked,
            rtt_us,
            in_flight: 0,
        }
    }

    #[test]
    fn constants_are_the_kernels() {
        assert_eq!(
            (ALPHA_MIN, ALPHA_MAX, BETA_MIN, BETA_MAX),
            (38, 1_280, 8, 32)
        );
        assert_eq!(RTT_MAX, 3_355_443);
    }

    /// The largest delay is 10 ms: low below 100 us, then 9900 * 1280 / (9900 + d * 1242 / 38)
    /// for d past it.
    #[test]
    fn alpha_falls_with_the_delay() {
        let mut cc = module();
        assert_eq!(cc.alpha_of(100, 10_000), 1_280);
        // d = 900: 900 * 1242 / 38 = 29415; 12672000 / 39315 = 322, 2.5 segments.
        assert_eq!(cc.alpha_of(1_000, 10_000), 322);
        // d = 9900: 323573; 12672000 / 333473 = 38, 0.3 segments.
        assert_eq!(cc.alpha_of(10_000, 10_000), 38);
        // Back in the low zone: four rounds as before, the fifth at the largest step.
        cc.alpha = 322;
        let seen: Vec<_> = (0..6).map(|_| cc.alpha_of(50, 10_000)).collect();
        assert_eq!(seen, [322, 322, 322, 322, 1_280, 1_280]);
    }

    /// Between 1 and 8 ms of 10: (8 * 8000 - 32 * 1000 + 24 d) / 7000.
    #[test]
    fn beta_rises_with_the_delay() {
        let seen = [1_000, 1_500, 4_500, 7_999, 8_000].map(|delay| beta_of(delay, 10_000));
        assert_eq!(seen, [8, 9, 20, 31, 32]); // 68000/7000, 140000/7000, 223976/7000
        assert_eq!(beta_of(1, 1), BETA_MAX);
    }

    #[test]
    fn samples_are_gathered_over_a_round() {
        let (mut cc, mut tcp) = (module(), lent(20, 2));
        for rtt_us in [40_000, -1, 60_000, i32::MAX] {
            cc.pkts_acked(&mut tcp, &sample(3, rtt_us));
        }
        // 40 and 60 ms and the most that counts.
        assert_eq!((cc.sum_rtt, cc.cnt_rtt), (100_000 + 3_355_443, 3));
        assert_eq!((cc.base_rtt, cc.max_rtt, cc.acked), (40_000, 3_355_443, 3));
        (tcp.snd_nxt, cc.end_seq) = (500, 300);
        cc.cong_avoid(&mut tcp, 300, 0);
        assert_eq!((cc.cnt_rtt, cc.end_seq), (3, 300));
        // Whether the window is in use or not, the round ends past what was sent.
        tcp.is_cwnd_limited = 0;
        cc.cong_avoid(&mut tcp, 301, 0);
        assert_eq!((cc.sum_rtt, cc.cnt_rtt, cc.end_seq), (0, 0, 500));
        // The mean of 1151814 us is 1111814 of at most 3315443: d = 1078660, span 3282289,
        // slope 35255234; 4201329920 / 38537523 = 109. (8 * 2652354 - 32 * 331544 + 24 * 1111814)
        // / 2320810 = 16.
        assert_eq!((cc.alpha, cc.beta), (109, 16));
    }

    #[test]
    fn a_round_without_a_queue_adds_ten_segments() {
        let (mut cc, mut tcp) = (module(), lent(40, 2));
        cc.init(&mut tcp);
        tcp.snd_nxt = 200;
        for ack in 1..=41 {
            cc.pkts_acked(&mut tcp, &sample(1, 40_000));
            cc.cong_avoid(&mut tcp, ack, 1);
        }
        // 4 acknowledged make 4 * 10 / 40 = 1 segment: 40, 41 (5), 42 (5), ... to 49.
        assert_eq!((tcp.snd_cwnd, cc.beta), (48, BETA_MIN));
        assert_eq!(cc.ssthresh(&mut tcp), 42); // 48 - 48 * 8 / 64
        // An acknowledgement of 20: 20 * 10 / 48 = 4 segments at once, up to the clamp.
        (tcp.snd_cwnd_cnt, tcp.snd_cwnd_clamp) = (0, 51);
        cc.pkts_acked(&mut tcp, &sample(20, -1));
        cc.cong_avoid(&mut tcp, 42, 20);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (51, 0));
        // Slow start counts what was delivered and stops at the threshold.
        tcp.snd_ssthresh = 53;
        tcp.snd_cwnd_clamp = 100;
        cc.cong_avoid(&mut tcp, 43, 5);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (53, 0));
    }

    #[test]
    fn a_timeout_forgets_and_a_loss_does_not() {
        let (mut cc, mut tcp) = (module(), lent(40, 2));
        (cc.alpha, cc.beta, cc.rtt_above, cc.rtt_low, cc.cnt_rtt) = (322, BETA_MIN, true, 3, 9);
        tcp.snd_nxt = 700;
        for state in [
            CaState::Open,
            CaState::Disorder,
            CaState::Cwr,
            CaState::Recovery,
        ] {
            cc.set_state(&mut tcp, state);
            assert_eq!((cc.alpha, cc.cnt_rtt), (322, 9));
        }
        assert_eq!(cc.ssthresh(&mut tcp), 35);
        cc.set_state(&mut tcp, CaState::Loss);
        assert_eq!((cc.alpha, cc.beta), (ALPHA_BASE, BETA_BASE));
        assert_eq!(
            (cc.rtt_above, cc.rtt_low, cc.cnt_rtt, cc.end_seq),
            (false, 0, 0, 700)
        );
        assert_eq!(cc.ssthresh(&mut tcp), 20);
        tcp.snd_cwnd = 3;
        assert_eq!(cc.ssthresh(&mut tcp), 2);
        tcp.prior_cwnd = 40;
        assert_eq!(cc.undo_cwnd(&mut tcp), 40);
    }

    #[test]
    fn a_small_window_is_renos() {
        let (mut cc, mut tcp) = (module(), lent(14, 2));
        cc.cong_avoid(&mut tcp, 0, 1); // no round has ended: nothing is known
        assert_eq!(cc.alpha, ALPHA_MAX);
        cc.cong_avoid(&mut tcp, 1, 1);
        assert_eq!((cc.alpha, cc.beta), (ALPHA_BASE, BETA_BASE));
    }

    /// `win_thresh=5 theta=2`: 14 segments are not few, and the second good round is enough.
    #[test]
    fn the_thresholds_are_parameters() {
        let given = [("win_thresh", 5.0), ("theta", 2.0)];
        let mut cc = Illinois::new(&config_with(&VARIANT, &given));
        cc.update_params(&lent(14, 2));
        assert_eq!(cc.alpha, ALPHA_MAX);
        (cc.rtt_above, cc.alpha) = (true, 322);
        let seen = [0; 2].map(|delay| cc.alpha_of(delay, 10_000));
        assert_eq!(seen, [322, 1_280]);
    }
}
