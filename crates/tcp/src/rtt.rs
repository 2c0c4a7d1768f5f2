//! Round-trip time and the retransmission timeout it makes (RFC 6298).
//!
//! Two estimators: the standard's, and Linux's, which also remembers the largest deviation
//! of the present and past round trips. Both keep scaled integers, `8 srtt` and
//! `4 rttvar`, as the BSD code that the RFC describes does: with a clock of whole ticks the
//! rounding is then BSD's and ns-2's own.

use std::sync::Arc;

use cclab_units::Time;
use cclab_units::hint::rarely;

use crate::profile::{Profile, RtoFloor, RttClock};

/// No timer of a profile is longer than 2^16 times its minimum: more doublings than these
/// change nothing.
const MAX_BACKOFFS: u32 = 16;

/// The estimator of one connection.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// Shared by flows of one stack.
    profile: Arc<Profile>,
    /// Nanoseconds in one unit of the fields below: 1, 1000 in the kernel's arithmetic, or a
    /// tick of a clock that times one segment a round.
    unit_ns: u64,
    /// 8 srtt, in units.
    srtt_x8: u64,
    /// 4 rttvar, in units. Linux calls this mean deviation `mdev`.
    rttvar_x4: u64,
    sampled: bool,
    min_rtt: Time,
    linux: LinuxVariance,
    /// The timeout before backoff.
    base: Time,
    backoffs: u32,
}

/// What `tcp_rtt_estimator` of Linux 6.12 keeps beside the mean deviation, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct LinuxVariance {
    /// The largest `4 mdev` of this round trip, never below the minimal RTO.
    mdev_max: u64,
    /// What the timeout adds to srtt: rises with `mdev_max` at once, falls once a round.
    rttvar: u64,
    /// The round ends when this offset is acknowledged.
    round_end: u64,
}

impl RttEstimator {
    /// An estimator before its first sample.
    pub fn new(profile: &Arc<Profile>) -> RttEstimator {
        let rules = &profile.rto;
        let unit_ns = match (rules.floor, rules.clock) {
            (RtoFloor::Variance, _) => 1_000,
            (RtoFloor::Total, RttClock::OnePerRound(tick)) => tick.as_nanos().max(1),
            (RtoFloor::Total, _) => 1,
        };
        RttEstimator {
            profile: Arc::clone(profile),
            unit_ns,
            srtt_x8: 0,
            rttvar_x4: 0,
            sampled: false,
            min_rtt: Time::ZERO,
            linux: LinuxVariance::default(),
            base: rules.initial,
            backoffs: 0,
        }
    }

    /// The round-trip time that the profile's clock reads for a segment sent at `sent` and
    /// acknowledged at `now`.
    ///
    /// A ticking clock reads the difference of two tick counts, so that the reading depends
    /// on where in a tick the segment left; it reads at least one tick, as ns-2 and BSD do.
    pub fn quantise(&self, sent: Time, now: Time) -> Time {
        match self.profile.rto.clock {
            RttClock::SendTime => now - sent,
            RttClock::Echo(tick) | RttClock::OnePerRound(tick) => {
                let tick_ns = tick.as_nanos().max(1);
                let ticks = (now.as_nanos() / tick_ns).saturating_sub(sent.as_nanos() / tick_ns);
                tick * ticks.max(1)
            }
        }
    }

    /// Takes in a sample, already as the clock reads it.
    ///
    /// `snd_una` (after this acknowledgement) and `snd_nxt` are offsets that bound the
    /// rounds of Linux's variance. The backoff stays: see [`RttEstimator::on_new_ack`].
    #[inline(always)] // once for each acknowledgement: a call costs more than what it does
    pub fn on_sample(&mut self, rtt: Time, snd_una: u64, snd_nxt: u64) {
        if !self.sampled || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        match self.profile.rto.floor {
            RtoFloor::Total => self.standard_step(rtt),
            RtoFloor::Variance => self.linux_step(rtt.as_micros(), snd_una, snd_nxt),
        }
        self.sampled = true;
    }

