//! What flows had done of late, for what is heard of after it has happened.

use std::collections::VecDeque;

use cclab_testbed::records::Sample;
use cclab_units::Time;

/// How often flows are looked at: an instant that is heard of later has a sample this short before it.
const APART: Time = Time::from_millis(5);

/// As many samples are kept; beyond that every second one goes, so that the oldest are no nearer than
/// they need be.
const MOST: usize = 64;

/// Samples that nobody has asked for yet.
pub struct Recent {
    next: Time,
    kept: VecDeque<(Time, Vec<Sample>)>,
}

impl Recent {
    /// From time zero on.
    pub fn new() -> Recent {
        Recent {
            next: Time::ZERO,
            kept: VecDeque::new(),
        }
    }

    /// When to look at flows next.
    pub fn deadline(&self) -> Time {
        self.next
    }

    /// Keeps what flows had done at `now`.
    pub fn keep(&mut self, now: Time, samples: Vec<Sample>) {
        if self.kept.len() == MOST {
            let mut every_second = [false, true].into_iter().cycle();
            self.kept.retain(|_| every_second.next() == Some(true));
        }
        self.kept.push_back((now, samples));
        while self.next <= now {
            self.next += APART;
        }
    }

    /// The last that are not later than `at`.
    pub fn before(self, at: Time) -> Vec<Sample> {
        let mut kept = self.kept;
        kept.truncate(kept.partition_point(|&(time, _)| time <= at));
        kept.pop_back()
            .map_or_else(Vec::new, |(_, samples)| samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_until(end_ms: u64) -> Recent {
        let mut recent = Recent::new();
        while recent.deadline() <= Time::from_millis(end_ms) {
            let at = recent.deadline();
            let sample = Sample::Flow {
                at: at.as_nanos(),
                flow: 0,
                sender: None,
                received: 0,
            };
            recent.keep(at, vec![sample]);
        }
        recent
    }

    fn found(recent: Recent, at_ms: u64) -> Option<u64> {
        match recent.before(Time::from_millis(at_ms)).first()? {
            Sample::Flow { at, .. } => Some(Time::from_nanos(*at).as_millis()),
            Sample::Queue { .. } => None,
        }
    }

    #[test]
    fn the_last_sample_before_is_found_and_none_after() {
        assert_eq!(found(kept_until(200), 123), Some(120));
        assert_eq!(found(kept_until(200), 120), Some(120));
        assert_eq!(found(kept_until(200), 300), Some(200));
    }

    #[test]
    fn what_is_long_ago_is_known_less_exactly_and_there_are_never_many() {
        let recent = kept_until(60_000);
        assert!(recent.kept.len() <= MOST);
        for ago in [10, 50, 100, 150] {
            let at = found(kept_until(60_000), 60_000 - ago).expect("a sample");
            assert!(60_000 - ago - at < 2 * 5, "{ago} ms ago: {at}");
        }
    }
}
