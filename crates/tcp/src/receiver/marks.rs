//! What a receiver makes of the codepoints of the packets that come: echoes (RFC 3168, RFC 8257) or
//! counts (RFC 9768).

use cclab_cc::EcnFeedback;
use cclab_packet::{Ecn, Packet, flags};
use cclab_units::Time;
use cclab_units::hint::unlikely;

use super::{Pending, Receiver};
use crate::accecn::{EcnMode, ace, arrived_as, is_mangled};

impl Receiver {
    /// The first packet after the SYN-ACK, if it is a bare acknowledgement, tells how that came
    /// (RFC 9768 table 4).
    pub(super) fn on_handshake_ace(&mut self, packet: &Packet) {
        let bare = packet.payload == 0 && packet.sack_len == 0 && !packet.has(flags::FIN);
        let sent = self.control_ecn();
        if let Some(accurate) = &mut self.accurate
            && bare
        {
            let told = ace(packet.flags);
            let mangled = arrived_as(told).is_some_and(|arrived| is_mangled(sent, arrived));
            accurate.sends_ect &= told != 0 && !mangled;
        }
    }

    /// Counts the codepoint with which a segment came that is acceptable (RFC 9293 section
    /// 3.10.7.4), where marks are counted.
    pub(super) fn count_mark(&mut self, packet: &Packet, start: u64) {
        let end = start + u64::from(packet.payload);
        let acceptable = match packet.payload {
            0 => start >= self.rcv_nxt && start <= self.edge,
            _ => end > self.rcv_nxt && start < self.edge,
        };
        let Some(accurate) = self.accurate.as_mut().filter(|_| acceptable) else {
            return;
        };
        let asks = accurate
            .received
            .on_packet(packet.ecn, u32::from(packet.payload));
        match (packet.payload, &mut self.linux) {
            (0, _) if asks.alone => self.pending = Pending::Ack,
            (1.., Some(linux)) if asks.beside_data => linux.acks.insist(),
            (1.., None) if asks.beside_data => self.pending = Pending::Ack,
            _ => {}
        }
    }

    pub(super) fn on_ecn(&mut self, packet: &Packet) {
        if unlikely(self.ecn != EcnMode::Off) {
            self.take_mark(packet);
        }
    }

    #[inline(never)]
    fn take_mark(&mut self, packet: &Packet) {
        let marked = packet.ecn == Ecn::Ce;
        self.counters.ce_marks += u64::from(marked);
        if self.accurate.is_some() {
            return;
        }
        if self.linux.is_some() {
            return self.on_reaction_as_linux(packet);
        }
        match self.config.feedback {
            // RFC 3168 section 6.1.3: echo a mark until the sender says that it reacted.
            EcnFeedback::Classic | EcnFeedback::Accurate => {
                self.echo_congestion &= !packet.has(flags::CWR);
                self.echo_congestion |= marked;
            }
            EcnFeedback::PerPacket => self.on_mark_change(marked, self.rcv_nxt),
        }
    }

    /// RFC 8257 section 3.2: each acknowledgement tells whether what it covers was marked. At a
    /// change what was waiting, all `before` it, is acknowledged by itself, then the segment that changed it, as the
    /// RFC permits and Linux does (`dctcp_ece_ack_update`).
    pub(super) fn on_mark_change(&mut self, marked: bool, before: u64) {
        if marked == self.echo_congestion {
            return;
        }
        let waits = match &self.linux {
            Some(linux) => linux.acks.is_waiting(),
            None => self.delayed.deadline() != Time::NEVER,
        };
        if waits {
            self.ack_before_change = Some(before);
        }
        self.echo_congestion = marked;
        match &mut self.linux {
            Some(linux) => linux.acks.insist(),
            None => self.pending = Pending::Ack,
        }
    }
}
