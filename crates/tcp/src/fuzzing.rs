//! The laws of a connection, checked over a network that bytes spell out: what it delivers,
//! loses, repeats, disorders and forges, when, and what the applications do meanwhile.

use std::collections::VecDeque;
use std::sync::Arc;

use cclab_cc::{Maker, Variant, simulated};
use cclab_packet::{Ecn, MAX_SACK_BLOCKS, Packet, flags};
use cclab_units::parameter::Params;
use cclab_units::{Stream, Time};

use crate::accecn::EcnMode;
use crate::profile::{self, InitialSsthresh, PROFILES, Profile, Recovery};
use crate::sender::State;
use crate::{Config, Receiver, ReceiverConfig, Remembered, Sender};

const RECOVERIES: [Recovery; 6] = [
    Recovery::Tahoe,
    Recovery::Reno,
    Recovery::NewReno,
    Recovery::Vegas,
    Recovery::Sack,
    Recovery::RackPrr,
];
/// What the connections remember that acknowledge every fourth segment.
const REMEMBERED: Remembered = Remembered {
    window: 8_000,
    rtt: Time::from_millis(2),
};
/// Payload bytes of a full segment; small, so that few bytes written make many segments.
const MSS: u32 = 100;
/// Acts of a timer at one instant that are not yet a livelock.
const ACTS_PER_INSTANT: usize = 4;
/// Steps in which a network without losses must bring a connection to its end.
const STEPS_TO_END: usize = 200_000;
/// Steps after which a deceived connection is left alone: its ends may answer each other without
/// end, each by thousands of packets (RFC 5961 section 5).
const STEPS_OF_DECEIVED: usize = 2_000;
/// Packets under way after which it is, too: each of them may be answered by several.
const MOST_OF_DECEIVED: usize = 3_000;

/// Runs `data` as operations on a connection; the first bytes choose stack, variant and form of
/// recovery.
///
/// # Panics
///
/// When a law does not hold: the scoreboard's counts are those of its segments; nothing is
/// acknowledged that did not arrive, unless an acknowledgement was forged; nothing arrives that
/// was not sent, unless data was forged; the window holds a segment; timers lie ahead and
/// one instant has an end; without forgery, a network that stops losing packets completes the
/// stream.
pub fn fuzz_connection(data: &[u8]) {
    let mut bytes = Bytes(data);
    Connection::new(&mut bytes).run(bytes);
}

/// As [`fuzz_connection`], of Linux's stack where it keeps the window.
///
/// # Panics
///
/// As [`fuzz_connection`].
pub fn fuzz_linux_stack(data: &[u8]) {
    let mut bytes = Bytes(data);
    Connection::of_stack(&mut bytes).run(bytes);
}

/// Bytes that spell numbers; zeros when used up.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    fn number(&mut self) -> u32 {
        u32::from_le_bytes([self.next(), self.next(), self.next(), self.next()])
    }

    fn pick(&mut self, len: usize) -> usize {
        usize::from(self.next()) % len
    }

    /// A number near `anchor` three times of four, any number else.
    fn near(&mut self, anchor: u32) -> u32 {
        match self.next() {
            0..=63 => self.number(),
            offset => anchor
                .wrapping_add(u32::from(offset - 64) * MSS / 2)
                .wrapping_sub(48 * MSS),
        }
    }
}

struct Connection {
    sender: Sender,
    receiver: Receiver,
    now: Time,
    to_receiver: VecDeque<Packet>,
    to_sender: VecDeque<Packet>,
    forged_data: bool,
    forged_acks: bool,
    label: String,
}

impl Connection {
    fn run(mut self, mut bytes: Bytes<'_>) {
        while !bytes.0.is_empty() {
            self.step(&mut bytes);
            self.settle();
            self.check();
        }
        self.finish();
    }

    fn new(bytes: &mut Bytes<'_>) -> Connection {
        let base = PROFILES[bytes.pick(PROFILES.len())];
        let variants: Vec<&Variant> = simulated().collect();
        let variant = variants[bytes.pick(variants.len())];
        let recovery = RECOVERIES[bytes.pick(RECOVERIES.len())];
        let maker = variant.maker(base.arithmetic);
        let maker = maker.expect("a variant of the simulator");
        Connection::begin(bytes, base, variant, maker, recovery)
    }

