//! A packet comes to a link, waits in its queue, and goes on its wire.
//!
//! Most packets come to links whose departures are foreseen, and which have little or nothing beside:
//! their way from [`Network::offer`] to the wire is one piece of code, and all else is out of its way.

use cclab_trace::schema::DropReason;
use cclab_units::Time;
use cclab_units::hint::unlikely;

use crate::calendar::Key;
use crate::link::Offered;
use crate::network::Network;
use crate::seeing::see_loss;
use crate::watch::Watch;
use crate::wires::Held;

impl Network {
    /// A packet comes to a link, from a transmission that began at `since`.
    #[inline(always)]
    pub(crate) fn offer<W: Watch>(&mut self, index: usize, held: Held, since: Time, watch: &mut W) {
        let link = &self.links[index];
        if link.asks() {
            return self.offer_asked(index, held, since, watch);
        }
        match &link.fittings {
            None => self.admit_bare(index, held, since, watch),
            Some(_) => self.offer_fitted(index, held, since, watch),
        }
    }

    /// As [`Network::offer`], of a link that has something beside, and whose departures are foreseen.
    #[inline(never)]
    fn offer_fitted<W: Watch>(&mut self, index: usize, held: Held, since: Time, watch: &mut W) {
        if unlikely(self.has_entry(index)) {
            return self.pass_entry(index, held, since, watch);
        }
        self.admit_foreseen::<W, true>(index, held, since, watch);
    }

    /// As [`Network::offer`], of a link whose queue is asked.
    #[inline(never)]
    fn offer_asked<W: Watch>(&mut self, index: usize, held: Held, since: Time, watch: &mut W) {
        if self.has_entry(index) {
            return self.pass_entry(index, held, since, watch);
        }
        self.ask(index, held, watch);
    }

    /// Whether something happens to packets before the queue of a link.
    #[inline(always)]
    fn has_entry(&self, index: usize) -> bool {
        let fittings = self.links[index].fittings.as_ref();
        fittings.is_some_and(|fittings| fittings.entry.is_some())
    }

    /// A packet comes to the queue of a link.
    pub(crate) fn admit<W: Watch>(&mut self, index: usize, held: Held, since: Time, watch: &mut W) {
        let link = &self.links[index];
        if link.asks() {
            return self.admit_asked(index, held, watch);
        }
        match &link.fittings {
            None => self.admit_bare(index, held, since, watch),
            Some(_) => self.admit_foreseen::<W, true>(index, held, since, watch),
        }
    }

    /// As [`Network::admit`], of a link that has nothing beside, and whose departures are foreseen.
    #[inline(never)]
    fn admit_bare<W: Watch>(&mut self, index: usize, held: Held, since: Time, watch: &mut W) {
        self.admit_foreseen::<W, false>(index, held, since, watch);
    }

    /// As [`Network::admit`], of a link whose departures are foreseen, and that has something beside if it
    /// is `FITTED`. In one piece: most packets come there.
    #[inline(always)]
    fn admit_foreseen<W: Watch, const FITTED: bool>(
        &mut self,
        index: usize,
        held: Held,
        since: Time,
        watch: &mut W,
    ) {
        let link = &mut self.links[index];
        let packet = self.wires.packet(&held);
        let seen = (W::ON && watch.wants_queue(index)).then_some(*packet);
        let foreseen = link.foresee::<FITTED>(packet, since, self.now);
        match foreseen {
            None => {
                see_loss(index, packet, DropReason::Queue, watch);
                self.wires.release(held);
            }
            Some([departs, arrives]) if FITTED => self.send(index, held, departs, arrives, watch),
            Some([departs, arrives]) => self.put(index, held, departs, arrives),
        }
        if let Some(packet) = &seen {
            let offered = Offered::foreseen(foreseen, self.now);
            self.see_offer(index, packet, &offered, watch);
        }
    }

    /// As [`Network::ask`], out of the way of what is foreseen.
    #[inline(never)]
    fn admit_asked<W: Watch>(&mut self, index: usize, held: Held, watch: &mut W) {
        self.ask(index, held, watch);
    }

