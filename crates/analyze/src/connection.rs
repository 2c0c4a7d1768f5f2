//! One connection: both its directions, and when another on the same ports begins.

use std::net::SocketAddr;

use cclab_trace::captured::TcpSegment;
use cclab_units::Time;

use crate::analysis::End;
use crate::direction::Sending;

/// Two endpoints, in the order of addresses: the same for both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Endpoints(SocketAddr, SocketAddr);

impl Endpoints {
    /// Those of `segment`.
    pub fn of(segment: &TcpSegment) -> Endpoints {
        let (a, b) = (segment.source, segment.destination);
        if a <= b {
            Endpoints(a, b)
        } else {
            Endpoints(b, a)
        }
    }
}

/// A connection as far as it was seen.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Who sent its first packet that was seen, and to whom.
    pub ends: [SocketAddr; 2],
    /// When its first packet was seen.
    pub first: Time,
    /// When its last packet was seen.
    pub last: Time,
    /// Packets that were seen at an earlier time than one before them in the file.
    pub backwards: u64,
    /// What each end sent.
    pub sending: [Sending; 2],
    any: bool,
}

impl Connection {
    /// The connection that `segment`, seen at `now`, is the first of.
    pub fn new(segment: &TcpSegment, now: Time) -> Connection {
        Connection {
            ends: [segment.source, segment.destination],
            first: now,
            last: now,
            backwards: 0,
            sending: Default::default(),
            any: false,
        }
    }

    /// Whether `segment` opens another connection on the same ports: a SYN with another initial
    /// sequence number (RFC 9293 section 3.6.1), or one after segments without.
    pub fn is_over_by(&self, segment: &TcpSegment) -> bool {
        let sending = &self.sending[self.side(segment)];
        segment.flags.syn
            && match sending.isn {
                Some(isn) => isn != segment.seq,
                None => sending.packets > 0,
            }
    }

    /// Takes in `segment`, seen at `now`.
    pub fn take(&mut self, segment: &TcpSegment, now: Time) {
        self.backwards += u64::from(now < self.last);
        let latest = self.any.then_some(self.last);
        // Time that runs backwards counts as standing still.
        let now = now.max(self.last);
        self.any = true;
        self.last = now;
        let [a, b] = &mut self.sending;
        if segment.source == self.ends[0] {
            a.take(segment, now, latest, b);
        } else {
            b.take(segment, now, latest, a);
        }
    }

    /// How it ended.
    pub fn end(&self) -> End {
        let [a, b] = &self.sending;
        let all = |count: fn(&Sending) -> u64| count(a) > 0 && count(b) > 0;
        if a.rsts + b.rsts > 0 {
            End::Reset
        } else if all(|sending| sending.syns) && all(|sending| sending.fins) {
            End::Complete
        } else {
            End::Open
        }
    }

    fn side(&self, segment: &TcpSegment) -> usize {
        usize::from(segment.source != self.ends[0])
    }
}
