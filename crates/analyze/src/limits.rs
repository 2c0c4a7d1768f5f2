//! What kept a sender from sending, moment by moment, seen from a capture at any place.
//!
//! In the manner of T-RAT (Zhang, Breslau, Paxson and Shenker, "On the characteristics and
//! origins of internet flow rates", SIGCOMM 2002) and of Siekkinen, Urvoy-Keller, Biersack and
//! Collange ("A root cause analysis toolkit for TCP", Computer Networks 52, 2008): periods in
//! which the application offers nothing are set apart first; what is left is held against the
//! receiver's window, and then against losses, delay and growth. In place of their flights and
//! scores stands the state of the sender after each event, so that a pass with constant memory
//! is enough.

use std::collections::VecDeque;

use cclab_units::Time;
use cclab_units::hint::rarely;

use crate::distance::Distance;

/// Acknowledgements on their way to the sender that are remembered at most.
const MOST_UNDERWAY: usize = 1 << 12;

/// The least MSS of IPv4 (RFC 9293 section 3.7.1): what is smaller is no full segment.
const LEAST_MSS: u64 = 536;

/// A sender that has no more than half in flight of what it had a round trip ago, and sends
/// nothing at an acknowledgement nor for this part of a round trip after it, has nothing to send:
/// congestion control would have sent, and so would one with a full send buffer (Linux wakes a
/// writer when a third of it is free). That can be seen near the sender, within this part of a
/// round trip.
const PATIENCE: u64 = 8;

/// What keeps a sender from sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Its congestion window, or losses that it is recovering from.
    Cwnd,
    /// The receiver's window.
    Rwnd,
    /// It has nothing to send.
    Application,
    /// It may send more than it does: the application's doing if it lasts.
    Slack,
}

/// An acknowledgement at the capture point.
#[derive(Clone, Copy, Debug)]
struct Underway {
    arrives: Time,
    ack: u64,
    edge: Option<u64>,
    marked: bool,
}

/// The sender of one direction.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    /// How far the sender is.
    pub distance: Distance,
    /// Acknowledgements that have not reached the sender.
    underway: VecDeque<Underway>,
    /// When its first data were seen; None before any.
    began: Option<Time>,
    /// Since when `hold` holds.
    since: Time,
    hold: Option<Hold>,
    /// Time held so far, by `Hold`.
    held: [Time; 4],
    /// Time without anything in flight, which counts if more data follow.
    idle_since: Option<Time>,
    /// Everything below was acknowledged, as the sender knows.
    una: u64,
    /// The end of its data.
    nxt: u64,
    /// The end of the receiver's window, as the sender knows; None before it knows.
    edge: Option<u64>,
    /// Where its recovery from a loss ends.
    recovery: Option<u64>,
    /// Whether its latest data ended in a segment that was not full.
    short: bool,
    /// The MSS that SYNs and options leave.
    mss: Option<u64>,
    /// The largest payload that was not more than the MSS.
    largest: u64,
    /// The most that was in flight, and what had been held by cwnd when it last grew by an MSS.
    peak: u64,
    grew: Time,
    /// The most that was in flight in this round trip and in the one before, none of which was
    /// in recovery, and where this round ends.
    recent: [u64; 2],
    round_ends: u64,
    /// Smoothed RTT from the capture point to the receiver (RFC 6298).
    srtt: Time,
}

/// Shares of the time from a direction's first data to the acknowledgement of its last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shares {
    /// That time.
    pub of: Time,
    pub cwnd: f64,
    pub rwnd: f64,
    pub application: f64,
    /// Share of the time held by cwnd that had passed when the data in flight last grew.
    pub grew_until: f64,
}

impl Limits {
    /// The handshake showed how far the sender is and what its segments hold at most.
    pub fn handshake(&mut self, to_sender: Time, mss: Option<u64>) {
        self.distance.handshake(to_sender);
        self.mss = mss;
    }

    /// A sample of the RTT.
    #[inline]
    pub fn sample(&mut self, rtt: Time) {
        self.srtt = if self.srtt == Time::ZERO {
            rtt
        } else {
            self.srtt - self.srtt / 8 + rtt / 8
        };
    }

