use super::*;
use crate::tests::{Bench, ack, config_of, congestion};
use crate::{Arithmetic, SlowStart};

const MSS: u64 = 1_000;

fn flow() -> Bench<LedbatPlusPlus> {
    let config = config_of(&VARIANT, Arithmetic::Bytes, SlowStart::Plain);
    Bench::new(LedbatPlusPlus::new(&config))
}

/// `segments` acknowledged after `rtt` ms.
fn told(segments: u64, rtt: u64) -> AckSample {
    AckSample {
        rtt: Some(Time::from_millis(rtt)),
        srtt: Time::from_millis(rtt),
        ..ack(segments * MSS)
    }
}

/// Four samples of `rtt` ms of which nothing grows: the current delay is then `rtt`.
fn hear(flow: &mut Bench<LedbatPlusPlus>, rtt: u64) {
    for _ in 0..4 {
        flow.ack(&AckSample {
            newly_acked: 0,
            ..told(1, rtt)
        });
    }
}

/// Section 4.2 by hand: `1 / min(16, ceil(120 ms / base))`.
#[test]
fn the_gain_follows_the_base_delay() {
    for (base, rounds) in [(5, 16.0), (10, 12.0), (50, 3.0), (120, 1.0), (300, 1.0)] {
        let mut flow = flow();
        flow.ack(&told(1, base));
        assert_eq!(flow.cc.gain(), 1.0 / rounds, "{base} ms");
    }
}

/// Section 4.1: a third of what is acknowledged at 50 ms, and over at 45 ms of queue.
#[test]
fn slow_start_grows_by_the_gain_until_three_quarters_of_the_target() {
    let mut flow = flow();
    flow.ack(&told(3, 50));
    assert_eq!(flow.cc.cwnd(), 11_000);
    hear(&mut flow, 95);
    flow.ack(&told(3, 95));
    assert_eq!(flow.cc.cwnd(), 12_000, "45 ms are not more than 45");
    hear(&mut flow, 96);
    flow.ack(&told(3, 96));
    assert_eq!((flow.cc.cwnd(), flow.cc.phase), (12_000, Phase::Avoidance));
    assert_eq!(flow.cc.ssthresh(), 12_000);
}

/// Section 4.3 by hand, a round of 12 segments at a base of 50 ms.
#[test]
fn above_the_target_the_window_falls_in_proportion() {
    let mut flow = flow();
    flow.ack(&told(3, 50));
    flow.cc.phase = Phase::Avoidance;
    flow.cc.cwnd = 12.0;
    hear(&mut flow, 110);
    flow.ack(&told(12, 110));
    assert_eq!(flow.cc.cwnd(), 12_333); // at the target: a third
    flow.cc.cwnd = 12.0;
    hear(&mut flow, 125);
    flow.ack(&told(12, 125));
    // 75 ms of queue: 1/3 - 12 (75/60 - 1) = -2.667.
    assert_eq!(flow.cc.cwnd(), 9_333);
    flow.cc.cwnd = 12.0;
    hear(&mut flow, 400);
    flow.ack(&told(12, 400));
    assert_eq!(flow.cc.cwnd(), 6_000); // never below half in a round
}

/// Section 4.4: two segments for two round trips, back by slow start, and the next slowdown nine
/// times as long after as this one took.
#[test]
fn slowdowns_take_a_tenth_of_the_time() {
    let mut flow = flow();
    let ms = Time::from_millis;
    flow.ack(&told(1, 150));
    hear(&mut flow, 200);
    flow.ack(&told(1, 200));
    assert_eq!(flow.cc.phase, Phase::Avoidance);
    let window = flow.cc.cwnd;
    flow.now += ms(399);
    flow.ack(&told(1, 200));
    assert_eq!(flow.cc.slowdowns, 0);
    flow.now += ms(1);
    let began = flow.now;
    flow.ack(&told(1, 200)); // two round trips after slow start
    assert_eq!((flow.cc.cwnd(), flow.cc.slowdowns), (2_000, 1));
    flow.now += ms(399);
    flow.ack(&told(1, 150));
    assert_eq!(flow.cc.cwnd(), 2_000);
    flow.now += ms(1);
    while flow.cc.phase != Phase::Avoidance {
        flow.ack(&told(2, 150));
        flow.now += ms(50);
    }
    assert!(flow.cc.cwnd >= window);
    let ended = flow.now - ms(50);
    assert_eq!(flow.cc.slowdown_at, ended + (ended - began) * 9);
    flow.now = flow.cc.slowdown_at;
    flow.ack(&told(1, 150));
    assert_eq!(flow.cc.slowdowns, 2);
}

/// A timeout ends a slowdown; the next one comes nine lengths later all the same.
#[test]
fn a_slowdown_that_a_timeout_ends_is_not_made_up_for() {
    let mut flow = flow();
    flow.ack(&told(1, 150));
    hear(&mut flow, 200);
    flow.ack(&told(1, 200));
    flow.now += Time::from_millis(400);
    let began = flow.now;
    flow.ack(&told(1, 200));
    assert!(matches!(flow.cc.phase, Phase::Slowdown(_)));
    flow.now += Time::from_millis(100);
    flow.congestion(Congestion::Rto, &congestion(2_000));
    while flow.cc.phase != Phase::Avoidance {
        flow.now += Time::from_millis(50);
        flow.ack(&told(2, 150));
    }
    assert_eq!(flow.cc.slowdown_at, flow.now + (flow.now - began) * 9);
    flow.ack(&told(1, 150));
    assert_eq!(flow.cc.slowdowns, 1);
}

#[test]
fn a_loss_halves_and_a_timeout_restarts() {
    let mut flow = flow();
    flow.congestion(Congestion::Loss, &congestion(10 * MSS));
    assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (5_000, 5_000));
    flow.congestion(Congestion::Rto, &congestion(5 * MSS));
    assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 2_500));
    flow.undo();
    assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (5_000, 5_000));
}

/// RFC 6817 section 2.4.2: the smallest of ten minutes.
#[test]
fn a_base_delay_is_forgotten_after_ten_minutes() {
    let mut flow = flow();
    flow.ack(&told(1, 50));
    for _ in 0..9 {
        flow.now += MINUTE;
        flow.ack(&told(1, 80));
    }
    assert_eq!(flow.cc.base.get(), Time::from_millis(50));
    flow.now += MINUTE;
    flow.ack(&told(1, 80));
    assert_eq!(flow.cc.base.get(), Time::from_millis(80));
}
