//! H-TCP: the increase grows with the time since the last loss, the decrease follows the queue
//! that the round trips show (Leith and Shorten 2004).
//!
//! Reacts to loss, timeouts and ECN, and scales by delay. One form on every stack: Linux 6.12's
//! (`tcp_htcp.c`), in ticks of a millisecond and fixed point with 7 binary digits.

use cclab_interface::{AckSample, CaState, CongestionOps, HZ, Tcp, usecs_to_jiffies};
use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::Config;
use crate::lent::lent;
use crate::variant::{EcnFeedback, Signal, Variant, WindowInRecovery};

/// Binary digits of `alpha` and `beta`.
const SHIFT: u32 = 7;
/// `ALPHA_BASE`: 1.
const ALPHA_BASE: u32 = 1 << SHIFT;
/// `BETA_MIN`: 0.5.
const BETA_MIN: u8 = 1 << (SHIFT - 1);
/// `BETA_MAX`: 0.8.
const BETA_MAX: u8 = 102;
/// A longest round trip this far above the last is an outlier, in ticks.
const MAX_RTT_STEP: u32 = 20;
/// Round trips up to this tell nothing of the queue, in ticks.
const LEAST_RTT_FOR_BETA: u32 = 10;
/// Round trips since the last congestion up to which throughput is not yet smoothed.
const JUST_REDUCED: u32 = 3;

const PARAMS: &[Parameter] = &[
    Parameter {
        name: "use_rtt_scaling",
        measure: Measure::Switch,
        meaning: "whether the increase is scaled by the round trip",
        default: 1.0,
        least: 0.0,
        most: 1.0,
    },
    Parameter {
        name: "use_bandwidth_switch",
        measure: Measure::Switch,
        meaning: "whether half is given up when throughput changed by over a fifth",
        default: 1.0,
        least: 0.0,
        most: 1.0,
    },
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "htcp",
    version: 2,
    summary: "Grows faster the longer the last loss is past, gives up what the queue holds",
    reference: "D. Leith, R. Shorten, PFLDnet 2004; Linux 6.12",
    near: &[],
    kernel: Some(InKernel::Module {
        name: "tcp_htcp",
        symbol: "CONFIG_TCP_CONG_HTCP",
    }),
    recovery: None,
    params: PARAMS,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Losses,
    departures: &[],
    relations: &[],
    ops: Some(|config| Box::new(HTcp::new(config))),
    build: Some(|config| lent(config, HTcp::new(config))),
};

/// The module at one flow (`struct htcp`), in the kernel's widths: what wraps there wraps here.
/// Times are in ticks, bandwidths in segments per second; zero before the first.
struct HTcp {
    use_rtt_scaling: bool,
    use_bandwidth_switch: bool,
    /// Segments per round trip, in 128ths.
    alpha: u32,
    /// What remains of the window, in 128ths.
    beta: u8,
    /// Whether the delays may set `beta`: not at the first congestion.
    modeswitch: bool,
    /// What the next acknowledgement counts for.
    pkts_acked: u16,
    min_rtt: u32,
    max_rtt: u32,
    /// The end of the last congestion, or the connection's beginning.
    last_cong: u32,
    undo: Undo,
    bandwidth: Bandwidth,
}

/// What a congestion changed and undo restores; nothing where `last_cong` is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Undo {
    last_cong: u32,
    max_rtt: u32,
    old_max: u32,
}

/// The throughput achieved (`minB`, which nothing reads, is left out).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bandwidth {
    /// Smoothed (`Bi`).
    now: u32,
    /// The largest since the last congestion (`maxB`).
    max: u32,
    /// The largest before it (`old_maxB`).
    old_max: u32,
    /// Segments since `since` (`packetcount`).
    packets: u32,
    /// `lasttime`: the first sample's interval begins with the clock itself, not with the flow.
    since: u32,
}

impl HTcp {
    fn new(config: &Config) -> HTcp {
        let is_on = |name| config.params.get(name) >= 0.5;
        HTcp {
            use_rtt_scaling: is_on("use_rtt_scaling"),
            use_bandwidth_switch: is_on("use_bandwidth_switch"),
            alpha: ALPHA_BASE,
            beta: BETA_MIN,
            modeswitch: false,
            pkts_acked: 1,
            min_rtt: 0,
            max_rtt: 0,
            last_cong: 0,
            undo: Undo::default(),
            bandwidth: Bandwidth::default(),
        }
    }

