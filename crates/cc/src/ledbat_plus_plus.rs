//! LEDBAT++: a background flow that yields to the queueing delay of others, measured on round
//! trips, and that empties the queue from time to time to see the path without itself
//! (draft-irtf-iccrg-ledbat-plus-plus).
//!
//! Reacts to delay above a target of 60 ms, to loss, timeouts and ECN as Reno. One form, the
//! draft's in real numbers, on every stack; the initial window is the stack's.

use cclab_units::parameter::Parameter;
use cclab_units::{Measure, Time};

use crate::variant::{Departure, EcnFeedback, Near, Signal, Variant, WindowInRecovery};
use crate::window::{MAX_WINDOW, is_asked_to_grow};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "ledbat++",
    version: 1,
    summary: "Background transport: yields to queueing delay, slows down to measure the path",
    reference: "draft-irtf-iccrg-ledbat-plus-plus-06",
    near: &[Near::of("ledbat")],
    kernel: None,
    recovery: None,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Delay,
    departures: &[Departure::NarrowedByDelay, Departure::SlowerSlowStart],
    params: &[
        Parameter {
            name: "target",
            measure: Measure::Time,
            meaning: "queueing delay above which it yields (section 4.5)",
            default: 0.06,
            least: 0.001,
            most: 1.0,
        },
        Parameter {
            name: "gain_cap",
            measure: Measure::Number,
            meaning: "growth is a segment in as many round trips at most (section 4.2)",
            default: 16.0,
            least: 1.0,
            most: 1024.0,
        },
        Parameter {
            name: "constant",
            measure: Measure::Number,
            meaning: "factor of the decrease (section 4.3)",
            default: 1.0,
            least: 0.01,
            most: 10.0,
        },
        Parameter {
            name: "slowdown_factor",
            measure: Measure::Number,
            meaning: "slowdowns begin as many of their own lengths apart (section 4.4)",
            default: 9.0,
            least: 1.0,
            most: 1000.0,
        },
    ],
    relations: &[],
    ops: None,
    build: Some(|config| Box::new(LedbatPlusPlus::new(config))),
};

/// Slow start ends at this part of the target (section 4.1).
const SLOW_START_EXIT: f64 = 0.75;
/// A slowdown holds two segments for two round trips (section 4.4).
const SLOWDOWN_WINDOW: f64 = 2.0;
const SLOWDOWN_ROUNDS: u64 = 2;
/// The first slowdown comes two round trips after the first slow start (section 4.4).
const FIRST_SLOWDOWN_ROUNDS: u64 = 2;
/// Minutes over which the base delay counts, and samples of which the current delay is the
/// smallest (RFC 6817 section 2.4.2, `BASE_HISTORY` and `CURRENT_FILTER`).
const BASE_MINUTES: usize = 10;
const CURRENT_SAMPLES: usize = 4;
const MINUTE: Time = Time::from_secs(60);
/// The least window and the least threshold, in segments.
const LEAST: f64 = 2.0;

/// Where the variant is (sections 4.1 and 4.4).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The first slow start.
    First,
    /// Up to the threshold again after a timeout.
    Restart,
    /// Additive increase, multiplicative decrease.
    Avoidance,
    /// Two segments, until this instant.
    Slowdown(Time),
    /// Slow start up to the window of before the slowdown.
    Return,
}

/// The base delay: the smallest of each of the last minutes.
#[derive(Clone, Copy, Debug)]
struct Base {
    minutes: [Time; BASE_MINUTES],
    began: Time,
}

impl Base {
    fn update(&mut self, now: Time, rtt: Time) {
        while now - self.began >= MINUTE {
            self.minutes.rotate_right(1);
            self.minutes[0] = Time::NEVER;
            self.began += MINUTE;
            if self.minutes.iter().all(|&rtt| rtt == Time::NEVER) {
                self.began = now; // an hour of silence is not counted minute by minute
            }
        }
        self.minutes[0] = self.minutes[0].min(rtt);
    }

    fn get(&self) -> Time {
        self.minutes.iter().copied().min().unwrap_or(Time::NEVER)
    }
}

/// The variant at one flow. Windows are in segments.
struct LedbatPlusPlus {
    mss: f64,
    cwnd: f64,
    ssthresh: f64,
    most: f64,
    target: f64,
    gain_cap: f64,
    constant: f64,
    slowdown_factor: u64,
    phase: Phase,
    base: Base,
    current: [Time; CURRENT_SAMPLES],
    samples: usize,
    /// When the next slowdown begins, if that is known, and when the last one did.
    slowdown_at: Time,
    slowdown_began: Time,
    slowdowns: u64,
    prior: Option<(f64, f64)>,
}

impl LedbatPlusPlus {
    fn new(config: &Config) -> LedbatPlusPlus {
        let mss = config.mss as f64;
        let get = |name| config.params.get(name);
        LedbatPlusPlus {
            mss,
            cwnd: config.initial_window as f64 / mss,
            ssthresh: match config.initial_ssthresh {
                u64::MAX => f64::INFINITY,
                bytes => (bytes as f64 / mss).max(LEAST),
            },
            most: MAX_WINDOW as f64 / mss,
            target: get("target"),
            gain_cap: get("gain_cap"),
            constant: get("constant"),
            slowdown_factor: get("slowdown_factor") as u64,
            phase: Phase::First,
            base: Base {
                minutes: [Time::NEVER; BASE_MINUTES],
                began: Time::ZERO,
            },
            current: [Time::NEVER; CURRENT_SAMPLES],
            samples: 0,
            slowdown_at: Time::NEVER,
            slowdown_began: Time::ZERO,
            slowdowns: 0,
            prior: None,
        }
    }

