//! From the average to the verdict on an arrival (Floyd and Jacobson 1993, sections 4 and 7), and
//! how the verdicts adapt (Floyd, Gummadi and Shenker, "Adaptive RED: An Algorithm for Increasing
//! the Robustness of RED's Active Queue Management", 2001).

use cclab_units::{Stream, Time};

use crate::red::average::Average;
use crate::ticks::Ticks;

/// Adaptive RED (2001), section 4: twice a second.
const ADAPTATION: Time = Time::from_millis(500);
/// Adaptive RED, section 4: the average is to stay between these parts of the way from min to max.
const HALFWAY: [f64; 2] = [0.4, 0.6];
/// Adaptive RED, section 4: bounds of the probability.
const BOUNDS: [f64; 2] = [0.01, 0.5];
/// Adaptive RED, section 4: the step up is this, or a quarter of the probability if that is less.
const STEP_UP: f64 = 0.01;
/// Adaptive RED, section 4: the factor of a step down.
const STEP_DOWN: f64 = 0.9;

/// Where RED begins to hit arrivals, and how often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Thresholds {
    /// The average from which on arrivals are hit.
    pub min: f64,
    /// The average from which on all are, or where the gentle slope begins.
    pub max: f64,
    /// The probability of a hit at `max`.
    pub probability: f64,
    /// Whether the probability grows to 1 between `max` and twice that.
    pub gentle: bool,
}

/// What is to become of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It enters the queue.
    Pass,
    /// It is dropped or marked at random.
    Early,
    /// It is dropped or marked because the average is too long.
    Forced,
}

/// RED without its queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detector {
    pub(super) thresholds: Thresholds,
    average: Average,
    /// Arrivals since the last hit, while the average is above min.
    count: u64,
    adaptation: Option<Ticks>,
}

impl Detector {
    /// A detector with `thresholds` in the unit of `average`.
    pub fn new(thresholds: Thresholds, average: Average, adaptive: bool) -> Detector {
        Detector {
            thresholds,
            average,
            count: 0,
            adaptation: adaptive.then(|| Ticks::every(ADAPTATION)),
        }
    }

    /// The verdict on an arrival that finds a queue of `length`.
    pub fn judge(&mut self, length: f64, now: Time, rng: &mut Stream) -> Verdict {
        let average = self.sample(length, now);
        self.judge_average(average, rng)
    }

    /// Takes in the length that an arrival finds.
    pub fn sample(&mut self, length: f64, now: Time) -> f64 {
        self.adapt(now);
        self.average.sample(length, now)
    }

    /// The verdict on an arrival, by the average.
    pub fn judge_average(&mut self, average: f64, rng: &mut Stream) -> Verdict {
        let probability = self.thresholds.probability_at(average);
        if probability <= 0.0 {
            if average < self.thresholds.min {
                self.count = 0;
            }
            return Verdict::Pass;
        }
        if probability >= 1.0 {
            self.count = 0;
            return Verdict::Forced;
        }
        // Section 7: with p / (1 - count p), count the arrivals since the last hit, gaps between
        // hits are uniform from 1 to 1/p instead of geometric.
        let passed = self.count as f64 * probability;
        let spread = match passed < 1.0 {
            true => probability / (1.0 - passed),
            false => 1.0,
        };
        if rng.chance(spread) {
            self.count = 0;
            return Verdict::Early;
        }
        self.count += 1;
        Verdict::Pass
    }

    /// The queue is empty from `now` on.
    pub fn idle_from(&mut self, now: Time) {
        self.adapt(now);
        self.average.idle_from(now);
    }

    /// Whether the average is above the lower threshold.
    pub fn is_above_min(&self, average: f64) -> bool {
        average > self.thresholds.min
    }

    /// Adapts the probability at the ticks up to `now`.
    fn adapt(&mut self, now: Time) {
        let Some(ticks) = &mut self.adaptation else {
            return;
        };
        while let Some(tick) = ticks.due(now) {
            let average = self.average.at(tick);
            self.thresholds.adapt_to(average);
            // Below its bound the probability falls no further, and while idle it does not grow.
            if average == 0.0 && self.thresholds.probability < BOUNDS[0] {
                ticks.pass(now);
            }
        }
    }
}

impl Thresholds {
    /// The probability of a hit at `average`; 1: every arrival.
    fn probability_at(&self, average: f64) -> f64 {
        let Thresholds {
            min,
            max,
            probability,
            gentle,
        } = *self;
        if average < min {
            0.0
        } else if average < max {
            probability * (average - min) / (max - min)
        } else if gentle && average < 2.0 * max {
            probability + (1.0 - probability) * (average - max) / max
        } else {
            1.0
        }
    }

