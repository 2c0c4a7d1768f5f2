//! CUBIC as RFC 9438 writes it, in real numbers of segments.
//!
//! Only the four operations of IEEE 754 are used, so that results are the same everywhere.

use cclab_interface::state::{ABSENT, StateColumn};
use cclab_units::Time;

use crate::hystart::{HyStartPlusPlus, LinuxHyStart, Verdict};
use crate::window::{CountedSlowStart, MAX_WINDOW, may_grow};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx, SlowStart};

/// Section 5: `C` in segments per second cubed.
const C: f64 = 0.4;
/// Section 4.6: what remains of the window.
const BETA: f64 = 0.7;
/// Section 4.2: the target is at most this many windows.
const TARGET_MAX: f64 = 1.5;
/// `L` of RFC 3465 section 2.2.
const SLOW_START_LIMIT: u64 = 2;

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rules {
    c: f64,
    beta: f64,
    /// Section 4.3: AIMD with this increase and `beta` sends as much as Reno does.
    alpha: f64,
    fast_convergence: bool,
    friendly: bool,
}

impl Rules {
    fn new(config: &Config) -> Rules {
        let beta = config.params.given(super::BETA).unwrap_or(BETA);
        Rules {
            c: config.params.given(super::C).unwrap_or(C),
            beta,
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            fast_convergence: super::is_on(config, super::FAST_CONVERGENCE),
            friendly: super::is_on(config, super::TCP_FRIENDLINESS),
        }
    }
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Epoch {
    start: Time,
    /// Seconds from the start to the plateau.
    k: f64,
    /// The plateau, in segments.
    origin: f64,
    /// The window that AIMD would have.
    reno: f64,
}

impl Epoch {
    /// Section 4.2, equation (1): the window `seconds` after the start.
    fn cubic(&self, c: f64, seconds: f64) -> f64 {
        let t = seconds - self.k;
        c * t * t * t + self.origin
    }
}

/// What a reduction changes, and undo gives back (section 4.9.1).
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    cwnd: f64,
    ssthresh: f64,
    /// The window at the last reduction, or less by fast convergence; zero before.
    w_max: f64,
    /// The window just before the last reduction.
    cwnd_prior: f64,
    epoch: Option<Epoch>,
    /// Whether the next stage follows a timeout: it starts from its own plateau.
    after_timeout: bool,
}

#[derive(Clone, Copy, Debug)]
enum Exit {
    Plain,
    PlusPlus(HyStartPlusPlus),
    Linux(LinuxHyStart),
}

/// The variant at one flow.
pub(super) struct Cubic {
    mss: f64,
    mss_bytes: u64,
    initial_window: f64,
    most: f64,
    rules: Rules,
    state: State,
    slow_start: CountedSlowStart,
    exit: Exit,
    prior: Option<State>,
}

impl Cubic {
    pub(super) fn new(config: &Config) -> Cubic {
        let mss = config.mss as f64;
        let initial_window = (config.initial_window as f64 / mss).max(1.0);
        let (exit, limit) = match config.slow_start {
            SlowStart::Plain => (Exit::Plain, SLOW_START_LIMIT),
            SlowStart::HyStartPlusPlus => (
                Exit::PlusPlus(HyStartPlusPlus::new()),
                HyStartPlusPlus::SLOW_START_LIMIT,
            ),
            SlowStart::LinuxHyStart => (Exit::Linux(LinuxHyStart::new()), SLOW_START_LIMIT),
        };
        Cubic {
            mss,
            mss_bytes: config.mss,
            initial_window,
            most: MAX_WINDOW as f64 / mss,
            rules: Rules::new(config),
            state: State {
                cwnd: initial_window,
                ssthresh: match config.initial_ssthresh {
                    u64::MAX => f64::INFINITY,
                    bytes => bytes as f64 / mss,
                },
                w_max: 0.0,
                cwnd_prior: 0.0,
                epoch: None,
                after_timeout: false,
            },
            slow_start: CountedSlowStart::new(config.mss, limit),
            exit,
            prior: None,
        }
    }

    fn grow_in_slow_start(&mut self, ack: &AckSample, now: Time) {
        let mut divisor = 1;
        let ends = match &mut self.exit {
            Exit::Plain => false,
            Exit::PlusPlus(hystart) => match hystart.on_ack(ack) {
                Verdict::Grow(by) => {
                    divisor = by;
                    false
                }
                Verdict::Exit => true,
            },
            Exit::Linux(hystart) => ack.rtt.is_some_and(|rtt| {
                let window = (self.state.cwnd as u64, self.mss_bytes);
                hystart.on_sample((now, rtt), ack.min_rtt, ack, window)
            }),
        };
        if ends {
            self.state.ssthresh = self.state.cwnd;
            return;
        }
        let step = self.slow_start.step(ack) as f64 / (self.mss * divisor as f64);
        self.state.cwnd = (self.state.cwnd + step).min(self.state.ssthresh.max(self.state.cwnd));
    }

