//! What a flow has to send, and when.

mod frames;
mod manner;
mod scheduled;

use cclab_spec::{Application as Spec, Flow};
use cclab_trace::Playback;
use cclab_units::{Stream, Time};

use frames::Frames;
use manner::Manner;
use scheduled::Scheduled;

/// Far more than any run can send, far below the end of the number range.
const ENDLESS: u64 = 1 << 62;

/// Writes that come closer together than this are made together: however fast an application
/// writes, it acts 100,000 times a second at most.
const BATCH: Time = Time::from_micros(10);
/// Writes per second from which on that is so.
const BATCHED: f64 = 1e5;

/// An application that writes to a flow.
#[derive(Clone, Debug)]
pub struct Application {
    /// Bytes it writes in all.
    total: u64,
    /// `None`: everything at once.
    pace: Option<Pace>,
    /// What it is, if it is not bulk.
    manner: Option<Box<Manner>>,
    /// What it keeps to, if that changes at given times.
    scheduled: Option<Box<Scheduled>>,
    /// What it makes, if that is frames.
    frames: Option<Box<Frames>>,
    written: u64,
    next_write: Time,
    /// When it stops whatever it has written.
    stop: Time,
}

/// Writes at regular distances: write `k`, counted from 0, comes `k / per_second` seconds after
/// `start`, rounded to the nanosecond.
#[derive(Clone, Copy, Debug)]
struct Pace {
    start: Time,
    /// Bytes per write.
    size: u64,
    per_second: f64,
}

impl Pace {
    fn at(&self, write: u64) -> Time {
        self.start + Time::from_secs_f64(write as f64 / self.per_second)
    }

    /// How many writes have come by `now`.
    fn count_until(&self, now: Time) -> u64 {
        let mut count = ((now - self.start).as_secs_f64() * self.per_second) as u64;
        // The estimate is off by what rounding to nanoseconds makes of it: a write or two, or as
        // many as fit a nanosecond where that is more.
        while count > 0 && self.at(count - 1) > now {
            count -= 1;
        }
        while self.at(count) <= now && self.per_second < 1e9 {
            count += 1;
        }
        count
    }
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
    /// only their rate is given. What it draws comes from `dice`.
    pub fn new(flow: &Flow, start: Time, mss: u64, dice: Stream) -> Application {
        let pace = flow.writes_per_second.map(|per_second| Pace {
            start,
            size: flow.write_size.unwrap_or(mss),
            per_second,
        });
        let stop = flow
            .duration
            .map_or(Time::NEVER, |duration| start + duration);
        let (mut manner, mut scheduled, mut frames) = (None, None, None);
        match &flow.application {
            Some(Spec::Scheduled { schedule }) => {
                scheduled = Some(Box::new(Scheduled::new(schedule, start, mss)));
            }
            Some(Spec::Frames(media)) => frames = Some(Box::new(Frames::new(media, start, stop))),
            Some(spec) => manner = Some(Box::new(Manner::new(spec, mss, dice))),
            None => {}
        }
        let next_write = manner.as_mut().map_or(start, |manner| manner.begin(start));
        Application {
            total: flow.transfer.unwrap_or(ENDLESS),
            pace,
            manner,
            scheduled,
            frames,
            written: 0,
            next_write,
            stop,
        }
    }

    /// One that never writes: someone else does.
    pub fn idle() -> Application {
        Application {
            total: ENDLESS,
            pace: None,
            manner: None,
            scheduled: None,
            frames: None,
            written: 0,
            next_write: Time::NEVER,
            stop: Time::NEVER,
        }
    }

