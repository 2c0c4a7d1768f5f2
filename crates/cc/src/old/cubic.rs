//! CUBIC as Linux 6.12 computes it (`tcp_cubic.c`): whole segments, milliseconds, and fixed
//! point with 10 binary digits of a second.
//!
//! One departure: the cube root is exact, the kernel's is good to about 0.2%.

use cclab_units::Time;

use crate::cubic;
use crate::hystart::LinuxHyStart;
use crate::window::{Prior, SegmentWindow, may_grow, segments};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx, SlowStart};

/// `BICTCP_BETA_SCALE`, the one in which `beta` is expressed.
const BETA_SCALE: u64 = 1_024;
/// `beta`: 717/1024 of the window remains.
const BETA: u64 = 717;
/// `bic_scale`: C = 41/1024 * 10 = 0.4.
const BIC_SCALE: u64 = 41;
/// `BICTCP_HZ`: time in 2^-10 s.
const TIME_SHIFT: u32 = 10;
/// `HZ` of the timer that CUBIC reads.
const HZ: u64 = 1_000;
/// Before the first loss: at least 5% per round trip.
const MOST_PER_STEP_BEFORE_LOSS: u64 = 20;
/// At most half a segment per acknowledged one.
const LEAST_PER_STEP: u64 = 2;

/// The parameters of the module, and what follows from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rules {
    /// What remains, in 1/1024.
    beta: u64,
    /// `cube_rtt_scale`: 1024 C.
    cube_rtt_scale: u64,
    /// `cube_factor`: 2^30 1024 / (1024 C), so that K = cbrt(factor * segments).
    cube_factor: u64,
    /// `beta_scale`: acknowledged segments per one of AIMD's, times 8 and divided by the window.
    reno_scale: u64,
    fast_convergence: bool,
    friendly: bool,
}

impl Rules {
    fn new(config: &Config) -> Rules {
        let given = |name| config.params.given(name);
        let beta = given(cubic::BETA).map_or(BETA, |beta| (beta * BETA_SCALE as f64) as u64);
        let scale = given(cubic::C).map_or(BIC_SCALE, |c| (c * 1_024.0 / 10.0) as u64);
        let cube_rtt_scale = scale.max(1) * 10;
        Rules {
            beta,
            cube_rtt_scale,
            cube_factor: (1 << (10 + 3 * TIME_SHIFT)) / cube_rtt_scale,
            reno_scale: 8 * (BETA_SCALE + beta) / 3 / (BETA_SCALE - beta),
            fast_convergence: cubic::is_on(config, cubic::FAST_CONVERGENCE),
            friendly: cubic::is_on(config, cubic::TCP_FRIENDLINESS),
        }
    }
}

/// `struct bictcp`: what a timeout forgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Curve {
    /// Acknowledged segments per segment of growth.
    per_step: u64,
    last_max_cwnd: u64,
    last_cwnd: u64,
    /// When the curve was last computed, in milliseconds.
    last_time: u64,
    origin: u64,
    /// In 2^-10 s.
    k: u64,
    /// Smallest round trip, in microseconds; zero before the first.
    delay_min: u64,
    /// In milliseconds.
    epoch_start: Option<u64>,
    acked: u64,
    /// The window that AIMD would have.
    reno_cwnd: u64,
}

