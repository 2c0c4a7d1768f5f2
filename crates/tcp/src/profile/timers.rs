//! The timers of a stack.

use cclab_units::Time;

/// The retransmission timer (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoRules {
    /// Before the first sample.
    pub initial: Time,
    /// Lower bound.
    pub min: Time,
    /// Upper bound.
    pub max: Time,
    /// Clock granularity `G`: the least that `4 rttvar` adds, and the tick of the timer.
    pub granularity: Time,
    /// Where the lower bound applies.
    pub floor: RtoFloor,
    /// What an RTT sample is measured by.
    pub clock: RttClock,
    /// Whether the timestamp echo measures what left more than once, which the clock does not
    /// (RFC 6298 section 3).
    pub echo_of_retransmissions: bool,
}

/// A timer that expires later than it is asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoarseTimer {
    /// What is added to any wait.
    pub slack: Time,
    /// It expires at a whole number of these, and one later than the wait needs; zero: at once.
    pub tick: Time,
}

impl CoarseTimer {
    /// It expires when it is asked to.
    pub const EXACT: CoarseTimer = CoarseTimer {
        slack: Time::ZERO,
        tick: Time::ZERO,
    };

    /// When it expires, set at `now` for `due`.
    pub(crate) fn expiry(&self, now: Time, due: Time) -> Time {
        if due == Time::NEVER || self.tick == Time::ZERO {
            return due;
        }
        let set_in_tick = Time::from_nanos(now.as_nanos() % self.tick.as_nanos());
        let wait = due.max(now) - now + self.slack;
        now - set_in_tick + wait.round_up_to(self.tick) + self.tick
    }
}

/// How a SYN without an answer is repeated, and what that costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynRules {
    /// Repetitions before the connection is given up.
    pub retries: u32,
    /// Timeouts at the start that do not double the next (Linux `tcp_syn_linear_timeouts`).
    pub linear_timeouts: u32,
    /// Repetitions from which on the initial window is one segment (RFC 5681 section 3.1: the
    /// first; RFC 6928 section 2: the second).
    pub restart_from: u32,
    /// The timeout when data begins and the handshake gave no sample (RFC 6298 section 5.7).
    pub fallback: Time,
}

/// Where the lower bound of the timer applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoFloor {
    /// To the whole: `max(min, srtt + 4 rttvar)`.
    Total,
    /// To the variance, as Linux does: `srtt + max(min, 4 mdev)`.
    Variance,
}

/// What an RTT sample is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttClock {
    /// The sender's own record of when a segment left, in nanoseconds; retransmitted segments
    /// give no sample (Karn).
    SendTime,
    /// The timestamp echo, in whole ticks of this length; retransmitted segments give none.
    Echo(Time),
    /// One timed segment per round trip, in whole ticks of this length (BSD, ns-2).
    OnePerRound(Time),
}
