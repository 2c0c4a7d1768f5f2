//! The connections of a capture, as many as memory is meant for.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use cclab_trace::captured::TcpSegment;
use cclab_units::Time;
use lru::LruCache;

use crate::connection::{Connection, Endpoints};

/// Connections by number, those that were idle longest given up where there are too many.
pub(crate) struct Table {
    /// By their number, in the order of their first packets; most recently used first.
    connections: LruCache<u64, (Endpoints, Connection)>,
    /// The number of the latest connection between two endpoints.
    current: HashMap<Endpoints, u64>,
    /// The next number.
    next: u64,
    /// Connections given up.
    pub evicted: u64,
}

impl Table {
    /// A table of at most `most` connections.
    pub fn new(most: NonZeroUsize) -> Table {
        Table {
            // It grows with its contents: `most` may be more than memory holds.
            connections: LruCache::unbounded(),
            current: HashMap::new(),
            next: 0,
            evicted: 0,
        }
        .bounded(most)
    }

    fn bounded(mut self, most: NonZeroUsize) -> Table {
        self.connections.resize(most);
        self
    }

    /// Takes in `segment`, seen at `now`.
    pub fn take(&mut self, segment: &TcpSegment, now: Time) {
        let endpoints = Endpoints::of(segment);
        if let Some(number) = self.current.get(&endpoints)
            && let Some((_, connection)) = self.connections.get_mut(number)
            && !connection.is_over_by(segment)
        {
            connection.take(segment, now);
            return;
        }
        let mut connection = Connection::new(segment, now);
        connection.take(segment, now);
        let number = self.next;
        self.next += 1;
        self.current.insert(endpoints, number);
        if let Some((given_up, (between, _))) =
            self.connections.push(number, (endpoints, connection))
        {
            self.evicted += 1;
            if self.current.get(&between) == Some(&given_up) {
                self.current.remove(&between);
            }
        }
    }

    /// The connections in the order of their first packets.
    pub fn into_connections(self) -> Vec<Connection> {
        let mut numbered: Vec<_> = self.connections.into_iter().collect();
        numbered.sort_unstable_by_key(|(number, _)| *number);
        numbered
            .into_iter()
            .map(|(_, (_, connection))| connection)
            .collect()
    }
}