impl Curve {
    /// `bictcp_update`: how many acknowledged segments are worth one of growth.
    fn update(&mut self, rules: &Rules, now_ms: u64, cwnd: u64, acked: u64) {
        self.acked += acked;
        if self.last_cwnd == cwnd && now_ms.saturating_sub(self.last_time) <= HZ / 32 {
            return;
        }
        // At most once per tick, but for the AIMD part.
        if self.epoch_start.is_none() || now_ms != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = now_ms;
            self.follow(rules, now_ms, cwnd, acked);
        }
        if rules.friendly {
            self.keep_up_with_reno(rules, cwnd);
        }
        self.per_step = self.per_step.max(LEAST_PER_STEP);
    }

    fn follow(&mut self, rules: &Rules, now_ms: u64, cwnd: u64, acked: u64) {
        let epoch_start = *self.epoch_start.get_or_insert_with(|| {
            self.acked = acked;
            self.reno_cwnd = cwnd;
            self.k = match self.last_max_cwnd.checked_sub(cwnd) {
                Some(below) => cube_root(rules.cube_factor.saturating_mul(below)),
                None => 0,
            };
            self.origin = self.last_max_cwnd.max(cwnd);
            now_ms
        });
        // Where the curve is a round trip from now.
        let ahead_ms = now_ms.saturating_sub(epoch_start) + self.delay_min.div_ceil(1_000);
        let t = (ahead_ms << TIME_SHIFT) / HZ;
        let distance = t.abs_diff(self.k);
        let cube = distance.saturating_mul(distance).saturating_mul(distance);
        let delta = cube.saturating_mul(rules.cube_rtt_scale) >> (10 + 3 * TIME_SHIFT);
        let target = match t < self.k {
            true => self.origin.saturating_sub(delta),
            false => self.origin + delta,
        };
        self.per_step = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100 * cwnd
        };
        if self.last_max_cwnd == 0 {
            self.per_step = self.per_step.min(MOST_PER_STEP_BEFORE_LOSS);
        }
    }

    /// The Reno-friendly region.
    fn keep_up_with_reno(&mut self, rules: &Rules, cwnd: u64) {
        let per_segment = (cwnd * rules.reno_scale) >> 3;
        // One division where the kernel subtracts in a loop; as there, a rest of exactly
        // `per_segment` stays.
        if let Some(beyond) = self.acked.checked_sub(per_segment + 1) {
            let grown = beyond / per_segment.max(1) + 1;
            self.acked -= grown * per_segment;
            self.reno_cwnd += grown;
        }
        if self.reno_cwnd > cwnd {
            self.per_step = self.per_step.min(cwnd / (self.reno_cwnd - cwnd));
        }
    }
}

/// The variant at one flow.
pub(crate) struct LinuxCubic {
    mss: u64,
    initial_window: u64,
    rules: Rules,
    window: SegmentWindow,
    curve: Curve,
    hystart: Option<LinuxHyStart>,
    /// Whether HyStart ended this slow start (`found`).
    found: bool,
    prior: Option<Prior<u64>>,
}

impl LinuxCubic {
    pub(crate) fn new(config: &Config) -> LinuxCubic {
        let window = SegmentWindow::new(config);
        LinuxCubic {
            mss: config.mss,
            initial_window: window.cwnd,
            rules: Rules::new(config),
            window,
            curve: Curve::default(),
            hystart: match config.slow_start {
                SlowStart::Plain => None,
                // The kernel has one HyStart; asked for the standard's, it gives its own.
                SlowStart::HyStartPlusPlus | SlowStart::LinuxHyStart => Some(LinuxHyStart::new()),
            },
            found: false,
            prior: None,
        }
    }

    /// `cubictcp_acked`: the smallest round trip, and HyStart.
    fn take_sample(&mut self, rtt: Time, ack: &AckSample, now: Time) {
        // Samples of the second after a reduction still see the queue.
        if self
            .curve
            .epoch_start
            .is_some_and(|start| now.as_millis().saturating_sub(start) < HZ)
        {
            return;
        }
        let micros = rtt.as_micros().max(1);
        if self.curve.delay_min == 0 || self.curve.delay_min > micros {
            self.curve.delay_min = micros;
        }
        if self.found || !self.window.in_slow_start() {
            return;
        }
        if let Some(hystart) = &mut self.hystart {
            let base = Time::from_micros(self.curve.delay_min);
            let window = (self.window.cwnd, self.mss);
            if hystart.on_sample((now, Time::from_micros(micros)), base, ack, window) {
                self.found = true;
                self.window.ssthresh = self.window.cwnd;
            }
        }
    }

    /// `cubictcp_recalc_ssthresh`, in whole segments of the window, not of the flight.
    fn reduced(&mut self) -> u64 {
        let cwnd = self.window.cwnd;
        self.curve.epoch_start = None;
        let beta = self.rules.beta;
        let gives_room = self.rules.fast_convergence && cwnd < self.curve.last_max_cwnd;
        self.curve.last_max_cwnd = match gives_room {
            true => cwnd * (BETA_SCALE + beta) / (2 * BETA_SCALE),
            false => cwnd,
        };
        (cwnd * beta / BETA_SCALE).max(2)
    }
}