    /// Sections 4.2 to 4.5.
    fn avoid(&mut self, ack: &AckSample, now: Time) {
        let Rules { c, alpha, .. } = self.rules;
        let state = &mut self.state;
        let epoch = state.epoch.get_or_insert_with(|| {
            // Section 4.8: after a timeout, as after a slow start without loss, the plateau
            // is here.
            if state.after_timeout || state.w_max <= state.cwnd {
                state.after_timeout = false;
                state.w_max = state.cwnd;
            }
            let k = cube_root((state.w_max - state.cwnd) / c);
            Epoch {
                start: now,
                k,
                origin: state.w_max,
                reno: state.cwnd,
            }
        });
        let acked = (ack.newly_acked as f64 / self.mss).min(state.cwnd);
        // Section 4.3: once AIMD is past the window before the reduction, it grows as Reno.
        let alpha = if epoch.reno < state.cwnd_prior {
            alpha
        } else {
            1.0
        };
        epoch.reno += alpha * acked / state.cwnd;
        let t = (now - epoch.start).as_secs_f64();
        if self.rules.friendly && epoch.cubic(c, t) < epoch.reno {
            state.cwnd = state.cwnd.max(epoch.reno);
        } else {
            let ahead = epoch.cubic(c, t + ack.srtt.as_secs_f64());
            let target = ahead.clamp(state.cwnd, TARGET_MAX * state.cwnd);
            state.cwnd += (target - state.cwnd) * acked / state.cwnd;
        }
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &AckSample, cx: &mut Cx<'_>) {
        if !may_grow(ack) {
            return;
        }
        if self.state.cwnd < self.state.ssthresh {
            self.grow_in_slow_start(ack, cx.now);
        } else {
            self.avoid(ack, cx.now);
        }
        self.state.cwnd = self.state.cwnd.min(self.most);
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        if kind == Congestion::Rto {
            self.slow_start.on_timeout(at.snd_nxt);
            if at.repeated {
                self.state.cwnd = 1.0;
                return; // as RFC 5681 section 3.1
            }
        }
        self.exit = Exit::Plain; // for the first slow start only (RFC 9406 section 4.3)
        self.prior = Some(self.state);
        let Rules {
            beta,
            fast_convergence,
            ..
        } = self.rules;
        let state = &mut self.state;
        state.epoch = None;
        state.after_timeout = kind == Congestion::Rto;
        state.cwnd_prior = state.cwnd;
        // Section 4.7, fast convergence: a flow that lost below its old plateau makes room.
        state.w_max = match fast_convergence && state.cwnd < state.w_max {
            true => state.cwnd * ((1.0 + beta) / 2.0),
            false => state.cwnd,
        };
        // Section 4.6. A flight above the window, by limited transmit, is no reason to grow.
        let reduced = (at.flight_size as f64 / self.mss).min(state.cwnd) * beta;
        state.ssthresh = reduced.max(2.0);
        let window = match kind {
            Congestion::Loss => state.ssthresh,
            Congestion::Ecn => reduced.max(1.0),
            Congestion::Rto => 1.0,
        };
        state.cwnd = state.cwnd.min(window);
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        if let Some(prior) = self.prior.take() {
            let cwnd = self.state.cwnd.max(prior.cwnd);
            self.state = State { cwnd, ..prior };
        }
    }

    /// The curve waits while the application does (section 4.2 forbids growth by mere time);
    /// after more than a timeout the window restarts (RFC 5681 section 4.1).
    fn on_restart(&mut self, idle: Time, rto: Time, cx: &mut Cx<'_>) {
        if let Some(epoch) = &mut self.state.epoch {
            epoch.start = (epoch.start + idle).min(cx.now);
        }
        if idle > rto {
            self.state.cwnd = self.state.cwnd.min(self.initial_window);
        }
    }

    fn cwnd(&self) -> u64 {
        ((self.state.cwnd * self.mss) as u64).max(self.mss_bytes)
    }

    fn ssthresh(&self) -> u64 {
        (self.state.ssthresh * self.mss) as u64 // infinity saturates
    }

    fn state_columns(&self) -> &'static [StateColumn] {
        super::STATE
    }

    fn tell_state(&self, values: &mut [f64]) {
        let State {
            cwnd,
            ssthresh,
            w_max,
            epoch,
            ..
        } = self.state;
        let of_epoch = |value: fn(&Epoch) -> f64| epoch.as_ref().map_or(ABSENT, value);
        values.copy_from_slice(&[
            match epoch {
                _ if cwnd < ssthresh => 0.0,
                Some(epoch) if epoch.reno >= cwnd => 2.0,
                _ => 1.0,
            },
            if w_max == 0.0 {
                ABSENT
            } else {
                w_max * self.mss
            },
            of_epoch(|epoch| epoch.origin) * self.mss,
            (of_epoch(|epoch| epoch.k) * 1e9).round(),
            of_epoch(|epoch| epoch.reno) * self.mss,
        ]);
    }
}

