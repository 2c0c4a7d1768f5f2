//! What a reader of one format finds next in a file.

use cclab_units::Time;

use super::window::Passed;
use super::{LinkType, Skipped};

/// What follows in a file.
pub(super) enum Found {
    /// A record, and what is to be said of it.
    Record(Record, Option<Skipped>),
    /// Something that was skipped.
    Skipped(Skipped),
    /// No further record; if there are data left, the file is cut off there.
    End,
}

/// A frame, and where its bytes are.
pub(super) struct Record {
    pub time: Time,
    pub link: LinkType,
    pub wire_len: u32,
    pub data: Passed,
}
