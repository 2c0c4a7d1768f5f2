//! TCP connections of cross traffic: made when they are needed, given back when they end.

use cclab_net::Port;
use cclab_packet::Packet;
use cclab_spec::{Flow as Spec, Scenario};
use cclab_tcp::sender::State;
use cclab_tcp::{Receiver, Sender};
use cclab_units::{Stream, Time};

use super::agenda::{Agenda, Duty};
use super::outbox::Outbox;
use crate::application::Application;
use crate::ends::ends;
use crate::flow::{RECEIVER, SENDER};
use crate::own::OwnVariants;
use crate::stack::Profiles;

/// Up to there an old packet can be mistaken for one of the connection that has its slot now.
const YOUNG: u64 = 1 << 30;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// One transfer of that many bytes, after which it closes.
    Transfer(u64),
    /// The requests of the client of that number.
    Requests(u32),
    /// The responses to it.
    Responses(u32),
    /// What someone types.
    Typing,
}

/// Both ends of a connection.
pub struct Connection {
    pub sender: Sender,
    pub receiver: Receiver,
    application: Application,
    pub purpose: Purpose,
    /// When it was opened.
    pub opened: Time,
    isn: u32,
}

/// A place for a connection. Its index is part of the packets' flow number, so that queues tell
/// connections apart; when a connection ends, another of the same source takes the place.
struct Slot {
    source: u32,
    generation: u32,
    ports: [Port; 2],
    /// The next connection's first sequence number lies past all that earlier ones sent: what is
    /// left of theirs is told from its own (RFC 9293 section 3.4.1).
    next_isn: u32,
    sender_wakes: Time,
    receiver_wakes: Time,
    connection: Option<Box<Connection>>,
}

/// Every connection of all sources.
pub struct Connections<'a> {
    scenario: &'a Scenario,
    /// The flow number of the first slot.
    first: u32,
    slots: Vec<Slot>,
    /// Empty slots, by route.
    free: Vec<Vec<u32>>,
    /// For each new slot that the network does not know, a flow number that goes the same way.
    pub new: Vec<u32>,
    profiles: Profiles,
}

/// What a packet did to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing that its owner need know.
    None,
    /// The receiver has more of the stream.
    Received(u32),
    /// The sender has finished or given up.
    Over(u32),
}

