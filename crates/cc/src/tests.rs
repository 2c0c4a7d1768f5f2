//! What the variants' tests share, and laws over the whole registry.

use cclab_units::parameter::Params;
use cclab_units::{Stream, Time};

use crate::fuzzing::fuzz_variant;
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

#[test]
fn the_start_is_the_configured_one() {
    for variant in VARIANTS {
        for arithmetic in [
            Arithmetic::Bytes,
            Arithmetic::Segments,
            Arithmetic::PerAckBytes,
            Arithmetic::PerAckSegments,
        ] {
            let config = config_of(variant, arithmetic, SlowStart::Plain);
            let cc = (variant.build)(&config);
            assert_eq!(
                (cc.cwnd(), cc.ssthresh()),
                (10_000, u64::MAX),
                "{}",
                variant.name
            );
            let cc = (variant.build)(&Config {
                initial_ssthresh: 20_000,
                ..config
            });
            assert_eq!(cc.ssthresh(), 20_000, "{}", variant.name);
        }
    }
}

#[test]
fn every_variant_keeps_the_laws_over_seeded_operations() {
    for seed in 0..40 {
        let mut dice = Stream::new(seed, "operations");
        let data: Vec<u8> = (0..400).flat_map(|_| dice.bits().to_le_bytes()).collect();
        fuzz_variant(&data);
    }
}

#[test]
fn every_variant_doubles_in_slow_start() {
    // But for the one that runs in the background, whose slow start is slower by its gain.
    for variant in VARIANTS.iter().filter(|variant| variant.name != "ledbat++") {
        for arithmetic in [
            Arithmetic::Bytes,
            Arithmetic::Segments,
            Arithmetic::PerAckBytes,
        ] {
            let mut flow = Bench::new((variant.build)(&config_of(
                variant,
                arithmetic,
                SlowStart::Plain,
            )));
            for _ in 0..10 {
                flow.ack(&ack(1_000));
            }
            assert_eq!(flow.cc.cwnd(), 20_000, "{}", variant.name);
        }
    }
}
