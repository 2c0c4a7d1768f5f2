//! Datagrams: at a constant rate, on and off, at random, and echo requests with their replies.

use cclab_net::Port;
use cclab_packet::{Packet, flags};
use cclab_units::{Rate, Stream, Time, TxClock};

use super::outbox::Outbox;
use crate::flow::{RECEIVER, SENDER};

/// When a source sends.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// At a constant rate.
    Constant(Gap),
    /// At a constant rate, but only from time to time.
    OnOff {
        /// While it sends.
        gap: Gap,
        /// Mean time of sending.
        on: Time,
        /// Mean time between.
        off: Time,
        /// Whether these times are always the same instead of exponentially distributed.
        constant: bool,
        /// When the time of sending ends.
        until: Time,
    },
    /// Independently of what was sent before: a Poisson process with that mean distance.
    Random(Time),
    /// The next when the last is answered, or after this time if it is not.
    Flood(Time),
}

/// The distance of packets at a constant rate, exact in the mean.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    clock: TxClock,
    carry: u32,
}

impl Gap {
    /// That of packets at `rate`.
    pub fn of(rate: Rate) -> Gap {
        Gap {
            clock: TxClock::new(rate),
            carry: 0,
        }
    }

    fn next(&mut self, bytes: u16) -> Time {
        self.clock.time_of_next(u64::from(bytes), &mut self.carry)
    }
}

/// A source of datagrams.
#[derive(Clone, Debug)]
pub struct Datagrams {
    pub source: u32,
    /// Its flow number.
    pub flow: u32,
    pub ports: [Port; 2],
    /// Bytes of a packet on a link.
    pub wire_len: u16,
    /// Bytes of its payload.
    pub payload: u16,
    pub pattern: Pattern,
    pub stop: Time,
    pub dice: Stream,
    sent: u32,
    /// When the next is due.
    due: Time,
}

impl Datagrams {
    /// A source that has sent nothing; [`Datagrams::begin`] says when it begins.
    pub fn new(
        (source, flow): (u32, u32),
        ports: [Port; 2],
        (wire_len, payload): (u16, u16),
        pattern: Pattern,
        stop: Time,
        dice: Stream,
    ) -> Datagrams {
        Datagrams {
            source,
            flow,
            ports,
            wire_len,
            payload,
            pattern,
            stop,
            dice,
            sent: 0,
            due: Time::NEVER,
        }
    }

    /// When the first packet is due if the source starts at `start`.
    pub fn begin(&mut self, start: Time) -> Time {
        self.due = match &mut self.pattern {
            Pattern::Constant(_) | Pattern::Flood(_) => start,
            Pattern::Random(mean) => start + self.dice.exponential(*mean),
            Pattern::OnOff {
                on,
                constant,
                until,
                ..
            } => {
                *until = start + span(&mut self.dice, *on, *constant);
                start
            }
        };
        self.due
    }

    /// Sends if a packet is due; gives the next time to ask.
    pub fn on_timer(&mut self, now: Time, out: &mut Outbox) -> Time {
        if now >= self.stop {
            return Time::NEVER;
        }
        if now >= self.due {
            self.send(now, out);
        }
        self.due
    }

    fn send(&mut self, now: Time, out: &mut Outbox) {
        let wire_len = self.wire_len;
        let kind = match self.pattern {
            Pattern::Flood(_) => flags::ECHO,
            _ => flags::DATAGRAM,
        };
        let packet = Packet {
            flow: self.flow,
            seq: self.sent,
            payload: self.payload,
            wire_len,
            flags: kind,
            ..stamped(now)
        };
        out.put(self.source, self.ports[SENDER], packet);
        self.sent = self.sent.wrapping_add(1);
        self.due = match &mut self.pattern {
            Pattern::Constant(gap) => now + gap.next(wire_len),
            Pattern::Random(mean) => now + self.dice.exponential(*mean),
            Pattern::Flood(patience) => now + *patience,
            Pattern::OnOff {
                gap,
                on,
                off,
                constant,
                until,
            } => {
                let next = now + gap.next(wire_len);
                if next < *until {
                    next
                } else {
                    let begin = (*until).max(now) + span(&mut self.dice, *off, *constant);
                    *until = begin + span(&mut self.dice, *on, *constant);
                    begin
                }
            }
        };
    }

    /// A packet has reached a host: a request is answered, and the reply to the last one sent lets
    /// the next go. Replies to earlier ones let nothing go, or each time without a reply would add
    /// one more to what is on its way for good (`ping -f`: below the rate of its clock it sends only
    /// with nothing in flight, counted from the latest that was answered).
    pub fn receive(&mut self, now: Time, packet: &Packet, out: &mut Outbox) {
        let waited = (now - stamp_of(packet)).as_nanos();
        let counters = &mut out.counters[self.source as usize];
        if packet.backward {
            counters.rtt.record(waited);
            let next = packet.seq.wrapping_add(1);
            if now < self.stop && next == self.sent {
                self.send(now, out);
            }
            return;
        }
        counters.delay.record(waited);
        if matches!(self.pattern, Pattern::Flood(_)) {
            let reply = Packet {
                backward: true,
                ..*packet
            };
            out.put(self.source, self.ports[RECEIVER], reply);
        }
    }
}

fn span(dice: &mut Stream, mean: Time, constant: bool) -> Time {
    match constant {
        true => mean,
        false => dice.exponential(mean),
    }
}

/// A packet that tells when it left, in the two words that TCP has for timestamps.
fn stamped(now: Time) -> Packet {
    let ns = now.as_nanos();
    Packet {
        tsval: (ns >> 32) as u32,
        tsecr: ns as u32,
        ..Packet::default()
    }
}

fn stamp_of(packet: &Packet) -> Time {
    Time::from_nanos((u64::from(packet.tsval) << 32) | u64::from(packet.tsecr))
}
