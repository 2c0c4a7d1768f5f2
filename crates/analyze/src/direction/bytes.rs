//! The bytes that a segment has, as they are to those before it.

use cclab_trace::captured::{TcpFlags, TcpSegment};
use cclab_units::Time;

use super::{Moment, Sending};
use crate::segments::Kind;
use crate::sent::Seen;

/// A retransmission after as long a silence was sent by a timer: Linux's shortest
/// retransmission timeout (`TCP_RTO_MIN`).
const SILENCE: Time = Time::from_millis(200);

/// What the bytes of a segment were to those before it.
pub(super) struct Bytes {
    pub kind: Kind,
    /// Whether none of them had been seen.
    pub unseen: bool,
    /// Whether what is in flight after it counts: they are new and in order, or there are none.
    pub flies: bool,
}

impl Bytes {
    /// Those of a segment that has none, which is of this `kind`.
    fn none(kind: Kind) -> Bytes {
        Bytes {
            kind,
            unseen: true,
            flies: true,
        }
    }
}

impl Sending {
    /// The bytes and control bits that take sequence numbers, from the position `start` on, and
    /// what they were to those before.
    #[inline(always)]
    pub(super) fn take_bytes(
        &mut self,
        segment: &TcpSegment,
        start: u64,
        moment: Moment,
        other: &Sending,
    ) -> Bytes {
        let flags = segment.flags;
        let payload = u64::from(segment.payload);
        let controls = u64::from(flags.syn) + u64::from(flags.fin);
        if flags.rst {
            return Bytes::none(Kind::Rst);
        }
        let closed = other.last_window == Some(0);
        if controls == 0
            && (payload <= 1 || closed)
            && let Some(kind) = self.prompt(start, payload, closed, moment.now)
        {
            let flies = false;
            return Bytes {
                flies,
                ..Bytes::none(kind)
            };
        }
        if payload + controls == 0 {
            return Bytes::none(Kind::Ack);
        }
        let end = start + payload + controls;
        // What a probe was refused is sent as other data are.
        self.probe
            .take_if(|probe| start <= probe.start && probe.start < end);
        let seen = self.sent.send(start, end, moment.now);
        let kind = match seen {
            None => {
                self.carry(payload, moment);
                Kind::New
            }
            Some(seen) => self.take_again(flags, start, payload, seen, moment.apart()),
        };
        if payload > 0 {
            if let Some((_, echo)) = segment.options.timestamps {
                self.limits.distance.sent(moment.now, echo);
            }
            self.limits.sent(
                moment.now,
                start + payload,
                payload,
                kind != Kind::New,
                flags.psh,
            );
            if start + payload == self.edge {
                self.window_full += 1;
            }
        }
        let kind = match () {
            () if flags.syn => Kind::Syn,
            () if payload == 0 => Kind::Fin,
            () => kind,
        };
        // Those of a FIN alone are its own.
        let some = payload.max(1);
        Bytes {
            kind,
            unseen: seen.is_none_or(|seen| seen.repeated == 0),
            flies: seen.is_none_or(|seen| seen.repeated < some && !seen.out_of_order),
        }
    }

    /// The counters of a segment that is not wholly above all others, with `payload` from the position `start` on, as it
    /// was `seen`: what its payload was to theirs.
    #[inline(never)]
    fn take_again(
        &mut self,
        flags: TcpFlags,
        start: u64,
        payload: u64,
        seen: Seen,
        moment: Moment,
    ) -> Kind {
        let repeated_controls = u64::from(flags.syn && self.syns > 1 && seen.repeated > 0)
            + u64::from(flags.fin && self.fins > 1 && seen.repeated > 0);
        let repeated = seen.repeated.saturating_sub(repeated_controls);
        self.repeated_syn_fin += repeated_controls;
        self.carry(payload.saturating_sub(repeated), moment);
        self.out_of_order += u64::from(seen.out_of_order);
        let mut spurious = false;
        if repeated > 0 && payload > 0 {
            self.retransmitted_packets += 1;
            self.retransmitted_bytes += repeated.min(payload);
            let silent = moment.now - moment.latest >= SILENCE;
            self.timer_retransmits += u64::from(silent);
            spurious = self.acknowledged.is_some_and(|ack| start + payload <= ack);
            self.spurious += u64::from(spurious);
        }
        if !flags.syn
            && self.acknowledged.is_none_or(|ack| start <= ack)
            && let Some(before) = seen.before
        {
            self.timeouts
                .first_sent_again(moment.now, before, self.limits.distance.estimate());
        }
        let kind = match () {
            () if spurious => Kind::Spurious,
            () if repeated > 0 => Kind::Retransmit,
            () if seen.out_of_order => Kind::OutOfOrder,
            () => Kind::New,
        };
        if payload > 0 && kind != Kind::New {
            self.lost.add(moment.now - moment.origin, 1);
            self.interval_lost += u64::from(moment.counted);
        }
        kind
    }

    /// Data that were not seen before.
    #[inline]
    pub(super) fn carry(&mut self, bytes: u64, moment: Moment) {
        if bytes > 0 {
            self.unique_bytes += bytes;
            self.carried.add(moment.now - moment.origin, bytes);
            if moment.counted {
                self.interval_bytes += bytes;
            }
        }
    }
}
