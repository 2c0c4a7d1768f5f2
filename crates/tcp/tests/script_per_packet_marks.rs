//! Marks that the receiver tells one by one (RFC 8257 section 3.2), and what a sender makes of
//! them.

mod common;

use std::sync::Arc;

use cclab_cc::{EcnFeedback, Maker, find};
use cclab_packet::{Ecn, Packet, flags};
use cclab_tcp::profile::Recovery;
use cclab_tcp::{EcnMode, Receiver, ReceiverConfig, Sender};
use common::*;

/// A receiver of the RFC's profile that has had the handshake; it acknowledges every second
/// segment.
fn receiver() -> Receiver {
    let profile = profile("rfc");
    let config = ReceiverConfig {
        wire: profile.wire,
        ack: profile.ack,
        rwnd_max: 1 << 20,
        buffer: None,
        ecn: EcnMode::Classic,
        feedback: EcnFeedback::PerPacket,
        codepoint: Ecn::Ect0,
        mss_payload: MSS as u32,
        misbehaviour: None,
    };
    let mut receiver = Receiver::new(0, PEER_ISN, Arc::new(config));
    receiver.on_packet(
        ms(0),
        &Packet {
            flags: flags::SYN | flags::ECE | flags::CWR,
            tsval: 1,
            wscale_plus_one: 1,
            ..Packet::default()
        },
    );
    let answer = receiver.poll_transmit(ms(0)).expect("a SYN-ACK");
    assert!(answer.has(flags::ECE));
    assert_eq!(answer.ecn, Ecn::Ect0);
    receiver
}

/// Segment `n` arrives; returns what is acknowledged, in segments, and whether with an echo.
fn arrives(receiver: &mut Receiver, n: u32, ecn: Ecn) -> Vec<(u32, bool)> {
    let packet = Packet {
        seq: 1 + n * MSS as u32,
        payload: MSS as u16,
        tsval: 1,
        flags: flags::ACK,
        ecn,
        ..Packet::default()
    };
    receiver.on_packet(ms(1), &packet);
    let acks = std::iter::from_fn(|| receiver.poll_transmit(ms(1)));
    acks.map(|ack| {
        assert_eq!(ack.ecn, Ecn::Ect0);
        ((ack.ack - 1) / MSS as u32, ack.has(flags::ECE))
    })
    .collect()
}

#[test]
fn each_acknowledgement_covers_segments_that_were_marked_alike() {
    let mut receiver = receiver();
    let (plain, marked) = (Ecn::Ect0, Ecn::Ce);
    assert_eq!(arrives(&mut receiver, 0, plain), []);
    assert_eq!(arrives(&mut receiver, 1, plain), [(2, false)]);
    assert_eq!(arrives(&mut receiver, 2, plain), []);
    // The change: what waited without an echo, then what changed it.
    assert_eq!(arrives(&mut receiver, 3, marked), [(3, false), (4, true)]);
    // Marked ones are delayed as others are.
    assert_eq!(arrives(&mut receiver, 4, marked), []);
    assert_eq!(arrives(&mut receiver, 5, marked), [(6, true)]);
    // Nothing waits: only the new state is told.
    assert_eq!(arrives(&mut receiver, 6, plain), [(7, false)]);
    assert_eq!(arrives(&mut receiver, 7, plain), []);
    assert_eq!(arrives(&mut receiver, 8, plain), [(9, false)]);
    assert_eq!(receiver.counters().ce_marks, 3);
}

#[test]
fn cwr_ends_no_echo() {
    let mut receiver = receiver();
    assert_eq!(arrives(&mut receiver, 0, Ecn::Ce), [(1, true)]);
    let packet = Packet {
        seq: 1 + MSS as u32,
        payload: MSS as u16,
        tsval: 1,
        flags: flags::ACK | flags::CWR,
        ecn: Ecn::Ce,
        ..Packet::default()
    };
    receiver.on_packet(ms(1), &packet);
    assert_eq!(arrives(&mut receiver, 2, Ecn::Ce), [(3, true)]);
}

/// RFC 8257 section 3.6, as Linux does it: all that leaves may be marked, SYN and retransmissions
/// included.
#[test]
fn everything_is_capable() {
    let build = find("reno")
        .expect("a known variant")
        .build
        .map(Maker::Own)
        .expect("it is of the simulator");
    let mut sender = Sender::new(cclab_tcp::Config {
        feedback: EcnFeedback::PerPacket,
        ..config(profile("rfc"), Recovery::RackPrr, build, true, ISN)
    });
    sender.connect(ms(0));
    assert_eq!(
        sender.poll_transmit(ms(0)).map(|syn| syn.ecn),
        Some(Ecn::Ect0)
    );
    sender.on_packet(ms(100), &syn_ack(true, ms(0)));
    sender.write(10 * MSS);
    let all: Vec<Packet> = std::iter::from_fn(|| sender.poll_transmit(ms(100))).collect();
    assert_eq!(all.len(), 11);
    assert!(all.iter().all(|packet| packet.ecn == Ecn::Ect0));
    while sender.counters().retransmits == 0 {
        let at = sender.deadline();
        sender.on_timer(at);
        while let Some(packet) = sender.poll_transmit(at) {
            assert_eq!(packet.ecn, Ecn::Ect0);
        }
    }
}

/// RFC 9331 section 4.1: a flow of low latency says so in every packet.
#[test]
fn everything_is_ect1_where_that_was_asked_for() {
    let build = find("reno")
        .expect("a known variant")
        .build
        .map(Maker::Own)
        .expect("it is of the simulator");
    let mut sender = Sender::new(cclab_tcp::Config {
        feedback: EcnFeedback::PerPacket,
        codepoint: Ecn::Ect1,
        ..config(profile("rfc"), Recovery::RackPrr, build, true, ISN)
    });
    sender.connect(ms(0));
    let syn = sender.poll_transmit(ms(0)).expect("a SYN");
    sender.on_packet(ms(100), &syn_ack(true, ms(0)));
    sender.write(10 * MSS);
    let later = std::iter::from_fn(|| sender.poll_transmit(ms(100)));
    let all: Vec<Ecn> = [syn].into_iter().chain(later).map(|p| p.ecn).collect();
    assert_eq!(all, [Ecn::Ect1; 12]);
}

/// Section 3.5: a loss is answered although a mark was, in the same window.
#[test]
fn a_mark_does_not_hide_a_loss() {
    let build = find("reno")
        .expect("a known variant")
        .build
        .map(Maker::Own)
        .expect("it is of the simulator");
    let sender = Sender::new(cclab_tcp::Config {
        feedback: EcnFeedback::PerPacket,
        ..config(profile("rfc"), Recovery::RackPrr, build, true, ISN)
    });
    let mut s = Script::establish(sender, true, 100);
    assert_eq!(s.sent(100), fresh(0..10));
    s.ece = true;
    s.ack(200, 1, &[]);
    let after_mark = s.ssthresh();
    assert!(after_mark < 10 * MSS);
    s.sent(200);
    s.ack(201, 1, &[(2, 5)]);
    assert!(s.sender.in_recovery());
    assert!(s.ssthresh() < after_mark);
}