    fn of_stack(bytes: &mut Bytes<'_>) -> Connection {
        let base = profile::find("linux-6.12").expect("a known profile");
        let variants: Vec<_> = simulated().filter_map(|v| v.ops.zip(Some(v))).collect();
        let (ops, variant) = variants[bytes.pick(variants.len())];
        Connection::begin(bytes, base, variant, Maker::Stack(ops), Recovery::RackPrr)
    }

    fn begin(
        bytes: &mut Bytes<'_>,
        base: &Profile,
        variant: &Variant,
        maker: Maker,
        recovery: Recovery,
    ) -> Connection {
        let options = bytes.next();
        let mut profile: Profile = base.clone();
        profile.wire.sack = recovery.uses_sack();
        profile.undo ^= options & 1 != 0;
        profile.limited_transmit ^= options & 2 != 0;
        profile.careful_fast_retransmit ^= options & 4 != 0;
        profile.idle_restart ^= options & 8 != 0;
        let mut ack = profile.ack;
        ack.every = 1 + u32::from(options >> 6);
        let rwnd = match options >> 4 & 3 {
            0 => 20 + u64::from(bytes.next()), // about a segment, more or less
            1 => u64::from(MSS) * (1 + u64::from(bytes.next())),
            _ => profile.default_rwnd.most(u64::from(MSS)),
        };
        // Sequence numbers wrap after a few segments.
        let isn = 0_u32.wrapping_sub(u32::from(bytes.next()) * MSS);
        let ecn = match options & 48 {
            48 => EcnMode::Accurate,
            16 => EcnMode::Classic,
            _ => EcnMode::Off,
        };
        let answers = ReceiverConfig {
            wire: profile.wire,
            ack,
            rwnd_max: rwnd,
            buffer: profile.default_rwnd.buffer().filter(|_| options & 32 != 0),
            ecn,
            feedback: variant.ecn,
            codepoint: cclab_packet::Ecn::Ect0,
            mss_payload: MSS,
            misbehaviour: None,
        };
        let receiver = Receiver::new(0, isn.wrapping_mul(7), Arc::new(answers));
        let label = format!("{}, {}, {recovery:?}", profile.name, variant.name);
        let sender = Sender::new(Config {
            flow: 0,
            recovery,
            mss: MSS,
            isn,
            ecn,
            cc: cclab_cc::Config {
                mss: u64::from(MSS),
                initial_window: profile.initial_window_segments * u64::from(MSS),
                initial_ssthresh: match profile.initial_ssthresh {
                    InitialSsthresh::Unlimited => u64::MAX,
                    InitialSsthresh::Bytes(bytes) => bytes,
                    InitialSsthresh::Rwnd => rwnd,
                },
                slow_start: profile.cubic_slow_start,
                arithmetic: profile.arithmetic,
                params: Params::defaults(variant.params),
            },
            maker,
            window: variant.window,
            feedback: variant.ecn,
            codepoint: cclab_packet::Ecn::Ect0,
            rng: Stream::new(1, variant.name),
            remembered: (ack.every == 4).then_some(REMEMBERED),
            profile: profile.into(),
        });
        let mut connection = Connection {
            sender,
            receiver,
            now: Time::from_millis(1),
            to_receiver: VecDeque::new(),
            to_sender: VecDeque::new(),
            forged_data: false,
            forged_acks: false,
            label,
        };
        connection.sender.connect(connection.now);
        connection.settle();
        connection
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        let (operation, argument) = (bytes.next(), bytes.next());
        match operation % 40 {
            0..=9 => self.deliver_data(1 + usize::from(argument % 4)),
            10..=17 => self.deliver_acks(1 + usize::from(argument % 4)),
            18 | 19 => drop(take(&mut self.to_receiver, argument)),
            20 => drop(take(&mut self.to_sender, argument)),
            21 | 22 => disorder(&mut self.to_receiver, argument),
            23 => disorder(&mut self.to_sender, argument),
            24 => repeat(&mut self.to_receiver, argument),
            25 => repeat(&mut self.to_sender, argument),
            26 => self.to_receiver.clear(),
            27 | 28 => self.now += Time::from_micros(u64::from(argument) << (argument % 8)),
            29 | 30 => self.advance_to_deadline(),
            31 | 32 => {
                let more = u64::from(argument) * u64::from(argument) / 4;
                self.sender.write(self.sender.flight.written + more);
            }
            33 => self.receiver.set_reading(argument & 1 == 0),
            34 => drop(self.receiver.read(u64::from(argument) * 8)),
            35 => self.mark(),
            36 if argument < 32 => self.sender.close(),
            36 if argument < 48 => self.sender.close_now(),
            37 if argument < 128 => self.forge_data(bytes),
            38 if argument < 128 => self.forge_ack(bytes),
            _ => {
                self.deliver_data(usize::MAX);
                self.settle();
                self.deliver_acks(usize::MAX);
            }
        }
    }

