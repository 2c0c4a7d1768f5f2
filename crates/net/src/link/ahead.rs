//! Packets that a link takes ahead of time, from the only one that feeds it.

use cclab_packet::Packet;
use cclab_units::Time;

use super::{Fittings, Link, Service};
use crate::wires::Arrival;

impl Link {
    /// Whether a link may take packets of this one ahead of time: nothing happens to them at
    /// the far end.
    pub fn may_feed_ahead(&self) -> bool {
        self.has_no(|fittings| fittings.exit.is_some()) && self.is_steady()
    }

    /// Whether packets keep their order and their delay on it.
    fn is_steady(&self) -> bool {
        let changes = match &self.service {
            Service::Asked(asked) => asked.schedule.is_some() || asked.trace.is_some(),
            Service::Foreseen(_) => false,
        };
        !changes && self.has_no(|fittings| fittings.course.is_some() || fittings.per_packet)
    }

    fn has_no(&self, has: impl Fn(&Fittings) -> bool) -> bool {
        !self.fittings.as_deref().is_some_and(has)
    }

    /// Whether this link may take packets ahead of time from `feeder`: it never makes one wait
    /// longer than rounding does, and nothing happens to them here.
    pub fn may_be_fed_ahead(&self, feeder: &Link) -> bool {
        let keeps_up = match (feeder.aside.rate, self.aside.rate) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(feeder), Some(own)) => own >= feeder,
        };
        // Of two equal rates one may round up where the other rounds down.
        let has_room = match &self.service {
            Service::Foreseen(fifo) => fifo.has_room(2 * u64::from(u16::MAX)),
            Service::Asked(_) => false,
        };
        // Where waiting is on record, packets must come at their time.
        let private = self
            .has_no(|fittings| fittings.sojourn.is_some() || fittings.entry.is_some())
            && self.is_steady();
        private && keeps_up && (has_room || self.aside.rate.is_none())
    }

    /// Takes in, ahead of time, a packet that comes at `at`, later than all before it, from the
    /// only link that feeds this one. Returns when it leaves, and when it reaches the far end.
    #[inline]
    pub fn take_ahead(&mut self, packet: &Packet, at: Time) -> (Time, Time) {
        let bytes = u64::from(packet.wire_len);
        self.counters.offered += 1;
        self.counters.taken_bytes += bytes;
        match self.tx {
            Some(clock) => {
                let departs = self.busy_until.max(at);
                (departs, self.transmit_from(departs, bytes, clock))
            }
            None => (at, at + self.delay),
        }
    }

    /// At the end of a run: `packets` are on the wire, in the order of their arrival. Takes back
    /// what was taken ahead and has not come by `now`; returns how many packets that are.
    pub fn finish_wire<'a>(
        &mut self,
        packets: impl Iterator<Item = &'a Arrival>,
        now: Time,
    ) -> u64 {
        let is_fed = self.aside.fed_by.is_some();
        let mut taken_back = 0;
        let mut last = None;
        for one in packets {
            if is_fed && one.since > now {
                self.counters.offered -= 1;
                self.counters.taken_bytes -= u64::from(one.packet.wire_len);
                taken_back += 1;
            } else {
                self.aside.in_flight += 1;
                last = Some(one.arrives - self.delay);
            }
        }
        if is_fed {
            self.busy_until = last.unwrap_or(self.busy_until.min(now));
        }
        taken_back
    }

    /// Packets that left this link have not come to the next by the end of the run.
    pub fn not_yet_there(&mut self, packets: u64) {
        self.counters.delivered -= packets;
        self.aside.in_flight += packets;
    }
}
