//! The exponentially weighted average of a queue's length, taken at arrivals (Floyd and Jacobson
//! 1993, section 4).

use cclab_units::Time;

/// The average.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Average {
    weight: f64,
    /// The time an average packet takes on the link, in s: how fast idle time counts.
    packet_time: f64,
    value: f64,
    idle_since: Option<Time>,
}

impl Average {
    /// An average of nothing, with the `weight` of a sample and the time of a packet in seconds.
    pub fn new(weight: f64, packet_time: f64) -> Average {
        Average {
            weight,
            packet_time,
            value: 0.0,
            idle_since: Some(Time::ZERO),
        }
    }

    /// Takes in the length that an arrival finds. After an idle time the average is what it would
    /// be had as many small packets come as could have been sent.
    pub fn sample(&mut self, length: f64, now: Time) -> f64 {
        match self.idle_since.take() {
            Some(_) if self.packet_time == 0.0 => self.value = 0.0,
            Some(since) => self.value = self.decayed(since, now),
            None => self.value += self.weight * (length - self.value),
        }
        self.value
    }

    /// The queue is empty from `now` on.
    pub fn idle_from(&mut self, now: Time) {
        self.idle_since = Some(now);
    }

    /// What the average is at `now`, between arrivals.
    pub fn at(&self, now: Time) -> f64 {
        match self.idle_since {
            Some(_) if self.packet_time == 0.0 => 0.0,
            Some(since) => self.decayed(since, now),
            None => self.value,
        }
    }

    fn decayed(&self, since: Time, now: Time) -> f64 {
        let packets = (now - since).as_secs_f64() / self.packet_time;
        self.value * (1.0 - self.weight).powf(packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, with weight 0.002: a queue of 50 packets from one sample to the next takes the
    /// average from 0 to 50 (1 - 0.998^n).
    #[test]
    fn it_follows_a_step_exponentially() {
        let mut average = Average::new(0.002, 0.001);
        average.sample(0.0, Time::ZERO);
        for _ in 0..100 {
            average.sample(50.0, Time::ZERO);
        }
        let expected = 50.0 * (1.0 - 0.998_f64.powi(100));
        assert!((average.at(Time::ZERO) - expected).abs() < 1e-9);
        assert!((expected - 9.072).abs() < 0.001);
    }

    #[test]
    fn idle_time_counts_as_packets_that_could_have_been_sent() {
        let mut average = Average::new(0.002, 0.001);
        average.sample(0.0, Time::ZERO);
        average.value = 10.0;
        average.idle_from(Time::from_secs(1));
        // 500 ms are 500 packets of 1 ms: 10 x 0.998^500 = 3.675.
        let after = average.sample(0.0, Time::from_millis(1500));
        assert!((after - 3.675).abs() < 0.001, "{after}");
        // The queue is no longer idle.
        assert_eq!(average.at(Time::from_secs(9)), after);
    }
}
