use super::*;
use crate::bbr::VARIANT;
use crate::tests::{Bench, ack, config_of, congestion};
use crate::{Arithmetic, RateSample, Repair, SlowStart};

pub(super) const MSS: u64 = 1_000;

pub(super) fn flow() -> Bench<Bbr> {
    let config = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
    let mut flow = Bench::new(Bbr::new(&config));
    flow.established(Time::from_millis(100));
    flow
}

/// One acknowledgement of a flow whose segments come back one by one.
pub(super) struct Path {
    pub(super) flow: Bench<Bbr>,
    delivered: u64,
    lost: u64,
}

impl Path {
    pub(super) fn new() -> Path {
        Path {
            flow: flow(),
            delivered: 0,
            lost: 0,
        }
    }

    /// The acknowledgement that ends a round: `segments` were delivered in the 100 ms before it.
    pub(super) fn round(&mut self, segments: u64, change: impl FnOnce(&mut AckSample)) {
        let prior_delivered = self.delivered;
        self.delivered += segments * MSS;
        self.flow.now += Time::from_millis(100);
        let mut ack = AckSample {
            rtt: Some(Time::from_millis(100)),
            srtt: Time::from_millis(100),
            delivered: self.delivered,
            lost: self.lost,
            prior_in_flight: segments * MSS,
            in_flight: segments * MSS,
            rate: Some(RateSample {
                delivered: segments * MSS,
                interval: Time::from_millis(100),
                prior_delivered,
                app_limited: false,
                tx_in_flight: segments * MSS,
                lost: 0,
            }),
            ..ack(segments * MSS)
        };
        change(&mut ack);
        self.lost = ack.lost;
        self.flow.ack(&ack);
    }

    pub(super) fn bbr(&mut self) -> &mut Bbr {
        &mut self.flow.cc
    }

    /// Through Startup and Drain at 100 segments a round.
    pub(super) fn in_probe_bw() -> Path {
        let mut path = Path::new();
        for segments in [10, 20, 40, 80, 100, 100, 100, 100] {
            path.round(segments, |_| {});
        }
        assert_eq!(path.bbr().mode, Mode::ProbeBw);
        path
    }
}

/// `bbr_init_pacing_rate_from_rtt` by hand: 10 segments in 100 ms are floor(10 2^24 / 100000) =
/// 1677; 1677 * 1000 * 739 >> 8 = 4841027; times 990000 >> 24 is 285662 bytes a second.
#[test]
fn the_first_rate_is_the_initial_window_over_the_handshakes_round_trip() {
    let flow = flow();
    assert_eq!(flow.cc.pacing_rate(), Rate::from_bps(285_662 * 8));
    // Without a measurement a round trip counts as 1 ms.
    let config = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
    let blind = Bbr::new(&config);
    let rate = blind.pacing_rate().expect("a rate").bps();
    assert!((228_000_000..229_000_000).contains(&rate), "{rate}");
}

#[test]
fn the_gains_are_those_of_the_kernel() {
    let bbr = flow().cc;
    assert_eq!(
        (bbr.constants.high_gain, bbr.constants.drain_gain),
        (739, 88)
    );
    assert_eq!(bbr.constants.cwnd_gain, 512);
}

/// Three rounds without a quarter more show a full pipe; Drain ends when no more is in flight
/// than the product and three bursts.
#[test]
fn startup_ends_after_three_rounds_without_growth() {
    let mut path = Path::new();
    for segments in [10, 20, 40, 80, 100] {
        path.round(segments, |_| {});
        assert_eq!(path.bbr().mode, Mode::Startup);
    }
    for _ in 0..2 {
        path.round(100, |ack| ack.in_flight = 250 * MSS);
        assert_eq!(path.bbr().mode, Mode::Startup);
    }
    path.round(100, |ack| ack.in_flight = 250 * MSS);
    assert_eq!(path.bbr().mode, Mode::Drain);
    // 100 segments in 100 ms: 16777 a microsecond and 2^-24; 100 in a product, rounded up; a
    // burst is two, three of them and an even number.
    assert_eq!(path.bbr().bw(), 16_777);
    assert_eq!(path.bbr().ssthresh, 106);
    path.round(100, |ack| ack.in_flight = 107 * MSS);
    assert_eq!(path.bbr().mode, Mode::Drain);
    path.round(100, |ack| ack.in_flight = 106 * MSS);
    assert_eq!(path.bbr().mode, Mode::ProbeBw);
    // Two products, 99 for acknowledgements of a round at once, three bursts, and even; two more
    // in the phase that sends more.
    path.round(100, |_| {});
    let cwnd = path.bbr().cwnd;
    assert!(cwnd == 306 || cwnd == 308, "{cwnd}");
}

