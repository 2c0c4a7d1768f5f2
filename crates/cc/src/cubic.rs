//! CUBIC: after a loss the window rises along a cubic of time, flat near the window that
//! lost, and never slower than AIMD would (RFC 9438).
//!
//! Reacts to loss, timeouts and ECN. Response to random loss at rate p over a round trip R in
//! seconds: about `1.054 R^(3/4) / p^(3/4)` segments per round trip on long or fast paths, and
//! that of AIMD on others (RFC 9438 section 5.1).
//!
//! Two forms: the standard's in real numbers, and Linux's in integers, which a study of the
//! kernel's behaviour needs. ns-2 carries Linux's code; ns-3.22 had none and gets the
//! standard's.

mod linux;
mod standard;

use crate::variant::{EcnFeedback, Variant, WindowInRecovery};
use crate::{Arithmetic, Config, CongestionControl};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "cubic",
    summary: "A cubic of the time since the last loss; the default of most systems",
    reference: "RFC 9438",
    recovery: None,
    window: WindowInRecovery::Stack,
    ecn: EcnFeedback::Classic,
    departures: &[],
    params: &[],
    build,
};

fn build(config: &Config) -> Box<dyn CongestionControl> {
    match config.arithmetic {
        Arithmetic::Bytes | Arithmetic::PerAckBytes => Box::new(standard::Cubic::new(config)),
        Arithmetic::Segments | Arithmetic::PerAckSegments => {
            Box::new(linux::LinuxCubic::new(config))
        }
    }
}
