//! CUBIC as Linux 6.12 has it (`tcp_cubic.c`): whole segments, ticks of a millisecond, and fixed
//! point with 10 binary digits of a second. Widths are the kernel's: what wraps there wraps here.
//!
//! One departure: a `beta` below a half and a window of a few segments make the kernel loop for
//! ever, adding to AIMD's window for steps of no segments; here a step has one at least.

mod hystart;
mod root;

use cclab_interface::state::ABSENT;
use cclab_interface::{
    AckSample, CaEvent, CaState, CongestionOps, HZ, StateColumn, Tcp, after, usecs_to_jiffies,
};

use self::hystart::HyStart;
use self::root::cube_root;
use crate::{Config, SlowStart};

/// `BICTCP_BETA_SCALE`, the one in which `beta` is expressed.
const BETA_SCALE: u32 = 1_024;
/// `beta`: 717/1024 of the window remains.
const BETA: u32 = 717;
/// `bic_scale`: C = 41/1024 * 10 = 0.4.
const BIC_SCALE: u32 = 41;
/// `BICTCP_HZ`: time in 2^-10 s.
const TIME_SHIFT: u32 = 10;
/// Before the first loss: at least 5% per round trip.
const MOST_PER_STEP_BEFORE_LOSS: u32 = 20;
/// At most half a segment per acknowledged one.
const LEAST_PER_STEP: u32 = 2;

/// The parameters of the module, and what follows from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rules {
    /// What remains, in 1/1024.
    beta: u32,
    /// `cube_rtt_scale`: 1024 C.
    cube_rtt_scale: u32,
    /// `cube_factor`: 2^40 / (1024 C), so that K = cbrt(factor * segments).
    cube_factor: u64,
    /// `beta_scale`: acknowledged segments per one of AIMD's, times 8 and divided by the window.
    beta_scale: u32,
    fast_convergence: bool,
    friendly: bool,
    hystart: bool,
}

impl Rules {
    fn new(config: &Config) -> Rules {
        let given = |name| config.params.given(name);
        let is_on = |name| super::is_on(config, name);
        let beta = given(super::BETA).map_or(BETA, |beta| (beta * f64::from(BETA_SCALE)) as u32);
        let scale = given(super::C).map_or(BIC_SCALE, |c| (c * 1_024.0 / 10.0) as u32);
        let cube_rtt_scale = scale.max(1) * 10;
        Rules {
            beta,
            cube_rtt_scale,
            cube_factor: (1 << (10 + 3 * TIME_SHIFT)) / u64::from(cube_rtt_scale),
            beta_scale: 8 * (BETA_SCALE + beta) / 3 / (BETA_SCALE - beta),
            fast_convergence: is_on(super::FAST_CONVERGENCE),
            friendly: is_on(super::TCP_FRIENDLINESS),
            // The kernel has one HyStart; asked for the standard's, it gives its own.
            hystart: is_on(super::HYSTART) && config.slow_start != SlowStart::Plain,
        }
    }
}

/// The part of `struct bictcp` that a timeout forgets. Times are in ticks, unless a field says
/// otherwise; zero: not yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Curve {
    /// Acknowledged segments per segment of growth.
    cnt: u32,
    last_max_cwnd: u32,
    last_cwnd: u32,
    /// When `last_cwnd` was looked at.
    last_time: u32,
    /// The window about which the cubic turns.
    origin: u32,
    /// When it reaches `origin`, in 2^-10 s after `epoch_start`.
    k: u32,
    /// Smallest round trip, in microseconds.
    delay_min: u32,
    epoch_start: u32,
    /// Segments acknowledged towards AIMD's next step.
    ack_cnt: u32,
    /// The window that AIMD would have.
    tcp_cwnd: u32,
}

impl Curve {
    /// `bictcp_update`: how many acknowledged segments are worth one of growth.
    fn update(&mut self, rules: &Rules, now: u32, cwnd: u32, acked: u32) {
        self.ack_cnt = self.ack_cnt.wrapping_add(acked);
        let since = now.wrapping_sub(self.last_time) as i32;
        if self.last_cwnd == cwnd && since <= (HZ / 32) as i32 {
            return;
        }
        // The cubic at most once per tick; AIMD's window always.
        if self.epoch_start == 0 || now != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = now;
            if self.epoch_start == 0 {
                self.begin(rules, now, cwnd, acked);
            }
            self.follow(rules, now, cwnd);
        }
        if rules.friendly {
            self.keep_up_with_aimd(rules, cwnd);
        }
        self.cnt = self.cnt.max(LEAST_PER_STEP);
    }

    /// An epoch begins.
    fn begin(&mut self, rules: &Rules, now: u32, cwnd: u32, acked: u32) {
        self.epoch_start = now;
        self.ack_cnt = acked;
        self.tcp_cwnd = cwnd;
        if self.last_max_cwnd <= cwnd {
            self.k = 0;
            self.origin = cwnd;
        } else {
            let below = u64::from(self.last_max_cwnd - cwnd);
            self.k = cube_root(rules.cube_factor.wrapping_mul(below));
            self.origin = self.last_max_cwnd;
        }
    }

    fn follow(&mut self, rules: &Rules, now: u32, cwnd: u32) {
        // Where the curve is a round trip from now.
        let elapsed = now.wrapping_sub(self.epoch_start) as i32;
        let ahead =
            (i64::from(elapsed) as u64).wrapping_add(u64::from(usecs_to_jiffies(self.delay_min)));
        let t = (ahead << TIME_SHIFT) / u64::from(HZ);
        let k = u64::from(self.k);
        let offset = t.abs_diff(k);
        let cube = u64::from(rules.cube_rtt_scale)
            .wrapping_mul(offset)
            .wrapping_mul(offset)
            .wrapping_mul(offset);
        let delta = (cube >> (10 + 3 * TIME_SHIFT)) as u32;
        let target = match t < k {
            true => self.origin.wrapping_sub(delta),
            false => self.origin.wrapping_add(delta),
        };
        self.cnt = match target > cwnd {
            true => cwnd / (target - cwnd),
            false => cwnd.wrapping_mul(100),
        };
        if self.last_max_cwnd == 0 {
            self.cnt = self.cnt.min(MOST_PER_STEP_BEFORE_LOSS);
        }
    }

    /// The window that AIMD would have, and the step that reaches it in a window of segments.
    fn keep_up_with_aimd(&mut self, rules: &Rules, cwnd: u32) {
        let per_segment = (cwnd.wrapping_mul(rules.beta_scale) >> 3).max(1);
        // One division for the kernel's loop: as there, a rest of exactly `per_segment` stays.
        if self.ack_cnt > per_segment {
            let grown = (self.ack_cnt - per_segment).div_ceil(per_segment);
            self.ack_cnt -= grown * per_segment;
            self.tcp_cwnd = self.tcp_cwnd.wrapping_add(grown);
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
    }
}

