use super::*;
use crate::discipline::Limit;
use crate::testing::{Bench, config, ecn_packet};

fn queue(given: &[(&str, f64)]) -> DualPi2 {
    DualPi2::new(&config("dualpi2", Limit::Packets(10_000), given))
}

/// RFC 9332, section 2.1: p_C = p'^2 and p_CL = k p', so that p_CL = 2 sqrt(p_C): 1 % of classic
/// signals go with 20 % of L4S marks; at 25 % all L4S packets are marked.
#[test]
fn the_signals_are_coupled_by_the_square_root() {
    let mut queue = queue(&[]);
    queue.base = 0.1;
    assert!((queue.classic_probability() - 0.01).abs() < 1e-12);
    assert!((queue.coupled_probability() - 0.2).abs() < 1e-12);
    assert!(!queue.is_overloaded());
    queue.base = 0.5;
    assert!((queue.classic_probability() - 0.25).abs() < 1e-12);
    assert!(queue.is_overloaded());
}

/// One update by hand: 0.16 x (35 ms - 15 ms) + 3.2 x (35 ms - 0) = 0.1152.
#[test]
fn the_base_probability_follows_the_delay() {
    let mut queue = queue(&[("tupdate", 0.035)]);
    queue
        .classic
        .push(ecn_packet(0, 1000, Ecn::NotEct), Time::ZERO);
    queue.catch_up(Time::from_millis(35));
    assert!((queue.base - 0.1152).abs() < 1e-12, "{}", queue.base);
    // And one more of the same packet at 70 ms: + 0.16 x 0.055 + 3.2 x 0.035.
    queue.catch_up(Time::from_millis(70));
    assert!((queue.base - 0.236).abs() < 1e-12, "{}", queue.base);
}

#[test]
fn l4s_marking_is_a_step_or_a_ramp() {
    let at = |queue: &mut DualPi2, us| {
        queue.l4s.push(ecn_packet(0, 1000, Ecn::Ect1), Time::ZERO);
        queue.native_probability(Time::from_micros(us))
    };
    let mut step = queue(&[]);
    assert_eq!(at(&mut step, 999), 0.0);
    assert_eq!(at(&mut step, 1000), 1.0);
    // RFC 9332, appendix A.1: from 800 us over 400 us.
    let mut ramp = queue(&[("step_thresh", 0.0008), ("ramp", 0.0004)]);
    assert_eq!(at(&mut ramp, 800), 0.0);
    assert!((at(&mut ramp, 1000) - 0.5).abs() < 1e-9);
    assert_eq!(at(&mut ramp, 1200), 1.0);
    // The last packet of the queue is not marked however long it waited.
    let alone = queue(&[]);
    assert_eq!(alone.native_probability(Time::from_secs(1)), 0.0);
}

#[test]
fn ect1_and_ce_are_l4s() {
    let mut bench = Bench::new("dualpi2", Limit::Packets(100), &[]);
    for (flow, ecn) in [
        (0, Ecn::NotEct),
        (1, Ecn::Ect0),
        (2, Ecn::Ect1),
        (3, Ecn::Ce),
    ] {
        bench.enqueue(ecn_packet(flow, 1000, ecn));
    }
    // L4S goes first.
    assert_eq!(bench.drain(), [2, 3, 0, 1]);
}

#[test]
fn the_classic_queue_keeps_its_share() {
    let mut bench = Bench::new("dualpi2", Limit::Packets(10_000), &[]);
    for _ in 0..1000 {
        bench.enqueue(ecn_packet(0, 1514, Ecn::Ect0));
        bench.enqueue(ecn_packet(1, 1514, Ecn::Ect1));
    }
    let first: Vec<u32> = std::iter::from_fn(|| bench.dequeue())
        .take(1000)
        .map(|d| d.packet.flow)
        .collect();
    let classic = first.iter().filter(|&&flow| flow == 0).count();
    assert!((98..=101).contains(&classic), "{classic}");
    // The first go to L4S.
    assert!(first[..9].iter().all(|&flow| flow == 1));
}

