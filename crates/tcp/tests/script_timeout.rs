//! The retransmission timer (RFC 6298) and what shows that it was wrong: F-RTO (RFC 5682),
//! timestamps (RFC 3522), reports of duplicates (RFC 2883, RFC 3708).

mod common;

use cclab_tcp::profile::Recovery;
use cclab_tcp::sender::State;
use common::*;

/// Ten segments in flight from 100 ms; recovery by duplicate ACKs, so that no probe leaves.
fn newreno() -> Script {
    let mut script = Script::new(profile("rfc"), Recovery::NewReno, "newreno", 100);
    assert_eq!(script.sent(100), fresh(0..10));
    script
}

/// Ten segments in flight from 100 ms, with SACK and without timestamps.
fn sack(segments: u64) -> Script {
    let mut script = Script::new(rfc_without_timestamps(), Recovery::Sack, "sack", segments);
    assert_eq!(script.sent(100), fresh(0..10));
    script
}

/// RFC 6298 sections 5.1 to 5.3: the timer starts with the first segment, starts again with
/// each acknowledgement of new data, and stops when everything is acknowledged.
#[test]
fn the_timer_follows_the_acknowledgements() {
    let mut s = Script::new(profile("rfc"), Recovery::NewReno, "newreno", 10);
    assert_eq!(s.due(), None);
    s.sent(100);
    assert_eq!(s.due(), Some(1_100));
    s.ack(200, 4, &[]);
    assert_eq!(s.due(), Some(1_200));
    s.ack(250, 4, &[]); // a duplicate is not new data
    assert_eq!(s.due(), Some(1_200));
    s.ack(300, 10, &[]);
    assert_eq!(s.due(), None);
}

/// RFC 6298 sections 5.4 to 5.6: only the earliest segment leaves, and the timeout doubles up to
/// its maximum; RFC 5681 section 3.1: ssthresh is halved once, cwnd is one segment.
#[test]
fn the_timeout_doubles_up_to_its_maximum() {
    let mut s = newreno();
    // 1, 2, 4 ... seconds apart, at most 60.
    for at in [
        1_100, 3_100, 7_100, 15_100, 31_100, 63_100, 123_100, 183_100,
    ] {
        assert_eq!(s.timer(at), again(&[0]));
        assert_eq!((s.cwnd(), s.ssthresh()), (MSS, 5 * MSS));
    }
    assert_eq!(s.due(), Some(243_100));
}

/// RFC 9293 section 3.8.3, R2: longer than 100 s, but not for ever.
#[test]
fn a_connection_without_answers_is_given_up() {
    let mut s = newreno();
    let mut timeouts = 0;
    while s.sender.state() == State::Established {
        let at = s.due().expect("a timer");
        s.sender.on_timer(ms(at));
        s.sent(at);
        timeouts += 1;
        assert!(timeouts < 100);
        if s.sender.state() == State::Aborted {
            assert!(at > 100_000);
        }
    }
    assert_eq!((s.sender.state(), s.due()), (State::Aborted, None));
    assert_eq!(s.sender.counters().rtos, 15);
}

/// Karn's algorithm (RFC 6298 sections 3 and 5): acknowledgements of what was sent twice give no
/// sample, and the doubled timeout stays until something sent once is acknowledged.
#[test]
fn the_backed_off_timer_waits_for_a_sample() {
    let mut s = newreno();
    s.timer(1_100);
    assert_eq!(s.timer(3_100), again(&[0]));
    s.ack(3_200, 1, &[]);
    assert_eq!(s.sent(3_200), again(&[1, 2]));
    assert_eq!(s.sender.rtt().srtt(), ms(100));
    assert_eq!(s.due(), Some(3_200 + 4_000));
    s.ack(3_350, 10, &[]);
    assert_eq!(s.sender.rtt().srtt(), ms(100));
    s.sent(3_350);
    assert_eq!(s.due(), Some(3_350 + 4_000));
    s.ack(3_450, 11, &[]);
    s.sent(3_450);
    assert_eq!(s.due(), Some(3_450 + 1_000));
}

/// RFC 6298 section 3: with timestamps a segment sent twice can be measured too, as Linux does.
#[test]
fn linux_measures_retransmissions_by_timestamps() {
    let mut s = Script::new(profile("linux-6.12"), Recovery::NewReno, "reno", 100);
    s.sent(100);
    // 100 + max(200, 4 * 50) after 100 ms, and up to the next of the wheel's steps of 8 ms.
    assert_eq!(s.timer(408), again(&[0]));
    s.ack_echo(508, 1, &[], 408);
    assert_eq!(s.sent(508).len(), 2);
    assert_eq!(s.due(), Some(816)); // 508 + 300
}

/// RFC 5681 section 3.1: slow start from one segment, and what was lost leaves again in order.
#[test]
fn slow_start_repairs_the_window() {
    let mut s = newreno();
    s.timer(1_100);
    s.ack(1_200, 1, &[]);
    assert_eq!(s.sent(1_200), again(&[1, 2]));
    s.ack(1_300, 2, &[]);
    assert_eq!(s.sent(1_300), again(&[3, 4]));
    s.ack(1_301, 3, &[]);
    assert_eq!(s.sent(1_301), again(&[5, 6]));
    assert_eq!(s.cwnd(), 4 * MSS);
}

