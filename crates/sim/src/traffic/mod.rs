//! Cross traffic: datagrams, and TCP connections that come and go.
//!
//! Each source has two flow numbers after those of the flows, one for each direction of data;
//! connections have numbers of their own after these, which are used again when they end. Packets
//! to send gather in an [`Outbox`], from which the event loop offers them to links.

mod agenda;
mod arrivals;
mod connection;
mod datagrams;
pub mod draw;
mod exchange;
mod outbox;
mod setup;
mod source;

use cclab_layout::Layout;
use cclab_net::{Host, Network, Port, ROUTES, Side, Watch};
use cclab_packet::Packet;
use cclab_spec::Scenario;
use cclab_trace::schema::{TrafficSummary, Transfer};
use cclab_units::Time;

use crate::SimError;
use crate::own::OwnVariants;
use agenda::{Agenda, Duty};
use connection::{Connections, Effect, Purpose};
use outbox::Outbox;
use setup::Setup;
use source::Source;

/// All cross traffic of a scenario.
pub struct Traffic<'a> {
    /// The flow number of the first source.
    first: u32,
    sources: Vec<Source>,
    /// The flow number of the first connection.
    first_connection: u32,
    connections: Connections<'a>,
    agenda: Agenda,
    out: Outbox,
    scenario: &'a Scenario,
    /// Whether transfers are told to a trace.
    traced: bool,
    /// What a variant did that ends the run.
    pub fault: Option<SimError>,
}

