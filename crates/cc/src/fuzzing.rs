//! The laws of the trait, checked on every variant over operations that bytes spell out.

use cclab_interface::StateKind;
use cclab_units::parameter::Params;
use cclab_units::{Stream, Time};

use crate::{
    AckSample, Arithmetic, Config, Congestion, CongestionControl, CongestionSample, Cx, Departure,
    LostSegment, RateSample, Repair, SlowStart, Timestamps, Variant, WindowInRecovery, simulated,
};

const MSS: u64 = 1_448;
const ARITHMETICS: [Arithmetic; 4] = [
    Arithmetic::Bytes,
    Arithmetic::Segments,
    Arithmetic::PerAckBytes,
    Arithmetic::PerAckSegments,
];
const SLOW_STARTS: [SlowStart; 3] = [
    SlowStart::Plain,
    SlowStart::HyStartPlusPlus,
    SlowStart::LinuxHyStart,
];
/// Counts from here on are no longer exact in a number with a fraction.
const MOST_COUNT: f64 = (1u64 << 53) as f64;

/// Runs `data` as operations on every variant of the simulator in every arithmetic.
///
/// # Panics
///
/// When a law does not hold: the window is at least a segment and bounded; congestion never
/// widens it; recovery never widens it; undo gives back what the reduction took; the same
/// operations give the same windows.
pub fn fuzz_variant(data: &[u8]) {
    for variant in simulated() {
        try_variant(variant, data);
    }
}

/// As [`fuzz_variant`], on `variant`.
pub(crate) fn try_variant(variant: &Variant, data: &[u8]) {
    for arithmetic in ARITHMETICS {
        for slow_start in SLOW_STARTS {
            let config = Config {
                mss: MSS,
                initial_window: 10 * MSS,
                initial_ssthresh: u64::MAX,
                slow_start,
                arithmetic,
                params: Params::defaults(variant.params),
            };
            let first = Model::new(variant, config).run(data);
            let second = Model::new(variant, config).run(data);
            assert_eq!(first, second, "{} is not deterministic", variant.name);
        }
    }
}

/// A sender reduced to what a variant sees of it.
struct Model {
    cc: Box<dyn CongestionControl>,
    config: Config,
    reacts_to_delay: bool,
    grows_unused: bool,
    ends_at_its_estimate: bool,
    /// Its window holds in recovery: neither loss nor undo moves it by a law.
    owns_window: bool,
    delivered: u64,
    lost: u64,
    most_after_timeout: u64,
    label: String,
    rng: Stream,
    now: Time,
    srtt: Time,
    snd_una: u64,
    snd_nxt: u64,
    windows: Vec<(u64, u64)>,
}

impl Model {
    fn new(variant: &Variant, config: Config) -> Model {
        Model {
            cc: (variant.build.expect("a variant of the simulator"))(&config),
            config,
            reacts_to_delay: variant.departs(Departure::NarrowedByDelay),
            grows_unused: variant.departs(Departure::GrowsUnused),
            ends_at_its_estimate: variant.departs(Departure::EndsAtItsEstimate),
            owns_window: variant.window == WindowInRecovery::Own,
            delivered: 0,
            lost: 0,
            most_after_timeout: match variant.departs(Departure::RestartsByTwo) {
                true => 2 * MSS,
                false => MSS,
            },
            label: format!(
                "{}, {:?}, {:?}",
                variant.name, config.arithmetic, config.slow_start
            ),
            rng: Stream::new(1, variant.name),
            now: Time::from_millis(1),
            srtt: Time::from_millis(40),
            snd_una: 0,
            snd_nxt: 0,
            windows: Vec::new(),
        }
    }

    /// What it tells traces is what its columns declare.
    fn check_state(&self) {
        let columns = self.cc.state_columns();
        let mut values = vec![f64::NAN; columns.len()];
        self.cc.tell_state(&mut values);
        for (column, value) in columns.iter().zip(values) {
            let fits = match column.kind {
                _ if value.is_nan() => true, // absent
                StateKind::Number => value.is_finite(),
                StateKind::Count => value >= 0.0 && value.fract() == 0.0 && value < MOST_COUNT,
                StateKind::Flag => value == 0.0 || value == 1.0,
                StateKind::Word(words) => {
                    words.get(value as usize).is_some() && value.fract() == 0.0
                }
            };
            assert!(fits, "{}: {} is {value}", self.label, column.name);
        }
    }

