//! The smallest round-trip time (5.5.7), and the dip that measures it (5.3.4): half a product in
//! flight for 200 ms and a round, when nothing smaller came for five seconds.

use cclab_units::Time;

use super::long_term::AckPhase;
use super::{Bbr3, Sample, State};
use crate::Cx;

/// The estimate and the dip.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    /// `min_rtt`; [`Time::NEVER`] before the first sample. And when it was measured.
    min: Time,
    measured: Time,
    /// The same for the shorter window after which a dip is due (`probe_rtt_min_delay`).
    recent: Time,
    recent_measured: Time,
    expired: bool,
    interval: Time,
    duration: Time,
    filter: Time,
    /// When the dip may end, once so little is in flight.
    done_at: Option<Time>,
    round_done: bool,
    /// Bytes delivered between which segments left whose samples show the dip, not the path.
    limited: (u64, u64),
}

impl MinRtt {
    pub(super) fn new(interval: f64, duration: f64, filter: f64) -> MinRtt {
        let seconds = |value: f64| Time::from_nanos((value * 1e9) as u64);
        MinRtt {
            min: Time::NEVER,
            measured: Time::ZERO,
            recent: Time::NEVER,
            recent_measured: Time::ZERO,
            expired: false,
            interval: seconds(interval),
            duration: seconds(duration),
            filter: seconds(filter),
            done_at: None,
            round_done: false,
            limited: (1, 0),
        }
    }

    pub(super) fn begin(&mut self, rtt: Option<Time>, now: Time) {
        self.min = rtt.unwrap_or(Time::NEVER);
        self.recent = self.min;
        self.measured = now;
        self.recent_measured = now;
    }

    /// The smallest; `None` before the first.
    pub(super) fn get(&self) -> Option<Time> {
        Some(self.min).filter(|&min| min != Time::NEVER)
    }

    /// The smallest since a dip was last due; `None` before the first.
    pub(super) fn recent(&self) -> Option<Time> {
        Some(self.recent).filter(|&recent| recent != Time::NEVER)
    }

    /// Whether a segment that left when `delivered` bytes were is of a dip.
    pub(super) fn limits(&self, delivered: u64) -> bool {
        (self.limited.0..=self.limited.1).contains(&delivered)
    }
}

impl Bbr3 {
    /// `UpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, sample: &Sample) {
        let rtt = &mut self.rtt;
        rtt.expired = sample.now > rtt.recent_measured + rtt.interval;
        if let Some(latest) = sample
            .rtt
            .filter(|&latest| latest < rtt.recent || rtt.expired)
        {
            rtt.recent = latest;
            rtt.recent_measured = sample.now;
        }
        if rtt.recent < rtt.min || sample.now > rtt.measured + rtt.filter {
            rtt.min = rtt.recent;
            rtt.measured = rtt.recent_measured;
        }
    }

    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, sample: &Sample, cx: &mut Cx<'_>) {
        if self.state != State::ProbeRtt && self.rtt.expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.rtt.done_at = None;
            self.rtt.limited.0 = sample.delivered;
            self.long_term.phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.dip(sample, cx);
        }
        if sample.newly_acked > 0 {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT`.
    fn dip(&mut self, sample: &Sample, cx: &mut Cx<'_>) {
        self.rtt.limited.1 = sample.delivered + sample.in_flight;
        match self.rtt.done_at {
            None if sample.in_flight <= self.probe_rtt_cwnd() => {
                self.rtt.done_at = Some(sample.now + self.rtt.duration);
                self.rtt.round_done = false;
                self.start_round();
            }
            None => {}
            Some(_) => {
                self.rtt.round_done |= self.bandwidth.round_start;
                if self.rtt.round_done {
                    self.check_probe_rtt_done(sample.now, cx);
                }
            }
        }
    }

    /// `CheckProbeRTTDone`, `ExitProbeRTT` (5.3.4.4).
    pub(super) fn check_probe_rtt_done(&mut self, now: Time, cx: &mut Cx<'_>) {
        if self.rtt.done_at.is_none_or(|at| now <= at) {
            return;
        }
        self.rtt.recent_measured = now;
        self.restore_cwnd();
        self.loss.forget_bounds();
        if self.pipe.reached() {
            self.start_down(now, cx);
            self.start_cruise();
        } else {
            self.enter_startup();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbr3::tests::{MSS, Path, sample};

    /// 5.5.7 and 5.3.4.3: a smaller round trip at once; the recent one is renewed after five seconds, the
    /// smallest follows after ten.
    #[test]
    fn round_trips_are_renewed_after_their_times() {
        let after = |millis, rtt: u64, measured: u64| {
            let mut bbr = Path::new().flow.cc;
            let began = Time::from_secs(100);
            bbr.rtt.begin(Some(Time::from_millis(100)), began);
            bbr.rtt.measured = began - Time::from_millis(measured);
            bbr.update_min_rtt(&Sample {
                rtt: Some(Time::from_millis(rtt)),
                ..sample(began + Time::from_millis(millis))
            });
            let MinRtt {
                min,
                recent,
                expired,
                ..
            } = bbr.rtt;
            (min.as_millis(), recent.as_millis(), expired)
        };
        assert_eq!(after(1, 99, 0), (99, 99, false));
        assert_eq!(after(1, 101, 0), (100, 100, false));
        assert_eq!(after(5_000, 150, 0), (100, 100, false));
        assert_eq!(after(5_001, 150, 0), (100, 150, true));
        assert_eq!(after(5_001, 150, 4_999), (100, 150, true));
        assert_eq!(after(5_001, 150, 5_000), (150, 150, true));
    }

    /// 5.3.4.3: the clock begins when half a product is in flight, and runs out after 200 ms and a round.
    #[test]
    fn a_dip_begins_when_little_is_in_flight() {
        let mut bbr = Path::in_state(State::Cruise).flow.cc;
        bbr.state = State::ProbeRtt;
        bbr.rtt.done_at = None;
        let most = bbr.probe_rtt_cwnd();
        let mut rng = cclab_units::Stream::new(1, "dice");
        let mut dip = |bbr: &mut Bbr3, millis, in_flight, round_start| {
            let now = Time::from_secs(50) + Time::from_millis(millis);
            bbr.bandwidth.round_start = round_start;
            let mut cx = Cx { now, rng: &mut rng };
            let sample = Sample {
                in_flight,
                ..sample(now)
            };
            bbr.dip(&sample, &mut cx);
            bbr.rtt
                .done_at
                .map(|at| (at - Time::from_secs(50)).as_millis())
        };
        assert_eq!(dip(&mut bbr, 0, most + 1, false), None);
        assert_eq!(dip(&mut bbr, 10, most, true), Some(210));
        assert_eq!(bbr.rtt.limited.1, 500 * MSS + most);
        assert_eq!(dip(&mut bbr, 300, most, false), Some(210));
        assert_eq!(bbr.state, State::ProbeRtt, "no round has passed");
        dip(&mut bbr, 210, most, true);
        assert_eq!(bbr.state, State::ProbeRtt, "not before its time");
        dip(&mut bbr, 211, most, false);
        assert_eq!(bbr.state, State::Cruise);
    }
}
