//! PIE's controller (RFC 8033, sections 4.1 to 4.4 and 5), for one queue.
//!
//! The delay is measured as Linux does by default, by the sojourn time of the last packet that
//! left (RFC 8033, section 4.3, permits timestamps), and what that implies is Linux's too: no update
//! while a backlog has a delay of zero, and a decay of the probability after two updates that both
//! saw none.

use cclab_units::{Stream, Time};

use crate::discipline::Config;
use crate::ticks::Ticks;
use crate::{Descriptor, MTU};

/// The probability below which the last of `SCALES` applies, and what steps are divided by there
/// (RFC 8033, section 4.2): the lower the probability, the smaller its steps.
const SCALES: [(f64, f64); 6] = [
    (0.000_001, 2048.0),
    (0.000_01, 512.0),
    (0.000_1, 128.0),
    (0.001, 32.0),
    (0.01, 8.0),
    (0.1, 2.0),
];

/// The largest step up once the probability has reached 0.1 (RFC 8033, section 5.5).
const LARGEST_STEP: f64 = 0.02;
/// Above this delay the probability grows by `LARGEST_STEP` more (Linux's `pie_calculate_probability`).
const HIGH_DELAY: Time = Time::from_millis(250);
/// What an update leaves of the probability while there is no delay: 1 - 1/64 (RFC 8033, section 4.2).
const DECAY: f64 = 1.0 - 1.0 / 64.0;
/// Below half the target nothing is dropped unless the probability has reached this (RFC 8033,
/// section 4.1).
const WORK_CONSERVING: f64 = 0.2;
/// The sum of the probabilities since the last drop, below which none is due, and from which on one
/// is overdue (RFC 8033, section 5.4).
const DUE: f64 = 0.85;
const OVERDUE: f64 = 8.5;

/// What is the same for all queues under one PIE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    target: Time,
    tupdate: Time,
    /// Hz.
    alpha: f64,
    /// Hz.
    beta: f64,
    ecn: bool,
    ecn_threshold: f64,
    bytemode: bool,
    derandomize: bool,
    max_burst: Time,
    largest: u64,
}

impl Law {
    /// The law that `config` asks for.
    pub fn new(config: &Config, ecn_threshold: f64) -> Law {
        Law {
            target: config.time("target"),
            tupdate: config.time("tupdate"),
            alpha: config.params.get("alpha") / 16.0,
            beta: config.params.get("beta") / 16.0,
            ecn: config.flag("ecn"),
            ecn_threshold,
            bytemode: config.flag("bytemode"),
            derandomize: config.flag("derandomize"),
            max_burst: config.time("max_burst"),
            largest: MTU,
        }
    }

    /// Takes notice of a packet's size.
    pub fn see(&mut self, packet: &Descriptor) {
        self.largest = self.largest.max(u64::from(packet.wire_len));
    }

    /// The step of the probability for a `delay` that was `before` an update ago.
    fn step(&self, probability: f64, delay: Time, before: Time) -> f64 {
        let seconds = Time::as_secs_f64;
        let step = self.alpha * (seconds(delay) - seconds(self.target))
            + self.beta * (seconds(delay) - seconds(before));
        let scale = SCALES.iter().find(|&&(below, _)| probability < below);
        let step = step / scale.map_or(1.0, |&(_, scale)| scale);
        let step = match probability >= 0.1 {
            true => step.min(LARGEST_STEP),
            false => step,
        };
        match delay > HIGH_DELAY {
            true => step + LARGEST_STEP,
            false => step,
        }
    }
}

/// What PIE knows of one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pie {
    probability: f64,
    /// The sum of the probabilities since the last drop.
    accumulated: f64,
    delay: Time,
    delay_before: Time,
    burst: Time,
    ticks: Ticks,
}

impl Pie {
    /// A controller that has seen nothing.
    pub fn new(law: &Law) -> Pie {
        Pie {
            probability: 0.0,
            accumulated: 0.0,
            delay: Time::ZERO,
            delay_before: Time::ZERO,
            burst: law.max_burst,
            ticks: Ticks::every(law.tupdate),
        }
    }

    /// Updates that were due by `now`, of a queue that has held `bytes` since the last event.
    pub fn catch_up(&mut self, law: &Law, bytes: u64, now: Time) {
        while self.ticks.due(now).is_some() {
            self.update(law, bytes);
            if self.is_at_rest(law) {
                self.ticks.pass(now);
            }
        }
    }

    /// Whether an update changes nothing.
    fn is_at_rest(&self, law: &Law) -> bool {
        self.probability == 0.0
            && self.delay == Time::ZERO
            && self.delay_before == Time::ZERO
            && self.burst == law.max_burst
    }

