//! What flows over UDP did: datagrams on either way, and the frames of a video.

use cclab_units::{Time, Usual};

use super::FlowSummary;
use crate::histogram::Histogram;

/// What datagrams did on their way from one host of a flow to the other. Bytes are of payload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Datagrams {
    /// Datagrams that left.
    pub sent: u64,
    /// Bytes of them.
    pub sent_bytes: u64,
    /// Datagrams that arrived, each counted once.
    pub received: u64,
    /// Bytes of them.
    pub received_bytes: u64,
    /// Datagrams still on their way at the end of the run, neither received nor lost.
    pub in_flight: u64,
    /// Arrivals of what had arrived before.
    pub duplicates: u64,
    /// Datagrams that arrived after one that left later (RFC 4737, section 3).
    pub reordered: u64,
    /// When the first arrived.
    pub first: Option<Time>,
    /// When the last so far did.
    pub last: Option<Time>,
    /// Interarrival jitter after the last arrival (RFC 3550, section 6.4.1); absent before two.
    pub jitter: Option<Time>,
    /// How long they were on their way, in nanoseconds.
    pub delay: Histogram,
}

impl Usual for Datagrams {
    const USUAL: &'static Datagrams = &Datagrams {
        sent: 0,
        sent_bytes: 0,
        received: 0,
        received_bytes: 0,
        in_flight: 0,
        duplicates: 0,
        reordered: 0,
        first: None,
        last: None,
        jitter: None,
        delay: Histogram::new(),
    };
}

impl Datagrams {
    /// Datagrams that left and never arrive.
    pub const fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received + self.in_flight)
    }
}

/// What became of the frames of a video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Frames sent.
    pub sent: u64,
    /// Frames of which every datagram arrived.
    pub complete: u64,
    /// Those of them that were complete after their deadline only.
    pub late: u64,
    /// Frames of which a datagram never arrives. The rest was on its way at the end of the run.
    pub lost: u64,
    /// Frames shown: complete by their deadline, as every frame that they need was by then.
    pub shown: u64,
    /// Stalls of the playback that count as freezes.
    pub freezes: u64,
    /// Time between shown frames that counts as frozen.
    pub frozen: Time,
}

/// `datagrams.parquet`: what datagrams did on one way of a flow over UDP.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WayRow {
    /// Whether it is the way back.
    pub back: bool,
    /// Whether it is of those alone that left after the warm-up.
    pub warm: bool,
    /// What they did.
    pub way: Datagrams,
}

/// `frames.parquet`: what became of the frames of a video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FramesRow {
    /// Whether it is of those alone that were made after the warm-up.
    pub warm: bool,
    /// What became of them.
    pub frames: Frames,
}

impl FlowSummary {
    /// Its rows of datagrams: one of each way and span of which there is something to say.
    pub(crate) fn ways(&self) -> impl Iterator<Item = WayRow> {
        let ways: [(bool, bool, &Datagrams); 4] = [
            (false, false, &self.datagrams),
            (false, true, &self.warm_datagrams),
            (true, false, &self.back),
            (true, true, &self.warm_back),
        ];
        let told = ways
            .into_iter()
            .filter(|(.., way)| *way != Datagrams::USUAL);
        told.map(|(back, warm, way)| WayRow {
            back,
            warm,
            way: way.clone(),
        })
    }

    /// Where such a row belongs.
    pub(crate) fn way_mut(&mut self, back: bool, warm: bool) -> &mut Datagrams {
        match (back, warm) {
            (false, false) => &mut self.datagrams,
            (false, true) => &mut self.warm_datagrams,
            (true, false) => &mut self.back,
            (true, true) => &mut self.warm_back,
        }
    }

    /// Its rows of frames, likewise.
    pub(crate) fn frame_rows(&self) -> impl Iterator<Item = FramesRow> {
        let spans = [(false, self.frames), (true, self.warm_frames)];
        let told = spans
            .into_iter()
            .filter(|(_, frames)| *frames != Frames::default());
        told.map(|(warm, frames)| FramesRow { warm, frames })
    }
}
