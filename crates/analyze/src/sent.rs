//! Which bytes of a direction were seen, when, and which of them were acknowledged.

use std::collections::{BTreeMap, VecDeque};

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
    /// The end of the highest byte seen; where none was, the first acknowledgement; 0 before either: no position is.
    near: u64,
    /// The end of the highest byte seen; 0 before any.
    end: u64,
    /// Ranges in flight, the lowest first. None overlaps another, or one acknowledged.
    flying: VecDeque<Range>,
    /// Ranges seen and acknowledged.
    acknowledged: Acknowledged,
    /// When the latest of the acknowledged bytes were sent.
    latest_acknowledged: Time,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    sent: Time,
    again: bool,
}

impl Range {
    /// One that is sent for the first time, at `now`.
    #[inline(always)]
    fn new(start: u64, end: u64, now: Time) -> Range {
        Range {
            start,
            end,
            sent: now,
            again: false,
        }
    }
}

/// What a segment was to those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Bytes that had been seen before.
    pub repeated: u64,
    /// Whether it has new bytes that lie below some seen before.
    pub out_of_order: bool,
    /// When the first of its bytes were last seen, if they were and are in flight.
    pub before: Option<Time>,
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
    #[inline]
    pub fn position(&self, seq: u32) -> u64 {
        if self.near == 0 {
            return BASE + u64::from(seq);
        }
        // RFC 9293 section 3.4: comparisons are modulo 2^32.
        let ahead = seq.wrapping_sub(self.near as u32) as i32;
        self.near.wrapping_add_signed(i64::from(ahead))
    }

    /// The end of the highest byte seen.
    #[inline]
    pub fn end(&self) -> Option<u64> {
        (self.end > 0).then_some(self.end)
    }

    /// Bytes of memory that the ranges take.
    pub fn memory(&self) -> usize {
        self.flying.capacity() * size_of::<Range>() + self.acknowledged.memory()
    }

    /// Bytes in the gaps between the ranges acknowledged: those that the capture missed, for
    /// they were acknowledged too. `up_to` is the highest acknowledgement.
    pub fn missed(&self, up_to: u64) -> u64 {
        let behind = match (self.end(), self.acknowledged.tail) {
            (Some(end), Some(_)) => up_to.saturating_sub(end),
            _ => 0,
        };
        self.acknowledged.gaps() + behind
    }

    /// A segment with the positions `start..end`, at least one, was sent at `now`: what it was to those before it; None if
    /// it is wholly above them.
    #[inline(always)]
    pub fn send(&mut self, start: u64, end: u64, now: Time) -> Option<Seen> {
        if start < self.end {
            return Some(self.send_below(start, end, now));
        }
        (self.near, self.end) = (end, end);
        self.fly(self.flying.len(), start, end, now);
        None
    }

    /// One that is not wholly above all others.
    #[inline(never)]
    fn send_below(&mut self, start: u64, end: u64, now: Time) -> Seen {
        self.end = self.end.max(end);
        self.near = self.end;
        let mut seen = Seen::default();
        let mut at = start;
        while at < end {
            let index = self.flying.partition_point(|range| range.end <= at);
            let flying = self.flying.get(index).map(|range| (range.start, range.end));
            let settled = self.acknowledged.next(at);
            let is_flying = match (flying, settled) {
                (Some((flying, _)), Some((settled, _))) => flying < settled,
                (flying, _) => flying.is_some(),
            };
            let Some((next_start, next_end)) = (if is_flying { flying } else { settled }) else {
                self.fly(index, at, end, now);
                break;
            };
            if at < next_start {
                let gap_end = end.min(next_start);
                self.fly(index, at, gap_end, now);
                // One that goes on beyond what was seen is a retransmission of several at once.
                seen.out_of_order |= end < next_end;
                at = gap_end;
                continue;
            }
            let overlap = end.min(next_end) - at;
            seen.repeated += overlap;
            if is_flying && let Some(range) = self.flying.get_mut(index) {
                if at == start {
                    seen.before = Some(range.sent);
                }
                range.again = true;
                range.sent = range.sent.max(now);
            } else {
                self.latest_acknowledged = self.latest_acknowledged.max(now);
            }
            at += overlap;
        }
        seen
    }

    /// Everything below `ack` arrived, as was seen at `now`.
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: u64, now: Time) -> Timing {
        if self.near == 0 {
            self.near = ack;
        }
        let mut timing = Timing::Nothing;
        while let Some(range) = self.flying.front()
            && range.start < ack
        {
            let range = *range;
            if range.end > ack {
                // A segment of several, of which some arrived: the rest is still in flight.
                if let Some(rest) = self.flying.front_mut() {
                    rest.start = ack;
                }
                self.settle(Range { end: ack, ..range });
                break;
            }
            self.flying.pop_front();
            if range.end == ack {
                timing = if self.latest_acknowledged > range.sent {
                    Timing::Delayed
                } else if range.again {
                    Timing::Ambiguous
                } else {
                    Timing::Sample(now - range.sent)
                };
            }
            self.settle(range);
        }
        timing
    }

    /// Puts a range in flight, before the one at `index`.
    #[inline(always)]
    fn fly(&mut self, index: usize, start: u64, end: u64, now: Time) {
        if index == self.flying.len() {
            self.fly_last(start, end, now);
        } else {
            self.flying.insert(index, Range::new(start, end, now));
        }
        if self.flying.len() > MOST_RANGES {
            self.settle_lowest();
        }
    }

    /// Puts a range in flight, behind all others. As a function of its own it takes the parts of the range in registers:
    /// a range that callers hand to the queue in memory is read before the writes of its parts are through.
    #[inline(never)]
    fn fly_last(&mut self, start: u64, end: u64, now: Time) {
        self.flying.push_back(Range::new(start, end, now));
    }

    #[cold]
    #[inline(never)]
    fn settle_lowest(&mut self) {
        if let Some(lowest) = self.flying.pop_front() {
            self.settle(lowest);
        }
    }

    /// Puts a range among those acknowledged.
    #[inline]
    fn settle(&mut self, range: Range) {
        self.latest_acknowledged = self.latest_acknowledged.max(range.sent);
        self.acknowledged.add(range.start, range.end);
    }
}

