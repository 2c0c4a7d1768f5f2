//! Linux's stack without RACK (`tcp_recovery` = 0), and without SACK. What is expected follows from
//! `net/ipv4/tcp_input.c` of Linux 6.12, by name; `tests/test_linux_recovery.py` holds whole runs
//! against the kernel.

mod common;

use cclab_tcp::profile::{CoarseTimer, Profile, Recovery};
use common::*;

/// The profile as `settings` leave it.
fn set(settings: &[(&str, &str)]) -> Profile {
    let mut profile = profile("linux-6.12");
    for (name, value) in settings {
        profile
            .set(&format!("net.ipv4.{name}"), value)
            .unwrap_or_else(|| panic!("{name} = {value} is modelled"));
    }
    profile.bursts = None; // each segment leaves as soon as it may
    profile.timer = CoarseTimer::EXACT;
    profile
}

/// Ten segments of `segments` in flight from 100 ms on.
fn ten_in_flight(settings: &[(&str, &str)], segments: u64) -> Script {
    let profile = set(settings);
    let recovery = profile.recovery;
    let mut s = Script::new(profile, recovery, "reno", segments);
    assert_eq!(s.sent(100), fresh(0..10));
    s
}

fn without_rack(segments: u64) -> Script {
    ten_in_flight(&[("tcp_recovery", "0")], segments)
}

fn without_sack(segments: u64) -> Script {
    ten_in_flight(&[("tcp_sack", "0")], segments)
}

fn segments(bytes: u64) -> u64 {
    bytes / MSS
}

/// `tcp_recovery` is bits: only the first turns RACK on.
#[test]
fn the_setting_is_bits() {
    for (value, recovery, widens, counts) in [
        ("0", Recovery::Sack, true, true),
        ("1", Recovery::RackPrr, true, true),
        ("3", Recovery::RackPrr, false, true),
        ("5", Recovery::RackPrr, true, false),
        ("6", Recovery::Sack, false, false),
    ] {
        let profile = set(&[("tcp_recovery", value)]);
        assert_eq!(profile.recovery, recovery, "{value}");
        let window = profile.reordering_window;
        assert_eq!((window.widens, window.counts), (widens, counts), "{value}");
    }
    let mut profile = profile("linux-6.12");
    for nonsense in ["8", "-1", "yes"] {
        assert_eq!(profile.set("net.ipv4.tcp_recovery", nonsense), None);
    }
}

/// `TCP_RACK_NO_DUPTHRESH`: three segments SACKed show nothing before a quarter of the round trip.
#[test]
fn without_a_threshold_only_the_clock_shows_losses() {
    let lost_at_once = |value: &str| {
        let mut s = ten_in_flight(&[("tcp_recovery", value)], 10);
        s.ack(200, 0, &[(1, 4)]);
        !s.sent(200).is_empty()
    };
    assert!(lost_at_once("1"));
    assert!(!lost_at_once("5"));
}

/// `tcp_mark_head_lost`: a hole is lost once three segments above it were SACKed, whenever these
/// left; what lies between the third from the top and the top may yet come.
#[test]
fn what_three_sacked_segments_lie_above_is_lost() {
    let mut s = without_rack(10);
    s.ack(200, 0, &[(1, 2)]);
    s.ack(201, 0, &[(1, 2), (3, 4)]);
    assert_eq!(
        (s.sent(201), segments(s.ssthresh())),
        (nothing(), u64::MAX / MSS)
    );
    s.ack(202, 0, &[(1, 2), (3, 5)]);
    // 10 out, 3 SACKed, 1 lost; ssthresh 5, PRR: ceil(5 * 1 / 10) = 1 leaves, the first.
    assert_eq!(s.sent(202), again(&[0]));
    assert_eq!(segments(s.ssthresh()), 5);
    // Segment 2 has two above it; with the next one three.
    s.ack(203, 0, &[(1, 2), (3, 6)]);
    assert_eq!(segments(s.sender.board().lost()), 2);
}

/// A retransmission that is lost again is found by the timeout alone: what left after it and was
/// delivered says nothing. With RACK it leaves again at once.
#[test]
fn a_retransmission_that_is_lost_waits_for_the_timeout() {
    let retransmissions = |value: &str| {
        let mut s = ten_in_flight(&[("tcp_recovery", value)], 100);
        s.ack(200, 0, &[(1, 4)]);
        let first = s.sent(200);
        assert_eq!(first[..1], again(&[0])[..]);
        let mut top = 10 + (first.len() as u64 - 1);
        // Segments that left after the retransmission are SACKed a round trip later.
        for at in 0..6 {
            s.ack(201 + at, 0, &[(1, 5 + at)]);
            top += s.sent(201 + at).len() as u64;
        }
        assert!(top > 10, "new segments left");
        s.ack(310, 0, &[(1, top)]);
        s.sent(310)
    };
    assert_eq!(retransmissions("1")[..1], again(&[0])[..]);
    assert!(retransmissions("0").iter().all(|&(_, _, again)| !again));
}

