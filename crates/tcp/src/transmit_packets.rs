//! The packets of a sender as they are on the wire.

use cclab_packet::{Ecn, Packet, flags};
use cclab_units::Time;
use cclab_units::hint::unlikely;

use crate::accecn::{EcnMode, syn_flags};
use crate::receiver::{syn_options_len, timestamp};
use crate::scoreboard::Segment;
use crate::sender::Sender;

/// SYNs that ask for accurate feedback: in case something on the way drops them for it, later ones ask
/// for nothing (RFC 9768 section 3.1.4.1).
const ACCURATE_SYNS: u32 = 2;
/// The window field of the sender's own segments: it receives no data, so its window is open.
const OPEN_WINDOW: u16 = u16::MAX;

impl Sender {
    /// Bytes of IP and TCP headers, options and framing.
    fn overhead(&self) -> u16 {
        let wire = &self.flight.profile.wire;
        let options = if wire.timestamps { 12 } else { 0 };
        wire.ip_header + wire.tcp_header + wire.framing + options
    }

    pub(crate) fn tsval(&self, now: Time) -> u32 {
        if self.flight.profile.wire.timestamps {
            timestamp(now)
        } else {
            0
        }
    }

    #[inline(always)] // into its place, see `transmit`
    pub(crate) fn data_packet(&mut self, now: Time, segment: &Segment) -> Packet {
        let mut cwr = 0;
        if unlikely(self.flight.cwr_due) && !segment.ever_resent {
            cwr = flags::CWR; // on new data only (RFC 3168 section 6.1.2)
            self.flight.cwr_due = false;
        }
        let fin = if segment.fin { flags::FIN } else { 0 };
        Packet {
            flow: self.flow,
            seq: self.wire_seq(segment.start),
            ack: self.peer_seq,
            tsval: self.tsval(now),
            tsecr: self.ts_recent,
            window: OPEN_WINDOW,
            payload: segment.payload() as u16,
            wire_len: segment.payload() as u16 + self.overhead(),
            flags: flags::ACK | cwr | fin | self.ace(),
            ecn: self.data_ecn(),
            ..Packet::default()
        }
    }

    pub(crate) fn wire_seq(&self, offset: u64) -> u32 {
        self.isn.wrapping_add(1).wrapping_add(offset as u32)
    }

    pub(crate) fn control_packet(&self, now: Time, seq: u32, flags: u8) -> Packet {
        Packet {
            flow: self.flow,
            seq,
            ack: self.peer_seq,
            tsval: self.tsval(now),
            tsecr: self.ts_recent,
            window: OPEN_WINDOW,
            wire_len: self.overhead(),
            flags,
            ecn: self.control_ecn(),
            ..Packet::default()
        }
    }

    /// An empty segment below the window: the receiver must answer (RFC 9293 section 3.10.7.4).
    pub(crate) fn window_probe(&mut self, now: Time) -> Packet {
        self.window_probe_due = false;
        let ace = self.ace();
        self.control_packet(
            now,
            self.wire_seq(self.flight.snd_una).wrapping_sub(1),
            flags::ACK | ace,
        )
    }

    pub(crate) fn syn(&mut self, now: Time) -> Packet {
        self.on_syn_sent(now);
        let plain = self.asks == EcnMode::Accurate && self.syn_tries > ACCURATE_SYNS;
        let asks = if plain { EcnMode::Off } else { self.asks };
        let wire = self.flight.profile.wire;
        let mut packet = self.control_packet(now, self.isn, flags::SYN | syn_flags(asks));
        if plain {
            packet.ecn = Ecn::NotEct;
        }
        self.syn_codepoint = packet.ecn;
        packet.ack = 0;
        packet.wscale_plus_one = u8::from(wire.window_scaling);
        packet.wire_len = wire.ip_header + wire.tcp_header + wire.framing + syn_options_len(&wire);
        packet
    }
}
