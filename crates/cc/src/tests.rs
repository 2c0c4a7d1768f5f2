//! What the variants' tests share, and laws over the whole registry.

use cclab_units::parameter::Params;
use cclab_units::{Stream, Time};

use crate::fuzzing::{fuzz_variant, try_variant};
use crate::*;

/// A kilobyte a segment and ten segments, so that windows read off at a glance.
pub(crate) fn config(arithmetic: Arithmetic, slow_start: SlowStart) -> Config {
    Config {
        mss: 1_000,
        initial_window: 10_000,
        initial_ssthresh: u64::MAX,
        slow_start,
        arithmetic,
        params: Params::defaults(&[]),
    }
}

/// As [`config`], for `variant` with its parameters at their defaults.
pub(crate) fn config_of(
    variant: &Variant,
    arithmetic: Arithmetic,
    slow_start: SlowStart,
) -> Config {
    Config {
        params: Params::defaults(variant.params),
        ..config(arithmetic, slow_start)
    }
}

/// A window of the stack that was filled, lent to a variant.
pub(crate) fn lent(cwnd: u32, ssthresh: u32) -> Tcp {
    Tcp {
        snd_cwnd: cwnd,
        snd_ssthresh: ssthresh,
        is_cwnd_limited: 1,
        ..Tcp::default()
    }
}

/// As [`config_of`] for stacks that count segments, with some parameters given.
pub(crate) fn config_with(variant: &Variant, given: &[(&str, f64)]) -> Config {
    let given = given
        .iter()
        .map(|&(name, value)| (name.to_owned(), value))
        .collect();
    Config {
        params: Params::new(variant.params, &given).expect("values in their ranges"),
        ..config(Arithmetic::Segments, SlowStart::Plain)
    }
}

/// `variant` of the simulator at the start of a connection.
pub(crate) fn started(variant: &Variant, config: &Config) -> Box<dyn CongestionControl> {
    (variant.build.expect("a variant of the simulator"))(config)
}

/// An acknowledgement of `bytes` that lets the window grow.
pub(crate) fn ack(bytes: u64) -> AckSample {
    AckSample {
        newly_acked: bytes,
        newly_delivered: bytes,
        cwnd_limited: true,
        ..AckSample::default()
    }
}

/// Congestion with `flight` bytes outstanding.
pub(crate) fn congestion(flight: u64) -> CongestionSample {
    CongestionSample {
        flight_size: flight,
        in_flight: flight,
        snd_nxt: 0,
        repeated: false,
    }
}

/// A variant with a clock and dice.
pub(crate) struct Bench<C> {
    pub(crate) cc: C,
    pub(crate) now: Time,
    rng: Stream,
}

impl<C: CongestionControl> Bench<C> {
    pub(crate) fn new(cc: C) -> Bench<C> {
        Bench {
            cc,
            now: Time::from_secs(1),
            rng: Stream::new(1, "bench"),
        }
    }

    pub(crate) fn ack(&mut self, ack: &AckSample) {
        self.cc.on_ack(
            ack,
            &mut Cx {
                now: self.now,
                rng: &mut self.rng,
            },
        );
    }

    pub(crate) fn congestion(&mut self, kind: Congestion, at: &CongestionSample) {
        self.cc.on_congestion(
            kind,
            at,
            &mut Cx {
                now: self.now,
                rng: &mut self.rng,
            },
        );
    }

    pub(crate) fn established(&mut self, rtt: Time) {
        self.cc.on_established(
            Some(rtt),
            &mut Cx {
                now: self.now,
                rng: &mut self.rng,
            },
        );
    }

    pub(crate) fn undo(&mut self) {
        self.cc.on_undo(&mut Cx {
            now: self.now,
            rng: &mut self.rng,
        });
    }

    pub(crate) fn restart(&mut self, idle: Time, rto: Time) {
        self.cc.on_restart(
            idle,
            rto,
            &mut Cx {
                now: self.now,
                rng: &mut self.rng,
            },
        );
    }
}

#[test]
fn names_are_found_and_unique() {
    for (i, variant) in VARIANTS.iter().enumerate() {
        assert!(std::ptr::eq(
            find(variant.name).expect("a variant of the list"),
            variant
        ));
        assert!(VARIANTS[..i].iter().all(|other| other.name != variant.name));
    }
    assert!(find("renno").is_none());
    assert!(build("renno", &config(Arithmetic::Bytes, SlowStart::Plain)).is_none());
}

