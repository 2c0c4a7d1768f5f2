//! Random extra delay of each packet.

use cclab_spec::Jitter;
use cclab_units::{Stream, Time};

use super::schedule::Steps;
use super::wifi;

/// A jitter, whose size may change, and its dice.
#[derive(Debug)]
pub struct ExtraDelay {
    jitter: Jitter,
    /// What is in force of [`Jitter::size`].
    size: Time,
    steps: Steps<Time>,
    dice: Stream,
}

impl ExtraDelay {
    /// `jitter`, until `steps` change its size.
    pub fn new(jitter: Jitter, steps: Vec<(Time, Time)>, dice: Stream) -> ExtraDelay {
        ExtraDelay {
            jitter,
            size: jitter.size(),
            steps: Steps::new(steps),
            dice,
        }
    }

    /// Whether packets may overtake each other by it.
    pub fn reorders(&self) -> bool {
        self.jitter.reorders()
    }

    /// Its size becomes `size` at `at`.
    pub fn change(&mut self, at: Time, size: Time) {
        self.steps.insert(at, size);
    }

    /// That of the next packet, whose transmission begins at `departs`.
    pub fn next(&mut self, departs: Time) -> Time {
        while let Some(size) = self.steps.next_until(departs) {
            self.size = size;
        }
        let share = match self.jitter {
            Jitter::Uniform { .. } => self.dice.uniform(),
            Jitter::Normal { .. } => {
                // The sum of twelve uniform numbers has the variance 1 and is close to normal: no
                // logarithm, whose last digit differs from one machine to the next.
                let sum: f64 = (0..12).map(|_| self.dice.uniform()).sum();
                ((sum - 6.0) / 6.0 + 0.5).clamp(0.0, 1.0)
            }
            Jitter::Wifi { .. } => return wifi::latency(self.size, &mut self.dice),
        };
        Time::from_nanos((self.size.as_nanos() as f64 * share) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Time = Time::from_millis(2);

    fn moments(values: &[f64]) -> (f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count;
        (mean, variance.sqrt())
    }

    #[test]
    fn a_jitter_with_a_largest_shows_its_distribution() {
        let (max, reorder) = (MAX, false);
        for (jitter, expected) in [
            (
                Jitter::Uniform { max, reorder },
                (1.0, 2.0 / 12.0_f64.sqrt()),
            ),
            (Jitter::Normal { max, reorder }, (1.0, 2.0 / 6.0)),
        ] {
            let mut extra = ExtraDelay::new(jitter, Vec::new(), Stream::new(3, "jitter"));
            let extras = (0..100_000).map(|_| extra.next(Time::ZERO).as_secs_f64() * 1e3);
            let extras: Vec<f64> = extras.collect();
            let (mean, deviation) = moments(&extras);
            assert!((mean - expected.0).abs() < 0.01, "{jitter:?}: {mean}");
            assert!(
                (deviation - expected.1).abs() < 0.01,
                "{jitter:?}: {deviation}"
            );
            assert!(extras.iter().all(|extra| (0.0..=2.0).contains(extra)));
        }
    }

    /// Each packet has the same dice whatever the size, so that a change is seen as a factor.
    #[test]
    fn a_size_holds_for_transmissions_from_its_instant_on() {
        let jitter = Jitter::Uniform {
            max: MAX,
            reorder: false,
        };
        let at = Time::from_secs;
        let new = |steps| ExtraDelay::new(jitter, steps, Stream::new(1, "jitter"));
        let mut constant = new(Vec::new());
        let mut changing = new(vec![(at(5), MAX * 4), (at(7), Time::ZERO)]);
        for (now, factor) in [(4, 1), (5, 4), (6, 4), (7, 0), (8, 0)] {
            let plain = constant.next(at(now)).as_nanos();
            let changed = changing.next(at(now)).as_nanos();
            assert!(changed.abs_diff(plain * factor) <= factor, "at {now} s");
        }
    }
}