    fn update(&mut self, law: &Law, bytes: u64) {
        let nothing_known = self.delay == Time::ZERO && bytes > 0;
        let step = law.step(self.probability, self.delay, self.delay_before);
        let mut probability = (self.probability + step).clamp(0.0, 1.0);
        let idle = self.delay == Time::ZERO && self.delay_before == Time::ZERO;
        if idle && !nothing_known {
            probability *= DECAY;
        }
        self.probability = probability;
        self.burst = self.burst - law.tupdate;
        let low = law.target / 2;
        if probability == 0.0 && self.delay < low && self.delay_before < low {
            self.burst = law.max_burst;
            self.accumulated = 0.0;
        }
        self.delay_before = self.delay;
    }

    /// Whether the arrival of `packet` at a queue of `bytes` is to be dropped or marked.
    pub fn hits(&mut self, law: &Law, bytes: u64, packet: &Descriptor, rng: &mut Stream) -> bool {
        let calm = self.delay < law.target / 2 && self.probability < WORK_CONSERVING;
        if self.burst > Time::ZERO || calm || bytes < 2 * law.largest {
            return false;
        }
        let size = f64::from(packet.wire_len) / law.largest as f64;
        let probability = self.probability * if law.bytemode { size } else { 1.0 };
        if !law.derandomize {
            return rng.chance(probability);
        }
        if probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += probability;
        if self.accumulated < DUE {
            return false;
        }
        let hit = self.accumulated >= OVERDUE || rng.chance(probability);
        if hit {
            self.accumulated = 0.0;
        }
        hit
    }

    /// Whether what is hit may be marked, if it is capable.
    pub fn may_mark(&self, law: &Law) -> bool {
        law.ecn && self.probability <= law.ecn_threshold
    }

    /// A packet was dropped, for whatever reason.
    pub fn dropped(&mut self) {
        self.accumulated = 0.0;
    }

