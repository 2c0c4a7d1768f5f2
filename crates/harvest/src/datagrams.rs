//! What became of the datagrams of a flow: those that left one of its hosts, found again among
//! those that the other took in.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::io::ErrorKind;

use cclab_testbed::records::{Datagram, Seen, datagram_file};
use cclab_trace::schema::Datagrams;
use cclab_trace::{Arrivals, Departures, Histogram};
use cclab_units::Time;

use crate::error::HarvestError;
use crate::records::Run;

/// Both ways of a flow's datagrams.
#[derive(Debug, Default)]
pub struct BothWays {
    /// From the sender to the receiver.
    pub there: Way,
    /// From the receiver to the sender.
    pub back: Way,
}

/// One way.
#[derive(Debug, Default)]
pub struct Way {
    /// What the datagrams came to.
    pub sum: Datagrams,
    /// What those of them came to that left after the warm-up; nothing without one.
    pub warm: Datagrams,
    /// When the first left.
    pub started: Option<Time>,
    /// When the last left.
    pub ended: Option<Time>,
    /// How far it had come at each of the instants that were asked for.
    pub progress: Vec<Progress>,
    /// Those that arrived, in that order.
    pub arrived: Vec<Arrival>,
    /// The first 8 bytes of the payload of each that never arrives, in the order of their leaving.
    pub lost: Vec<u64>,
}

/// How far a way has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Datagrams that have left.
    pub sent: u64,
    /// Bytes of them.
    pub sent_bytes: u64,
    /// Bytes that have arrived.
    pub received_bytes: u64,
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The first 8 bytes of its payload.
    pub head: u64,
    /// When it left.
    pub left: Time,
    /// When it arrived.
    pub at: Time,
}

/// A record and when it was taken.
type Seeing = (Time, Datagram);

/// What was seen of the datagrams of flow `index`; `None` if nobody looked. `instants`, in the
/// order of time, are those at which progress is told.
///
/// # Errors
/// If a file cannot be read or is damaged.
pub fn of(
    run: &Run<'_>,
    index: usize,
    instants: &[Time],
) -> Result<Option<BothWays>, HarvestError> {
    if !run.orders.watches(index) {
        return Ok(None);
    }
    let way = |backward| {
        let sent = records(run, &datagram_file(index, backward, Seen::Sent))?;
        let received = records(run, &datagram_file(index, backward, Seen::Received))?;
        let matching = Matching::new(run.scenario.warmup);
        Ok::<Way, HarvestError>(matching.run(&sent, &received, instants, run.end()))
    };
    Ok(Some(BothWays {
        there: way(false)?,
        back: way(true)?,
    }))
}

/// The records of a file that were taken during the run, in the order of time.
fn records(run: &Run<'_>, name: &str) -> Result<Vec<Seeing>, HarvestError> {
    let path = run.raw.join(name);
    let bytes = match fs::read(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return Err(HarvestError::damaged(&path, "it is missing"));
        }
        read => read.map_err(|e| HarvestError::io(&path, e))?,
    };
    let (whole, rest) = bytes.as_chunks::<{ Datagram::BYTES }>();
    if !rest.is_empty() {
        return Err(HarvestError::damaged(&path, "it ends inside a datagram"));
    }
    let datagrams = whole.iter().map(Datagram::from_bytes);
    let mut records: Vec<Seeing> = datagrams
        .filter_map(|datagram| Some((run.at_realtime(datagram.at)?, datagram)))
        .collect();
    // Several processors of a host may tell of one another's packets late.
    records.sort_by_key(|(at, _)| *at);
    Ok(records)
}

/// Finds datagrams again.
#[derive(Debug, Default)]
struct Matching {
    way: Way,
    /// Numbers of those that left, by all that tells them apart; of equal ones the first that left
    /// comes first.
    waiting: HashMap<Datagram, VecDeque<u64>>,
    /// When those left that have not arrived, and the first bytes of their payload, by number.
    outstanding: BTreeMap<u64, (Time, u64)>,
    arrivals: Arrivals,
    left: Departures,
    warmup: Time,
    /// What had left when the warm-up ended; absent before that.
    before: Option<Departures>,
    /// The number after the largest that has arrived.
    expected: u64,
    /// How many were told from no other that was on its way.
    doubtful: u64,
    shortest: Option<Time>,
    longest: Time,
}

impl Matching {
    fn new(warmup: Time) -> Matching {
        Matching {
            warmup,
            arrivals: Arrivals::new(warmup),
            ..Matching::default()
        }
    }

    /// Goes through what left and what arrived until the `end`, both in the order of time.
    fn run(mut self, sent: &[Seeing], received: &[Seeing], instants: &[Time], end: Time) -> Way {
        let mut sent = sent.iter().peekable();
        for &(now, datagram) in received {
            // What leaves at the instant of an arrival may be what arrives.
            while let Some(&(at, left)) = sent.next_if(|(at, _)| *at <= now) {
                self.reach(at, instants);
                self.leave(at, left);
            }
            self.reach(now, instants);
            self.arrive(now, datagram);
        }
        for &(at, left) in sent {
            self.reach(at, instants);
            self.leave(at, left);
        }
        self.reach(Time::NEVER, instants);
        self.finish(end)
    }

