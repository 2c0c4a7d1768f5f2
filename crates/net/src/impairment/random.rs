//! Independent losses, whose probability may change.

use cclab_units::{Stream, Time};

use super::schedule::Steps;

/// Loses each packet with the probability in force.
#[derive(Debug)]
pub struct RandomLoss {
    probability: f64,
    steps: Steps<f64>,
    dice: Stream,
}

impl RandomLoss {
    /// Losses of `probability`, until `steps` change it.
    pub fn new(probability: f64, steps: Vec<(Time, f64)>, dice: Stream) -> RandomLoss {
        RandomLoss {
            probability,
            steps: Steps::new(steps),
            dice,
        }
    }

    /// Whether the packet that passes at `now` is lost.
    pub fn loses(&mut self, now: Time) -> bool {
        while let Some(probability) = self.steps.next_until(now) {
            self.probability = probability;
        }
        self.dice.chance(self.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probability_holds_from_its_instant_on() {
        let at = Time::from_secs;
        let steps = vec![(at(5), 1.0), (at(7), 0.0)];
        let mut loss = RandomLoss::new(0.0, steps, Stream::new(1, "loss"));
        let lost = [at(4), at(5), at(6), at(7)].map(|now| loss.loses(now));
        assert_eq!(lost, [false, true, true, false]);
    }
}