    /// Three bytes are one operation; returns cwnd and ssthresh after each.
    fn run(mut self, data: &[u8]) -> Vec<(u64, u64)> {
        let measured = data.len().is_multiple_of(2).then_some(self.srtt);
        let mut cx = Cx {
            now: self.now,
            rng: &mut self.rng,
        };
        self.cc.on_established(measured, &mut cx);
        for operation in data.chunks_exact(3) {
            self.step(operation[0], operation[1], operation[2]);
            let (cwnd, ssthresh) = (self.cc.cwnd(), self.cc.ssthresh());
            assert!(cwnd >= MSS, "{}: {cwnd} is less than a segment", self.label);
            assert!(cwnd < 1 << 50, "{}: {cwnd} has no bound", self.label);
            assert!(ssthresh >= MSS, "{}: ssthresh {ssthresh}", self.label);
            if let Some(rate) = self.cc.pacing_rate() {
                let sane = (8..=1_000_000_000_000_000).contains(&rate.bps());
                assert!(sane, "{}: paces at {rate}/s", self.label);
            }
            self.check_state();
            self.windows.push((cwnd, ssthresh));
        }
        self.windows
    }

    fn step(&mut self, kind: u8, a: u8, b: u8) {
        // From microseconds to seconds, so that timers and rounds are all crossed.
        self.now += Time::from_micros(u64::from(a) << (b % 16));
        // The sender fills its window before it hears back.
        let window = self.cc.cwnd().min(1 << 30);
        self.snd_nxt = self.snd_nxt.max(self.snd_una + window);
        match kind % 16 {
            0..=9 => self.ack(u64::from(a) + 1, b),
            10 => self.congestion(Congestion::Loss, a, b),
            11 => self.congestion(Congestion::Ecn, a, b),
            12 => self.congestion(Congestion::Rto, a, b),
            13 => self.reduce_and_undo(a),
            14 => self.cc.on_undo(&mut Cx {
                now: self.now,
                rng: &mut self.rng,
            }),
            _ => {
                let idle = Time::from_millis(u64::from(a) * 10);
                self.now += idle;
                let mut cx = Cx {
                    now: self.now,
                    rng: &mut self.rng,
                };
                self.cc
                    .on_restart(idle, self.srtt * (u64::from(b) + 1), &mut cx);
            }
        }
    }

    fn ack(&mut self, count: u64, bits: u8) {
        let bytes = (count * MSS / 4).min(self.snd_nxt - self.snd_una);
        self.snd_una += bytes;
        let rtt = Time::from_micros(1 + count * (u64::from(bits) + 1));
        self.srtt = (self.srtt * 7 + rtt) / 8;
        let newly_lost = if bits & 96 == 96 { bytes / 2 } else { 0 };
        if newly_lost > 0 && self.owns_window {
            self.lose(newly_lost, bits);
        }
        self.lost += newly_lost;
        self.delivered += bytes;
        let rate = (bits & 128 == 0).then(|| RateSample {
            delivered: bytes + u64::from(bits) * MSS,
            interval: rtt,
            prior_delivered: self.delivered.saturating_sub(bytes * 8),
            app_limited: bits & 5 == 5,
            tx_in_flight: self.cc.cwnd().min(1 << 30),
            lost: newly_lost,
        });
        let ack = AckSample {
            newly_acked: bytes,
            newly_delivered: bytes,
            rtt: (bits & 1 == 0).then_some(rtt),
            stamps: (bits & 16 == 0).then(|| {
                let now = self.now.as_millis() as u32;
                let echo = now.wrapping_sub(rtt.as_millis() as u32);
                let value = echo.wrapping_add(u32::from(bits)); // also from the future
                Timestamps { value, echo, now }
            }),
            srtt: self.srtt,
            min_rtt: Time::from_micros(50),
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            cwnd_limited: bits & 2 == 0,
            in_recovery: bits & 12 == 12,
            repair: match bits & 12 {
                12 => Repair::Losses,
                8 => Repair::Timeout,
                _ => Repair::Nothing,
            },
            newly_lost,
            lost: self.lost,
            delivered: self.delivered,
            in_flight: u64::from(bits) * MSS,
            prior_in_flight: u64::from(bits) * MSS + bytes,
            ece: bits & 72 == 72,
            newly_marked: if bits & 72 == 72 { bytes } else { 0 },
            rate,
            ..AckSample::default()
        };
        let before = self.cc.cwnd();
        self.cc.on_ack(
            &ack,
            &mut Cx {
                now: self.now,
                rng: &mut self.rng,
            },
        );
        if self.owns_window {
            return;
        }
        let narrowed = self.cc.cwnd() < before;
        assert!(
            !narrowed || self.reacts_to_delay,
            "{}: an ACK narrowed the window",
            self.label
        );
        let no_limit = matches!(
            self.config.arithmetic,
            Arithmetic::PerAckBytes | Arithmetic::PerAckSegments
        );
        let unused = !(ack.cwnd_limited || no_limit || self.grows_unused);
        if ack.in_recovery || unused {
            assert!(
                self.cc.cwnd() <= before,
                "{}: grew in recovery or unused",
                self.label
            );
        }
    }