    fn measure(&mut self, now: Time, rtt: Time) {
        self.base.update(now, rtt);
        self.current[self.samples % CURRENT_SAMPLES] = rtt;
        self.samples += 1;
    }

    /// The queueing delay in seconds.
    fn delay(&self) -> f64 {
        let current = self.current.iter().copied().min().unwrap_or(Time::NEVER);
        if current == Time::NEVER {
            return 0.0;
        }
        (current - self.base.get().min(current)).as_secs_f64()
    }

    /// Section 4.2: `GAIN = 1 / min(16, ceil(2 TARGET / base))`.
    fn gain(&self) -> f64 {
        match self.base.get() {
            Time::NEVER => 1.0 / self.gain_cap,
            base => {
                let rounds = (2.0 * self.target / base.as_secs_f64().max(1e-9)).ceil();
                1.0 / rounds.clamp(1.0, self.gain_cap)
            }
        }
    }

    /// Section 4.3, by round trip; an acknowledgement moves its part of the window.
    fn avoid(&mut self, acked: f64, grows: bool) {
        let (gain, delay) = (self.gain(), self.delay());
        let step = if delay <= self.target {
            gain
        } else {
            let excess = delay / self.target - 1.0;
            (gain - self.constant * self.cwnd * excess).max(-self.cwnd / 2.0)
        };
        if step < 0.0 || grows {
            self.cwnd += step * (acked / self.cwnd).min(1.0);
        }
    }

    /// Sections 4.1 and 4.4: slow start by the gain, up to the threshold.
    fn rise(&mut self, acked: f64, grows: bool, now: Time, srtt: Time) {
        let late = self.phase == Phase::First && self.delay() > SLOW_START_EXIT * self.target;
        if !late && self.cwnd < self.ssthresh {
            if grows {
                self.cwnd = (self.cwnd + self.gain() * acked).min(self.ssthresh);
            }
            if self.cwnd < self.ssthresh {
                return;
            }
        }
        self.enter_avoidance(now, srtt);
    }

    fn enter_avoidance(&mut self, now: Time, srtt: Time) {
        // After a slowdown the next one is to be planned, however it ended.
        if self.slowdown_at == Time::NEVER {
            self.slowdown_at = match self.slowdowns {
                0 => now + srtt * FIRST_SLOWDOWN_ROUNDS,
                _ => now + (now - self.slowdown_began) * self.slowdown_factor,
            };
        }
        self.ssthresh = self.ssthresh.min(self.cwnd.max(LEAST));
        self.phase = Phase::Avoidance;
    }

    /// Section 4.4: whether a slowdown holds the window.
    fn slows_down(&mut self, now: Time, srtt: Time) -> bool {
        match self.phase {
            Phase::Avoidance if now >= self.slowdown_at => {
                self.ssthresh = self.cwnd.max(LEAST);
                self.cwnd = self.cwnd.min(SLOWDOWN_WINDOW);
                self.slowdown_began = now;
                self.slowdown_at = Time::NEVER;
                self.slowdowns += 1;
                self.phase = Phase::Slowdown(now + srtt * SLOWDOWN_ROUNDS);
                true
            }
            Phase::Slowdown(until) if now < until => true,
            Phase::Slowdown(_) => {
                self.phase = Phase::Return;
                false
            }
            _ => false,
        }
    }
}

impl CongestionControl for LedbatPlusPlus {
    fn on_ack(&mut self, ack: &AckSample, cx: &mut Cx<'_>) {
        if let Some(rtt) = ack.rtt {
            self.measure(cx.now, rtt);
        }
        if !is_asked_to_grow(ack) || self.slows_down(cx.now, ack.srtt) {
            return;
        }
        let acked = ack.newly_acked as f64 / self.mss;
        match self.phase {
            Phase::First | Phase::Restart | Phase::Return => {
                self.rise(acked, ack.cwnd_limited, cx.now, ack.srtt);
            }
            Phase::Avoidance | Phase::Slowdown(_) => self.avoid(acked, ack.cwnd_limited),
        }
        self.cwnd = self.cwnd.clamp(1.0, self.most);
    }

    /// RFC 6817 section 2.4.1, as Reno. A timeout ends a slowdown under way; another loss lowers
    /// the window to which it returns.
    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        let timeout = kind == Congestion::Rto;
        if !(timeout && at.repeated) {
            self.prior = Some((self.cwnd, self.ssthresh));
            let before = match self.phase {
                Phase::Slowdown(_) | Phase::Return => self.ssthresh.min(self.most),
                _ => self.cwnd,
            };
            self.ssthresh = (before / 2.0).max(LEAST);
        }
        if timeout {
            self.cwnd = 1.0;
            self.phase = Phase::Restart;
        } else {
            self.cwnd = self.cwnd.min(self.ssthresh);
            if self.phase == Phase::First {
                self.phase = Phase::Restart;
            }
        }
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        if let Some((cwnd, ssthresh)) = self.prior.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    /// A pause longer than a timeout begins anew with two segments, as a slowdown does.
    fn on_restart(&mut self, idle: Time, rto: Time, _cx: &mut Cx<'_>) {
        if idle > rto {
            self.ssthresh = self.ssthresh.min(self.most).max(self.cwnd * 0.75);
            self.cwnd = self.cwnd.min(SLOWDOWN_WINDOW);
            if self.phase != Phase::First {
                self.phase = Phase::Restart;
            }
        }
    }

    fn cwnd(&self) -> u64 {
        (self.cwnd * self.mss) as u64
    }

    fn ssthresh(&self) -> u64 {
        match self.ssthresh {
            f64::INFINITY => u64::MAX,
            segments => (segments * self.mss) as u64,
        }
    }
}

#[cfg(test)]
mod tests;
