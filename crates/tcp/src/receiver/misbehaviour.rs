//! Receivers that misbehave (RFC 9743 section 7.6): what they make of the segments that come, and of
//! the acknowledgements that an honest receiver would send.
//!
//! The first three attacks are those of Savage, Cardwell, Wetherall and Anderson, "TCP Congestion
//! Control with a Misbehaving Receiver", CCR 29(5), 1999. To conceal losses and marks is what RFC 3540
//! (section 1) and RFC 9768 (section 5.3) fear of a receiver that gains by it.
//!
//! An honest receiver stays underneath: it is shown other segments than came, and what it answers is
//! divided, repeated or followed by more.

use std::collections::VecDeque;

use cclab_packet::{Ecn, Packet, flags};
use cclab_units::Time;

use super::{Receiver, UNSCALED_MAX};
use crate::accecn::EcnMode;

/// What a receiver does otherwise than an honest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    /// ACK division: each full segment is acknowledged in so many steps.
    AckDivision {
        /// Steps for each full segment.
        pieces: u32,
    },
    /// DupACK spoofing: so many copies follow each acknowledgement.
    DuplicateAcks {
        /// Copies of each acknowledgement.
        copies: u32,
    },
    /// Optimistic ACKing: another acknowledgement follows each, of segments that have not come yet.
    /// What is lost of those nobody sends again, so that losses are concealed too.
    OptimisticAcks {
        /// Full segments beyond those that came.
        ahead: u32,
    },
    /// Gaps are acknowledged as if they had come.
    LossConcealment,
    /// Marked segments are taken for unmarked ones.
    MarkConcealment,
    /// Segments are all taken for marked ones.
    MarkExaggeration,
}

impl Misbehaviour {
    /// Whether it acknowledges what did not come: the application goes without.
    pub fn loses_data(self) -> bool {
        matches!(
            self,
            Misbehaviour::OptimisticAcks { .. } | Misbehaviour::LossConcealment
        )
    }
}

/// A receiver's own part of its misbehaviour.
#[derive(Clone, Debug)]
pub(super) struct Misbehaving {
    how: Misbehaviour,
    /// Acknowledgements that follow the last one at once.
    made_up: VecDeque<Packet>,
    /// Bytes that were acknowledged and had not come.
    skipped: u64,
}

impl Misbehaving {
    pub(super) fn new(how: Misbehaviour) -> Misbehaving {
        Misbehaving {
            how,
            made_up: VecDeque::new(),
            skipped: 0,
        }
    }

    /// Bytes that the application never got.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }
}

impl Receiver {
    /// Takes in a segment of the sender for what the receiver says that it was.
    #[cold]
    pub(super) fn take_dishonestly(&mut self, now: Time, packet: &Packet) {
        let mut shown = *packet;
        let has_data = packet.payload > 0;
        match self.misbehaving.as_ref().map(|it| it.how) {
            Some(Misbehaviour::MarkConcealment) if packet.ecn == Ecn::Ce => {
                shown.ecn = self.config.codepoint;
            }
            Some(Misbehaviour::MarkExaggeration) if has_data => shown.ecn = Ecn::Ce,
            _ => {}
        }
        let marks = self.counters.ce_marks;
        self.take(now, &shown);
        let is_counted = self.ecn != EcnMode::Off && has_data && !packet.has(flags::SYN);
        self.counters.ce_marks = marks + u64::from(is_counted && packet.ecn == Ecn::Ce);
    }

    /// Takes what is missing before `start`, where a segment begins that the window allows, as if it
    /// had come.
    #[cold]
    pub(super) fn pass_over_gap(&mut self, packet: &Packet, start: u64) {
        let Some(misbehaving) = &mut self.misbehaving else {
            return;
        };
        let is_news = packet.payload > 0 || packet.has(flags::FIN);
        let is_gap = start > self.rcv_nxt && start <= self.edge && self.fin_at.is_none();
        if !(misbehaving.how.loses_data() && is_news && is_gap) {
            return;
        }
        misbehaving.skipped += start - self.rcv_nxt;
        if self.last_ack >= self.rcv_nxt {
            self.last_ack = start; // nothing waits for an acknowledgement: this segment is the first
        }
        self.rcv_nxt = start;
        if self.reading {
            self.consumed = start;
        }
    }

    /// Writes into `packet` what leaves next: what is made up, or the acknowledgement of an honest
    /// receiver, from which more is made.
    #[cold]
    pub(super) fn transmit_misbehaving(&mut self, now: Time, packet: &mut Packet) -> bool {
        if let Some(next) = self.next_made_up() {
            self.counters.acks += 1;
            *packet = next;
            return true;
        }
        let before = self.last_ack;
        if !self.transmit_honest(now, packet) {
            return false;
        }
        let Some(how) = self.misbehaving.as_ref().map(|it| it.how) else {
            return true;
        };
        if packet.has(flags::SYN) {
            return true;
        }
        let full = u64::from(self.config.mss_payload);
        match how {
            Misbehaviour::AckDivision { pieces } => self.divide(before, full, pieces, packet),
            Misbehaviour::DuplicateAcks { copies } => {
                let copies = std::iter::repeat_n(*packet, copies as usize);
                self.follow_with(copies);
            }
            Misbehaviour::OptimisticAcks { ahead } if !self.fin_received => {
                let offset = self.last_ack + u64::from(ahead) * full;
                let more = self.as_of(packet, offset.min(self.edge));
                self.follow_with([more]);
            }
            _ => {}
        }
        true
    }

    fn next_made_up(&mut self) -> Option<Packet> {
        self.misbehaving.as_mut()?.made_up.pop_front()
    }

    fn follow_with(&mut self, packets: impl IntoIterator<Item = Packet>) {
        if let Some(misbehaving) = &mut self.misbehaving {
            misbehaving.made_up.extend(packets);
        }
    }

    /// The acknowledgement `last`, of what came after the offset `before`, in steps.
    fn divide(&mut self, before: u64, full: u64, pieces: u32, last: &mut Packet) {
        let step = (full / u64::from(pieces)).max(1);
        let steps: Vec<Packet> = (1..)
            .map(|number| before + number * step)
            .take_while(|&offset| offset < self.last_ack.min(self.data_end()))
            .map(|offset| self.as_of(last, offset))
            .collect();
        let Some((&first, others)) = steps.split_first() else {
            return;
        };
        self.follow_with(others.iter().copied().chain([*last]));
        *last = first;
    }

    /// The acknowledgement `packet`, as it is of all before `offset`.
    fn as_of(&self, packet: &Packet, offset: u64) -> Packet {
        let window = self.edge.saturating_sub(offset) >> self.shift;
        Packet {
            ack: self.wire_seq(offset),
            window: window.min(UNSCALED_MAX) as u16, // at most 65535
            flags: packet.flags & !flags::FIN,
            ..*packet
        }
    }
}
