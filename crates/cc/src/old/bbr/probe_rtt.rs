//! The round-trip time without a queue: the smallest of ten seconds. When nothing smaller came for
//! so long, four segments in flight for 200 ms let every flow see the path without its queue.

use cclab_units::Time;

use super::{Bbr, LEAST_CWND, Mode, Sample};
use crate::{AckSample, Cx};

/// The estimate and the dip that renews it.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    /// Microseconds; `u64::MAX` before the first.
    micros: u64,
    /// When it was measured, in milliseconds (`tcp_jiffies32` with a tick of one).
    measured: u64,
    /// Milliseconds for which it holds, and for which a dip lasts.
    window: u64,
    dip: u64,
    /// When the dip may end, in milliseconds, once the window is down.
    done_at: Option<u64>,
    round_done: bool,
    /// Bytes delivered between which segments left whose samples show the dip, not the path.
    limited: (u64, u64),
}

impl MinRtt {
    pub(super) fn new(window_seconds: f64, dip_millis: f64) -> MinRtt {
        MinRtt {
            micros: u64::MAX,
            measured: 0,
            window: (window_seconds * 1_000.0) as u64,
            dip: dip_millis as u64,
            done_at: None,
            round_done: false,
            limited: (1, 0),
        }
    }

    pub(super) fn begin(&mut self, rtt: Option<Time>, now: Time) {
        self.micros = rtt.map_or(u64::MAX, Time::as_micros);
        self.measured = now.as_millis();
    }

    /// Microseconds; `u64::MAX` before the first sample.
    pub(super) fn micros(&self) -> u64 {
        self.micros
    }

    /// Whether a segment that left when `delivered` bytes were is of a dip (`app_limited`).
    pub(super) fn limits(&self, delivered: u64) -> bool {
        (self.limited.0..=self.limited.1).contains(&delivered)
    }
}