/// A rate that the application limited neither fills the pipe nor lowers the model.
#[test]
fn the_applications_limits_are_not_the_paths() {
    let mut path = Path::in_probe_bw();
    for _ in 0..20 {
        path.round(5, |ack| {
            if let Some(rate) = &mut ack.rate {
                rate.app_limited = true;
            }
        });
    }
    assert_eq!(path.bbr().bw(), 16_777);
    path.round(5, |_| {});
    assert!(path.bbr().bw() < 16_777, "ten rounds on, the rate counts");
}

#[test]
fn the_cycle_has_a_phase_up_a_phase_down_and_six_to_cruise() {
    let mut path = Path::in_probe_bw();
    let mut gains = Vec::new();
    for _ in 0..200 {
        path.flow.now += Time::from_millis(1); // just over a round trip
        path.round(100, |ack| ack.prior_in_flight = 140 * MSS);
        gains.push(path.bbr().gains.pacing);
    }
    assert!(!gains.contains(&0));
    let up = gains
        .iter()
        .position(|&gain| gain == 320)
        .expect("a phase up");
    assert_eq!(
        gains[up + 1..up + 9],
        [192, 256, 256, 256, 256, 256, 256, 320]
    );
    // The phase down ends as soon as the queue is gone: at once if nothing is in flight.
    let mut path = Path::in_probe_bw();
    while path.bbr().gains.pacing != 192 {
        path.flow.now += Time::from_millis(1);
        path.round(100, |ack| ack.prior_in_flight = 140 * MSS);
    }
    let now = path.flow.now;
    let mut sample = path.bbr().sample(&ack(MSS), now);
    sample.now += path.bbr().rtt.micros() / 2;
    sample.prior_in_flight = 90;
    path.bbr().update_cycle(&sample);
    path.bbr().update_gains();
    assert_eq!(path.bbr().gains.pacing, UNIT);
}

/// Ten seconds without a smaller round trip: four segments for 200 ms and a round, then the window
/// of before.
#[test]
fn the_round_trip_is_measured_with_four_segments_in_flight() {
    let mut path = Path::in_probe_bw();
    let before = path.bbr().cwnd;
    let queued = |ack: &mut AckSample| ack.rtt = Some(Time::from_millis(150));
    let mut rounds = 0;
    while path.bbr().mode == Mode::ProbeBw {
        path.round(100, queued);
        rounds += 1;
    }
    // The first sample is of the handshake; eight rounds went by before.
    assert_eq!(rounds + 8, 101);
    assert_eq!(path.bbr().cwnd, LEAST_CWND);
    assert_eq!(path.bbr().gains.pacing, UNIT);
    path.round(4, |ack| ack.in_flight = 4 * MSS); // 200 ms begin
    for _ in 0..2 {
        path.round(4, |ack| ack.in_flight = 4 * MSS);
        assert_eq!(path.bbr().mode, Mode::ProbeRtt);
    }
    path.round(4, |ack| ack.in_flight = 4 * MSS);
    assert_eq!(path.bbr().mode, Mode::ProbeBw);
    assert!(path.bbr().cwnd >= before);
    assert_eq!(
        path.bbr().bw(),
        16_777,
        "the dip's rates are not the path's"
    );
    assert_eq!(path.bbr().rtt.micros(), 100_000);
}

