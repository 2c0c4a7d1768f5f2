use super::*;
use crate::Arithmetic;
use crate::cubic::VARIANT;
use crate::tests::{config_of, config_with, lent};

fn cubic(slow_start: SlowStart) -> Cubic {
    Cubic::new(&config_of(&VARIANT, Arithmetic::Segments, slow_start))
}

/// A full window past slow start, a second into the connection.
fn full(cwnd: u32) -> Tcp {
    Tcp {
        jiffies: 1_000,
        tcp_mstamp: 1_000_000,
        ..lent(cwnd, 2)
    }
}

fn sample(rtt_us: i32) -> AckSample {
    AckSample {
        pkts_acked: 1,
        rtt_us,
        in_flight: 1,
    }
}

#[test]
fn constants_are_the_kernels() {
    let rules = cubic(SlowStart::LinuxHyStart).rules;
    assert_eq!(
        (rules.beta_scale, rules.cube_rtt_scale, rules.cube_factor),
        (15, 410, 2_681_735_677)
    );
    assert!(rules.hystart && !cubic(SlowStart::Plain).rules.hystart);
}

/// A loss at 100 segments with a base round trip of 40 ms, followed by hand.
#[test]
fn the_curve_by_hand() {
    let rules = cubic(SlowStart::Plain).rules;
    let mut curve = Curve {
        last_max_cwnd: 100,
        delay_min: 40_000,
        ..Curve::default()
    };
    curve.update(&rules, 1_000, 70, 2);
    // K = cbrt(2681735677 * 30) = 4316 in 2^-10 s, 4.215 s; cbrt(30 / 0.4) = 4.217 s.
    assert_eq!(
        (curve.k, curve.origin, curve.tcp_cwnd, curve.ack_cnt),
        (4_316, 100, 70, 2)
    );
    // t = 40 ms = 40; offset 4276: 410 * 4276^3 >> 40 = 29; target 71: one per 70.
    assert_eq!(curve.cnt, 70);
    // The same window within 31 ms: nothing is computed.
    curve.update(&rules, 1_031, 70, 2);
    assert_eq!((curve.last_time, curve.ack_cnt), (1_000, 4));
    // Two seconds on, t = 2040 ms = 2088: offset 2228: 410 * 2228^3 >> 40 = 4; target 96.
    curve.update(&rules, 3_000, 70, 2);
    assert_eq!(curve.cnt, 2); // 70 / 26
    // A second past K, t = 5296 ms = 5423: offset 1107, 410 * 1107^3 >> 40 = 0: the plateau.
    curve.update(&rules, 6_256, 98, 0);
    assert_eq!(curve.cnt, 49);
    // Another window in the same tick: the cubic's step stays.
    curve.update(&rules, 6_256, 99, 0);
    assert_eq!((curve.cnt, curve.last_cwnd), (49, 98));
    // Above the origin: 100 times the window.
    curve.update(&rules, 6_257, 102, 0);
    assert_eq!(curve.cnt, 10_200);
}

/// Four segments below the maximum: of 2681735677 * 4 = 10726942708, 34 digits make a third 10, entry 9
/// a guess of 139 << 10 >> 6 = 2224; 4448 + 10726942708 / (2224 * 2223) = 6617; * 341 >> 10 =
/// 2203. The exact root is 2205.
#[test]
fn the_turn_of_the_curve_is_the_kernels_root() {
    let mut curve = Curve {
        last_max_cwnd: 14,
        ..Curve::default()
    };
    curve.update(&cubic(SlowStart::Plain).rules, 1_000, 10, 1);
    assert_eq!(curve.k, 2_203);
}

#[test]
fn aimd_is_kept_up_with() {
    let rules = cubic(SlowStart::Plain).rules;
    let mut curve = Curve {
        last_max_cwnd: 10,
        delay_min: 10_000,
        ..Curve::default()
    };
    curve.update(&rules, 1_000, 7, 1);
    // Every 7 * 15 / 8 = 13 segments AIMD grows by one.
    curve.update(&rules, 1_001, 7, 25);
    assert_eq!((curve.ack_cnt, curve.tcp_cwnd), (26, 7)); // too soon to be looked at
    curve.update(&rules, 1_040, 7, 1);
    // 27 = 13 + 13 + 1: two grown, and a segment per 7 / 2 = 3.
    assert_eq!((curve.ack_cnt, curve.tcp_cwnd, curve.cnt), (1, 9, 3));
    // A rest of 13 stays as it is.
    curve.update(&rules, 1_080, 7, 25);
    assert_eq!((curve.ack_cnt, curve.tcp_cwnd), (13, 10));
}

