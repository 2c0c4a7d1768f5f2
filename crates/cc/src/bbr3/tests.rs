//! The test cases of the draft's appendix A that one flow's acknowledgements can play, and numbers
//! by hand. A round trip is 100 ms and delivers 100 segments of 1000 bytes: 1 MB/s.

use super::long_term::AckPhase;
use super::*;
use crate::tests::{Bench, ack, config_of, congestion};
use crate::{Arithmetic, RateSample, SlowStart};

pub(super) const MSS: u64 = 1_000;
const BDP: u64 = 100 * MSS;

pub(super) struct Path {
    pub(super) flow: Bench<Bbr3>,
    delivered: u64,
    lost: u64,
    rtt: u64,
    /// How long a round lasts, in ms.
    round: u64,
}

impl Path {
    pub(super) fn new() -> Path {
        Path::with(&[])
    }

    fn with(params: &[(&str, f64)]) -> Path {
        let given = params
            .iter()
            .map(|&(name, value)| (name.to_string(), value));
        let params = cclab_units::parameter::Params::new(VARIANT.params, &given.collect());
        let config = Config {
            params: params.expect("values in their ranges"),
            ..config_of(&VARIANT, Arithmetic::Bytes, SlowStart::Plain)
        };
        let mut flow = Bench::new(Bbr3::new(&config));
        flow.established(Time::from_millis(100));
        Path {
            flow,
            delivered: 0,
            lost: 0,
            rtt: 100,
            round: 100,
        }
    }

    pub(super) fn bbr(&mut self) -> &mut Bbr3 {
        &mut self.flow.cc
    }

    /// A round: ten acknowledgements, `segments` delivered, `in_flight` segments in the network
    /// after each, as far as the window allows.
    pub(super) fn round(&mut self, segments: u64, in_flight: u64) {
        self.round_with(segments, in_flight, |_| {});
    }

    fn round_with(&mut self, segments: u64, in_flight: u64, change: impl Fn(&mut AckSample)) {
        let began = self.delivered;
        for _ in 0..10 {
            let in_flight = in_flight.min(self.flow.cc.cwnd / MSS);
            let part = segments * MSS / 10;
            self.delivered += part;
            self.flow.now += Time::from_millis(self.round / 10);
            let mut ack = AckSample {
                rtt: Some(Time::from_millis(self.rtt)),
                srtt: Time::from_millis(100),
                delivered: self.delivered,
                lost: self.lost,
                in_flight: in_flight * MSS,
                prior_in_flight: in_flight * MSS + part,
                rate: Some(RateSample {
                    delivered: segments * MSS,
                    interval: Time::from_millis(self.round),
                    // What is acknowledged left a round before.
                    prior_delivered: began.max(self.delivered.saturating_sub(segments * MSS)),
                    app_limited: false,
                    tx_in_flight: in_flight * MSS,
                    lost: 0,
                }),
                ..ack(part)
            };
            change(&mut ack);
            self.flow.ack(&ack);
        }
    }

    pub(super) fn in_drain() -> Path {
        Path::new().into_drain()
    }

    fn into_drain(self) -> Path {
        let mut path = self;
        for segments in [10, 20, 40, 80, 100] {
            path.round(segments, 2 * segments);
        }
        for _ in 0..4 {
            path.round(100, 250);
        }
        assert_eq!(path.bbr().state, State::Drain);
        path
    }

    pub(super) fn in_state(state: State) -> Path {
        let mut path = Path::in_drain();
        path.until(state);
        path
    }

    /// Rounds of a full pipe until the state is `state`.
    fn until(&mut self, state: State) {
        let mut rounds = 0;
        while self.bbr().state != state {
            self.round(100, 100);
            rounds += 1;
            assert!(rounds < 200, "{state:?} is not reached");
        }
    }

    /// Rounds of a full pipe while the state is `state`.
    fn while_in(&mut self, state: State) {
        let mut rounds = 0;
        while self.bbr().state == state {
            self.round(100, 100);
            rounds += 1;
            assert!(rounds < 200, "{state:?} does not end");
        }
    }

