//! The clock of a discipline that acts at intervals, read late: the queue calls nobody, so that it
//! catches up with its ticks when a packet comes or goes. Nothing it looks at changes in between.

use cclab_units::Time;

/// Ticks at the multiples of a period, but for zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    period: Time,
    next: Time,
}

impl Ticks {
    /// Ticks every `period`.
    pub fn every(period: Time) -> Ticks {
        Ticks {
            period,
            next: period,
        }
    }

    /// The earliest tick up to `now` that was not yet acted on.
    #[inline]
    pub fn due(&mut self, now: Time) -> Option<Time> {
        let tick = self.next;
        if tick > now {
            return None;
        }
        self.next = tick + self.period;
        Some(tick)
    }

    /// Lets the ticks up to `now` pass, as there is nothing to do at them.
    pub fn pass(&mut self, now: Time) {
        if self.next <= now {
            let behind = (now - self.next).as_nanos() / self.period.as_nanos().max(1);
            self.next += self.period * (behind + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tick_is_due_once_however_late() {
        let mut ticks = Ticks::every(Time::from_millis(15));
        assert_eq!(ticks.due(Time::from_millis(14)), None);
        let now = Time::from_millis(45);
        let due: Vec<u64> = std::iter::from_fn(|| ticks.due(now))
            .map(Time::as_millis)
            .collect();
        assert_eq!(due, [15, 30, 45]);
    }

    #[test]
    fn ticks_that_passed_leave_the_rhythm() {
        let mut ticks = Ticks::every(Time::from_millis(15));
        ticks.pass(Time::from_millis(45));
        assert_eq!(ticks.due(Time::from_millis(59)), None);
        assert_eq!(
            ticks.due(Time::from_millis(60)),
            Some(Time::from_millis(60))
        );
        ticks.pass(Time::from_millis(60));
        assert_eq!(
            ticks.due(Time::from_millis(75)),
            Some(Time::from_millis(75))
        );
    }
}
