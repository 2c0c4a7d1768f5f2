//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation-02, as in Linux
//! `tcp_rate.c`).

use cclab_cc::RateSample;
use cclab_units::{Time, Usual};

use crate::scoreboard::Segment;

/// The connection's side of the estimator.
#[derive(Clone, Copy, Debug)]
pub struct RateEstimator {
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    /// The sender was out of data when `delivered` was below this; 0: it was not.
    app_limited_until: u64,
    sample: Option<Sampled>,
}

/// The most recently sent segment that an acknowledgement delivered.
#[derive(Clone, Copy, Debug)]
struct Sampled {
    prior_delivered: u64,
    prior_time: Time,
    sent: Time,
    first_sent: Time,
    app_limited: bool,
    resent: bool,
    tx_in_flight: u32,
    lost_ever: u32,
}

impl Usual for RateEstimator {
    const USUAL: &'static RateEstimator = &RateEstimator {
        delivered: 0,
        delivered_time: Time::ZERO,
        first_sent: Time::ZERO,
        app_limited_until: 0,
        sample: None,
    };
}

impl RateEstimator {
    /// Bytes delivered over the connection's life.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Stamps a segment that leaves now.
    #[inline]
    pub fn on_send(&mut self, segment: &mut Segment, now: Time, nothing_in_flight: bool) {
        if nothing_in_flight {
            self.first_sent = now;
            self.delivered_time = now;
        }
        segment.sent = now;
        segment.first_sent = self.first_sent;
        segment.delivered = self.delivered;
        segment.delivered_time = self.delivered_time;
        segment.app_limited = self.app_limited_until > 0;
    }

    /// Takes in a segment that was delivered now.
    #[inline]
    pub fn on_delivered(&mut self, segment: &Segment) {
        self.delivered += u64::from(segment.len);
        if self
            .sample
            .is_none_or(|s| segment.delivered >= s.prior_delivered)
        {
            self.sample = Some(Sampled {
                prior_delivered: segment.delivered,
                prior_time: segment.delivered_time,
                sent: segment.sent,
                first_sent: segment.first_sent,
                app_limited: segment.app_limited,
                resent: segment.ever_resent,
                tx_in_flight: segment.tx_in_flight,
                lost_ever: segment.lost_ever,
            });
            self.first_sent = segment.sent;
        }
    }

    /// The sample of the acknowledgement whose segments were just taken in. Samples over less
    /// than the smallest RTT are refused: they come from compressed acknowledgements.
    ///
    /// `lost_ever` counts the bytes taken for lost so far, by this acknowledgement too.
    #[inline]
    pub fn on_ack(&mut self, now: Time, min_rtt: Time, lost_ever: u64) -> Option<RateSample> {
        let sampled = self.sample.take()?;
        self.delivered_time = now;
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let send_interval = sampled.sent - sampled.first_sent;
        let ack_interval = now - sampled.prior_time;
        let interval = send_interval.max(ack_interval);
        if interval < min_rtt || (interval == Time::ZERO && sampled.resent) {
            return None;
        }
        Some(RateSample {
            delivered: self.delivered - sampled.prior_delivered,
            interval,
            prior_delivered: sampled.prior_delivered,
            app_limited: sampled.app_limited,
            tx_in_flight: u64::from(sampled.tx_in_flight),
            lost: u64::from((lost_ever as u32).wrapping_sub(sampled.lost_ever)),
        })
    }

    /// The sender has nothing to send although the window allows it.
    #[inline]
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_stream_is_measured_at_its_rate() {
        // 1000 bytes every 10 ms, RTT 50 ms: 800 kbit/s.
        let mut rate = *RateEstimator::USUAL;
        let ms = Time::from_millis;
        let mut flying = std::collections::VecDeque::new();
        let mut last = None;
        for step in 0..40_u64 {
            let now = ms(step * 10);
            if step >= 5 {
                let segment = flying.pop_front().expect("sent five steps ago");
                rate.on_delivered(&segment);
                last = rate.on_ack(now, ms(50), 0);
            }
            let mut segment = Segment {
                len: 1000,
                ..Segment::default()
            };
            rate.on_send(&mut segment, now, flying.is_empty());
            flying.push_back(segment);
        }
        let sample = last.expect("a sample per ACK in steady state");
        assert_eq!(sample.rate().map(|r| r.bps()), Some(800_000));
        assert!(!sample.app_limited);
    }
}
