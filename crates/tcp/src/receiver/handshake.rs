//! What a receiver makes of a SYN, and of the first segment after its answer.

use cclab_packet::{Packet, flags};
use cclab_units::Time;

use super::window::shift_for;
use super::{Pending, Receiver, State, UNSCALED_MAX};
use crate::accecn::{Accurate, EcnMode, answer_to, syn_flags};

impl Receiver {
    /// A SYN, or what comes while the connection does not stand; returns whether that may have data.
    #[cold]
    pub(super) fn take_before_data(&mut self, now: Time, packet: &Packet) -> bool {
        if packet.has(flags::SYN) {
            self.on_syn(packet);
            return false;
        }
        match self.state {
            State::Listen => return false, // not of this connection; a reset is not modelled
            State::SynReceived => {
                self.on_handshake_done(now);
                self.on_handshake_ace(packet);
            }
            State::Established => {}
        }
        true
    }

    pub(super) fn on_syn(&mut self, packet: &Packet) {
        self.syn_codepoint = packet.ecn;
        if self.state != State::Listen {
            if packet.flags & syn_flags(EcnMode::Accurate) == 0
                && let Some(accurate) = &mut self.accurate
            {
                accurate.sends_ect = false; // the sender may have given up ECN (RFC 9768 section 3.1.5)
            }
            // A repeated SYN: the SYN-ACK was lost, or the ACK of it was late.
            self.pending = match self.state {
                State::SynReceived => Pending::SynAck,
                _ => Pending::Ack,
            };
            return;
        }
        let wire = &self.config.wire;
        self.state = State::SynReceived;
        self.pending = Pending::SynAck;
        self.first_seq = packet.seq.wrapping_add(1);
        self.timestamps = wire.timestamps && packet.tsval != 0;
        self.ts_recent = packet.tsval;
        self.ecn = answer_to(self.config.ecn, packet.flags);
        self.accurate = (self.ecn == EcnMode::Accurate).then(|| Box::new(Accurate::new(true)));
        self.scaling = wire.window_scaling && packet.wscale_plus_one != 0;
        self.shift = if self.scaling {
            // Linux scales by the memory that the window is part of.
            let memory = self.config.buffer.map(|buffer| buffer.most);
            shift_for(memory.unwrap_or(self.config.rwnd_max))
        } else {
            0
        };
        // The largest window that the field expresses exactly: a full buffer is then never
        // rounded down.
        let most = self.config.rwnd_max.min(UNSCALED_MAX << self.shift);
        self.rwnd_max = most >> self.shift << self.shift;
        let segment = u64::from(self.config.mss_payload);
        if self.linux.is_some() && self.shift == 0 && self.rwnd_max > segment {
            // Unscaled windows are whole segments (`__tcp_select_window`).
            self.rwnd_max = self.rwnd_max / segment * segment;
        }
        self.edge_step = (self.rwnd_max / 2)
            .min(u64::from(self.config.mss_payload))
            .max(1 << self.shift);
        self.edge = self.first_window();
    }

    pub(super) fn on_handshake_done(&mut self, now: Time) {
        self.state = State::Established;
        if let Some(buffer) = &mut self.buffer {
            buffer.start(now);
        }
        if let Some(linux) = &mut self.linux {
            let since = |sent: Time| now.whole_micros() - sent.whole_micros();
            let rtt = self.syn_ack_at.map(since);
            linux.acks.on_handshake_rtt(rtt);
        }
    }
}
