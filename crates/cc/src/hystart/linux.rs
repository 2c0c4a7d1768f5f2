//! HyStart as Linux 6.12 has it in CUBIC: slow start ends at a train of ACKs longer than half
//! the smallest round trip, or when round trips get longer (Ha and Rhee 2008).

use cclab_units::Time;

use super::eighth_of;
use crate::AckSample;

/// `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`.
const DELAY_MIN: Time = Time::from_millis(4);
const DELAY_MAX: Time = Time::from_millis(16);
/// `hystart_low_window`, in segments.
const LOW_WINDOW: u64 = 16;
/// `hystart_ack_delta_us`: a longer gap breaks a train.
const ACK_DELTA: Time = Time::from_millis(2);
/// Bytes that a burst of offloaded segments may hold (`GSO_MAX_SIZE`, four of them).
const BURST_BYTES: u64 = 4 * 65_536;
/// The most by which such bursts stretch a train.
const BURST_DELAY_MAX: Time = Time::from_millis(1);

/// The algorithm at one flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinuxHyStart {
    round_start: Time,
    last_ack: Time,
    /// The round ends when an offset past this is acknowledged.
    round_end: u64,
    /// Smallest round trip of this round.
    round_rtt: Time,
    samples: u32,
}

impl LinuxHyStart {
    pub(crate) fn new() -> LinuxHyStart {
        LinuxHyStart {
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            round_end: 0,
            round_rtt: Time::NEVER,
            samples: 0,
        }
    }

    /// Begins a round (`bictcp_hystart_reset`).
    pub(crate) fn start_round(&mut self, now: Time, snd_nxt: u64) {
        *self = LinuxHyStart {
            round_start: now,
            last_ack: now,
            round_end: snd_nxt,
            ..LinuxHyStart::new()
        };
    }

    /// Takes in a round-trip sample of slow start; returns whether slow start ends. `cwnd` is
    /// in segments of `mss` bytes, `delay_min` the smallest round trip known to the variant.
    pub(crate) fn on_sample(
        &mut self,
        (now, rtt): (Time, Time),
        delay_min: Time,
        ack: &AckSample,
        (cwnd, mss): (u64, u64),
    ) -> bool {
        if ack.snd_una > self.round_end {
            self.start_round(now, ack.snd_nxt);
        }
        if cwnd < LOW_WINDOW {
            return false;
        }
        self.train_is_long(now, delay_min, ack.srtt, cwnd * mss) | self.delay_rose(rtt, delay_min)
    }

    fn train_is_long(&mut self, now: Time, delay_min: Time, srtt: Time, cwnd: u64) -> bool {
        if now - self.last_ack > ACK_DELTA {
            return false;
        }
        self.last_ack = now;
        // Half the round trip: the train of a sender that does not pace.
        let threshold = (delay_min + burst_delay(srtt, cwnd)) / 2;
        now - self.round_start > threshold
    }

    fn delay_rose(&mut self, rtt: Time, delay_min: Time) -> bool {
        self.round_rtt = self.round_rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.round_rtt > delay_min + eighth_of(delay_min, DELAY_MIN, DELAY_MAX)
    }
}

