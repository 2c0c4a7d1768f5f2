//! What else may hold a sender back: idle times, the application, the receiver's window, the
//! send buffer; and how a stream ends.

mod common;

use cclab_packet::flags;
use cclab_tcp::limits::Limit;
use cclab_tcp::profile::{Recovery, SendBuffer};
use cclab_tcp::sender::State;
use cclab_units::Time;
use common::*;

fn script(segments: u64) -> Script {
    Script::new(profile("rfc"), Recovery::NewReno, "newreno", segments)
}

/// Ten segments, each acknowledged at 200 ms: the window is 20.
fn twenty() -> Script {
    let mut s = script(10);
    assert_eq!(s.sent(100), fresh(0..10));
    for n in 1..=10 {
        s.ack(200, n, &[]);
        assert_eq!(s.sent(200), nothing());
    }
    assert_eq!(s.cwnd(), 20 * MSS);
    s.sender.write(100 * MSS);
    s
}

/// RFC 5681 section 4.1: nothing sent for longer than the timeout (1 s, since 100 ms): the
/// window is the initial one.
#[test]
fn an_idle_time_beyond_the_timeout_restarts() {
    let mut s = twenty();
    assert_eq!(s.sent(1_101), fresh(10..20));
}

#[test]
fn an_idle_time_up_to_the_timeout_does_not() {
    let mut s = twenty();
    assert_eq!(s.sent(1_100), fresh(10..30));
}

/// RFC 5681 section 4.1: the restart window is no larger than the window was.
#[test]
fn a_restart_does_not_enlarge_the_window() {
    let mut s = script(10);
    s.sent(100);
    assert_eq!(s.timer(1_100), again(&[0]));
    s.ack(1_200, 1, &[]);
    s.sent(1_200);
    s.ack(1_300, 10, &[]);
    let before = s.cwnd();
    assert!(before < 10 * MSS);
    s.sender.write(100 * MSS);
    s.sent(60_000);
    assert_eq!(s.cwnd(), before);
}

/// RFC 7661 section 1: a window that is not used shows nothing, and does not grow.
#[test]
fn an_application_that_limits_does_not_open_the_window() {
    let mut s = script(0);
    for round in 0..20 {
        let at = 100 + 100 * round;
        s.sender.write((2 * round + 2) * MSS);
        assert_eq!(s.sent(at), fresh(2 * round..2 * round + 2));
        s.ack(at + 100, 2 * round + 2, &[]);
    }
    assert_eq!(s.cwnd(), 10 * MSS);
}

/// RFC 9293 section 3.7.4 (Nagle): a small segment waits while data is outstanding, and takes
/// in what is written meanwhile; a full segment does not wait.
#[test]
fn small_writes_wait_for_the_acknowledgement() {
    let mut s = script(0);
    s.sender.write(100);
    assert_eq!(s.sent(100), [(0, 100, false)]);
    for written in [200, 300, 400] {
        s.sender.write(written);
        assert_eq!(s.sent(110), nothing());
    }
    s.ack_bytes(200, 100, &[], None);
    assert_eq!(s.sent(200), [(100, 300, false)]);
    s.sender.write(1_900);
    assert_eq!(s.sent(210), [(400, 1_000, false)]);
    s.ack_bytes(300, 400, &[], None); // 1000 are still outstanding
    assert_eq!(s.sent(300), nothing());
    s.ack_bytes(310, 1_400, &[], None);
    assert_eq!(s.sent(310), [(1_400, 500, false)]);
}

/// RFC 9293 section 3.10.4: the FIN rides on the last segment, however short, and takes an
/// offset of its own.
#[test]
fn the_last_segment_carries_the_fin() {
    let mut s = script(2);
    s.sender.write(2_300);
    s.sender.close();
    assert_eq!(
        s.sent(100),
        [fresh(0..2), vec![(2_000, 300, false)]].concat()
    );
    let fins: Vec<_> = s.packets.iter().map(|p| p.has(flags::FIN)).collect();
    assert_eq!(fins, [false, false, true]);
    s.ack_bytes(200, 2_300, &[], None);
    assert_eq!(s.sender.state(), State::Established);
    assert_eq!(s.due(), Some(1_200)); // the FIN is outstanding
    s.ack_bytes(210, 2_301, &[], None);
    assert_eq!((s.sender.state(), s.due()), (State::Finished, None));
    assert_eq!(s.sender.bytes_acked(), 2_300);
}

