//! What one end of a connection sends, and what the other says about it.

use cclab_trace::captured::{TcpOptions, TcpSegment};
use cclab_units::Time;

use crate::moments::Moments;
use crate::sent::{Seen, Sent, Timing};

/// A retransmission after as long a silence was sent by a timer: Linux's shortest
/// retransmission timeout (`TCP_RTO_MIN`).
const SILENCE: Time = Time::from_millis(200);

/// The largest shift of a window (RFC 7323 section 2.3): a greater one counts as this.
const MOST_SHIFT: u8 = 14;

/// Counters of one direction; `docs/analyze.md` defines them.
#[derive(Debug, Default)]
pub(crate) struct Sending {
    pub first: Option<Time>,
    pub last: Option<Time>,
    pub packets: u64,
    pub data_packets: u64,
    pub pure_acks: u64,
    pub total_bytes: u64,
    pub unique_bytes: u64,
    pub retransmitted_packets: u64,
    pub retransmitted_bytes: u64,
    pub repeated_syn_fin: u64,
    pub timer_retransmits: u64,
    pub out_of_order: u64,
    pub duplicate_acks: u64,
    pub window_probes: u64,
    pub syns: u64,
    pub fins: u64,
    pub rsts: u64,
    pub syn_options: Option<TcpOptions>,
    pub timestamps: bool,
    pub payload: Moments,
    pub window: Moments,
    pub zero_windows: u64,
    pub outstanding: Moments,
    pub initial_window_bytes: u64,
    pub initial_window_packets: u64,
    pub rtt: Moments,
    pub rtt_ambiguous: u64,
    /// Sequence number of the first SYN.
    pub isn: Option<u32>,
    /// Whether `window` holds scaled windows only.
    windows_scaled: bool,
    /// The window of its latest segment, scaled; None before any.
    last_window: Option<u64>,
    /// Bytes it sent.
    sent: Sent,
    /// Everything below was acknowledged by the other; None before an acknowledgement.
    acknowledged: Option<u64>,
    /// Whether the other acknowledged more than the SYN.
    data_acknowledged: bool,
}

impl Sending {
    /// Takes in `segment` of this direction, seen at `now`; `other` is the opposite direction and
    /// `latest` when a segment of either was last seen.
    pub fn take(
        &mut self,
        segment: &TcpSegment,
        now: Time,
        latest: Option<Time>,
        other: &mut Sending,
    ) {
        let flags = segment.flags;
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.packets += 1;
        self.syns += u64::from(flags.syn);
        self.fins += u64::from(flags.fin);
        self.rsts += u64::from(flags.rst);
        if segment.payload > 0 {
            self.data_packets += 1;
            self.total_bytes += u64::from(segment.payload);
            self.payload.add(u64::from(segment.payload));
        } else if flags.ack && !flags.syn && !flags.fin && !flags.rst {
            self.pure_acks += 1;
        }
        self.timestamps |= segment.options.timestamps.is_some();
        if flags.syn {
            self.isn.get_or_insert(segment.seq);
            self.syn_options.get_or_insert(segment.options);
        }

        let seen = self.take_bytes(segment, now, latest, other);
        if flags.ack {
            self.take_ack(segment, now, other);
        }
        if flags.rst {
            // Its window means nothing, and nothing follows it.
            return;
        }
        self.take_window(segment, other);
        if segment.payload > 0 && seen.repeated == 0 && !self.data_acknowledged {
            self.initial_window_bytes += u64::from(segment.payload);
            self.initial_window_packets += 1;
        }
        if !flags.syn && seen == Seen::default() {
            self.outstanding.add(self.outstanding_after(segment));
        }
    }

    /// Whether windows of this direction are scaled: both SYNs were seen and ask for it. None if
    /// one was not seen.
    pub fn scaling(&self, other: &Sending) -> Option<bool> {
        let (own, its) = (self.syn_options?, other.syn_options?);
        Some(own.window_scale.is_some() && its.window_scale.is_some())
    }