    fn lose(&mut self, segment: LostSegment) {
        self.lost += segment.len;
        let now = self.flow.now;
        let mut rng = cclab_units::Stream::new(1, "dice");
        let mut cx = Cx { now, rng: &mut rng };
        self.flow.cc.on_lost(&segment, &mut cx);
    }
}

/// An acknowledgement at `now` of a round trip in which 100 segments were delivered and nothing lost.
pub(super) fn sample(now: Time) -> Sample {
    Sample {
        now,
        newly_acked: MSS,
        delivered: 500 * MSS,
        in_flight: 100 * MSS,
        prior_in_flight: 101 * MSS,
        newly_lost: 0,
        cwnd_limited: false,
        repair: Repair::Nothing,
        rtt: None,
        rate: Some(Delivery {
            rate: 1e6,
            delivered: 100 * MSS,
            prior_delivered: 400 * MSS,
            app_limited: false,
            tx_in_flight: 100 * MSS,
            lost: 0,
        }),
    }
}

/// A segment with `before` segments in flight before it and `lost` of them lost.
fn segment(before: u64, lost: u64) -> LostSegment {
    LostSegment {
        len: MSS,
        tx_in_flight: (before + 1) * MSS,
        lost: (lost + 1) * MSS,
        app_limited: false,
    }
}

/// 5.6.2: 2.77 initial windows a round trip.
#[test]
fn the_first_rate_is_that_of_the_initial_window() {
    let path = Path::new();
    assert_eq!(path.flow.cc.pacing_rate(), Rate::from_bps(2_216_000));
}

/// A.1: three rounds that grow by less than a quarter.
#[test]
fn startup_ends_on_a_plateau() {
    let mut path = Path::new();
    for segments in [10, 20, 40, 80, 100] {
        path.round(segments, 2 * segments);
        assert_eq!(path.bbr().state, State::Startup);
    }
    for _ in 0..2 {
        path.round(100, 250);
        assert!(!path.bbr().pipe.reached());
    }
    path.round(100, 250);
    path.round(100, 250);
    assert!(path.bbr().pipe.reached());
    assert_eq!(path.bbr().state, State::Drain);
    let max = path.bbr().bandwidth.max();
    assert!((max - 1e6).abs() < 2e4, "{max}");
}

/// A.2 with 5.3.1.3: six losses in a round of recovery that loses more than 2%.
#[test]
fn startup_ends_on_losses_though_the_application_limits() {
    let mut path = Path::new();
    let limited = |ack: &mut AckSample| {
        let rate = ack.rate.as_mut().expect("a sample");
        rate.app_limited = true;
    };
    for _ in 0..10 {
        path.round_with(50, 50, limited);
    }
    assert_eq!(
        path.bbr().state,
        State::Startup,
        "A.7: as long as nothing is lost"
    );
    path.flow
        .congestion(Congestion::Loss, &congestion(50 * MSS));
    for _ in 0..2 {
        path.lose(segment(50, 0));
        path.round_with(50, 50, |ack| {
            ack.repair = Repair::Losses;
            ack.newly_lost = MSS;
            let rate = ack.rate.as_mut().expect("a sample");
            rate.app_limited = true;
            rate.lost = 5 * MSS;
        });
    }
    assert!(path.bbr().pipe.reached());
    assert_ne!(path.bbr().state, State::Startup);
    // What the last round delivered is safe.
    assert_eq!(path.bbr().long_term.bound, 50 * MSS);
}

