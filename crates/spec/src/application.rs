//! What writes to a flow.

use cclab_units::{Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::datagrams::Video;

/// What writes to a flow, if it is not bulk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Application {
    /// Writes at a rate for a time, then nothing for a time.
    OnOff {
        /// While it writes: payload.
        rate: Rate,
        /// Mean time of writing.
        on: Time,
        /// Mean time between.
        off: Time,
        /// Whether these times are always the same instead of exponentially distributed.
        constant: bool,
    },
    /// Answers requests, which ride on the acknowledgement of the last answer.
    RequestResponse {
        /// Mean time between the acknowledgement of an answer and the next request.
        think: Time,
        /// Whether that time is always the same instead of exponentially distributed.
        constant: bool,
        /// Bytes of an answer.
        response: u64,
    },
    /// Someone types.
    Telnet {
        /// Mean time between keystrokes, exponentially distributed.
        interval: Time,
        /// Whether short segments wait while data is outstanding (Nagle).
        nagle: bool,
    },
    /// Frames of audio or video, each written when it is made.
    Frames(Media),
    /// Writes as much as there is room for, pauses, or keeps to a rate, as a schedule says.
    Scheduled {
        /// The changes, in the order of time; before the first it writes what there is room for.
        schedule: Vec<PaceChange>,
    },
}

impl Application {
    /// Its name in study files.
    pub fn name(&self) -> &'static str {
        match self {
            Application::OnOff { .. } => "on-off",
            Application::RequestResponse { .. } => "request-response",
            Application::Telnet { .. } => "telnet",
            Application::Frames(_) => "frames",
            Application::Scheduled { .. } => "scheduled",
        }
    }
}

/// Frames of audio or video on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Media {
    /// Frames per second.
    pub frame_rate: f64,
    /// Bytes of a frame that needs no other.
    pub i_frame: u64,
    /// Bytes of a frame that needs the one before it.
    pub p_frame: u64,
    /// Frames from one that needs no other to the next.
    pub group: u32,
    /// How long after its making a frame is shown.
    pub deadline: Time,
    /// A frame is left out, and with it those of its group that follow, if one that was made so long
    /// before waits to be sent; absent: none ever is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_after: Option<Time>,
}

impl Media {
    /// The same frames, each a piece of its own.
    pub const fn video(&self) -> Video {
        Video {
            frame_rate: self.frame_rate,
            i_frame: self.i_frame,
            p_frame: self.p_frame,
            group: self.group,
            deadline: self.deadline,
            payload: u32::MAX,
        }
    }
}

/// From when on an application writes otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaceChange {
    /// When, counted from the run's start.
    pub at: Time,
    /// Payload per second from then on, 0 for none; absent: as much as there is room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate: Option<u64>,
}

/// How much an application writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As much as there is room for.
    Unlimited,
    /// So much payload per second.
    Limited(Rate),
    /// Nothing.
    Paused,
}

impl PaceChange {
    /// From `at` on an application writes as `pace` says.
    pub const fn new(at: Time, pace: Pace) -> PaceChange {
        let rate = match pace {
            Pace::Unlimited => None,
            Pace::Limited(rate) => Some(rate.bps()),
            Pace::Paused => Some(0),
        };
        PaceChange { at, rate }
    }

    /// How much it writes from then on.
    pub fn pace(&self) -> Pace {
        match self.rate {
            None => Pace::Unlimited,
            Some(bps) => Rate::from_bps(bps).map_or(Pace::Paused, Pace::Limited),
        }
    }
}

/// The most payload per second, in bit/s, that an application of `schedule` writes at any time from
/// `start` on; without end where it is not limited at some time.
pub fn largest_pace_bps(schedule: &[PaceChange], start: Time) -> f64 {
    let begun = schedule.partition_point(|change| change.at <= start);
    let first = begun
        .checked_sub(1)
        .map_or(Pace::Unlimited, |before| schedule[before].pace());
    let later = schedule[begun..].iter().map(PaceChange::pace);
    let paces = later.chain([first]).map(|pace| match pace {
        Pace::Unlimited => f64::INFINITY,
        Pace::Limited(rate) => rate.bps() as f64,
        Pace::Paused => 0.0,
    });
    paces.fold(0.0, f64::max)
}