/// RFC 5682 section 3.1: the first acknowledgement advances: two new segments leave (step 2b);
/// the second covers an original never sent again: the timeout was spurious (step 3b).
#[test]
fn frto_finds_a_late_acknowledgement() {
    let mut s = sack(100);
    assert_eq!(s.timer(1_100), again(&[0]));
    s.ack(1_150, 1, &[]);
    assert_eq!(s.sent(1_150), fresh(10..12));
    s.ack(1_160, 2, &[]);
    // Ten again, and slow start takes this acknowledgement in.
    assert_eq!((s.cwnd(), s.ssthresh()), (11 * MSS, u64::MAX));
    assert_eq!(s.sent(1_160), fresh(12..13));
    let counters = s.sender.counters();
    assert_eq!((counters.undos, counters.retransmits), (1, 1));
}

/// RFC 5682 section 3.1 step 3a: the new segments arrive while the old are missing.
#[test]
fn frto_believes_a_genuine_timeout() {
    let mut s = sack(100);
    assert_eq!(s.timer(1_100), again(&[0]));
    s.ack(1_200, 1, &[]);
    assert_eq!(s.sent(1_200), fresh(10..12));
    s.ack(1_300, 1, &[(10, 11)]);
    assert_eq!(s.sent(1_300), again(&[1]));
    assert_eq!((s.ssthresh(), s.sender.counters().undos), (5 * MSS, 0));
}

/// RFC 5682 section 3.1 step 2a: a duplicate first: conventional recovery.
#[test]
fn frto_ends_with_a_duplicate() {
    let mut s = sack(10);
    s.ack(200, 0, &[(5, 6)]);
    assert_eq!(s.timer(1_100), again(&[0]));
    s.ack(1_200, 1, &[(5, 6)]);
    // Nothing new to send: step 2b falls back to retransmissions.
    assert_eq!(s.sent(1_200), again(&[1, 2]));
}

/// RFC 5682 section 3.1 step 1: a timeout during recovery is not examined.
#[test]
fn frto_does_not_follow_recovery() {
    let mut s = sack(100);
    s.ack(203, 0, &[(1, 4)]);
    assert_eq!(s.sent(203), again(&[0])); // lost as well
    let due = s.due().expect("the timer");
    assert_eq!(due, 1_203);
    assert_eq!(s.timer(due), again(&[0]));
    s.ack(1_303, 4, &[]);
    assert_eq!(s.sent(1_303), again(&[4, 5]));
}

/// RFC 3522 section 3.2: the echo is older than the retransmission: the original arrived.
#[test]
fn timestamps_show_a_spurious_timeout() {
    let mut s = newreno();
    assert_eq!(s.timer(1_100), again(&[0]));
    s.ack_echo(1_150, 1, &[], 100);
    assert_eq!((s.cwnd(), s.ssthresh()), (11 * MSS, u64::MAX));
    assert_eq!(s.sent(1_150), fresh(10..12));
}

/// The same echo after the retransmission shows nothing.
#[test]
fn an_echo_of_the_retransmission_undoes_nothing() {
    let mut s = newreno();
    assert_eq!(s.timer(1_100), again(&[0]));
    s.ack_echo(1_200, 1, &[], 1_100);
    assert_eq!((s.cwnd(), s.ssthresh()), (2 * MSS, 5 * MSS));
}

/// Segment 0 arrives late and is sent again in between; the report of the second copy
/// (RFC 2883) takes the reduction back exactly, whether recovery is over by then (RFC 3708
/// section 3) or not.
#[test]
fn a_reported_duplicate_restores_the_window() {
    for (recovery, variant) in [(Recovery::Sack, "sack"), (Recovery::RackPrr, "reno")] {
        for over in [true, false] {
            let segments = if over { 10 } else { 100 };
            let mut s = Script::new(rfc_without_timestamps(), recovery, variant, segments);
            assert_eq!(s.sent(100), fresh(0..10));
            s.ack(201, 0, &[(1, 2)]);
            s.sent(201);
            s.ack(203, 0, &[(1, 4)]);
            assert_eq!(s.sent(203)[0], again(&[0])[0]);
            assert_eq!((s.cwnd(), s.ssthresh()), (5 * MSS, 5 * MSS));
            s.ack(210, 10, &[]); // the original, late
            s.sent(210);
            assert_eq!(s.sender.in_recovery(), !over);
            s.ack(303, 10, &[(0, 1)]); // its copy
            assert_eq!(
                (s.cwnd(), s.ssthresh()),
                (10 * MSS, u64::MAX),
                "{recovery:?} {over}"
            );
            assert_eq!(s.sender.counters().undos, 1);
            assert!(!s.sender.in_recovery());
        }
    }
}

/// RFC 3708 section 3: a report of something else than this recovery's retransmissions undoes
/// nothing.
#[test]
fn a_duplicate_of_older_data_restores_nothing() {
    let mut s = sack(100);
    s.ack(200, 2, &[]);
    s.sent(200);
    s.ack(203, 2, &[(3, 6)]);
    assert!(s.sent(203).contains(&again(&[2])[0]));
    s.ack(204, 2, &[(0, 1), (3, 6)]);
    assert_eq!(s.sender.counters().undos, 0);
    assert!(s.sender.in_recovery());
}