    fn adapt_to(&mut self, average: f64) {
        let [low, high] = HALFWAY.map(|part| self.min + part * (self.max - self.min));
        let [least, most] = BOUNDS;
        if average > high && self.probability <= most {
            self.probability += STEP_UP.min(self.probability / 4.0);
        } else if average < low && self.probability >= least {
            self.probability *= STEP_DOWN;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLDS: Thresholds = Thresholds {
        min: 5.0,
        max: 15.0,
        probability: 0.02,
        gentle: false,
    };

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn the_probability_grows_linearly_from_min_to_max() {
        near(THRESHOLDS.probability_at(4.99), 0.0);
        near(THRESHOLDS.probability_at(5.0), 0.0);
        near(THRESHOLDS.probability_at(7.5), 0.005);
        near(THRESHOLDS.probability_at(10.0), 0.01);
        near(THRESHOLDS.probability_at(15.0), 1.0);
    }

    #[test]
    fn gently_it_grows_on_to_twice_max() {
        let gentle = Thresholds {
            gentle: true,
            ..THRESHOLDS
        };
        near(gentle.probability_at(10.0), 0.01);
        near(gentle.probability_at(15.0), 0.02);
        // Halfway between 15 and 30: 0.02 + 0.98 / 2.
        near(gentle.probability_at(22.5), 0.51);
        near(gentle.probability_at(30.0), 1.0);
    }

    /// Section 7: gaps between hits are uniform from 1 to 1/p.
    #[test]
    fn gaps_between_hits_are_uniform() {
        let mut rng = Stream::new(5, "red");
        let mut detector = Detector::new(THRESHOLDS, Average::new(1.0, 1.0), false);
        let mut gaps = Vec::new();
        let mut gap = 0;
        while gaps.len() < 10_000 {
            gap += 1;
            // p = 0.01.
            if detector.judge_average(10.0, &mut rng) == Verdict::Early {
                gaps.push(gap);
                gap = 0;
            }
        }
        assert!(gaps.iter().all(|gap| (1..=100).contains(gap)));
        let mean = gaps.iter().sum::<i32>() as f64 / gaps.len() as f64;
        // Mean 50.5, standard error 0.29; a quarter of the gaps up to 25.
        assert!((mean - 50.5).abs() < 1.2, "{mean}");
        let short = gaps.iter().filter(|&&gap| gap <= 25).count();
        assert!((2370..2630).contains(&short), "{short}");
    }

    /// Section 4 of the paper of 2001, by hand.
    #[test]
    fn the_probability_adapts_to_hold_the_average_halfway() {
        let mut thresholds = Thresholds {
            probability: 0.1,
            ..THRESHOLDS
        };
        thresholds.adapt_to(10.0);
        near(thresholds.probability, 0.1);
        thresholds.adapt_to(11.1);
        near(thresholds.probability, 0.11);
        thresholds.adapt_to(8.9);
        near(thresholds.probability, 0.099);
        thresholds.probability = 0.02;
        thresholds.adapt_to(12.0);
        near(thresholds.probability, 0.025);
        thresholds.probability = 0.505;
        thresholds.adapt_to(15.0);
        near(thresholds.probability, 0.505);
        thresholds.probability = 0.009;
        thresholds.adapt_to(0.0);
        near(thresholds.probability, 0.009);
    }

    /// In ten seconds 20 steps down, as far as the bound. Of 0.01 / 0.9 one leaves the bound itself,
    /// and another is taken from there.
    #[test]
    fn an_idle_queue_lets_the_probability_fall_below_its_bound() {
        let after_ten_seconds = |probability| {
            let thresholds = Thresholds {
                probability,
                ..THRESHOLDS
            };
            let mut detector = Detector::new(thresholds, Average::new(1.0, 1.0), true);
            detector.idle_from(Time::from_secs(10));
            detector.thresholds.probability
        };
        near(after_ten_seconds(0.1), 0.1 * 0.9_f64.powi(20));
        near(after_ten_seconds(0.01 / 0.9), 0.009);
    }

    #[test]
    fn above_min_is_more_than_min() {
        let detector = Detector::new(THRESHOLDS, Average::new(1.0, 1.0), false);
        assert!(!detector.is_above_min(4.9));
        assert!(!detector.is_above_min(5.0));
        assert!(detector.is_above_min(5.1));
    }

    #[test]
    fn it_adapts_at_every_half_second_however_late_it_is_asked() {
        let mut rng = Stream::new(5, "red");
        let thresholds = Thresholds {
            probability: 0.1,
            ..THRESHOLDS
        };
        let mut detector = Detector::new(thresholds, Average::new(1.0, 1.0), true);
        detector.judge(0.0, Time::ZERO, &mut rng);
        detector.judge(14.0, Time::from_millis(1), &mut rng);
        // Ticks at 0.5, 1, 1.5 and 2 s, each one step of 0.01 up.
        detector.judge(14.0, Time::from_millis(2100), &mut rng);
        near(detector.thresholds.probability, 0.14);
    }
}