/// `hystart_ack_delay`: the time of a burst at the rate that the kernel would pace at, which
/// in slow start is twice the window per round trip.
fn burst_delay(srtt: Time, cwnd: u64) -> Time {
    if srtt == Time::ZERO {
        return Time::ZERO;
    }
    let nanos = u128::from(BURST_BYTES) * u128::from(srtt.as_nanos()) / u128::from(2 * cwnd.max(1));
    u64::try_from(nanos).map_or(BURST_DELAY_MAX, |ns| {
        Time::from_nanos(ns).min(BURST_DELAY_MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Time = Time::from_millis(40);

    /// One acknowledgement at `us` into the round that ends at 100.
    fn ends(hystart: &mut LinuxHyStart, us: u64, rtt: Time) -> bool {
        let ack = AckSample {
            snd_una: 50,
            snd_nxt: 200,
            srtt: BASE,
            ..AckSample::default()
        };
        hystart.on_sample((Time::from_micros(us), rtt), BASE, &ack, (20, 1_448))
    }

    fn in_round() -> LinuxHyStart {
        let mut hystart = LinuxHyStart::new();
        hystart.start_round(Time::ZERO, 100);
        hystart
    }

    #[test]
    fn a_train_of_half_the_round_trip_ends_slow_start() {
        let mut hystart = in_round();
        // (40 ms + 1 ms) / 2 = 20.5 ms.
        let first = (1..1_000).find(|i| ends(&mut hystart, i * 500, BASE));
        assert_eq!(first, Some(42));
    }

    #[test]
    fn a_gap_breaks_the_train() {
        let mut hystart = in_round();
        assert!(!ends(&mut hystart, 1_000, BASE));
        assert!((2..20).all(|i| !ends(&mut hystart, 2_500 * i, BASE)));
    }

    #[test]
    fn a_rise_by_an_eighth_after_eight_samples_ends_slow_start() {
        let mut hystart = in_round();
        let risen = Time::from_micros(45_001);
        assert!((0..8).all(|_| !ends(&mut hystart, 10, risen)));
        assert!(ends(&mut hystart, 10, risen));
        let mut hystart = in_round();
        assert!((0..20).all(|_| !ends(&mut hystart, 10, Time::from_millis(45))));
    }

    #[test]
    fn small_windows_are_left_alone() {
        let mut hystart = in_round();
        let ack = AckSample {
            snd_una: 50,
            snd_nxt: 200,
            ..AckSample::default()
        };
        let long = Time::from_millis(500);
        assert!((0..20).all(|_| !hystart.on_sample((long, long), BASE, &ack, (15, 1_448))));
    }

    #[test]
    fn bursts_stretch_a_train_by_a_millisecond_at_most() {
        assert_eq!(burst_delay(BASE, 30_000), BURST_DELAY_MAX);
        // 262144 bytes at twice 100 MB per 40 ms.
        assert_eq!(burst_delay(BASE, 100_000_000), Time::from_nanos(52_428));
    }

    #[test]
    fn a_long_train_whose_delay_rose_shows_it_twice() {
        let mut hystart = in_round();
        let risen = Time::from_micros(45_001);
        // From the ninth sample on the delay ends slow start, from the 42nd on the train does too.
        let shown: Vec<bool> = (1..=45)
            .map(|i| ends(&mut hystart, i * 500, risen))
            .collect();
        assert_eq!(shown.iter().position(|&ends| ends), Some(8));
        assert!(shown[8..].iter().all(|&ends| ends));
    }

    /// `hystart_ack_delay` by hand, for 20 segments of 1448 bytes and round trips of 100 us: 262144
    /// bytes at 57920 per 100 us take 452.6 us, and half of 552.6 us is 276.3 us.
    #[test]
    fn a_train_is_stretched_by_a_burst_at_the_pacing_rate() {
        let base = Time::from_micros(100);
        let ack = AckSample {
            snd_una: 50,
            snd_nxt: 200,
            srtt: base,
            ..AckSample::default()
        };
        let mut hystart = in_round();
        let first = (1..1_000).find(|&us| {
            let sample = (Time::from_micros(us), base);
            hystart.on_sample(sample, base, &ack, (20, 1_448))
        });
        assert_eq!(first, Some(277));
    }

    /// A round ends with an acknowledgement of more than what was sent when it began.
    #[test]
    fn a_round_ends_past_what_was_sent() {
        let after = |snd_una| {
            let mut hystart = in_round();
            let ack = AckSample {
                snd_una,
                snd_nxt: 200,
                srtt: BASE,
                ..AckSample::default()
            };
            let now = Time::from_millis(1);
            assert!(!hystart.on_sample((now, BASE), BASE, &ack, (20, 1_448)));
            (hystart.round_start, hystart.round_end)
        };
        assert_eq!(after(100), (Time::ZERO, 100));
        assert_eq!(after(101), (Time::from_millis(1), 200));
    }
}