/// Everything was sent before the application closed: a bare FIN, sent again when it is lost.
#[test]
fn a_late_close_sends_a_bare_fin() {
    let mut s = script(1);
    assert_eq!(s.sent(100), fresh(0..1));
    s.sender.close();
    assert_eq!(s.sent(150), [(1_000, 0, false)]);
    assert!(s.packets[0].has(flags::FIN));
    s.ack(200, 1, &[]);
    assert_eq!(s.timer(1_200), [(1_000, 0, true)]);
    assert!(s.packets[0].has(flags::FIN));
    s.ack_bytes(1_300, 1_001, &[], None);
    assert_eq!(s.sender.state(), State::Finished);
}

/// A send buffer of memory for ten segments: packets of four cost five when they enter, segments
/// that have left two each. The application may write when a third is free
/// (`sk_stream_is_writeable`), and its last packet goes in whole.
#[test]
fn a_full_send_buffer_is_filled_in_gushes() {
    let mut profile = profile("rfc");
    profile.send_buffer = Some(SendBuffer {
        per_segment: 0,
        most: 10 * MSS,
        packet: 4 * MSS,
        overhead: MSS,
        packet_most: 4 * MSS,
        is_fixed: false,
    });
    let mut s = Script::new(profile, Recovery::NewReno, "newreno", 100);
    assert_eq!(s.sent(100), fresh(0..8)); // of a window of ten
    for n in 1..=4 {
        s.ack(200, n, &[]);
        assert_eq!(s.sent(200), nothing());
    }
    s.ack(201, 5, &[]); // three left, six of ten: the room of four is one packet
    assert_eq!(s.sent(201), fresh(8..12));
    assert_eq!(s.sender.limits().spent(Limit::Sndbuf, ms(202)), ms(102));
}

/// What holds the sender back, for how long: each second of a round trip is charged once.
#[test]
fn time_is_charged_to_what_limits() {
    let spent = |s: &Script, limit| s.sender.limits().spent(limit, ms(200));
    let all = [
        Limit::Cwnd,
        Limit::Rwnd,
        Limit::Application,
        Limit::Sndbuf,
        Limit::Pacing,
    ];
    let only = |s: &Script, limit: Limit| {
        for other in all {
            let expected = if other == limit { ms(100) } else { Time::ZERO };
            assert_eq!(spent(s, other), expected, "{other:?}, not {limit:?}");
        }
    };
    let mut s = script(100);
    assert_eq!(s.sent(100).len(), 10);
    only(&s, Limit::Cwnd);

    let mut s = script(0);
    s.rwnd = 4 << 10;
    s.ack(100, 0, &[]);
    s.sender.write(100 * MSS);
    assert_eq!(s.sent(100).len(), 4);
    only(&s, Limit::Rwnd);

    let mut s = script(3);
    assert_eq!(s.sent(100).len(), 3);
    only(&s, Limit::Application);

    let mut buffered = profile("rfc");
    buffered.sndbuf = 5 * MSS;
    let mut s = Script::new(buffered, Recovery::NewReno, "newreno", 100);
    assert_eq!(s.sent(100).len(), 5);
    only(&s, Limit::Sndbuf);
}

/// `tcp_mss_split_point`, `tcp_minshall_check`: Linux fills the receiver's window with a segment
/// that is not full, unless another such is on its way.
#[test]
fn linux_cuts_at_the_receivers_window() {
    let linux = profile("linux-6.12");
    let sender = sender(linux, Recovery::RackPrr, "reno", false);
    let mut s = Script::establish(sender, false, 0);
    s.rwnd = 5_504; // a multiple of 128, which the scale tells
    s.ack(100, 0, &[]);
    s.sender.write(100 * MSS);
    // The write says that there is more: what is not full waits for it.
    assert_eq!(s.sent(100), fresh(0..5));
    // 1,352 bytes of room, all of which are used.
    s.rwnd = 4_352;
    s.ack(150, 2, &[]);
    assert_eq!(s.sent(150), [(5_000, MSS, false), (6_000, 352, false)]);
    // 1,512 bytes of room, and the short segment is not acknowledged: a full one leaves.
    s.rwnd = 4_864;
    s.ack(151, 3, &[]);
    assert_eq!(s.sent(151), [(6_352, MSS, false)]);
}
