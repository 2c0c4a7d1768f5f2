//! Tests of the scoreboard.

use super::*;

fn filled(n: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    for i in 0..n {
        board.push(Segment {
            start: i * 100,
            len: 100,
            ..Segment::default()
        });
    }
    board
}

#[test]
fn selective_and_cumulative_acknowledgements_count_each_segment_once() {
    let mut board = filled(40);
    let mut delivered = Vec::new();
    board.select(&[(300, 500)], |id, _| delivered.push(id));
    board.select(&[(300, 700), (1000, 1100)], |id, _| delivered.push(id));
    assert_eq!(delivered, [3, 4, 5, 6, 10]);
    assert_eq!(board.in_flight(), 3500);
    assert_eq!(board.highest_sacked(), Some(10));
    let mut gone = Vec::new();
    board.acknowledge(750, |segment| gone.push(segment.start));
    assert_eq!(gone, [0, 100, 200]);
    assert_eq!(board.outstanding(), 3250);
    assert!(board.is_consistent());
}

#[test]
fn what_is_looked_for_near_the_highest_is_what_is_found_among_all() {
    for highest in 0..20 {
        let mut board = filled(20);
        board.select(&[(highest * 100, highest * 100 + 100)], |_, _| ());
        board.acknowledge(450, |_| ());
        for offset in 400..2_100 {
            assert_eq!(
                board.find_near_highest(offset),
                board.find(offset),
                "{offset} with {highest}"
            );
        }
    }
}

#[test]
fn what_is_lost_while_nothing_waits_is_next_and_what_lay_before_it_comes_first_again() {
    let mut board = filled(9);
    board.mark_lost(1);
    board.mark_resent(1, |_| ());
    board.mark_lost(6);
    assert_eq!(board.lost_hint, 6, "nothing is passed over");
    assert_eq!(board.next_lost(), Some(6));
    board.mark_lost(8);
    assert_eq!(board.next_lost(), Some(6));
    board.mark_lost(3);
    assert_eq!(board.next_lost(), Some(3));
    board.mark_lost(1); // its copy is lost, too
    for id in [1, 3, 6, 8] {
        assert_eq!(board.next_lost(), Some(id));
        board.mark_resent(id, |_| ());
    }
    assert_eq!(board.next_lost(), None);
    board.forget_resent(3);
    assert_eq!(board.next_lost(), Some(3));
    assert!(board.is_consistent());
}

#[test]
fn lost_segments_are_retransmitted_once_in_order() {
    let mut board = filled(6);
    board.mark_lost(4);
    board.mark_lost(1);
    assert_eq!(board.in_flight(), 400);
    assert_eq!(board.next_lost(), Some(1));
    board.mark_resent(1, |_| ());
    assert_eq!(board.next_lost(), Some(4));
    board.mark_resent(4, |_| ());
    assert_eq!(board.next_lost(), None);
    assert_eq!(board.in_flight(), 600);
    assert_eq!(board.mark_all_lost(), 600);
    assert_eq!((board.in_flight(), board.next_lost()), (0, Some(0)));
    board.clear_lost();
    assert_eq!(board.in_flight(), 600);
    assert!(board.is_consistent());
}
