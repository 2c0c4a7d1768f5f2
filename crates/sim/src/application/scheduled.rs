//! An application that writes as much as there is room for, keeps to a rate, or pauses, each from
//! given times on.

use cclab_spec::{Pace, PaceChange};
use cclab_units::{Time, TxClock};

/// Such an application at work.
#[derive(Clone, Debug)]
pub struct Scheduled {
    /// The changes to come, the next one last.
    changes: Vec<PaceChange>,
    pace: Pace,
    /// Bytes of a write at a rate.
    chunk: u64,
    carry: u32,
    /// When the next write is due, of those that the pace has.
    due: Time,
}

impl Scheduled {
    /// One with such a `schedule` that begins at `start`, and writes `chunk` bytes at once where it
    /// keeps to a rate.
    pub fn new(schedule: &[PaceChange], start: Time, chunk: u64) -> Scheduled {
        let begun = schedule.partition_point(|change| change.at <= start);
        let before = schedule[..begun].last();
        Scheduled {
            changes: schedule[begun..].iter().rev().copied().collect(),
            pace: before.map_or(Pace::Unlimited, |change| change.pace()),
            chunk: chunk.max(1),
            carry: 0,
            due: start,
        }
    }

    /// Whether it no longer writes all that there is room for from `now` on.
    pub fn holds_back(&self, now: Time) -> bool {
        let next = self.changes.last();
        self.pace == Pace::Unlimited
            && next.is_some_and(|change| change.at <= now && change.pace() != Pace::Unlimited)
    }

    /// Writes at `now` what is due, of `total` bytes of which `written` are; up to where it has written
    /// then, and when it acts next.
    pub fn write(&mut self, now: Time, mut written: u64, total: u64) -> (u64, Time) {
        while let Some(change) = self.changes.pop_if(|change| change.at <= now) {
            self.pace = change.pace();
            self.due = change.at;
            self.carry = 0;
        }
        while self.due <= now && written < total {
            match self.pace {
                Pace::Unlimited => written = total,
                Pace::Limited(rate) => {
                    written = (written + self.chunk).min(total);
                    self.due += TxClock::new(rate).time_of_next(self.chunk, &mut self.carry);
                }
                Pace::Paused => self.due = Time::NEVER,
            }
        }
        if written == total {
            self.due = Time::NEVER;
        }
        let change = self.changes.last().map_or(Time::NEVER, |change| change.at);
        (written, self.due.min(change))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cclab_units::Rate;

    const TOTAL: u64 = 1 << 40;

    fn s(seconds: u64) -> Time {
        Time::from_secs(seconds)
    }

    fn change(at: u64, rate: Pace) -> PaceChange {
        PaceChange::new(s(at), rate)
    }

    fn limited(bps: u64) -> Pace {
        Pace::Limited(Rate::from_bps(bps).expect("positive"))
    }

    #[test]
    fn a_rate_is_kept_until_the_change() {
        // 1000 bytes each 100 ms from 2 s on, none at 5 s, when it pauses.
        let schedule = [change(2, limited(80_000)), change(5, Pace::Paused)];
        let mut application = Scheduled::new(&schedule, s(3), 1_000);
        let (mut now, mut written) = (s(3), 0);
        let mut writes = Vec::new();
        while now < Time::NEVER {
            (written, now) = {
                let (upto, next) = application.write(now, written, TOTAL);
                writes.push((now, upto));
                (upto, next)
            };
        }
        assert_eq!(writes.len(), 21);
        assert_eq!(writes[19], (Time::from_millis(4_900), 20_000));
        assert_eq!(writes[20], (s(5), 20_000));
    }

    #[test]
    fn what_is_withdrawn_is_written_later() {
        let schedule = [change(1, Pace::Paused), change(4, Pace::Unlimited)];
        let mut application = Scheduled::new(&schedule, Time::ZERO, 1_000);
        assert_eq!(application.write(Time::ZERO, 0, TOTAL), (TOTAL, s(1)));
        assert!(!application.holds_back(Time::from_millis(999)));
        assert!(application.holds_back(s(1)));
        assert_eq!(application.write(s(1), 70_000, TOTAL), (70_000, s(4)));
        assert!(!application.holds_back(s(4)));
        assert_eq!(application.write(s(4), 70_000, TOTAL), (TOTAL, Time::NEVER));
    }
}
