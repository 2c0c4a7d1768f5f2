//! SACK: Reno's window with recovery from the scoreboard (RFC 6675), many lost segments per
//! round trip. Reacts to loss, timeouts and ECN; responds to random loss as Reno does.

use crate::aimd::{self, OnLoss};
use crate::variant::{EcnFeedback, RecoveryName, Signal, Variant, WindowInRecovery};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "sack",
    version: 2,
    summary: "AIMD; recovery from the SACK scoreboard",
    reference: "RFC 6675, RFC 5681",
    near: &[],
    kernel: None,
    recovery: Some(RecoveryName::Sack),
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Losses,
    departures: &[],
    params: &[],
    relations: &[],
    ops: Some(|_| Box::new(aimd::Reno)),
    build: Some(|config| aimd::build(config, OnLoss::Halve)),
};
