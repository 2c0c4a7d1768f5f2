//! Explicit congestion notification: RFC 3168 section 6.1.

mod common;

use cclab_packet::{Ecn, flags};
use cclab_tcp::profile::Recovery;
use common::*;

/// Ten segments in flight on a connection that agreed to ECN.
fn script() -> Script {
    let sender = sender(profile("rfc"), Recovery::NewReno, "newreno", true);
    let mut script = Script::establish(sender, true, 100);
    assert_eq!(script.sent(100), fresh(0..10));
    script
}

/// Section 6.1.1: the SYN asks with both flags; without an answer nothing is marked as capable.
#[test]
fn ecn_is_agreed_in_the_handshake() {
    let mut asking = sender(profile("rfc"), Recovery::NewReno, "newreno", true);
    asking.connect(ms(0));
    let syn = asking.poll_transmit(ms(0)).expect("a SYN");
    assert_eq!(syn.flags, flags::SYN | flags::ECE | flags::CWR);
    assert_eq!(syn.ecn, Ecn::NotEct);
    let mut refused = Script::establish(
        sender(profile("rfc"), Recovery::NewReno, "newreno", true),
        false,
        10,
    );
    refused.sent(100);
    assert!(
        refused
            .packets
            .iter()
            .all(|packet| packet.ecn == Ecn::NotEct)
    );
    refused.ece = true;
    refused.ack(200, 1, &[]);
    assert_eq!(refused.ssthresh(), u64::MAX);
}

/// Sections 6.1.4 and 6.1.5: new data is capable; bare acknowledgements and retransmissions are not.
#[test]
fn only_new_data_is_capable() {
    let mut s = script();
    assert!(s.packets.iter().all(|packet| packet.ecn == Ecn::Ect0));
    assert_eq!(s.timer(1_100), again(&[0]));
    assert_eq!(s.packets[0].ecn, Ecn::NotEct);
}

/// Section 6.1.2: one reduction for a window of data, no growth by echoes, and CWR on the first
/// new segment only.
#[test]
fn a_window_of_echoes_reduces_once() {
    let mut s = script();
    s.ece = true;
    s.ack(200, 1, &[]);
    // Nine are outstanding: half of them (RFC 5681 equation 4).
    assert_eq!((s.cwnd(), s.ssthresh()), (4_500, 4_500));
    for n in 2..=6 {
        s.ack(200 + n, n, &[]);
        assert_eq!(s.sent(200 + n), nothing());
    }
    s.ack(207, 7, &[]); // three are left
    assert_eq!(s.sent(207), fresh(10..11));
    assert!(s.packets[0].has(flags::CWR));
    s.ack(208, 8, &[]);
    assert_eq!(s.sent(208), fresh(11..12));
    assert!(!s.packets[0].has(flags::CWR));
    s.ack(209, 9, &[]);
    assert_eq!((s.cwnd(), s.ssthresh()), (4_500, 4_500));
    s.sent(209);
    // All that was outstanding is acknowledged, but not yet the CWR on segment 10.
    s.ack(210, 10, &[]);
    assert_eq!(s.ssthresh(), 4_500);
    s.sent(210);
    s.ack(310, 11, &[]); // 11, 12 and 13 are outstanding
    assert_eq!(s.ssthresh(), 2 * MSS);
}

/// Section 6.1.2: CWR also after a reduction by loss, on new data and not on the retransmission;
/// and the echo in the same window reduces no further.
#[test]
fn a_loss_and_a_mark_in_one_window_reduce_once() {
    let mut s = script();
    for n in 1..=2 {
        s.ack(200 + n, 0, &[]);
        s.sent(200 + n);
    }
    s.ece = true;
    s.ack(203, 0, &[]);
    assert_eq!(s.sent(203), again(&[0]));
    assert!(!s.packets[0].has(flags::CWR));
    assert_eq!(s.ssthresh(), 5 * MSS);
    for n in 4..=8 {
        s.ack(200 + n, 0, &[]);
        s.sent(200 + n);
    }
    assert!(s.packets[0].has(flags::CWR) && !s.packets[0].is_retransmission());
    assert_eq!(s.ssthresh(), 5 * MSS);
}

/// Section 6.1.2 after a timeout: the echo of a mark from the same window is part of it.
#[test]
fn a_timeout_and_a_mark_in_one_window_reduce_once() {
    let mut s = script();
    assert_eq!(s.timer(1_100), again(&[0]));
    assert!(!s.packets[0].has(flags::CWR));
    s.ece = true;
    s.ack(1_200, 1, &[]);
    assert_eq!(s.ssthresh(), 5 * MSS);
}

/// Section 6.1.2: a mark and then a loss from one window reduce once, too; the segment is
/// repaired all the same.
#[test]
fn a_mark_and_a_loss_in_one_window_reduce_once() {
    let mut s = script();
    s.ece = true;
    s.ack(200, 1, &[]);
    s.ece = false;
    assert_eq!(s.ssthresh(), 4_500);
    for n in 1..=3 {
        s.ack(201 + n, 1, &[]);
    }
    assert!(s.sent(204).contains(&again(&[1])[0]));
    assert_eq!((s.cwnd(), s.ssthresh()), (4_500, 4_500));
}

/// In Linux the window comes down by PRR until what was outstanding at the mark is acknowledged: of
/// 10 segments, after n are delivered, ceil(5 n / 10) may have left. The first leaves at once; where
/// one leaves, the window is what was in flight. At the ninth, five are: the threshold is reached.
#[test]
fn linux_does_not_grow_in_the_round_of_a_mark() {
    let sender = sender(profile("linux-6.12"), Recovery::RackPrr, "reno", true);
    let mut s = Script::establish(sender, true, 100);
    assert_eq!(s.sent(100), fresh(0..10));
    s.ece = true;
    s.ack(200, 1, &[]);
    assert_eq!((s.cwnd(), s.ssthresh()), (10 * MSS, 5 * MSS));
    s.sent(200);
    s.ece = false;
    for (n, window) in (2..).zip([9, 9, 8, 8, 7, 7, 6, 5, 5]) {
        s.ack(200 + n, n, &[]);
        assert_eq!(s.cwnd(), window * MSS, "{n}");
        s.sent(200 + n);
    }
    for n in 11..=15 {
        s.ack(300 + n, n, &[]);
        s.sent(300 + n);
    }
    assert_eq!(s.cwnd(), 6 * MSS); // five acknowledged: a window of growth
}
