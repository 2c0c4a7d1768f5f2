//! The clock of the run: nanoseconds since its time zero.

use cclab_units::Time;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId as Clock, clock_gettime};

use crate::failure::{During, Step, failure};

/// In a guest, time zero lies on a multiple of this: what the set-up took must not matter.
const GUEST_ZERO_NS: u64 = 10_000_000_000;
/// On a host, time zero lies this much after the end of the set-up.
const HOST_LEAD_NS: u64 = 1_500_000_000;

/// When time zero is, and the timer that wakes the agent.
pub struct RunClock {
    /// CLOCK_MONOTONIC at time zero.
    pub monotonic_zero: u64,
    /// CLOCK_REALTIME at time zero.
    pub realtime_zero: u64,
    timer: TimerFd,
}

impl RunClock {
    /// A clock whose time zero is at `zero` of CLOCK_MONOTONIC, or soon.
    pub fn start(guest: bool, zero: Option<u64>) -> Step<RunClock> {
        let step = "the clock";
        // In a guest each reading takes the same virtual time: the middle of two is the instant
        // of the one between.
        let before = read(Clock::CLOCK_MONOTONIC).during(step)?;
        let realtime = read(Clock::CLOCK_REALTIME).during(step)?;
        let after = read(Clock::CLOCK_MONOTONIC).during(step)?;
        let monotonic = before.midpoint(after);
        let monotonic_zero = if let Some(zero) = zero {
            if zero <= after {
                let late =
                    format_args!("the set-up took until {after} ns; the run began at {zero}");
                return Err(failure(step, late));
            }
            zero
        } else if guest {
            (monotonic / GUEST_ZERO_NS + 1) * GUEST_ZERO_NS
        } else {
            monotonic + HOST_LEAD_NS
        };
        let timer = TimerFd::new(
            ClockId::CLOCK_MONOTONIC,
            TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC,
        )
        .during(step)?;
        Ok(RunClock {
            monotonic_zero,
            realtime_zero: realtime + (monotonic_zero - monotonic),
            timer,
        })
    }

    /// The time now; zero before time zero. In a guest each reading costs virtual time: not for
    /// what happens at every packet or sample.
    pub fn now(&self) -> Time {
        let monotonic = read(Clock::CLOCK_MONOTONIC).unwrap_or(0);
        Time::from_nanos(monotonic.saturating_sub(self.monotonic_zero))
    }

    /// What becomes readable at the time given to `wake_at`.
    pub fn timer(&self) -> &TimerFd {
        &self.timer
    }

    /// Sets the timer, and takes back what it was set to before.
    pub fn wake_at(&self, at: Time) -> Step<()> {
        let at = self.monotonic_zero + at.as_nanos();
        let spec = TimeSpec::new((at / 1_000_000_000) as i64, (at % 1_000_000_000) as i64);
        self.timer
            .set(
                Expiration::OneShot(spec),
                TimerSetTimeFlags::TFD_TIMER_ABSTIME,
            )
            .during("the timer")
    }
}

fn read(clock: Clock) -> nix::Result<u64> {
    let spec = clock_gettime(clock)?;
    Ok(spec.tv_sec() as u64 * 1_000_000_000 + spec.tv_nsec() as u64)
}
