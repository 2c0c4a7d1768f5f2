//! What sends datagrams of UDP: how large they are and when they leave, the same on every backend.

use cclab_units::{Rate, Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A source of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Datagrams {
    /// Full datagrams at equal distances.
    ConstantRate {
        /// Payload per second.
        rate: Rate,
        /// Bytes of payload of a datagram.
        payload: u32,
    },
    /// Full datagrams at equal distances for a time, then none for a time.
    OnOff {
        /// Payload per second while it sends.
        rate: Rate,
        /// Mean time of sending.
        on: Time,
        /// Mean time between.
        off: Time,
        /// Whether these times are always the same instead of exponentially distributed.
        constant: bool,
        /// Bytes of payload of a datagram.
        payload: u32,
    },
    /// Frames of a video, each sent at once.
    Video(Video),
}

/// A video: frames at equal distances, of which the first of each group needs no other and each
/// further one needs the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Video {
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
    /// The most bytes of payload of a datagram.
    pub payload: u32,
}

impl Video {
    /// Whether frame `index`, counted from 0, needs no other.
    pub fn is_whole(&self, index: u64) -> bool {
        index.is_multiple_of(u64::from(self.group))
    }

    /// Bytes of frame `index`.
    pub fn size(&self, index: u64) -> u64 {
        match self.is_whole(index) {
            true => self.i_frame,
            false => self.p_frame,
        }
    }

    /// How many datagrams frame `index` is cut into: as few as can carry it.
    pub fn pieces(&self, index: u64) -> u64 {
        self.size(index).div_ceil(u64::from(self.payload))
    }

    /// Bytes of piece `piece` of frame `index`: all are equal, to a byte, the larger ones first.
    pub fn piece(&self, index: u64, piece: u64) -> u32 {
        let (size, pieces) = (self.size(index), self.pieces(index));
        (size / pieces + u64::from(piece < size % pieces)) as u32
    }

    /// When frame `index` is made, counted from the start of the source, rounded to the nanosecond.
    pub fn made(&self, index: u64) -> Time {
        Time::from_secs_f64(index as f64 / self.frame_rate)
    }

    /// Payload that it sends in the mean, in bit/s.
    pub fn mean_bps(&self) -> f64 {
        let parts = u64::from(self.group - 1) * self.p_frame;
        let bytes = (self.i_frame + parts) as f64 / f64::from(self.group);
        bytes * 8.0 * self.frame_rate
    }

    /// The frame that datagram `number`, counted from 0, belongs to, and its place in it.
    pub fn frame_of(&self, number: u64) -> (u64, u64) {
        let (whole, part) = (self.pieces(0), self.pieces_of_part());
        let per_group = whole + part * u64::from(self.group - 1);
        let (group, within) = (number / per_group, number % per_group);
        let first = group * u64::from(self.group);
        match within.checked_sub(whole) {
            None => (first, within),
            Some(later) => (first + 1 + later / part, later % part),
        }
    }

    /// Datagrams of a frame that needs the one before it; where there is none, of one that could be.
    fn pieces_of_part(&self) -> u64 {
        self.p_frame.div_ceil(u64::from(self.payload))
    }
}

impl Datagrams {
    /// Its name in study files.
    pub fn name(&self) -> &'static str {
        match self {
            Datagrams::ConstantRate { .. } => "constant-rate",
            Datagrams::OnOff { .. } => "on-off",
            Datagrams::Video(_) => "video",
        }
    }

    /// Bytes of payload of a full datagram.
    pub fn payload(&self) -> u32 {
        match *self {
            Datagrams::ConstantRate { payload, .. } | Datagrams::OnOff { payload, .. } => payload,
            Datagrams::Video(video) => video.payload,
        }
    }

    /// The video, if it is one.
    pub fn video(&self) -> Option<&Video> {
        match self {
            Datagrams::Video(video) => Some(video),
            Datagrams::ConstantRate { .. } | Datagrams::OnOff { .. } => None,
        }
    }

    /// Payload that it sends in the mean, in bit/s.
    pub fn mean_bps(&self) -> f64 {
        match *self {
            Datagrams::ConstantRate { rate, .. } => rate.bps() as f64,
            Datagrams::OnOff { rate, on, off, .. } => {
                let on = on.as_secs_f64();
                rate.bps() as f64 * on / (on + off.as_secs_f64())
            }
            Datagrams::Video(video) => video.mean_bps(),
        }
    }
}

