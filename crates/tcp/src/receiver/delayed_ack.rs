//! When an acknowledgement of in-order data may wait, and how long.

use cclab_units::Time;

use crate::profile::{AckDelay, AckPolicy};

/// The receiver's own retransmission timeout before it knows the path (`TCP_TIMEOUT_INIT`);
/// Linux measures gaps between segments by it.
const RTO_BEFORE_SAMPLE: Time = Time::from_secs(1);
/// The least that a Linux timeout adds to the round-trip time (`TCP_RTO_MIN`).
const RTO_MIN: Time = Time::from_millis(200);
/// Linux caps the wait at half a second while no push was seen (`tcp_send_delayed_ack`).
const LONGEST_WAIT: Time = Time::from_millis(500);

/// The clock of delayed acknowledgements.
#[derive(Clone, Debug)]
pub(super) struct DelayedAck {
    /// Of the [`AckPolicy`].
    every: u32,
    quick_acks: u32,
    delay: AckDelay,
    mss: u64,
    deadline: Time,
    /// In-order segments and bytes since the last acknowledgement.
    segments: u32,
    bytes: u64,
    /// Acknowledgements still to be sent at once.
    quick: u32,
    /// Linux's estimate of the time between segments; zero before the first.
    ato: Time,
    last_data: Time,
    /// Round-trip time of the handshake, and the timeout that follows from it.
    rtt: Option<Time>,
    rto: Time,
}

impl DelayedAck {
    pub(super) fn new(policy: &AckPolicy, mss: u64) -> DelayedAck {
        DelayedAck {
            every: policy.every,
            quick_acks: policy.quick_acks,
            delay: policy.delay,
            mss,
            deadline: Time::NEVER,
            segments: 0,
            bytes: 0,
            quick: policy.quick_acks,
            ato: Time::ZERO,
            last_data: Time::ZERO,
            rtt: None,
            rto: RTO_BEFORE_SAMPLE,
        }
    }

    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    /// The handshake measured `rtt`; `None` or zero if it could not.
    pub(super) fn on_handshake_rtt(&mut self, rtt: Option<Time>) {
        if let Some(rtt) = rtt.filter(|&rtt| rtt > Time::ZERO) {
            self.rtt = Some(rtt);
            self.rto = rtt + (rtt * 2).max(RTO_MIN); // the first step of Linux's estimator
        }
    }

    /// The window grew by the segment that comes: it is acknowledged at once
    /// (`tcp_grow_window`).
    #[inline]
    pub(super) fn on_window_growth(&mut self) {
        self.quick |= 1;
    }

    /// Whether every segment is acknowledged at once.
    #[inline]
    pub(super) fn is_quick(&self) -> bool {
        self.quick > 0
    }

    /// The round-trip time of the handshake.
    pub(super) fn rtt(&self) -> Option<Time> {
        self.rtt
    }

    /// In-order data of one segment; returns whether it must be acknowledged at once.
    #[inline]
    pub(super) fn on_data(&mut self, now: Time, bytes: u64) -> bool {
        self.segments += 1;
        self.bytes += bytes;
        let due = match self.delay {
            // BSD and the simulators count segments, whatever their size (RFC 1122
            // section 4.2.3.2 counts full ones, and permits more acknowledgements).
            AckDelay::Fixed(_) => self.segments >= self.every,
            // Linux counts bytes: more than one full segment (`__tcp_ack_snd_check`).
            AckDelay::Adaptive { min, .. } => {
                self.measure_gap(now, min);
                self.bytes > u64::from(self.every.saturating_sub(1)) * self.mss
            }
        };
        if due || self.quick > 0 {
            return true;
        }
        self.schedule(now)
    }

    /// A segment came ahead of a gap. It is acknowledged at once and counts as one of the
    /// quick acknowledgements.
    pub(super) fn on_out_of_order(&mut self) {
        self.segments += 1;
    }

    /// A segment brought nothing new: acknowledgements may have been lost, so that a stack
    /// with quick ones goes back to them (`tcp_enter_quickack_mode`).
    pub(super) fn on_repetition(&mut self) {
        if let AckDelay::Adaptive { min, .. } = self.delay {
            self.quick = self.quick.max(self.quick_acks);
            self.ato = min;
        }
    }

    /// An acknowledgement left.
    #[inline]
    pub(super) fn on_ack_sent(&mut self) {
        if self.segments > 0 && self.quick > 0 {
            self.quick -= 1;
            if let (0, AckDelay::Adaptive { min, .. }) = (self.quick, self.delay) {
                self.ato = min; // leaving the quick mode deflates the estimate
            }
        }
        self.segments = 0;
        self.bytes = 0;
        self.deadline = Time::NEVER;
    }

