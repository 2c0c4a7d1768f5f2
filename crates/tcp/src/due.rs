//! A timer that is set anew at nearly every packet, and seldom expires.

use cclab_units::Time;

use crate::profile::CoarseTimer;

/// When a timer is due. To the tick this is worked out when it is asked for: most settings of the
/// timer give way to the next before anybody asks, and rounding costs two divisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Before it the timer does not expire.
    least: Time,
    /// When it was set, if ticks are still to be counted from there; else never.
    set: Time,
}

impl Due {
    /// No timer is set.
    pub const NEVER: Due = Due::at(Time::NEVER);

    /// It expires at `time`.
    pub const fn at(time: Time) -> Due {
        Due {
            least: time,
            set: Time::NEVER,
        }
    }

    /// It is set at `now` and waits for `wait`, which is not for ever, and for the next tick.
    #[inline]
    pub fn after(now: Time, wait: Time) -> Due {
        Due {
            least: now + wait,
            set: now,
        }
    }

    /// Whether no timer is set.
    #[inline]
    pub fn is_never(self) -> bool {
        self.least == Time::NEVER
    }

    /// Before it the timer does not expire.
    #[inline]
    pub fn least(self) -> Time {
        self.least
    }

    /// When it expires, by the ticks of `timer`.
    #[inline]
    pub fn exactly(self, timer: &CoarseTimer) -> Time {
        match self.set {
            Time::NEVER => self.least,
            set => timer.expiry(set, self.least - set),
        }
    }

    /// Whether it has expired by `now`.
    #[inline]
    pub fn is_over(self, now: Time, timer: &CoarseTimer) -> bool {
        self.least <= now && self.exactly(timer) <= now
    }
}

#[cfg(test)]
mod tests {
    use cclab_units::Stream;

    use super::*;
    use crate::profile::find;

    /// A timer that is asked early need not be worked out: it is never due before what it waits for.
    #[test]
    fn no_timer_expires_before_what_it_waits_for() {
        let timer = find("linux-6.12").expect("a profile of the registry").timer;
        let mut dice = Stream::new(1, "due");
        for _ in 0..100_000 {
            let set = Time::from_nanos(dice.bits() >> (20 + dice.bits() % 20));
            let wait = Time::from_nanos(dice.bits() >> (24 + dice.bits() % 20));
            let due = Due::after(set, wait);
            let expiry = timer.expiry(set, wait);
            assert!(due.least() <= expiry, "{set:?} {wait:?}");
            assert_eq!(due.exactly(&timer), expiry);
            assert!(!due.is_over(expiry - Time::from_nanos(1), &timer));
            assert!(due.is_over(expiry, &timer));
        }
        // The first level of the wheel rounds up, also what is due at once.
        let ms = Time::from_millis(5);
        assert_eq!(
            Due::after(ms, Time::ZERO).exactly(&timer),
            Time::from_millis(6)
        );
        let exact = Due::after(ms, Time::from_nanos(7));
        assert_eq!(exact.exactly(&CoarseTimer::EXACT), ms + Time::from_nanos(7));
        assert!(Due::after(ms, Time::NEVER).is_never());
        assert!(Due::NEVER.is_never() && Due::NEVER.exactly(&timer) == Time::NEVER);
        let at = Due::at(Time::from_nanos(1_234_567));
        assert_eq!(at.exactly(&timer), Time::from_nanos(1_234_567));
    }
}