/// The cube root by Newton's method. The standard library's is the platform's own and may
/// differ in the last bit between systems.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    // A third of the exponent: within 15% of the root, so that five steps reach every bit
    // that the sixth does not change.
    let guess = f64::from_bits(x.to_bits() / 3 + (1023 - 1023 / 3) * (1 << 52));
    (0..6).fold(guess, |r, _| r - (r * r * r - x) / (3.0 * r * r))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arithmetic;
    use crate::cubic::VARIANT;
    use crate::tests::{Bench, ack, config_of, congestion};

    fn flow() -> Bench<Cubic> {
        Bench::new(Cubic::new(&config_of(
            &VARIANT,
            Arithmetic::Bytes,
            SlowStart::Plain,
        )))
    }

    fn at_window(segments: f64) -> Bench<Cubic> {
        let mut flow = flow();
        flow.cc.state.cwnd = segments;
        flow
    }

    /// Acknowledges a segment at a time, evenly, over a round trip of 100 ms.
    fn round(flow: &mut Bench<Cubic>) {
        let acks = flow.cc.state.cwnd as u64;
        for _ in 0..acks {
            flow.now += Time::from_nanos(100_000_000 / acks);
            flow.ack(&AckSample {
                srtt: Time::from_millis(100),
                ..ack(1_000)
            });
        }
    }

    #[test]
    fn roots_are_exact_where_they_are_whole() {
        for r in [1.0, 2.0, 5.0, 42.0, 1e3, 123_456.0] {
            assert_eq!(cube_root(r * r * r), r);
        }
        assert!((cube_root(0.001) - 0.1).abs() < 1e-16);
        assert_eq!(cube_root(0.0), 0.0);
    }

    #[test]
    fn the_curve_returns_to_the_plateau_after_k() {
        let mut flow = at_window(1_000.0);
        flow.congestion(Congestion::Loss, &congestion(1_000_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (700_000, 700_000));
        round(&mut flow);
        let epoch = flow.cc.state.epoch.expect("a stage of avoidance");
        // K = cbrt(300 / 0.4) = 9.0856 s.
        assert!((epoch.k - 9.0856).abs() < 1e-4, "{}", epoch.k);
        assert_eq!(epoch.origin, 1_000.0);
        // Equation (1): the window of the reduction at 0, the plateau at K, 0.4 more at K + 1.
        assert!((epoch.cubic(C, 0.0) - 700.0).abs() < 1e-9);
        assert!((epoch.cubic(C, epoch.k) - 1_000.0).abs() < 1e-9);
        assert!((epoch.cubic(C, epoch.k + 1.0) - 1_000.4).abs() < 1e-9);
        while flow.now < epoch.start + Time::from_secs_f64(epoch.k) {
            round(&mut flow);
        }
        assert!(
            (flow.cc.state.cwnd - 1_000.0).abs() < 1.0,
            "{}",
            flow.cc.state.cwnd
        );
    }

    #[test]
    fn a_loss_below_the_plateau_lowers_it() {
        let mut flow = at_window(100.0);
        flow.congestion(Congestion::Loss, &congestion(100_000));
        assert_eq!(flow.cc.state.w_max, 100.0);
        flow.congestion(Congestion::Loss, &congestion(70_000));
        assert!((flow.cc.state.w_max - 70.0 * 0.85).abs() < 1e-9);
        assert!((flow.cc.state.cwnd - 49.0).abs() < 1e-9);
    }

    #[test]
    fn small_windows_grow_as_aimd_does() {
        let mut flow = at_window(10.0);
        flow.congestion(Congestion::Loss, &congestion(10_000));
        let start = flow.cc.state.cwnd;
        for _ in 0..4 {
            round(&mut flow);
        }
        // 0.529 of a segment per round trip; the cubic needs cbrt(3 / 0.4) = 1.96 s for three,
        // and stands at 0.4 (0.4 - 1.957)^3 + 10 = 8.49 now, so that AIMD is ahead.
        let alpha = flow.cc.rules.alpha;
        let aimd = start + 4.0 * alpha;
        assert!(
            flow.cc.state.cwnd > aimd - 0.35,
            "{} {aimd}",
            flow.cc.state.cwnd
        );
        assert_eq!(alpha, 3.0 * 0.3 / 1.7 * (1.0 - BETA) / 0.3);
    }

    #[test]
    fn a_timeout_starts_over_from_its_own_plateau() {
        let mut flow = at_window(100.0);
        flow.congestion(Congestion::Rto, &congestion(100_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 70_000));
        while flow.cc.state.epoch.is_none() {
            round(&mut flow);
        }
        let epoch = flow.cc.state.epoch.expect("a stage of avoidance");
        assert_eq!((epoch.k, epoch.origin), (0.0, 70.0));
    }

    #[test]
    fn idleness_shifts_the_curve() {
        let mut flow = at_window(100.0);
        flow.congestion(Congestion::Loss, &congestion(100_000));
        round(&mut flow);
        let before = flow.cc.state.epoch.expect("a stage of avoidance").start;
        flow.now += Time::from_millis(300);
        flow.restart(Time::from_millis(300), Time::from_secs(1));
        let after = flow.cc.state.epoch.expect("a stage of avoidance").start;
        assert_eq!(after, before + Time::from_millis(300));
        assert!(flow.cc.cwnd() > 70_000);
        flow.restart(Time::from_secs(2), Time::from_secs(1));
        assert_eq!(flow.cc.cwnd(), 10_000);
    }
}