impl<'a> Traffic<'a> {
    /// The traffic of `scenario` before it begins, on its ways over `layout`; `own` are the variants
    /// of the scenario's files.
    pub fn new(
        scenario: &'a Scenario,
        layout: &Layout,
        seed: u64,
        traced: bool,
        own: &OwnVariants,
    ) -> Traffic<'a> {
        let first = scenario.flows.len() as u32;
        let routes = ROUTES * scenario.traffic.len();
        // Those of probes lie between.
        let first_connection = first + (routes + scenario.probes.len()) as u32;
        let mut connections = Connections::new(scenario, routes, first_connection, own);
        let mut agenda = Agenda::default();
        let mut setup = Setup {
            scenario,
            layout,
            seed,
            first,
            connections: &mut connections,
            agenda: &mut agenda,
        };
        let sources = (0..scenario.traffic.len())
            .map(|index| setup.source(index))
            .collect();
        Traffic {
            first,
            sources,
            first_connection,
            connections,
            agenda,
            out: Outbox::of(scenario.traffic.len()),
            scenario,
            traced,
            fault: None,
        }
    }

    /// Puts into `net` what its sources send now, and has `timer` be due when they act next.
    pub fn send_into(&mut self, net: &mut Network, timer: u32, watch: &mut impl Watch) {
        let now = net.now();
        for like in self.new_flows() {
            net.add_flow_like(like);
        }
        loop {
            let held = net.reserve();
            let Some(port) = self.transmit(now, 0, net.packet_mut(&held)) else {
                net.release(held);
                break;
            };
            net.inject(port, held, watch);
        }
        net.wake_by(timer, self.deadline(0));
    }

    /// For each flow number that is new since this was last asked, one that goes the same way.
    pub fn new_flows(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.connections.new)
    }

    /// The index of the source whose packets have the flow number `flow`.
    pub fn source_of(&self, flow: u32) -> u32 {
        let index = (flow - self.first) as usize;
        match index < ROUTES * self.sources.len() {
            true => (index / ROUTES) as u32,
            false => self.connections.source_of(flow),
        }
    }

    /// Transfers that ended since this was last asked.
    pub fn ended(&mut self) -> impl Iterator<Item = (Time, Transfer)> + '_ {
        self.out.transfers.drain(..)
    }

    /// Transfers that have not ended.
    pub fn unfinished(&self) -> Vec<(Time, Transfer)> {
        let open = self.connections.all().filter_map(|(source, connection)| {
            let Purpose::Transfer(size) = connection.purpose else {
                return None;
            };
            let transfer = Transfer {
                source,
                size,
                first_byte: connection.receiver.first_byte(),
                retransmits: connection.sender.counters().retransmits,
                ..Transfer::default()
            };
            Some((connection.opened, transfer))
        });
        let asked = self.sources.iter().filter_map(|source| match source {
            Source::Exchange(exchange) => Some(exchange.waiting()),
            _ => None,
        });
        open.chain(asked.flatten()).collect()
    }

    /// What each source did.
    pub fn summaries(&self) -> Vec<TrafficSummary> {
        let all = self.scenario.traffic.iter().zip(&self.out.counters);
        all.map(|(spec, counters)| TrafficSummary {
            name: spec.name.clone(),
            kind: spec.kind.clone(),
            sent: counters.sent,
            sent_bytes: counters.sent_bytes,
            received: counters.received,
            received_bytes: counters.received_bytes,
            started: counters.started,
            ended: counters.ended,
            delay: counters.delay.clone(),
            rtt: counters.rtt.clone(),
        })
        .collect()
    }

    /// Does one thing that is due.
    fn do_duty(&mut self, now: Time, duty: Duty) {
        let Duty::Source { source, client } = duty else {
            let effect = self
                .connections
                .on_timer(now, duty, &mut self.agenda, &mut self.out);
            return self.heed(now, effect);
        };
        match &mut self.sources[source as usize] {
            Source::Datagrams(datagrams) => {
                let next = datagrams.on_timer(now, &mut self.out);
                self.agenda.add(next, duty);
            }
            Source::Arrivals(arrivals) => {
                let slot = arrivals.open(now, &mut self.connections);
                let next = arrivals.next();
                self.agenda.add(next, duty);
                if let Some(slot) = slot {
                    self.out.counters[source as usize].started += 1;
                    self.pump(now, slot);
                }
            }
            Source::Exchange(exchange) => {
                if let Some((slot, to)) = exchange.ask(now, client) {
                    self.out.counters[source as usize].started += 1;
                    self.write(now, slot, to);
                }
            }
            Source::Typing => {}
        }
    }

    fn write(&mut self, now: Time, slot: u32, to: u64) {
        let Traffic {
            connections,
            agenda,
            out,
            ..
        } = self;
        connections.write(now, slot, to, agenda, out);
    }

    fn pump(&mut self, now: Time, slot: u32) {
        let Traffic {
            connections,
            agenda,
            out,
            ..
        } = self;
        let effect = connections.pump_sender(now, slot, agenda, out);
        self.heed(now, effect);
    }

    /// Does what follows from something that a connection did.
    fn heed(&mut self, now: Time, effect: Effect) {
        match effect {
            Effect::None => {}
            Effect::Over(slot) => self.close(slot),
            Effect::Received(slot) => self.on_received(now, slot),
        }
    }

    /// A connection is over: what it was is noted, its memory given back.
    fn close(&mut self, slot: u32) {
        let Some(connection) = self.connections.get(slot) else {
            return;
        };
        let flow = slot + self.first_connection;
        let source = self.source_of(flow);
        if let Some(fault) = connection.sender.fault() {
            let spec = &self.scenario.traffic[source as usize];
            self.fault = Some(SimError::Variant {
                flow: spec.name.clone(),
                variant: spec.cc.clone().unwrap_or_default(),
                what: fault.to_string(),
            });
        }
        let Purpose::Transfer(size) = connection.purpose else {
            return; // given up after too many timeouts; it stays, and nothing comes of it
        };
        let Source::Arrivals(arrivals) = &self.sources[source as usize] else {
            return;
        };
        let whole = connection.receiver.bytes_received() >= size;
        let end = connection.receiver.last_byte().filter(|_| whole);
        let started = connection.opened;
        self.out.counters[source as usize].ended += u64::from(end.is_some());
        if self.traced {
            let transfer = Transfer {
                source,
                size,
                first_byte: connection.receiver.first_byte(),
                end,
                retransmits: connection.sender.counters().retransmits,
                slowdown: end.map(|end| arrivals.slowdown(size, end - started)),
            };
            self.out.transfers.push((started, transfer));
        }
        self.connections.close(slot, source as usize * ROUTES);
    }

    fn on_received(&mut self, now: Time, slot: u32) {
        let Some(connection) = self.connections.get(slot) else {
            return;
        };
        let purpose = connection.purpose;
        let received = connection.receiver.bytes_received();
        let resent = connection.sender.counters().retransmits;
        let flow = slot + self.first_connection;
        let source = self.source_of(flow);
        let Source::Exchange(exchange) = &mut self.sources[source as usize] else {
            return;
        };
        match purpose {
            Purpose::Requests(client) => {
                if let Some((slot, to)) = exchange.answer(client, received) {
                    self.write(now, slot, to);
                }
            }
            Purpose::Responses(client) => {
                let Some((started, transfer)) = exchange.receive(now, client, received, resent)
                else {
                    return;
                };
                let next = exchange.next(now);
                self.out.counters[source as usize].ended += 1;
                if self.traced {
                    self.out.transfers.push((started, transfer));
                }
                self.agenda.add(next, Duty::Source { source, client });
            }
            Purpose::Transfer(_) | Purpose::Typing => {}
        }
    }
}

impl Host for Traffic<'_> {
    /// Takes in a packet that has reached a host.
    fn receive(&mut self, now: Time, packet: &Packet) -> Side {
        let source = self.source_of(packet.flow);
        self.out.take(source, packet);
        if packet.flow >= self.first_connection {
            let effect = self
                .connections
                .receive(now, packet, &mut self.agenda, &mut self.out);
            self.heed(now, effect);
        } else if let Source::Datagrams(datagrams) = &mut self.sources[source as usize] {
            datagrams.receive(now, packet, &mut self.out);
        }
        0
    }

    fn act(&mut self, now: Time, _: Time) {
        while let Some(duty) = self.agenda.due(now) {
            self.do_duty(now, duty);
        }
    }

    fn transmit(&mut self, _: Time, _: Side, packet: &mut Packet) -> Option<Port> {
        let (port, next) = self.out.packets.pop_front()?;
        *packet = next;
        Some(port)
    }

    fn deadline(&self, _: Side) -> Time {
        self.agenda.deadline()
    }
}
