//! The receiving end of a flow: reassembly, acknowledgements, and the window it grants.
//!
//! Data flows one way. The receiver answers a SYN, accepts what its window allows, and
//! produces acknowledgements by the stack's policy. It performs no I/O: packets and instants
//! come in by [`Receiver::on_packet`] and [`Receiver::on_timer`], acknowledgements come out
//! of [`Receiver::poll_transmit`].
//!
//! Offsets are 64-bit and count from the first byte of data; the FIN takes one after the
//! last. A lost SYN-ACK needs no timer here: the sender repeats its SYN.

mod answers;
mod buffer;
mod compression;
mod delayed_ack;
mod gaps;
mod handshake;
mod linux;
mod marks;
mod misbehaviour;
mod reassembly;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;

use cclab_cc::EcnFeedback;
use cclab_packet::{Ecn, Packet, flags};
use cclab_units::hint::{likely, rarely, unlikely};
use cclab_units::{Noted, Rare, Time};

use crate::accecn::{Accurate, EcnMode};
use crate::profile::{AckPolicy, ReceiveBuffer, Wire};
use crate::seq;
use buffer::Buffer;
use delayed_ack::DelayedAck;
use linux::Linux;
use linux::acks::Expired;
use misbehaviour::Misbehaving;
pub use misbehaviour::Misbehaviour;
use reassembly::Reassembly;

/// Bytes of the timestamp option with its padding (RFC 7323 appendix A).
const TIMESTAMP_OPTION: u16 = 12;
/// Largest window without scaling.
const UNSCALED_MAX: u64 = 65_535;

/// What a receiver is built from: flows that behave alike have one in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Sizes and options; `sack` as agreed for the flow.
    pub wire: Wire,
    /// When to acknowledge.
    pub ack: AckPolicy,
    /// Bytes that the receive buffer holds: the largest window advertised.
    pub rwnd_max: u64,
    /// A buffer that grows to it; `None`: the window is as large from the start.
    pub buffer: Option<ReceiveBuffer>,
    /// The most that it agrees to of the feedback of marks that the sender asks for.
    pub ecn: EcnMode,
    /// What the variant makes of marks, and so what an echo says of them where they are echoed.
    pub feedback: EcnFeedback,
    /// How its packets say that they may be marked, where they do.
    pub codepoint: Ecn,
    /// Payload bytes of a full segment.
    pub mss_payload: u32,
    /// What it does otherwise than an honest receiver; `None`: it is one.
    pub misbehaviour: Option<Misbehaviour>,
}

/// What a receiver counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments with payload that arrived.
    pub segments: u64,
    /// Segments with payload of which every byte had arrived before.
    pub duplicates: u64,
    /// Segments with payload that arrived ahead of a gap and were kept.
    pub out_of_order: u64,
    /// Segments with payload of which no byte fitted the window.
    pub refused: u64,
    /// Segments that arrived with the mark "congestion experienced".
    pub ce_marks: u64,
    /// Acknowledgements sent, without the SYN-ACK.
    pub acks: u64,
}

/// Where the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No SYN yet.
    Listen,
    /// The SYN is answered; nothing else came since.
    SynReceived,
    /// The handshake is over. Data is taken until the FIN's offset.
    Established,
}

/// What must be sent at the next [`Receiver::poll_transmit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    Nothing,
    SynAck,
    Ack,
}