#[test]
fn before_the_first_loss_it_grows_by_a_twentieth_per_round() {
    let (mut cc, mut tcp) = (cubic(SlowStart::Plain), full(400));
    cc.cong_avoid(&mut tcp, 0, 19);
    assert_eq!(
        (cc.curve.cnt, tcp.snd_cwnd, tcp.snd_cwnd_cnt),
        (20, 400, 19)
    );
    cc.cong_avoid(&mut tcp, 0, 2);
    assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (401, 1));
    // A window that was not full stays.
    tcp.is_cwnd_limited = 0;
    cc.cong_avoid(&mut tcp, 0, 20);
    assert_eq!(tcp.snd_cwnd, 401);
}

#[test]
fn slow_start_hands_on_what_passes_the_threshold() {
    let (mut cc, mut tcp) = (cubic(SlowStart::Plain), full(10));
    tcp.snd_ssthresh = 14;
    cc.cong_avoid(&mut tcp, 0, 4);
    assert_eq!((tcp.snd_cwnd, cc.curve), (14, Curve::default()));
    tcp.snd_ssthresh = 15;
    cc.cong_avoid(&mut tcp, 0, 3);
    assert_eq!(
        (tcp.snd_cwnd, tcp.snd_cwnd_cnt, cc.curve.ack_cnt),
        (15, 2, 2)
    );
}

#[test]
fn a_loss_keeps_seven_tenths_and_a_timeout_forgets() {
    let (mut cc, mut tcp) = (cubic(SlowStart::Plain), full(100));
    assert_eq!(cc.ssthresh(&mut tcp), 70);
    assert_eq!(cc.curve.last_max_cwnd, 100);
    // 70 * 1741 / 2048 = 59; 70 * 717 / 1024 = 49.
    tcp.snd_cwnd = 70;
    assert_eq!((cc.ssthresh(&mut tcp), cc.curve.last_max_cwnd), (49, 59));
    tcp.snd_cwnd = 2;
    assert_eq!(cc.ssthresh(&mut tcp), 2);
    cc.curve.delay_min = 7;
    cc.hystart.found = true;
    for state in [
        CaState::Open,
        CaState::Disorder,
        CaState::Cwr,
        CaState::Recovery,
    ] {
        cc.set_state(&mut tcp, state);
        assert!(cc.curve.delay_min == 7 && cc.hystart.found);
    }
    cc.set_state(&mut tcp, CaState::Loss);
    assert_eq!(cc.curve, Curve::default());
    assert!(!cc.hystart.found);
}

/// `tcp_reno_undo_cwnd`: the window comes back, the curve does not.
#[test]
fn undo_gives_the_window_back() {
    let (mut cc, mut tcp) = (cubic(SlowStart::Plain), full(100));
    tcp.prior_cwnd = 100;
    tcp.snd_cwnd = cc.ssthresh(&mut tcp);
    assert_eq!(cc.undo_cwnd(&mut tcp), 100);
    tcp.snd_cwnd = 120;
    assert_eq!(cc.undo_cwnd(&mut tcp), 120);
    assert_eq!((cc.curve.last_max_cwnd, cc.curve.epoch_start), (100, 0));
}

#[test]
fn the_curve_waits_while_nothing_is_sent() {
    let (mut cc, mut tcp) = (cubic(SlowStart::Plain), full(100));
    cc.curve.epoch_start = 500;
    tcp.lsndtime = 800;
    cc.cwnd_event(&mut tcp, CaEvent::CwndRestart);
    assert_eq!(cc.curve.epoch_start, 500);
    cc.cwnd_event(&mut tcp, CaEvent::TxStart);
    assert_eq!(cc.curve.epoch_start, 700); // 1000 - 800 later
    cc.curve.epoch_start = 900;
    cc.cwnd_event(&mut tcp, CaEvent::TxStart);
    assert_eq!(cc.curve.epoch_start, 1_000); // now at the latest
    cc.curve.epoch_start = 0;
    cc.cwnd_event(&mut tcp, CaEvent::TxStart);
    assert_eq!(cc.curve.epoch_start, 0); // there is no epoch
}