/// A name that nobody has comes nearest to one variant alone.
#[test]
fn names_of_elsewhere_are_nobodys_and_unique() {
    let near = || VARIANTS.iter().flat_map(|variant| variant.near);
    let mut names: Vec<_> = near().map(|near| near.name).collect();
    assert!(names.iter().all(|name| *name == name.to_lowercase()));
    names.extend(VARIANTS.iter().map(|variant| variant.name));
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(near().any(|near| near.name == "l4s"));
}

/// What two variants call the same is the same, but for the words of a machine's phases: one table
/// holds the states of both.
#[test]
fn columns_of_states_mean_the_same_everywhere() {
    let columns: Vec<_> = VARIANTS
        .iter()
        .flat_map(|variant| variant.state_columns())
        .filter(|column| column.name != "phase")
        .collect();
    for (place, column) in columns.iter().enumerate() {
        let same = columns[..place]
            .iter()
            .filter(|other| other.name == column.name);
        assert!(same.clone().all(|other| other == column), "{}", column.name);
        assert!(column.meaning.ends_with('.'), "{}", column.name);
    }
    for name in ["bbr", "bbr3", "copa", "cubic", "dctcp", "prague", "vegas"] {
        let variant = find(name).expect("a variant");
        assert!(!variant.state_columns().is_empty(), "{name}");
    }
}

#[test]
fn the_start_is_the_configured_one() {
    for variant in simulated() {
        for arithmetic in [
            Arithmetic::Bytes,
            Arithmetic::Segments,
            Arithmetic::PerAckBytes,
            Arithmetic::PerAckSegments,
        ] {
            let config = config_of(variant, arithmetic, SlowStart::Plain);
            let cc = started(variant, &config);
            assert_eq!(
                (cc.cwnd(), cc.ssthresh()),
                (10_000, u64::MAX),
                "{}",
                variant.name
            );
            let cc = started(
                variant,
                &Config {
                    initial_ssthresh: 20_000,
                    ..config
                },
            );
            assert_eq!(cc.ssthresh(), 20_000, "{}", variant.name);
        }
    }
}

#[test]
fn every_variant_keeps_the_laws_over_seeded_operations() {
    for seed in 0..40 {
        fuzz_variant(&operations(seed));
    }
}

fn operations(seed: u64) -> Vec<u8> {
    let mut dice = Stream::new(seed, "operations");
    (0..400).flat_map(|_| dice.bits().to_le_bytes()).collect()
}

/// A variant that is excused from a law breaks it: no excuse outlives its reason.
#[test]
fn every_departure_is_seen() {
    for variant in simulated() {
        for &departure in variant.departures {
            if departure == Departure::SlowerSlowStart {
                assert!(slow_start_of(variant, Arithmetic::Bytes) < 2.0);
                continue;
            }
            let others = variant.departures.iter().copied();
            let others: Vec<Departure> = others.filter(|&other| other != departure).collect();
            let strict = Variant {
                departures: others.leak(),
                ..*variant
            };
            let breaks = |seed| {
                let data = operations(seed);
                let tried = std::panic::AssertUnwindSafe(|| try_variant(&strict, &data));
                std::panic::catch_unwind(tried).is_err()
            };
            assert!((0..40).any(breaks), "{} {departure:?}", variant.name);
        }
    }
}

#[test]
fn every_variant_doubles_in_slow_start() {
    let doubles = |variant: &&Variant| !variant.departs(Departure::SlowerSlowStart);
    for variant in simulated().filter(doubles) {
        for arithmetic in [
            Arithmetic::Bytes,
            Arithmetic::Segments,
            Arithmetic::PerAckBytes,
        ] {
            let cwnd = slow_start_of(variant, arithmetic);
            assert_eq!(cwnd, 2.0, "{}", variant.name);
        }
    }
}

/// By what the window is multiplied as all of it is acknowledged in slow start.
fn slow_start_of(variant: &Variant, arithmetic: Arithmetic) -> f64 {
    let config = config_of(variant, arithmetic, SlowStart::Plain);
    let mut flow = Bench::new(started(variant, &config));
    flow.established(Time::from_millis(25));
    let first = flow.cc.cwnd();
    for _ in 0..first / 1_000 {
        flow.ack(&ack(1_000));
    }
    flow.cc.cwnd() as f64 / first as f64
}

/// What is declared to pace does, once it is established, and nothing else.
#[test]
fn who_paces_says_so() {
    for variant in crate::simulated() {
        let config = config_of(variant, Arithmetic::Bytes, SlowStart::Plain);
        let mut cc = started(variant, &config);
        let mut rng = Stream::new(1, "paces");
        let mut cx = Cx {
            now: Time::from_millis(20),
            rng: &mut rng,
        };
        cc.on_established(Some(Time::from_millis(20)), &mut cx);
        assert_eq!(
            cc.pacing_rate().is_some(),
            variant.paces,
            "{}",
            variant.name
        );
    }
}