/// A.3 and A.4: Drain at half the rate, until one product is in flight or three rounds passed.
#[test]
fn drain_ends_by_what_is_in_flight_or_by_rounds() {
    let mut path = Path::in_drain();
    // 0.5 times 1 MB/s less 1%.
    assert_eq!(path.bbr().pacing_rate(), Rate::from_bps(3_960_000));
    path.round(100, 101);
    assert_eq!(path.bbr().state, State::Drain);
    path.round(100, 100);
    assert_eq!(path.bbr().state, State::Cruise); // no queue and headroom: Down is over at once
    let mut path = Path::in_drain();
    let mut rounds = 0;
    while path.bbr().state == State::Drain {
        path.round(100, 250);
        rounds += 1;
        assert!(rounds < 10);
    }
    assert!((3..=4).contains(&rounds), "{rounds}");
    assert_eq!(path.bbr().state, State::Down);
}

/// 5.3.3: the phases in their order, with their gains.
#[test]
fn the_cycle_runs_through_its_phases() {
    let mut path = Path::with(&[("probe_rtt_interval", 3600.0)]).into_drain();
    while path.bbr().state == State::Drain {
        path.round(100, 250);
    }
    let mut seen = vec![(State::Down, 0.9, 2.0)];
    for _ in 0..100 {
        // A probe leaves a queue; in Down it runs off.
        let queued = if path.bbr().state == State::Up {
            125
        } else {
            100
        };
        path.round(100, queued);
        let state = path.bbr().state;
        if seen.last().is_some_and(|last| last.0 != state) {
            let (pacing, cwnd) = state.gains(&path.bbr().constants);
            seen.push((state, pacing, cwnd));
        }
    }
    assert_eq!(
        seen[..5],
        [
            (State::Down, 0.9, 2.0),
            (State::Cruise, 1.0, 2.0),
            (State::Refill, 1.0, 2.0),
            (State::Up, 1.25, 2.25),
            (State::Down, 0.9, 2.0),
        ]
    );
}

/// 5.3.3.8: a probe every two to three seconds, or as many rounds as segments, 63 at most.
#[test]
fn probes_are_seconds_apart() {
    let mut path = Path::with(&[("probe_rtt_interval", 3600.0)]).into_drain();
    path.until(State::Up);
    path.while_in(State::Up);
    let began = path.flow.now;
    path.until(State::Refill);
    let wait = path.flow.now - began;
    assert!(
        wait > Time::from_millis(1_900) && wait < Time::from_millis(3_300),
        "{wait:?}"
    );
}

/// A.10: after five seconds without a smaller round trip half a product for 200 ms and a round.
#[test]
fn the_round_trip_is_measured_with_half_a_product_in_flight() {
    let mut path = Path::in_state(State::Cruise);
    path.rtt = 150;
    let mut rounds = 0;
    while path.bbr().state != State::ProbeRtt {
        path.round(100, 100);
        rounds += 1;
        assert!(rounds < 60);
    }
    assert_eq!(path.bbr().cwnd, BDP / 2);
    path.round(50, 50);
    assert_eq!(path.bbr().state, State::ProbeRtt);
    path.rtt = 100;
    let mut rounds = 1;
    while path.bbr().state == State::ProbeRtt {
        path.round(50, 50);
        rounds += 1;
        assert!(rounds < 10);
    }
    assert!((2..=3).contains(&rounds), "{rounds}");
    assert_eq!(path.bbr().state, State::Cruise);
    assert_eq!(path.bbr().rtt.get(), Some(Time::from_millis(100)));
    let max = path.bbr().bandwidth.max();
    assert!(
        (max - 1e6).abs() < 2e4,
        "the dip's rates are not the path's: {max}"
    );
}

/// A.11: idleness drained the queue.
#[test]
fn idle_times_make_a_dip_needless() {
    let mut path = Path::in_state(State::Cruise);
    path.flow.now += Time::from_secs(6);
    path.flow
        .restart(Time::from_secs(6), Time::from_millis(300));
    assert_eq!(path.bbr().pacing_rate(), Rate::from_bps(7_920_000)); // the bandwidth less 1%
    path.round(100, 100);
    assert_ne!(path.bbr().state, State::ProbeRtt);
}