#[test]
fn delay_is_not_measured_in_the_second_after_a_reduction() {
    let (mut cc, mut tcp) = (cubic(SlowStart::Plain), full(10));
    cc.pkts_acked(&mut tcp, &sample(-1));
    assert_eq!(cc.curve.delay_min, 0);
    cc.pkts_acked(&mut tcp, &sample(50_000));
    cc.curve.epoch_start = 1_000;
    tcp.jiffies = 1_999;
    cc.pkts_acked(&mut tcp, &sample(40_000));
    assert_eq!(cc.curve.delay_min, 50_000);
    tcp.jiffies = 2_000;
    cc.pkts_acked(&mut tcp, &sample(40_000));
    cc.pkts_acked(&mut tcp, &sample(60_000));
    assert_eq!(cc.curve.delay_min, 40_000);
    cc.pkts_acked(&mut tcp, &sample(0));
    assert_eq!(cc.curve.delay_min, 1);
}

/// HyStart may end slow start on the window of the stack's reduction, while losses are repaired.
#[test]
fn hystart_writes_the_threshold_in_any_state() {
    let (mut cc, mut tcp) = (cubic(SlowStart::LinuxHyStart), full(23));
    tcp.snd_ssthresh = 28;
    tcp.ca_state = CaState::Recovery as u8;
    cc.init(&mut tcp);
    cc.pkts_acked(&mut tcp, &sample(10_000));
    // The next round's trips are longer by more than 4 ms, which its ninth sample shows.
    (tcp.snd_una, tcp.snd_nxt) = (1, 100);
    for _ in 0..9 {
        assert_eq!(tcp.snd_ssthresh, 28);
        cc.pkts_acked(&mut tcp, &sample(14_001));
    }
    assert_eq!((tcp.snd_ssthresh, cc.hystart.found), (23, true));
    assert!(!tcp.in_slow_start());
}

/// The kernel's module with `beta=819 bic_scale=82 fast_convergence=0 tcp_friendliness=0
/// hystart=0`: by hand, 8 * (1024 + 819) / 3 / (1024 - 819) = 23, and C = 0.8.
#[test]
fn parameters_are_those_of_the_module() {
    let given = [
        ("beta", 0.8),
        ("c", 0.801),
        ("fast_convergence", 0.0),
        ("tcp_friendliness", 0.0),
        ("hystart", 0.0),
    ];
    let mut config = config_with(&VARIANT, &given);
    config.slow_start = SlowStart::LinuxHyStart;
    let mut cc = Cubic::new(&config);
    let rules = cc.rules;
    assert_eq!(
        (
            rules.beta,
            rules.beta_scale,
            rules.cube_rtt_scale,
            rules.hystart
        ),
        (819, 23, 820, false)
    );
    let mut tcp = full(100);
    tcp.snd_cwnd = cc.ssthresh(&mut tcp);
    // 100 * 819 >> 10 = 79, 79 * 819 >> 10 = 63; nothing is given up beyond that.
    assert_eq!((cc.ssthresh(&mut tcp), cc.curve.last_max_cwnd), (63, 79));
    let mut curve = Curve {
        last_max_cwnd: 10,
        delay_min: 10_000,
        ..Curve::default()
    };
    curve.update(&rules, 1_000, 7, 1_000);
    assert_eq!(curve.tcp_cwnd, 7, "AIMD is not followed");
}

/// `beta=102`: 8 * 1126 / 3 / 922 = 3, and 3 * 2 / 8 is no step at all.
#[test]
fn a_step_of_nothing_is_one_of_a_segment() {
    let rules = Rules::new(&config_with(&VARIANT, &[("beta", 0.1)]));
    assert_eq!((rules.beta, rules.beta_scale), (102, 3));
    let mut curve = Curve::default();
    curve.update(&rules, 1_000, 2, 4);
    assert_eq!((curve.ack_cnt, curve.tcp_cwnd), (1, 5));
}
