//! What a flow has to send, and when.

use cclab_spec::Flow;
use cclab_units::Time;

/// Far more than any run can send, far below the end of the number range.
const ENDLESS: u64 = 1 << 62;

/// An application that writes to a flow.
#[derive(Clone, Copy, Debug)]
pub struct Application {
    /// Bytes it writes in all.
    total: u64,
    /// Bytes per write and time between writes; `None`: everything at once.
    pace: Option<(u64, Time)>,
    written: u64,
    next_write: Time,
    /// When it stops whatever it has written.
    stop: Time,
}

/// What the application does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// Everything up to this offset is written.
    pub written: u64,
    /// Nothing more will be.
    pub done: bool,
    /// The flow's time is up: what has not been sent is dropped.
    pub stop: bool,
}

impl Application {
    /// The application of `flow`, which starts at `start`; `mss` is the size of a write where
    /// only their rate is given.
    pub fn new(flow: &Flow, start: Time, mss: u64) -> Application {
        let pace = flow.writes_per_second.map(|per_second| {
            (
                flow.write_size.unwrap_or(mss),
                Time::from_secs_f64(1.0 / per_second),
            )
        });
        Application {
            total: flow.transfer.unwrap_or(ENDLESS),
            pace,
            written: 0,
            next_write: start,
            stop: flow
                .duration
                .map_or(Time::NEVER, |duration| start + duration),
        }
    }

    /// When the application acts next.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.next_write.min(self.stop)
    }

    /// Acts at `now`, when its deadline has come.
    pub fn act(&mut self, now: Time) -> Act {
        match self.pace {
            None => {
                self.written = self.total;
                self.next_write = Time::NEVER;
            }
            Some((size, interval)) => {
                while self.next_write <= now && self.written < self.total {
                    self.written = (self.written + size).min(self.total);
                    self.next_write += interval;
                }
                if self.written == self.total {
                    self.next_write = Time::NEVER;
                }
            }
        }
        let stop = self.stop <= now;
        if stop {
            self.stop = Time::NEVER;
            self.next_write = Time::NEVER;
        }
        Act {
            written: self.written,
            done: self.written == self.total,
            stop,
        }
    }
}
