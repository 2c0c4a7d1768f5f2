//! Which bytes of a direction were seen, when, and which of them were acknowledged.

use std::collections::BTreeMap;

use cclab_units::Time;

/// Ranges of bytes that are kept at most, of those in flight and of those acknowledged each. More
/// are in flight on no network; a capture of one direction only would add them without end.
const MOST_RANGES: usize = 1 << 17;

/// Where sequence numbers without a wrap begin, so that those before the first one seen are
/// positive too.
const BASE: u64 = 1 << 32;

/// The sequence space of one direction. Positions are sequence numbers that do not wrap.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// The end of the highest byte seen; None before any.
    end: Option<u64>,
    /// Ranges in flight by their first position. None overlaps another, or one acknowledged.
    flying: BTreeMap<u64, Range>,
    /// Ranges seen and acknowledged: first position and end, adjacent ones joined.
    acknowledged: BTreeMap<u64, u64>,
    /// When the latest of the acknowledged bytes were sent.
    latest_acknowledged: Time,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    end: u64,
    sent: Time,
    again: bool,
}

/// What a segment was to those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Bytes that had been seen before.
    pub repeated: u64,
    /// Whether it has new bytes that lie below some seen before.
    pub out_of_order: bool,
}

/// What an acknowledgement tells about the round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    /// It answers a segment that was sent once, this long ago.
    Sample(Time),
    /// It answers a segment that was sent more than once (Karn's rule).
    Ambiguous,
    /// It answers a segment that had waited for the retransmission of one before it.
    Delayed,
    /// It answers no segment, or more than one of which none ends at it.
    Nothing,
}

impl Sent {
    /// The position of the sequence number `seq`: the one next to the highest byte seen.
    pub fn position(&self, seq: u32) -> u64 {
        match self.end {
            None => BASE + u64::from(seq),
            Some(end) => {
                // RFC 9293 section 3.4: comparisons are modulo 2^32.
                let ahead = seq.wrapping_sub(end as u32) as i32;
                end.saturating_add_signed(i64::from(ahead))
            }
        }
    }

    /// The end of the highest byte seen.
    pub fn end(&self) -> Option<u64> {
        self.end
    }

    /// A segment with the positions `start..end`, at least one, was sent at `now`.
    pub fn send(&mut self, start: u64, end: u64, now: Time) -> Seen {
        self.end = Some(self.end.unwrap_or(start).max(end));
        let mut seen = Seen::default();
        let mut at = start;
        while at < end {
            let Some((next_start, next_end, flying)) = self.next_range(at) else {
                self.fly(at, end, now);
                break;
            };
            if at < next_start {
                let gap_end = end.min(next_start);
                self.fly(at, gap_end, now);
                // One that goes on beyond what was seen is a retransmission of several at once.
                seen.out_of_order |= end < next_end;
                at = gap_end;
                continue;
            }
            let overlap = end.min(next_end) - at;
            seen.repeated += overlap;
            at += overlap;
            if flying && let Some(range) = self.flying.get_mut(&next_start) {
                range.again = true;
                range.sent = range.sent.max(now);
            } else {
                self.latest_acknowledged = self.latest_acknowledged.max(now);
            }
        }
        seen
    }

    /// Everything below `ack` arrived, as was seen at `now`.
    pub fn acknowledge(&mut self, ack: u64, now: Time) -> Timing {
        let mut timing = Timing::Nothing;
        while let Some(entry) = self.flying.first_entry()
            && *entry.key() < ack
        {
            let (start, range) = entry.remove_entry();
            if range.end == ack {
                timing = if self.latest_acknowledged > range.sent {
                    Timing::Delayed
                } else if range.again {
                    Timing::Ambiguous
                } else {
                    Timing::Sample(now - range.sent)
                };
            }
            self.settle(start, range);
        }
        timing
    }

    /// The lowest range that ends after `at`, and whether it is in flight.
    fn next_range(&self, at: u64) -> Option<(u64, u64, bool)> {
        let around = |(&start, end): (&u64, u64)| (end > at).then_some((start, end));
        let flying = self
            .flying
            .range(..=at)
            .next_back()
            .and_then(|(start, range)| around((start, range.end)))
            .or_else(|| {
                self.flying
                    .range(at..)
                    .next()
                    .map(|(&s, range)| (s, range.end))
            });
        let acknowledged = self
            .acknowledged
            .range(..=at)
            .next_back()
            .and_then(|(start, &end)| around((start, end)))
            .or_else(|| {
                self.acknowledged
                    .range(at..)
                    .next()
                    .map(|(&s, &end)| (s, end))
            });
        match (flying, acknowledged) {
            (Some((start, end)), Some((other, _))) if start < other => Some((start, end, true)),
            (Some((start, end)), None) => Some((start, end, true)),
            (_, Some((start, end))) => Some((start, end, false)),
            (None, None) => None,
        }
    }

    fn fly(&mut self, start: u64, end: u64, now: Time) {
        let range = Range {
            end,
            sent: now,
            again: false,
        };
        self.flying.insert(start, range);
        if self.flying.len() > MOST_RANGES
            && let Some((start, range)) = self.flying.pop_first()
        {
            self.settle(start, range);
        }
    }

