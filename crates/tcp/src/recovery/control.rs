//! Who keeps the window of a flow.

use cclab_cc::{Arithmetic, Config, CongestionControl, Maker, Resumption, StateColumn};
use cclab_units::Rate;
use cclab_units::hint::rarely;

use super::linux::{Finder, Linux};
use crate::profile::{Profile, Recovery};

/// Who keeps the window.
#[expect(
    clippy::large_enum_variant,
    reason = "most flows have Linux's stack, and all of a flow lies together on large pages"
)]
pub(crate) enum Control {
    /// The variant.
    Own(Box<dyn CongestionControl>),
    /// Linux's stack, which calls the variant's hooks.
    Linux(Linux),
}

impl Control {
    /// What `maker` makes, for a flow that repairs losses by `recovery`. Only Linux's stack keeps
    /// the window; on others a variant without one is lent one.
    pub fn new(maker: &Maker, config: &Config, profile: &Profile, recovery: Recovery) -> Control {
        let finder = match recovery {
            _ if profile.arithmetic != Arithmetic::Segments => None,
            Recovery::RackPrr => Some(Finder::Time),
            Recovery::Sack => Some(Finder::Count),
            Recovery::NewReno => Some(Finder::Duplicates),
            Recovery::Tahoe | Recovery::Reno | Recovery::Vegas => None, // the kernel has none
        };
        match (maker.make(config), finder) {
            (cclab_cc::Control::Stack(ops), Some(finder)) => {
                Control::Linux(Linux::new(config, ops, finder))
            }
            (made, _) => Control::Own(made.lent(config)),
        }
    }

    /// Whether the stack keeps the window.
    #[inline]
    pub fn is_linux(&self) -> bool {
        matches!(self, Control::Linux(_))
    }

    /// The variant that keeps its window.
    ///
    /// # Panics
    /// If the stack does: its events never come here.
    #[inline]
    pub fn own(&mut self) -> &mut dyn CongestionControl {
        match self {
            Control::Own(own) => &mut **own,
            Control::Linux(_) => unreachable!("the stack keeps the window"),
        }
    }

    /// Whether it is the stack that moves the window: the variant neither keeps it nor sets it at each
    /// acknowledgement.
    pub fn keeps_window(&self) -> bool {
        match self {
            Control::Own(_) => false,
            Control::Linux(linux) => linux.keeps_window(),
        }
    }

    /// Tells the variant that its connection resumes: whether it does what it is told.
    pub fn resume(&mut self, step: Resumption) -> bool {
        match self {
            Control::Own(own) => own.resume(step),
            Control::Linux(linux) => linux.resume(step),
        }
    }

    /// No mark will be told: the other end has no ECN, or none that the variant can do with. Linux's
    /// stack tells a variant as the connection begins.
    pub fn without_ecn(&mut self) {
        if let Control::Own(own) = self {
            own.without_ecn();
        }
    }

    /// The congestion window in bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        match self {
            Control::Own(own) => {
                rarely();
                own.cwnd()
            }
            Control::Linux(linux) => linux.cwnd(),
        }
    }

    /// The slow-start threshold in bytes; `u64::MAX` before it is known.
    pub fn ssthresh(&self) -> u64 {
        match self {
            Control::Own(own) => own.ssthresh(),
            Control::Linux(linux) => linux.ssthresh(),
        }
    }

    /// The columns of the variant's inner state.
    pub fn state_columns(&self) -> &'static [StateColumn] {
        match self {
            Control::Own(own) => own.state_columns(),
            Control::Linux(linux) => linux.state_columns(),
        }
    }

    /// Writes the variant's inner state into `values`, one for each column.
    pub fn tell_state(&self, values: &mut [f64]) {
        match self {
            Control::Own(own) => own.tell_state(values),
            Control::Linux(linux) => linux.tell_state(values),
        }
    }

    /// The rate at which the variant asks payload to leave.
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        match self {
            Control::Own(own) => {
                rarely();
                own.pacing_rate()
            }
            Control::Linux(linux) => linux.pacing_rate(),
        }
    }
}
