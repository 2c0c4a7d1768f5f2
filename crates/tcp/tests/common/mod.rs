//! Scripts in the manner of packetdrill: what a peer answers and when, and what must leave.
//!
//! The sender under test stands alone: the script writes its acknowledgements. The handshake
//! took 100 ms (SYN at 0, SYN-ACK at 100), so data begins at 100 ms with an smoothed RTT of
//! 100 ms. Segments have 1000 bytes, and numbers of segments stand for offsets: segment 3 is
//! bytes 3000 to 3999.

#![allow(
    dead_code,
    reason = "each script is a crate of its own and uses some of the words"
)]

use std::ops::Range;

use cclab_cc::{EcnFeedback, Maker, WindowInRecovery};
use cclab_packet::{MAX_SACK_BLOCKS, Packet, flags};
use cclab_tcp::profile::{self, InitialSsthresh, Profile, Recovery};
use cclab_tcp::receiver::timestamp;
use cclab_tcp::{Config, Sender, sender::State};
use cclab_units::parameter::Params;
use cclab_units::{Stream, Time};

/// Payload bytes of a full segment.
pub const MSS: u64 = 1_000;
/// Initial sequence numbers of both ends; the sender's wraps soon.
pub const ISN: u32 = 0xffff_f000;
/// See [`ISN`].
pub const PEER_ISN: u32 = 77;
/// Shift of the peer's window.
const SHIFT: u32 = 7;

/// An instant in milliseconds from the first SYN.
pub fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

/// The profile called `name`.
pub fn profile(name: &str) -> Profile {
    profile::find(name).expect("a known profile").clone()
}

/// `rfc` without timestamps: nothing but counts and SACK tells of spurious retransmissions.
pub fn rfc_without_timestamps() -> Profile {
    let mut profile = profile("rfc");
    profile.wire.timestamps = false;
    profile
}

/// A data segment that left: offset, bytes of payload, whether it had left before.
pub type Sent = (u64, u64, bool);

/// Full segments leaving for the first time.
pub fn fresh(segments: Range<u64>) -> Vec<Sent> {
    segments.map(|n| (n * MSS, MSS, false)).collect()
}

/// Full segments leaving again.
pub fn again(segments: &[u64]) -> Vec<Sent> {
    segments.iter().map(|n| (n * MSS, MSS, true)).collect()
}

/// Nothing.
pub fn nothing() -> Vec<Sent> {
    Vec::new()
}

/// A sender and what its peer says to it.
pub struct Script {
    /// The sender under test.
    pub sender: Sender,
    /// The window that the peer advertises, in bytes.
    pub rwnd: u64,
    /// Whether acknowledgements carry an ECN echo.
    pub ece: bool,
    /// The last packets that left, whole.
    pub packets: Vec<Packet>,
}

/// A sender in `profile` with `recovery` that did not start; ten segments of initial window.
pub fn sender(profile: Profile, recovery: Recovery, variant: &str, ecn: bool) -> Sender {
    let variant = cclab_cc::find(variant).expect("a known variant");
    let maker = variant
        .maker(profile.arithmetic)
        .expect("a variant of the simulator");
    let mut config = config(profile, recovery, maker, ecn, ISN);
    config.cc.params = Params::defaults(variant.params);
    Sender::new(config)
}

/// As [`sender`], with any window control.
pub fn sender_with(
    profile: Profile,
    recovery: Recovery,
    build_cc: fn(&cclab_cc::Config) -> Box<dyn cclab_cc::CongestionControl>,
    ecn: bool,
    isn: u32,
) -> Sender {
    Sender::new(config(profile, recovery, Maker::Own(build_cc), ecn, isn))
}

/// What [`sender_with`] builds a sender from.
pub fn config(
    mut profile: Profile,
    recovery: Recovery,
    maker: Maker,
    ecn: bool,
    isn: u32,
) -> Config {
    profile.wire.sack = recovery.uses_sack();
    Config {
        flow: 0,
        recovery,
        mss: MSS as u32,
        isn,
        ecn: match ecn {
            true => cclab_tcp::EcnMode::Classic,
            false => cclab_tcp::EcnMode::Off,
        },
        cc: cclab_cc::Config {
            mss: MSS,
            initial_window: profile.initial_window_segments * MSS,
            initial_ssthresh: match profile.initial_ssthresh {
                InitialSsthresh::Bytes(bytes) => bytes,
                InitialSsthresh::Unlimited | InitialSsthresh::Rwnd => u64::MAX,
            },
            slow_start: cclab_cc::SlowStart::Plain,
            arithmetic: profile.arithmetic,
            params: Params::defaults(&[]),
        },
        maker,
        window: WindowInRecovery::Stack,
        feedback: EcnFeedback::Classic,
        codepoint: cclab_packet::Ecn::Ect0,
        rng: Stream::new(1, "script"),
        remembered: None,
        profile: profile.into(),
    }
}

