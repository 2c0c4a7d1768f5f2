//! The timers of a stack.

use cclab_units::Time;

use crate::wheel;

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

/// How exactly timers expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoarseTimer {
    /// What is added to the wait for overdue segments.
    pub slack: Time,
    /// What a timer waits is rounded up to these, counted from the one in which it is set, and the
    /// kernel's wheel adds to it; zero: it expires when it is asked to.
    pub tick: Time,
}

impl CoarseTimer {
    /// It expires when it is asked to.
    pub const EXACT: CoarseTimer = CoarseTimer {
        slack: Time::ZERO,
        tick: Time::ZERO,
    };

    /// When a timer expires that is set at `now` and waits for `wait`: never before that is over.
    pub(crate) fn expiry(&self, now: Time, wait: Time) -> Time {
        let tick = self.tick.as_nanos();
        if wait == Time::NEVER || tick == 0 {
            return now + wait;
        }
        let set = now.as_nanos() / tick;
        self.tick * wheel::expiry(set, set + wait.as_nanos().div_ceil(tick))
    }

    /// When what is overdue at `due` is looked at again.
    pub(crate) fn overdue(&self, now: Time, due: Time) -> Time {
        match due {
            Time::NEVER => Time::NEVER,
            due => self.expiry(now, due - now + self.slack),
        }
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
