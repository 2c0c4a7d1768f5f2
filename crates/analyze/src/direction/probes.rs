//! Segments that only prompt an answer: keep-alives, and probes of a closed window.

use cclab_units::Time;

use super::{Moment, Sending};
use crate::segments::Kind;

/// Data that were sent into a closed window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) sent: Time,
    pub(super) again: bool,
}

impl Sending {
    /// A segment that only prompts an answer: a keep-alive, or a probe if the window is `closed`.
    /// None if it is neither. Data that arrive with a closed window may have been sent before it
    /// closed: those are a probe that never were allowed, and single bytes.
    pub(super) fn prompt(
        &mut self,
        start: u64,
        payload: u64,
        closed: bool,
        now: Time,
    ) -> Option<Kind> {
        let end = self.sent.end()?;
        let behind = start + 1 == end && payload <= 1;
        let beyond = self.highest_edge > 0 && start >= self.highest_edge;
        if closed && payload > 0 && (beyond || payload == 1 && start == end) {
            self.probe = Some(Probe {
                start,
                end: start + payload,
                sent: now,
                again: self.probe.is_some(),
            });
        } else if !behind || self.acknowledged.is_none_or(|ack| ack < end) {
            return None;
        }
        if closed {
            self.window_probes += 1;
            Some(Kind::Probe)
        } else {
            self.keep_alives += 1;
            Some(Kind::KeepAlive)
        }
    }

    /// Data in a probe were taken after all: they count as any other, from now on.
    pub(super) fn probe_accepted(&mut self, probe: Probe, moment: Moment) {
        let seen = self.sent.send(probe.start, probe.end, probe.sent);
        let seen = seen.unwrap_or_default();
        let fresh = (probe.end - probe.start).saturating_sub(seen.repeated);
        self.carry(fresh, moment);
        if probe.again && seen.repeated == 0 {
            // Which of the probes is acknowledged is not known (Karn's rule).
            let seen = self.sent.send(probe.start, probe.end, probe.sent);
            debug_assert!(seen.is_some_and(|seen| seen.repeated > 0));
        }
    }
}
