use super::*;
use crate::tests::{config_with, lent};

fn module() -> HTcp {
    HTcp::new(&config_with(&VARIANT, &[]))
}

/// A full window past slow start, a second into the connection's clock.
fn full(cwnd: u32) -> Tcp {
    Tcp {
        jiffies: 1_000,
        ..lent(cwnd, 2)
    }
}

fn sample(pkts_acked: u32, rtt_us: i32) -> AckSample {
    AckSample {
        pkts_acked,
        rtt_us,
        in_flight: 0,
    }
}

#[test]
fn the_increase_by_hand() {
    let mut htcp = module();
    let mut alpha = |min_rtt, now| {
        htcp.min_rtt = min_rtt;
        htcp.update_alpha(now);
        htcp.alpha
    };
    // Round trip of 100 ms: scale 8000 / 1000 = 8, a factor of one. 2 (1 - 0.5) = 1 in 128ths.
    assert_eq!(alpha(100, 1_000), 128);
    // 3 s: D = 2, 1 + (20000 + 1000 * 1000 / 1000) / 1000 = 22.
    assert_eq!(alpha(100, 3_000), 22 * 128);
    // 40 ms: scale 8000 / 400 = 20; 22 * 8 / 20 = 8. 400 ms: scale 4 at least, twice.
    assert_eq!(alpha(40, 3_000), 8 * 128);
    assert_eq!(alpha(400, 3_000), 44 * 128);
    // 1 ms: 80 at most; a tenth of one is still one.
    assert_eq!(alpha(1, 500), 128);
    // The tick after the second: 1 + 10 / 1000 = 1.
    assert_eq!(alpha(100, 1_001), 128);
}

#[test]
fn the_decrease_by_hand() {
    let mut htcp = module();
    (htcp.min_rtt, htcp.max_rtt) = (40, 60);
    htcp.bandwidth.max = 1_000;
    htcp.update_beta();
    assert_eq!((htcp.beta, htcp.modeswitch), (64, false)); // nothing to compare with
    htcp.update_beta();
    assert_eq!((htcp.beta, htcp.modeswitch), (64, true)); // comparable from now on
    htcp.bandwidth.max = 1_200; // by a fifth more
    htcp.update_beta();
    assert_eq!(htcp.beta, 85); // 40 * 128 / 60
    htcp.max_rtt = 42;
    htcp.update_beta();
    assert_eq!(htcp.beta, 102); // 0.8 at most
    htcp.bandwidth.max = 959; // 1200 less a fifth is 960
    htcp.update_beta();
    assert_eq!((htcp.beta, htcp.modeswitch), (64, false));
}

#[test]
fn the_longest_round_trip_is_approached_in_steps() {
    let (mut htcp, mut tcp) = (module(), full(10));
    htcp.pkts_acked(&mut tcp, &sample(1, -1));
    assert_eq!(htcp.min_rtt, 0);
    htcp.pkts_acked(&mut tcp, &sample(1, 39_001));
    assert_eq!((htcp.min_rtt, htcp.max_rtt), (40, 40));
    htcp.pkts_acked(&mut tcp, &sample(1, 61_000));
    assert_eq!(htcp.max_rtt, 40); // more than 20 ms above: not believed
    htcp.pkts_acked(&mut tcp, &sample(1, 60_000));
    tcp.ca_state = CaState::Disorder as u8;
    htcp.pkts_acked(&mut tcp, &sample(1, 70_000));
    assert_eq!(htcp.max_rtt, 60);
}

#[test]
fn throughput_is_measured_over_windows() {
    let (mut htcp, mut tcp) = (module(), full(10));
    (tcp.jiffies, htcp.last_cong) = (1_000, 960);
    // 9 segments are a window of 10 less one: over the second since the clock's beginning.
    for packets in [4, 4] {
        htcp.pkts_acked(&mut tcp, &sample(packets, 40_000));
    }
    assert_eq!((htcp.bandwidth.max, htcp.bandwidth.packets), (0, 8));
    htcp.pkts_acked(&mut tcp, &sample(1, 40_000));
    let (max, since) = (htcp.bandwidth.max, htcp.bandwidth.since);
    assert_eq!((max, since, htcp.bandwidth.packets), (9, 1_000, 0));
    // 10 segments in 39 ms, less than a round trip: later, in 100 ms, and 140 / 40 = 3 round
    // trips since the beginning. It counts as it is.
    tcp.jiffies = 1_039;
    htcp.pkts_acked(&mut tcp, &sample(9, 40_000));
    assert_eq!(htcp.bandwidth.max, 9);
    tcp.jiffies = 1_100;
    htcp.pkts_acked(&mut tcp, &sample(1, 40_000));
    assert_eq!(htcp.bandwidth.max, 100);
    // 11 segments in 100 ms, and 6 round trips: (3 * 100 + 110) / 4.
    tcp.jiffies = 1_200;
    htcp.pkts_acked(&mut tcp, &sample(11, 40_000));
    assert_eq!(htcp.bandwidth.max, 102);
    // While losses are repaired the count starts anew.
    tcp.ca_state = CaState::Recovery as u8;
    tcp.jiffies = 1_300;
    htcp.pkts_acked(&mut tcp, &sample(50, 40_000));
    let bandwidth = htcp.bandwidth;
    assert_eq!(
        (bandwidth.max, bandwidth.packets, bandwidth.since),
        (102, 0, 1_300)
    );
}

