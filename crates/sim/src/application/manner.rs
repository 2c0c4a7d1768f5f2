//! How applications that are not bulk write.

use cclab_spec::Application;
use cclab_units::{Rate, Stream, Time, TxClock};

/// Keystrokes that fall together: each next one follows with this probability.
const ANOTHER_KEY: f64 = 0.3;
/// More than these are no keystrokes.
const MOST_KEYS: u64 = 8;

/// An application at work.
#[derive(Clone, Debug)]
pub struct Manner {
    spec: Application,
    dice: Stream,
    /// Bytes of a write of an application with a rate.
    chunk: u64,
    carry: u32,
    /// When the time of writing ends.
    until: Time,
}

impl Manner {
    /// The application of `spec` before it begins; `chunk` bytes are a write where it has a rate.
    pub fn new(spec: &Application, chunk: u64, dice: Stream) -> Manner {
        Manner {
            spec: spec.clone(),
            dice,
            chunk: chunk.max(1),
            carry: 0,
            until: Time::ZERO,
        }
    }

    /// When it writes first if it begins at `start`.
    pub fn begin(&mut self, start: Time) -> Time {
        match self.spec {
            Application::OnOff { on, constant, .. } => {
                self.until = start + self.span(on, constant);
                start
            }
            Application::Telnet { interval, .. } => start + self.span(interval, false),
            _ => start,
        }
    }

    /// The bytes that are written at `now`, and when the next are; [`Time::NEVER`] if that
    /// depends on their acknowledgement.
    pub fn write(&mut self, now: Time) -> (u64, Time) {
        match self.spec {
            Application::OnOff {
                rate,
                on,
                off,
                constant,
            } => (self.chunk, self.after_chunk(now, rate, [on, off], constant)),
            Application::RequestResponse { response, .. } => (response, Time::NEVER),
            Application::Telnet { interval, .. } => {
                let mut keys = 1;
                while keys < MOST_KEYS && self.dice.chance(ANOTHER_KEY) {
                    keys += 1;
                }
                (keys, now + self.span(interval, false))
            }
            // Written in a file of its own.
            Application::Frames(_) | Application::Scheduled { .. } => (0, Time::NEVER),
        }
    }

    /// Whether what it writes is answered.
    pub fn is_answered(&self) -> bool {
        matches!(self.spec, Application::RequestResponse { .. })
    }

    /// Everything written is acknowledged at `now`: when it writes next.
    pub fn on_idle(&mut self, now: Time) -> Time {
        match self.spec {
            Application::RequestResponse {
                think, constant, ..
            } => now + self.span(think, constant),
            Application::OnOff { .. }
            | Application::Telnet { .. }
            | Application::Frames(_)
            | Application::Scheduled { .. } => Time::NEVER,
        }
    }

    fn after_chunk(&mut self, now: Time, rate: Rate, [on, off]: [Time; 2], constant: bool) -> Time {
        let next = now + TxClock::new(rate).time_of_next(self.chunk, &mut self.carry);
        if next < self.until {
            return next;
        }
        let begin = self.until.max(now) + self.span(off, constant);
        self.until = begin + self.span(on, constant);
        begin
    }

    fn span(&mut self, mean: Time, constant: bool) -> Time {
        match constant {
            true => mean,
            false => self.dice.exponential(mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes written until `end`.
    fn written(spec: &Application, end: Time) -> u64 {
        let mut manner = Manner::new(spec, 1_000, Stream::new(5, "manner"));
        let (mut at, mut bytes) = (manner.begin(Time::ZERO), 0);
        while at < end {
            let (more, next) = manner.write(at);
            bytes += more;
            at = next;
        }
        bytes
    }

    #[test]
    fn on_off_writes_its_rate_while_it_is_on() {
        let spec = |constant| Application::OnOff {
            rate: Rate::from_bps(8_000_000).expect("positive"),
            on: Time::from_millis(200),
            off: Time::from_millis(600),
            constant,
        };
        // A quarter of 1 MB/s for 100 s, in writes of 1 ms.
        assert_eq!(written(&spec(true), Time::from_secs(100)), 25_000_000);
        // 125 spells of standard deviation 0.2 s: 2 s of 25.
        let drawn = written(&spec(false), Time::from_secs(400)) as f64;
        assert!((drawn / 100e6 - 1.0).abs() < 0.15, "{drawn}");
    }

    #[test]
    fn keystrokes_are_few_bytes_at_their_mean_distance() {
        let spec = Application::Telnet {
            interval: Time::from_millis(100),
            nagle: true,
        };
        // Ten writes a second of 1 / (1 - 0.3) bytes.
        let bytes = written(&spec, Time::from_secs(10_000)) as f64;
        assert!((bytes / (100_000.0 / 0.7) - 1.0).abs() < 0.02, "{bytes}");
    }
}
