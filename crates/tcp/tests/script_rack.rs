//! RACK-TLP (RFC 8985) with proportional rate reduction (RFC 9937), as Linux 6.12 has them.

mod common;

use cclab_tcp::profile::{CoarseTimer, Profile, Recovery};
use common::*;

/// Linux without its bursts and with an exact timer: what the RFCs say, to the millisecond.
fn script(segments: u64) -> Script {
    let mut profile = profile("linux-6.12");
    profile.bursts = None;
    profile.timer = CoarseTimer::EXACT;
    script_of(profile, segments)
}

fn script_of(mut profile: Profile, segments: u64) -> Script {
    profile.wire.timestamps = false; // no undo by timestamps, which these scripts do not echo
    let mut script = Script::new(profile, Recovery::RackPrr, "reno", segments);
    assert_eq!(script.sent(100), fresh(0..10));
    script
}

/// Linux adds 2 ms to the reordering window of 25, and its timer expires a tick later than that
/// (`tcp_rack_mark_lost`). A segment that there is room for waits for the next acknowledgement
/// if the last left a millisecond ago and that is expected by now (`tcp_tso_should_defer`); not
/// in recovery.
#[test]
fn linux_waits_for_ticks_and_bursts() {
    let mut s = script_of(profile("linux-6.12"), 100);
    s.ack(201, 0, &[(1, 2)]);
    assert_eq!(s.sent(201), fresh(10..11));
    assert_eq!(s.due(), Some(201 + 25 + 2 + 1));
    s.ack(202, 0, &[(1, 3)]);
    assert_eq!(s.sent(202), []);
    s.ack(203, 0, &[(1, 4)]);
    assert_eq!(s.sent(203)[..1], again(&[0]));
}

/// RFC 8985 section 6.2 steps 4 and 5: with fewer than three SACKed segments, a segment is lost
/// a quarter of the smallest RTT after a later one would have shown it: 100 + 102 + 25 ms. Linux
/// counts the timer as a delivery: of 9 segments in flight and one that PRR lets go, the window is 10.
#[test]
fn a_loss_is_found_by_time() {
    let mut s = script(100);
    s.ack(201, 0, &[(1, 2)]);
    assert_eq!(s.sent(201), fresh(10..11));
    assert_eq!(s.due(), Some(226));
    s.ack(202, 0, &[(1, 3)]);
    assert_eq!(s.sent(202), fresh(11..12));
    assert_eq!(s.timer(227), again(&[0]));
    assert_eq!((s.cwnd(), s.ssthresh()), (10 * MSS, 5 * MSS));
}

/// RFC 8985 section 6.2 step 2: `RACK.rtt` is of the segment looked at last, which in Linux is one
/// delivered cumulatively. 10 to 13 left at 200, 14 at 230; 12 took 130 ms and 14 took 100: 13 is
/// not lost at 200 + 100 + 25, which is over, but at 200 + 130 + 25.
#[test]
fn an_older_delivery_in_the_same_acknowledgement_grants_its_time() {
    let mut s = script(100);
    s.ack(200, 2, &[]);
    assert_eq!(s.sent(200), fresh(10..14));
    s.ack(230, 4, &[]);
    assert_eq!(s.sent(230), fresh(14..18));
    s.ack(330, 13, &[(14, 15)]);
    assert!(s.sent(330).iter().all(|&(_, _, again)| !again));
    assert_eq!(s.due(), Some(355));
    assert_eq!(s.timer(355)[..1], again(&[13]));
}

/// RFC 8985 section 6.2 step 4: what comes within the reordering window was only out of order.
#[test]
fn reordering_within_the_window_is_no_loss() {
    let mut s = script(100);
    s.ack(201, 0, &[(1, 2)]);
    s.sent(201);
    s.ack(220, 2, &[]);
    s.sent(220);
    let counters = s.sender.counters();
    assert_eq!((counters.retransmits, counters.fast_recoveries), (0, 0));
    // From now on three SACKed segments alone show nothing (reordering was seen).
    s.ack(221, 2, &[(3, 6)]);
    assert!(s.sent(221).iter().all(|&(_, _, again)| !again));
    assert!(!s.sender.in_recovery());
}

