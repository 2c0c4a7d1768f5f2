//! Recovery of ns-2's Vegas: a fine-grained timeout beside the count of duplicates (Brakmo and
//! Peterson 1995, section 3.1).

mod common;

use cclab_tcp::profile::{Profile, Recovery};
use common::*;

/// Round trips of 100 ms: one segment, then ten at 200 ms, of which the first three are
/// acknowledged.
fn ten_in_flight() -> Script {
    let profile = Profile {
        initial_window_segments: 10,
        ..profile("ns2")
    };
    let mut script = Script::new(profile, Recovery::Vegas, "vegas", 100);
    assert_eq!(script.sent(100), fresh(0..1));
    script.ack(200, 1, &[]); // the initial window; it grows only when in use
    assert_eq!(script.sent(200), fresh(1..11));
    for n in 2..=4 {
        script.ack(300, n, &[]);
        assert_eq!(script.sent(300), fresh(n + 9..n + 10));
    }
    script
}

/// Four samples of 100 ms: 8 srtt = 800, 4 rttvar = 100 (3/4)^4 = 31.6, and so the timeout is
/// (200 + 31.6) / 2 and a sixteenth, 123.1 ms. The segment left at 200 ms.
#[test]
fn a_duplicate_past_the_fine_timeout_resends() {
    let mut early = ten_in_flight();
    early.ack(323, 4, &[]);
    assert_eq!(early.sent(323), nothing()); // no limited transmit
    let mut late = ten_in_flight();
    late.ack(324, 4, &[]);
    assert_eq!(late.sent(324), again(&[4]));
    assert_eq!((late.cwnd(), late.ssthresh()), (8 * MSS, 2 * MSS)); // 10 - 10 / 4
    assert_eq!(late.sender.counters().fast_recoveries, 1);
}

/// The new ACK after a retransmission looks at the next segment, which left at 200 ms too, and
/// takes nothing off the window for it.
#[test]
fn the_next_new_ack_looks_for_a_second_loss() {
    let mut script = ten_in_flight();
    script.ack(324, 4, &[]);
    assert_eq!(script.sent(324), again(&[4]));
    script.ack(424, 5, &[]);
    assert_eq!(script.sent(424), again(&[5]));
    assert_eq!(script.cwnd(), 8 * MSS);
    assert_eq!(script.sender.counters().fast_recoveries, 1);
}

/// A segment lost again costs half; one that left before the reduction costs nothing.
#[test]
fn what_left_before_the_reduction_reduces_no_more() {
    let mut script = ten_in_flight();
    script.ack(324, 4, &[]);
    assert_eq!(script.sent(324), again(&[4]));
    script.ack(600, 4, &[]); // its retransmission is overdue: 276 ms
    assert_eq!(script.sent(600), again(&[4]));
    assert_eq!(script.cwnd(), 8 * MSS); // it left when the window fell, not after
    script.ack(1_200, 4, &[]);
    assert_eq!(script.sent(1_200), again(&[4]));
    assert_eq!(script.cwnd(), 4 * MSS); // it left at 600 ms: 8 / 2
}

/// Three duplicates do what they do in Reno, whatever the time.
#[test]
fn the_third_duplicate_resends() {
    let mut script = ten_in_flight();
    for at in [301, 302] {
        script.ack(at, 4, &[]);
        assert_eq!(script.sent(at), nothing());
    }
    script.ack(303, 4, &[]);
    assert_eq!(script.sent(303)[..1], again(&[4]));
}