/// In the first round of recovery as much leaves as arrives; afterwards the window of before is
/// back.
#[test]
fn recovery_conserves_packets_for_a_round() {
    let mut path = Path::in_probe_bw();
    let before = path.bbr().cwnd;
    path.flow
        .congestion(Congestion::Loss, &congestion(100 * MSS));
    let repairs = |ack: &mut AckSample| ack.repair = Repair::Losses;
    let now = path.flow.now;
    let first = AckSample {
        in_flight: 90 * MSS,
        newly_lost: 10 * MSS,
        delivered: path.delivered + MSS,
        lost: 10 * MSS,
        repair: Repair::Losses,
        ..ack(MSS)
    };
    path.flow.ack(&first);
    assert_eq!(path.bbr().cwnd, 91);
    path.flow.ack(&AckSample {
        newly_lost: 0,
        delivered: path.delivered + 2 * MSS,
        ..first
    });
    assert_eq!(path.bbr().cwnd, 91);
    assert_eq!(path.flow.now, now);
    path.delivered += 2 * MSS;
    path.round(50, repairs); // a round: up by what is acknowledged
    assert_eq!(path.bbr().cwnd, 141);
    path.round(1, |_| {});
    assert_eq!(path.bbr().cwnd, before);
}

#[test]
fn a_timeout_leaves_one_segment_more_than_is_in_flight() {
    let mut path = Path::in_probe_bw();
    path.flow.congestion(
        Congestion::Rto,
        &CongestionSample {
            in_flight: 3 * MSS,
            ..congestion(100 * MSS)
        },
    );
    assert_eq!(path.bbr().cwnd, 4);
}

/// Two intervals of four rounds with a quarter lost and the same rate: a policer, whose rate is
/// used for 48 rounds.
#[test]
fn a_policer_is_found_by_two_intervals_alike() {
    let mut path = Path::in_probe_bw();
    let lossy = |ack: &mut AckSample| {
        ack.newly_lost = 30 * MSS;
        ack.lost += 30 * MSS;
    };
    path.round(60, lossy); // the first loss begins an interval
    let mut rounds = 0;
    while path.bbr().policer.in_use().is_none() {
        path.round(60, lossy);
        rounds += 1;
        assert!(rounds < 20);
    }
    assert_eq!(
        rounds, 7,
        "the first interval has its first round, both have four"
    );
    // 60 segments in 100 ms.
    assert_eq!(path.bbr().bw(), 60 * BW_UNIT / 100_000);
    assert_eq!(path.bbr().gains.pacing, UNIT);
    let mut rounds = 0;
    while path.bbr().policer.in_use().is_some() {
        path.round(60, |_| {});
        rounds += 1;
        assert!(rounds < 100);
    }
    assert_eq!(rounds, 48);
}

/// Acknowledgements that come in bursts widen the window by what a burst is above the rate, up to
/// 100 ms of it.
#[test]
fn bursts_of_acknowledgements_are_added_to_the_window() {
    let mut path = Path::in_probe_bw();
    // A round in one acknowledgement: 100 segments, of which 16777 * 100000 >> 24 are allowed.
    assert_eq!(path.bbr().extra_window(), 99);
    path.flow.now += Time::from_millis(200); // a silence ends the burst
    for _ in 0..1_100 {
        path.delivered += MSS;
        path.flow.now += Time::from_millis(1);
        let mut single = ack(MSS);
        single.delivered = path.delivered;
        single.in_flight = 100 * MSS;
        single.rate = Some(RateSample {
            delivered: 100 * MSS,
            interval: Time::from_millis(100),
            prior_delivered: path.delivered - 100 * MSS,
            app_limited: false,
            tx_in_flight: 100 * MSS,
            lost: 0,
        });
        path.flow.ack(&single);
    }
    // Ten rounds later the burst is forgotten; one segment at a time is one, and one of rounding.
    assert_eq!(path.bbr().extra_window(), 2);
}