/// Ranges of bytes, adjacent ones joined. Most directions have one, which grows at its end.
#[derive(Debug, Default)]
struct Acknowledged {
    /// The highest range.
    tail: Option<(u64, u64)>,
    /// Those below it: first position and end.
    lower: BTreeMap<u64, u64>,
}

impl Acknowledged {
    /// Adds a range that overlaps no other.
    #[inline]
    fn add(&mut self, start: u64, end: u64) {
        match &mut self.tail {
            Some((_, tail_end)) if start == *tail_end => *tail_end = end,
            _ => self.add_apart(start, end),
        }
    }

    #[inline(never)]
    fn add_apart(&mut self, start: u64, end: u64) {
        match self.tail {
            Some((tail_start, tail_end)) if start > tail_end => {
                self.lower.insert(tail_start, tail_end);
                self.tail = Some((start, end));
            }
            Some((tail_start, tail_end)) if end == tail_start => {
                let start = self.joined_below(start);
                self.tail = Some((start, tail_end));
            }
            Some(_) => {
                let start = self.joined_below(start);
                let end = self.lower.remove(&end).unwrap_or(end);
                self.lower.insert(start, end);
            }
            None => self.tail = Some((start, end)),
        }
        if self.lower.len() > MOST_RANGES
            && let Some((lowest, _)) = self.lower.pop_first()
            && let Some((_, end)) = self.lower.pop_first()
        {
            // Bytes that the capture missed so long ago count as seen.
            self.lower.insert(lowest, end);
        }
    }

