//! The window rule that tahoe, reno, newreno and sack share: additive increase,
//! multiplicative decrease. One file for each way in which stacks count a window.

mod bytes;
mod per_ack_bytes;
mod per_ack_segments;
mod segments;
mod stack;

pub(crate) use stack::Reno;

use crate::lent::lent;
use crate::{Arithmetic, Config, CongestionControl};

/// Where the window goes when a loss is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnLoss {
    /// To the slow-start threshold.
    Halve,
    /// To one segment.
    Restart,
}

/// The rule in the arithmetic of `config`.
pub(crate) fn build(config: &Config, on_loss: OnLoss) -> Box<dyn CongestionControl> {
    match config.arithmetic {
        Arithmetic::Bytes => Box::new(bytes::Bytes::new(config, on_loss)),
        Arithmetic::Segments if on_loss == OnLoss::Halve => lent(config, Reno),
        Arithmetic::Segments => Box::new(segments::Segments::new(config, on_loss)),
        Arithmetic::PerAckBytes => Box::new(per_ack_bytes::PerAckBytes::new(config, on_loss)),
        Arithmetic::PerAckSegments => {
            Box::new(per_ack_segments::PerAckSegments::new(config, on_loss))
        }
    }
}