/// The module at one flow (`struct bictcp`).
pub(super) struct Cubic {
    rules: Rules,
    curve: Curve,
    hystart: HyStart,
}

impl Cubic {
    pub(super) fn new(config: &Config) -> Cubic {
        Cubic {
            rules: Rules::new(config),
            curve: Curve::default(),
            hystart: HyStart::default(),
        }
    }

    /// `bictcp_reset`.
    fn reset(&mut self) {
        self.curve = Curve::default();
        self.hystart.found = false;
    }
}

impl CongestionOps for Cubic {
    fn init(&mut self, tcp: &mut Tcp) {
        self.reset();
        if self.rules.hystart {
            self.hystart.start_round(tcp);
        }
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        let Cubic { rules, curve, .. } = self;
        let cwnd = tcp.snd_cwnd;
        curve.epoch_start = 0;
        let gives_room = rules.fast_convergence && cwnd < curve.last_max_cwnd;
        curve.last_max_cwnd = match gives_room {
            true => cwnd.wrapping_mul(BETA_SCALE + rules.beta) / (2 * BETA_SCALE),
            false => cwnd,
        };
        (cwnd.wrapping_mul(rules.beta) / BETA_SCALE).max(2)
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, mut acked: u32) {
        if !tcp.is_cwnd_limited() {
            return;
        }
        if tcp.in_slow_start() {
            acked = tcp.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        self.curve
            .update(&self.rules, tcp.jiffies32(), tcp.snd_cwnd, acked);
        tcp.cong_avoid_ai(self.curve.cnt, acked);
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        if new == CaState::Loss {
            self.reset();
            self.hystart.start_round(tcp);
        }
    }

    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        if event != CaEvent::TxStart {
            return;
        }
        // The curve waited with the application.
        let now = tcp.jiffies32();
        let idle = now.wrapping_sub(tcp.lsndtime);
        let start = &mut self.curve.epoch_start;
        if *start != 0 && idle as i32 > 0 {
            *start = start.wrapping_add(idle);
            if after(*start, now) {
                *start = now;
            }
        }
    }

    fn pkts_acked(&mut self, tcp: &mut Tcp, sample: &AckSample) {
        if sample.rtt_us < 0 {
            return;
        }
        // Samples of the second after a reduction still see the queue.
        let curve = &mut self.curve;
        let elapsed = tcp.jiffies32().wrapping_sub(curve.epoch_start) as i32;
        if curve.epoch_start != 0 && elapsed < HZ as i32 {
            return;
        }
        let delay = (sample.rtt_us as u32).max(1);
        if curve.delay_min == 0 || curve.delay_min > delay {
            curve.delay_min = delay;
        }
        if !self.hystart.found && tcp.in_slow_start() && self.rules.hystart {
            self.hystart.update(tcp, delay, curve.delay_min);
        }
    }

    fn state_columns(&self) -> &'static [StateColumn] {
        super::STATE
    }

    fn tell_state(&self, tcp: &Tcp, values: &mut [f64]) {
        let Curve {
            last_max_cwnd,
            origin,
            k,
            epoch_start,
            tcp_cwnd,
            ..
        } = self.curve;
        let running = epoch_start != 0;
        let bytes = |segments: u32| f64::from(segments) * f64::from(tcp.mss_cache);
        let of_epoch = |value: f64| if running { value } else { ABSENT };
        values.copy_from_slice(&[
            match (tcp.in_slow_start(), running && tcp_cwnd > tcp.snd_cwnd) {
                (true, _) => 0.0,
                (false, false) => 1.0,
                (false, true) => 2.0,
            },
            if last_max_cwnd == 0 {
                ABSENT
            } else {
                bytes(last_max_cwnd)
            },
            of_epoch(bytes(origin)),
            of_epoch((f64::from(k) / f64::from(1u32 << TIME_SHIFT) * 1e9).round()),
            of_epoch(bytes(tcp_cwnd)),
        ]);
    }
}

#[cfg(test)]
mod tests;
