//! Windows: how they are scaled, what they allow, and which acknowledgements can be true.

use cclab_trace::captured::{TcpFlags, TcpSegment};
use cclab_units::Time;

use super::{Acknowledged, Sending};
use crate::moments::Extremes;

/// The largest shift of a window (RFC 7323 section 2.3): a greater one counts as this.
const MOST_SHIFT: u8 = 14;

/// Bytes beyond all that were seen or allowed that an acknowledgement is believed to tell of.
const MOST_MISSED: u64 = 1 << 24;

impl Sending {
    /// Whether it is known how its windows are scaled: where both SYNs were not seen, a window of
    /// the header may stand for one 2^14 times as large.
    #[inline]
    pub fn windows_are_known(&self, flags: TcpFlags) -> bool {
        match self.scaling {
            Some(true) => self.syn_options.is_some(),
            Some(false) => true,
            None => flags.syn,
        }
    }

    /// The windows it advertised. Beside scaled ones those of SYNs, which never are (RFC 7323
    /// section 2.2), would only blur the mean.
    pub fn windows(&self) -> Extremes {
        match self.scaling {
            Some(true) => self.window,
            _ => self.window.and(&self.syn_window),
        }
    }

    /// Whether windows are scaled; None if nothing tells.
    pub fn scaling(&self) -> Option<bool> {
        self.scaling
    }

    /// Works out whether windows are scaled: both SYNs ask for it (RFC 7323 section 2.2). One
    /// that does not is enough to know, and so is a SYN,ACK that does, for it may only after the
    /// SYN did.
    pub(super) fn settle_scaling(&mut self, other: &mut Sending) {
        let asks = |sending: &Sending| {
            let options = sending.syn_options.as_ref();
            options.map(|options| options.window_scale.is_some())
        };
        let answers = |sending: &Sending| sending.syn_flags.is_some_and(|flags| flags.ack);
        let scaling = match (asks(self), asks(other)) {
            (Some(own), Some(its)) => Some(own && its),
            (Some(false), None) | (None, Some(false)) => Some(false),
            (Some(true), None) => answers(self).then_some(true),
            (None, Some(true)) => answers(other).then_some(true),
            (None, None) => None,
        };
        for sending in [self, other] {
            sending.scaling = scaling;
            let shift = sending.syn_options.and_then(|options| options.window_scale);
            sending.shift = match scaling {
                Some(true) => shift.unwrap_or(0).min(MOST_SHIFT),
                _ => 0,
            };
        }
    }

    /// Whether an acknowledgement of the position `ack` can be of what it sent, as far as that was seen: a
    /// host that knows of another connection acknowledges anything (RFC 9293 section 3.10.7.3,
    /// RFC 5961 section 4), and a capture may have missed some data, but not that many.
    #[inline]
    pub(super) fn can_have_sent(&self, ack: u64) -> bool {
        let Some(end) = self.sent.end() else {
            return true;
        };
        if ack <= end {
            return true;
        }
        ack <= self.highest_edge.max(end) + MOST_MISSED
    }

    /// The window in `segment`, scaled, and what it allows `other` to send, if its acknowledgement is `believed`.
    #[inline(always)]
    pub(super) fn take_window(
        &mut self,
        segment: &TcpSegment,
        now: Time,
        believed: Option<Acknowledged>,
        other: &mut Sending,
    ) -> u64 {
        let window = self.scaled_window(segment);
        self.last_window = Some(window);
        let flags = segment.flags;
        if let Some(Acknowledged { ack, marked }) = believed {
            let edge = self.windows_are_known(flags).then(|| ack + window);
            if let Some(edge) = edge {
                other.highest_edge = other.highest_edge.max(edge);
                other.edge = edge;
            }
            other.limits.acknowledged(now, ack, edge, marked);
            if other.limits.has_begun()
                && let Some((value, _)) = segment.options.timestamps
            {
                other.limits.distance.acknowledged(now, value);
            }
        }
        if !flags.ack && !flags.syn {
            return window;
        }
        if flags.syn {
            self.syn_window.add(window);
        } else {
            self.window.add(window);
        }
        if flags.ack && window == 0 {
            self.zero_windows += 1;
        }
        window
    }

    #[inline]
    pub(super) fn scaled_window(&self, segment: &TcpSegment) -> u64 {
        let shift = if segment.flags.syn { 0 } else { self.shift };
        u64::from(segment.window) << shift
    }
}
