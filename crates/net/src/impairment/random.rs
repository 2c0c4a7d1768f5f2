//! Independent losses, whose probability may change.

use cclab_units::{Stream, Time};

use super::schedule::Steps;

/// What a change of a link's loss makes of one of its losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnChange {
    /// Nothing: it is at another place.
    #[default]
    Stays,
    /// Its end.
    Ends,
    /// It has the new probability.
    Follows,
}

/// Loses each packet with the probability in force.
#[derive(Debug)]
pub struct RandomLoss {
    probability: f64,
    steps: Steps<f64>,
    dice: Stream,
    on_change: OnChange,
}

impl RandomLoss {
    /// Losses of `probability`, until `steps` change it.
    pub fn new(probability: f64, steps: Vec<(Time, f64)>, dice: Stream) -> RandomLoss {
        RandomLoss {
            probability,
            steps: Steps::new(steps),
            dice,
            on_change: OnChange::default(),
        }
    }

    /// It, of which a change of its link's loss makes `on_change`.
    pub fn on_change(self, on_change: OnChange) -> RandomLoss {
        RandomLoss { on_change, ..self }
    }

    /// The loss of its link becomes `probability` at `at`.
    pub fn change(&mut self, at: Time, probability: f64) {
        match self.on_change {
            OnChange::Stays => {}
            OnChange::Ends => self.steps.insert(at, 0.0),
            OnChange::Follows => self.steps.insert(at, probability),
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

    #[test]
    fn a_change_ends_what_was_before_and_leaves_what_is_elsewhere() {
        let at = Time::from_secs;
        for (on_change, after) in [
            (OnChange::Stays, true),
            (OnChange::Ends, false),
            (OnChange::Follows, true),
        ] {
            let first = if on_change == OnChange::Follows {
                0.0
            } else {
                1.0
            };
            let loss = RandomLoss::new(first, Vec::new(), Stream::new(1, "loss"));
            let mut loss = loss.on_change(on_change);
            loss.change(at(5), 1.0);
            let lost = [at(4), at(5)].map(|now| loss.loses(now));
            assert_eq!(lost, [first == 1.0, after], "{on_change:?}");
        }
    }
}