/// The receiver of one flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: Arc<ReceiverConfig>,
    /// Index of the flow, written into every packet.
    flow: u32,
    /// Its own initial sequence number.
    isn: u32,
    state: State,
    pending: Pending,
    /// Sequence number of the first byte of data.
    first_seq: u32,
    /// Next offset expected.
    rcv_nxt: u64,
    /// Offset of the FIN, once a segment carried it.
    fin_at: Option<u64>,
    fin_received: bool,
    ranges: Reassembly,
    /// Bytes repeated by the last segment, to be reported once (RFC 2883).
    repeated: Option<(u64, u64)>,

    /// Whether the application reads at once what is in order.
    reading: bool,
    /// Offset up to which the application has read.
    consumed: u64,
    /// The right edge of the window: no byte at or past it is taken. Never moves left.
    edge: u64,
    /// Bytes of window that an unscaled or scaled field can express.
    rwnd_max: u64,
    /// Whether both sides scale windows, by how much this one does.
    scaling: bool,
    shift: u32,
    /// Freed bytes worth telling the sender (RFC 9293 section 3.8.6.2.2).
    edge_step: u64,

    timestamps: bool,
    /// `TS.Recent` of RFC 7323 section 4.3.
    ts_recent: u32,
    /// `Last.ACK.sent` as an offset.
    last_ack: u64,

    ecn: EcnMode,
    /// What is known where marks are counted.
    accurate: Option<Box<Accurate>>,
    /// How the last SYN came, and how many SYN-ACKs have left.
    syn_codepoint: Ecn,
    syn_acks: u32,
    /// Congestion was experienced, and the sender has not said that it reacted; or, where each
    /// mark is echoed, the last segment was marked (`DCTCP.CE`, RFC 8257 section 3.2).
    echo_congestion: bool,
    /// An acknowledgement that is due of what came before the marks changed: up to which offset.
    ack_before_change: Option<u64>,

    buffer: Option<Buffer>,
    /// Of stacks other than Linux.
    delayed: Rare<DelayedAck>,
    /// What Linux decides otherwise; `None` of other stacks.
    linux: Option<Linux>,
    /// `None` of an honest receiver.
    misbehaving: Option<Box<Misbehaving>>,
    /// An acknowledgement of what was there before the last segment.
    early: Option<Box<Packet>>,
    syn_ack_at: Option<Time>,
    /// When the last packet came, and whether what leaves next bears that time, since nobody has
    /// looked at the clock meanwhile.
    clock: Time,
    is_clock_old: bool,
    first_byte: Noted,
    last_byte: Noted,
    counters: Counters,
}

impl Receiver {
    /// The receiver of `flow` that waits for a SYN; `isn` is its own initial sequence number.
    pub fn new(flow: u32, isn: u32, config: Arc<ReceiverConfig>) -> Receiver {
        Receiver {
            flow,
            isn,
            state: State::Listen,
            pending: Pending::Nothing,
            first_seq: 0,
            rcv_nxt: 0,
            fin_at: None,
            fin_received: false,
            ranges: Reassembly::new(),
            repeated: None,
            reading: true,
            consumed: 0,
            edge: 0,
            rwnd_max: 0,
            scaling: false,
            shift: 0,
            edge_step: 1,
            timestamps: false,
            ts_recent: 0,
            last_ack: 0,
            ecn: EcnMode::Off,
            accurate: None,
            syn_codepoint: Ecn::NotEct,
            syn_acks: 0,
            echo_congestion: false,
            ack_before_change: None,
            buffer: Buffer::new(&config),
            delayed: Rare::default(),
            linux: Linux::new(&config),
            misbehaving: config
                .misbehaviour
                .map(|how| Box::new(Misbehaving::new(how))),
            early: None,
            syn_ack_at: None,
            clock: Time::ZERO,
            is_clock_old: false,
            first_byte: Noted::NOT_YET,
            last_byte: Noted::NOT_YET,
            counters: Counters::default(),
            config,
        }
    }

    /// Takes in a segment of the sender.
    pub fn on_packet(&mut self, now: Time, packet: &Packet) {
        match &self.misbehaving {
            None => self.take(now, packet),
            Some(_) => self.take_dishonestly(now, packet),
        }
    }

    #[inline]
    fn take(&mut self, now: Time, packet: &Packet) {
        self.clock = now;
        self.is_clock_old = false;
        if packet.has(flags::SYN) || self.state != State::Established {
            rarely();
            if !self.take_before_data(now, packet) {
                return;
            }
        }
        let start = seq::unwrap(packet.seq.wrapping_sub(self.first_seq), self.rcv_nxt);
        if self.misbehaving.is_some() {
            rarely();
            self.pass_over_gap(packet, start);
        }
        self.keep_timestamp(packet, start);
        if unlikely(self.accurate.is_some()) {
            self.count_mark(packet, start);
        }
        if packet.payload == 0 {
            rarely();
            return self.on_empty(packet, start);
        }
        self.counters.segments += 1;
        self.on_ecn(packet);
        if !self.take_as_linux(now, packet, start) {
            self.take_as_others(now, packet, start);
        }
    }