    /// Notes the progress at those of the `instants` that lie before `now`.
    fn reach(&mut self, now: Time, instants: &[Time]) {
        let progress = Progress {
            sent: self.left.sent,
            sent_bytes: self.left.sent_bytes,
            received_bytes: self.arrivals.bytes(),
        };
        let known = &mut self.way.progress;
        while instants.get(known.len()).is_some_and(|&at| at < now) {
            known.push(progress);
        }
    }

    fn leave(&mut self, now: Time, datagram: Datagram) {
        if now >= self.warmup {
            self.before.get_or_insert(self.left);
        }
        let number = self.left.sent;
        self.left.sent += 1;
        self.left.sent_bytes += u64::from(datagram.payload);
        self.way.started.get_or_insert(now);
        self.way.ended = Some(now);
        let key = Datagram { at: 0, ..datagram };
        self.waiting.entry(key).or_default().push_back(number);
        self.outstanding.insert(number, (now, datagram.head));
    }

    fn arrive(&mut self, now: Time, datagram: Datagram) {
        let key = Datagram { at: 0, ..datagram };
        let Some(number) = self.take(&key) else {
            self.arrivals.take_copy(now);
            return;
        };
        let (left, head) = self.outstanding.remove(&number).unwrap_or((now, 0));
        let delay = now - left;
        let bytes = u64::from(datagram.payload);
        self.arrivals.take(now, number, bytes, left);
        self.expected = self.expected.max(number + 1);
        self.shortest = Some(self.shortest.map_or(delay, |least| least.min(delay)));
        self.longest = self.longest.max(delay);
        self.way.arrived.push(Arrival {
            head,
            left,
            at: now,
        });
    }

    /// The number of the datagram known by `key` that arrives. Of several, that is the first of
    /// those that nothing has overtaken: the others are lost, and their like was sent again after
    /// a long time. Where all are overtaken, it is the last.
    fn take(&mut self, key: &Datagram) -> Option<u64> {
        let numbers = self.waiting.get_mut(key)?;
        let overtaken = numbers.partition_point(|&number| number < self.expected);
        let in_order = numbers.len() - overtaken;
        self.doubtful += u64::from(in_order > 1);
        let place = match in_order {
            0 => numbers.len().checked_sub(1)?,
            _ => overtaken,
        };
        numbers.remove(place)
    }

