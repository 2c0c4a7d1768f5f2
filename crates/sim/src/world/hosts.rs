//! Hosts: packets that reach one, what it sends then, and what is due there.

use cclab_packet::{Packet, flags};
use cclab_tcp::sender::State;
use cclab_trace::{Event, Probe};
use cclab_units::Time;

use super::World;
use crate::calendar::Key;
use crate::summary;
use crate::wires::Held;

impl<P: Probe> World<'_, P> {
    /// A packet has reached its host.
    pub(super) fn receive(&mut self, held: Held) {
        let packet = self.wires.packet(&held);
        let index = packet.flow as usize;
        if index >= self.flows.len() {
            let packet = *packet;
            self.wires.release(held);
            return self.receive_traffic(&packet);
        }
        let (backward, syn) = (packet.backward, packet.has(flags::SYN));
        if P::ON {
            let packet = *packet;
            let points = match backward {
                true => &self.captures.senders,
                false => &self.captures.receivers,
            };
            self.capture(points[index], &packet);
        }
        let packet = self.wires.packet(&held);
        if backward {
            let flow = &mut self.flows[index];
            flow.sender.on_packet(self.now, packet);
            self.wires.release(held);
            if flow.application.is_interactive() {
                flow.application.on_acked(self.now, flow.sender.snd_una());
            }
            if let Some(rtt) = flow.sender.last_ack().rtt {
                flow.rtt.record(rtt.as_nanos());
            }
            if let Some(srtt) = summary::known_srtt(&flow.sender) {
                flow.srtt_sum += u128::from(srtt.as_nanos());
                flow.srtt_count += 1;
            }
            self.pump_sender(index);
            if P::ON && !syn && self.probe.wants_acks(self.now) {
                self.trace_ack(index);
            }
        } else {
            let flow = &mut self.flows[index];
            flow.receiver.on_packet(self.now, packet);
            self.wires.release(held);
            if flow.application.is_interactive()
                && flow.application.is_answered(flow.receiver.bytes_received())
            {
                flow.receiver.acknowledge_now();
            }
            self.pump_receiver(index);
        }
    }

    /// Out of the way of the flows' packets, which are the most.
    #[cold]
    #[inline(never)]
    pub(super) fn receive_traffic(&mut self, packet: &Packet) {
        self.traffic.receive(self.now, packet);
        self.pump_traffic();
    }

    /// Lets cross traffic send what it has.
    pub(super) fn pump_traffic(&mut self) {
        let packets = self.traffic.take_packets();
        for (link, packet) in &packets {
            let packet = self.wires.hold(packet);
            self.offer(*link as usize, packet, self.now);
        }
        self.traffic.reuse(packets);
        if P::ON {
            for (began, transfer) in self.traffic.ended() {
                self.probe
                    .record(self.now, Event::Transfer(began, transfer));
            }
        }
        if self.traffic.fault.is_some() {
            self.faulty = Some(self.flows.len());
        }
        self.wake_by(self.elements.traffic, self.traffic.deadline());
    }

    /// Lets a sender send what it may.
    pub(super) fn pump_sender(&mut self, index: usize) {
        let first = self.flows[index].path.data as usize;
        loop {
            let held = self.wires.reserve();
            let packet = self.wires.packet_mut(&held);
            if !self.flows[index].sender.transmit(self.now, packet) {
                self.wires.release(held);
                break;
            }
            if P::ON {
                let packet = *packet;
                self.capture(self.captures.senders[index], &packet);
            }
            self.offer(first, held, self.now);
        }
        let flow = &mut self.flows[index];
        if !flow.over && matches!(flow.sender.state(), State::Finished | State::Aborted) {
            flow.over = true;
            if flow.sender.fault().is_some() {
                self.faulty = Some(index);
            }
            flow.ended = (flow.sender.state() == State::Finished).then_some(self.now);
            self.active -= 1;
            if P::ON && self.sampler.on_end() {
                self.sample();
            }
        }
        let deadline = self.flows[index].sender_deadline();
        self.wake_by(self.elements.flows + index as u32, deadline);
    }

    pub(super) fn pump_receiver(&mut self, index: usize) {
        let first = self.flows[index].path.acks as usize;
        loop {
            let held = self.wires.reserve();
            let packet = self.wires.packet_mut(&held);
            if !self.flows[index].receiver.transmit(self.now, packet) {
                self.wires.release(held);
                break;
            }
            if P::ON {
                let packet = *packet;
                self.capture(self.captures.receivers[index], &packet);
            }
            self.offer(first, held, self.now);
        }
        let deadline = self.flows[index].receiver.deadline();
        if deadline != Time::NEVER {
            self.wake_by(self.elements.flows + index as u32, deadline);
        }
    }

    /// Something may be due at the hosts of a flow.
    pub(super) fn on_timers(&mut self, index: usize) {
        let element = self.elements.flows + index as u32;
        self.calendar.set(element, Key::NEVER);
        if !self.flows[index].over {
            self.on_sender_timer(index);
        }
        if self.flows[index].receiver.deadline() <= self.now {
            self.flows[index].receiver.on_timer(self.now);
        }
        self.pump_receiver(index);
    }

    pub(super) fn on_sender_timer(&mut self, index: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
        if flow.started.is_none() {
            flow.started = Some(now);
            flow.sender.connect(now);
        }
        if flow.application.deadline() <= now {
            let act = flow.application.act(now);
            flow.sender.write(act.written);
            if act.done {
                flow.sender.close();
            }
            if act.stop {
                flow.sender.close_now();
            }
        }
        if flow.sender.deadline() <= now {
            flow.sender.on_timer(now);
        }
        self.pump_sender(index);
    }
}