    fn deliver_data(&mut self, most: usize) {
        for packet in self.to_receiver.drain(..most.min(self.to_receiver.len())) {
            self.receiver.on_packet(self.now, &packet);
            self.to_sender.extend(self.receiver.poll_transmit(self.now));
        }
    }

    fn deliver_acks(&mut self, most: usize) {
        for _ in 0..most.min(self.to_sender.len()) {
            if let Some(packet) = self.to_sender.pop_front() {
                self.sender.on_packet(self.now, &packet);
                self.pump();
            }
        }
    }

    fn deadline(&self) -> Time {
        self.sender.deadline().min(self.receiver.deadline())
    }

    fn advance_to_deadline(&mut self) {
        let deadline = self.deadline();
        if deadline != Time::NEVER {
            self.now = self.now.max(deadline);
        }
    }

    fn mark(&mut self) {
        if let Some(packet) = self.to_receiver.front_mut()
            && packet.ecn != Ecn::NotEct
        {
            packet.ecn = Ecn::Ce;
        }
    }

    fn forge_data(&mut self, bytes: &mut Bytes<'_>) {
        self.forged_data = true;
        let anchor = self
            .sender
            .isn
            .wrapping_add(1 + self.sender.flight.snd_nxt as u32);
        let packet = Packet {
            seq: bytes.near(anchor),
            ack: bytes.number(),
            tsval: u32::from(bytes.next()),
            tsecr: u32::from(bytes.next()),
            payload: u16::from(bytes.next()) * 4,
            flags: bytes.next(),
            ecn: Ecn::Ce,
            wscale_plus_one: bytes.next(),
            ..Packet::default()
        };
        self.receiver.on_packet(self.now, &packet);
    }

    fn forge_ack(&mut self, bytes: &mut Bytes<'_>) {
        self.forged_acks = true;
        let anchor = self
            .sender
            .isn
            .wrapping_add(1 + self.sender.flight.snd_una as u32);
        let mut packet = Packet {
            seq: bytes.number(),
            ack: bytes.near(anchor),
            tsval: u32::from(bytes.next()),
            tsecr: bytes.near(self.now.as_millis() as u32),
            window: u16::from(bytes.next()) << (bytes.next() % 9),
            flags: bytes.next() | flags::ACK,
            sack_len: bytes.next() % (MAX_SACK_BLOCKS as u8 + 1),
            backward: true,
            wscale_plus_one: bytes.next(),
            ..Packet::default()
        };
        for block in &mut packet.sack {
            *block = (bytes.near(anchor), bytes.near(anchor));
        }
        self.sender.on_packet(self.now, &packet);
    }

