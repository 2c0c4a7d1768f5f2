//! The connections of a capture, as many as memory is meant for.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use cclab_trace::captured::TcpSegment;
use cclab_units::Time;
use foldhash::fast::FixedState;
use lru::LruCache;

use crate::connection::{Connection, Endpoints};
use crate::direction::{Moment, tells_of_a_duplicate};
use crate::segments::{Sack, Watch};

/// Bytes that connections may take beyond their own size, all together. Most take a few hundred.
const MOST_MEMORY: usize = 256 << 20;

/// Connections by number, those that were idle longest given up where there are too many.
pub(crate) struct Table {
    /// By their number, in the order of their first packets; most recently used first.
    connections: LruCache<u32, Known, FixedState>,
    /// The number of the latest connection between two endpoints.
    current: HashMap<Endpoints, u32, FixedState>,
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

struct Known {
    between: Endpoints,
    connection: Connection,
    /// What it takes of `Table::memory`.
    memory: usize,
}

impl Table {
    /// A table of at most `most` connections.
    pub fn new(most: NonZeroUsize, interval: Option<(Time, Time)>) -> Table {
        // It grows with its contents: `most` may be more than memory holds.
        let mut connections = LruCache::unbounded_with_hasher(FixedState::default());
        connections.resize(most);
        Table {
            connections,
            current: HashMap::default(),
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
        let moment = Moment {
            now,
            latest: None,
            origin,
            counted: self.interval.is_some_and(|(from, to)| {
                let since = now - origin;
                from <= since && since < to
            }),
        };
        let between = Endpoints::of(segment);
        let number = self.number(between, segment, now);
        let Some(known) = self.connections.get_mut(&number) else {
            return;
        };
        let mut told = known.connection.take(segment, moment);
        let memory = known.connection.memory();
        self.memory = self.memory + memory - known.memory;
        known.memory = memory;
        if watch.on() {
            told.connection = number;
            watch.segment(told);
            let blocks = known.connection.sack_blocks(segment);
            for (index, (start, end)) in blocks.enumerate() {
                watch.sack(Sack {
                    time: told.time,
                    connection: number,
                    sender: told.sender,
                    start,
                    end,
                    duplicate: index == 0 && tells_of_a_duplicate(segment),
                });
            }
        }
        while self.memory > MOST_MEMORY && self.connections.len() > 1 {
            let idle = self.connections.pop_lru();
            idle.into_iter()
                .for_each(|(number, known)| self.give_up(number, &known));
        }
    }

    /// The number of the connection that `segment` is of, a new one if need be.
    fn number(&mut self, between: Endpoints, segment: &TcpSegment, now: Time) -> u32 {
        if let Some(&number) = self.current.get(&between)
            && let Some(known) = self.connections.peek(&number)
            && !known.connection.is_over_by(segment)
        {
            return number;
        }
        self.latest = self.latest.saturating_add(1);
        let number = self.latest;
        self.current.insert(between, number);
        let known = Known {
            between,
            connection: Connection::new(segment, now),
            memory: 0,
        };
        if let Some((number, given_up)) = self.connections.push(number, known) {
            self.give_up(number, &given_up);
        }
        number
    }

    fn give_up(&mut self, number: u32, known: &Known) {
        self.evicted += 1;
        self.memory -= known.memory;
        if self.current.get(&known.between) == Some(&number) {
            self.current.remove(&known.between);
        }
    }

    /// The connections by number, in the order of their first packets.
    pub fn into_connections(mut self) -> Vec<(u32, Connection)> {
        let all = std::iter::from_fn(|| self.connections.pop_lru());
        let mut numbered: Vec<_> = all
            .map(|(number, known)| (number, known.connection))
            .collect();
        numbered.sort_unstable_by_key(|(number, _)| *number);
        numbered
    }
}