    /// Returns whether an acknowledgement is due at `now`.
    pub(super) fn on_timer(&mut self, now: Time) -> bool {
        if now < self.deadline {
            return false;
        }
        self.deadline = Time::NEVER;
        if matches!(self.delay, AckDelay::Adaptive { .. }) {
            self.ato = (self.ato * 2).min(self.rto); // the wait was in vain: wait longer
        }
        true
    }

    /// Linux's `tcp_event_data_recv`: half the old estimate and the new gap.
    fn measure_gap(&mut self, now: Time, min: Time) {
        if self.ato == Time::ZERO {
            self.ato = min;
        } else {
            let gap = now - self.last_data;
            if gap <= min / 2 {
                self.ato = self.ato / 2 + min / 2;
            } else if gap < self.ato {
                self.ato = (self.ato / 2 + gap).min(self.rto);
            } else if gap > self.rto {
                // The sender was silent and may have restarted from a small window.
                self.quick = self.quick.max(self.quick_acks);
            }
        }
        self.last_data = now;
    }

    /// Sets the timer; returns whether it would expire so soon that the acknowledgement
    /// leaves now (`tcp_send_delayed_ack`).
    fn schedule(&mut self, now: Time) -> bool {
        let wait = match self.delay {
            AckDelay::Fixed(delay) => delay,
            AckDelay::Adaptive { min, max } => {
                let bound = self
                    .rtt
                    .map_or(LONGEST_WAIT, |rtt| rtt.max(min).min(LONGEST_WAIT));
                let wait = if self.ato > min {
                    self.ato.min(bound)
                } else {
                    self.ato
                };
                if self.deadline <= now + wait / 4 {
                    return true;
                }
                wait.min(max)
            }
        };
        self.deadline = self.deadline.min(now + wait);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::find;

    fn linux() -> DelayedAck {
        let policy = find("linux-6.12").expect("a profile of the registry").ack;
        DelayedAck::new(
            &AckPolicy {
                quick_acks: 0,
                ..policy
            },
            1448,
        )
    }

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    #[test]
    fn linux_counts_bytes_not_segments() {
        let mut ack = linux();
        assert!(!ack.on_data(ms(0), 100));
        assert!(!ack.on_data(ms(1), 100));
        assert!(ack.on_data(ms(2), 1448));
    }

    #[test]
    fn a_fixed_delay_counts_segments() {
        let policy = find("ns3-3.1x").expect("a profile of the registry").ack;
        let policy = AckPolicy {
            quick_acks: 0,
            ..policy
        };
        let mut ack = DelayedAck::new(&policy, 536);
        assert!(!ack.on_data(ms(5), 100));
        assert_eq!(ack.deadline(), ms(205));
        assert!(ack.on_data(ms(6), 100));
    }

    #[test]
    fn the_estimate_follows_the_gap() {
        let mut ack = linux();
        ack.on_handshake_rtt(Some(ms(100)));
        ack.on_data(ms(0), 100);
        assert_eq!(ack.deadline(), ms(40)); // TCP_ATO_MIN
        assert!(ack.on_timer(ms(40)) && ack.ato == ms(80)); // missed: inflated
        ack.on_ack_sent();
        ack.on_data(ms(60), 100);
        // The gap of 60 is between half the minimum and the estimate: 80/2 + 60 = 100.
        assert_eq!((ack.ato, ack.deadline()), (ms(100), ms(160)));
        ack.on_ack_sent();
        ack.on_data(ms(61), 100);
        assert_eq!((ack.ato, ack.deadline()), (ms(70), ms(131))); // 100/2 + 40/2
        ack.on_ack_sent();
        ack.on_data(ms(62), 100);
        ack.on_ack_sent();
        ack.ato = ms(180);
        ack.on_data(ms(63), 100);
        // 180/2 + 20 = 110, but never longer than the round-trip time of 100.
        assert_eq!((ack.ato, ack.deadline()), (ms(110), ms(163)));
    }

    #[test]
    fn a_timer_about_to_expire_is_not_waited_for() {
        let mut ack = linux();
        ack.on_data(ms(0), 100);
        assert!(!ack.on_data(ms(20), 100));
        assert!(ack.on_data(ms(30), 100)); // 40 <= 30 + 40/4
    }

    #[test]
    fn a_long_silence_brings_quick_acknowledgements_back() {
        let policy = find("linux-6.12").expect("a profile of the registry").ack;
        let mut ack = DelayedAck::new(&policy, 1448);
        for i in 0..16 {
            assert!(ack.on_data(ms(i), 1448), "segment {i}");
            ack.on_ack_sent();
        }
        assert!(!ack.on_data(ms(16), 1448));
        ack.on_ack_sent();
        assert!(ack.on_data(ms(5_000), 1448));
    }
}