impl CongestionControl for LinuxCubic {
    fn on_ack(&mut self, ack: &AckSample, cx: &mut Cx<'_>) {
        if let Some(rtt) = ack.rtt {
            self.take_sample(rtt, ack, cx.now);
        }
        if !may_grow(ack) {
            return;
        }
        let mut acked = segments(ack.newly_delivered, self.mss);
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        if acked > 0 {
            self.curve
                .update(&self.rules, cx.now.as_millis(), self.window.cwnd, acked);
            self.window.avoid(self.curve.per_step, acked);
        }
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, cx: &mut Cx<'_>) {
        let timeout = kind == Congestion::Rto;
        let mut ssthresh = self.window.ssthresh;
        if !(timeout && at.repeated) {
            self.prior = Some(Prior {
                cwnd: self.window.cwnd,
                ssthresh,
            });
            ssthresh = self.reduced();
        }
        if timeout {
            // cubictcp_state: everything learnt is forgotten.
            self.curve = Curve::default();
            self.found = false;
            if let Some(hystart) = &mut self.hystart {
                hystart.start_round(cx.now, at.snd_nxt);
            }
        }
        self.window
            .reduce(if timeout { 1 } else { ssthresh }, ssthresh);
    }

    /// The kernel gives the window back, not the curve.
    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        if let Some(prior) = self.prior.take() {
            self.window.cwnd = self.window.cwnd.max(prior.cwnd);
            self.window.ssthresh = self.window.ssthresh.max(prior.ssthresh);
        }
    }

    fn on_restart(&mut self, idle: Time, rto: Time, cx: &mut Cx<'_>) {
        // CA_EVENT_TX_START: the curve waited too.
        if let Some(start) = &mut self.curve.epoch_start {
            *start = (*start + idle.as_millis()).min(cx.now.as_millis());
        }
        self.window.restart(idle, rto, self.initial_window);
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd * self.mss
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh.saturating_mul(self.mss)
    }
}