/// As much leaves as arrives, whatever was in flight before: with 95 in flight and two
/// acknowledged 97 may be.
#[test]
fn the_conserved_window_follows_what_is_in_flight() {
    let mut path = Path::in_probe_bw();
    path.flow
        .congestion(Congestion::Loss, &congestion(100 * MSS));
    let first = AckSample {
        in_flight: 90 * MSS,
        newly_lost: 10 * MSS,
        delivered: path.delivered + MSS,
        lost: 10 * MSS,
        repair: Repair::Losses,
        ..ack(3 * MSS)
    };
    path.flow.ack(&first);
    assert_eq!(path.bbr().cwnd, 93);
    path.flow.ack(&AckSample {
        newly_delivered: 2 * MSS,
        newly_lost: 0,
        in_flight: 95 * MSS,
        ..first
    });
    assert_eq!(path.bbr().cwnd, 97);
}

/// The window of before recovery comes back once, as recovery ends; later the model rules.
#[test]
fn the_window_of_before_comes_back_once() {
    let mut path = Path::in_probe_bw();
    let before = path.bbr().cwnd;
    path.flow
        .congestion(Congestion::Loss, &congestion(100 * MSS));
    path.round(100, |ack| ack.repair = Repair::Losses);
    path.round(100, |_| {});
    assert!(path.bbr().cwnd >= before);
    for _ in 0..12 {
        path.round(20, |_| {});
    }
    let small = path.bbr().cwnd;
    assert!(small < 100, "{small}");
    path.round(100, |_| {});
    assert_eq!(path.bbr().cwnd, small + 100);
}

/// `bbr_set_state`: after a timeout the rate is compared with nothing, so that the rounds without
/// growth are counted anew.
#[test]
fn a_timeout_in_startup_begins_the_search_for_growth_again() {
    let mut path = Path::new();
    for segments in [10, 20, 40, 80, 80, 80] {
        path.round(segments, |ack| ack.in_flight = 250 * MSS);
    }
    path.flow
        .congestion(Congestion::Rto, &congestion(100 * MSS));
    for _ in 0..3 {
        path.round(80, |ack| ack.in_flight = 250 * MSS);
        assert_eq!(path.bbr().mode, Mode::Startup);
    }
    path.round(80, |ack| ack.in_flight = 250 * MSS);
    assert_eq!(path.bbr().mode, Mode::Drain);
}

/// A restart lasts until something is delivered, and no dip begins in it.
#[test]
fn no_dip_begins_with_a_restart() {
    let mut path = Path::in_probe_bw();
    path.flow.now += Time::from_secs(20);
    path.flow.restart(Time::from_secs(20), Time::from_secs(1));
    path.flow.ack(&AckSample {
        delivered: path.delivered,
        prior_in_flight: 100 * MSS,
        ..ack(0)
    });
    assert!(path.bbr().idle_restart);
    assert_eq!(path.bbr().mode, Mode::ProbeBw);
    path.round(100, |ack| ack.rtt = None);
    assert!(!path.bbr().idle_restart);
    assert_eq!(path.bbr().mode, Mode::ProbeBw);
    path.round(100, |ack| ack.rtt = None);
    assert_eq!(path.bbr().mode, Mode::ProbeRtt);
}

/// `bbr_check_full_bw_reached` looks once a round, and at none that the application limited.
#[test]
fn only_whole_rounds_of_the_path_show_a_full_pipe() {
    let mut path = Path::new();
    for segments in [10, 20, 40, 80, 100] {
        path.round(segments, |_| {});
    }
    let within = path.delivered - MSS;
    for _ in 0..10 {
        path.round(100, |ack| {
            ack.in_flight = 250 * MSS;
            let rate = ack.rate.as_mut().expect("a sample");
            rate.prior_delivered = within; // left before the round began
        });
    }
    for _ in 0..10 {
        path.round(100, |ack| {
            ack.in_flight = 250 * MSS;
            let rate = ack.rate.as_mut().expect("a sample");
            rate.app_limited = true;
        });
    }
    assert_eq!(path.bbr().mode, Mode::Startup);
    for _ in 0..3 {
        assert_eq!(path.bbr().mode, Mode::Startup);
        path.round(100, |ack| ack.in_flight = 250 * MSS);
    }
    assert_eq!(path.bbr().mode, Mode::Drain);
}

