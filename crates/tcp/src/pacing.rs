//! Pacing: at a given rate no two bursts leave together.

use cclab_units::{Rate, Time, TxClock};

/// Spaces departures.
#[derive(Debug, Default)]
pub struct Pacer {
    next: Time,
    waiting: bool,
    clock: Option<(Rate, TxClock)>,
}

impl Pacer {
    /// Whether a packet may leave at `now`; if not, the pacer asks for a wake-up.
    #[inline]
    pub fn may_send(&mut self, now: Time, rate: Option<Rate>) -> bool {
        self.waiting = rate.is_some() && self.next > now;
        !self.waiting
    }

    /// A packet of `bytes` leaves at `now` at `rate`.
    #[inline]
    pub fn on_sent(&mut self, now: Time, bytes: u64, rate: Option<Rate>) {
        let Some(rate) = rate else { return };
        let clock = match self.clock {
            Some((known, clock)) if known == rate => clock,
            _ => {
                let clock = TxClock::new(rate);
                self.clock = Some((rate, clock));
                clock
            }
        };
        self.next = self.next.max(now) + clock.time_of(bytes);
    }

    /// How long until a packet may leave.
    pub fn until_departure(&self, now: Time) -> Time {
        self.next.max(now) - now
    }

    /// When the next packet may leave, if one is waiting.
    pub fn deadline(&self) -> Time {
        if self.waiting { self.next } else { Time::NEVER }
    }

    /// The wait may be over.
    pub fn on_timer(&mut self, now: Time) {
        self.waiting &= self.next > now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_keep_the_rate() {
        let rate = Rate::from_bps(12_000_000);
        let mut pacer = Pacer::default();
        let mut now = Time::ZERO;
        let mut sent = 0;
        while sent < 100 {
            if pacer.may_send(now, rate) {
                pacer.on_sent(now, 1500, rate);
                sent += 1;
            } else {
                now = pacer.deadline();
                pacer.on_timer(now);
            }
        }
        assert_eq!(now, Time::from_millis(99));
    }
}
