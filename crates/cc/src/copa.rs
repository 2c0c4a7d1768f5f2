//! Copa: the rate follows a target that falls with the queueing delay, `1 / (delta d)` segments a
//! second, so that flows among themselves hold `1 / delta` segments each in the queue (Arun and
//! Balakrishnan 2018).
//!
//! Reacts to delay; to loss only beside flows that fill the queue, which it detects, and to
//! timeouts. One form, the paper's in real numbers, on every stack. What the paper leaves open:
//! a timeout begins slow start at one segment, as everywhere; the window never falls below two.

use cclab_units::parameter::Parameter;
use cclab_units::{Measure, Rate, Time};

use crate::variant::{EcnFeedback, Signal, Variant, WindowInRecovery};
use crate::window::MAX_WINDOW;
use crate::windowed_max::WindowedMax;
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

mod standing;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::{Arithmetic, SlowStart};

    const MSS: u64 = 1_000;

    fn flow() -> Bench<Copa> {
        let config = config_of(&VARIANT, Arithmetic::Bytes, SlowStart::Plain);
        let mut flow = Bench::new(Copa::new(&config));
        flow.established(Time::from_millis(100));
        flow
    }

    /// One segment acknowledged after `rtt` ms; the round ends with the next one.
    fn told(rtt: u64) -> AckSample {
        AckSample {
            rtt: Some(Time::from_millis(rtt)),
            srtt: Time::from_millis(rtt),
            snd_nxt: u64::MAX,
            ..ack(MSS)
        }
    }

    #[test]
    fn it_paces_at_twice_the_window() {
        let flow = flow();
        // 10 segments of 1000 bytes in 100 ms: 800 kbit/s, twice.
        assert_eq!(flow.cc.pacing_rate(), Rate::from_bps(1_600_000));
    }

    /// Section 2.1 by hand: with 10 segments, 100 ms and delta 1/2 the target is 1 / (0.5 d). At
    /// d = 10 ms it is 200 segments a second, and the rate 10 / 110 ms = 91; at d = 100 ms 20, and
    /// the rate 10 / 200 ms = 50.
    #[test]
    fn the_window_moves_towards_the_target() {
        let mut flow = flow();
        flow.now += Time::from_millis(150);
        flow.ack(&told(110));
        assert_eq!(
            flow.cc.cwnd(),
            11_000,
            "below the target in slow start: one more"
        );
        flow.now += Time::from_millis(150);
        flow.ack(&told(200));
        // Slow start is over; down by v / (delta w) = 1 / (0.5 * 11).
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (10_818, 11_000));
        flow.now += Time::from_millis(150);
        flow.ack(&told(110));
        // Up again, by 1 / (0.5 * 10.818).
        assert_eq!(flow.cc.cwnd(), 11_003);
    }

    #[test]
    fn the_velocity_doubles_after_three_rounds_in_one_direction() {
        let mut flow = flow();
        flow.cc.slow_start = false;
        let mut factors = Vec::new();
        for round in 0..8 {
            flow.now += Time::from_millis(100);
            flow.ack(&AckSample {
                snd_una: round * 10 * MSS,
                snd_nxt: (round + 1) * 10 * MSS,
                ..told(100)
            });
            factors.push(flow.cc.velocity.factor);
        }
        // The first round begins where it stands: it counts as down. Then three up.
        assert_eq!(factors, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 16.0]);
        flow.now += Time::from_secs(11);
        for round in 8..10 {
            flow.now += Time::from_millis(100);
            flow.cc.velocity.from = 1e6; // the window fell
            flow.ack(&AckSample {
                snd_una: round * 10 * MSS,
                snd_nxt: (round + 1) * 10 * MSS,
                ..told(100)
            });
            assert_eq!(flow.cc.velocity.factor, 1.0);
        }
    }

    /// Section 2.2: five rounds of a full queue show others that fill it; 1/delta then grows by one
    /// a round and halves at a loss, and is the default's once the queue is empty again.
    #[test]
    fn it_competes_where_the_queue_never_empties() {
        let mut flow = flow();
        flow.cc.slow_start = false;
        let mut round = 0;
        let mut next = |flow: &mut Bench<Copa>, rtt| {
            round += 1;
            flow.now += Time::from_millis(rtt);
            flow.ack(&AckSample {
                snd_una: round * 10 * MSS,
                snd_nxt: (round + 1) * 10 * MSS,
                ..told(rtt)
            });
        };
        for _ in 0..5 {
            next(&mut flow, 200);
            assert!(!flow.cc.competes);
        }
        next(&mut flow, 200);
        assert!(flow.cc.competes);
        assert_eq!(flow.cc.delta, 1.0 / 3.0);
        next(&mut flow, 200);
        assert_eq!(flow.cc.delta, 1.0 / 4.0);
        let loss = AckSample {
            newly_lost: MSS,
            ..told(200)
        };
        flow.ack(&loss);
        assert_eq!(flow.cc.delta, 0.5);
        next(&mut flow, 200);
        assert_eq!(flow.cc.delta, 0.5, "no growth in a round with a loss");
        for _ in 0..6 {
            next(&mut flow, 200);
        }
        assert_eq!(flow.cc.delta, 1.0 / 8.0);
        flow.ack(&loss);
        flow.ack(&loss);
        assert_eq!(flow.cc.delta, 1.0 / 4.0, "once a round");
        next(&mut flow, 100);
        assert!(!flow.cc.competes);
    }

    #[test]
    fn a_loss_in_default_mode_changes_nothing() {
        let mut flow = flow();
        flow.congestion(Congestion::Loss, &congestion(10 * MSS));
        assert_eq!((flow.cc.cwnd(), flow.cc.delta), (10_000, 0.5));
        flow.congestion(Congestion::Rto, &congestion(10 * MSS));
        assert_eq!(flow.cc.cwnd(), 1_000);
        flow.undo();
        assert_eq!(flow.cc.cwnd(), 10_000);
    }

    /// A velocity that was gathered is lost with its direction; a velocity of one has none to lose.
    #[test]
    fn what_was_gathered_in_one_direction_is_not_spent_in_the_other() {
        let turned = |factor, up| {
            let mut velocity = Velocity {
                factor,
                rounds: 4,
                ..flow().cc.velocity
            };
            velocity.turn(up);
            (velocity.factor, velocity.rounds, velocity.up)
        };
        assert_eq!(turned(8.0, true), (8.0, 4, true));
        assert_eq!(turned(8.0, false), (1.0, 0, false));
        assert_eq!(turned(1.0, false), (1.0, 4, true));
    }

    #[test]
    fn a_pause_and_a_timeout_forget_the_velocity() {
        let mut flow = flow();
        flow.cc.velocity.factor = 8.0;
        flow.cc.velocity.rounds = 5;
        flow.now += Time::from_secs(3);
        flow.restart(Time::from_secs(3), Time::from_secs(1));
        let velocity = &flow.cc.velocity;
        assert_eq!((velocity.factor, velocity.rounds), (1.0, 0));
        assert_eq!(flow.cc.emptied, flow.now);
        flow.cc.velocity.factor = 8.0;
        flow.cc.slow_start = false;
        flow.cc.ssthresh = 9 * MSS;
        flow.congestion(Congestion::Rto, &congestion(10 * MSS));
        assert_eq!((flow.cc.velocity.factor, flow.cc.slow_start), (1.0, true));
        flow.cc.ssthresh = 5 * MSS;
        // What a repeated timeout finds is not what was there before.
        flow.congestion(
            Congestion::Rto,
            &CongestionSample {
                repeated: true,
                ..congestion(10 * MSS)
            },
        );
        flow.undo();
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (10_000, 9_000));
        assert!(!flow.cc.slow_start);
    }
}