/// A.14: four segments at least, however small the product.
#[test]
fn four_segments_are_the_least() {
    let mut path = Path::new();
    for _ in 0..30 {
        path.round(1, 1);
    }
    assert!(path.bbr().pipe.reached());
    // Three bursts of two segments.
    assert!(
        (4 * MSS..=8 * MSS).contains(&path.bbr().cwnd),
        "{}",
        path.bbr().cwnd
    );
}

/// 5.5.10.2 by hand: of 100 segments in flight one was lost before; the threshold of 2% is crossed
/// (0.02 * 100 - 1) / 0.98 segments further on.
#[test]
fn what_was_in_flight_at_the_loss_is_interpolated() {
    let path = Path::new();
    assert_eq!(path.flow.cc.inflight_at_loss(&segment(100, 1)), 101_020);
    // Too many were lost already: nothing of the segment was safe.
    assert_eq!(path.flow.cc.inflight_at_loss(&segment(100, 5)), 100_000);
}

/// A.21: a probe that loses too much sets the bound and is over; the next is precautionary.
#[test]
fn a_probe_that_loses_too_much_sets_the_bound() {
    let mut path = Path::in_state(State::Up);
    path.round(100, 120);
    path.lose(segment(120, 1));
    assert_eq!(path.bbr().state, State::Up, "1.7% are not too much");
    path.lose(segment(120, 2));
    assert_eq!(path.bbr().state, State::Down);
    // 120 segments and (0.02 * 120 - 2) / 0.98 more, in whole ones.
    assert_eq!(path.bbr().long_term.bound, 120 * MSS);
    assert!(path.bbr().long_term.too_high);
    path.lose(segment(120, 3));
    assert_eq!(path.bbr().long_term.bound, 120 * MSS, "once a probe");
    // 5.6.4.7: the bound while draining, 15% less while cruising.
    path.round(100, 100);
    path.while_in(State::Down);
    path.round(100, 100);
    assert_eq!(path.bbr().state, State::Cruise);
    assert!(path.bbr().cwnd <= 102 * MSS);
    // 5.3.3.6: down again as soon as the bound is in flight, then another probe at once.
    path.until(State::Up);
    path.round(100, 121);
    assert!(path.bbr().long_term.precautionary);
    let mut states = Vec::new();
    for _ in 0..4 {
        path.round(100, 100);
        states.push(path.bbr().state);
    }
    assert!(
        states.contains(&State::Refill) || states.contains(&State::Up),
        "{states:?}"
    );
}

/// A.18: a probe's losses were none: the bound is lifted and the probe begins anew.
#[test]
fn losses_that_were_none_are_taken_back() {
    let mut path = Path::in_state(State::Up);
    path.flow
        .congestion(Congestion::Loss, &congestion(120 * MSS));
    path.lose(segment(120, 3));
    assert_eq!(path.bbr().state, State::Down);
    assert!(path.bbr().long_term.bound < u64::MAX);
    path.flow.undo();
    assert_eq!(path.bbr().long_term.bound, u64::MAX);
    assert_eq!(path.bbr().state, State::Refill);
}

/// 5.5.10.3 by hand: a round with losses while cruising leaves what was delivered, and 0.7 at least.
#[test]
fn losses_lower_the_short_term_bounds() {
    let mut path = Path::in_state(State::Cruise);
    path.round(100, 100);
    let cwnd = path.bbr().cwnd as f64;
    path.lose(segment(100, 0));
    path.round(50, 50);
    path.round(50, 50);
    path.lose(segment(100, 0));
    path.round(50, 50);
    path.round(50, 50);
    let bw = path.bbr().loss.bw;
    assert!((490_000.0..=710_000.0).contains(&bw), "{bw}");
    assert!((path.bbr().loss.inflight as f64) < cwnd);
    path.until(State::Refill);
    assert_eq!(
        path.bbr().loss.inflight,
        u64::MAX,
        "a probe forgets the short term"
    );
    assert_eq!(path.bbr().long_term.phase, AckPhase::Refilling);
}