    /// `measure_rtt`.
    fn measure_rtt(&mut self, rtt: u32, is_open: bool) {
        if self.min_rtt == 0 || self.min_rtt > rtt {
            self.min_rtt = rtt;
        }
        if is_open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if self.max_rtt < rtt && rtt <= self.max_rtt + MAX_RTT_STEP {
                self.max_rtt = rtt;
            }
        }
    }

    /// `measure_achieved_throughput`, after the round trip: a sample for each window acknowledged.
    fn measure_bandwidth(&mut self, tcp: &Tcp, pkts_acked: u32) {
        let now = tcp.jiffies32();
        if !matches!(tcp.ca(), CaState::Open | CaState::Disorder) {
            self.bandwidth.packets = 0;
            self.bandwidth.since = now;
            return;
        }
        let round_trips = now.wrapping_sub(self.last_cong).checked_div(self.min_rtt);
        let bandwidth = &mut self.bandwidth;
        bandwidth.packets = bandwidth.packets.wrapping_add(pkts_acked);
        // A window smaller than the step wraps: it is never acknowledged whole.
        let whole = tcp.snd_cwnd.wrapping_sub((self.alpha >> SHIFT).max(1));
        let interval = now.wrapping_sub(bandwidth.since);
        let Some(round_trips) = round_trips else {
            return;
        };
        if bandwidth.packets < whole || interval < self.min_rtt {
            return;
        }
        let sample = bandwidth.packets.wrapping_mul(HZ) / interval;
        if round_trips <= JUST_REDUCED {
            bandwidth.now = sample;
            bandwidth.max = sample;
        } else {
            bandwidth.now = bandwidth.now.wrapping_mul(3).wrapping_add(sample) / 4;
            bandwidth.max = bandwidth.max.max(bandwidth.now);
        }
        bandwidth.packets = 0;
        bandwidth.since = now;
    }

    /// `htcp_beta_update`.
    fn update_beta(&mut self) {
        if self.use_bandwidth_switch {
            let Bandwidth { max, old_max, .. } = self.bandwidth;
            self.bandwidth.old_max = max;
            // `between`, on the circle of 32 bits.
            let low = old_max.wrapping_mul(4);
            let high = old_max.wrapping_mul(6);
            if high.wrapping_sub(low) < max.wrapping_mul(5).wrapping_sub(low) {
                self.beta = BETA_MIN;
                self.modeswitch = false;
                return;
            }
        }
        if self.modeswitch && self.min_rtt > LEAST_RTT_FOR_BETA && self.max_rtt > 0 {
            let ratio = (self.min_rtt << SHIFT) / self.max_rtt;
            self.beta = (ratio as u8).clamp(BETA_MIN, BETA_MAX);
        } else {
            self.beta = BETA_MIN;
            self.modeswitch = true;
        }
    }

    /// `htcp_alpha_update`: after a second `1 + 10 D + (D/2)^2` for `D` seconds beyond it, scaled
    /// by the round trip over 100 ms, between a tenth and two.
    fn update_alpha(&mut self, now: u32) {
        let mut factor = 1_u32;
        let since = now.wrapping_sub(self.last_cong);
        if since > HZ {
            let beyond = since - HZ;
            let squared = (beyond / 2).wrapping_mul(beyond / 2) / HZ;
            factor = 1 + beyond.wrapping_mul(10).wrapping_add(squared) / HZ;
        }
        if self.use_rtt_scaling && self.min_rtt > 0 {
            let scale = ((HZ << 3) / (10 * self.min_rtt)).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        let lost = (1 << SHIFT) - u32::from(self.beta);
        self.alpha = factor.wrapping_mul(2 * lost);
        if self.alpha == 0 {
            self.alpha = ALPHA_BASE;
        }
    }
}

impl CongestionOps for HTcp {
    fn init(&mut self, tcp: &mut Tcp) {
        self.last_cong = tcp.jiffies32();
    }

    /// `htcp_recalc_ssthresh`, `htcp_param_update`.
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        let (min_rtt, max_rtt) = (self.min_rtt, self.max_rtt);
        self.update_beta();
        self.update_alpha(tcp.jiffies32());
        // The longest round trip fades, for routes change.
        if min_rtt > 0 && max_rtt > min_rtt {
            self.max_rtt = min_rtt + (max_rtt - min_rtt).wrapping_mul(95) / 100;
        }
        (tcp.snd_cwnd.wrapping_mul(u32::from(self.beta)) >> SHIFT).max(2)
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, acked: u32) {
        if !tcp.is_cwnd_limited() {
            return;
        }
        if tcp.in_slow_start() {
            tcp.slow_start(acked); // what it leaves is not used
            return;
        }
        if tcp.snd_cwnd_cnt.wrapping_mul(self.alpha) >> SHIFT >= tcp.snd_cwnd {
            if tcp.snd_cwnd < tcp.snd_cwnd_clamp {
                tcp.snd_cwnd += 1;
            }
            tcp.snd_cwnd_cnt = 0;
            self.update_alpha(tcp.jiffies32());
        } else {
            tcp.snd_cwnd_cnt = tcp.snd_cwnd_cnt.wrapping_add(u32::from(self.pkts_acked));
        }
        self.pkts_acked = 1;
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        match new {
            CaState::Open if self.undo.last_cong != 0 => {
                self.last_cong = tcp.jiffies32();
                self.undo.last_cong = 0;
            }
            CaState::Open | CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.undo = Undo {
                    last_cong: self.last_cong,
                    max_rtt: self.max_rtt,
                    old_max: self.bandwidth.old_max,
                };
                self.last_cong = tcp.jiffies32();
            }
        }
    }

    fn pkts_acked(&mut self, tcp: &mut Tcp, sample: &AckSample) {
        let is_open = tcp.ca() == CaState::Open;
        if is_open {
            self.pkts_acked = sample.pkts_acked as u16;
        }
        if sample.rtt_us > 0 {
            self.measure_rtt(usecs_to_jiffies(sample.rtt_us as u32), is_open);
        }
        if self.use_bandwidth_switch {
            self.measure_bandwidth(tcp, sample.pkts_acked);
        }
    }

    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        if self.undo.last_cong != 0 {
            self.last_cong = self.undo.last_cong;
            self.max_rtt = self.undo.max_rtt;
            self.bandwidth.old_max = self.undo.old_max;
            self.undo.last_cong = 0;
        }
        tcp.reno_undo_cwnd()
    }
}

#[cfg(test)]
mod tests;
