//! What holds a sender back, and for how long.

use cclab_units::hint::unlikely;
use cclab_units::{Noted, Time};

use crate::fault::Fault;
use crate::sender::Sender;

/// The reason why nothing more leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The congestion window.
    Cwnd,
    /// The receiver's window.
    Rwnd,
    /// Nothing to send.
    Application,
    /// Nothing to send because the send buffer is full of unacknowledged data.
    Sndbuf,
    /// The pacing rate.
    Pacing,
}

const LIMITS: usize = 5;

/// Keeps account of the limits in force over time, and of the window over time.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    spent: [Time; LIMITS],
    current: Option<Limit>,
    since: Time,
    running: bool,
    cwnd: u64,
    cwnd_since: Time,
    cwnd_seconds: f64,
    started: Time,
    stopped: Noted,
}

impl Limits {
    pub(crate) fn start(&mut self, now: Time, cwnd: u64) {
        *self = Limits {
            running: true,
            started: now,
            since: now,
            cwnd,
            cwnd_since: now,
            ..Limits::default()
        };
    }

    /// From now on `limit` holds the sender back.
    #[inline]
    pub(crate) fn on_limit(&mut self, now: Time, limit: Limit) {
        if self.current != Some(limit) {
            self.account(now);
            self.current = Some(limit);
        }
    }

    #[inline(never)]
    fn account(&mut self, now: Time) {
        if let Some(limit) = self.current.filter(|_| self.running) {
            self.spent[limit as usize] += now - self.since;
        }
        self.since = now;
    }

    /// From now on the window is `cwnd` bytes.
    #[inline]
    pub(crate) fn on_cwnd(&mut self, now: Time, cwnd: u64) {
        if unlikely(self.cwnd != cwnd) && self.running {
            self.change_cwnd(now, cwnd);
        }
    }

    #[inline(never)]
    fn change_cwnd(&mut self, now: Time, cwnd: u64) {
        self.cwnd_seconds += self.cwnd as f64 * (now - self.cwnd_since).as_secs_f64();
        self.cwnd_since = now;
        self.cwnd = cwnd;
    }

    pub(crate) fn stop(&mut self, now: Time) {
        if self.running {
            self.account(now);
            let cwnd = self.cwnd;
            self.on_cwnd(now, cwnd.wrapping_add(1));
            self.running = false;
            self.stopped = Noted::at(now);
        }
    }

    /// Time spent under `limit` until `now`.
    pub fn spent(&self, limit: Limit, now: Time) -> Time {
        let open = if self.running && self.current == Some(limit) {
            now - self.since
        } else {
            Time::ZERO
        };
        self.spent[limit as usize] + open
    }

    /// Mean window in bytes from the start to the end, or to `now`.
    pub fn cwnd_mean(&self, now: Time) -> f64 {
        let end = self.stopped.time().unwrap_or(now);
        let open = if self.running {
            self.cwnd as f64 * (end - self.cwnd_since).as_secs_f64()
        } else {
            0.0
        };
        let span = (end - self.started).as_secs_f64();
        if span > 0.0 {
            (self.cwnd_seconds + open) / span
        } else {
            self.cwnd as f64
        }
    }
}

impl Sender {
    /// Accounts for the window now in force. A variant whose window or rate makes no sense ends
    /// the connection.
    #[inline(always)] // once for each acknowledgement: a call costs more than what it does
    pub(crate) fn note_window(&mut self, now: Time) {
        let cwnd = self.flight.cc.cwnd();
        match Fault::of(cwnd, self.flight.cc.pacing_rate()) {
            Some(fault) => self.abort(now, fault),
            None => self.limits.on_cwnd(now, self.flight.window_of(cwnd)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_charged_to_the_limit_in_force() {
        let s = Time::from_secs;
        let mut limits = Limits::default();
        limits.start(s(1), 10);
        limits.on_limit(s(2), Limit::Cwnd);
        limits.on_cwnd(s(3), 20);
        limits.on_limit(s(5), Limit::Rwnd);
        assert_eq!(limits.spent(Limit::Rwnd, s(6)), s(1));
        limits.stop(s(7));
        limits.on_limit(s(9), Limit::Application);
        assert_eq!(limits.spent(Limit::Cwnd, s(9)), s(3));
        assert_eq!(limits.spent(Limit::Rwnd, s(9)), s(2));
        assert_eq!(limits.spent(Limit::Application, s(9)), s(0));
        // 10 bytes for 2 s, 20 bytes for 4 s.
        assert!((limits.cwnd_mean(s(9)) - 100.0 / 6.0).abs() < 1e-9);
    }
}
