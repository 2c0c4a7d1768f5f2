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

/// What was seen between endpoints.
pub(crate) struct Table {
    pub connections: Kept<Connection>,
    pub conversations: Kept<Conversation>,
    /// When TCP was first seen, and the latest time that it was.
    tcp: Option<(Time, Time)>,
    /// When UDP was first seen, and the latest time that it was.
    udp: Option<(Time, Time)>,
    /// The interval asked for, since the first segment.
    interval: Option<(Time, Time)>,
}

impl Table {
    /// A table of at most `most` connections, and as many conversations.
    pub fn new(most: NonZeroUsize, interval: Option<(Time, Time)>) -> Table {
        Table {
            connections: Kept::new(most),
            conversations: Kept::new(most),
            tcp: None,
            udp: None,
            interval,
        }
    }

    /// When the first segment was seen, or, where there is none, the first datagram; zero without
    /// either.
    pub fn origin(&self) -> Time {
        self.tcp.or(self.udp).map_or(Time::ZERO, |(first, _)| first)
    }

    /// From there to the latest segment, or datagram.
    pub fn lasted(&self) -> Time {
        self.tcp
            .or(self.udp)
            .map_or(Time::ZERO, |(first, latest)| latest - first)
    }

    /// Takes in `segment`, seen at `now`, and tells `watch` what it was.
    pub fn take(&mut self, segment: &TcpSegment, now: Time, watch: &mut impl Watch) {
        let origin = widened(&mut self.tcp, now);
        let moment = Moment {
            now,
            latest: None,
            origin,
            counted: self.interval.is_some_and(|(from, to)| {
                let since = now - origin;
                from <= since && since < to
            }),
        };
        let place = self.connections.place(
            Endpoints::between(segment.source, segment.destination),
            |connection| connection.is_over_by(segment),
            || Connection::new(segment, now),
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
        if held.packets.is_power_of_two() || held.packets.is_multiple_of(WEIGHED) {
            let memory = held.of.memory();
            self.connections.weigh(place, memory);
        }
    }

    /// Takes in `datagram`, seen at `now`, and tells `watch` of it.
    pub fn take_datagram(&mut self, datagram: &UdpDatagram, now: Time, watch: &mut impl Watch) {
        widened(&mut self.udp, now);
        let place = self.conversations.place(
            Endpoints::between(datagram.source, datagram.destination),
            |_| false,
            || Conversation::new(datagram, now),
        );
        let Some(held) = self.conversations.touch(place) else {
            return;
        };
        let mut told = held.of.take(datagram, now);
        if watch.on() {
            told.conversation = held.number;
            watch.datagram(told);
        }
        if held.packets.is_power_of_two() || held.packets.is_multiple_of(WEIGHED) {
            let memory = held.of.memory();
            self.conversations.weigh(place, memory);
        }
    }
}

/// Takes `now` into `span`; its beginning.
fn widened(span: &mut Option<(Time, Time)>, now: Time) -> Time {
    let (first, latest) = span.get_or_insert((now, now));
    *latest = now.max(*latest);
    *first
}
