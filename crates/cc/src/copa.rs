//! Copa: the rate follows a target that falls with the queueing delay, `1 / (delta d)` segments a
//! second, so that flows among themselves hold `1 / delta` segments each in the queue (Arun and
//! Balakrishnan 2018).
//!
//! Reacts to delay; to loss only beside flows that fill the queue, which it detects, and to
//! timeouts. One form, the paper's in real numbers, on every stack. What the paper leaves open:
//! a timeout begins slow start at one segment, as everywhere; the window never falls below two.

use cclab_interface::state::columns::BASE_RTT;
use cclab_interface::state::{counted, flagged};
use cclab_units::parameter::Parameter;
use cclab_units::{Measure, Rate, Time};

use crate::variant::{EcnFeedback, Signal, Variant, WindowInRecovery};
use crate::window::MAX_WINDOW;
use crate::windowed_max::WindowedMax;
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx, StateColumn};

mod standing;
#[cfg(test)]
mod tests;

use standing::Standing;

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "copa",
    version: 1,
    summary: "A target rate by the queueing delay; competes where others fill the queue",
    reference: "V. Arun and H. Balakrishnan, Copa, NSDI 2018",
    near: &[],
    kernel: None,
    recovery: None,
    window: WindowInRecovery::Own,
    paces: true,
    ecn: EcnFeedback::Classic,
    signal: Signal::Delay,
    departures: &[],
    params: &[
        Parameter {
            name: "delta",
            measure: Measure::Number,
            meaning: "1/delta segments of each flow stay in the queue (section 2.1)",
            default: 0.5,
            least: 0.004,
            most: 2.0,
        },
        Parameter {
            name: "mode_switching",
            measure: Measure::Switch,
            meaning: "whether it competes beside flows that fill the queue (section 2.2)",
            default: 1.0,
            least: 0.0,
            most: 1.0,
        },
    ],
    relations: &[],
    ops: None,
    build: Some(|config| Box::new(Copa::new(config))),
};

/// Over which the smallest round-trip time counts (section 2.1).
const MIN_RTT_WINDOW: Time = Time::from_secs(10);
/// Rounds in a row in one direction before the velocity doubles (section 2.1, step 4).
const STEADY_ROUNDS: u32 = 3;
/// Rounds within which the queue must have been nearly empty, and rounds over which the longest
/// round-trip time counts (section 2.2).
const EMPTY_ROUNDS: u64 = 5;
const SWING_ROUNDS: u64 = 4;
/// Nearly empty: a tenth of the swing (section 2.2).
const NEARLY_EMPTY: f64 = 0.1;
/// The least window, in segments.
const LEAST: f64 = 2.0;

/// What traces are told.
const STATE: &[StateColumn] = &[
    StateColumn::word(
        "phase",
        &["slow_start", "default", "competitive"],
        "Slow start, or the mode.",
    ),
    StateColumn::number(
        "delta",
        "`delta` in force: 1/delta segments stay in the queue.",
    ),
    StateColumn::number("velocity", "Velocity `v` of the window."),
    StateColumn::flag("up", "Whether the window has moved up of late."),
    StateColumn::count(
        "standing_rtt_ns",
        "Smallest round-trip time of half a round; null before the first.",
    ),
    BASE_RTT,
];

/// How the window has moved of late.
#[derive(Clone, Copy, Debug)]
struct Velocity {
    /// `v`.
    factor: f64,
    up: bool,
    rounds: u32,
    /// The window when the round began, and where the round ends.
    from: f64,
    round_end: u64,
}

impl Velocity {
    /// What was gathered in one direction is not spent in the other: without this, a round that
    /// turns would go as fast as the rounds before.
    fn turn(&mut self, up: bool) {
        if up != self.up && self.factor > 1.0 {
            self.factor = 1.0;
            self.rounds = 0;
            self.up = up;
        }
    }
}