    /// Where the range begins that ends at `start`, which is taken out; `start` if there is none.
    fn joined_below(&mut self, start: u64) -> u64 {
        let below = self.lower.range(..start).next_back();
        match below.map(|(&first, &end)| (first, end)) {
            Some((first, end)) if end == start => {
                self.lower.remove(&first);
                first
            }
            _ => start,
        }
    }

    /// The lowest range that ends after `at`.
    fn next(&self, at: u64) -> Option<(u64, u64)> {
        let around = self.lower.range(..=at).next_back();
        around
            .filter(|&(_, &end)| end > at)
            .or_else(|| self.lower.range(at..).next())
            .map(|(&start, &end)| (start, end))
            .or_else(|| self.tail.filter(|&(_, end)| end > at))
    }

    /// Bytes between the ranges.
    fn gaps(&self) -> u64 {
        let mut ranges = self.lower.iter().map(|(&s, &e)| (s, e)).chain(self.tail);
        let Some((_, mut end)) = ranges.next() else {
            return 0;
        };
        let mut gaps = 0;
        for (start, its_end) in ranges {
            gaps += start - end;
            end = its_end;
        }
        gaps
    }

    fn memory(&self) -> usize {
        // A BTreeMap's nodes are at least half full.
        self.lower.len() * 2 * size_of::<(u64, u64)>()
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
        sent.send(start, end, ms(at)).unwrap_or_default()
    }

    fn acknowledge(sent: &mut Sent, ack: u32, at: u64) -> Timing {
        sent.acknowledge(sent.position(ack), ms(at))
    }

    fn repeated(bytes: u64) -> Seen {
        Seen {
            repeated: bytes,
            ..Seen::default()
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
        let again = send(&mut sent, 0, 100, 8);
        assert_eq!((again.repeated, again.before), (100, Some(ms(1))));
        assert_eq!(acknowledge(&mut sent, 100, 9), Timing::Ambiguous);
        assert_eq!(acknowledge(&mut sent, 300, 10), Timing::Delayed);
    }

    #[test]
    fn a_partial_acknowledgement_times_nothing_and_leaves_the_rest_in_flight() {
        let mut sent = Sent::default();
        send(&mut sent, 0, 100, 1);
        assert_eq!(acknowledge(&mut sent, 50, 2), Timing::Nothing);
        assert_eq!(send(&mut sent, 50, 100, 3).before, Some(ms(1)));
        assert_eq!(acknowledge(&mut sent, 100, 4), Timing::Ambiguous);
        send(&mut sent, 100, 300, 5);
        assert_eq!(acknowledge(&mut sent, 200, 6), Timing::Nothing);
        assert_eq!(acknowledge(&mut sent, 300, 9), Timing::Sample(ms(4)));
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
        let again = send(&mut sent, 100, 200, 3);
        assert_eq!((again.repeated, again.before), (100, Some(ms(2))));
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
    fn what_was_acknowledged_and_never_seen_is_missed() {
        let mut sent = Sent::default();
        send(&mut sent, 0, 100, 1);
        send(&mut sent, 150, 200, 1);
        send(&mut sent, 300, 400, 1);
        let ack = sent.position(450);
        assert_eq!(sent.missed(sent.position(0)), 0);
        sent.acknowledge(ack, ms(2));
        assert_eq!(sent.missed(ack), 50 + 100 + 50);
        send(&mut sent, 200, 300, 3);
        sent.acknowledge(ack, ms(4));
        assert_eq!(sent.missed(ack), 100);
    }

    #[test]
    fn the_sequence_space_wraps() {
        let mut sent = Sent::default();
        let first = u32::MAX - 99;
        for n in 0..3u32 {
            let start = sent.position(first.wrapping_add(n * 100));
            assert_eq!(sent.send(start, start + 100, ms(1)), None);
        }
        assert_eq!(sent.end().map(|end| end as u32), Some(200));
        assert_eq!(acknowledge(&mut sent, 200, 3), Timing::Sample(ms(2)));
        let start = sent.position(first);
        let again = sent.send(start, start + 100, ms(4));
        assert_eq!(again, Some(repeated(100)));
    }
}