/// The peer's answer to a SYN, echoing the SYN that left at `echo`.
pub fn syn_ack(ecn: bool, echo: Time) -> Packet {
    Packet {
        seq: PEER_ISN,
        ack: ISN.wrapping_add(1),
        tsval: 1,
        tsecr: timestamp(echo),
        window: u16::MAX,
        wscale_plus_one: SHIFT as u8 + 1,
        flags: flags::SYN | flags::ACK | if ecn { flags::ECE } else { 0 },
        backward: true,
        ..Packet::default()
    }
}

impl Script {
    /// An established sender with `segments` written by its application.
    pub fn new(profile: Profile, recovery: Recovery, variant: &str, segments: u64) -> Script {
        Script::establish(sender(profile, recovery, variant, false), false, segments)
    }

    /// Brings `sender` through its handshake.
    pub fn establish(sender: Sender, ecn: bool, segments: u64) -> Script {
        let mut script = Script {
            sender,
            rwnd: 1 << 20,
            ece: false,
            packets: Vec::new(),
        };
        script.sender.connect(ms(0));
        assert!(script.sender.poll_transmit(ms(0)).is_some(), "the SYN");
        script.sender.on_packet(ms(100), &syn_ack(ecn, ms(0)));
        assert_eq!(script.sender.state(), State::Established);
        let ack = script.sender.poll_transmit(ms(100));
        assert_eq!(ack.map(|p| (p.payload, p.flags)), Some((0, flags::ACK)));
        script.rwnd = (script.rwnd >> SHIFT) << SHIFT;
        script.ack(100, 0, &[]); // tells the window
        script.sender.write(segments * MSS);
        script
    }

    /// An acknowledgement at `at` ms of all before segment `ack`, with SACK blocks of segments
    /// `[left, right)`, that echoes nothing.
    pub fn ack(&mut self, at: u64, ack: u64, sack: &[(u64, u64)]) {
        self.ack_bytes(at, ack * MSS, sack, None);
    }

    /// As [`Script::ack`], echoing the timestamp of what left at `echo` ms.
    pub fn ack_echo(&mut self, at: u64, ack: u64, sack: &[(u64, u64)], echo: u64) {
        self.ack_bytes(at, ack * MSS, sack, Some(ms(echo)));
    }

    /// As [`Script::ack`], of all before the byte at offset `ack`.
    pub fn ack_bytes(&mut self, at: u64, ack: u64, sack: &[(u64, u64)], echo: Option<Time>) {
        let wire = |offset: u64| ISN.wrapping_add(1).wrapping_add(offset as u32);
        let mut packet = Packet {
            seq: PEER_ISN + 1,
            ack: wire(ack),
            tsval: timestamp(ms(at)),
            tsecr: echo.map_or(0, timestamp),
            window: (self.rwnd >> SHIFT) as u16,
            flags: flags::ACK | if self.ece { flags::ECE } else { 0 },
            backward: true,
            ..Packet::default()
        };
        assert!(sack.len() <= MAX_SACK_BLOCKS);
        packet.sack_len = sack.len() as u8;
        for (slot, &(left, right)) in packet.sack.iter_mut().zip(sack) {
            *slot = (wire(left * MSS), wire(right * MSS));
        }
        self.sender.on_packet(ms(at), &packet);
    }

    /// What leaves at `at` ms.
    pub fn sent(&mut self, at: u64) -> Vec<Sent> {
        self.packets.clear();
        while let Some(packet) = self.sender.poll_transmit(ms(at)) {
            self.packets.push(packet);
            assert!(self.packets.len() < 10_000, "no end of packets");
        }
        assert!(self.sender.board().is_consistent());
        self.packets
            .iter()
            .filter(|packet| packet.seq_len() > 0)
            .map(|packet| {
                let offset = self.sender.offset_of(packet.seq);
                (
                    offset,
                    u64::from(packet.payload),
                    packet.is_retransmission(),
                )
            })
            .collect()
    }

    /// The next timer must be due at `at` ms; lets it go off and returns what leaves.
    pub fn timer(&mut self, at: u64) -> Vec<Sent> {
        assert_eq!(self.sender.deadline(), ms(at), "the next timer");
        self.sender.on_timer(ms(at));
        self.sent(at)
    }

    /// When the next timer is due, in ms; `None` if no timer runs.
    pub fn due(&self) -> Option<u64> {
        let deadline = self.sender.deadline();
        (deadline != Time::NEVER).then(|| deadline.as_millis())
    }

    /// The variant's window in bytes.
    pub fn cwnd(&self) -> u64 {
        self.sender.cwnd()
    }

    /// The variant's slow-start threshold in bytes.
    pub fn ssthresh(&self) -> u64 {
        self.sender.ssthresh()
    }
}