    fn finish(mut self, end: Time) -> Way {
        // As long as it may take one to arrive. Where datagrams are all alike, those that are left
        // over need not be the lost ones, and the longest delay may be that of no datagram.
        let patience = match self.doubtful {
            0 => self.longest,
            _ => self.shortest.unwrap_or(Time::ZERO),
        };
        let lost = self.outstanding.into_values();
        let lost = lost.take_while(|&(left, _)| end - left >= patience);
        let lost: Vec<(Time, u64)> = lost.collect();
        let warm_lost = lost.iter().filter(|(left, _)| *left >= self.warmup).count();
        let whole = Departures {
            lost: lost.len() as u64,
            ..self.left
        };
        // None left after the warm-up if nothing says when it ended.
        let before = self.before.unwrap_or(self.left);
        let warm = Departures {
            sent: whole.sent - before.sent,
            sent_bytes: whole.sent_bytes - before.sent_bytes,
            lost: warm_lost as u64,
        };
        self.way.lost = lost.into_iter().map(|(_, head)| head).collect();
        [self.way.sum, self.way.warm] = self.arrivals.finish(whole, warm);
        if self.doubtful > 0 && whole.lost > 0 {
            // Which of them were lost cannot be told, nor how long the others took.
            for sum in [&mut self.way.sum, &mut self.way.warm] {
                sum.delay = Histogram::default();
                sum.jitter = None;
                sum.reordered = 0;
            }
        }
        self.way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: Time = Time::from_secs(10);

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// Datagrams of 1000 bytes that say a number, at these milliseconds.
    fn seen(list: &[(u64, u64)]) -> Vec<Seeing> {
        let datagram = |head| Datagram {
            head,
            payload: 1000,
            ..Datagram::default()
        };
        list.iter()
            .map(|&(ms, head)| (at(ms), datagram(head)))
            .collect()
    }

    fn way(sent: &[(u64, u64)], received: &[(u64, u64)]) -> Way {
        Matching::new(Time::ZERO).run(&seen(sent), &seen(received), &[], END)
    }

    /// Milliseconds that the arrivals were on their way.
    fn delays(way: &Way) -> Vec<u64> {
        let delays = way.arrived.iter().map(|one| one.at - one.left);
        delays.map(|delay| delay.as_nanos() / 1_000_000).collect()
    }

    #[test]
    fn what_is_sent_and_never_seen_is_lost() {
        let sent: Vec<(u64, u64)> = (0..10).map(|n| (n * 10, n)).collect();
        let received = [(25, 0), (37, 1), (65, 4), (121, 9)];
        let way = way(&sent, &received);
        let sum = &way.sum;
        assert_eq!((sum.sent, sum.sent_bytes), (10, 10_000));
        assert_eq!((sum.received, sum.received_bytes), (4, 4_000));
        assert_eq!((sum.lost(), sum.in_flight), (6, 0));
        assert_eq!((sum.first, sum.last), (Some(at(25)), Some(at(121))));
        assert_eq!((way.started, way.ended), (Some(at(0)), Some(at(90))));
        assert_eq!(delays(&way), [25, 27, 25, 31]);
        assert_eq!(sum.delay.mean(), Some(27e6));
        // RFC 3550, by hand: 2/16, then + (2 - 0.125)/16, then + (6 - 0.2421875)/16 ms.
        assert_eq!(sum.jitter, Some(Time::from_nanos(602_051)));
    }

    #[test]
    fn what_may_still_arrive_is_neither_received_nor_lost() {
        let late = END.as_nanos() / 1_000_000;
        let sent = [(0, 0), (10, 1), (late - 20, 2), (late - 10, 3)];
        let way = way(&sent, &[(15, 0)]);
        assert_eq!((way.sum.in_flight, way.sum.lost()), (1, 2));
    }

    #[test]
    fn copies_and_overtakers_are_counted_as_such() {
        let way = way(
            &[(0, 0), (1, 1), (2, 2), (3, 3)],
            &[(10, 0), (10, 0), (11, 2), (12, 1), (13, 3), (14, 1)],
        );
        assert_eq!((way.sum.received, way.sum.lost()), (4, 0));
        assert_eq!((way.sum.duplicates, way.sum.reordered), (2, 1));
        assert_eq!(delays(&way), [10, 9, 11, 10]);
    }

    #[test]
    fn an_arrival_at_the_instant_of_its_sending_is_known() {
        let way = way(&[(5, 0), (5, 1)], &[(5, 0), (5, 1)]);
        assert_eq!((way.sum.received, way.sum.duplicates), (2, 0));
        assert_eq!(delays(&way), [0, 0]);
    }

    #[test]
    fn those_that_are_all_alike_are_told_apart_by_their_order() {
        let sent: Vec<(u64, u64)> = (0..5).map(|n| (n, 7)).collect();
        let received: Vec<(u64, u64)> = (0..5).map(|n| (n + 10, 7)).collect();
        let whole = way(&sent, &received);
        assert_eq!((whole.sum.received, whole.sum.lost()), (5, 0));
        assert_eq!(delays(&whole), [10; 5]);
        assert_eq!(whole.sum.delay.count(), 5);
        // Which was lost, nobody can tell: delays are not known, rather than wrong.
        let holed = way(&sent, &received[1..]);
        assert_eq!((holed.sum.received, holed.sum.lost()), (4, 1));
        assert_eq!((holed.sum.delay.count(), holed.sum.jitter), (0, None));
    }

    #[test]
    fn a_lost_one_is_not_found_again_in_its_like_of_much_later() {
        // 16 bits of identification are used up, and the payload is always the same.
        let sent = [(0, 1), (1, 2), (2, 3), (1000, 1), (1001, 2), (1002, 3)];
        let received = [(10, 1), (12, 3), (1010, 1), (1011, 2), (1012, 3)];
        let way = way(&sent, &received);
        assert_eq!((way.sum.received, way.sum.lost()), (5, 1));
        assert_eq!(delays(&way), [10; 5]);
        assert_eq!(way.sum.delay.count(), 5);
    }

    #[test]
    fn those_that_left_after_the_warm_up_are_counted_apart() {
        let sent: Vec<(u64, u64)> = (0..10).map(|n| (n * 10, n)).collect();
        // 4 left in the warm-up and arrives after it; 2 and 7 are lost.
        let came = [0, 1, 3, 4, 5, 6, 8, 9].map(|n| (n * 10 + if n < 5 { 30 } else { 20 }, n));
        let way = Matching::new(at(50)).run(&seen(&sent), &seen(&came), &[], END);
        assert_eq!((way.sum.sent, way.sum.received, way.sum.lost()), (10, 8, 2));
        let warm = &way.warm;
        assert_eq!((warm.sent, warm.sent_bytes), (5, 5_000));
        assert_eq!((warm.received, warm.lost(), warm.in_flight), (4, 1, 0));
        assert_eq!(warm.delay.mean(), Some(20e6));
        assert_eq!(warm.jitter, Some(Time::ZERO));
    }

    #[test]
    fn progress_is_that_of_the_instant_itself() {
        let instants = [at(0), at(10), at(15), at(30)];
        let way = Matching::new(Time::ZERO).run(
            &seen(&[(0, 0), (10, 1), (20, 2)]),
            &seen(&[(10, 0), (15, 1), (29, 2)]),
            &instants,
            END,
        );
        let found: Vec<(u64, u64)> = way
            .progress
            .iter()
            .map(|p| (p.sent, p.received_bytes))
            .collect();
        assert_eq!(found, [(1, 0), (2, 1000), (2, 2000), (3, 3000)]);
    }
}