/// A datagram to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// When it leaves, or, with others of the same instant, follows the one before.
    pub at: Time,
    /// Bytes of payload.
    pub payload: u32,
}

/// What a source sends, one datagram after the other.
#[derive(Clone, Debug)]
pub struct Schedule {
    source: Datagrams,
    start: Time,
    /// Nothing leaves from then on.
    stop: Time,
    /// Bytes of payload left of the transfer.
    left: u64,
    dice: Stream,
    /// When the next datagram leaves.
    due: Time,
    /// Since when it sends without a pause, and the bytes of payload since then: distances are those
    /// of their exact sum, so that they never drift.
    since: (Time, u64),
    /// When the time of sending ends.
    until: Time,
    /// The next frame, and the next piece of it.
    frame: (u64, u64),
}

impl Schedule {
    /// What `source` sends from `start` until before `stop`, and no more than `transfer` bytes, if
    /// that is given. What it draws comes from `dice`.
    pub fn new(
        source: Datagrams,
        start: Time,
        stop: Time,
        transfer: Option<u64>,
        dice: Stream,
    ) -> Schedule {
        let mut schedule = Schedule {
            source,
            start,
            stop,
            left: transfer.unwrap_or(u64::MAX),
            dice,
            due: start,
            since: (start, 0),
            until: Time::NEVER,
            frame: (0, 0),
        };
        if let Datagrams::OnOff { on, constant, .. } = source {
            schedule.until = start + schedule.span(on, constant);
        }
        schedule
    }

    /// The datagram that [`Iterator::next`] will give.
    pub fn peek(&self) -> Option<Sending> {
        let payload = match &self.source {
            Datagrams::Video(video) => u64::from(video.piece(self.frame.0, self.frame.1)),
            plain => u64::from(plain.payload()),
        };
        let sending = Sending {
            at: self.due,
            payload: payload.min(self.left) as u32,
        };
        (self.left > 0 && self.due < self.stop).then_some(sending)
    }

    /// When the datagram after one of `payload` bytes at `self.due` leaves.
    fn after(&mut self, payload: u32) -> Time {
        match self.source {
            Datagrams::ConstantRate { rate, .. } => self.at_rate(rate, payload),
            Datagrams::OnOff {
                rate,
                on,
                off,
                constant,
                ..
            } => {
                let next = self.at_rate(rate, payload);
                if next < self.until {
                    return next;
                }
                let begin = self.until + self.span(off, constant);
                self.until = begin + self.span(on, constant);
                self.since = (begin, 0);
                begin
            }
            Datagrams::Video(video) => {
                let (frame, piece) = self.frame;
                self.frame = match piece + 1 < video.pieces(frame) {
                    true => (frame, piece + 1),
                    false => (frame + 1, 0),
                };
                self.start + video.made(self.frame.0)
            }
        }
    }

    /// When the next leaves at `rate`, after `payload` bytes more.
    fn at_rate(&mut self, rate: Rate, payload: u32) -> Time {
        let (since, bytes) = &mut self.since;
        *bytes += u64::from(payload);
        let ns = u128::from(*bytes) * 8_000_000_000 / u128::from(rate.bps());
        *since + Time::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    fn span(&mut self, mean: Time, constant: bool) -> Time {
        match constant {
            true => mean,
            false => self.dice.exponential(mean),
        }
    }
}

impl Iterator for Schedule {
    type Item = Sending;

    fn next(&mut self) -> Option<Sending> {
        let sending = self.peek()?;
        self.left -= u64::from(sending.payload);
        self.due = self.after(sending.payload);
        Some(sending)
    }
}

#[cfg(test)]
mod tests;