/// `tcp_timeout_mark_lost`: by the clock only what left a round trip ago is lost at a timeout; without
/// it everything is.
#[test]
fn at_a_timeout_all_is_lost() {
    let in_flight = |value: &str| {
        let settings = [("tcp_recovery", value), ("tcp_early_retrans", "0")];
        let mut s = ten_in_flight(&settings, 100);
        s.ack(200, 2, &[]);
        s.sent(200); // four more
        s.ack(395, 4, &[]);
        s.sent(395);
        let due = s.due().expect("a timer runs");
        s.ack(due - 20, 6, &[]);
        s.sent(due - 20); // 20 ms before
        let due = s.due().expect("a timer runs");
        s.timer(due);
        s.sender.board().in_flight() / MSS
    };
    assert!(in_flight("0") == 1, "what left again");
}

/// `tcp_schedule_loss_probe` asks for SACK and the setting, not for RACK.
#[test]
fn probes_leave_without_rack_and_not_without_sack() {
    let probes = |settings: &[(&str, &str)]| {
        let mut s = ten_in_flight(settings, 10);
        s.ack(200, 2, &[]);
        let due = s.due().expect("a timer runs");
        s.timer(due);
        s.sender.counters().tail_loss_probes
    };
    assert_eq!(probes(&[("tcp_recovery", "0")]), 1);
    assert_eq!(
        probes(&[("tcp_recovery", "0"), ("tcp_early_retrans", "0")]),
        0
    );
    assert_eq!(probes(&[("tcp_sack", "0")]), 0);
}

/// `tcp_add_reno_sack`, `tcp_newreno_mark_lost`: each duplicate takes a segment out of the network; the
/// third shows the first lost, a partial acknowledgement the next.
#[test]
fn duplicates_stand_for_segments_delivered() {
    let mut s = without_sack(100);
    s.ack(200, 0, &[]);
    assert_eq!(s.sent(200), fresh(10..11), "9 of 10 in the network");
    s.ack(201, 0, &[]);
    assert_eq!(s.sent(201), fresh(11..12));
    s.ack(202, 0, &[]);
    // 12 out, 3 delivered, 1 lost: 8 in the network, ssthresh 5, 1 leaves.
    assert_eq!(s.sent(202), again(&[0]));
    assert_eq!(segments(s.ssthresh()), 5);
    for at in 203..210 {
        s.ack(at, 0, &[]);
    }
    s.sent(209);
    // The first arrived; segment 5 is missing, too.
    s.ack(300, 5, &[]);
    assert_eq!(s.sent(300)[..1], again(&[5])[..]);
    assert!(s.sender.in_recovery());
}

/// `tcp_is_non_sack_preventing_reopen`: an episode lasts until something beyond its end is
/// acknowledged, so that duplicates of what it sent again begin no other.
#[test]
fn without_sack_an_episode_lasts_until_more_is_acknowledged() {
    let mut s = without_sack(100);
    for at in 200..203 {
        s.ack(at, 0, &[]);
    }
    s.sent(202);
    s.ack(300, 10, &[]);
    let top = segments(s.sender.snd_nxt());
    s.sent(300);
    s.ack(310, 12.min(top), &[]);
    assert!(s.sender.in_recovery(), "all that was out then, and no more");
    s.sent(310);
    s.ack(410, 13, &[]);
    assert!(!s.sender.in_recovery());
    assert_eq!(segments(s.cwnd()), 5);
}

/// `tcp_limit_reno_sacked`, `tcp_check_reno_reordering`: there cannot be more duplicates than segments
/// that are not missing; one more shows reordering, of as much as was out.
#[test]
fn more_duplicates_than_segments_show_reordering() {
    let mut s = without_sack(10);
    s.ack(200, 7, &[]);
    assert_eq!(
        (s.sent(200), s.sender.board().ids().count()),
        (nothing(), 3)
    );
    for at in 201..210 {
        s.ack(at, 7, &[]); // two may stand for the two that follow the first
        assert!(s.sender.board().is_consistent());
    }
    assert!(!s.sender.in_recovery());
}
