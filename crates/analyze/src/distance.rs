//! How far the sender is from the capture point: the time from an acknowledgement seen there to
//! the data that the sender sent when it had come.

use std::collections::VecDeque;

use cclab_units::Time;

/// Timestamps that wait for their echo at most, and how many of the time that they take to come:
/// acknowledgements in between are not waited for.
const MOST_WAITING: usize = 1 << 6;
const PER_DISTANCE: u64 = 1 << 5;

/// The least distance of at least as long counts.
const ROUND: Time = Time::from_secs(1);

/// An estimate by the handshake, and by timestamps (RFC 7323 section 4) where there are some: the
/// data that echo the timestamp of an acknowledgement were sent after it had come, and the first
/// of them soon after, unless there was nothing to send. Of all that is measured within a second
/// or two the least counts.
#[derive(Debug, Default)]
pub(crate) struct Distance {
    estimate: Time,
    /// The latest timestamp of an acknowledgement.
    latest: Option<u32>,
    /// Some of these timestamps, and when each was first seen.
    waiting: VecDeque<(u32, Time)>,
    /// The least of this round and of the one before.
    least: [Option<Time>; 2],
    round_ends: Time,
}

impl Distance {
    /// The time from the capture point to the sender and back.
    #[inline]
    pub fn estimate(&self) -> Time {
        self.estimate
    }

    /// What the handshake showed.
    pub fn handshake(&mut self, distance: Time) {
        self.estimate = distance;
    }

    /// An acknowledgement with the timestamp `value` was seen.
    #[inline]
    pub fn acknowledged(&mut self, now: Time, value: u32) {
        // Only where it is seen first can its time be told.
        if self.latest.replace(value) == Some(value) {
            return;
        }
        let apart = self.estimate / PER_DISTANCE;
        if self
            .waiting
            .back()
            .is_some_and(|&(_, seen)| now - seen < apart)
        {
            return;
        }
        if self.waiting.len() == MOST_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back((value, now));
    }

    /// Data that echo the timestamp `echo` were seen.
    #[inline]
    pub fn sent(&mut self, now: Time, echo: u32) {
        // RFC 7323 section 5.2: comparisons are modulo 2^32.
        let before = |a: u32, b: u32| (a.wrapping_sub(b) as i32) < 0;
        while let Some(&(value, _)) = self.waiting.front()
            && before(value, echo)
        {
            self.waiting.pop_front();
        }
        if let Some(&(value, seen)) = self.waiting.front()
            && value == echo
        {
            self.waiting.pop_front();
            self.measured(now, now - seen);
        }
    }

    /// Bytes of memory that it takes beyond its own size.
    pub fn memory(&self) -> usize {
        self.waiting.capacity() * size_of::<(u32, Time)>()
    }

    fn measured(&mut self, now: Time, distance: Time) {
        if now >= self.round_ends {
            self.least = [None, self.least[0]];
            self.round_ends = now + ROUND;
        }
        let least = self.least[0].map_or(distance, |least| least.min(distance));
        self.least[0] = Some(least);
        self.estimate = self.least[1].map_or(least, |before| least.min(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn the_least_within_two_seconds_counts() {
        let mut distance = Distance::default();
        distance.handshake(ms(5));
        for (at, tick, later) in [(0, 1, 20), (100, 2, 30), (1500, 3, 40)] {
            distance.acknowledged(ms(at), tick);
            distance.sent(ms(at + later), tick);
        }
        assert_eq!(distance.estimate(), ms(20));
        // Two rounds later the path is longer.
        for (at, tick) in [(3000, 4), (5000, 5)] {
            distance.acknowledged(ms(at), tick);
            distance.sent(ms(at + 800), tick);
        }
        assert_eq!(distance.estimate(), ms(800));
    }

    #[test]
    fn a_timestamp_that_was_passed_over_is_not_timed_from_its_second_segment() {
        let mut distance = Distance::default();
        distance.handshake(ms(320));
        distance.acknowledged(ms(0), 1);
        // Too soon after the first to be waited for, now and when it comes again.
        distance.acknowledged(ms(5), 2);
        distance.acknowledged(ms(15), 2);
        distance.sent(ms(325), 2);
        assert_eq!(distance.estimate(), ms(320));
        assert!(distance.waiting.is_empty());
    }

    #[test]
    fn only_the_first_echo_of_a_timestamp_is_timed_and_ticks_may_be_skipped() {
        let mut distance = Distance::default();
        distance.acknowledged(ms(0), u32::MAX);
        distance.acknowledged(ms(1), u32::MAX);
        distance.acknowledged(ms(2), 0);
        distance.acknowledged(ms(3), 1);
        distance.sent(ms(12), 0);
        distance.sent(ms(13), 0);
        assert_eq!(distance.estimate(), ms(10));
        assert_eq!(distance.waiting.len(), 1);
    }
}
