//! Retransmission timeouts, as far as a capture tells them from other retransmissions.

use cclab_units::Time;

/// How much longer than the smoothed RTT a sender waits at least: Linux's `TCP_RTO_MIN`, since
/// its RTO is srtt plus this or more. RFC 6298 (2.4) asks for a second.
const LEAST_WAIT: Time = Time::from_millis(200);

/// A sender's estimate of the RTT, and its timeouts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeouts {
    /// Smoothed RTT by RFC 6298 (2.2, 2.3); None before a sample.
    srtt: Option<Time>,
    /// When an acknowledgement last advanced.
    advanced: Time,
    /// How many there were.
    pub count: u64,
}

impl Timeouts {
    /// An acknowledgement that advances was seen.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        self.advanced = now;
    }

    /// A sample of the RTT.
    #[inline]
    pub fn sample(&mut self, rtt: Time) {
        self.srtt = Some(match self.srtt {
            None => rtt,
            Some(srtt) => {
                Time::from_nanos(srtt.as_nanos() - srtt.as_nanos() / 8 + rtt.as_nanos() / 8)
            }
        });
    }

    /// The earliest byte in flight, last sent at `before`, is sent again. It is a timeout if
    /// neither that byte was sent nor another acknowledged for as long as a timer waits: a
    /// retransmission for duplicate acknowledgements or SACKs comes one RTT after either.
    /// `to_sender` is the time from the capture point to the sender and back.
    pub fn first_sent_again(&mut self, now: Time, before: Time, to_sender: Time) {
        let waited = now - before.max(self.advanced + to_sender);
        let rtt = self.srtt.map_or(Time::ZERO, |srtt| srtt + to_sender);
        // A tenth for the difference between its estimate and this one.
        let least = rtt + LEAST_WAIT;
        let least = least - Time::from_nanos(least.as_nanos() / 10);
        self.count += u64::from(waited >= least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn what_comes_a_round_trip_after_progress_is_no_timeout() {
        let mut timeouts = Timeouts::default();
        timeouts.sample(ms(300));
        timeouts.advance(ms(1000));
        timeouts.first_sent_again(ms(1310), ms(1000), ms(0));
        assert_eq!(timeouts.count, 0);
        timeouts.first_sent_again(ms(1500), ms(1000), ms(0));
        assert_eq!(timeouts.count, 1);
        // The timer begins anew.
        timeouts.first_sent_again(ms(1800), ms(1500), ms(0));
        assert_eq!(timeouts.count, 1);
    }
}
