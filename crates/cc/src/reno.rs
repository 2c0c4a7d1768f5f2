//! Reno: additive increase of a segment per round trip, halving at a loss (RFC 5681).
//!
//! Reacts to loss, timeouts and ECN. Response to random loss at rate p: about
//! `sqrt(3/2) / sqrt(p)` segments per round trip (Mathis et al. 1997), less the timeouts that
//! follow from recovery's end at the first new acknowledgement.

use cclab_units::InKernel;

use crate::aimd::{self, OnLoss};
use crate::variant::{EcnFeedback, Near, RecoveryName, Signal, Variant, WindowInRecovery};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "reno",
    version: 2,
    summary: "AIMD; fast recovery ends at the first new ACK",
    reference: "RFC 2581, RFC 5681",
    near: &[Near::of("aimd")],
    kernel: Some(InKernel::BuiltIn),
    recovery: Some(RecoveryName::Reno),
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