/// A window of 3 less a step of 4 segments wraps: no count reaches it.
#[test]
fn a_window_below_the_step_is_not_measured() {
    let (mut htcp, mut tcp) = (module(), full(3));
    (htcp.alpha, htcp.min_rtt) = (4 * ALPHA_BASE, 40);
    htcp.pkts_acked(&mut tcp, &sample(1_000, -1));
    assert_eq!((htcp.bandwidth.packets, htcp.bandwidth.max), (1_000, 0));
}

#[test]
fn growth_by_hand() {
    let (mut htcp, mut tcp) = (module(), full(10));
    htcp.init(&mut tcp);
    // Alpha 1: five ACKs of two segments are counted, the sixth grows.
    for _ in 0..5 {
        htcp.pkts_acked(&mut tcp, &sample(2, -1));
        htcp.cong_avoid(&mut tcp, 0, 2);
    }
    assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (10, 10));
    htcp.cong_avoid(&mut tcp, 0, 2);
    assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (11, 0));
    // Without pkts_acked before it an acknowledgement counts one.
    htcp.cong_avoid(&mut tcp, 0, 2);
    assert_eq!(tcp.snd_cwnd_cnt, 1);
    // Slow start stops at the threshold; at the clamp the count alone falls.
    tcp.snd_ssthresh = 13;
    htcp.cong_avoid(&mut tcp, 0, 4);
    assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (13, 1));
    (tcp.snd_cwnd_cnt, tcp.snd_cwnd_clamp) = (13, 13);
    htcp.cong_avoid(&mut tcp, 0, 1);
    assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (13, 0));
}

#[test]
fn a_congestion_starts_the_clock_and_its_end_starts_it_again() {
    for state in [CaState::Cwr, CaState::Recovery, CaState::Loss] {
        let (mut htcp, mut tcp) = (module(), full(11));
        htcp.init(&mut tcp);
        tcp.jiffies = 1_500;
        assert_eq!(htcp.ssthresh(&mut tcp), 5);
        htcp.set_state(&mut tcp, state);
        assert_eq!((htcp.last_cong, htcp.undo.last_cong), (1_500, 1_000));
        tcp.jiffies = 1_600;
        htcp.set_state(&mut tcp, CaState::Disorder);
        assert_eq!(htcp.last_cong, 1_500);
        htcp.set_state(&mut tcp, CaState::Open);
        assert_eq!((htcp.last_cong, htcp.undo.last_cong), (1_600, 0));
        // From Disorder back to Open nothing starts.
        tcp.jiffies = 1_700;
        htcp.set_state(&mut tcp, CaState::Open);
        assert_eq!(htcp.last_cong, 1_600);
    }
}

#[test]
fn undo_takes_the_clock_and_what_was_measured_back() {
    let (mut htcp, mut tcp) = (module(), full(11));
    htcp.init(&mut tcp);
    (htcp.max_rtt, htcp.bandwidth.old_max) = (60, 700);
    (tcp.prior_cwnd, tcp.jiffies) = (11, 1_500);
    htcp.set_state(&mut tcp, CaState::Recovery);
    (htcp.max_rtt, htcp.bandwidth.old_max) = (50, 600);
    tcp.snd_cwnd = 5;
    assert_eq!(htcp.undo_cwnd(&mut tcp), 11);
    assert_eq!((htcp.last_cong, htcp.undo.last_cong), (1_000, 0));
    assert_eq!((htcp.max_rtt, htcp.bandwidth.old_max), (60, 700));
    // The state Open that follows is no end of a congestion.
    htcp.set_state(&mut tcp, CaState::Open);
    assert_eq!(htcp.last_cong, 1_000);
}

/// The longest round trip comes a twentieth nearer to the shortest.
#[test]
fn the_longest_round_trip_fades() {
    let faded = |min_rtt, max_rtt| {
        let mut htcp = module();
        (htcp.min_rtt, htcp.max_rtt) = (min_rtt, max_rtt);
        htcp.ssthresh(&mut full(10));
        htcp.max_rtt
    };
    assert_eq!(faded(40, 60), 59);
    assert_eq!(faded(40, 240), 230);
    assert_eq!(faded(40, 40), 40);
    assert_eq!(faded(0, 60), 60);
}

/// `use_rtt_scaling=0`: 22 segments whatever the round trip; `use_bandwidth_switch=0`: delays
/// set beta though throughput changed, and nothing measures it.
#[test]
fn switches_are_parameters() {
    let off = [("use_rtt_scaling", 0.0), ("use_bandwidth_switch", 0.0)];
    let mut htcp = HTcp::new(&config_with(&VARIANT, &off));
    htcp.min_rtt = 400;
    htcp.update_alpha(3_000);
    assert_eq!(htcp.alpha, 22 * 128);
    (htcp.max_rtt, htcp.modeswitch, htcp.bandwidth.max) = (600, true, 1_000);
    htcp.update_beta();
    assert_eq!(htcp.beta, 85);
    htcp.pkts_acked(&mut full(3), &sample(100, -1));
    assert_eq!(htcp.bandwidth.packets, 0);
}
