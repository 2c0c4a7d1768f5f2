//! HyStart++ (RFC 9406): slow start grows cautiously once round trips get longer, and ends
//! if they stay so.

use cclab_units::Time;

use super::eighth_of;
use crate::AckSample;

// RFC 9406 section 4.3.
const MIN_RTT_THRESH: Time = Time::from_millis(4);
const MAX_RTT_THRESH: Time = Time::from_millis(16);
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;

/// What slow start does with an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Grows by the usual step divided by this.
    Grow(u64),
    /// Ends here: ssthresh is the window.
    Exit,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    SlowStart,
    /// Conservative slow start: the round trip that began it, and its rounds so far.
    Conservative {
        baseline: Time,
        rounds: u32,
    },
}

/// The algorithm at one flow, for its first slow start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HyStartPlusPlus {
    phase: Phase,
    /// The round ends when this offset is acknowledged.
    window_end: u64,
    last_round_min: Time,
    this_round_min: Time,
    samples: u32,
}

impl HyStartPlusPlus {
    /// `L` for a sender that does not pace (RFC 9406 section 4.3).
    pub(crate) const SLOW_START_LIMIT: u64 = 8;

    pub(crate) fn new() -> HyStartPlusPlus {
        HyStartPlusPlus {
            phase: Phase::SlowStart,
            window_end: 0,
            last_round_min: Time::NEVER,
            this_round_min: Time::NEVER,
            samples: 0,
        }
    }

    /// Takes in an acknowledgement of slow start (RFC 9406 section 4.2).
    pub(crate) fn on_ack(&mut self, ack: &AckSample) -> Verdict {
        if ack.snd_una >= self.window_end && self.next_round(ack.snd_nxt) {
            return Verdict::Exit;
        }
        if let Some(rtt) = ack.rtt {
            self.this_round_min = self.this_round_min.min(rtt);
            self.samples += 1;
        }
        if self.samples >= N_RTT_SAMPLE {
            self.judge();
        }
        match self.phase {
            Phase::SlowStart => Verdict::Grow(1),
            Phase::Conservative { .. } => Verdict::Grow(CSS_GROWTH_DIVISOR),
        }
    }

    /// Begins a round; returns whether conservative slow start has lasted its rounds.
    fn next_round(&mut self, snd_nxt: u64) -> bool {
        self.window_end = snd_nxt;
        self.last_round_min = self.this_round_min;
        self.this_round_min = Time::NEVER;
        self.samples = 0;
        match &mut self.phase {
            Phase::SlowStart => false,
            Phase::Conservative { rounds, .. } => {
                *rounds += 1; // the partial one in which it began counts
                *rounds >= CSS_ROUNDS
            }
        }
    }

    fn judge(&mut self) {
        match self.phase {
            Phase::SlowStart => {
                if self.last_round_min == Time::NEVER || self.this_round_min == Time::NEVER {
                    return;
                }
                let rise = eighth_of(self.last_round_min, MIN_RTT_THRESH, MAX_RTT_THRESH);
                if self.this_round_min >= self.last_round_min + rise {
                    self.phase = Phase::Conservative {
                        baseline: self.this_round_min,
                        rounds: 0,
                    };
                }
            }
            // The rise was noise.
            Phase::Conservative { baseline, .. } if self.this_round_min < baseline => {
                self.phase = Phase::SlowStart;
            }
            Phase::Conservative { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round of ten acknowledgements, all with the same round-trip time.
    fn round(hystart: &mut HyStartPlusPlus, n: u64, rtt: u64) -> Vec<Verdict> {
        (0..10)
            .map(|i| {
                hystart.on_ack(&AckSample {
                    rtt: Some(Time::from_millis(rtt)),
                    snd_una: n * 10 + i,
                    snd_nxt: (n + 1) * 10,
                    ..AckSample::default()
                })
            })
            .collect()
    }

    #[test]
    fn a_rise_that_stays_ends_slow_start_after_five_rounds() {
        let mut hystart = HyStartPlusPlus::new();
        assert_eq!(round(&mut hystart, 0, 80), [Verdict::Grow(1); 10]);
        // 89 is not yet 80 + 80/8; 90, above the 89 of the round before by less than 4, is
        // not either: the comparison is with the last round.
        assert_eq!(round(&mut hystart, 1, 89), [Verdict::Grow(1); 10]);
        assert_eq!(round(&mut hystart, 2, 90), [Verdict::Grow(1); 10]);
        let verdicts = round(&mut hystart, 3, 102); // 90 + 11.25 = 101.25
        assert_eq!(verdicts[..7], [Verdict::Grow(1); 7]);
        assert_eq!(verdicts[7..], [Verdict::Grow(4); 3]); // the eighth sample decides
        for n in 4..8 {
            assert_eq!(round(&mut hystart, n, 102), [Verdict::Grow(4); 10], "{n}");
        }
        assert_eq!(round(&mut hystart, 8, 102)[0], Verdict::Exit);
    }

    #[test]
    fn a_fall_below_the_baseline_resumes_slow_start() {
        let mut hystart = HyStartPlusPlus::new();
        round(&mut hystart, 0, 20);
        assert_eq!(round(&mut hystart, 1, 24)[9], Verdict::Grow(4)); // at least 4 ms
        assert_eq!(round(&mut hystart, 2, 23)[9], Verdict::Grow(1));
    }

    #[test]
    fn the_threshold_is_at_most_16_ms() {
        let mut hystart = HyStartPlusPlus::new();
        round(&mut hystart, 0, 400);
        assert_eq!(round(&mut hystart, 1, 415)[9], Verdict::Grow(1));
        assert_eq!(round(&mut hystart, 2, 431)[9], Verdict::Grow(4));
    }
}
