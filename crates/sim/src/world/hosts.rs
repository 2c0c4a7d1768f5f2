//! Hosts: packets that reach one, what it sends then, and what is due there.

use cclab_net::{Host, Network, Side, Watch};
use cclab_packet::{Packet, flags};
use cclab_tcp::sender::State;
use cclab_trace::Event;
use cclab_units::hint::unlikely;
use cclab_units::{Noted, Time};

use super::World;
use crate::flow::{Flow, RECEIVER, SENDER};
use crate::probe::Probes;
use crate::traffic::Traffic;

/// All hosts of a simulation.
pub(super) struct Hosts<'a> {
    pub(super) flows: Vec<Flow>,
    pub(super) traffic: Traffic<'a>,
    pub(super) probes: Probes,
}

impl<'a, const SEES: bool> World<'a, SEES> {
    /// A packet has reached its host.
    #[inline]
    pub(super) fn receive(&mut self, held: cclab_net::wires::Held) {
        let packet = self.net.packet(&held);
        let index = packet.flow as usize;
        if index >= self.hosts.flows.len() {
            let packet = *packet;
            self.net.release(held);
            return match self.hosts.probes.index_of(packet.flow) {
                Some(_) => self.receive_echo(&packet),
                None => self.receive_traffic(&packet),
            };
        }
        if SEES {
            let side = if packet.backward { SENDER } else { RECEIVER };
            if let Some(point) = self.captures.hosts[side][index] {
                let packet = *packet;
                self.capture(point, &packet);
            }
        }
        let flow = &mut self.hosts.flows[index];
        let packet = self.net.packet(&held);
        let syn = packet.has(flags::SYN);
        let side = flow.receive(self.net.now(), packet);
        self.net.release(held);
        if SEES {
            match side {
                SENDER => self.pump_flow::<SENDER>(index),
                _ => self.pump_flow::<RECEIVER>(index),
            }
        } else {
            let (net, lookout) = (&mut self.net, &mut self.lookout);
            let has_ended = match side {
                SENDER => pump_unseen::<SENDER, _>(net, flow, index, lookout),
                _ => pump_unseen::<RECEIVER, _>(net, flow, index, lookout),
            };
            if has_ended {
                self.end_flow(index); // its sender has nothing more to do
            }
        }
        if side == SENDER && !syn && unlikely(self.triggers.wait()) {
            self.trigger(index);
        }
        if SEES && side == SENDER && !syn {
            if self.probe.wants_acks(self.net.now()) {
                self.trace_ack(index);
            }
            self.trace_state(index);
        }
    }

    /// Out of the way of the flows' packets, which are the most.
    #[cold]
    #[inline(never)]
    fn receive_traffic(&mut self, packet: &Packet) {
        self.hosts.traffic.receive(self.net.now(), packet);
        self.pump_traffic();
    }

    #[cold]
    #[inline(never)]
    fn receive_echo(&mut self, packet: &Packet) {
        self.hosts.probes.receive(self.net.now(), packet);
        self.pump_probes();
    }

    /// A probe's next request is due.
    pub(super) fn on_probe_timer(&mut self) {
        let now = self.net.now();
        self.hosts.probes.act(now, now);
        self.pump_probes();
    }

    /// Lets probes send what they have.
    fn pump_probes(&mut self) {
        self.pump(|hosts| &mut hosts.probes, 0, None);
        let deadline = self.hosts.probes.deadline(0);
        self.net.wake_by(self.timers.probes, deadline);
    }

    /// Something may be due at the hosts of a flow.
    pub(super) fn on_flow_timer(&mut self, index: usize) {
        let now = self.net.now();
        self.hosts.flows[index].act(now, now);
        self.pump_flow::<SENDER>(index);
        self.pump_flow::<RECEIVER>(index);
        if unlikely(self.triggers.wait()) {
            self.trigger(index);
        }
        if SEES {
            self.trace_state(index);
        }
    }

    /// Lets links change that wait for what the variant of a flow has come to, which it tells traces at
    /// the same instants.
    #[cold]
    fn trigger(&mut self, index: usize) {
        let now = self.net.now();
        for when in self.triggers.look(index, &self.hosts.flows[index], now) {
            self.net.come_about(when);
        }
    }

    /// Something is due in cross traffic.
    pub(super) fn on_traffic_timer(&mut self) {
        let now = self.net.now();
        self.hosts.traffic.act(now, now);
        self.pump_traffic();
    }

