//! Thinning out of acknowledgements while data is missing (Linux `tcp_comp_sack_*`).

use cclab_units::Time;

use crate::profile::Compression as Rules;

/// The part of the round-trip time that an acknowledgement may wait: a twentieth.
const PARTS_OF_RTT: u64 = 20;

/// Acknowledgements held back.
#[derive(Clone, Debug)]
pub(super) struct Compression {
    rules: Option<Rules>,
    /// The cumulative acknowledgement that those counted below repeat.
    repeats: u64,
    /// How many of these left at once.
    at_once: u32,
    /// How many are held back.
    held: u32,
    /// When what is held back is to leave; the timer may be later.
    due: Time,
}

impl Compression {
    pub(super) fn new(rules: Option<Rules>) -> Compression {
        Compression {
            rules,
            repeats: u64::MAX,
            at_once: 0,
            held: 0,
            due: Time::NEVER,
        }
    }

    /// A segment came while data is missing from `next` on; returns whether it is acknowledged
    /// at once. `rtt` is zero if it is not known.
    pub(super) fn on_data(&mut self, now: Time, next: u64, rtt: Time) -> bool {
        let Some(rules) = self.rules else {
            return true;
        };
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

    /// When the timer expires.
    #[inline]
    pub(super) fn deadline(&self) -> Time {
        match self.rules {
            Some(rules) if self.due != Time::NEVER => self.due + rules.slack,
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

    #[test]
    fn three_leave_at_once_then_a_timer_decides() {
        let policy = find("linux-6.12").expect("a profile of the registry").ack;
        let mut held = Compression::new(policy.compression);
        let us = Time::from_micros;
        for n in 0..3 {
            assert!(held.on_data(us(n), 1_000, Time::from_millis(10)));
        }
        assert!(!held.on_data(us(3), 1_000, Time::from_millis(10)));
        assert_eq!(held.deadline(), us(3 + 500 + 100)); // 10 ms / 20, and the slack
        assert!(!held.on_data(us(400), 1_000, Time::from_millis(10)));
        held.on_ack_sent();
        assert!(!held.holds() && held.deadline() == Time::NEVER);
        // A millisecond at most.
        assert!(!held.on_data(us(600), 1_000, Time::from_secs(1)));
        assert_eq!(held.deadline(), us(600 + 1_000 + 100));
        // The next cumulative acknowledgement begins anew.
        assert!(held.on_data(us(700), 2_000, Time::from_secs(1)));
    }

    #[test]
    fn one_stands_for_no_more_than_is_allowed() {
        let policy = find("linux-6.12").expect("a profile of the registry").ack;
        let mut held = Compression::new(policy.compression);
        let at_once = (0..48).filter(|_| held.on_data(Time::ZERO, 0, Time::from_secs(1)));
        assert_eq!(at_once.count(), 4); // the first three, and the one after 44
    }
}
