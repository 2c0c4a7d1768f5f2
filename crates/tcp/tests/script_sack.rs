//! Recovery from the SACK scoreboard: RFC 6675.

mod common;

use cclab_tcp::profile::Recovery;
use common::*;

fn script(segments: u64) -> Script {
    let mut script = Script::new(rfc_without_timestamps(), Recovery::Sack, "sack", segments);
    assert_eq!(script.sent(100), fresh(0..10));
    script
}

/// RFC 6675 section 5: three holes in one window, repaired in one round trip, the pipe never
/// above the halved window. Segments 0, 2 and 4 of ten are lost.
#[test]
fn several_holes_are_repaired_in_one_round_trip() {
    let mut s = script(100);
    s.ack(201, 0, &[(1, 2)]);
    assert_eq!(s.sent(201), fresh(10..11));
    s.ack(202, 0, &[(3, 4), (1, 2)]);
    assert_eq!(s.sent(202), fresh(11..12));
    s.ack(203, 0, &[(5, 6), (3, 4), (1, 2)]);
    assert_eq!(s.sent(203), again(&[0]));
    assert_eq!((s.cwnd(), s.ssthresh()), (5 * MSS, 5 * MSS));
    // Pipe: 12 outstanding, 3 SACKed, 0 in its second copy.
    assert_eq!(s.sender.board().in_flight(), 9 * MSS);
    s.ack(204, 0, &[(5, 7), (3, 4), (1, 2)]); // 2 is lost: 3, 5 and 6 are above
    assert_eq!(s.sender.board().in_flight(), 7 * MSS);
    assert_eq!(s.sent(204), nothing());
    s.ack(205, 0, &[(5, 8), (3, 4), (1, 2)]); // 4 is lost
    assert_eq!(s.sender.board().in_flight(), 5 * MSS);
    assert_eq!(s.sent(205), nothing());
    s.ack(206, 0, &[(5, 9), (3, 4), (1, 2)]);
    assert_eq!(s.sent(206), again(&[2]));
    s.ack(207, 0, &[(5, 10), (3, 4), (1, 2)]);
    assert_eq!(s.sent(207), again(&[4]));
    s.ack(301, 0, &[(5, 11), (3, 4), (1, 2)]);
    assert_eq!(s.sent(301), fresh(12..13));
    s.ack(302, 0, &[(5, 12), (3, 4), (1, 2)]);
    assert_eq!(s.sent(302), fresh(13..14));
    s.ack(303, 2, &[(5, 12), (3, 4)]);
    assert_eq!(s.sent(303), fresh(14..15));
    s.ack(306, 4, &[(5, 12)]);
    assert_eq!(s.sent(306), fresh(15..16));
    s.ack(307, 12, &[]); // the recovery point
    assert!(!s.sender.in_recovery());
    assert_eq!(s.cwnd(), 5 * MSS);
    assert_eq!(s.sent(307), fresh(16..17));
    let counters = s.sender.counters();
    assert_eq!(
        (
            counters.retransmits,
            counters.fast_recoveries,
            counters.rtos
        ),
        (3, 1, 0)
    );
}

/// RFC 6675 section 4, `IsLost`: three segments above in one acknowledgement show a loss, with
/// no duplicates counted before.
#[test]
fn one_acknowledgement_can_show_a_loss() {
    let mut s = script(100);
    s.ack(203, 0, &[(1, 4)]);
    // ssthresh is 5; pipe 10 - 3 - 1.
    assert_eq!(s.sent(203), again(&[0]));
    assert_eq!(s.sender.board().in_flight(), 7 * MSS);
}

/// RFC 6675 section 2: an acknowledgement that reports only a duplicate (RFC 2883) is no
/// duplicate acknowledgement.
#[test]
fn reports_of_duplicates_show_no_loss() {
    let mut s = script(100);
    s.ack(200, 3, &[]);
    s.sent(200);
    for n in 0..4 {
        s.ack(201 + n, 3, &[(0, 1)]);
        assert_eq!(s.sent(201 + n), nothing());
    }
    assert_eq!(s.sender.counters().fast_recoveries, 0);
}

/// RFC 6675 section 4, `NextSeg` rule 3: with nothing lost and nothing new to send, the first
/// unSACKed segment below the highest SACKed one; its copy counts in the pipe beside the
/// original.
#[test]
fn rule_3_sends_the_lowest_suspect_within_the_pipe() {
    let mut s = script(10);
    for (at, block) in [(201, (1, 2)), (202, (1, 3))] {
        s.ack(at, 0, &[block]);
        assert_eq!(s.sent(at), nothing());
    }
    s.ack(203, 0, &[(1, 4)]);
    assert_eq!(s.sent(203), again(&[0])); // pipe 7 of 5
    s.ack(204, 0, &[(8, 9), (1, 4)]); // out of order: pipe 6
    assert_eq!(s.sent(204), nothing());
    s.ack(205, 0, &[(1, 5), (8, 9)]); // pipe 5
    assert_eq!(s.sent(205), nothing());
    s.ack(206, 0, &[(1, 6), (8, 9)]); // pipe 4: room for one; 6 and 7 are suspect
    assert_eq!(s.sent(206), again(&[6]));
    // 9 arrives: still only two above 6 and 7; pipe 3 + 1.
    s.ack(207, 0, &[(8, 10), (1, 6)]);
    assert_eq!(s.sent(207), again(&[7]));
    s.ack(303, 6, &[(8, 10)]);
    assert_eq!(s.sent(303), again(&[7])); // pipe 4 of 5: the one rescue (rule 4)
    s.ack(307, 10, &[]);
    assert_eq!(s.sender.counters().retransmits, 4);
    assert_eq!(s.due(), None);
}

/// RFC 6675 section 4, `NextSeg` rule 4: one rescue of the highest unSACKed segment per
/// recovery, so that the loss of a tail does not need the timer.
#[test]
fn rule_4_rescues_the_tail_once() {
    let mut s = script(10);
    for (at, right) in [(201, 2), (202, 3), (203, 4), (204, 5), (205, 6)] {
        s.ack(at, 0, &[(1, right)]);
        let expected = if at == 203 { again(&[0]) } else { nothing() };
        assert_eq!(s.sent(at), expected);
    }
    s.ack(206, 0, &[(1, 7)]); // pipe 4: no loss, nothing new, nothing below the highest
    assert_eq!(s.sent(206), again(&[9]));
    s.ack(207, 0, &[(1, 8)]);
    assert_eq!(s.sent(207), nothing());
    // 8 was lost, 9 too; the rescue arrives and the retransmission of 0 did.
    s.ack(303, 8, &[]);
    s.ack(306, 8, &[(9, 10)]);
    assert_eq!(s.sent(306), again(&[8])); // rule 3
    s.ack(406, 10, &[]);
    let counters = s.sender.counters();
    assert_eq!((counters.retransmits, counters.rtos), (3, 0));
}

/// RFC 6675 section 5.1: after a timeout, no recovery begins below the recovery point.
#[test]
fn no_recovery_below_the_recovery_point_of_a_timeout() {
    let mut s = script(100);
    assert_eq!(s.timer(1_100), again(&[0]));
    for n in 1..=4 {
        s.ack(1_200 + n, 0, &[(1, 1 + n)]);
        s.sent(1_200 + n);
    }
    let counters = s.sender.counters();
    assert_eq!((counters.fast_recoveries, counters.rtos), (0, 1));
}