/// `bbr_lt_bw_ratio` and `bbr_lt_bw_diff`: two rates are the same up to an eighth, or up to 4 kbit/s:
/// 500 bytes a second, which segments of 1000 less 1% reach at 8.5 / 2^24 a microsecond.
#[test]
fn intervals_are_alike_within_an_eighth_or_four_kilobits() {
    let alike = |first, second| {
        let mut bbr = flow().cc;
        let sample = Sample::default();
        bbr.compare_intervals(first, &sample);
        assert!(bbr.policer.in_use().is_none(), "one interval shows nothing");
        bbr.compare_intervals(second, &sample);
        bbr.policer.in_use()
    };
    assert_eq!(alike(8_000, 9_000), Some(8_500));
    assert_eq!(alike(8_000, 7_000), Some(7_500));
    assert_eq!(alike(8_000, 9_001), None);
    assert_eq!(alike(8_000, 6_999), None);
    assert_eq!(alike(30, 38), Some(34));
    assert_eq!(alike(30, 39), None);
}

/// `bbr_lt_bw_interval_done` by way of its bounds: 50/256 of what was delivered lost, over a
/// millisecond at least.
#[test]
fn an_interval_is_of_a_policer_if_a_fifth_is_lost() {
    let rate_of = |delivered: u64, lost: u64, micros: u64| {
        let mut bbr = flow().cc;
        bbr.policer.restart(5_000_000, 7_000, 3);
        bbr.end_interval(&Sample {
            now: 5_000_000 + micros,
            delivered: 7_000 + delivered,
            lost: 3 + lost,
            ..Sample::default()
        });
        // A second interval alike brings the rate into use.
        let began = 5_000_000 + micros;
        bbr.end_interval(&Sample {
            now: began + micros,
            delivered: 7_000 + 2 * delivered,
            lost: 3 + 2 * lost,
            ..Sample::default()
        });
        bbr.policer.in_use()
    };
    // 256 segments in 10 ms, 50 of them lost.
    assert_eq!(rate_of(256_000, 50, 10_000), Some(256 * BW_UNIT / 10_000));
    assert_eq!(rate_of(256_000, 49, 10_000), None);
    assert_eq!(rate_of(256_000, 50, 999), None);
    assert_eq!(rate_of(256_000, 50, 1_000), Some(256 * BW_UNIT / 1_000));
    assert_eq!(rate_of(999, 50, 10_000), None, "nothing was delivered");
}

/// `bbr_rate_bytes_per_sec`, `bbr_min_tso_segs` and `bbr_tso_segs_goal` by hand: a millisecond of the
/// pacing rate, from 1.2 Mbit/s on two segments at least, 127 at most and 65215 bytes.
#[test]
fn bursts_are_a_millisecond_of_the_rate() {
    let burst = |bytes| {
        let mut bbr = flow().cc;
        bbr.pacing.set(bytes);
        (bbr.least_burst(), bbr.burst())
    };
    assert_eq!(burst(149_999), (Some(1), 1));
    assert_eq!(burst(150_000), (Some(2), 2));
    assert_eq!(burst(10 << 20), (Some(2), 10)); // 10240 bytes
    assert_eq!(burst(1 << 40), (Some(2), 65));
    let mut small = flow().cc;
    small.mss = 100;
    small.pacing.set(1 << 40);
    assert_eq!(small.burst(), 127);
}

/// `bbr_limit_in_flight` of a dip: samples of segments that left in it are not of the path.
#[test]
fn what_left_in_a_dip_is_limited() {
    let mut path = Path::in_probe_bw();
    assert!(!path.flow.cc.rtt.limits(path.delivered));
    let queued = |ack: &mut AckSample| ack.rtt = Some(Time::from_millis(150));
    while path.bbr().mode == Mode::ProbeBw {
        path.round(100, queued);
    }
    let (began, in_flight) = (path.delivered, 100 * MSS);
    let limits = |delivered| path.flow.cc.rtt.limits(delivered);
    assert!(!limits(began - 1) && limits(began));
    assert!(limits(began + in_flight) && !limits(began + in_flight + 1));
}