/// The variant at one flow. Windows are in segments.
struct Copa {
    mss: f64,
    cwnd: f64,
    most: f64,
    /// In bytes.
    ssthresh: u64,
    slow_start: bool,
    /// `delta` of the default mode, and the one in force.
    default_delta: f64,
    delta: f64,
    switches: bool,
    competes: bool,
    velocity: Velocity,
    standing: Standing,
    /// Of the negative round-trip time, in nanoseconds.
    min_rtt: WindowedMax,
    max_rtt: WindowedMax,
    /// When the queue was last nearly empty.
    emptied: Time,
    /// Whether this round had a loss: 1/delta does not grow then.
    lost: bool,
    pacing_rate: Option<Rate>,
    prior: Option<(f64, u64, bool)>,
}

impl Copa {
    fn new(config: &Config) -> Copa {
        let mss = config.mss as f64;
        let cwnd = config.initial_window as f64 / mss;
        let delta = config.params.get("delta");
        Copa {
            mss,
            cwnd,
            most: MAX_WINDOW as f64 / mss,
            ssthresh: config.initial_ssthresh,
            slow_start: true,
            default_delta: delta,
            delta,
            switches: config.params.get("mode_switching") > 0.0,
            competes: false,
            velocity: Velocity {
                factor: 1.0,
                up: true,
                rounds: 0,
                from: cwnd,
                round_end: 0,
            },
            standing: Standing::default(),
            min_rtt: WindowedMax::default(),
            max_rtt: WindowedMax::default(),
            emptied: Time::ZERO,
            lost: false,
            pacing_rate: None,
            prior: None,
        }
    }

    /// The smallest round-trip time of ten seconds.
    fn base(&self) -> Time {
        Time::from_nanos(u64::MAX - self.min_rtt.get())
    }

    fn measure(&mut self, now: Time, rtt: Time, srtt: Time) {
        let (at, nanos) = (now.as_nanos(), rtt.as_nanos());
        self.min_rtt
            .update(MIN_RTT_WINDOW.as_nanos(), at, u64::MAX - nanos);
        self.max_rtt
            .update(srtt.as_nanos() * SWING_ROUNDS, at, nanos);
        self.standing.update(now, rtt, srtt / 2);
    }

    /// Section 2.2: among its like the queue is nearly empty once in five rounds.
    fn switch_mode(&mut self, now: Time, queueing: Time, srtt: Time) {
        let swing = self.max_rtt.get().saturating_sub(self.base().as_nanos());
        if (queueing.as_nanos() as f64) < NEARLY_EMPTY * swing as f64 {
            self.emptied = now;
        }
        let competes = self.switches && now - self.emptied > srtt * EMPTY_ROUNDS;
        if competes != self.competes {
            self.competes = competes;
            self.delta = self.default_delta;
        }
    }

    /// Section 2.1, step 4, and AIMD of 1/delta once a round (section 2.2).
    fn end_round(&mut self, ack: &AckSample) {
        let up = self.cwnd > self.velocity.from;
        let velocity = &mut self.velocity;
        if up == velocity.up {
            velocity.rounds += 1;
            if velocity.rounds >= STEADY_ROUNDS {
                velocity.factor = (velocity.factor * 2.0).min(self.most);
            }
        } else {
            velocity.factor = 1.0;
            velocity.rounds = 0;
        }
        velocity.up = up;
        velocity.from = self.cwnd;
        velocity.round_end = ack.snd_nxt;
        if self.competes && !self.lost {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        }
        self.lost = false;
    }

    /// Section 2.1, steps 2 and 3.
    fn step(&mut self, ack: &AckSample, standing: Time, queueing: Time) {
        let acked = ack.newly_delivered as f64 / self.mss;
        // cwnd / standing <= 1 / (delta queueing), without the divisions.
        let below = self.cwnd * self.delta * queueing.as_secs_f64() <= standing.as_secs_f64();
        if self.slow_start {
            if below {
                if ack.cwnd_limited {
                    self.cwnd += acked;
                }
                return;
            }
            self.slow_start = false;
            self.ssthresh = self.cwnd();
        }
        self.velocity.turn(below);
        let change = self.velocity.factor * acked / (self.delta * self.cwnd);
        if !below {
            self.cwnd -= change;
        } else if ack.cwnd_limited {
            self.cwnd += change;
        }
    }

