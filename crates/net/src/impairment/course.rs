//! What a wire adds to the delay of packets: jitter, packets that are held back, and the order
//! that a delay which shrinks must not change.

use cclab_spec::{Distribution, Jitter, Reorder};
use cclab_units::{Stream, Time};

/// When packets arrive that would, by delay alone, arrive at given times.
#[derive(Debug, Default)]
pub struct Course {
    jitter: Option<(Jitter, Stream)>,
    reorder: Option<(Reorder, Stream)>,
    /// No packet that is not to overtake arrives before.
    last: Time,
}

impl Course {
    /// A course that keeps the order and adds nothing.
    pub fn in_order() -> Course {
        Course::default()
    }

    /// Adds jitter.
    pub fn jitter(&mut self, jitter: Jitter, dice: Stream) {
        self.jitter = Some((jitter, dice));
    }

    /// Holds packets back.
    pub fn reorder(&mut self, reorder: Reorder, dice: Stream) {
        self.reorder = Some((reorder, dice));
    }

    /// When the packet that was put on the wire next arrives, if it were `expected` without
    /// jitter. A packet that is held back holds up none behind it.
    pub fn arrival(&mut self, expected: Time) -> Time {
        let mut arrives = expected;
        let mut overtakes = false;
        if let Some((jitter, dice)) = &mut self.jitter {
            let extra = sample(*jitter, dice);
            if jitter.reorder {
                // What keeps its order is the packets without their jitter.
                self.last = self.last.max(expected);
                arrives = self.last + extra;
                overtakes = true;
            } else {
                arrives = expected + extra;
            }
        }
        if !overtakes {
            self.last = self.last.max(arrives);
            arrives = self.last;
        }
        if let Some((reorder, dice)) = &mut self.reorder
            && dice.chance(reorder.probability)
        {
            arrives += reorder.delay;
        }
        arrives
    }
}

/// A jitter from zero to the largest.
fn sample(jitter: Jitter, dice: &mut Stream) -> Time {
    let share = match jitter.distribution {
        Distribution::Uniform => dice.uniform(),
        Distribution::Normal => {
            // The sum of twelve uniform numbers has the variance 1 and is close to normal: no
            // logarithm, whose last digit differs from one machine to the next.
            let sum: f64 = (0..12).map(|_| dice.uniform()).sum();
            ((sum - 6.0) / 6.0 + 0.5).clamp(0.0, 1.0)
        }
    };
    Time::from_nanos((jitter.max.as_nanos() as f64 * share) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Time = Time::from_millis(2);

    fn course(distribution: Distribution, reorder: bool) -> Course {
        let mut course = Course::in_order();
        let jitter = Jitter {
            max: MAX,
            distribution,
            reorder,
        };
        course.jitter(jitter, Stream::new(3, "jitter"));
        course
    }

    /// The extra delays of packets that would arrive every `gap`, in milliseconds.
    fn extras(course: &mut Course, gap: Time, packets: u64) -> Vec<f64> {
        (1..=packets)
            .map(|i| (course.arrival(gap * i) - gap * i).as_secs_f64() * 1e3)
            .collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count;
        (mean, variance.sqrt())
    }

    /// Packets further apart than the jitter never meet: what is seen is the distribution.
    #[test]
    fn far_packets_show_the_distribution() {
        for (distribution, expected) in [
            (Distribution::Uniform, (1.0, 2.0 / 12.0_f64.sqrt())),
            (Distribution::Normal, (1.0, 2.0 / 6.0)),
        ] {
            let extras = extras(&mut course(distribution, false), MAX * 2, 100_000);
            let (mean, deviation) = moments(&extras);
            assert!((mean - expected.0).abs() < 0.01, "{distribution:?}: {mean}");
            assert!(
                (deviation - expected.1).abs() < 0.01,
                "{distribution:?}: {deviation}"
            );
            assert!(extras.iter().all(|extra| (0.0..=2.0).contains(extra)));
        }
    }

    #[test]
    fn near_packets_keep_their_order_unless_asked_otherwise() {
        for (reorder, sorted) in [(false, true), (true, false)] {
            let mut course = course(Distribution::Uniform, reorder);
            let gap = Time::from_micros(100);
            let arrivals: Vec<Time> = (1..=1000).map(|i| course.arrival(gap * i)).collect();
            assert_eq!(arrivals.is_sorted(), sorted, "reorder = {reorder}");
        }
    }

    #[test]
    fn a_packet_held_back_holds_up_none() {
        let mut course = Course::in_order();
        let reorder = Reorder {
            probability: 0.1,
            delay: Time::from_millis(10),
        };
        course.reorder(reorder, Stream::new(1, "reorder"));
        let gap = Time::from_millis(1);
        let held: Vec<bool> = (1..=10_000)
            .map(|i| match course.arrival(gap * i) - gap * i {
                Time::ZERO => false,
                extra => {
                    assert_eq!(extra, reorder.delay);
                    true
                }
            })
            .collect();
        let held = held.iter().filter(|&&held| held).count();
        // The standard error is 30.
        assert!(held.abs_diff(1000) < 130, "{held}");
    }

    #[test]
    fn a_delay_that_shrinks_keeps_the_order() {
        let mut course = Course::in_order();
        let arrivals = [50, 51, 12, 13, 52].map(|ms| course.arrival(Time::from_millis(ms)));
        assert_eq!(arrivals, [50, 51, 51, 51, 52].map(Time::from_millis));
    }
}