    /// It sent `payload` bytes up to the position `end`, of which `again` were or may have been
    /// lost before; `pushed` tells whether the segment has the PSH bit.
    #[inline(always)]
    pub fn sent(&mut self, now: Time, end: u64, payload: u64, again: bool, pushed: bool) {
        self.reach(now);
        if self.began.is_none() {
            self.began = Some(now);
            self.since = now;
            self.una = self.una.max(end - payload);
        }
        if let Some(idle_since) = self.idle_since {
            self.idle_since = None;
            self.held[Hold::Application as usize] += now - idle_since;
            self.since = now;
        }
        self.settle(now);
        if self.held[Hold::Slack as usize] > Time::ZERO {
            self.settle_slack(again);
        }
        if again {
            rarely();
            self.recover(self.nxt.max(end));
        }
        if end > self.nxt {
            self.nxt = end;
            self.short = self.is_short(payload, pushed);
        }
        let flight = self.nxt.saturating_sub(self.una);
        if flight > self.peak + self.full() / 2 {
            self.peak = flight;
            self.grew = self.held[Hold::Cwnd as usize];
        }
        if self.recovery.is_none() {
            self.recent[0] = self.recent[0].max(flight);
        }
        self.judge(now, false);
    }

    /// The receiver acknowledged everything below `ack`, and `edge` is the end of its window, if
    /// that is known;
    /// `marked` if it told of a mark.
    #[inline(always)]
    pub fn acknowledged(&mut self, now: Time, ack: u64, edge: Option<u64>, marked: bool) {
        self.reach(now);
        let to_sender = self.distance.estimate();
        let arrives = now + to_sender;
        if to_sender == Time::ZERO && self.underway.is_empty() {
            self.hear(Underway {
                arrives,
                ack,
                edge,
                marked,
            });
            return;
        }
        if self.underway.len() == MOST_UNDERWAY {
            rarely();
            let first = self.underway.pop_front();
            first.into_iter().for_each(|first| self.hear(first));
        }
        self.set_out(arrives, ack, edge, marked);
    }

    /// An acknowledgement is on its way to the sender. A function of its own, as `Sent::fly_last` is.
    #[inline(never)]
    fn set_out(&mut self, arrives: Time, ack: u64, edge: Option<u64>, marked: bool) {
        self.underway.push_back(Underway {
            arrives,
            ack,
            edge,
            marked,
        });
    }

    /// Whether the capture point may lie behind a queue on the way from the sender.
    pub fn is_far(&self) -> bool {
        self.distance.estimate() > self.srtt / PATIENCE
    }

