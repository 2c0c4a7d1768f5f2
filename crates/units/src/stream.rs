//! Named streams of random numbers.

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{Time, hash, mixed};

/// A stream of random numbers that belongs to one element of one run.
///
/// Streams are made from the run's seed and the element's *name*, never handed round: adding
/// an element to a network leaves the dice of every other element as they were.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

impl Stream {
    /// The stream of the element called `name` in the run with `seed`.
    pub fn new(seed: u64, name: &str) -> Stream {
        // The hash of the name is mixed with the seed so that neighbouring seeds and similar
        // names share no bits.
        let hash = hash([name]);
        let low = mixed(seed ^ mixed(hash));
        let high = mixed(low ^ hash.rotate_left(32));
        let mut state = [0; 16];
        state[..8].copy_from_slice(&low.to_le_bytes());
        state[8..].copy_from_slice(&high.to_le_bytes());
        Stream(Pcg64Mcg::from_seed(state))
    }

    /// A stream of its own for something that this one's element makes.
    pub fn fork(&mut self) -> Stream {
        let mut state = [0; 16];
        state[..8].copy_from_slice(&mixed(self.bits()).to_le_bytes());
        state[8..].copy_from_slice(&mixed(self.bits()).to_le_bytes());
        Stream(Pcg64Mcg::from_seed(state))
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0.random::<f64>()
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// A time of exponential distribution with that mean.
    pub fn exponential(&mut self, mean: Time) -> Time {
        let drawn = -(1.0 - self.uniform()).ln();
        Time::from_secs_f64(drawn * mean.as_secs_f64())
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_seed_fix_the_stream() {
        let draw = |seed, name| Stream::new(seed, name).bits();
        assert_eq!(draw(1, "loss"), draw(1, "loss"));
        assert_ne!(draw(1, "loss"), draw(2, "loss"));
        assert_ne!(draw(1, "loss"), draw(1, "start"));
    }

    #[test]
    fn uniform_has_the_mean_of_a_uniform() {
        let mut stream = Stream::new(7, "mean");
        let mean = (0..100_000).map(|_| stream.uniform()).sum::<f64>() / 1e5;
        // Standard error is 0.29 / sqrt(1e5) = 0.0009.
        assert!((mean - 0.5).abs() < 0.004, "{mean}");
    }

    #[test]
    fn exponential_times_have_their_mean() {
        let mut dice = Stream::new(1, "times");
        let sum: Time = (0..100_000)
            .map(|_| dice.exponential(Time::from_millis(10)))
            .sum();
        // Expected 1000 s, with a standard error of 3 s.
        assert!((sum.as_secs_f64() - 1000.0).abs() < 12.0, "{sum}");
    }
}