    /// Puts a range among those acknowledged.
    fn settle(&mut self, mut start: u64, range: Range) {
        self.latest_acknowledged = self.latest_acknowledged.max(range.sent);
        let mut end = range.end;
        if let Some((&before, &its_end)) = self.acknowledged.range(..start).next_back()
            && its_end == start
        {
            self.acknowledged.remove(&before);
            start = before;
        }
        if let Some(its_end) = self.acknowledged.remove(&end) {
            end = its_end;
        }
        self.acknowledged.insert(start, end);
        if self.acknowledged.len() > MOST_RANGES
            && let Some((lowest, _)) = self.acknowledged.pop_first()
            && let Some((_, end)) = self.acknowledged.pop_first()
        {
            // Bytes that the capture missed so long ago count as seen.
            self.acknowledged.insert(lowest, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Seen, Sent, Timing};
    use cclab_units::Time;

    const fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// Sends the bytes `from..to` after sequence number 0 at `at` ms.
    fn send(sent: &mut Sent, from: u32, to: u32, at: u64) -> Seen {
        let (start, end) = (
            sent.position(from),
            sent.position(from) + u64::from(to - from),
        );
        sent.send(start, end, ms(at))
    }

    fn acknowledge(sent: &mut Sent, ack: u32, at: u64) -> Timing {
        sent.acknowledge(sent.position(ack), ms(at))
    }

    fn repeated(bytes: u64) -> Seen {
        Seen {
            repeated: bytes,
            out_of_order: false,
        }
    }

    #[test]
    fn a_segment_that_was_sent_once_gives_a_sample() {
        let mut sent = Sent::default();
        assert_eq!(send(&mut sent, 0, 100, 1), Seen::default());
        assert_eq!(send(&mut sent, 100, 200, 2), Seen::default());
        assert_eq!(acknowledge(&mut sent, 200, 9), Timing::Sample(ms(7)));
        assert_eq!(acknowledge(&mut sent, 200, 10), Timing::Nothing);
    }

    #[test]
    fn karn_excludes_what_was_sent_twice_and_what_waited_for_it() {
        let mut sent = Sent::default();
        send(&mut sent, 0, 100, 1);
        send(&mut sent, 100, 200, 2);
        send(&mut sent, 200, 300, 3);
        assert_eq!(send(&mut sent, 0, 100, 8), repeated(100));
        assert_eq!(acknowledge(&mut sent, 100, 9), Timing::Ambiguous);
        assert_eq!(acknowledge(&mut sent, 300, 10), Timing::Delayed);
    }

    #[test]
    fn a_partial_acknowledgement_times_nothing() {
        let mut sent = Sent::default();
        send(&mut sent, 0, 100, 1);
        assert_eq!(acknowledge(&mut sent, 50, 2), Timing::Nothing);
        assert_eq!(acknowledge(&mut sent, 100, 3), Timing::Nothing);
    }

    #[test]
    fn bytes_are_repeated_in_flight_and_after_their_acknowledgement_alike() {
        let mut sent = Sent::default();
        send(&mut sent, 0, 100, 1);
        send(&mut sent, 100, 200, 1);
        acknowledge(&mut sent, 100, 2);
        // 50 acknowledged, 100 in flight, 50 new.
        assert_eq!(send(&mut sent, 50, 250, 3), repeated(150));
        assert_eq!(send(&mut sent, 250, 300, 3), Seen::default());
    }

    #[test]
    fn a_hole_that_is_filled_is_out_of_order_and_no_repetition() {
        let mut sent = Sent::default();
        send(&mut sent, 0, 100, 1);
        send(&mut sent, 200, 300, 1);
        let filled = send(&mut sent, 100, 200, 2);
        assert_eq!((filled.repeated, filled.out_of_order), (0, true));
        assert_eq!(send(&mut sent, 100, 200, 3), repeated(100));
    }

    #[test]
    fn bytes_that_the_capture_missed_are_new_when_they_come() {
        let mut sent = Sent::default();
        send(&mut sent, 0, 100, 1);
        send(&mut sent, 200, 300, 1);
        assert_eq!(acknowledge(&mut sent, 300, 2), Timing::Sample(ms(1)));
        let late = send(&mut sent, 100, 200, 3);
        assert_eq!((late.repeated, late.out_of_order), (0, true));
    }

    #[test]
    fn the_sequence_space_wraps() {
        let mut sent = Sent::default();
        let first = u32::MAX - 99;
        for n in 0..3u32 {
            let start = sent.position(first.wrapping_add(n * 100));
            assert_eq!(sent.send(start, start + 100, ms(1)), Seen::default());
        }
        assert_eq!(sent.end().map(|end| end as u32), Some(200));
        assert_eq!(acknowledge(&mut sent, 200, 3), Timing::Sample(ms(2)));
        let start = sent.position(first);
        assert_eq!(sent.send(start, start + 100, ms(4)), repeated(100));
    }
}