    /// Whether it has sent data.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.began.is_some()
    }

    /// Shares of the time; None if no time passed.
    pub fn shares(&mut self) -> Option<Shares> {
        while let Some(next) = self.underway.pop_front() {
            self.hear(next);
        }
        self.began?;
        self.settle_slack(false);
        let of = self.held.iter().fold(Time::ZERO, |sum, &held| sum + held);
        if of == Time::ZERO {
            return None;
        }
        let held = |hold: Hold| self.held[hold as usize];
        let share = |part: Time, of: Time| match of {
            Time::ZERO => 0.0,
            of => part.as_secs_f64() / of.as_secs_f64(),
        };
        Some(Shares {
            of,
            cwnd: share(held(Hold::Cwnd), of),
            rwnd: share(held(Hold::Rwnd), of),
            application: share(held(Hold::Application), of),
            grew_until: share(self.grew, held(Hold::Cwnd)),
        })
    }

    /// Bytes of memory that it takes beyond its own size.
    pub fn memory(&self) -> usize {
        self.underway.capacity() * size_of::<Underway>() + self.distance.memory()
    }

    /// Hands the acknowledgements that arrive by `now` to the sender.
    #[inline(always)]
    fn reach(&mut self, now: Time) {
        while let Some(&next) = self.underway.front()
            && next.arrives <= now
        {
            self.underway.pop_front();
            self.hear(next);
        }
    }

    #[inline(always)]
    fn hear(&mut self, arrived: Underway) {
        self.edge = arrived.edge;
        if arrived.ack > self.una {
            self.una = arrived.ack;
        }
        // Before its first data it has nothing in flight, and no round trip has begun.
        if self.has_begun() {
            self.go_on(arrived.arrives, arrived.marked);
        }
    }

    /// What an acknowledgement that it heard at `arrives` changes, `marked` or not.
    #[inline(never)]
    fn go_on(&mut self, arrives: Time, marked: bool) {
        if marked && self.recovery.is_none() && self.nxt > self.una {
            // It halves its window without a loss, and waits as in recovery.
            self.recover(self.nxt);
        }
        if self.recovery.is_some_and(|point| self.una >= point) {
            self.recovery = None;
            self.recent = [self.nxt.saturating_sub(self.una), 0];
        }
        if self.una >= self.round_ends {
            self.recent = [0, self.recent[0]];
            self.round_ends = self.nxt;
        }
        if self.idle_since.is_none() {
            // Where the way to the sender became shorter, one may seem to overtake another.
            let now = arrives.max(self.since);
            self.settle(now);
            self.judge(now, true);
        }
    }

    /// It recovers until everything below `point` is acknowledged. What was in flight before and
    /// meanwhile says nothing of what may be afterwards.
    fn recover(&mut self, point: u64) {
        self.recovery = Some(point);
    }

    /// Settles the time up to `now`.
    fn settle(&mut self, now: Time) {
        if let Some(hold) = self.hold {
            self.held[hold as usize] += now - self.since;
        }
        self.since = self.since.max(now);
    }

    /// Settles whose the slack was, now that it is over: if a loss is mended, or if it was short,
    /// the sender's own; else the application's.
    #[inline(never)]
    fn settle_slack(&mut self, again: bool) {
        let slack = std::mem::take(&mut self.held[Hold::Slack as usize]);
        if slack == Time::ZERO {
            return;
        }
        // Behind a queue, data come later than the sender sent them, and slack says nothing.
        let whose = if again || self.is_far() || slack <= self.srtt / PATIENCE {
            Hold::Cwnd
        } else {
            Hold::Application
        };
        self.held[whose as usize] += slack;
    }

    /// Finds what holds the sender from `now` on, after an acknowledgement or after data.
    fn judge(&mut self, now: Time, after_ack: bool) {
        let hold = self.hold_now(after_ack);
        if self.nxt <= self.una && hold == Hold::Application {
            self.idle_since = Some(now);
            self.hold = None;
        } else {
            self.hold = Some(hold);
        }
    }

    fn hold_now(&self, after_ack: bool) -> Hold {
        let recovering = self.recovery.is_some() && self.nxt > self.una;
        let room = self.edge.map(|edge| edge.saturating_sub(self.nxt));
        let closed = room.is_some_and(|room| room < self.full());
        let flight = self.nxt.saturating_sub(self.una);
        let recent = self.recent[0].max(self.recent[1]);
        if recovering {
            Hold::Cwnd
        } else if closed {
            Hold::Rwnd
        } else if flight == 0 || self.short {
            Hold::Application
        } else if after_ack && flight.saturating_mul(2) <= recent {
            Hold::Slack
        } else {
            Hold::Cwnd
        }
    }

    /// Payload of a full segment, as far as it is known.
    fn full(&self) -> u64 {
        if self.largest > 0 {
            self.largest
        } else {
            self.mss.unwrap_or(LEAST_MSS)
        }
    }

    /// Whether a segment is not full: no multiple of the MSS (offloading makes segments of
    /// several), nor as large as the largest without being pushed, as those of a sender with a
    /// smaller MSS than was announced are.
    #[inline]
    fn is_short(&mut self, payload: u64, pushed: bool) -> bool {
        // So are nearly all.
        if payload == self.largest && payload >= LEAST_MSS && !pushed {
            return false;
        }
        self.may_be_short(payload, pushed)
    }

    #[inline(never)]
    fn may_be_short(&mut self, payload: u64, pushed: bool) -> bool {
        if self.mss.is_none_or(|mss| payload <= mss) {
            self.largest = self.largest.max(payload);
        }
        let multiple =
            |mss: u64| mss > 0 && payload >= mss && (payload == mss || payload.is_multiple_of(mss));
        let announced = self.mss.is_some_and(multiple);
        let usual = self.largest >= LEAST_MSS && multiple(self.largest) && !pushed;
        !announced && !usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn begun(to_sender: Time) -> Limits {
        let mut limits = Limits::default();
        limits.handshake(to_sender, Some(1000));
        limits.acknowledged(ms(0), 0, Some(3000), false);
        limits
    }

    #[test]
    fn a_sender_that_fills_the_window_is_held_by_the_receiver() {
        let mut limits = begun(ms(0));
        for round in 0..4 {
            for segment in 1..=3 {
                let end = round * 3000 + segment * 1000;
                limits.sent(ms(10 * round), end, 1000, false, segment == 3);
            }
            let end = (round + 1) * 3000;
            limits.acknowledged(ms(10 * round + 10), end, Some(end + 3000), false);
        }
        let shares = limits.shares().expect("time passed");
        assert_eq!((shares.rwnd, shares.cwnd), (1.0, 0.0));
        assert_eq!(shares.of, ms(40));
    }

    #[test]
    fn a_sender_that_stops_short_of_the_window_is_held_by_its_own() {
        let mut limits = begun(ms(0));
        for round in 0..4 {
            let end = (round + 1) * 1000;
            limits.sent(ms(10 * round), end, 1000, false, false);
            limits.acknowledged(ms(10 * round + 10), end, Some(end + 3000), false);
        }
        assert_eq!(limits.shares().map(|shares| shares.cwnd), Some(1.0));
    }

    #[test]
    fn small_and_seldom_writes_are_the_applications() {
        let mut limits = begun(ms(0));
        for write in 0..4 {
            let end = (write + 1) * 10;
            limits.sent(ms(100 * write), end, 10, false, true);
            limits.acknowledged(ms(100 * write + 10), end, Some(end + 3000), false);
        }
        let shares = limits.shares().expect("time passed");
        assert_eq!(shares.application, 1.0);
        // What follows the last acknowledgement does not count.
        assert_eq!(shares.of, ms(310));
    }

    #[test]
    fn at_the_receiver_acknowledgements_reach_the_sender_later() {
        // Data and their acknowledgements pass the capture point at the same time, a round trip
        // of 10 ms after the sender knew of the last: the window is full all the time.
        let mut limits = begun(ms(10));
        for round in 1..5 {
            for segment in 1..=3 {
                let end = (round - 1) * 3000 + segment * 1000;
                limits.sent(ms(10 * round), end, 1000, false, false);
                limits.acknowledged(ms(10 * round), end, Some(end + 3000), false);
            }
        }
        assert_eq!(limits.shares().map(|shares| shares.rwnd), Some(1.0));
    }

    #[test]
    fn recovery_is_not_the_receivers_doing() {
        let mut limits = begun(ms(0));
        for segment in 1..=3 {
            limits.sent(ms(0), segment * 1000, 1000, false, false);
        }
        limits.acknowledged(ms(10), 0, Some(3000), false);
        limits.sent(ms(10), 1000, 1000, true, false);
        limits.acknowledged(ms(20), 3000, Some(6000), false);
        let shares = limits.shares().expect("time passed");
        assert_eq!((shares.rwnd, shares.cwnd), (0.5, 0.5));
    }

    #[test]
    fn a_burst_of_full_segments_that_nothing_follows_is_the_applications() {
        let mut limits = begun(ms(0));
        limits.acknowledged(ms(0), 0, Some(100_000), false);
        for burst in 0..3 {
            let (at, first) = (1000 * burst, 6000 * burst);
            for segment in 1..=6 {
                limits.sent(ms(at), first + segment * 1000, 1000, false, false);
            }
            for segment in [2, 4, 6] {
                limits.sample(ms(80));
                let acked = first + segment * 1000;
                limits.acknowledged(ms(at + 80 + segment), acked, Some(100_000), false);
            }
        }
        let shares = limits.shares().expect("time passed");
        assert!(shares.application > 0.8, "{shares:?}");
    }

    #[test]
    fn the_silence_before_a_timeout_is_not_the_applications() {
        let mut limits = begun(ms(0));
        limits.acknowledged(ms(0), 0, Some(100_000), false);
        for segment in 1..=6 {
            limits.sent(ms(0), segment * 1000, 1000, false, false);
        }
        limits.sample(ms(80));
        limits.acknowledged(ms(80), 3000, Some(100_000), false);
        limits.sent(ms(400), 4000, 1000, true, false);
        limits.acknowledged(ms(480), 6000, Some(100_000), false);
        assert_eq!(limits.shares().map(|shares| shares.cwnd), Some(1.0));
    }
}