impl Bbr {
    /// `bbr_update_min_rtt`.
    pub(super) fn update_min_rtt(&mut self, ack: &AckSample, sample: &Sample, cx: &mut Cx<'_>) {
        let now = cx.now.as_millis();
        let rtt = &mut self.rtt;
        let expired = now > rtt.measured + rtt.window;
        if let Some(micros) = ack.rtt.map(Time::as_micros)
            && (micros < rtt.micros || (expired && !may_be_delayed(ack, self.mss)))
        {
            rtt.micros = micros;
            rtt.measured = now;
        }
        if rtt.dip > 0 && expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.rtt.done_at = None;
            self.rtt.limited.0 = ack.delivered;
        }
        if self.mode == Mode::ProbeRtt {
            self.dip(ack, sample, cx);
        }
        if sample.acked > 0 {
            self.idle_restart = false;
        }
    }

    fn dip(&mut self, ack: &AckSample, sample: &Sample, cx: &mut Cx<'_>) {
        let rtt = &mut self.rtt;
        rtt.limited.1 = ack.delivered + ack.in_flight;
        match rtt.done_at {
            None if sample.in_flight <= LEAST_CWND => {
                rtt.done_at = Some(cx.now.as_millis() + rtt.dip);
                rtt.round_done = false;
                self.bandwidth.begin_round(ack.delivered);
            }
            None => {}
            Some(_) => {
                rtt.round_done |= self.bandwidth.round_start;
                if rtt.round_done {
                    self.check_probe_rtt_done(cx);
                }
            }
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn check_probe_rtt_done(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now.as_millis();
        if self.rtt.done_at.is_none_or(|at| now <= at) {
            return;
        }
        self.rtt.measured = now;
        self.restore_cwnd();
        if self.pipe.is_full() {
            self.enter_probe_bw(cx.now.as_micros(), cx);
        } else {
            self.mode = Mode::Startup;
        }
    }
}

/// Whether the acknowledgement is of a lone segment and may have waited at the receiver
/// (`FLAG_ACK_MAYBE_DELAYED`).
fn may_be_delayed(ack: &AckSample, mss: u64) -> bool {
    let alone = ack.rate.is_none_or(|rate| rate.tx_in_flight <= mss);
    alone && ack.newly_delivered <= mss && ack.newly_acked > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RateSample;
    use crate::old::bbr::tests::{MSS, Path};
    use crate::tests::ack;

    /// `FLAG_ACK_MAYBE_DELAYED`: a lone segment acknowledged cumulatively.
    #[test]
    fn only_the_acknowledgement_of_a_lone_segment_may_be_delayed() {
        let delayed = |bytes, newly_acked, tx_in_flight| {
            let rate = RateSample {
                delivered: bytes,
                interval: Time::from_millis(1),
                prior_delivered: 0,
                app_limited: false,
                tx_in_flight,
                lost: 0,
            };
            let ack = AckSample {
                newly_acked,
                rate: Some(rate),
                ..ack(bytes)
            };
            may_be_delayed(&ack, MSS)
        };
        assert!(delayed(MSS, MSS, MSS));
        assert!(delayed(MSS / 2, MSS, MSS / 2));
        assert!(!delayed(2 * MSS, MSS, MSS));
        assert!(!delayed(MSS, MSS, 2 * MSS));
        assert!(!delayed(MSS, 0, MSS));
        assert!(may_be_delayed(&ack(MSS), MSS));
        assert!(!may_be_delayed(&ack(MSS + 1), MSS));
    }

    /// `bbr_update_min_rtt`: a smaller round trip at once, a larger one when the last is more than ten
    /// seconds old, but not one that the receiver may have stretched.
    #[test]
    fn the_smallest_round_trip_holds_for_ten_seconds() {
        let after = |millis: u64, rtt_ms: u64, bytes| {
            let mut path = Path::in_probe_bw();
            let bbr = path.bbr();
            bbr.rtt.measured = 1_000;
            let now = Time::from_millis(1_000 + millis);
            let mut rng = cclab_units::Stream::new(1, "dice");
            let mut cx = Cx { now, rng: &mut rng };
            let ack = AckSample {
                rtt: Some(Time::from_millis(rtt_ms)),
                ..ack(bytes)
            };
            let sample = bbr.sample(&ack, now);
            bbr.update_min_rtt(&ack, &sample, &mut cx);
            let rtt = bbr.rtt;
            (rtt.micros, rtt.measured - 1_000, bbr.mode == Mode::ProbeRtt)
        };
        assert_eq!(after(5, 99, MSS), (99_000, 5, false));
        assert_eq!(after(5, 100, 2 * MSS), (100_000, 0, false));
        assert_eq!(after(10_000, 150, 2 * MSS), (100_000, 0, false));
        assert_eq!(after(10_001, 150, 2 * MSS), (150_000, 10_001, true));
        assert_eq!(after(10_001, 150, MSS), (100_000, 0, true));
    }

    #[test]
    fn a_dip_of_no_time_is_none() {
        let mut path = Path::in_probe_bw();
        path.bbr().rtt.dip = 0;
        for _ in 0..200 {
            path.round(100, |ack| ack.rtt = Some(Time::from_millis(150)));
            assert_eq!(path.bbr().mode, Mode::ProbeBw);
        }
        assert_eq!(path.bbr().rtt.micros(), 150_000);
    }

    /// `bbr_check_probe_rtt_done`: later than the clock says, and back to where the pipe was.
    #[test]
    fn a_dip_ends_after_its_time_where_it_began() {
        let ends = |millis, full: bool| {
            let mut path = if full {
                Path::in_probe_bw()
            } else {
                Path::new()
            };
            let bbr = path.bbr();
            bbr.mode = Mode::ProbeRtt;
            bbr.rtt.done_at = Some(2_000);
            let mut rng = cclab_units::Stream::new(1, "dice");
            let now = Time::from_millis(millis);
            bbr.check_probe_rtt_done(&mut Cx { now, rng: &mut rng });
            (bbr.mode, bbr.rtt.measured == millis)
        };
        assert_eq!(ends(2_000, true), (Mode::ProbeRtt, false));
        assert_eq!(ends(2_001, true), (Mode::ProbeBw, true));
        assert_eq!(ends(2_001, false), (Mode::Startup, true));
    }
}
