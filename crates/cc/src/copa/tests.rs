//! The rules of section 2 by hand.

use super::*;
use crate::tests::{Bench, ack, config_of, congestion};
use crate::{Arithmetic, SlowStart};

const MSS: u64 = 1_000;

fn flow() -> Bench<Copa> {
    let config = config_of(&VARIANT, Arithmetic::Bytes, SlowStart::Plain);
    let mut flow = Bench::new(Copa::new(&config));
    flow.established(Time::from_millis(100));
    flow
}

/// One segment acknowledged after `rtt` ms; the round ends with the next one.
fn told(rtt: u64) -> AckSample {
    AckSample {
        rtt: Some(Time::from_millis(rtt)),
        srtt: Time::from_millis(rtt),
        snd_nxt: u64::MAX,
        ..ack(MSS)
    }
}

#[test]
fn it_paces_at_twice_the_window() {
    let flow = flow();
    // 10 segments of 1000 bytes in 100 ms: 800 kbit/s, twice.
    assert_eq!(flow.cc.pacing_rate(), Rate::from_bps(1_600_000));
}

/// Section 2.1 by hand: with 10 segments, 100 ms and delta 1/2 the target is 1 / (0.5 d). At
/// d = 10 ms it is 200 segments a second, and the rate 10 / 110 ms = 91; at d = 100 ms 20, and
/// the rate 10 / 200 ms = 50.
#[test]
fn the_window_moves_towards_the_target() {
    let mut flow = flow();
    flow.now += Time::from_millis(150);
    flow.ack(&told(110));
    assert_eq!(
        flow.cc.cwnd(),
        11_000,
        "below the target in slow start: one more"
    );
    flow.now += Time::from_millis(150);
    flow.ack(&told(200));
    // Slow start is over; down by v / (delta w) = 1 / (0.5 * 11).
    assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (10_818, 11_000));
    flow.now += Time::from_millis(150);
    flow.ack(&told(110));
    // Up again, by 1 / (0.5 * 10.818).
    assert_eq!(flow.cc.cwnd(), 11_003);
}

#[test]
fn the_velocity_doubles_after_three_rounds_in_one_direction() {
    let mut flow = flow();
    flow.cc.slow_start = false;
    let mut factors = Vec::new();
    for round in 0..8 {
        flow.now += Time::from_millis(100);
        flow.ack(&AckSample {
            snd_una: round * 10 * MSS,
            snd_nxt: (round + 1) * 10 * MSS,
            ..told(100)
        });
        factors.push(flow.cc.velocity.factor);
    }
    // The first round begins where it stands: it counts as down. Then three up.
    assert_eq!(factors, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 16.0]);
    flow.now += Time::from_secs(11);
    for round in 8..10 {
        flow.now += Time::from_millis(100);
        flow.cc.velocity.from = 1e6; // the window fell
        flow.ack(&AckSample {
            snd_una: round * 10 * MSS,
            snd_nxt: (round + 1) * 10 * MSS,
            ..told(100)
        });
        assert_eq!(flow.cc.velocity.factor, 1.0);
    }
}

/// Section 2.2: five rounds of a full queue show others that fill it; 1/delta then grows by one
/// a round and halves at a loss, and is the default's once the queue is empty again.
#[test]
fn it_competes_where_the_queue_never_empties() {
    let mut flow = flow();
    flow.cc.slow_start = false;
    let mut round = 0;
    let mut next = |flow: &mut Bench<Copa>, rtt| {
        round += 1;
        flow.now += Time::from_millis(rtt);
        flow.ack(&AckSample {
            snd_una: round * 10 * MSS,
            snd_nxt: (round + 1) * 10 * MSS,
            ..told(rtt)
        });
    };
    for _ in 0..5 {
        next(&mut flow, 200);
        assert!(!flow.cc.competes);
    }
    next(&mut flow, 200);
    assert!(flow.cc.competes);
    assert_eq!(flow.cc.delta, 1.0 / 3.0);
    next(&mut flow, 200);
    assert_eq!(flow.cc.delta, 1.0 / 4.0);
    let loss = AckSample {
        newly_lost: MSS,
        ..told(200)
    };
    flow.ack(&loss);
    assert_eq!(flow.cc.delta, 0.5);
    next(&mut flow, 200);
    assert_eq!(flow.cc.delta, 0.5, "no growth in a round with a loss");
    for _ in 0..6 {
        next(&mut flow, 200);
    }
    assert_eq!(flow.cc.delta, 1.0 / 8.0);
    flow.ack(&loss);
    flow.ack(&loss);
    assert_eq!(flow.cc.delta, 1.0 / 4.0, "once a round");
    next(&mut flow, 100);
    assert!(!flow.cc.competes);
}

#[test]
fn a_loss_in_default_mode_changes_nothing() {
    let mut flow = flow();
    flow.congestion(Congestion::Loss, &congestion(10 * MSS));
    assert_eq!((flow.cc.cwnd(), flow.cc.delta), (10_000, 0.5));
    flow.congestion(Congestion::Rto, &congestion(10 * MSS));
    assert_eq!(flow.cc.cwnd(), 1_000);
    flow.undo();
    assert_eq!(flow.cc.cwnd(), 10_000);
}