    /// RFC 6298 sections 2.2 and 2.3, on scaled integers.
    fn standard_step(&mut self, rtt: Time) {
        // Only a clock that times one segment a round pays a division here.
        let m = if self.unit_ns == 1 {
            rtt.as_nanos()
        } else {
            rtt.as_nanos() / self.unit_ns
        };
        if self.sampled {
            let srtt = self.srtt_x8 >> 3; // alpha = 1/8
            self.rttvar_x4 = self.rttvar_x4 - (self.rttvar_x4 >> 2) + m.abs_diff(srtt); // beta = 1/4
            self.srtt_x8 = self.srtt_x8 - srtt + m;
        } else {
            self.srtt_x8 = m << 3;
            self.rttvar_x4 = m << 1; // rttvar = R/2
        }
        let srtt = Time::from_nanos((self.srtt_x8 >> 3).saturating_mul(self.unit_ns));
        let spread = Time::from_nanos(self.rttvar_x4.saturating_mul(self.unit_ns)); // K = 4
        let timeout = srtt + spread.max(self.profile.rto.granularity);
        self.base = if timeout <= self.profile.rto.min {
            self.profile.rto.min // the common case on short paths, and free of the division below
        } else {
            timeout
                .round_up_to(self.profile.rto.granularity)
                .min(self.profile.rto.max)
        };
    }

    /// One step of Linux 6.12's `tcp_rtt_estimator` on microseconds.
    #[inline(always)] // once for each acknowledgement: a call costs more than what it does
    fn linux_step(&mut self, m: u64, snd_una: u64, snd_nxt: u64) {
        let floor = self.profile.rto.min.as_micros();
        let linux = &mut self.linux;
        if self.sampled {
            let srtt = self.srtt_x8 >> 3;
            let mdev = self.rttvar_x4 >> 2;
            let error = m.abs_diff(srtt);
            self.srtt_x8 = self.srtt_x8 - srtt + m;
            // A sample far below the mean raises the deviation eight times more slowly: a path
            // that became faster is no reason for a long timer (Eifel).
            if m < srtt && error > mdev {
                self.rttvar_x4 += (error - mdev) >> 3;
            } else {
                self.rttvar_x4 = self.rttvar_x4 - mdev + error;
            }
            if self.rttvar_x4 > linux.mdev_max {
                rarely();
                linux.mdev_max = self.rttvar_x4;
                linux.rttvar = linux.rttvar.max(linux.mdev_max);
            }
            if snd_una > linux.round_end {
                rarely();
                if linux.mdev_max < linux.rttvar {
                    linux.rttvar -= (linux.rttvar - linux.mdev_max) >> 2;
                }
                linux.round_end = snd_nxt;
                linux.mdev_max = floor;
            }
        } else {
            rarely();
            self.srtt_x8 = m << 3;
            self.rttvar_x4 = m << 1;
            linux.rttvar = self.rttvar_x4.max(floor);
            linux.mdev_max = linux.rttvar;
            linux.round_end = snd_nxt;
        }
        self.srtt_x8 = self.srtt_x8.max(1);
        let timeout = (self.srtt_x8 >> 3) + linux.rttvar;
        self.base = self.ticks_up(timeout).min(self.profile.rto.max);
    }

    /// `micros` rounded up to the timer's tick. In 32 bits where it fits, as it does up to
    /// 71 minutes: a 64-bit division per acknowledgement costs several times as much.
    fn ticks_up(&self, micros: u64) -> Time {
        let tick = self.profile.rto.granularity.as_micros();
        match (u32::try_from(micros), u32::try_from(tick)) {
            (_, Ok(0 | 1)) => Time::from_micros(micros),
            (Ok(micros), Ok(tick)) => {
                Time::from_micros(u64::from(micros.div_ceil(tick)) * u64::from(tick))
            }
            _ => {
                rarely();
                Time::from_micros(micros).round_up_to(self.profile.rto.granularity)
            }
        }
    }

    /// The retransmission timeout, backed off and within the profile's bounds.
    pub fn rto(&self) -> Time {
        // A kernel's floor lies inside the variance; elsewhere the base is floored already.
        (self.base * (1 << self.backoffs)).min(self.profile.rto.max)
    }

    /// The timer expired: doubles the timeout (RFC 6298 section 5.5).
    pub fn back_off(&mut self) {
        if self.rto() < self.profile.rto.max {
            self.backoffs = (self.backoffs + 1).min(MAX_BACKOFFS);
        }
    }

    /// New data was acknowledged: the timeout is the measured one again.
    ///
    /// Karn's rule is the caller's: after a retransmission it waits with this until a
    /// segment sent once is acknowledged, where its profile says so.
    pub fn on_new_ack(&mut self) {
        self.backoffs = 0;
    }

    /// The timeout until the first sample.
    pub fn start_from(&mut self, timeout: Time) {
        self.base = timeout.max(self.base).min(self.profile.rto.max);
    }

