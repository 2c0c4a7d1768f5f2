//! The connections and conversations of a capture.

use std::num::NonZeroUsize;

use cclab_trace::captured::{TcpSegment, UdpDatagram};
use cclab_units::Time;

use crate::connection::Connection;
use crate::conversation::Conversation;
use crate::direction::{Moment, tells_of_a_duplicate};
use crate::endpoints::Endpoints;
use crate::kept::Kept;
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
}

impl Table {
    /// A table of at most `most` connections, and as many conversations.
    pub fn new(most: NonZeroUsize, interval: Option<(Time, Time)>) -> Table {
        Table {
            connections: Kept::new(most),
            conversations: Kept::new(most),
            interval,
        }
    }

    /// Takes in `segment`, seen at `now`, and tells `watch` what it was; `origin` is when the
    /// capture began.
    pub fn take(&mut self, segment: &TcpSegment, now: Time, origin: Time, watch: &mut impl Watch) {
        let moment = Moment {
            now,
            latest: None,
            origin,
            counted: self.is_asked_for(now - origin),
        };
        let place = self.connections.place(
            Endpoints::between(segment.source, segment.destination),
            |connection| connection.is_over_by(segment),
            // What is earlier than the capture's first packet counts as simultaneous with it.
            || Connection::new(segment, now.max(origin)),
        );
        let Some(held) = self.connections.touch(place) else {
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
        now: Time,
        origin: Time,
        watch: &mut impl Watch,
    ) {
        let moment = Moment {
            now,
            latest: None,
            origin,
            counted: self.is_asked_for(now - origin),
        };
        let place = self.conversations.place(
            Endpoints::between(datagram.source, datagram.destination),
            |_| false,
            || Conversation::new(datagram, now.max(origin)),
        );
        let Some(held) = self.conversations.touch(place) else {
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

/// Whether the memory of what has so many packets is counted: at powers of two below [`WEIGHED`], and at
/// its multiples.
#[inline]
fn is_weighed(packets: u64) -> bool {
    packets.is_multiple_of(WEIGHED) || packets < WEIGHED && packets.is_power_of_two()
}