    /// Lets one side of a flow send what it may.
    #[inline]
    fn pump_flow<const SIDE: Side>(&mut self, index: usize) {
        let point = self.captures.hosts[SIDE][index].filter(|_| SEES);
        if point.is_some() {
            self.pump(|hosts| &mut hosts.flows[index], SIDE, point);
        }
        let flow = &mut self.hosts.flows[index];
        let has_ended = match point.is_some() {
            true => let_wake::<SIDE>(&mut self.net, flow, index),
            false => pump_unseen::<SIDE, _>(&mut self.net, flow, index, &mut self.lookout),
        };
        if SEES {
            self.tell();
        }
        if has_ended {
            self.end_flow(index); // its sender has nothing more to do
        }
    }

    /// A flow is finished or given up.
    #[cold]
    fn end_flow(&mut self, index: usize) {
        let now = self.net.now();
        match &mut self.hosts.flows[index] {
            Flow::Tcp(flow) => {
                flow.over = true;
                if flow.sender.state() == State::Finished {
                    flow.ended = Noted::at(now);
                }
                if flow.sender.fault().is_some() {
                    self.faulty = Some(index);
                }
            }
            Flow::Udp(flow) => flow.end(),
        }
        self.active -= 1;
        self.halts |= self.active == 0 || self.faulty.is_some();
        if self.samples && self.sampler.on_end() {
            self.sample();
        }
    }

    /// Lets cross traffic send what it has.
    fn pump_traffic(&mut self) {
        let timer = self.timers.traffic;
        let traffic = &mut self.hosts.traffic;
        traffic.send_into(&mut self.net, timer, &mut self.lookout);
        if SEES {
            self.tell();
        }
        if self.samples {
            let now = self.net.now();
            for (began, transfer) in self.hosts.traffic.ended() {
                self.probe.record(now, Event::Transfer(began, transfer));
            }
        }
        if self.hosts.traffic.fault.is_some() {
            self.faulty = Some(self.hosts.flows.len());
            self.halts = true;
        }
    }

    /// Puts into the network what `side` of a host sends now; `point` captures it.
    #[inline]
    fn pump<H: Host>(
        &mut self,
        host: impl for<'h> Fn(&'h mut Hosts<'a>) -> &'h mut H,
        side: Side,
        point: Option<u32>,
    ) {
        let now: Time = self.net.now();
        if !SEES {
            return send_all(
                &mut self.net,
                host(&mut self.hosts),
                side,
                &mut self.lookout,
            );
        }
        loop {
            let held = self.net.reserve();
            let packet = self.net.packet_mut(&held);
            let Some(port) = host(&mut self.hosts).transmit(now, side, packet) else {
                return self.net.release(held);
            };
            if let Some(point) = point {
                let packet = *packet;
                self.capture(point, &packet);
            }
            self.net.inject(port, held, &mut self.lookout);
            self.tell();
        }
    }
}

/// Puts into the network what `side` of `host` sends now, which nobody captures.
#[inline(always)] // at few places: a call for each packet costs more than what it does
fn send_all<H: Host, W: Watch>(net: &mut Network, host: &mut H, side: Side, lookout: &mut W) {
    let now = net.now();
    while let Some(port) = host.transmit(now, side, net.vacant()) {
        let held = net.reserve();
        net.inject(port, held, lookout);
        if host.has_sent_all(side) {
            debug_assert!(host.transmit(now, side, net.vacant()).is_none());
            return;
        }
    }
}

/// Lets one side of the flow at `index` send what it may, which nobody captures, and wake when it wants to.
/// Returns whether the flow has come to its end.
fn pump_unseen<const SIDE: Side, W: Watch>(
    net: &mut Network,
    flow: &mut Flow,
    index: usize,
    lookout: &mut W,
) -> bool {
    send_all(net, flow, SIDE, lookout);
    let_wake::<SIDE>(net, flow, index)
}

/// Sees to it that the flow at `index` wakes when one side of it wants to, unless it has come to its end,
/// which is returned.
#[inline(always)] // at few places: a call for each packet costs more than what it does
fn let_wake<const SIDE: Side>(net: &mut Network, flow: &Flow, index: usize) -> bool {
    if SIDE == SENDER && flow.has_ended(net.now()) {
        return true;
    }
    if unlikely(!net.wakes_by(index as u32, flow.least_deadline(SIDE))) {
        net.wake_by(index as u32, flow.deadline(SIDE));
    }
    false
}