#[test]
fn a_timeout_leaves_one_segment_more_than_is_in_flight() {
    let mut path = Path::in_state(State::Cruise);
    let before = path.bbr().cwnd;
    path.flow.congestion(
        Congestion::Rto,
        &CongestionSample {
            in_flight: 3 * MSS,
            ..congestion(100 * MSS)
        },
    );
    assert_eq!(path.bbr().cwnd, 4 * MSS);
    path.round_with(10, 10, |ack| ack.repair = Repair::Timeout);
    assert!(path.bbr().cwnd < before);
    path.round(10, 10);
    assert!(path.bbr().cwnd >= before.min(path.bbr().loss.inflight));
}

/// 5.5.5 and 5.5.6: what the application limited counts where it is more than all else; the filter
/// holds this cycle and the one before.
#[test]
fn the_bandwidth_is_the_largest_of_two_cycles() {
    let mut bandwidth = bandwidth::Bandwidth::default();
    let mut take = |rate, app_limited, ends: bool| {
        bandwidth.take(&Delivery {
            rate,
            delivered: 0,
            prior_delivered: 0,
            app_limited,
            tx_in_flight: 0,
            lost: 0,
        });
        if ends {
            bandwidth.advance_cycle();
        }
        bandwidth.max()
    };
    assert_eq!(take(100.0, false, false), 100.0);
    assert_eq!(take(200.0, true, false), 200.0);
    assert_eq!(take(150.0, true, true), 200.0);
    // Less than the cycle before, which is forgotten after this one.
    assert_eq!(take(120.0, false, false), 200.0);
    assert_eq!(take(150.0, true, true), 120.0);
    // A cycle without a sample leaves what there is.
    assert_eq!(take(0.0, false, true), 120.0);
    assert_eq!(take(120.0, true, true), 120.0);
}

/// 5.3.3.6 and 5.5.6 by hand. A rate is forgotten a round after each of two probes, and a probe comes
/// after 2 to 3 s, a round of refilling and three without growth; the dip, 5 s after the last one
/// ended (5.3.4.3), puts an end to a cycle that is not done by then, and the round behind a dip is
/// of samples that it limits. So a rate is forgotten where five rounds fit into the 2 s that are
/// left at least, and never where they do not fit into 3 s.
#[test]
fn a_rate_is_forgotten_only_where_a_cycle_ends_before_the_next_dip() {
    let remembered = |round| {
        let mut path = Path::in_state(State::Cruise);
        (path.round, path.rtt) = (round, round);
        let began = path.flow.now;
        let mut dips = 0;
        while path.flow.now < began + Time::from_secs(90) {
            let before = path.bbr().state;
            path.round(20, 200);
            let after = path.bbr().state;
            dips += u32::from(before != State::ProbeRtt && after == State::ProbeRtt);
        }
        assert!(dips >= 9, "{dips} dips with rounds of {round} ms");
        path.bbr().bandwidth.max()
    };
    for round in [200, 300] {
        let delivered = (20 * MSS) as f64 * 1e3 / round as f64;
        let bandwidth = remembered(round);
        assert!(bandwidth < 1.01 * delivered, "{bandwidth} with {round} ms");
    }
    for round in [700, 1_000, 2_000] {
        let bandwidth = remembered(round);
        assert!((bandwidth - 1e6).abs() < 2e4, "{bandwidth} with {round} ms");
    }
}

/// 5.6.3 and 5.5.8.1: a millisecond at the pacing rate, two segments at least and 64 KiB at most; three
/// of them are room for what waits in the hosts, and four segments.
#[test]
fn bursts_have_their_room_in_the_window() {
    let room = |bytes, state, inflight| {
        let mut bbr = Path::new().flow.cc;
        bbr.pacing.set(bytes);
        bbr.state = state;
        (bbr.send_quantum(), bbr.with_budget(inflight))
    };
    assert_eq!(room(1e6, State::Cruise, 0), (2_000, 6_000));
    assert_eq!(room(1e7, State::Cruise, 0), (10_000, 30_000));
    assert_eq!(room(1e7, State::Cruise, 31_000), (10_000, 31_000));
    assert_eq!(room(1e7, State::Up, 31_000), (10_000, 33_000));
    assert_eq!(room(1e9, State::Cruise, 0), (65_536, 196_608));
}

