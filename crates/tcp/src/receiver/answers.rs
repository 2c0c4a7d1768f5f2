//! The packets that a receiver sends.

use cclab_cc::EcnFeedback;
use cclab_packet::{MAX_SACK_BLOCKS, Packet, flags};
use cclab_units::Time;

use super::{Receiver, TIMESTAMP_OPTION, UNSCALED_MAX, syn_options_len, timestamp};

/// SACK blocks beside a timestamp: the 40 bytes of options hold no more (RFC 2018 section 3).
const SACK_BLOCKS_BESIDE_TIMESTAMP: usize = 3;

impl Receiver {
    pub(super) fn syn_ack(&mut self, now: Time) -> Packet {
        // Karn's rule: a repeated SYN-ACK measures nothing.
        self.syn_ack_at = match self.syn_ack_at {
            None => Some(now),
            Some(_) => Some(Time::NEVER),
        };
        let wire = &self.config.wire;
        let mut packet = self.bare(now);
        packet.seq = self.isn;
        packet.ack = self.first_seq;
        packet.flags = flags::SYN | flags::ACK | if self.ecn { flags::ECE } else { 0 };
        packet.window = self.first_window() as u16; // at most 65535
        packet.wire_len = wire.ip_header + wire.tcp_header + syn_options_len(wire) + wire.framing;
        if self.scaling {
            packet.wscale_plus_one = self.shift as u8 + 1; // at most 15
        }
        packet
    }

    pub(super) fn ack(&mut self, now: Time, packet: &mut Packet) {
        self.open_window();
        match &mut self.linux {
            Some(linux) => linux.acks.on_ack_sent(),
            None => self.delayed.on_ack_sent(),
        }
        self.ack_of(now, self.rcv_nxt, self.echo_congestion, packet);
    }

    /// An acknowledgement, of what is there before the segment that is being taken in.
    #[cold]
    pub(super) fn early_ack(&mut self, now: Time) -> Packet {
        let mut packet = Packet::default();
        self.ack(now, &mut packet);
        packet
    }

    /// An acknowledgement of what is before `offset`.
    pub(super) fn ack_of(
        &mut self,
        now: Time,
        offset: u64,
        echo_congestion: bool,
        packet: &mut Packet,
    ) {
        self.counters.acks += 1;
        self.last_ack = offset;
        let wire = self.config.wire;
        *packet = self.bare(now);
        packet.seq = self.isn.wrapping_add(1);
        packet.ack = self.wire_seq(offset);
        packet.flags = flags::ACK | if echo_congestion { flags::ECE } else { 0 };
        if self.fin_received && offset == self.rcv_nxt {
            // The application closes when it has read everything. A lost FIN goes again with the
            // answer to the peer's own; beyond that nobody waits for it.
            packet.flags |= flags::FIN;
        }
        let window = self.edge.saturating_sub(offset);
        packet.window = (window >> self.shift).min(UNSCALED_MAX) as u16; // at most 65535
        let mut options = if self.timestamps { TIMESTAMP_OPTION } else { 0 };
        let repeated = self.repeated.take();
        let blocks = match &self.linux {
            Some(linux) => !linux.blocks.told().is_empty(),
            None => !self.ranges.is_empty(),
        };
        if wire.sack && (repeated.is_some() || blocks) {
            self.write_sack(packet, repeated);
            options += 4 + 8 * u16::from(packet.sack_len); // kind and length, two bytes of padding
        }
        packet.wire_len = wire.ip_header + wire.tcp_header + options + wire.framing;
    }

    /// What every packet of the receiver has.
    #[inline(always)] // into its place, see `Sender::transmit`
    fn bare(&self, now: Time) -> Packet {
        let mut packet = Packet {
            flow: self.flow,
            backward: true,
            ..Packet::default()
        };
        if self.ecn && self.config.feedback == EcnFeedback::PerPacket {
            packet.ecn = self.config.codepoint; // where all the network marks alike (RFC 8257 section 3.6)
        }
        if self.timestamps {
            packet.tsval = timestamp(if self.is_clock_old { self.clock } else { now });
            packet.tsecr = self.ts_recent;
        }
        packet
    }

    /// The duplicate first, if any (RFC 2883 section 4), then the blocks by recency
    /// (RFC 2018 section 4); a duplicate inside a block is followed by that block.
    fn write_sack(&self, packet: &mut Packet, repeated: Option<(u64, u64)>) {
        let room = match self.timestamps {
            true => SACK_BLOCKS_BESIDE_TIMESTAMP,
            false => MAX_SACK_BLOCKS,
        };
        let mut slots = packet.sack[..room].iter_mut();
        let mut tell = |(start, end)| {
            if let Some(slot) = slots.next() {
                *slot = (self.wire_seq(start), self.wire_seq(end));
                packet.sack_len += 1;
            }
        };
        repeated.into_iter().for_each(&mut tell);
        match &self.linux {
            Some(linux) => linux.blocks.told().iter().copied().for_each(tell),
            None => self.ranges.recent().for_each(tell),
        }
    }

    fn wire_seq(&self, offset: u64) -> u32 {
        self.first_seq.wrapping_add(offset as u32) // the low 32 bits, as the wire has them
    }
}
