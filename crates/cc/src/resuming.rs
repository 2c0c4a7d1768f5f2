//! Resuming from what an earlier connection found, by a variant that models the path (RFC 9959, on BBR):
//! Startup may send at the rate that is remembered before it has measured it.
//!
//! The variant says what it does in Startup and behind it; here is when.

use cclab_interface::Resumption;

/// Whether the connection resumes (the flag "carefully-resuming").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Resuming {
    #[default]
    No,
    At {
        /// At so many bytes a second at least.
        rate: u64,
        before: Pace,
    },
    /// Congestion ended that: what is delivered until Drain is over pushed out others' packets.
    Drains,
}

/// What a variant sent by of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Bytes a second.
    pub rate: u64,
    /// In the unit of the variant.
    pub window: u64,
}

/// How far a variant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Startup,
    Drain,
    Later,
}

/// What becomes of rate and window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// They are those of so many bytes a second, if that is more.
    Raise(u64),
    /// The pipe counts as full.
    Fill,
    /// They are what was measured by now, or what they were if that is more: a rate that no
    /// acknowledgement speaks for is given back.
    GiveBack(Pace),
}

impl Resuming {
    /// What `step` comes to for a variant at `stage` that sends by `now`.
    pub(crate) fn take(&mut self, step: Resumption, stage: Stage, now: Pace) -> Option<Turn> {
        match (step, *self) {
            (Resumption::Begins(rate), _) if stage == Stage::Startup => {
                *self = Resuming::At { rate, before: now };
                Some(Turn::Raise(rate))
            }
            (Resumption::Retreats, Resuming::At { .. }) => {
                // Out of Startup; below it nothing is tainted.
                *self = match stage {
                    Stage::Startup => Resuming::Drains,
                    Stage::Drain | Stage::Later => Resuming::No,
                };
                Some(Turn::Fill)
            }
            (Resumption::Ends, Resuming::At { before, .. }) => {
                *self = Resuming::No;
                // Behind Startup the model has them already.
                (stage == Stage::Startup).then_some(Turn::GiveBack(before))
            }
            _ => None,
        }
    }

    /// Whether the delivery rate says nothing of the path.
    pub(crate) fn is_tainted(self) -> bool {
        self == Resuming::Drains
    }

    /// Behind each acknowledgement, at `stage`: the rate to raise to.
    pub(crate) fn keep(&mut self, stage: Stage) -> Option<u64> {
        match (*self, stage) {
            (Resuming::At { rate, .. }, Stage::Startup) => return Some(rate),
            (Resuming::Drains, Stage::Startup | Stage::Drain) => {}
            _ => *self = Resuming::No,
        }
        None
    }
}
