//! The connections of a capture, as many as memory is meant for.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::num::NonZeroUsize;

use cclab_trace::captured::TcpSegment;
use cclab_units::Time;
use foldhash::fast::RandomState;

use crate::connection::{Connection, Endpoints};
use crate::direction::{Moment, tells_of_a_duplicate};
use crate::segments::{Sack, Watch};

/// Bytes that a connection may take beyond its own size, on average of all that may be kept.
const MEMORY_EACH: usize = 5 << 10;

/// Segments of a connection after which its memory is counted anew.
const WEIGHED: u64 = 64;

/// Connections, those that were idle longest given up where there are too many.
pub(crate) struct Table {
    /// Those that are kept, each at a place of its own; None where one was given up.
    known: Vec<Option<Box<Known>>>,
    /// Places that are free.
    free: Vec<usize>,
    /// The place of the latest connection between two endpoints.
    current: HashMap<Endpoints, usize, RandomState>,
    /// Each place once, by a count of segments at which its connection had been idle for no
    /// longer than now: the least is looked at first when one is to be given up.
    idle: BinaryHeap<Reverse<(u64, usize)>>,
    most: usize,
    /// Segments so far.
    segments: u64,
    /// The number of the latest connection.
    latest: u32,
    /// Bytes that the connections take beyond their own size.
    memory: usize,
    /// When the capture began.
    origin: Option<Time>,
    /// The latest time seen.
    until: Time,
    /// The interval asked for, since the capture's beginning.
    interval: Option<(Time, Time)>,
    /// Connections given up.
    pub evicted: u64,
}

/// A connection in the table.
pub(crate) struct Known {
    /// Its number, from 1, in the order of first packets.
    pub number: u32,
    /// What was counted of it.
    pub connection: Connection,
    between: Endpoints,
    /// The count of segments at its latest.
    touched: u64,
    /// Its segments so far.
    segments: u64,
    /// What it takes of `Table::memory`.
    memory: usize,
}

impl Table {
    /// A table of at most `most` connections.
    pub fn new(most: NonZeroUsize, interval: Option<(Time, Time)>) -> Table {
        Table {
            known: Vec::new(),
            free: Vec::new(),
            current: HashMap::default(),
            idle: BinaryHeap::new(),
            most: most.get(),
            segments: 0,
            latest: 0,
            memory: 0,
            origin: None,
            until: Time::ZERO,
            interval,
            evicted: 0,
        }
    }

    /// When the capture began; zero without a segment.
    pub fn origin(&self) -> Time {
        self.origin.unwrap_or_default()
    }

    /// From the first segment to the latest.
    pub fn lasted(&self) -> Time {
        self.until - self.origin()
    }

    /// Takes in `segment`, seen at `now`, and tells `watch` what it was.
    pub fn take(&mut self, segment: &TcpSegment, now: Time, watch: &mut impl Watch) {
        let origin = *self.origin.get_or_insert(now);
        self.until = self.until.max(now);
        self.segments += 1;
        let moment = Moment {
            now,
            latest: None,
            origin,
            counted: self.interval.is_some_and(|(from, to)| {
                let since = now - origin;
                from <= since && since < to
            }),
        };
        let place = self.place(segment, now);
        let Some(known) = &mut self.known[place] else {
            return;
        };
        known.touched = self.segments;
        let mut told = known.connection.take(segment, moment);
        known.segments += 1;
        // Often at the beginning, now and then later: it grows slowly.
        if known.segments.is_power_of_two() || known.segments.is_multiple_of(WEIGHED) {
            let memory = known.connection.memory();
            self.memory = self.memory + memory - known.memory;
            known.memory = memory;
        }
        if watch.on() {
            told.connection = known.number;
            watch.segment(told);
            let blocks = known.connection.sack_blocks(segment);
            for (index, (start, end)) in blocks.enumerate() {
                watch.sack(Sack {
                    time: told.time,
                    connection: known.number,
                    sender: told.sender,
                    start,
                    end,
                    duplicate: index == 0 && tells_of_a_duplicate(segment),
                });
            }
        }
        while self.memory > self.most.saturating_mul(MEMORY_EACH) && self.idle.len() > 1 {
            self.give_up();
        }
    }

    /// The place of the connection that `segment` is of, a new one if need be.
    #[inline]
    fn place(&mut self, segment: &TcpSegment, now: Time) -> usize {
        let between = Endpoints::of(segment);
        if let Some(&place) = self.current.get(&between)
            && let Some(known) = &self.known[place]
            && !known.connection.is_over_by(segment)
        {
            return place;
        }
        self.begin(between, segment, now)
    }

    fn begin(&mut self, between: Endpoints, segment: &TcpSegment, now: Time) -> usize {
        if self.idle.len() >= self.most {
            self.give_up();
        }
        self.latest = self.latest.saturating_add(1);
        let known = Box::new(Known {
            number: self.latest,
            between,
            connection: Connection::new(segment, now),
            touched: self.segments,
            segments: 0,
            memory: 0,
        });
        let place = match self.free.pop() {
            Some(place) => {
                self.known[place] = Some(known);
                place
            }
            None => {
                self.known.push(Some(known));
                self.known.len() - 1
            }
        };
        self.current.insert(between, place);
        self.idle.push(Reverse((self.segments, place)));
        place
    }

    /// Gives up the connection that was idle longest.
    fn give_up(&mut self) {
        while let Some(Reverse((since, place))) = self.idle.pop() {
            let Some(known) = &self.known[place] else {
                continue;
            };
            if known.touched > since {
                self.idle.push(Reverse((known.touched, place)));
                continue;
            }
            self.evicted += 1;
            self.memory -= known.memory;
            if self.current.get(&known.between) == Some(&place) {
                self.current.remove(&known.between);
            }
            self.known[place] = None;
            self.free.push(place);
            return;
        }
    }

    /// The connections in the order of their first packets.
    #[expect(
        clippy::vec_box,
        reason = "they stay where they are, and are let go one by one"
    )]
    pub fn into_connections(self) -> Vec<Box<Known>> {
        let mut known: Vec<_> = self.known.into_iter().flatten().collect();
        known.sort_unstable_by_key(|known| known.number);
        known
    }
}