    /// A packet comes to a link whose queue is asked.
    #[inline(always)]
    fn ask<W: Watch>(&mut self, index: usize, held: Held, watch: &mut W) {
        let packet = self.wires.packet(&held);
        let seen = (W::ON && watch.wants_queue(index)).then_some(*packet);
        let link = &mut self.links[index];
        let was_armed = link.is_armed();
        let offered = link.offer(packet, held.slot(), self.now, &mut self.sequence);
        let (lost, armed) = (!link.thrown_out().is_empty(), !was_armed && link.is_armed());
        match &offered {
            Offered::Sent { arrives } => self.send(index, held, self.now, *arrives, watch),
            Offered::Foreseen { .. } => unreachable!("what is asked foresees nothing"),
            Offered::Passed { ecn, arrives } => {
                self.wires.packet_mut(&held).ecn = *ecn;
                self.send(index, held, self.now, *arrives, watch);
            }
            Offered::Queued => held.wait(),
            Offered::Lost(reason) => {
                see_loss(index, packet, *reason, watch);
                self.wires.release(held);
            }
        }
        if let Some(packet) = &seen {
            self.see_offer(index, packet, &offered, watch);
        }
        if lost {
            self.lose_thrown_out(index, watch);
        }
        if armed {
            let (key, place) = self.links[index].next_tx();
            self.transmitters.set(place, key);
        }
    }

    /// What the queue of a link has thrown out is seen, and is no more.
    #[cold]
    pub(crate) fn lose_thrown_out<W: Watch>(&mut self, index: usize, watch: &mut W) {
        if W::ON {
            self.see_thrown_out(index, watch);
        }
        while let Some(packet) = self.links[index].pop_thrown_out() {
            let held = self.wires.resume(&packet);
            self.wires.release(held);
        }
    }

    /// A packet leaves a link at `departs` and reaches its far end at `arrives`.
    #[inline(always)]
    pub(crate) fn send<W: Watch>(
        &mut self,
        index: usize,
        held: Held,
        departs: Time,
        arrives: Time,
        watch: &mut W,
    ) {
        let mut there = arrives;
        if let Some(fittings) = &self.links[index].fittings {
            if fittings.feeds_ahead {
                return self.send_ahead(index, held, arrives, watch);
            }
            if fittings.concerns_wire() {
                there = self.fitted_arrival(index, &held, departs, arrives);
            }
        }
        self.put(index, held, departs, there);
    }

    /// A packet reaches the far end of a link at `arrives`, and the next link takes it ahead of that.
    #[inline(always)]
    fn send_ahead<W: Watch>(&mut self, index: usize, held: Held, arrives: Time, watch: &mut W) {
        let packet = self.wires.packet(&held);
        let link = &mut self.links[index];
        link.deliver();
        let wire = self.forwarding.next_of(packet, link.leads_to) as usize;
        let link = &mut self.links[wire];
        let (departs, mut there) = link.take_ahead(packet, arrives);
        let is_fitted = link.fittings.is_some();
        if W::ON && (watch.wants_arrivals(index) || watch.wants_queue(wire)) {
            let packet = *packet;
            self.see_ahead([index, wire], &packet, [arrives, departs], watch);
        }
        if unlikely(is_fitted) {
            there = self.fitted_arrival(wire, &held, departs, there);
        }
        self.put(wire, held, arrives, there);
    }

    /// When a packet that leaves for a wire at `departs` reaches the far end, if that is `expected`
    /// where nothing is wrong with the wire. Announces it where that is asked for.
    #[inline(never)]
    fn fitted_arrival(&mut self, wire: usize, held: &Held, departs: Time, expected: Time) -> Time {
        let Some(fittings) = &mut self.links[wire].fittings else {
            return expected;
        };
        let arrives = fittings.arrival(departs, expected, self.wires.packet(held));
        if fittings.announces {
            self.tell_of(wire, held, arrives);
        }
        arrives
    }

    /// A packet is on the wire of a link, and comes to the far end at `arrives`.
    #[inline(always)]
    fn put(&mut self, wire: usize, held: Held, since: Time, arrives: Time) {
        self.sequence += 1;
        let key = Key::new(arrives, self.sequence);
        self.wires.put(key, wire as u32, since, held);
    }
}