impl<'a> Connections<'a> {
    /// None yet; `routes` routes may be used, and flow numbers from `first` up are free. `own` are
    /// the variants of the scenario's files.
    pub fn new(
        scenario: &'a Scenario,
        routes: usize,
        first: u32,
        own: &OwnVariants,
    ) -> Connections<'a> {
        Connections {
            scenario,
            first,
            slots: Vec::new(),
            free: vec![Vec::new(); routes],
            new: Vec::new(),
            profiles: Profiles::new(own.clone()),
        }
    }

    /// The source of the connection that packets of `flow` belong to.
    pub fn source_of(&self, flow: u32) -> u32 {
        self.slots[(flow - self.first) as usize].source
    }

    /// The connection in `slot`.
    pub fn get(&self, slot: u32) -> Option<&Connection> {
        self.slots[slot as usize].connection.as_deref()
    }

    /// Every connection, with its source.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Connection)> {
        let open = |slot: &'_ Slot| slot.connection.is_some();
        let slots = self.slots.iter().filter(move |slot| open(slot));
        slots.filter_map(|slot| Some((slot.source, slot.connection.as_deref()?)))
    }

    /// Makes a connection at `now` as `order` describes. It begins when the caller pumps it.
    pub fn open(&mut self, now: Time, order: Order<'_>) -> u32 {
        let Order {
            source,
            route,
            like,
            ports,
            spec,
            purpose,
            application,
            mut dice,
        } = order;
        let (slot, reused) = match self.free[route].pop() {
            Some(slot) => (slot, true),
            None => {
                self.new.push(like);
                self.slots.push(Slot {
                    source,
                    generation: 0,
                    ports,
                    next_isn: 0,
                    sender_wakes: Time::NEVER,
                    receiver_wakes: Time::NEVER,
                    connection: None,
                });
                (self.slots.len() as u32 - 1, false)
            }
        };
        let place = &mut self.slots[slot as usize];
        let drawn = dice.bits();
        let isn = if reused { place.next_isn } else { drawn as u32 };
        let isns = (isn, (drawn >> 32) as u32);
        let flow = self.first + slot;
        let (sender, receiver, _) = ends(self.scenario, spec, flow, isns, dice, &mut self.profiles);
        place.connection = Some(Box::new(Connection {
            sender,
            receiver,
            application,
            purpose,
            opened: now,
            isn,
        }));
        slot
    }

    /// Opens a connection that stays, at `start`.
    pub fn reserve(&mut self, start: Time, order: Order<'_>, agenda: &mut Agenda) -> u32 {
        let slot = self.open(start, order);
        let place = &mut self.slots[slot as usize];
        place.sender_wakes = start;
        let generation = place.generation;
        agenda.add(start, Duty::Sender { slot, generation });
        slot
    }

    /// Offers the stream of the connection in `slot` up to `to`, and sends what may leave.
    pub fn write(&mut self, now: Time, slot: u32, to: u64, agenda: &mut Agenda, out: &mut Outbox) {
        if let Some(connection) = &mut self.slots[slot as usize].connection {
            connection.sender.write(to);
            self.pump_sender(now, slot, agenda, out);
        }
    }

    /// Takes in a packet that has reached a host.
    pub fn receive(
        &mut self,
        now: Time,
        packet: &Packet,
        agenda: &mut Agenda,
        out: &mut Outbox,
    ) -> Effect {
        let slot = packet.flow - self.first;
        let place = &mut self.slots[slot as usize];
        let reused = place.generation > 0;
        let Some(connection) = &mut place.connection else {
            return Effect::None; // of a connection that is over
        };
        if reused && !connection.owns(packet) {
            return Effect::None;
        }
        if packet.backward {
            connection.sender.on_packet(now, packet);
            return self.pump_sender(now, slot, agenda, out);
        }
        let before = connection.receiver.bytes_received();
        connection.receiver.on_packet(now, packet);
        let more = connection.receiver.bytes_received() > before;
        self.pump_receiver(now, slot, agenda, out);
        match more {
            true => Effect::Received(slot),
            false => Effect::None,
        }
    }

    /// Lets the sender or receiver do what is due.
    pub fn on_timer(
        &mut self,
        now: Time,
        duty: Duty,
        agenda: &mut Agenda,
        out: &mut Outbox,
    ) -> Effect {
        let (slot, generation, sends) = match duty {
            Duty::Sender { slot, generation } => (slot, generation, true),
            Duty::Receiver { slot, generation } => (slot, generation, false),
            Duty::Source { .. } => return Effect::None,
        };
        let place = &mut self.slots[slot as usize];
        let Some(connection) = place
            .connection
            .as_mut()
            .filter(|_| place.generation == generation)
        else {
            return Effect::None;
        };
        if sends {
            place.sender_wakes = Time::NEVER;
            if connection.sender.deadline() <= now {
                connection.sender.on_timer(now);
            }
            self.pump_sender(now, slot, agenda, out)
        } else {
            place.receiver_wakes = Time::NEVER;
            if connection.receiver.deadline() <= now {
                connection.receiver.on_timer(now);
            }
            self.pump_receiver(now, slot, agenda, out);
            Effect::None
        }
    }

    /// Lets the application write what is due, and the sender send what it may.
    pub fn pump_sender(
        &mut self,
        now: Time,
        slot: u32,
        agenda: &mut Agenda,
        out: &mut Outbox,
    ) -> Effect {
        let place = &mut self.slots[slot as usize];
        let Some(connection) = &mut place.connection else {
            return Effect::None;
        };
        if connection.sender.state() == State::Closed {
            connection.sender.connect(now);
        }
        connection.write_what_is_due(now);
        while let Some(packet) = connection.sender.poll_transmit(now) {
            out.put(place.source, place.ports[SENDER], packet);
        }
        if matches!(connection.sender.state(), State::Finished | State::Aborted) {
            return Effect::Over(slot);
        }
        let deadline = connection
            .sender
            .deadline()
            .min(connection.application.deadline());
        if deadline < place.sender_wakes {
            place.sender_wakes = deadline;
            let generation = place.generation;
            agenda.add(deadline, Duty::Sender { slot, generation });
        }
        Effect::None
    }

    fn pump_receiver(&mut self, now: Time, slot: u32, agenda: &mut Agenda, out: &mut Outbox) {
        let place = &mut self.slots[slot as usize];
        let Some(connection) = &mut place.connection else {
            return;
        };
        while let Some(packet) = connection.receiver.poll_transmit(now) {
            out.put(place.source, place.ports[RECEIVER], packet);
        }
        let deadline = connection.receiver.deadline();
        if deadline < place.receiver_wakes {
            place.receiver_wakes = deadline;
            let generation = place.generation;
            agenda.add(deadline, Duty::Receiver { slot, generation });
        }
    }

    /// Gives the memory of the connection in `slot` back; another may have the slot, which is one
    /// of `route`.
    pub fn close(&mut self, slot: u32, route: usize) -> Option<Box<Connection>> {
        let place = &mut self.slots[slot as usize];
        let connection = place.connection.take()?;
        // Past the data, the FIN, and a probe of the window.
        let sent = connection.sender.snd_nxt() as u32;
        place.next_isn = connection.isn.wrapping_add(sent).wrapping_add(3);
        place.generation = place.generation.wrapping_add(1).max(1);
        place.sender_wakes = Time::NEVER;
        place.receiver_wakes = Time::NEVER;
        self.free[route].push(slot);
        Some(connection)
    }
}

/// What a connection is opened by.
pub struct Order<'s> {
    /// Whose it is.
    pub source: u32,
    /// Which of the routes it goes.
    pub route: usize,
    /// A flow number that goes the same way.
    pub like: u32,
    /// Where the packets of its sender and of its receiver enter the network.
    pub ports: [Port; 2],
    /// Its ends.
    pub spec: &'s Spec,
    /// What it is for.
    pub purpose: Purpose,
    /// What writes to it.
    pub application: Application,
    /// Its random numbers.
    pub dice: Stream,
}

impl Connection {
    fn write_what_is_due(&mut self, now: Time) {
        self.application.on_acked(now, self.sender.snd_una());
        if self.application.deadline() <= now {
            let act = self.application.act(now);
            self.sender.write(act.written);
            if act.done {
                self.sender.close();
            }
            if act.stop {
                self.sender.close_now();
            }
        }
    }

    /// Whether `packet` is of this connection, not of an earlier one in its slot.
    fn owns(&self, packet: &Packet) -> bool {
        let number = if packet.backward {
            packet.ack
        } else {
            packet.seq
        };
        self.sender.snd_una() > YOUNG || number.wrapping_sub(self.isn).cast_signed() >= 0
    }
}
