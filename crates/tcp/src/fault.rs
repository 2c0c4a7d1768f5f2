//! What a variant may not return: a sender that obeyed would stand still or flood the path.

use std::fmt;

use cclab_units::{Rate, Time};

use crate::sender::{Sender, State};

/// No path holds more: 2^50 bytes are a second at 9 petabit/s.
const MOST_WINDOW: u64 = 1 << 50;
/// A byte a second.
const LEAST_RATE: u64 = 8;
/// A petabit a second.
const MOST_RATE: u64 = 1_000_000_000_000_000;

/// Nonsense that a variant returned. A window computed in real numbers that came out as "not a
/// number" is zero once it is an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A congestion window of no bytes, or of more than any path holds.
    Window(u64),
    /// A pacing rate at which nothing leaves, or above that of any link.
    PacingRate(Rate),
}

impl Fault {
    /// What is wrong with a window and a pacing rate, if anything is.
    #[inline]
    pub(crate) fn of(cwnd: u64, pacing_rate: Option<Rate>) -> Option<Fault> {
        if cwnd == 0 || cwnd > MOST_WINDOW {
            return Some(Fault::Window(cwnd));
        }
        let absurd = |rate: &Rate| !(LEAST_RATE..=MOST_RATE).contains(&rate.bps());
        pacing_rate.filter(absurd).map(Fault::PacingRate)
    }
}

impl Sender {
    /// The variant returned nonsense, which ends the connection.
    #[cold]
    pub(crate) fn abort(&mut self, now: Time, fault: Fault) {
        self.fault = Some(Box::new(fault));
        self.stop(now, State::Aborted);
    }

    /// Why the connection was ended, if its variant returned nonsense.
    pub fn fault(&self) -> Option<Fault> {
        self.fault.as_deref().copied()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Window(0) => write!(
                f,
                "a congestion window of 0 bytes (or one that is no number)"
            ),
            Fault::Window(bytes) => write!(f, "a congestion window of {bytes} bytes"),
            Fault::PacingRate(rate) => write!(f, "a pacing rate of {rate}/s"),
        }
    }
}