/// A velocity that was gathered is lost with its direction; a velocity of one has none to lose.
#[test]
fn what_was_gathered_in_one_direction_is_not_spent_in_the_other() {
    let turned = |factor, up| {
        let mut velocity = Velocity {
            factor,
            rounds: 4,
            ..flow().cc.velocity
        };
        velocity.turn(up);
        (velocity.factor, velocity.rounds, velocity.up)
    };
    assert_eq!(turned(8.0, true), (8.0, 4, true));
    assert_eq!(turned(8.0, false), (1.0, 0, false));
    assert_eq!(turned(1.0, false), (1.0, 4, true));
}

#[test]
fn a_pause_and_a_timeout_forget_the_velocity() {
    let mut flow = flow();
    flow.cc.velocity.factor = 8.0;
    flow.cc.velocity.rounds = 5;
    flow.now += Time::from_secs(3);
    flow.restart(Time::from_secs(3), Time::from_secs(1));
    let velocity = &flow.cc.velocity;
    assert_eq!((velocity.factor, velocity.rounds), (1.0, 0));
    assert_eq!(flow.cc.emptied, flow.now);
    flow.cc.velocity.factor = 8.0;
    flow.cc.slow_start = false;
    flow.cc.ssthresh = 9 * MSS;
    flow.congestion(Congestion::Rto, &congestion(10 * MSS));
    assert_eq!((flow.cc.velocity.factor, flow.cc.slow_start), (1.0, true));
    flow.cc.ssthresh = 5 * MSS;
    // What a repeated timeout finds is not what was there before.
    flow.congestion(
        Congestion::Rto,
        &CongestionSample {
            repeated: true,
            ..congestion(10 * MSS)
        },
    );
    flow.undo();
    assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (10_000, 9_000));
    assert!(!flow.cc.slow_start);
}

/// Tells of a round-trip time that swings between `low` and `high` microseconds each 40 ms, for `seconds`.
/// Returns after how long it first competed.
fn swing(flow: &mut Bench<Copa>, low: u64, high: u64, seconds: u64) -> Option<Time> {
    let began = flow.now;
    let mut first = None;
    while flow.now < began + Time::from_secs(seconds) {
        for rtt in [high, high, low] {
            flow.now += Time::from_millis(40);
            flow.ack(&AckSample {
                rtt: Some(Time::from_micros(rtt)),
                srtt: Time::from_millis(42),
                ..told(42)
            });
            if flow.cc.competes {
                first = first.or(Some(flow.now - began));
            }
        }
    }
    first
}

/// Section 2.2 by hand: a flow alone swings by 2.5 / delta = 5 segments (section 3). Of 1 ms each, a tenth of
/// the swing is half a segment: a queue whose least is one segment, not none, counts as never empty.
#[test]
fn one_segment_that_stays_in_the_queue_is_taken_for_others() {
    let after = |least| {
        let mut flow = flow();
        flow.cc.slow_start = false;
        // A round trip of 40 ms is known, and the queue was empty at the end of it.
        let known = swing(&mut flow, 40_000, 45_000, 3);
        assert_eq!((known, flow.cc.competes), (None, false));
        swing(&mut flow, least, 45_000, 3)
    };
    assert_eq!(after(40_400), None);
    // More than five round trips of 42 ms, in steps of 40: 240 ms.
    assert_eq!(after(41_000), Some(Time::from_millis(240)));
}

/// Section 2.1 and 2.2 by hand: a full segment takes 1.2 ms longer than a handshake's at 10 Mbit/s, more
/// than a tenth of a swing of 5 segments, 6 ms: the queue counts as standing though it empties, until
/// the handshake is forgotten after ten seconds.
#[test]
fn the_round_trip_of_a_short_handshake_hides_that_the_queue_empties() {
    let flow = |handshake| {
        let config = config_of(&VARIANT, Arithmetic::Bytes, SlowStart::Plain);
        let mut flow = Bench::new(Copa::new(&config));
        flow.established(Time::from_micros(handshake));
        flow.cc.slow_start = false;
        flow
    };
    assert_eq!(swing(&mut flow(41_200), 41_200, 47_200, 5), None);
    let mut short = flow(40_000);
    let after = swing(&mut short, 41_200, 47_200, 5);
    assert_eq!(after, Some(Time::from_millis(240)));
    let base = |flow: &Bench<Copa>| flow.cc.base().as_micros();
    assert_eq!(base(&short), 40_000);
    swing(&mut short, 41_200, 47_200, 8);
    assert_eq!((base(&short), short.cc.competes), (41_200, false));
}

/// Section 2.1: after ten seconds a queue that stands is the smallest round trip. What is above it seems
/// little, so that the default mode comes back and keeps it.
#[test]
fn a_queue_that_stands_for_ten_seconds_is_taken_for_the_path() {
    let mut flow = flow();
    flow.cc.slow_start = false;
    assert_eq!(swing(&mut flow, 40_000, 45_000, 3), None);
    swing(&mut flow, 1_000_000, 1_100_000, 9);
    let seen = (flow.cc.competes, flow.cc.base().as_millis());
    assert_eq!(seen, (true, 40));
    swing(&mut flow, 1_000_000, 1_100_000, 4);
    let seen = (flow.cc.competes, flow.cc.base().as_millis());
    assert_eq!(seen, (false, 1_000));
    assert_eq!(flow.cc.delta, 0.5);
}