    /// A packet left after `sojourn`, and `bytes` stay behind.
    pub fn departed(&mut self, sojourn: Time, bytes: u64) {
        self.delay = if bytes > 0 { sojourn } else { Time::ZERO };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::Limit;
    use crate::testing::{config, packet};

    fn law(given: &[(&str, f64)]) -> Law {
        let config = config("pie", Limit::Packets(1000), given);
        Law::new(&config, super::super::ECN_THRESHOLD)
    }

    /// RFC 8033, section 4.2, by hand: 0.125 x (20 ms - 15 ms) + 1.25 x (20 ms - 12 ms) = 0.010625,
    /// divided by 2048 at a probability of zero, by 2 at 0.05, by nothing at 0.1.
    #[test]
    fn steps_are_smaller_where_the_probability_is() {
        let [delay, before] = [20, 12].map(Time::from_millis);
        for (probability, divisor) in [
            (0.0, 2048.0),
            (0.000_005, 512.0),
            (0.000_05, 128.0),
            (0.000_5, 32.0),
            (0.005, 8.0),
            (0.05, 2.0),
            (0.1, 1.0),
            (0.5, 1.0),
        ] {
            let step = law(&[]).step(probability, delay, before);
            assert!((step - 0.010_625 / divisor).abs() < 1e-15, "{probability}");
        }
    }

    #[test]
    fn steps_up_are_bounded_once_the_probability_is_high() {
        let [delay, before] = [200, 100].map(Time::from_millis);
        // 0.125 x 0.185 + 1.25 x 0.1 = 0.148125.
        let step = |probability| law(&[]).step(probability, delay, before);
        assert!((step(0.09) - 0.148_125 / 2.0).abs() < 1e-12);
        assert_eq!(step(0.1), 0.02);
        let late = Time::from_millis(251);
        assert_eq!(law(&[]).step(0.1, late, before), 0.04);
    }

    #[test]
    fn the_probability_decays_when_there_is_no_delay() {
        let law = law(&[("alpha", 0.0), ("beta", 0.0)]);
        let mut pie = Pie {
            probability: 0.64,
            ..Pie::new(&law)
        };
        pie.catch_up(&law, 0, Time::from_millis(15));
        assert!((pie.probability - 0.63).abs() < 1e-12);
        // A backlog that nothing has left yet says nothing of the delay.
        pie.catch_up(&law, 1000, Time::from_millis(30));
        assert!((pie.probability - 0.63).abs() < 1e-12);
    }

    #[test]
    fn the_burst_allowance_runs_down_by_updates_and_is_renewed_by_calm() {
        let law = law(&[]);
        let mut pie = Pie::new(&law);
        pie.departed(Time::from_millis(20), 5000);
        pie.catch_up(&law, 5000, Time::from_millis(135));
        assert_eq!(pie.burst, Time::from_millis(15));
        pie.catch_up(&law, 5000, Time::from_millis(150));
        assert_eq!(pie.burst, Time::ZERO);
        pie.departed(Time::ZERO, 0);
        pie.catch_up(&law, 0, Time::from_secs(10));
        assert_eq!(pie.burst, Time::from_millis(150));
        assert!(pie.is_at_rest(&law));
    }

    /// RFC 8033, section 5.4: with derandomisation no drop comes before the probabilities of the
    /// arrivals add up to 0.85, and none later than 8.5.
    #[test]
    fn derandomised_drops_keep_their_distance() {
        let law = law(&[]);
        let mut rng = Stream::new(3, "pie");
        let mut pie = Pie {
            probability: 0.05,
            delay: Time::from_millis(20),
            burst: Time::ZERO,
            ..Pie::new(&law)
        };
        let mut gap = 0;
        let mut gaps = Vec::new();
        for _ in 0..20_000 {
            gap += 1;
            if pie.hits(&law, 50_000, &packet(0, 1000), &mut rng) {
                gaps.push(gap);
                gap = 0;
            }
        }
        assert!(gaps.len() > 200);
        assert!(gaps.iter().all(|gap| (17..=170).contains(gap)), "{gaps:?}");
    }

    #[test]
    fn without_derandomisation_drops_come_at_the_probability() {
        let law = law(&[("derandomize", 0.0), ("bytemode", 1.0)]);
        let mut rng = Stream::new(3, "pie");
        let mut pie = Pie {
            probability: 0.2,
            delay: Time::from_millis(20),
            burst: Time::ZERO,
            ..Pie::new(&law)
        };
        let mut hits = |bytes| {
            (0..20_000)
                .filter(|_| pie.hits(&law, 50_000, &packet(0, bytes), &mut rng))
                .count()
        };
        // Half a full packet has half its probability; standard errors are 57 and 42.
        assert!((3800..4200).contains(&hits(1514)));
        assert!((1850..2150).contains(&hits(757)));
    }

    /// RFC 8033, section 4.1: nothing is hit while the burst allowance lasts, while the delay is
    /// below half the target and the probability below 0.2, nor in a queue of less than two packets.
    #[test]
    fn a_short_queue_is_left_alone() {
        let law = law(&[("derandomize", 0.0)]);
        let hits = |probability, micros, burst, bytes| {
            let mut rng = Stream::new(3, "pie");
            let mut pie = Pie {
                probability,
                delay: Time::from_micros(micros),
                burst: Time::from_nanos(burst),
                ..Pie::new(&law)
            };
            (0..100).any(|_| pie.hits(&law, bytes, &packet(0, 1000), &mut rng))
        };
        assert!(hits(0.19, 7_500, 0, 3_028));
        assert!(!hits(0.19, 7_500, 1, 3_028), "the allowance lasts");
        assert!(!hits(0.19, 7_500, 0, 3_027), "less than two of 1514");
        assert!(!hits(0.19, 7_499, 0, 3_028), "calm");
        assert!(hits(0.2, 7_499, 0, 3_028));
        assert!(!hits(0.0, 7_500, 0, 3_028));
    }

    /// RFC 8033, section 5.4, at its bounds: from 0.85 on a hit is a matter of chance, from 8.5 on
    /// certain.
    #[test]
    fn a_drop_is_due_from_the_first_bound_and_certain_from_the_second() {
        let law = law(&[]);
        let mut rng = Stream::new(3, "pie");
        let pie = Pie {
            delay: Time::from_millis(20),
            burst: Time::ZERO,
            ..Pie::new(&law)
        };
        let mut hits = |probability, accumulated| {
            let mut pie = Pie {
                probability,
                accumulated,
                ..pie
            };
            let hit = pie.hits(&law, 50_000, &packet(0, 1000), &mut rng);
            (hit, pie.accumulated)
        };
        assert!((0..100).any(|_| hits(0.85, 0.0).0));
        assert!((0..100).any(|_| !hits(0.85, 0.0).0));
        assert_eq!(hits(0.25, 0.5), (false, 0.75));
        assert_eq!(hits(1e-9, 8.5), (true, 0.0));
        assert_eq!(hits(0.125, 8.375), (true, 0.0));
        let (hit, accumulated) = hits(1e-9, 8.4);
        assert!(!hit && accumulated > 8.4);
        assert_eq!(hits(0.0, 0.8), (false, 0.0));
    }
}
