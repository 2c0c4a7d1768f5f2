//! NewReno: Reno's window with a recovery that goes through partial acknowledgements
//! (RFC 6582), one lost segment per round trip. Reacts to loss, timeouts and ECN; responds to
//! random loss as Reno does.

use crate::aimd::{self, OnLoss};
use crate::variant::{EcnFeedback, RecoveryName, Signal, Variant, WindowInRecovery};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "newreno",
    version: 2,
    summary: "AIMD; fast recovery through partial ACKs",
    reference: "RFC 6582, RFC 5681",
    near: &[],
    kernel: None,
    recovery: Some(RecoveryName::NewReno),
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