    /// The bytes and control bits that take sequence numbers, and what they were to those before.
    fn take_bytes(
        &mut self,
        segment: &TcpSegment,
        now: Time,
        latest: Option<Time>,
        other: &Sending,
    ) -> Seen {
        let flags = segment.flags;
        let controls = u64::from(flags.syn) + u64::from(flags.fin);
        let length = u64::from(segment.payload) + controls;
        if length == 0 || flags.rst {
            return Seen::default();
        }
        if other.last_window == Some(0) && !flags.syn {
            // Into a closed window: whatever it carries is to be sent again.
            self.window_probes += 1;
            return Seen::default();
        }
        let start = self.sent.position(segment.seq);
        let seen = self.sent.send(start, start + length, now);
        let repeated_controls = u64::from(flags.syn && self.syns > 1 && seen.repeated > 0)
            + u64::from(flags.fin && self.fins > 1 && seen.repeated > 0);
        let repeated = seen.repeated.saturating_sub(repeated_controls);
        self.repeated_syn_fin += repeated_controls;
        self.unique_bytes += u64::from(segment.payload).saturating_sub(repeated);
        self.out_of_order += u64::from(seen.out_of_order);
        if repeated > 0 && segment.payload > 0 {
            self.retransmitted_packets += 1;
            self.retransmitted_bytes += repeated.min(u64::from(segment.payload));
            let silent = latest.is_some_and(|latest| now - latest >= SILENCE);
            self.timer_retransmits += u64::from(silent);
        }
        seen
    }

    /// The acknowledgement in `segment`, which is about what `other` sent.
    fn take_ack(&mut self, segment: &TcpSegment, now: Time, other: &mut Sending) {
        let ack = other.sent.position(segment.ack);
        let flags = segment.flags;
        let bare = segment.payload == 0 && !flags.syn && !flags.fin && !flags.rst;
        let in_flight = other.sent.end().is_some_and(|end| end > ack);
        let same_window = self.last_window == Some(self.scaled_window(segment, other));
        // RFC 5681 section 2.
        if other.acknowledged == Some(ack) && bare && in_flight && same_window {
            other.duplicate_acks += 1;
        }
        match other.sent.acknowledge(ack, now) {
            Timing::Sample(rtt) => other.rtt.add(rtt.as_nanos()),
            Timing::Ambiguous => other.rtt_ambiguous += 1,
            Timing::Delayed | Timing::Nothing => {}
        }
        other.acknowledged = Some(other.acknowledged.unwrap_or(ack).max(ack));
        other.data_acknowledged |= other
            .isn
            .is_none_or(|isn| segment.ack != isn.wrapping_add(1));
    }

    fn take_window(&mut self, segment: &TcpSegment, other: &Sending) {
        let window = self.scaled_window(segment, other);
        self.last_window = Some(window);
        if !segment.flags.ack && !segment.flags.syn {
            return;
        }
        // Windows of SYNs are never scaled (RFC 7323 section 2.2): beside scaled ones they would
        // only blur the mean.
        if self.scaling(other) == Some(true) && !segment.flags.syn && !self.windows_scaled {
            self.windows_scaled = true;
            self.window = Moments::default();
        }
        self.window.add(window);
        self.zero_windows += u64::from(segment.flags.ack && window == 0);
    }

    fn scaled_window(&self, segment: &TcpSegment, other: &Sending) -> u64 {
        let window = u64::from(segment.window);
        if segment.flags.syn || self.scaling(other) != Some(true) {
            return window;
        }
        let shift = self.syn_options.and_then(|options| options.window_scale);
        window << shift.unwrap_or(0).min(MOST_SHIFT)
    }

    /// Bytes in flight once `segment` is sent; its own only, while nothing was acknowledged.
    fn outstanding_after(&self, segment: &TcpSegment) -> u64 {
        let end = self.sent.position(segment.seq) + u64::from(segment.payload);
        match self.acknowledged {
            Some(acknowledged) => end.saturating_sub(acknowledged),
            None => u64::from(segment.payload),
        }
    }
}
