//! Thinning out of acknowledgements while data is missing (Linux `tcp_comp_sack_*`).

use cclab_units::Time;
use cclab_units::hint::unlikely;

use crate::profile::Compression as Rules;

/// The part of the round-trip time that an acknowledgement may wait: a twentieth.
const PARTS_OF_RTT: u64 = 20;

/// Acknowledgements held back.
#[derive(Clone, Debug)]
pub(super) struct Compression {
    /// The cumulative acknowledgement that those counted below repeat.
    repeats: u64,
    /// How many of these left at once.
    at_once: u32,
    /// How many are held back.
    held: u32,
    /// When what is held back is to leave; the timer may be later.
    due: Time,
}

impl Default for Compression {
    fn default() -> Compression {
        Compression {
            repeats: u64::MAX,
            at_once: 0,
            held: 0,
            due: Time::NEVER,
        }
    }
}

impl Compression {
    /// A segment came while data is missing from `next` on; returns whether it is acknowledged
    /// at once by `rules`. `rtt` is zero if it is not known.
    pub(super) fn on_data(&mut self, rules: &Rules, now: Time, next: u64, rtt: Time) -> bool {
        if self.held >= rules.most {
            return true;
        }
        if self.repeats != next {
            self.repeats = next;
            self.at_once = 0;
        }
        if self.at_once < rules.at_once {
            self.at_once += 1;
            return true;
        }
        self.held += 1;
        if self.due == Time::NEVER {
            self.due = now + rules.longest.min(rtt / PARTS_OF_RTT);
        }
        false
    }

    /// Whether acknowledgements are held back.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        self.held > 0
    }

    /// When the timer expires by `rules`.
    #[inline]
    pub(super) fn deadline(&self, rules: Option<&Rules>) -> Time {
        match rules {
            Some(rules) if unlikely(self.due != Time::NEVER) => self.due + rules.slack,
            _ => Time::NEVER,
        }
    }

    /// An acknowledgement left, which tells everything.
    #[inline]
    pub(super) fn on_ack_sent(&mut self) {
        self.held = 0;
        self.due = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::find;

    fn rules() -> Rules {
        let policy = find("linux-6.12").expect("a profile of the registry").ack;
        policy.compression.expect("Linux thins them out")
    }

    #[test]
    fn three_leave_at_once_then_a_timer_decides() {
        let rules = rules();
        let mut held = Compression::default();
        let us = Time::from_micros;
        for n in 0..3 {
            assert!(held.on_data(&rules, us(n), 1_000, Time::from_millis(10)));
        }
        assert!(!held.on_data(&rules, us(3), 1_000, Time::from_millis(10)));
        assert_eq!(held.deadline(Some(&rules)), us(3 + 500 + 100)); // 10 ms / 20, and the slack
        assert!(!held.on_data(&rules, us(400), 1_000, Time::from_millis(10)));
        held.on_ack_sent();
        assert!(!held.holds() && held.deadline(Some(&rules)) == Time::NEVER);
        // A millisecond at most.
        assert!(!held.on_data(&rules, us(600), 1_000, Time::from_secs(1)));
        assert_eq!(held.deadline(Some(&rules)), us(600 + 1_000 + 100));
        // The next cumulative acknowledgement begins anew.
        assert!(held.on_data(&rules, us(700), 2_000, Time::from_secs(1)));
    }

    #[test]
    fn one_stands_for_no_more_than_is_allowed() {
        let rules = rules();
        let mut held = Compression::default();
        let at_once = (0..48).filter(|_| held.on_data(&rules, Time::ZERO, 0, Time::from_secs(1)));
        assert_eq!(at_once.count(), 4); // the first three, and the one after 44
    }
}
