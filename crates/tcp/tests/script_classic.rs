//! Recovery by duplicate ACKs: RFC 3042, RFC 5681 section 3.2, RFC 6582, and Tahoe before
//! them.

mod common;

use cclab_tcp::profile::Recovery;
use common::*;

/// Ten segments are in flight, the first is lost.
fn ten_in_flight(recovery: Recovery, variant: &str) -> Script {
    let mut script = Script::new(profile("rfc"), recovery, variant, 100);
    assert_eq!(script.sent(100), fresh(0..10));
    script
}

/// Two duplicates send two new segments, the third sends the first again.
fn lose_the_first(recovery: Recovery, variant: &str) -> Script {
    let mut script = ten_in_flight(recovery, variant);
    script.ack(201, 0, &[]);
    assert_eq!(script.sent(201), fresh(10..11));
    script.ack(202, 0, &[]);
    assert_eq!(script.sent(202), fresh(11..12));
    script.ack(203, 0, &[]);
    assert_eq!(script.sent(203), again(&[0]));
    script
}

/// RFC 5681 section 3.1, equation (2) with RFC 3465: each acknowledged segment makes room for
/// two.
#[test]
fn slow_start_doubles_the_window_each_round() {
    let mut script = ten_in_flight(Recovery::NewReno, "newreno");
    for n in 1..=10 {
        script.ack(200, n, &[]);
        assert_eq!(script.sent(200), fresh(2 * n + 8..2 * n + 10));
    }
    assert_eq!(script.cwnd(), 20 * MSS);
}

/// RFC 3042: the first two duplicates send new data and leave the window as it is.
#[test]
fn limited_transmit_leaves_the_window_alone() {
    let mut script = ten_in_flight(Recovery::NewReno, "newreno");
    for n in 0..2 {
        script.ack(201 + n, 0, &[]);
        assert_eq!(script.sent(201 + n), fresh(10 + n..11 + n));
    }
    assert_eq!((script.cwnd(), script.ssthresh()), (10 * MSS, u64::MAX));
}

/// RFC 3042 section 2: only as far as the receiver's window allows.
#[test]
fn limited_transmit_respects_the_receiver() {
    let mut script = ten_in_flight(Recovery::NewReno, "newreno");
    script.rwnd = 11 << 10; // 11264 bytes: eleven segments
    script.ack(200, 0, &[]); // a window update is no duplicate
    assert_eq!(script.sent(200), nothing());
    script.ack(201, 0, &[]);
    assert_eq!(script.sent(201), fresh(10..11));
    script.ack(202, 0, &[]);
    assert_eq!(script.sent(202), nothing());
}

/// Tahoe: the third duplicate sets ssthresh to half and cwnd to one segment, and everything is
/// sent again from the first segment, what arrived too.
#[test]
fn tahoe_goes_back_to_the_first_segment() {
    // Segments 3, 4 and 5 arrive, all others are lost.
    let mut script = lose_the_first(Recovery::Tahoe, "tahoe");
    assert_eq!((script.cwnd(), script.ssthresh()), (MSS, 5 * MSS));
    script.ack(303, 1, &[]);
    assert_eq!(script.sent(303), again(&[1, 2]));
    script.ack(403, 2, &[]);
    assert_eq!(script.sent(403), again(&[3, 4]));
    script.ack(404, 6, &[]); // 2 joins what was there
    assert_eq!(script.cwnd(), 5 * MSS); // 3 and two more: L = 2 (RFC 3465)
    assert_eq!(script.sent(404), again(&[6, 7, 8, 9, 10]));
}

/// Further duplicates are echoes of what arrived; Tahoe has no window inflation.
#[test]
fn tahoe_sends_nothing_for_further_duplicates() {
    let mut script = lose_the_first(Recovery::Tahoe, "tahoe");
    for n in 0..8 {
        script.ack(204 + n, 0, &[]);
        assert_eq!(script.sent(204 + n), nothing());
    }
    assert_eq!(script.sender.counters().fast_recoveries, 1);
}

/// RFC 5681 section 3.2, steps 2 to 6. The flight of ten is halved: what limited transmit sent
/// does not count (step 2).
#[test]
fn reno_inflates_and_deflates() {
    for (recovery, variant) in [(Recovery::Reno, "reno"), (Recovery::NewReno, "newreno")] {
        let mut script = lose_the_first(recovery, variant);
        assert_eq!(script.ssthresh(), 5 * MSS);
        assert_eq!(script.sender.window(), 8 * MSS); // ssthresh plus three
        // Each further duplicate adds a segment; twelve are outstanding.
        for n in 4..=7 {
            script.ack(200 + n, 0, &[]);
            assert_eq!(script.sent(200 + n), nothing());
        }
        for n in 8..=11 {
            script.ack(200 + n, 0, &[]);
            assert_eq!(script.sent(200 + n), fresh(n + 4..n + 5));
        }
        assert_eq!(script.sender.window(), 16 * MSS);
        // The retransmission arrived: 12 to 15 are outstanding, the window is ssthresh.
        script.ack(303, 12, &[]);
        assert_eq!((script.cwnd(), script.sender.window()), (5 * MSS, 5 * MSS));
        assert_eq!(script.sent(303), fresh(16..17));
    }
}