/// Writes down what it is told.
#[derive(Default)]
struct Diary(Vec<&'static str>);

impl CongestionControl for Diary {
    fn on_established(&mut self, _rtt: Option<Time>, _cx: &mut Cx<'_>) {
        self.0.push("established");
    }

    fn on_lost(&mut self, _segment: &LostSegment, _cx: &mut Cx<'_>) {
        self.0.push("lost");
    }

    fn on_ack(&mut self, _ack: &AckSample, _cx: &mut Cx<'_>) {
        self.0.push("ack");
    }

    fn on_congestion(&mut self, _kind: Congestion, _at: &CongestionSample, _cx: &mut Cx<'_>) {
        self.0.push("congestion");
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        self.0.push("undo");
    }

    fn on_restart(&mut self, _idle: Time, _rto: Time, _cx: &mut Cx<'_>) {
        self.0.push("restart");
    }

    fn cwnd(&self) -> u64 {
        self.0.len() as u64
    }

    fn ssthresh(&self) -> u64 {
        7_000
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Rate::from_bps(8_000)
    }

    fn least_burst(&self) -> Option<u64> {
        Some(3)
    }
}

#[test]
fn a_boxed_variant_is_told_all_and_asked_all() {
    let mut flow = Bench::new(Box::new(Diary::default()));
    flow.established(Time::from_millis(40));
    let lost = LostSegment {
        len: 1_000,
        tx_in_flight: 10_000,
        lost: 1_000,
        app_limited: false,
    };
    let mut cx = Cx {
        now: flow.now,
        rng: &mut flow.rng,
    };
    CongestionControl::on_lost(&mut flow.cc, &lost, &mut cx);
    flow.ack(&ack(1_000));
    flow.congestion(Congestion::Ecn, &congestion(10_000));
    flow.undo();
    flow.restart(Time::from_secs(2), Time::from_secs(1));
    let told = [
        "established",
        "lost",
        "ack",
        "congestion",
        "undo",
        "restart",
    ];
    assert_eq!(flow.cc.0, told);
    let asked = asked(&flow.cc);
    assert_eq!(asked, (6, 7_000, Rate::from_bps(8_000), Some(3)));
}

/// What a sender asks, through whatever holds the variant.
fn asked<C: CongestionControl>(cc: &C) -> (u64, u64, Option<Rate>, Option<u64>) {
    (cc.cwnd(), cc.ssthresh(), cc.pacing_rate(), cc.least_burst())
}

/// After a silence of much more than a timeout a window starts from the initial one at most (RFC
/// 5681 section 4.1, `tcp_cwnd_restart`); after one of a timeout it does not.
#[test]
fn a_long_silence_restarts_every_window_that_is_the_stacks() {
    let rto = Time::from_secs(1);
    for variant in simulated() {
        if variant.window == WindowInRecovery::Own {
            continue; // their model knows the path, whatever was silent
        }
        for arithmetic in [Arithmetic::Bytes, Arithmetic::Segments] {
            let config = config_of(variant, arithmetic, SlowStart::Plain);
            let mut flow = Bench::new(started(variant, &config));
            flow.established(Time::from_millis(25));
            for _ in 0..20 {
                flow.ack(&ack(1_000));
            }
            let grown = flow.cc.cwnd();
            assert!(grown > 10_000, "{}", variant.name);
            flow.restart(rto, rto);
            assert_eq!(flow.cc.cwnd(), grown, "{} {arithmetic:?}", variant.name);
            flow.restart(rto * 10, rto);
            let restarted = flow.cc.cwnd();
            let label = format!("{} {arithmetic:?}: {restarted}", variant.name);
            assert!((2_000..=10_000).contains(&restarted), "{label}");
        }
    }
}

/// Keeps its window, and says nothing else.
struct Still;

impl CongestionControl for Still {
    fn on_ack(&mut self, _ack: &AckSample, _cx: &mut Cx<'_>) {}

    fn on_congestion(&mut self, _kind: Congestion, _at: &CongestionSample, _cx: &mut Cx<'_>) {}

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {}

    fn cwnd(&self) -> u64 {
        2_000
    }

    fn ssthresh(&self) -> u64 {
        1_000
    }
}

#[test]
fn pacing_and_bursts_are_the_stacks_unless_the_variant_says() {
    assert_eq!(asked(&Still), (2_000, 1_000, None, None));
}