    fn lose(&mut self, bytes: u64, bits: u8) {
        let segment = LostSegment {
            len: bytes,
            tx_in_flight: u64::from(bits) * MSS + bytes,
            lost: bytes * (1 + u64::from(bits & 1)),
            app_limited: bits & 2 == 0,
        };
        let mut cx = Cx {
            now: self.now,
            rng: &mut self.rng,
        };
        self.cc.on_lost(&segment, &mut cx);
    }

    fn congestion(&mut self, kind: Congestion, a: u8, b: u8) {
        let before = self.cc.cwnd();
        // ns-3's Reno takes half of all that is outstanding, so that the law needs a flight
        // within the window; elsewhere it may be above.
        let most = match self.config.arithmetic {
            Arithmetic::PerAckBytes => before,
            _ => before * 4,
        };
        let at = CongestionSample {
            flight_size: (u64::from(a) * MSS).min(most),
            in_flight: 0,
            snd_nxt: self.snd_nxt,
            repeated: b & 1 == 1,
        };
        self.cc.on_congestion(
            kind,
            &at,
            &mut Cx {
                now: self.now,
                rng: &mut self.rng,
            },
        );
        if self.owns_window {
            return;
        }
        // A threshold of two segments may lift a window of one.
        let law = before.max(2 * MSS);
        assert!(
            self.cc.cwnd() <= law,
            "{}: {kind:?} widened the window",
            self.label
        );
        if kind == Congestion::Rto {
            assert!(
                self.cc.cwnd() <= self.most_after_timeout,
                "{}: the window of a timeout",
                self.label
            );
        }
    }

    fn reduce_and_undo(&mut self, a: u8) {
        let before = (self.cc.cwnd(), self.cc.ssthresh());
        let kind = [Congestion::Loss, Congestion::Ecn, Congestion::Rto][usize::from(a % 3)];
        let at = CongestionSample {
            flight_size: before.0,
            in_flight: 0,
            snd_nxt: self.snd_nxt,
            repeated: false,
        };
        let mut cx = Cx {
            now: self.now,
            rng: &mut self.rng,
        };
        self.cc.on_congestion(kind, &at, &mut cx);
        let reduced = (self.cc.cwnd(), self.cc.ssthresh());
        self.cc.on_undo(&mut cx);
        if self.owns_window || self.ends_at_its_estimate {
            return;
        }
        // What the reduction took comes back. What it gave stays: the least threshold of two
        // segments may lie above the state before.
        let expected = (before.0.max(reduced.0), before.1.max(reduced.1));
        let after = (self.cc.cwnd(), self.cc.ssthresh());
        assert_eq!(after.0, expected.0, "{}: undo of {kind:?}", self.label);
        assert!(
            (before.1..=expected.1).contains(&after.1),
            "{}: {kind:?}",
            self.label
        );
    }
}
