//! The packets that a receiver sends.

use cclab_cc::EcnFeedback;
use cclab_packet::{Ecn, EcnBytes, MAX_SACK_BLOCKS, Packet, flags};
use cclab_units::Time;
use cclab_units::hint::{rarely, unlikely};

use crate::accecn::{EcnMode, ace_flags, syn_ack_flags};

use super::{Receiver, TIMESTAMP_OPTION, UNSCALED_MAX, syn_options_len, timestamp};

/// SACK blocks beside a timestamp: the 40 bytes of options hold no more (RFC 2018 section 3).
const SACK_BLOCKS_BESIDE_TIMESTAMP: usize = 3;
/// SACK blocks beside counts of marks, with or without a timestamp.
const SACK_BLOCKS_BESIDE_COUNTS: usize = 2;
/// The most bytes of TCP options.
const MAX_OPTIONS: u16 = 40;

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
        packet.flags = flags::SYN | flags::ACK | syn_ack_flags(self.ecn, self.syn_codepoint);
        packet.window = self.first_window() as u16; // at most 65535
        packet.wire_len = wire.ip_header + wire.tcp_header + syn_options_len(wire) + wire.framing;
        if self.scaling {
            packet.wscale_plus_one = self.shift as u8 + 1; // at most 15
        }
        // A repeated one goes without the option, for which something may have dropped the first
        // (RFC 9768 section 3.2.3.2.2).
        if let Some(accurate) = self.accurate.as_ref().filter(|_| self.syn_acks == 0) {
            packet.set_ecn_bytes(&accurate.received.first_option());
            packet.wire_len += EcnBytes::padded_len(3);
        }
        self.syn_acks += 1;
        packet
    }

    #[inline(always)] // once for each packet: a call costs more than what it does
    pub(super) fn ack(&mut self, now: Time, packet: &mut Packet) {
        self.open_window();
        match &mut self.linux {
            Some(linux) => linux.acks.on_ack_sent(),
            None => {
                rarely();
                self.delayed.on_ack_sent();
            }
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
    #[inline(always)] // once for each packet: a call costs more than what it does
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
        if unlikely(self.fin_received) && offset == self.rcv_nxt {
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
        let counts = matches!(&self.accurate, Some(it) if it.received.has_bytes_to_tell());
        if wire.sack && (repeated.is_some() || blocks) {
            rarely();
            self.write_sack(packet, repeated, counts);
            options += 4 + 8 * u16::from(packet.sack_len); // kind and length, two bytes of padding
        }
        if unlikely(self.accurate.is_some()) {
            options = self.write_counts(packet, counts, options);
        }
        packet.wire_len = wire.ip_header + wire.tcp_header + options + wire.framing;
    }

    /// Writes what is counted of marks into `packet`, beside `options` bytes of options; returns how many
    /// there are then.
    #[inline(never)]
    fn write_counts(&mut self, packet: &mut Packet, counts: bool, options: u16) -> u16 {
        let Some(accurate) = &mut self.accurate else {
            return options;
        };
        packet.flags |= ace_flags(accurate.received.tell());
        let option = Some(&mut accurate.received).filter(|_| counts);
        let Some(option) = option.and_then(|it| it.option(MAX_OPTIONS - options)) else {
            return options;
        };
        packet.set_ecn_bytes(&option);
        options + option.wire_len()
    }

    /// What every packet of the receiver has.
    #[inline(always)] // into its place, see `Sender::transmit`
    fn bare(&self, now: Time) -> Packet {
        let mut packet = Packet {
            flow: self.flow,
            backward: true,
            ..Packet::default()
        };
        packet.ecn = self.control_ecn();
        if self.timestamps {
            packet.tsval = timestamp(if self.is_clock_old { self.clock } else { now });
            packet.tsecr = self.ts_recent;
        }
        packet
    }

    /// The codepoint of a packet without data: none may be marked, except where all the network marks
    /// alike (RFC 8257 section 3.6), or the flow is one of low latency (RFC 9331 section 4.1).
    #[inline]
    pub(super) fn control_ecn(&self) -> Ecn {
        let capable = match (&self.accurate, self.config.feedback) {
            (_, EcnFeedback::Classic) => false,
            (Some(accurate), _) => accurate.sends_ect,
            (None, EcnFeedback::PerPacket) => self.ecn == EcnMode::Classic,
            (None, EcnFeedback::Accurate) => false, // the variant goes without
        };
        match capable {
            true => self.config.codepoint,
            false => Ecn::NotEct,
        }
    }

    /// The duplicate first, if any (RFC 2883 section 4), then the blocks by recency
    /// (RFC 2018 section 4); a duplicate inside a block is followed by that block.
    ///
    /// Beside `counts` of marks there are two blocks at most (RFC 9768 section 3.2.3.3).
    fn write_sack(&self, packet: &mut Packet, repeated: Option<(u64, u64)>, counts: bool) {
        let room = match self.timestamps {
            _ if counts => SACK_BLOCKS_BESIDE_COUNTS,
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

    pub(super) fn wire_seq(&self, offset: u64) -> u32 {
        self.first_seq.wrapping_add(offset as u32) // the low 32 bits, as the wire has them
    }
}
