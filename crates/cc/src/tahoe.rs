//! Tahoe: every loss, however it was found, sends the window back to one segment and slow
//! start up to half of what was in flight (Jacobson 1988). Reacts to loss, timeouts and ECN.

use crate::aimd::{self, OnLoss};
use crate::variant::{EcnFeedback, RecoveryName, Signal, Variant, WindowInRecovery};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "tahoe",
    version: 1,
    summary: "Slow start to half the window after every loss",
    reference: "V. Jacobson, Congestion Avoidance and Control, SIGCOMM 1988",
    near: &[],
    kernel: None,
    recovery: Some(RecoveryName::Tahoe),
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Losses,
    departures: &[],
    params: &[],
    relations: &[],
    ops: None,
    build: Some(|config| aimd::build(config, OnLoss::Restart)),
};
