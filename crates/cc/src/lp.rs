//! TCP-LP: low priority. The one-way delay shows a queue before it overflows, and the window makes
//! room for others at once (Kuzmanovic and Knightly 2003).
//!
//! Reacts to one-way delay, and as Reno to loss, timeouts and ECN. Alone, and between early
//! indications, its response is Reno's.
//!
//! Two forms: Linux 6.12's (`tcp_lp.c`), in 32 bits and with its estimate of the receiver's tick,
//! which makes most flows plain Reno; and the paper's, in the same arithmetic and with the tick of
//! a millisecond that the clocks here have.

mod linux;
mod paper;

use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::lent::lent;
use crate::module::Modular;
use crate::stamps::{TIMESTAMP_OFFSET, UPTIME};
use crate::variant::{Departure, EcnFeedback, Signal, Variant, WindowInRecovery};
use crate::{Arithmetic, Config, CongestionControl};

/// What a timestamp, 32 bits of milliseconds, can count.
const MOST_SECONDS: f64 = u32::MAX as f64 / 1e3;

pub(crate) const PARAMS: &[Parameter] = &[
    Parameter {
        name: "threshold",
        measure: Measure::Share,
        meaning: "share of the way from the least to the largest delay that means congestion",
        default: 0.15,
        least: 0.0,
        most: 1.0,
    },
    Parameter {
        name: "inference",
        measure: Measure::Whole,
        meaning: "round trips after a reduction without growth, in which another leaves one segment",
        default: 3.0,
        least: 0.0,
        most: 1_000.0,
    },
    Parameter {
        name: TIMESTAMP_OFFSET,
        measure: Measure::Time,
        meaning: "by how much the receiver's timestamps are ahead; drawn at random on linux-6.12, else 0",
        default: f64::NAN,
        least: 0.0,
        most: MOST_SECONDS,
    },
    Parameter {
        name: UPTIME,
        measure: Measure::Time,
        meaning: "how long both clocks have run before; on linux-6.12 only",
        // What the guests of the kernel backends have behind them.
        default: 10.0,
        least: 0.0,
        most: MOST_SECONDS,
    },
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "lp",
    version: 2,
    summary: "Low priority: makes room when the one-way delay grows",
    reference: "A. Kuzmanovic, E. Knightly, TCP-LP, INFOCOM 2003; Linux 6.12",
    near: &[],
    kernel: Some(InKernel::Module {
        name: "tcp_lp",
        symbol: "CONFIG_TCP_CONG_LP",
    }),
    recovery: None,
    params: PARAMS,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Delay,
    departures: &[Departure::NarrowedByDelay],
    relations: &[],
    ops: Some(|config| Box::new(linux::Lp::new(config))),
    build: Some(build),
};

fn build(config: &Config) -> Box<dyn CongestionControl> {
    match config.arithmetic {
        Arithmetic::Segments => lent(config, linux::Lp::new(config)),
        _ => Box::new(Modular::new(config, paper::Lp::new(config))),
    }
}

/// Ticks per second of a clock of timestamps (`TCP_TS_HZ`), and of what a delay is counted in.
pub(crate) const TICKS: u32 = 1_000;

/// What parameters set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// In hundredths of the range of delays.
    pub(crate) threshold: u32,
    /// In round trips.
    pub(crate) inference_rtts: u32,
}

impl Limits {
    pub(crate) fn of(config: &Config) -> Limits {
        Limits {
            threshold: (config.params.get("threshold") * 100.0).round() as u32,
            inference_rtts: config.params.get("inference") as u32,
        }
    }
}

/// One-way delays in milliseconds and 32 bits, as the kernel has them: all of it wraps, and what
/// is kept times 8 loses three bits more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delays {
    /// Smoothed, times 8; zero before the first sample (`sowd`).
    pub(crate) smoothed: u32,
    /// `owd_min`.
    pub(crate) least: u32,
    /// `owd_max`.
    pub(crate) most: u32,
    /// The largest sample, of which the largest but one is believed (`owd_max_rsv`).
    pub(crate) reserved: u32,
}

impl Delays {
    pub(crate) const NONE: Delays = Delays {
        smoothed: 0,
        least: u32::MAX,
        most: 0,
        reserved: 0,
    };

    /// `tcp_lp_rtt_sample`, of a delay that is known.
    pub(crate) fn take(&mut self, delay: u32) {
        self.least = self.least.min(delay);
        if delay > self.most {
            self.most = match self.reserved {
                0 => delay,
                reserved => delay.min(reserved),
            };
            self.reserved = self.reserved.max(delay);
        }
        self.smoothed = match self.smoothed {
            0 => delay << 3,
            smoothed => smoothed.wrapping_sub(smoothed >> 3).wrapping_add(delay),
        };
    }

    /// The delay that means congestion, `threshold` hundredths of the way to the largest.
    pub(crate) fn limit(&self, threshold: u32) -> u32 {
        let range = self.most.wrapping_sub(self.least);
        self.least.wrapping_add(threshold.wrapping_mul(range) / 100)
    }

    /// After an indication the extremes start again from what the delay is.
    pub(crate) fn start_again(&mut self) {
        self.least = self.smoothed >> 3;
        self.most = self.smoothed >> 2;
        self.reserved = self.smoothed >> 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_delay_but_one_counts() {
        let mut delays = Delays::NONE;
        let mut seen = Vec::new();
        for delay in [20, 100, 60] {
            delays.take(delay);
            seen.push((delays.most, delays.reserved));
        }
        assert_eq!(seen, [(20, 20), (20, 100), (60, 100)]);
        // 160; 160 - 20 + 100 = 240; 240 - 30 + 60 = 270.
        assert_eq!((delays.least, delays.smoothed), (20, 270));
        assert_eq!(delays.limit(15), 26); // 20 + 15 * 40 / 100
        delays.start_again();
        assert_eq!((delays.least, delays.most, delays.reserved), (33, 67, 67));
    }

    /// 2^29 ms times 8 do not fit; 15 (2^32 - 1) is 2^32 - 15 modulo 2^32.
    #[test]
    fn delays_wrap_at_32_bits() {
        let mut delays = Delays::NONE;
        delays.take(1 << 29);
        assert_eq!(delays.smoothed, 0);
        let unknown = Delays {
            most: 7,
            least: 8,
            ..Delays::NONE
        };
        assert_eq!(unknown.limit(15), 8 + (u32::MAX - 14) / 100);
    }
}
