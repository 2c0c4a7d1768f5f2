//! Packets on links with impairments. Links without any never come here.

use cclab_packet::Packet;
use cclab_trace::schema::DropReason;
use cclab_units::Time;

use crate::network::Network;
use crate::seeing::see_loss;
use crate::watch::{Sight, Watch};
use crate::wires::Held;

impl Network {
    /// A packet comes to a link with a gate in front of its queue.
    #[inline(never)]
    pub(crate) fn pass_entry<W: Watch>(
        &mut self,
        index: usize,
        held: Held,
        since: Time,
        watch: &mut W,
    ) {
        let link = &mut self.links[index];
        let gate = link
            .fittings
            .as_mut()
            .and_then(|fittings| fittings.entry.as_mut());
        let Some(gate) = gate else {
            return self.admit(index, held, since, watch);
        };
        let packet = *self.wires.packet(&held);
        if let Some(reason) = gate.judge(self.now, &packet) {
            link.counters.offered += 1;
            link.aside.incidents.count_loss(reason);
            see_loss(index, &packet, reason, watch);
            return self.wires.release(held);
        }
        let copies = gate.copies();
        *self.wires.packet_mut(&held) = gate.touched(&packet);
        let second = copies.then(|| gate.touched(&packet));
        if let Some(packet) = second.filter(|_| W::ON) {
            watch.see(Sight::Copied { packet });
        }
        self.admit(index, held, since, watch);
        if let Some(second) = second {
            // A copy is born here: nobody offers it.
            let link = &mut self.links[index];
            link.aside.incidents.duplicates += 1;
            link.counters.offered -= 1;
            let second = self.wires.hold(&second);
            self.admit(index, second, since, watch);
        }
    }

    /// Whether a packet that reaches the far end of a link is lost there.
    #[inline(never)]
    pub(crate) fn is_lost_at_exit<W: Watch>(
        &mut self,
        index: usize,
        held: &Held,
        watch: &mut W,
    ) -> bool {
        let packet = self.wires.packet(held);
        let fittings = self.links[index].fittings.as_mut();
        let gate = fittings.and_then(|fittings| fittings.exit.as_mut());
        let Some(gate) = gate else {
            return false;
        };
        let mut packet = *packet;
        let Some(reason) = gate.judge(self.now, &packet) else {
            gate.remark(&mut packet);
            *self.wires.packet_mut(held) = packet;
            return false;
        };
        self.lose_arrived(index, &packet, reason, watch);
        true
    }

    /// A packet that comes to a host is corrupt.
    #[cold]
    pub(crate) fn lose_corrupt<W: Watch>(&mut self, index: usize, held: Held, watch: &mut W) {
        let packet = *self.wires.packet(&held);
        self.lose_arrived(index, &packet, DropReason::Corrupt, watch);
        self.wires.release(held);
    }

    /// A packet that has come off a link's wire is lost.
    pub(crate) fn lose_arrived<W: Watch>(
        &mut self,
        index: usize,
        packet: &Packet,
        reason: DropReason,
        watch: &mut W,
    ) {
        let link = &mut self.links[index];
        link.aside.incidents.count_loss(reason);
        link.counters.delivered -= 1;
        see_loss(index, packet, reason, watch);
    }

    /// An opportunity of a link that follows a trace has come.
    pub(crate) fn on_opportunity<W: Watch>(&mut self, index: usize, watch: &mut W) {
        let link = &mut self.links[index];
        let served = link.on_opportunity(self.now, &mut self.sequence);
        let delay = link.delay();
        let (key, place) = link.next_tx();
        self.transmitters.set(place, key);
        for one in &served {
            let held = self.wires.resume(&one.departure.packet);
            let wanted = W::ON && watch.wants_queue(index);
            let seen = wanted.then(|| *self.wires.packet(&held));
            self.send(index, held, self.now, self.now + delay, watch);
            if let Some(packet) = &seen {
                self.see_departure(index, packet, one.waited, watch);
            }
        }
        if !self.links[index].thrown_out().is_empty() {
            self.lose_thrown_out(index, watch);
        }
    }
}