/// RFC 5681: Reno leaves fast recovery at the first new ACK even if it is partial; the second
/// loss waits for duplicates of its own, which do not count below what had been sent
/// (RFC 6582 section 3.2 step 2), so that the timer repairs it.
#[test]
fn reno_needs_the_timer_for_a_second_loss() {
    let mut script = lose_the_first(Recovery::Reno, "reno");
    script.ack(303, 5, &[]);
    assert_eq!(script.sender.window(), 5 * MSS);
    assert_eq!(script.sent(303), nothing()); // seven outstanding
    for n in 0..3 {
        script.ack(304 + n, 5, &[]);
        script.sent(304 + n);
    }
    assert_eq!(script.sender.counters().fast_recoveries, 1);
    assert_eq!(script.timer(1_303), again(&[5]));
}

/// RFC 6582 section 3.2 step 3, partial acknowledgements: the next hole leaves at once, the
/// window shrinks by what was acknowledged and grows by one segment.
#[test]
fn newreno_repairs_one_hole_per_round_trip() {
    // 0 and 5 are lost: ten duplicates in all.
    let mut script = lose_the_first(Recovery::NewReno, "newreno");
    for n in 4..=10 {
        script.ack(200 + n, 0, &[]);
        let expected = if n < 8 {
            nothing()
        } else {
            fresh(n + 4..n + 5)
        };
        assert_eq!(script.sent(200 + n), expected);
    }
    assert_eq!(script.sender.window(), 15 * MSS);
    script.ack(303, 5, &[]);
    assert_eq!(script.sender.window(), 11 * MSS); // 15 - 5 + 1, ten outstanding
    assert_eq!(script.sent(303), [again(&[5]), fresh(15..16)].concat());
    for n in 0..3 {
        script.ack(312 + n, 5, &[]); // of 12, 13, 14
        assert_eq!(script.sent(312 + n), fresh(16 + n..17 + n));
    }
    script.ack(403, 15, &[]); // a full acknowledgement
    assert_eq!((script.cwnd(), script.sender.window()), (5 * MSS, 5 * MSS));
    assert_eq!(script.sent(403), fresh(19..20));
    let counters = script.sender.counters();
    assert_eq!((counters.fast_recoveries, counters.rtos), (1, 0));
}

/// RFC 6582 section 3.2 step 3: only the first partial ACK restarts the timer, so that a window
/// with many holes ends in a timeout rather than in as many round trips.
#[test]
fn only_the_first_partial_ack_restarts_the_timer() {
    let mut script = lose_the_first(Recovery::NewReno, "newreno");
    script.ack(303, 3, &[]);
    assert_eq!(script.sent(303), again(&[3]));
    assert_eq!(script.due(), Some(1_303));
    script.ack(403, 6, &[]);
    assert_eq!(script.sent(403)[0], again(&[6])[0]);
    assert_eq!(script.due(), Some(1_303));
}

/// RFC 6582 section 3.2 step 2: after a timeout, duplicates that acknowledge no more than
/// `recover` are echoes of the segments sent again.
#[test]
fn newreno_is_careful_after_a_timeout() {
    let mut script = ten_in_flight(Recovery::NewReno, "newreno");
    assert_eq!(script.timer(1_100), again(&[0]));
    script.ack(1_200, 10, &[]); // nine more were there
    assert_eq!(script.sent(1_200), fresh(10..13)); // one and two: L = 2 again (RFC 3465)
    for n in 0..3 {
        script.ack(1_201 + n, 10, &[]);
        script.sent(1_201 + n);
    }
    assert_eq!(script.sender.counters().fast_recoveries, 0);
    // One segment past `recover` is acknowledged: duplicates count again.
    script.ack(1_300, 11, &[]);
    script.sent(1_300);
    for n in 0..3 {
        script.ack(1_301 + n, 11, &[]);
        script.sent(1_301 + n);
    }
    assert_eq!(script.sender.counters().fast_recoveries, 1);
}

/// RFC 5681 section 2: a duplicate has the window of the last acknowledgement.
#[test]
fn a_window_update_is_no_duplicate() {
    let mut script = ten_in_flight(Recovery::NewReno, "newreno");
    for n in 1..=5 {
        script.rwnd += 1 << 10;
        script.ack(200 + n, 0, &[]);
        assert_eq!(script.sent(200 + n), nothing());
    }
    assert_eq!(script.sender.counters().fast_recoveries, 0);
}
