//! The connections and conversations of a capture.

use std::num::NonZeroUsize;

use cclab_trace::captured::{PlainSegment, TcpSegment, UdpDatagram};
use cclab_units::Time;
use cclab_units::hint::rarely;

use crate::connection::Connection;
use crate::conversation::Conversation;
use crate::direction::{Moment, tells_of_a_duplicate};
use crate::endpoints::Between;
use crate::kept::{Burden, Kept, UNDERWAY};
use crate::segments::{Sack, Watch};

/// Packets of a connection or conversation after which its memory is counted anew.
const WEIGHED: u64 = 64;
const _: () = assert!(WEIGHED.is_power_of_two());

/// What was seen between endpoints.
pub(crate) struct Table {
    pub connections: Kept<Connection>,
    pub conversations: Kept<Conversation>,
    /// The interval asked for, since the capture's first packet.
    interval: Option<(Time, Time)>,
    /// Batches that were counted, and the first in which some may be given up for their memory; None
    /// while that is far.
    batches: u64,
    bounded_from: Option<u64>,
}

/// Which packet was seen, and when.
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
        let mut table = Table {
            connections: Kept::new(most),
            conversations: Kept::new(most),
            interval,
            batches: 0,
            bounded_from: None,
        };
        if are_near(table.burdens()) {
            table.bound();
        }
        table
    }

    /// Takes over what `parts` saw, of which none has given up any; some may be from now on, unless the
    /// capture `ended`. It has seen nothing itself.
    pub fn join(&mut self, parts: Vec<Table>, ended: bool) {
        let (connections, conversations): (Vec<_>, Vec<_>) = parts
            .into_iter()
            .map(|part| (part.connections, part.conversations))
            .unzip();
        self.connections.join(connections);
        self.conversations.join(conversations);
        if !ended {
            self.bound();
        }
    }

    /// How much is kept.
    pub fn burdens(&self) -> Burdens {
        [self.connections.burden(), self.conversations.burden()]
    }

    /// Whether some may be given up for their memory.
    pub fn is_bounded(&self) -> bool {
        self.connections.is_bounded()
    }

    /// A batch was counted.
    pub fn batch_ends(&mut self) {
        if self.is_bounded() {
            return;
        }
        if self.bounded_from.is_none() {
            self.bounded_from = bounded_from(self.batches, self.burdens());
        }
        self.batches += 1;
        if self.bounded_from == Some(self.batches) {
            self.bound();
        }
    }

    fn bound(&mut self) {
        self.connections.bound();
        self.conversations.bound();
    }

    /// Takes in `segment`, and tells `watch` what it was.
    #[inline(never)]
    pub fn take(&mut self, segment: &TcpSegment, sighting: Sighting, watch: &mut impl Watch) {
        let Between { ends, turned } = Between::of(segment.source, segment.destination);
        let place = self.connections.place(
            ends,
            sighting.number,
            |connection| connection.is_over_by(segment, turned),
            // What is earlier than the capture's first packet counts as simultaneous with it.
            || Connection::new(segment, turned, sighting.now.max(sighting.origin)),
        );
        self.take_at(place, segment, turned, sighting, watch);
    }

    /// Likewise. Nearly all segments with data differ from one another in numbers only, and so do nearly all
    /// without: each of the two has code of its own, without what it has not.
    #[inline(always)]
    pub fn take_plain(&mut self, plain: &PlainSegment, sighting: Sighting, watch: &mut impl Watch) {
        let Between { ends, turned } = Between::v4(plain.source, plain.destination);
        // None begins a connection, nor ends one.
        let place = if plain.is_usual() {
            self.connections.find(ends)
        } else {
            None
        };
        let Some(place) = place else {
            return self.take(&plain.segment(), sighting, watch);
        };
        let mut segment = plain.usual();
        if segment.payload > 0 {
            self.take_at(place, &segment, turned, sighting, watch);
        } else {
            segment.payload = 0;
            self.take_at(place, &segment, turned, sighting, watch);
        }
    }

    /// Takes it in as one of the connection at `place`.
    #[inline(always)]
    fn take_at(
        &mut self,
        place: usize,
        segment: &TcpSegment,
        turned: bool,
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
            latest: now,
            origin,
            counted: self.is_asked_for(now - origin),
        };
        let Some(held) = self.connections.touch(place, number) else {
            return;
        };
        let mut told = held.of.take(segment, turned, moment);
        if watch.on() {
            told.connection = held.number;
            watch.segment(told);
            let blocks = held.of.sack_blocks(segment, turned);
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
            self.weigh_connection(place);
        }
    }

    #[inline(never)]
    fn weigh_connection(&mut self, place: usize) {
        let memory = self.connections.get(place).map(Connection::memory);
        self.connections.weigh(place, memory.unwrap_or(0));
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
            latest: now,
            origin,
            counted: self.is_asked_for(now - origin),
        };
        let place = self.conversations.place(
            Between::of(datagram.source, datagram.destination).ends,
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
    #[inline]
    fn is_asked_for(&self, since: Time) -> bool {
        self.interval.is_some_and(|(from, to)| {
            rarely();
            from <= since && since < to
        })
    }
}

/// The first batch in which some may be given up for their memory, where so much was kept when
/// the batch with this number was counted; None while that is far. It comes [`UNDERWAY`] later, as so many may be
/// under way to the parts of a table, of which none is given up.
pub(crate) fn bounded_from(batch: u64, burdens: Burdens) -> Option<u64> {
    are_near(burdens).then_some(batch + UNDERWAY as u64)
}

fn are_near(burdens: Burdens) -> bool {
    burdens.into_iter().any(Burden::is_near)
}

/// Whether the memory of what has so many packets is counted: at powers of two below [`WEIGHED`], and at
/// its multiples.
#[inline]
fn is_weighed(packets: u64) -> bool {
    packets.is_multiple_of(WEIGHED) || packets < WEIGHED && packets.is_power_of_two()
}
