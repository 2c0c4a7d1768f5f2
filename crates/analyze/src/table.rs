//! The connections and conversations of a capture.

use std::num::NonZeroUsize;

use cclab_trace::captured::{TcpSegment, UdpDatagram};
use cclab_units::Time;

use crate::connection::Connection;
use crate::conversation::Conversation;
use crate::direction::{Moment, tells_of_a_duplicate};
use crate::endpoints::Endpoints;
use crate::kept::{Burden, Kept, UNDERWAY};
use crate::segments::{Sack, Watch};

/// Packets of a connection or conversation after which its memory is counted anew.
const WEIGHED: u64 = 64;
const _: () = assert!(WEIGHED.is_power_of_two());

/// What was seen between endpoints.
pub(crate) struct Table {
    pub connections: Kept<Connection>,
    pub conversations: Kept<Conversation>,
    most: NonZeroUsize,
    /// The interval asked for, since the capture's first packet.
    interval: Option<(Time, Time)>,
    /// Batches to come before some may be given up; None while that is far.
    bounded_in: Option<usize>,
}

/// A packet of a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighting {
    /// Its number, of those that are counted.
    pub number: u64,
    /// When it was seen.
    pub now: Time,
    /// When the capture began.
    pub origin: Time,
}

/// How much is kept of connections, and of conversations.
pub(crate) type Burdens = [Burden; 2];

impl Table {
    /// A table of at most `most` connections, and as many conversations.
    pub fn new(most: NonZeroUsize, interval: Option<(Time, Time)>) -> Table {
        Table {
            connections: Kept::new(most),
            conversations: Kept::new(most),
            most,
            interval,
            bounded_in: None,
        }
    }

    /// What `parts` saw, of which none has given up any; some may be from now on, unless the capture
    /// `ended`.
    pub fn joined(parts: Vec<Table>, ended: bool) -> Option<Table> {
        let (most, interval) = parts.first().map(|part| (part.most, part.interval))?;
        let (connections, conversations): (Vec<_>, Vec<_>) = parts
            .into_iter()
            .map(|part| (part.connections, part.conversations))
            .unzip();
        let mut whole = Table {
            connections: Kept::joined(most, connections),
            conversations: Kept::joined(most, conversations),
            most,
            interval,
            bounded_in: None,
        };
        if !ended {
            whole.bound();
        }
        Some(whole)
    }

    /// How much is kept.
    pub fn burdens(&self) -> Burdens {
        [self.connections.burden(), self.conversations.burden()]
    }

    /// A batch was counted. Where that brought the table near its bounds, some may be given up once
    /// [`UNDERWAY`] more were: as many may be under way to other processors, whose parts of the table
    /// none is given up of.
    pub fn batch_ends(&mut self) {
        match self.bounded_in {
            Some(0) => {}
            Some(1) => self.bound(),
            Some(batches) => self.bounded_in = Some(batches - 1),
            None if are_near(self.burdens(), self.most) => self.bounded_in = Some(UNDERWAY - 1),
            None => {}
        }
    }

    fn bound(&mut self) {
        self.bounded_in = Some(0);
        self.connections.bound();
        self.conversations.bound();
    }

    /// Takes in `segment`, and tells `watch` what it was.
    pub fn take(&mut self, segment: &TcpSegment, sighting: Sighting, watch: &mut impl Watch) {
        let Sighting {
            number,
            now,
            origin,
        } = sighting;
        let moment = Moment {
            now,
            latest: None,
            origin,
            counted: self.is_asked_for(now - origin),
        };
        let place = self.connections.place(
            Endpoints::between(segment.source, segment.destination),
            number,
            |connection| connection.is_over_by(segment),
            // What is earlier than the capture's first packet counts as simultaneous with it.
            || Connection::new(segment, now.max(origin)),
        );
        let Some(held) = self.connections.touch(place, number) else {
            return;
        };
        let mut told = held.of.take(segment, moment);
        if watch.on() {
            told.connection = held.number;
            watch.segment(told);
            let blocks = held.of.sack_blocks(segment);
            for (index, (start, end)) in blocks.enumerate() {
                watch.sack(Sack {
                    time: told.time,
                    connection: held.number,
                    sender: told.sender,
                    start,
                    end,
                    duplicate: index == 0 && tells_of_a_duplicate(segment),
                });
            }
        }
        // Often at the beginning, now and then later: it grows slowly.
        if is_weighed(held.packets) {
            let memory = held.of.memory();
            self.connections.weigh(place, memory);
        }
    }

    /// Takes in `datagram`, likewise.
    pub fn take_datagram(
        &mut self,
        datagram: &UdpDatagram,
        sighting: Sighting,
        watch: &mut impl Watch,
    ) {
        let Sighting {
            number,
            now,
            origin,
        } = sighting;
        let moment = Moment {
            now,
            latest: None,
            origin,
            counted: self.is_asked_for(now - origin),
        };
        let place = self.conversations.place(
            Endpoints::between(datagram.source, datagram.destination),
            number,
            |_| false,
            || Conversation::new(datagram, now.max(origin)),
        );
        let Some(held) = self.conversations.touch(place, number) else {
            return;
        };
        let mut told = held.of.take(datagram, moment);
        if watch.on() {
            told.conversation = held.number;
            watch.datagram(told);
        }
        if is_weighed(held.packets) {
            let memory = held.of.memory();
            self.conversations.weigh(place, memory);
        }
    }

    /// Whether the interval asked for has what was seen so long after the capture's beginning.
    fn is_asked_for(&self, since: Time) -> bool {
        self.interval
            .is_some_and(|(from, to)| from <= since && since < to)
    }
}

/// Whether a table that keeps so much, and `most` of each, is near its bounds.
pub(crate) fn are_near(burdens: Burdens, most: NonZeroUsize) -> bool {
    burdens.iter().any(|burden| burden.is_near(most))
}

/// Whether the memory of what has so many packets is counted: at powers of two below [`WEIGHED`], and at
/// its multiples.
#[inline]
fn is_weighed(packets: u64) -> bool {
    packets.is_multiple_of(WEIGHED) || packets < WEIGHED && packets.is_power_of_two()
}