    /// The default mode answers no loss, the competitive one halves 1/delta once a round
    /// (section 2.2).
    fn note_loss(&mut self) {
        if self.competes && !self.lost {
            self.delta = (self.delta * 2.0).min(self.default_delta);
        }
        self.lost = true;
    }

    fn bound(&mut self) {
        self.cwnd = self.cwnd.clamp(LEAST.min(self.most), self.most);
    }
}

impl CongestionControl for Copa {
    fn on_established(&mut self, rtt: Option<Time>, cx: &mut Cx<'_>) {
        self.emptied = cx.now;
        if let Some(rtt) = rtt {
            self.measure(cx.now, rtt, rtt);
            self.pace(rtt);
        }
    }

    fn on_ack(&mut self, ack: &AckSample, cx: &mut Cx<'_>) {
        if let Some(rtt) = ack.rtt {
            self.measure(cx.now, rtt, ack.srtt);
        }
        let Some(standing) = self.standing.get() else {
            // Nothing is known of the delay: slow start goes on.
            self.step(ack, Time::ZERO, Time::ZERO);
            return self.bound();
        };
        let queueing = standing - self.base().min(standing);
        self.switch_mode(cx.now, queueing, ack.srtt);
        if ack.newly_lost > 0 {
            self.note_loss();
        }
        if ack.snd_una >= self.velocity.round_end {
            self.end_round(ack);
        }
        self.step(ack, standing, queueing);
        self.bound();
        self.pace(standing);
    }

    /// Losses are seen by the acknowledgements that tell of them, for one episode of recovery may
    /// have many rounds of them.
    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        if kind == Congestion::Rto && !at.repeated {
            self.prior = Some((self.cwnd, self.ssthresh, self.slow_start));
        }
        match kind {
            Congestion::Rto => {
                self.cwnd = 1.0;
                self.slow_start = true;
                self.velocity.factor = 1.0;
                self.velocity.rounds = 0;
                self.delta = self.default_delta;
            }
            Congestion::Loss | Congestion::Ecn => {}
        }
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        if let Some((cwnd, ssthresh, slow_start)) = self.prior.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = ssthresh;
            self.slow_start = slow_start;
        }
    }

    /// What was measured before the pause tells nothing of the queue now.
    fn on_restart(&mut self, _idle: Time, _rto: Time, cx: &mut Cx<'_>) {
        self.emptied = cx.now;
        self.velocity.factor = 1.0;
        self.velocity.rounds = 0;
    }

    fn cwnd(&self) -> u64 {
        (self.cwnd * self.mss) as u64
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn state_columns(&self) -> &'static [StateColumn] {
        STATE
    }

    fn tell_state(&self, values: &mut [f64]) {
        let measured = self.min_rtt.get() > 0;
        let nanos = |time: Option<Time>| counted(time.map(Time::as_nanos));
        values.copy_from_slice(&[
            f64::from(u8::from(!self.slow_start) + u8::from(!self.slow_start && self.competes)),
            self.delta,
            self.velocity.factor,
            flagged(self.velocity.up),
            nanos(self.standing.get()),
            nanos(measured.then(|| self.base())),
        ]);
    }
}

impl Copa {
    /// Twice the window a round trip (section 2.1): bursts are spread, and the window decides.
    fn pace(&mut self, standing: Time) {
        let seconds = standing.as_secs_f64().max(1e-9);
        let bits = 16.0 * self.cwnd * self.mss / seconds;
        // Nonsense becomes one bit a second, which the sender refuses. A petabit is no limit.
        self.pacing_rate = Rate::from_bps((bits.min(1e15) as u64).max(1));
    }
}
