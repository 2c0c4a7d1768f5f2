//! Pacing: at a given rate no two bursts leave together.

use cclab_units::{Rate, Time, TxClock};

/// Nanoseconds in a second.
const NANOSECONDS: u64 = 1_000_000_000;

/// Spaces departures.
///
/// Segments of a burst do not ask; the next burst waits for the time of all of them. In Linux one
/// that left late, because the window and not the rate held it, shortens the wait by as much, up
/// to half (`tcp_update_skb_after_send`).
#[derive(Debug, Default)]
pub struct Pacer {
    next: Time,
    waiting: bool,
    clock: Option<(Rate, TxClock)>,
    /// Whether a late burst shortens the wait, and how late the last one was.
    catches_up: bool,
    late: Time,
}

impl Pacer {
    /// A pacer in whose stack a late burst shortens the wait for the next, or does not.
    pub fn new(catches_up: bool) -> Pacer {
        Pacer {
            catches_up,
            ..Pacer::default()
        }
    }

    /// Whether a packet may leave at `now`; if not, the pacer asks for a wake-up.
    #[inline]
    pub fn may_send(&mut self, now: Time, rate: Option<Rate>) -> bool {
        self.waiting = rate.is_some() && self.next > now;
        !self.waiting
    }

    /// A packet of `bytes` leaves at `now` at `rate`.
    #[inline]
    pub fn on_sent(&mut self, now: Time, bytes: u64, rate: Rate) {
        let clock = match self.clock {
            Some((known, clock)) if known == rate => clock,
            _ => {
                let clock = TxClock::new(rate);
                self.clock = Some((rate, clock));
                clock
            }
        };
        if self.next <= now {
            if self.catches_up {
                self.late = now - self.next;
            }
            self.next = now;
        }
        let time = clock.time_of(bytes);
        let credit = self.late.min(time / 2);
        self.late = self.late - credit;
        self.next = self.next + time - credit;
    }

    /// A packet of `bytes` leaves at `now`, as one whatever it is cut into (Linux
    /// `tcp_update_skb_after_send`); nothing waits for it without a `rate`.
    pub(crate) fn on_packet(&mut self, now: Time, bytes: u64, rate: Option<Rate>) {
        let late = now.max(self.next) - self.next;
        self.next = self.next.max(now);
        if let Some(rate) = rate {
            let per_second = (rate.bps() / 8).max(1);
            // A packet is far below the 18 GB whose nanoseconds would not fit.
            let time = Time::from_nanos(bytes * NANOSECONDS / per_second);
            self.next = self.next + time - late.min(Time::from_nanos(time.as_nanos() / 2));
        }
    }

    /// A packet without data leaves at `now`: what was late by then no longer is.
    pub(crate) fn on_bare(&mut self, now: Time) {
        if self.catches_up {
            self.next = self.next.max(now);
        }
    }

    /// How long until a packet may leave.
    pub fn until_departure(&self, now: Time) -> Time {
        self.next.max(now) - now
    }

    /// When the next packet may leave, whether one is waiting or not.
    pub(crate) fn next_departure(&self) -> Time {
        self.next
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
        let rate = Rate::from_bps(12_000_000).expect("a positive rate");
        let mut pacer = Pacer::default();
        let mut now = Time::ZERO;
        let mut sent = 0;
        while sent < 100 {
            if pacer.may_send(now, Some(rate)) {
                pacer.on_sent(now, 1500, rate);
                sent += 1;
            } else {
                now = pacer.deadline();
                pacer.on_timer(now);
            }
        }
        assert_eq!(now, Time::from_millis(99));
    }

    /// A millisecond a segment: two leave together every two milliseconds.
    #[test]
    fn bursts_leave_together() {
        assert_eq!(six_in_pairs(Pacer::default()), [5, 5, 7, 7, 9, 9]);
        // The first pair left 5 ms late: each of its segments counts half.
        assert_eq!(six_in_pairs(Pacer::new(true)), [5, 5, 6, 6, 8, 8]);
    }

    /// `tcp_update_skb_after_send`: a packet counts as one, by whole nanoseconds at bytes a second.
    #[test]
    fn a_late_packet_shortens_its_own_wait_by_half_at_most() {
        let rate = Rate::from_bps(8 * 1_448_000);
        let mut pacer = Pacer::new(true);
        pacer.on_bare(Time::from_millis(10)); // the handshake's acknowledgement
        pacer.on_packet(Time::from_millis(10), 5 * 1_448, rate);
        assert_eq!(pacer.next_departure(), Time::from_millis(15));
        pacer.on_packet(Time::from_millis(16), 5 * 1_448, rate);
        assert_eq!(pacer.next_departure(), Time::from_millis(20));
        pacer.on_packet(Time::from_millis(29), 5 * 1_448, rate);
        assert_eq!(pacer.next_departure(), Time::from_micros(31_500));
        pacer.on_packet(Time::from_millis(40), 1_448, None); // unpaced
        assert_eq!(pacer.next_departure(), Time::from_millis(40));
    }

    fn six_in_pairs(mut pacer: Pacer) -> Vec<u64> {
        let rate = Rate::from_bps(12_000_000).expect("a positive rate");
        let mut now = Time::from_millis(5);
        let mut sent = Vec::new();
        while sent.len() < 6 {
            if pacer.may_send(now, Some(rate)) {
                for _ in 0..2 {
                    pacer.on_sent(now, 1500, rate);
                    sent.push(now.as_millis());
                }
            } else {
                now = pacer.deadline();
                pacer.on_timer(now);
            }
        }
        sent
    }
}
