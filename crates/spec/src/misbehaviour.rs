//! What a receiver does otherwise than TCP asks of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a receiver misbehaves (RFC 9743 section 7.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Misbehaviour {
    /// It acknowledges each full segment in several steps.
    AckDivision {
        /// Acknowledgements for each full segment.
        pieces: u32,
    },
    /// It repeats each acknowledgement.
    DuplicateAcks {
        /// Copies that follow each.
        copies: u32,
    },
    /// It acknowledges segments that have not come yet, and never asks for those that are lost.
    OptimisticAcks {
        /// Full segments beyond those that came.
        ahead: u32,
    },
    /// It acknowledges gaps as if they had come.
    LossConcealment,
    /// It takes marked segments for unmarked ones.
    MarkConcealment,
    /// It takes all segments for marked ones.
    MarkExaggeration,
}

impl Misbehaviour {
    /// Its name in study files.
    pub fn name(&self) -> &'static str {
        match self {
            Misbehaviour::AckDivision { .. } => "ack-division",
            Misbehaviour::DuplicateAcks { .. } => "duplicate-acks",
            Misbehaviour::OptimisticAcks { .. } => "optimistic-acks",
            Misbehaviour::LossConcealment => "loss-concealment",
            Misbehaviour::MarkConcealment => "mark-concealment",
            Misbehaviour::MarkExaggeration => "mark-exaggeration",
        }
    }

    /// Whether it acknowledges data that its application never gets.
    pub fn loses_data(&self) -> bool {
        matches!(
            self,
            Misbehaviour::OptimisticAcks { .. } | Misbehaviour::LossConcealment
        )
    }
}