    /// Lets both ends send what they may.
    fn pump(&mut self) {
        let ids = self.sender.flight.board.ids();
        let unsent = self
            .sender
            .flight
            .written
            .saturating_sub(self.sender.flight.snd_nxt);
        // Every segment once again, every new one, and a few without data.
        let most = (ids.end - ids.start) + unsent / u64::from(MSS) + 8;
        let mut sent = 0;
        while let Some(packet) = self.sender.poll_transmit(self.now) {
            sent += 1;
            assert!(sent <= most, "{}: sends without end", self.label);
            self.to_receiver.push_back(packet);
        }
        // One of what was there before the last segment, one of what came before the marks
        // changed, and one with it.
        for _ in 0..3 {
            self.to_sender.extend(self.receiver.poll_transmit(self.now));
        }
        let idle = self.receiver.poll_transmit(self.now).is_none();
        assert!(idle, "{}: acknowledges without end", self.label);
    }

    /// Everything that is due at this instant happens.
    fn settle(&mut self) {
        self.pump();
        for _ in 0..ACTS_PER_INSTANT {
            if self.deadline() > self.now {
                return;
            }
            if self.sender.deadline() <= self.now {
                self.sender.on_timer(self.now);
            }
            if self.receiver.deadline() <= self.now {
                self.receiver.on_timer(self.now);
            }
            self.pump();
        }
        panic!("{}: a timer in the past at {}", self.label, self.now);
    }

    fn check(&self) {
        let Connection {
            sender,
            receiver,
            label,
            ..
        } = self;
        assert!(
            sender.flight.board.is_consistent(),
            "{label}: {:?}",
            sender.flight.board
        );
        let outstanding = sender.flight.snd_nxt - sender.flight.snd_una;
        assert_eq!(sender.flight.board.outstanding(), outstanding, "{label}");
        assert!(
            sender.flight.cc.cwnd() >= sender.flight.mss,
            "{label}: window"
        );
        assert!(
            sender.flight.snd_nxt <= sender.flight.written + 1,
            "{label}: unwritten"
        );
        let received = receiver.bytes_received() + u64::from(receiver.fin_received());
        if !self.forged_acks {
            let acked = sender.flight.snd_una;
            assert!(acked <= received, "{label}: {acked} acked of {received}");
        }
        if !self.forged_data {
            let sent = sender.flight.snd_nxt;
            assert!(received <= sent, "{label}: {received} arrived of {sent}");
        }
    }

    /// From here on nothing is lost: everything written arrives, unless an end was deceived or
    /// had given up.
    fn finish(mut self) {
        self.receiver.set_reading(true);
        self.sender.close();
        let honest = !self.forged_data && !self.forged_acks;
        let steps = if honest {
            STEPS_TO_END
        } else {
            STEPS_OF_DECEIVED
        };
        for _ in 0..steps {
            self.settle();
            let over = matches!(self.sender.state, State::Finished | State::Aborted);
            let under_way = self.to_receiver.len() + self.to_sender.len();
            let endless = self.sender.flight.counters.rtos > 100 || under_way > MOST_OF_DECEIVED;
            if over || (!honest && endless) {
                break;
            }
            if self.to_receiver.is_empty() && self.to_sender.is_empty() {
                assert!(
                    self.deadline() != Time::NEVER,
                    "{}: waits for nothing",
                    self.label
                );
                self.advance_to_deadline();
            } else {
                self.now += Time::from_millis(5);
                self.deliver_data(usize::MAX);
                self.deliver_acks(usize::MAX);
            }
        }
        self.check();
        if honest && self.sender.state != State::Aborted {
            assert_eq!(self.sender.state, State::Finished, "{}", self.label);
            let received = self.receiver.bytes_received();
            assert_eq!(received, self.sender.flight.written, "{}", self.label);
        }
    }
}

fn place(queue: &VecDeque<Packet>, argument: u8) -> Option<usize> {
    usize::from(argument).checked_rem(queue.len())
}

fn take(queue: &mut VecDeque<Packet>, argument: u8) -> Option<Packet> {
    queue.remove(place(queue, argument)?)
}

/// A packet is overtaken by all behind it.
fn disorder(queue: &mut VecDeque<Packet>, argument: u8) {
    if let Some(packet) = take(queue, argument) {
        queue.push_back(packet);
    }
}

fn repeat(queue: &mut VecDeque<Packet>, argument: u8) {
    if let Some(place) = place(queue, argument) {
        queue.push_back(queue[place]);
    }
}
