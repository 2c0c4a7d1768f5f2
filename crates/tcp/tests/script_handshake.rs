//! The handshake: RFC 9293 section 3.5, its timer by RFC 6298 sections 2.1 and 5.7.

mod common;

use cclab_packet::flags;
use cclab_tcp::profile::{Profile, Recovery};
use cclab_tcp::sender::State;
use common::*;

/// Sends SYNs that are all lost; returns when each left and when the sender gave up, in ms.
fn lost_syns(profile: Profile) -> (Vec<u64>, u64) {
    let mut sender = sender(profile, Recovery::NewReno, "newreno", false);
    let mut now = ms(0);
    let mut left = Vec::new();
    sender.connect(now);
    loop {
        while let Some(packet) = sender.poll_transmit(now) {
            assert_eq!((packet.seq, packet.flags), (ISN, flags::SYN));
            left.push(now.as_millis());
        }
        now = sender.deadline();
        sender.on_timer(now);
        if sender.state() == State::Aborted {
            return (left, now.as_millis());
        }
    }
}

/// A connection whose first `lost` SYNs were lost, with 100 segments to send; the SYN-ACK comes
/// 100 ms after the last SYN. Returns it and that instant.
fn after_lost_syns(profile: Profile, lost: usize) -> (Script, u64) {
    let mut sender = sender(profile, Recovery::NewReno, "newreno", false);
    sender.connect(ms(0));
    let mut sent = ms(0);
    for _ in 0..lost {
        assert!(sender.poll_transmit(sent).is_some());
        sent = sender.deadline();
        sender.on_timer(sent);
    }
    assert!(sender.poll_transmit(sent).is_some());
    let at = sent + ms(100);
    sender.on_packet(at, &syn_ack(false, sent));
    let mut script = Script {
        sender,
        rwnd: 1 << 20,
        ece: false,
        packets: Vec::new(),
    };
    let at = at.as_millis();
    assert_eq!(script.sent(at), nothing(), "the bare ACK");
    script.ack(at, 0, &[]);
    script.sender.write(100 * MSS);
    (script, at)
}

#[test]
fn three_packets_establish_a_connection() {
    let mut sender = sender(profile("rfc"), Recovery::NewReno, "newreno", false);
    assert!(sender.poll_transmit(ms(0)).is_none());
    sender.connect(ms(0));
    let syn = sender.poll_transmit(ms(0)).expect("a SYN");
    assert_eq!((syn.seq, syn.flags, syn.payload), (ISN, flags::SYN, 0));
    assert!(sender.poll_transmit(ms(0)).is_none());
    // An answer to something else is not believed (RFC 9293 section 3.10.7.3).
    let mut stray = syn_ack(false, ms(0));
    stray.ack = ISN;
    sender.on_packet(ms(50), &stray);
    assert_eq!(sender.state(), State::SynSent);
    sender.on_packet(ms(100), &syn_ack(false, ms(0)));
    assert_eq!(sender.state(), State::Established);
    let ack = sender.poll_transmit(ms(100)).expect("an ACK");
    assert_eq!((ack.seq, ack.ack), (ISN.wrapping_add(1), PEER_ISN + 1));
    assert_eq!((ack.flags, ack.payload), (flags::ACK, 0));
    // RFC 6298 section 2.2: the handshake is the first sample.
    assert_eq!(sender.rtt().srtt(), ms(100));
    assert!(sender.poll_transmit(ms(100)).is_none());
}

/// A repeated SYN-ACK: the last ACK of the handshake was lost.
#[test]
fn a_repeated_syn_ack_is_answered() {
    let mut script = Script::new(profile("rfc"), Recovery::NewReno, "newreno", 0);
    script.sender.on_packet(ms(1_100), &syn_ack(false, ms(0)));
    assert_eq!(script.sent(1_100), nothing());
    assert_eq!(script.packets.len(), 1);
}

/// RFC 6298 sections 2.1 and 5.5: one second, doubled each time, up to the maximum of 60 s;
/// RFC 9293 section 3.8.3: a SYN is tried for three minutes at least.
#[test]
fn the_standards_try_for_three_minutes() {
    let (left, gave_up) = lost_syns(profile("rfc"));
    assert_eq!(
        left,
        [0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000]
    );
    assert_eq!(gave_up, 183_000);
}

/// Linux 6.12: `tcp_syn_linear_timeouts` of 4 seconds before the timeout doubles;
/// `tcp_syn_retries` of 6 beyond them; given up after 131 s (ip-sysctl).
#[test]
fn linux_repeats_its_syn_each_second_at_first() {
    let (left, gave_up) = lost_syns(profile("linux-6.12"));
    let seconds: Vec<_> = left.iter().map(|at| at / 1_000).collect();
    assert_eq!(seconds, [0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67]);
    assert_eq!(gave_up, 131_000);
}

/// ns-3.22: `ConnTimeout` of 3 s, doubled.
#[test]
fn ns3_waits_three_seconds() {
    let (left, _) = lost_syns(profile("ns3-3.1x"));
    assert_eq!(left[..4], [0, 3_000, 9_000, 21_000]);
}

/// RFC 5681 section 3.1: one segment after a lost SYN; RFC 6298 section 5.7: the timer is three
/// seconds when data begins, for the handshake gave no sample.
#[test]
fn a_lost_syn_costs_the_initial_window() {
    let (mut script, at) = after_lost_syns(profile("rfc"), 1);
    assert_eq!(at, 1_100);
    assert_eq!(script.sent(at), fresh(0..1));
    assert_eq!(script.due(), Some(at + 3_000));
    // The first sample ends it: max(1 s, 100 + 4 * 50 ms).
    script.ack(at + 100, 1, &[]);
    assert_eq!(script.sent(at + 100), fresh(1..3));
    assert_eq!(script.due(), Some(at + 1_100));
}

/// Linux keeps the window unless more than one SYN was lost (RFC 6928 section 2).
#[test]
fn linux_forgives_one_lost_syn() {
    let (mut script, at) = after_lost_syns(profile("linux-6.12"), 1);
    assert_eq!(script.sent(at), fresh(0..10));
    let (mut script, at) = after_lost_syns(profile("linux-6.12"), 2);
    assert_eq!(script.sent(at), fresh(0..1));
}