    /// When the application acts next.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.next_write.min(self.stop)
    }

    /// Whether what arrives may matter to it; of bulk nothing does.
    #[inline]
    pub fn is_interactive(&self) -> bool {
        self.manner.is_some() || self.frames.is_some()
    }

    /// Whether the receiving side, which has `received` bytes, answers them at once.
    #[cold]
    #[inline(never)]
    pub fn is_answered(&self, received: u64) -> bool {
        match &self.manner {
            None => false,
            Some(manner) => manner.is_answered() && received == self.written,
        }
    }

    /// The receiving side has everything up to offset `received` at `now`.
    #[cold]
    #[inline(never)]
    pub fn on_received(&mut self, now: Time, received: u64) {
        if let Some(frames) = &mut self.frames {
            frames.on_received(now, received);
        }
    }

    /// Everything up to offset `sent` has left, for applications that leave out what would be late.
    pub fn on_sent(&mut self, sent: u64) {
        if let Some(frames) = &mut self.frames {
            frames.on_sent(sent);
        }
    }

    /// The run ends at `end`, if it says so: frames that would be made then are none of it.
    pub fn end_at(&mut self, end: Option<Time>) {
        if let (Some(frames), Some(end)) = (&mut self.frames, end) {
            frames.end_at(end);
        }
    }

    /// Its frames as who watches them sees them, and how many there were, if it makes any.
    pub fn playback(self) -> Option<(Playback, u64)> {
        self.frames.map(|frames| frames.playback())
    }

    /// Everything up to offset `acked` is acknowledged at `now`, for applications that wait for
    /// that.
    #[cold]
    #[inline(never)]
    pub fn on_acked(&mut self, now: Time, acked: u64) {
        if let Some(manner) = &mut self.manner
            && self.next_write == Time::NEVER
            && acked >= self.written
            && self.written < self.total
            && self.stop > now
        {
            self.next_write = manner.on_idle(now);
        }
    }

    /// Whether it stops at `now` to write as much as there is room for: what did not fit into the send
    /// buffer it has not written.
    pub fn holds_back(&self, now: Time) -> bool {
        let scheduled = self.scheduled.as_ref();
        scheduled.is_some_and(|scheduled| scheduled.holds_back(now))
    }

    /// It has written up to offset `written` after all.
    pub fn on_withdrawn(&mut self, written: u64) {
        self.written = written;
    }

    /// Acts at `now`, when its deadline has come.
    pub fn act(&mut self, now: Time) -> Act {
        if let Some(scheduled) = &mut self.scheduled {
            let (written, next) = scheduled.write(now, self.written, self.total);
            (self.written, self.next_write) = (written, next);
            return self.acted(now);
        }
        if let Some(frames) = &mut self.frames {
            (self.written, self.next_write) = frames.write(now, self.written);
            return self.acted(now);
        }
        match (&mut self.manner, self.pace) {
            (Some(manner), _) => {
                while self.next_write <= now && self.written < self.total {
                    let (bytes, next) = manner.write(self.next_write);
                    self.written = (self.written + bytes).min(self.total);
                    self.next_write = next;
                }
            }
            (None, None) => {
                if self.next_write <= now {
                    self.written = self.total;
                    self.next_write = Time::NEVER;
                }
            }
            (None, Some(pace)) => {
                // Writes further apart come at their own times.
                let batch_end = if pace.per_second > BATCHED {
                    now + BATCH
                } else {
                    now
                };
                let writes = pace.count_until(now);
                self.written = writes.saturating_mul(pace.size).min(self.total);
                self.next_write = match self.written == self.total {
                    true => Time::NEVER,
                    false => pace.at(writes).max(batch_end),
                };
            }
        }
        if self.written == self.total {
            self.next_write = Time::NEVER;
        }
        self.acted(now)
    }

    /// What it has done at `now`.
    fn acted(&mut self, now: Time) -> Act {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(per_second: f64) -> Pace {
        Pace {
            start: Time::from_secs(1),
            size: 100,
            per_second,
        }
    }

    #[test]
    fn every_write_is_counted_at_its_own_instant() {
        for per_second in [0.3, 3.0, 50.0, 69_000.0, 123_456.789] {
            let pace = pace(per_second);
            for write in [0, 1, 2, 3, 10, 999, 100_000] {
                let at = pace.at(write);
                assert_eq!(pace.count_until(at), write + 1, "{per_second}");
                let before = at - Time::from_nanos(1);
                assert_eq!(pace.count_until(before), write, "{per_second}");
            }
        }
    }

    #[test]
    fn absurd_rates_cost_no_more_than_high_ones() {
        let mut application = Application {
            total: ENDLESS,
            manner: None,
            scheduled: None,
            frames: None,
            pace: Some(pace(1e12)),
            written: 0,
            next_write: Time::from_secs(1),
            stop: Time::NEVER,
        };
        let mut acts = 0;
        while application.deadline() <= Time::from_millis(1_010) {
            application.act(application.deadline());
            acts += 1;
        }
        assert_eq!(acts, 1_001);
        // 10 ms at 10^12 writes of 100 bytes a second, to what a float of seconds resolves.
        assert!(application.written.abs_diff(1_000_000_000_000) < 1_000_000);
    }
}