/// 5.6.4.7: 15% of the bound are left free, a segment at least; four remain.
#[test]
fn headroom_is_a_share_of_the_bound() {
    let left = |bound| {
        let mut bbr = Path::new().flow.cc;
        bbr.long_term.bound = bound;
        bbr.inflight_with_headroom()
    };
    assert_eq!(left(u64::MAX), u64::MAX);
    assert_eq!(left(100_000), 85_000);
    assert_eq!(left(6_000), 5_000);
    assert_eq!(left(4_500), 4_000);
}

/// 5.3.3.6: while probing the bound grows by a segment for each `cwnd` acknowledged, then for each half
/// of it, and so on round by round, if the window is used to the full.
#[test]
fn the_bound_grows_by_ever_more_segments_a_round() {
    let mut bbr = Path::new().flow.cc;
    let mut long_term = bbr.long_term;
    let steps: Vec<u64> = (0..5)
        .map(|_| {
            long_term.raise_slope(10_500, MSS);
            long_term.per_step
        })
        .collect();
    assert_eq!(steps, [10_500, 5_250, 2_625, 1_312, 1_000]);
    bbr.long_term = long_term;
    bbr.state = State::Up;
    bbr.long_term.bound = 50_000;
    bbr.cwnd = 50_000;
    let sample = |newly_acked, cwnd_limited| {
        let ack = AckSample {
            cwnd_limited,
            ..ack(newly_acked)
        };
        Path::new().flow.cc.sample(&ack, Time::from_secs(2))
    };
    bbr.raise_long_term(&sample(2_500, true));
    assert_eq!(bbr.long_term.bound, 52_000);
    bbr.cwnd = 52_000;
    bbr.raise_long_term(&sample(500, false));
    assert_eq!(bbr.long_term.bound, 52_000, "not used to the full");
    bbr.raise_long_term(&sample(500, true));
    assert_eq!(bbr.long_term.bound, 53_000, "500 of before are counted");
    bbr.raise_long_term(&sample(5_000, true));
    assert_eq!(bbr.long_term.bound, 53_000, "the window is below the bound");
}

/// 5.3.4: samples of segments that left in a dip are not of the path.
#[test]
fn what_left_in_a_dip_is_limited() {
    let mut path = Path::in_state(State::Cruise);
    path.rtt = 150;
    while path.bbr().state != State::ProbeRtt {
        assert!(!path.flow.cc.rtt.limits(path.delivered));
        path.round(100, 100);
    }
    path.round(50, 50);
    let limits = |delivered| path.flow.cc.rtt.limits(delivered);
    assert!(limits(path.delivered));
    assert!(limits(path.delivered + 50 * MSS));
    assert!(!limits(path.delivered + 50 * MSS + 1));
    assert!(!limits(path.delivered - 200 * MSS));
}

/// 5.4.1: a dip that is over by its clock ends as data leaves again; in Startup a restart leaves
/// things as they are.
#[test]
fn a_restart_ends_a_dip_that_is_due() {
    let mut path = Path::in_state(State::Cruise);
    path.rtt = 150;
    while path.bbr().state != State::ProbeRtt {
        path.round(100, 100);
    }
    path.round(50, 50); // 200 ms begin
    let rto = Time::from_millis(300);
    path.flow.restart(Time::from_millis(10), rto);
    assert_eq!(path.bbr().state, State::ProbeRtt);
    path.flow.now += Time::from_millis(300);
    path.flow.restart(Time::from_millis(300), rto);
    assert_eq!(path.bbr().state, State::Cruise);
    let mut fresh = Path::new();
    let rate = fresh.bbr().pacing_rate();
    fresh.flow.restart(Time::from_millis(300), rto);
    assert_eq!(fresh.bbr().state, State::Startup);
    assert_eq!(fresh.bbr().pacing_rate(), rate);
}