/// The largest whole number whose cube is not above `x`.
fn cube_root(x: u64) -> u64 {
    let mut root = 0_u64;
    for bit in (0..22).rev() {
        let next = root | 1 << bit; // below 2^22: its cube may need 66 bits
        if u128::from(next).pow(3) <= u128::from(x) {
            root = next;
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arithmetic;
    use crate::cubic::VARIANT;
    use crate::tests::{Bench, ack, config_of, congestion};

    fn rules() -> Rules {
        Rules::new(&config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain))
    }

    #[test]
    fn constants_are_the_kernels() {
        let rules = rules();
        assert_eq!(
            (rules.reno_scale, rules.cube_rtt_scale, rules.cube_factor),
            (15, 410, 2_681_735_677)
        );
    }

    #[test]
    fn roots_are_exact() {
        for (x, root) in [
            (0, 0),
            (1, 1),
            (7, 1),
            (8, 2),
            (26, 2),
            (27, 3),
            (1 << 60, 1 << 20),
        ] {
            assert_eq!(cube_root(x), root);
        }
        assert_eq!(cube_root(u64::MAX), 2_642_245);
    }

    /// A loss at 100 segments with a base round trip of 40 ms, followed by hand.
    #[test]
    fn the_curve_by_hand() {
        let mut curve = Curve {
            last_max_cwnd: 100,
            delay_min: 40_000,
            ..Curve::default()
        };
        curve.update(&rules(), 1_000, 70, 2);
        // K = cbrt(2681735677 * 30) = 4316 in 2^-10 s, 4.215 s; cbrt(30 / 0.4) = 4.217 s.
        assert_eq!(
            (curve.k, curve.origin, curve.reno_cwnd, curve.acked),
            (4_316, 100, 70, 2)
        );
        // t = 40 ms = 40; offs 4276: 410 * 4276^3 >> 40 = 29; target 71: one per 70.
        assert_eq!(curve.per_step, 70);
        // The same window within 31 ms: nothing is computed.
        curve.update(&rules(), 1_031, 70, 2);
        assert_eq!((curve.last_time, curve.acked), (1_000, 4));
        // Two seconds on, t = 2040 ms = 2088: offs 2228: 410 * 2228^3 >> 40 = 4; target 96.
        curve.update(&rules(), 3_000, 70, 2);
        assert_eq!(curve.per_step, 2); // 70 / 26
        // A second past K, t = 5296 ms = 5423: offs 1107, 410 * 1107^3 >> 40 = 0: the plateau.
        curve.update(&rules(), 6_256, 98, 0);
        assert_eq!(curve.per_step, 49);
    }

    #[test]
    fn aimd_is_kept_up_with() {
        let mut curve = Curve {
            last_max_cwnd: 10,
            delay_min: 10_000,
            ..Curve::default()
        };
        curve.update(&rules(), 1_000, 7, 1);
        // Every 7 * 15 / 8 = 13 segments AIMD grows by one.
        curve.update(&rules(), 1_001, 7, 25);
        assert_eq!((curve.acked, curve.reno_cwnd), (26, 7)); // too soon to be looked at
        curve.update(&rules(), 1_040, 7, 1);
        // 27 = 13 + 13 + 1: two grown, and a segment per 7 / 2 = 3.
        assert_eq!((curve.acked, curve.reno_cwnd, curve.per_step), (1, 9, 3));
    }

    #[test]
    fn before_the_first_loss_it_grows_by_a_twentieth_per_round() {
        let mut curve = Curve::default();
        curve.update(&rules(), 1_000, 400, 2);
        assert_eq!(curve.per_step, 20);
    }

    #[test]
    fn a_loss_keeps_seven_tenths_and_a_timeout_forgets() {
        let mut flow = Bench::new(LinuxCubic::new(&config_of(
            &VARIANT,
            Arithmetic::Segments,
            SlowStart::Plain,
        )));
        flow.cc.window.cwnd = 100;
        flow.congestion(Congestion::Loss, &congestion(50_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (70_000, 70_000));
        assert_eq!(flow.cc.curve.last_max_cwnd, 100);
        flow.congestion(Congestion::Loss, &congestion(70_000));
        // 70 * 1741 / 2048 = 59; 70 * 717 / 1024 = 49.
        assert_eq!((flow.cc.curve.last_max_cwnd, flow.cc.cwnd()), (59, 49_000));
        flow.ack(&ack(1_000));
        flow.congestion(Congestion::Rto, &congestion(49_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 34_000));
        assert_eq!(flow.cc.curve, Curve::default());
        flow.undo();
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (49_000, 49_000));
    }

    #[test]
    fn delay_is_not_measured_in_the_second_after_a_reduction() {
        let mut flow = Bench::new(LinuxCubic::new(&config_of(
            &VARIANT,
            Arithmetic::Segments,
            SlowStart::Plain,
        )));
        let sample = |ms| AckSample {
            rtt: Some(Time::from_millis(ms)),
            ..ack(1_000)
        };
        flow.ack(&sample(50));
        flow.congestion(Congestion::Loss, &congestion(10_000));
        flow.ack(&ack(1_000)); // begins the epoch
        flow.now += Time::from_millis(999);
        flow.ack(&sample(40));
        assert_eq!(flow.cc.curve.delay_min, 50_000);
        flow.now += Time::from_millis(1);
        flow.ack(&sample(40));
        assert_eq!(flow.cc.curve.delay_min, 40_000);
    }

    /// The kernel's module with `beta=819 bic_scale=82 fast_convergence=0 tcp_friendliness=0`: by
    /// hand, 8 * (1024 + 819) / 3 / (1024 - 819) = 23, and C = 0.8.
    #[test]
    fn parameters_are_those_of_the_module() {
        let given = [
            ("beta", 0.8),
            ("c", 0.801),
            ("fast_convergence", 0.0),
            ("tcp_friendliness", 0.0),
        ];
        let given = given.map(|(name, value)| (name.to_owned(), value)).into();
        let config = Config {
            params: cclab_units::parameter::Params::new(VARIANT.params, &given)
                .expect("values in their ranges"),
            ..config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain)
        };
        let rules = Rules::new(&config);
        assert_eq!(
            (rules.beta, rules.reno_scale, rules.cube_rtt_scale),
            (819, 23, 820)
        );
        let mut flow = Bench::new(LinuxCubic::new(&config));
        flow.cc.window.cwnd = 100;
        flow.congestion(Congestion::Loss, &congestion(100_000));
        flow.congestion(Congestion::Loss, &congestion(79_000));
        // 100 * 819 >> 10 = 79, 79 * 819 >> 10 = 63; nothing is given up beyond that.
        assert_eq!((flow.cc.cwnd(), flow.cc.curve.last_max_cwnd), (63_000, 79));
        let mut curve = Curve {
            last_max_cwnd: 10,
            delay_min: 10_000,
            ..Curve::default()
        };
        curve.update(&rules, 1_000, 7, 1_000);
        assert_eq!(curve.reno_cwnd, 7, "AIMD is not followed");
    }
}
