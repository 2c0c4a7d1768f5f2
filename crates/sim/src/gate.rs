//! Impairments at one place of the path: random loss and timed outages.

use cclab_trace::schema::DropReason;
use cclab_units::{Stream, Time};

/// Decides over each packet that passes.
#[derive(Debug, Default)]
pub struct Gate {
    loss: f64,
    dice: Option<Stream>,
    /// Beginning and end of each outage.
    outages: Vec<(Time, Time)>,
}

impl Gate {
    /// Adds independent losses of probability `probability`, drawn from `dice`.
    pub fn add_loss(&mut self, probability: f64, dice: Stream) {
        // Independent losses in a row are one loss of the joint probability.
        self.loss = 1.0 - (1.0 - self.loss) * (1.0 - probability);
        self.dice = Some(dice);
    }

    /// Adds an outage from `start` for `duration`.
    pub fn add_outage(&mut self, start: Time, duration: Time) {
        self.outages.push((start, start + duration));
    }

    /// Whether every packet passes at any time.
    pub fn is_open(&self) -> bool {
        self.dice.is_none() && self.outages.is_empty()
    }

    /// Why the packet that passes at `now` is lost; `None` if it is not.
    #[inline]
    pub fn judge(&mut self, now: Time) -> Option<DropReason> {
        if self
            .outages
            .iter()
            .any(|&(start, end)| start <= now && now < end)
        {
            return Some(DropReason::Outage);
        }
        let dice = self.dice.as_mut()?;
        dice.chance(self.loss).then_some(DropReason::Random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_loses_everything_from_its_start_to_before_its_end() {
        let mut gate = Gate::default();
        gate.add_outage(Time::from_secs(4), Time::from_millis(100));
        let lost = |ms| gate.judge(Time::from_millis(ms)).is_some();
        assert_eq!(
            [3_999, 4_000, 4_099, 4_100].map(lost),
            [false, true, true, false]
        );
    }

    #[test]
    fn two_losses_in_a_row_are_their_joint_loss() {
        let mut gate = Gate::default();
        gate.add_loss(0.1, Stream::new(1, "a"));
        gate.add_loss(0.1, Stream::new(1, "a"));
        let lost = (0..200_000)
            .filter(|_| gate.judge(Time::ZERO).is_some())
            .count();
        // Expected 0.19; the standard error is 0.0009.
        assert!((lost as f64 / 2e5 - 0.19).abs() < 0.004, "{lost}");
    }
}
