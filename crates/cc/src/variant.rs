//! What a variant says of itself to the registry.

use crate::{Config, CongestionControl};

/// The loss recovery that a classic variant is named after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryName {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// Fast recovery that the first new ACK ends.
    Reno,
    /// Fast recovery through partial ACKs (RFC 6582).
    NewReno,
    /// The SACK scoreboard (RFC 6675).
    Sack,
}

/// A variant of the registry.
pub struct Variant {
    /// Its name in study files.
    pub name: &'static str,
    /// One line for `cclab list variants`.
    pub summary: &'static str,
    /// Where it is defined.
    pub reference: &'static str,
    /// The loss recovery that belongs to it; `None`: the stack's own.
    pub recovery: Option<RecoveryName>,
    /// Names of the parameters it takes.
    pub params: &'static [&'static str],
    /// Makes a variant at the start of a connection.
    pub build: fn(&Config) -> Box<dyn CongestionControl>,
}