#[test]
fn time_shifted_l4s_overtakes_by_its_head_start() {
    let mut bench = Bench::new("dualpi2", Limit::Packets(100), &[("tshift", 0.05)]);
    bench.enqueue(ecn_packet(0, 1000, Ecn::NotEct));
    bench.wait(Time::from_millis(50));
    bench.enqueue(ecn_packet(1, 1000, Ecn::Ect1));
    assert_eq!(bench.dequeue().map(|d| d.packet.flow), Some(1));
    bench.wait(Time::from_millis(1));
    bench.enqueue(ecn_packet(1, 1000, Ecn::Ect1));
    // By now the classic packet has waited longer than L4S's head start.
    assert_eq!(bench.dequeue().map(|d| d.packet.flow), Some(0));
}

/// Signals come at even distances (`recur`): at a likelihood of 0.3, 3 in 10, never two in a row.
#[test]
fn signals_recur_at_even_distances() {
    let mut recurrence = Recurrence::default();
    let signals: Vec<bool> = (0..1000).map(|_| recurrence.recurs(0.3)).collect();
    let count = signals.iter().filter(|&&signal| signal).count();
    assert!((299..=300).contains(&count), "{count}");
    assert!(signals.windows(2).all(|pair| !(pair[0] && pair[1])));
}

#[test]
fn overload_turns_marks_into_drops_for_all() {
    let mut queue = queue(&[]);
    queue.base = 0.55;
    for _ in 0..100 {
        queue.l4s.push(ecn_packet(0, 1000, Ecn::Ect1), Time::ZERO);
        queue
            .classic
            .push(ecn_packet(1, 1000, Ecn::Ect0), Time::ZERO);
    }
    let mut dropped = Vec::new();
    let mut left = [0, 0];
    for _ in 0..100 {
        if let Some(departure) = queue.take_l4s(Time::ZERO, &mut dropped) {
            assert_eq!(departure.packet.ecn, Ecn::Ce);
            left[0] += 1;
        }
        if let Some(departure) = queue.take_classic(&mut dropped) {
            assert_eq!(departure.packet.ecn, Ecn::Ect0);
            left[1] += 1;
        }
    }
    // p_C = 0.3025 of either kind.
    assert_eq!((left, dropped.len()), ([70, 70], 60));
    let [l4s, classic] = queue.bands;
    assert_eq!((l4s.packets, l4s.drops, l4s.marks), (70, 30, 70));
    assert_eq!((classic.packets, classic.drops, classic.marks), (70, 30, 0));
}

/// Updates go on while anything can change: p' falls while no packet waits, by 0.16 x 15 ms each,
/// and rises from zero with a packet that has just come: after 0, 16, 32 and 48 ms in the queue by
/// 0, 0.16 x 1 ms + 3.2 x 16 ms = 0.05136, 0.05392 and 0.05648.
#[test]
fn no_update_is_left_out_that_changes_something() {
    let mut idle = queue(&[]);
    idle.base = 0.5;
    idle.catch_up(Time::from_millis(48));
    assert!((idle.base - 0.4928).abs() < 1e-12, "{}", idle.base);
    let mut fresh = queue(&[]);
    fresh
        .classic
        .push(ecn_packet(0, 1000, Ecn::NotEct), Time::from_millis(16));
    fresh.catch_up(Time::from_millis(64));
    assert!((fresh.base - 0.161_76).abs() < 1e-12, "{}", fresh.base);
}

/// Three packets of each kind into a queue that holds four: two L4S packets and two classic ones
/// get in; what leaves says which queue it was in, whatever its field has become.
#[test]
fn each_queue_counts_its_own() {
    let mut bench = Bench::new("dualpi2", Limit::Packets(4), &[]);
    for ecn in [
        Ecn::Ect1,
        Ecn::Ect0,
        Ecn::Ect1,
        Ecn::NotEct,
        Ecn::Ect1,
        Ecn::Ect0,
    ] {
        bench.enqueue(ecn_packet(0, 1000, ecn));
    }
    let mut left = Vec::new();
    while bench.dequeue().is_some() {
        left.push(bench.last_band());
    }
    assert_eq!(left, [0, 0, 1, 1]);
    let counted: Vec<_> = bench
        .bands()
        .iter()
        .map(|band| (band.packets, band.drops))
        .collect();
    assert_eq!(counted, [(2, 1), (2, 1)]);
}
