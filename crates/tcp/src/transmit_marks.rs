//! What the packets of a sender say of marks: that they may be marked, and how many came so.

use cclab_cc::EcnFeedback;
use cclab_packet::{Ecn, EcnBytes, Packet, flags};
use cclab_units::Time;
use cclab_units::hint::rarely;

use crate::accecn::{ace_flags, handshake_ace};
use crate::sender::Sender;

impl Sender {
    /// The codepoint of new data.
    #[inline]
    pub(crate) fn data_ecn(&self) -> Ecn {
        let mangled = matches!(&self.flight.accurate, Some(it) if !it.sends_ect);
        match self.flight.ecn && !mangled {
            true => self.codepoint,
            false => Ecn::NotEct,
        }
    }

    /// The three flags of a segment that leaves now, where marks are counted.
    #[inline]
    pub(crate) fn ace(&mut self) -> u8 {
        match &mut self.flight.accurate {
            Some(accurate) => {
                rarely();
                ace_flags(accurate.received.tell())
            }
            None => 0,
        }
    }

    /// The codepoint of what is not new data: none may be capable (RFC 3168 sections 6.1.1, 6.1.4
    /// and 6.1.5), except where all the network marks alike (RFC 8257 section 3.6; Linux sets it
    /// on every packet), or the flow is one of low latency (RFC 9331 section 4.1).
    pub(crate) fn control_ecn(&self) -> Ecn {
        match self.flight.feedback {
            EcnFeedback::Classic => Ecn::NotEct,
            EcnFeedback::PerPacket | EcnFeedback::Accurate => self.data_ecn(),
        }
    }

    pub(crate) fn bare_ack(&mut self, now: Time) -> Packet {
        self.ack_due = false;
        let handshake = self
            .flight
            .accurate
            .as_mut()
            .and_then(|accurate| Some((accurate.handshake.take()?, accurate)));
        let (ace, option) = match handshake {
            Some((codepoint, accurate)) => (
                ace_flags(handshake_ace(codepoint)),
                Some(accurate.received.first_option()),
            ),
            None => (self.ace(), None),
        };
        let seq = self.wire_seq(self.flight.snd_nxt);
        let mut packet = self.control_packet(now, seq, flags::ACK | ace);
        if let Some(option) = option {
            packet.set_ecn_bytes(&option);
            packet.wire_len += EcnBytes::padded_len(3);
        }
        packet
    }
}