    /// Doublings since the last [`RttEstimator::on_new_ack`].
    pub fn backoffs(&self) -> u32 {
        self.backoffs
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub fn srtt(&self) -> Time {
        Time::from_nanos((self.srtt_x8 >> 3).saturating_mul(self.unit_ns))
    }

    /// The same, to an eighth of the estimator's unit.
    pub(crate) fn fine_srtt(&self) -> Time {
        Time::from_nanos(self.srtt_x8.saturating_mul(self.unit_ns) / 8)
    }

    /// Eight times the smoothed round-trip time and four times its mean deviation, in the
    /// estimator's units.
    pub(crate) fn scaled(&self) -> (u64, u64) {
        (self.srtt_x8, self.rttvar_x4)
    }

    /// Smallest sample so far; zero before the first.
    pub fn min_rtt(&self) -> Time {
        self.min_rtt
    }

    /// Smoothed mean deviation of the samples; zero before the first.
    pub fn rttvar(&self) -> Time {
        Time::from_nanos((self.rttvar_x4 >> 2).saturating_mul(self.unit_ns))
    }

    /// Whether a sample has been taken.
    pub fn sampled(&self) -> bool {
        self.sampled
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::profile::{RtoRules, find};

    fn rules(profile: &str) -> RtoRules {
        find(profile).expect("a profile of the registry").rto
    }

    fn estimator(rto: RtoRules) -> RttEstimator {
        let profile = find("rfc").expect("a profile of the registry");
        RttEstimator::new(&Arc::new(Profile {
            rto,
            ..profile.clone()
        }))
    }

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    #[test]
    fn the_standard_by_hand() {
        let mut rtt = estimator(RtoRules {
            min: ms(200),
            ..rules("rfc")
        });
        assert_eq!(rtt.rto(), Time::from_secs(1)); // section 2.1
        rtt.on_sample(ms(100), 0, 0);
        // srtt 100, rttvar 50: 100 + 4 * 50.
        assert_eq!(
            (rtt.srtt(), rtt.rttvar(), rtt.rto()),
            (ms(100), ms(50), ms(300))
        );
        rtt.on_sample(ms(180), 0, 0);
        // rttvar = 3/4 50 + 1/4 80 = 57.5 (with the old srtt), srtt = 7/8 100 + 1/8 180 = 110.
        assert_eq!(
            (rtt.srtt(), rtt.rttvar()),
            (ms(110), Time::from_micros(57_500))
        );
        assert_eq!(rtt.rto(), ms(340));
        rtt.on_sample(ms(30), 0, 0);
        // rttvar = 3/4 57.5 + 1/4 80 = 63.125, srtt = 7/8 110 + 1/8 30 = 100; 352.5 ticks up.
        assert_eq!(
            (rtt.srtt(), rtt.rttvar()),
            (ms(100), Time::from_micros(63_125))
        );
        assert_eq!(rtt.rto(), ms(353));
        assert_eq!(rtt.min_rtt(), ms(30));
    }

    #[test]
    fn the_whole_is_floored_and_the_variance_has_a_granularity() {
        let mut rtt = estimator(rules("rfc"));
        rtt.on_sample(ms(10), 0, 0);
        assert_eq!(rtt.rto(), Time::from_secs(1)); // section 2.4
        let mut rtt = estimator(RtoRules {
            min: ms(1),
            ..rules("rfc")
        });
        for _ in 0..200 {
            rtt.on_sample(ms(10), 0, 0);
        }
        assert_eq!(rtt.rto(), ms(11)); // 10 + max(G, 0)
    }

    #[test]
    fn backoff_doubles_up_to_the_maximum_and_ends_with_new_data() {
        let mut rtt = estimator(rules("rfc"));
        let seen: Vec<_> = (0..8)
            .map(|_| {
                let rto = rtt.rto().as_millis() / 1000;
                rtt.back_off();
                rto
            })
            .collect();
        assert_eq!(seen, [1, 2, 4, 8, 16, 32, 60, 60]);
        rtt.on_new_ack();
        assert_eq!(rtt.rto(), Time::from_secs(1));
    }

    #[test]
    fn linux_adds_at_least_its_minimum_to_srtt() {
        let mut rtt = estimator(rules("linux-6.12"));
        rtt.on_sample(ms(40), 0, 14_600);
        // mdev_x4 = 80 ms, below 200: rto = 40 + 200.
        assert_eq!(rtt.rto(), ms(240));
        rtt.on_sample(Time::from_micros(40_800), 1_460, 14_600);
        // srtt_x8 = 320000 + 800; srtt = 40100 us; 240.1 ms on a 1 ms timer.
        assert_eq!(
            (rtt.srtt(), rtt.rto()),
            (Time::from_micros(40_100), ms(241))
        );
        // mdev_x4 = 80000 - 20000 + 800.
        assert_eq!(rtt.rttvar(), Time::from_micros(15_200));
    }

    #[test]
    fn linux_remembers_the_largest_deviation_and_forgets_by_rounds() {
        let mut rtt = estimator(rules("linux-6.12"));
        rtt.on_sample(ms(200), 0, 10_000);
        // mdev_x4 = rttvar = 400 ms.
        assert_eq!(rtt.rto(), ms(600));
        rtt.on_sample(ms(1_000), 1_000, 20_000);
        // error 800; mdev_x4 = 400 - 100 + 800 = 1100 = rttvar; srtt = 200 + 800/8 = 300.
        assert_eq!(rtt.rto(), ms(1_400));
        rtt.on_sample(ms(300), 5_000, 20_000);
        // No error: mdev_x4 = 1100 - 275 = 825, within the round: rttvar stays.
        assert_eq!((rtt.srtt(), rtt.rto()), (ms(300), ms(1_400)));
        rtt.on_sample(ms(300), 10_001, 30_000);
        // Past 10000: the round's largest was still 1100, nothing to forget; a new round to 30000.
        assert_eq!(rtt.rto(), ms(1_400));
        rtt.on_sample(ms(300), 30_001, 40_000);
        // mdev_x4 618.75 -> 464.0625 ms was the round's largest: rttvar = 1100 - (1100 - 464.063)/4.
        assert_eq!(rtt.rto(), ms(300 + 942));
    }

    #[test]
    fn linux_discounts_a_sample_far_below_the_mean() {
        let mut rtt = estimator(rules("linux-6.12"));
        rtt.on_sample(ms(400), 0, 10_000);
        rtt.on_sample(ms(100), 1_000, 10_000);
        // error 300 > mdev 200: mdev_x4 = 800 + (300 - 200)/8, not 800 - 200 + 300.
        assert_eq!(rtt.rttvar(), Time::from_micros(812_500 / 4));
        assert_eq!(rtt.srtt(), Time::from_micros(362_500));
    }

    #[test]
    fn a_ticking_clock_counts_the_ticks_between() {
        let ns2 = estimator(rules("ns2"));
        assert_eq!(ns2.quantise(Time::from_micros(9_999), ms(50)), ms(50));
        assert_eq!(ns2.quantise(ms(10), Time::from_micros(59_999)), ms(40));
        assert_eq!(ns2.quantise(ms(11), ms(12)), ms(10)); // at least one tick
        let linux = estimator(rules("linux-6.12"));
        assert_eq!(
            linux.quantise(Time::from_nanos(5), Time::from_nanos(9)),
            Time::from_nanos(4)
        );
    }

    #[test]
    fn ticks_round_as_bsd_does() {
        let mut rtt = estimator(rules("ns2"));
        rtt.on_sample(ms(70), 0, 0);
        // 7 ticks: 8 srtt = 56, 4 rttvar = 14: 7 + 14 ticks.
        assert_eq!(rtt.rto(), ms(210));
        rtt.on_sample(ms(80), 0, 0);
        // 8 srtt = 57, 4 rttvar = 14 - 3 + 1 = 12: 7 + 12 ticks, floored by 200 ms.
        assert_eq!((rtt.srtt(), rtt.rto()), (ms(70), ms(200)));
    }

    proptest! {
        #[test]
        fn the_timer_stays_in_its_bounds(
            profile in prop::sample::select(vec!["rfc", "linux-6.12", "ns2", "ns3-3.1x"]),
            steps in prop::collection::vec((0..4_000_000_000_u64, 0..4_u8), 1..200),
        ) {
            let rules = rules(profile);
            let mut rtt = estimator(rules);
            let mut sent = 0;
            let (mut low, mut high) = (Time::NEVER, Time::ZERO);
            for (ns, kind) in steps {
                match kind {
                    0 => rtt.back_off(),
                    1 => rtt.on_new_ack(),
                    _ => {
                        sent += 1_000;
                        let sample = rtt.quantise(Time::ZERO, Time::from_nanos(ns));
                        (low, high) = (low.min(sample), high.max(sample));
                        rtt.on_sample(sample, sent - 500, sent);
                        // The mean lies among the samples, but for a unit lost to rounding.
                        let unit = Time::from_nanos(rtt.unit_ns);
                        prop_assert!(rtt.srtt() + unit >= low);
                        prop_assert!(rtt.srtt() <= high.max(unit));
                        prop_assert_eq!(rtt.min_rtt(), low);
                    }
                }
                prop_assert!(rtt.rto() >= rules.min.min(rules.initial));
                prop_assert!(rtt.rto() <= rules.max);
            }
        }
    }
}