    /// The next segment to send, if one is due.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let mut packet = Packet::default();
        self.transmit(now, &mut packet).then_some(packet)
    }

    /// Writes the next segment to send into `packet`, as [`crate::Sender::transmit`] does.
    #[inline]
    pub fn transmit(&mut self, now: Time, packet: &mut Packet) -> bool {
        match &self.misbehaving {
            None => self.transmit_honest(now, packet),
            Some(_) => {
                rarely();
                self.transmit_misbehaving(now, packet)
            }
        }
    }

    #[inline]
    fn transmit_honest(&mut self, now: Time, packet: &mut Packet) -> bool {
        if self.early.is_some() | self.ack_before_change.is_some() {
            return self.transmit_before_all(now, packet);
        }
        match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Nothing => return false,
            Pending::SynAck => {
                rarely();
                *packet = self.syn_ack(now);
            }
            Pending::Ack => self.ack(now, packet),
        }
        true
    }

    /// What leaves before an acknowledgement of all that is there.
    #[inline(never)]
    fn transmit_before_all(&mut self, now: Time, packet: &mut Packet) -> bool {
        if let Some(early) = self.early.take() {
            *packet = *early;
        } else if let Some(offset) = self.ack_before_change.take() {
            self.ack_of(now, offset, !self.echo_congestion, packet);
        }
        true
    }

    /// Whether nothing is due to be sent; a receiver that misbehaves does not tell.
    #[inline]
    pub fn has_sent_all(&self) -> bool {
        self.pending == Pending::Nothing
            && self.ack_before_change.is_none()
            && self.early.is_none()
            && self.misbehaving.is_none()
    }

    /// When [`Receiver::on_timer`] wants to be called; [`Time::NEVER`] if not at all.
    pub fn deadline(&self) -> Time {
        match &self.linux {
            Some(linux) => linux.acks.deadline(),
            None => self.delayed.deadline(),
        }
    }

    /// Sends the delayed acknowledgement that is due at `now`.
    pub fn on_timer(&mut self, now: Time) {
        let expired = match &mut self.linux {
            Some(linux) => linux.acks.on_timer(now),
            None if self.delayed.on_timer(now) => Expired::Delayed,
            None => Expired::Nothing,
        };
        if expired != Expired::Nothing {
            self.pending = Pending::Ack;
        }
        self.is_clock_old = expired == Expired::HeldBack;
    }

    /// The application answers at once: its acknowledgement waits for nothing.
    pub fn acknowledge_now(&mut self) {
        if self.state == State::Established {
            self.pending = Pending::Ack;
        }
    }

    /// Whether the application reads at once what arrives (it does at first). What an
    /// application that stopped leaves in the buffer lessens the window.
    pub fn set_reading(&mut self, reading: bool) {
        self.reading = reading;
        if reading {
            self.read(u64::MAX);
        }
    }

    /// The application reads up to `bytes`; returns how many there were.
    ///
    /// A window update is sent when the right edge can move by a full segment or half the
    /// buffer (RFC 9293 section 3.8.6.2.2).
    pub fn read(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.unread());
        self.consumed += taken;
        let open = self.state == State::Established && !self.fin_received;
        if self.linux.is_some() {
            if taken > 0 && open {
                self.on_read_as_linux(None);
            }
        } else if open && self.free_edge() >= self.edge.saturating_add(self.edge_step) {
            self.pending = Pending::Ack;
        }
        taken
    }

    /// Bytes in order that the application has not read.
    pub fn unread(&self) -> u64 {
        self.data_end() - self.consumed
    }

    /// Bytes received in order; of a receiver that conceals losses without what it passed over.
    pub fn bytes_received(&self) -> u64 {
        let skipped = self.misbehaving.as_ref().map_or(0, |it| it.skipped());
        self.data_end() - skipped
    }

    /// The end of the data before the next expected byte: an honest receiver has got all of it.
    pub fn data_end(&self) -> u64 {
        self.rcv_nxt - u64::from(self.fin_received)
    }

    /// When the first byte came in order.
    pub fn first_byte(&self) -> Option<Time> {
        self.first_byte.time()
    }

    /// When the last byte so far came in order.
    pub fn last_byte(&self) -> Option<Time> {
        self.last_byte.time()
    }

    /// Whether everything up to and with the FIN was received.
    pub fn fin_received(&self) -> bool {
        self.fin_received
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Bytes past the next expected one that the receiver takes.
    pub fn window(&self) -> u64 {
        self.edge.saturating_sub(self.rcv_nxt)
    }

    /// RFC 7323 section 4.3: the timestamp to echo is that of the segment which the last
    /// acknowledgement was waiting for, so that the delay of an ACK counts as round-trip time.
    fn keep_timestamp(&mut self, packet: &Packet, start: u64) {
        if self.timestamps
            && start <= self.last_ack
            && packet.tsval != 0
            && !seq::before(packet.tsval, self.ts_recent)
        {
            self.ts_recent = packet.tsval;
        }
    }

    /// A segment without payload: a bare FIN, an acknowledgement, or a probe of the window.
    fn on_empty(&mut self, packet: &Packet, start: u64) {
        if packet.has(flags::FIN) {
            self.note_fin(start);
            self.take_fin();
            self.pending = Pending::Ack;
        } else if start != self.rcv_nxt && !(self.accurate.is_some() && start > self.rcv_nxt) {
            // Beside counts it may be a bare acknowledgement that overtook data.
            // Old or ahead: a probe, or a sender out of step (RFC 9293 section 3.10.7.4).
            self.pending = Pending::Ack;
        }
    }

    /// Moves the left edge of the window to `end`.
    #[inline]
    fn advance(&mut self, now: Time, end: u64) {
        self.rcv_nxt = end;
        if self.reading {
            self.consumed = end;
        }
        self.first_byte.note_first(now);
        self.last_byte = Noted::at(now);
    }

    #[inline]
    fn acknowledge_in_order(&mut self, now: Time) {
        if self.delayed.on_data(&self.config.ack, now) {
            self.pending = Pending::Ack;
        }
    }

    fn note_fin(&mut self, at: u64) {
        // Data kept past it would contradict the sender's own FIN: the FIN is not believed.
        if self.fin_at.is_none() && at >= self.rcv_nxt && at >= self.ranges.end() {
            self.fin_at = Some(at);
        }
    }

    /// Takes the FIN if all data before it is there; returns whether it did so just now.
    fn take_fin(&mut self) -> bool {
        if likely(self.fin_received || self.fin_at != Some(self.rcv_nxt)) {
            return false;
        }
        self.fin_received = true;
        self.rcv_nxt += 1;
        true
    }
}

/// The timestamp clock: whole milliseconds from 1 (0 means that the option is absent).
pub fn timestamp(now: Time) -> u32 {
    (now.as_millis() as u32).wrapping_add(1).max(1)
}

/// Bytes of options in a SYN or SYN-ACK: MSS, SACK-permitted, timestamps, window scale, laid
/// out as Linux does. A simulator whose MSS leaves options aside sends no MSS option either.
pub fn syn_options_len(wire: &Wire) -> u16 {
    let mss = if wire.mss_includes_options { 4 } else { 0 };
    // SACK-permitted takes the place of the timestamp option's padding.
    let sack_and_time = match (wire.timestamps, wire.sack && wire.mss_includes_options) {
        (true, _) => TIMESTAMP_OPTION,
        (false, true) => 4,
        (false, false) => 0,
    };
    let scale = if wire.window_scaling && wire.mss_includes_options {
        4
    } else {
        0
    };
    mss + sack_and_time + scale
}