/// The start of recovery that the scripts below share: segment 0 of ten is lost, 1 to 11 are
/// SACKed one by one. RFC 9937 section 6.2: ssthresh is 5 of RecoverFS 10, so one segment
/// leaves for two delivered while the pipe is above 5 (rounded up, in segments), then one for one.
fn recovery_by_prr() -> Script {
    let mut s = script(100);
    for n in 1..=2 {
        s.ack(200 + n, 0, &[(1, 1 + n)]);
        assert_eq!(s.sent(200 + n), fresh(9 + n..10 + n));
    }
    s.ack(203, 0, &[(1, 4)]); // three SACKed: lost at once
    assert_eq!(s.sent(203), again(&[0]));
    let sends = [
        (4, None),
        (5, Some(12)),
        (6, None),
        (7, Some(13)),
        (8, None),
        (9, None),
    ];
    for (n, new) in sends {
        s.ack(200 + n, 0, &[(1, 1 + n)]);
        let expected = new.map_or(nothing(), |new| fresh(new..new + 1));
        assert_eq!(s.sent(200 + n), expected, "when {n} is delivered");
    }
    for n in 10..=11 {
        s.ack(291 + n, 0, &[(1, 1 + n)]);
        assert_eq!(s.sent(291 + n), fresh(n + 4..n + 5));
    }
    assert_eq!(s.sender.board().in_flight(), 5 * MSS);
    s
}

#[test]
fn the_window_falls_over_one_round_trip() {
    let mut s = recovery_by_prr();
    s.ack(303, 12, &[]);
    assert!(!s.sender.in_recovery());
    assert_eq!((s.cwnd(), s.ssthresh()), (5 * MSS, 5 * MSS));
    assert_eq!(s.sent(303), fresh(16..17));
    assert_eq!(s.sender.counters().retransmits, 1);
}

/// RFC 8985 section 3.2: a retransmission is lost when something sent after it is delivered;
/// 12 left at 205, after the retransmission at 203.
#[test]
fn a_lost_retransmission_is_found() {
    let mut s = recovery_by_prr();
    s.ack(306, 0, &[(1, 13)]);
    // Three in flight (13, 14, 15), ssthresh 5: two leave.
    assert_eq!(s.sent(306), [again(&[0]), fresh(16..17)].concat());
    s.ack(406, 16, &[]);
    let counters = s.sender.counters();
    assert_eq!(
        (
            counters.retransmits,
            counters.fast_recoveries,
            counters.rtos
        ),
        (2, 1, 0)
    );
    assert_eq!(s.ssthresh(), 5 * MSS);
}

/// What recovery has sent again beyond its end is known to be lost when it ends: the next one
/// begins with the same acknowledgement, and its window, not a burst up to ssthresh, is in force
/// (`tcp_time_to_recover`).
#[test]
fn a_repaired_loss_beyond_the_end_begins_the_next_recovery() {
    let mut s = recovery_by_prr(); // ends at 12
    s.ack(306, 0, &[(1, 12), (13, 16)]); // 12, sent at 205, before 13 to 15
    assert_eq!(s.sent(306)[..2], again(&[0, 12]));
    let recoveries = s.sender.counters().fast_recoveries;
    s.ack(406, 12, &[(13, 16)]); // 12 is on its way again
    assert!(s.sender.in_recovery());
    assert_eq!(s.sender.counters().fast_recoveries, recoveries + 1);
    assert_eq!(s.ssthresh(), 2 * MSS); // half of 5
    s.sent(406);
    s.ack(407, 17, &[]);
    assert_eq!(s.sender.counters().rtos, 0);
}

