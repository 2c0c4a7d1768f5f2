//! When an acknowledgement of in-order data may wait, and how long, where neither follows from the
//! connection: BSD and the simulators. Linux's is in `linux/acks.rs`.

use cclab_units::{Time, Usual};

use crate::profile::{AckDelay, AckPolicy};

/// The clock of delayed acknowledgements.
#[derive(Clone, Copy, Debug)]
pub(super) struct DelayedAck {
    deadline: Time,
    /// Segments since the last acknowledgement.
    segments: u32,
    /// Acknowledgements that have been sent at once, of those at the start of a connection.
    quick: u32,
}

impl Usual for DelayedAck {
    const USUAL: &'static DelayedAck = &DelayedAck {
        deadline: Time::NEVER,
        segments: 0,
        quick: 0,
    };
}

impl DelayedAck {
    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    /// In-order data of one segment; returns whether `policy` wants it acknowledged at once. Segments
    /// are counted, whatever their size (RFC 1122 section 4.2.3.2 counts full ones, and permits
    /// more acknowledgements).
    #[inline]
    pub(super) fn on_data(&mut self, policy: &AckPolicy, now: Time) -> bool {
        self.segments += 1;
        if self.segments >= policy.every || self.quick < policy.quick_acks {
            return true;
        }
        let delay = match policy.delay {
            AckDelay::Fixed(delay) => delay,
            AckDelay::Adaptive { max, .. } => max,
        };
        self.deadline = self.deadline.min(now + delay);
        false
    }

    /// A segment came ahead of a gap. It is acknowledged at once and counts as one of the
    /// quick acknowledgements.
    pub(super) fn on_out_of_order(&mut self) {
        self.segments += 1;
    }

    /// An acknowledgement left.
    #[inline]
    pub(super) fn on_ack_sent(&mut self) {
        if self.segments > 0 {
            self.quick = self.quick.saturating_add(1);
        }
        self.segments = 0;
        self.deadline = Time::NEVER;
    }

    /// Returns whether an acknowledgement is due at `now`.
    pub(super) fn on_timer(&mut self, now: Time) -> bool {
        if now < self.deadline {
            return false;
        }
        self.deadline = Time::NEVER;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::find;

    #[test]
    fn a_fixed_delay_counts_segments_behind_the_quick_ones() {
        let policy = find("ns3-3.1x").expect("a profile of the registry").ack;
        let policy = AckPolicy {
            quick_acks: 1,
            ..policy
        };
        let mut ack = *DelayedAck::USUAL;
        assert!(ack.on_data(&policy, Time::from_millis(4)));
        ack.on_ack_sent();
        assert!(!ack.on_data(&policy, Time::from_millis(5)));
        assert_eq!(ack.deadline(), Time::from_millis(205));
        assert!(ack.on_data(&policy, Time::from_millis(6)));
    }
}