/// RFC 8985 section 7.2 and 7.3: the probe leaves after two round trips (and 2 ms, as Linux
/// adds), the last segment with nothing new to send; its SACK shows the loss before it.
#[test]
fn a_probe_repairs_a_tail_without_a_timeout() {
    let mut s = script(10);
    s.ack(200, 8, &[]); // 8 and 9 are lost
    assert_eq!(s.timer(402), again(&[9]));
    assert_eq!(s.due(), Some(702)); // RTO: 100 + 200 from the probe
    s.ack(502, 8, &[(9, 10)]);
    assert_eq!(s.sent(502), again(&[8]));
    s.ack(602, 10, &[]);
    let counters = s.sender.counters();
    assert_eq!(
        (
            counters.tail_loss_probes,
            counters.rtos,
            counters.fast_recoveries
        ),
        (1, 0, 1)
    );
}

/// RFC 8985 section 7.3: new data is the better probe.
#[test]
fn a_probe_prefers_new_data() {
    let mut s = script(11);
    assert_eq!(s.timer(302), fresh(10..11));
    s.ack(402, 0, &[(10, 11)]);
    // Sent 202 ms before the probe: all are lost, PRR lets some leave.
    assert_eq!(s.sent(402)[0], again(&[0])[0]);
    assert_eq!(s.sender.counters().rtos, 0);
}

/// RFC 8985 section 7.2: a lone segment's acknowledgement may be delayed by 200 ms, but the
/// probe never waits longer than the timer; section 7.3: it takes the timer's place.
#[test]
fn a_probe_of_a_lone_segment_waits_no_longer_than_the_timer() {
    let mut s = script(10);
    s.ack(200, 9, &[]);
    assert_eq!(s.timer(500), again(&[9])); // 2 * 100 + 200 > RTO 300
    assert_eq!(s.sender.counters().rtos, 0);
}

/// RFC 8985 section 7.4.2: an acknowledgement past the probe without a report of a duplicate:
/// the probe repaired a loss, and the window falls for it.
#[test]
fn a_loss_that_the_probe_repaired_reduces_the_window() {
    let mut s = script(10);
    s.ack(200, 9, &[]);
    assert_eq!(s.timer(500), again(&[9]));
    s.ack(600, 10, &[]); // not yet past the probe
    let before = s.cwnd();
    assert_eq!(s.ssthresh(), u64::MAX);
    s.sender.write(11 * MSS);
    assert_eq!(s.sent(600), fresh(10..11));
    s.ack(700, 11, &[]);
    assert_eq!((s.cwnd(), s.ssthresh()), (before / 2, before / 2));
}

/// RFC 8985 section 7.4.2: the receiver reports a duplicate: the original had arrived.
#[test]
fn a_probe_reported_as_duplicate_leaves_the_window() {
    let mut s = script(10);
    s.ack(200, 9, &[]);
    assert_eq!(s.timer(500), again(&[9]));
    s.ack(550, 10, &[]);
    s.ack(600, 10, &[(9, 10)]);
    s.sender.write(11 * MSS);
    assert_eq!(s.sent(600), fresh(10..11));
    s.ack(700, 11, &[]);
    assert_eq!(s.ssthresh(), u64::MAX);
}

/// RFC 8985 section 6.3, `RACK_mark_losses_on_RTO`: the timer takes the first segment for lost
/// and what was sent a round trip and the reordering window ago; what left since may be on its way.
#[test]
fn a_timeout_spares_what_left_lately() {
    let mut s = script(10);
    s.ack(203, 0, &[(1, 4)]);
    assert_eq!(s.sent(203), again(&[0])); // this copy is lost too
    s.ack(209, 0, &[(1, 10)]);
    assert_eq!(s.sent(209), nothing());
    s.sender.write(11 * MSS);
    assert_eq!(s.sent(450), fresh(10..11));
    let due = s.due().expect("the timer");
    assert_eq!(s.timer(due), again(&[0]));
    assert_eq!(s.sender.board().lost(), MSS);
}
