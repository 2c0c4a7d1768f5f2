//! One pass over the kernel's events: what they say of connections, queues and losses.

use cclab_trace::schema::{DropEvent, QueueAction, QueueEvent};
use cclab_trace::{Event as Row, Histogram, Probe, Recorder};
use cclab_units::Time;

use crate::addresses::{Addresses, Owner};
use crate::connection::Connection;
use crate::error::HarvestError;
use crate::event::{AtQueue, Ends, Event, Lost};
use crate::machines::Events;
use crate::places::Places;
use crate::records::{Run, is_program};

/// A socket that is about to send its SYN (include/net/tcp_states.h).
const SYN_SENT: u8 = 2;
/// Bytes of Ethernet framing, which links count and IP does not.
pub const FRAMING: u32 = 14;

/// What the events of a run come to.
#[derive(Debug)]
pub struct Tally {
    /// One per flow.
    pub flows: Vec<FlowTally>,
    /// One per queue of the orders.
    pub queues: Vec<QueueTally>,
    /// Where packets were lost.
    pub places: Places,
    /// Events in the ring.
    pub events: u64,
    /// Absent without a warm-up, and if no event came after it.
    pub warm: Option<Warm>,
}

/// What had been counted when the warm-up ended; taken off what is counted in all.
#[derive(Debug)]
pub struct Warm {
    /// The round trips of each flow.
    pub flows: Vec<RoundTrips>,
    /// How long packets waited at each queue.
    pub sojourns: Vec<Histogram>,
}

/// The round trips of a flow.
#[derive(Clone, Debug, Default)]
pub struct RoundTrips {
    /// RTT samples.
    pub rtt: Histogram,
    /// Sum and count of srtt over acknowledgements.
    pub srtt: (u128, u64),
}

impl RoundTrips {
    /// What came since `earlier`.
    pub fn since(&self, earlier: &RoundTrips) -> RoundTrips {
        RoundTrips {
            rtt: self.rtt.since(&earlier.rtt),
            srtt: (self.srtt.0 - earlier.srtt.0, self.srtt.1 - earlier.srtt.1),
        }
    }

    /// The mean of srtt.
    pub fn srtt_mean(&self) -> Option<Time> {
        let (sum, count) = self.srtt;
        (count > 0).then(|| Time::from_nanos((sum / u128::from(count)) as u64))
    }
}

/// What events say of a flow.
#[derive(Debug, Default)]
pub struct FlowTally {
    /// Its connections, in the order of their first event.
    pub connections: Vec<Connection>,
    /// When the first SYN left.
    pub started: Option<Time>,
    /// Segments that were reported as sent again, of any kind.
    pub retransmits: u64,
}

impl FlowTally {
    /// The connection that got most bytes through.
    pub fn main(&self) -> Option<&Connection> {
        // The first of equals.
        self.connections.iter().rev().max_by_key(|c| c.acked)
    }

    /// The round trips of all its connections.
    pub fn round_trips(&self) -> RoundTrips {
        let mut all = RoundTrips::default();
        for connection in &self.connections {
            all.rtt.add(&connection.rtt);
            all.srtt.0 += connection.srtt.0;
            all.srtt.1 += connection.srtt.1;
        }
        all
    }

    fn connection(&mut self, ends: &Ends, data: Option<u64>) -> &mut Connection {
        let ports = (ends.source_port, ends.destination_port);
        let found = self.connections.iter().rposition(|c| c.ports == ports);
        let index = found.unwrap_or_else(|| {
            self.connections.push(Connection::new(ports, data));
            self.connections.len() - 1
        });
        &mut self.connections[index]
    }
}

/// What events say of a queue.
#[derive(Clone, Debug, Default)]
pub struct QueueTally {
    /// How long packets waited.
    pub sojourn: Histogram,
    /// The largest backlog in bytes.
    pub backlog_max: u64,
}

impl Tally {
    /// The tally of a run without events.
    pub fn empty(run: &Run<'_>) -> Tally {
        Tally {
            flows: run
                .orders
                .flows
                .iter()
                .map(|_| FlowTally::default())
                .collect(),
            queues: vec![QueueTally::default(); run.orders.queues.len()],
            places: Places::new(run),
            events: 0,
            warm: None,
        }
    }

    /// The end of the warm-up has come.
    fn mark_warm(&mut self) {
        let sojourns = self.queues.iter().map(|queue| queue.sojourn.clone());
        self.warm = Some(Warm {
            flows: self.flows.iter().map(FlowTally::round_trips).collect(),
            sojourns: sojourns.collect(),
        });
    }

    /// Goes through `events` and hands queue events and losses to `recorder`.
    ///
    /// # Errors
    /// If the ring cannot be read or is damaged.
    pub fn of(
        run: &Run<'_>,
        events: &Events,
        recorder: &mut Recorder,
    ) -> Result<Tally, HarvestError> {
        let mut pass = Pass {
            run,
            addresses: Addresses::new(&run.orders.flows),
            data: (0..run.orders.flows.len())
                .map(|i| run.data_of(i))
                .collect(),
            tally: Tally::empty(run),
            recorder,
        };
        events.for_each(|decoder, clock, data| {
            pass.tally.events += 1;
            if let Some(now) = run.at_monotonic(clock)
                && let Some(event) = decoder.event(data)?
            {
                pass.take(now, &event);
            }
            Ok(())
        })?;
        Ok(pass.tally)
    }
}

struct Pass<'a> {
    run: &'a Run<'a>,
    addresses: Addresses,
    /// Bytes that each flow's only connection sent.
    data: Vec<Option<u64>>,
    tally: Tally,
    recorder: &'a mut Recorder,
}

impl Pass<'_> {
    fn take(&mut self, now: Time, event: &Event) {
        let warmup = self.run.scenario.warmup;
        if self.tally.warm.is_none() && warmup > Time::ZERO && now >= warmup {
            self.tally.mark_warm();
        }
        match event {
            Event::Ack(ack) => {
                let run = self.run;
                if let Some((flow, connection)) = self.connection(&ack.ends) {
                    let mss = run.outcome.flows[flow].sender.first();
                    connection.on_ack(now, ack, mss.map_or(0, |info| info.snd_mss));
                }
            }
            Event::Congestion(ends, state) => {
                if let Some((_, connection)) = self.connection(ends) {
                    connection.on_congestion(*state);
                }
            }
            Event::Retransmit(ends, state) => {
                if let Some((flow, connection)) = self.connection(ends) {
                    connection.on_retransmit(*state);
                    self.tally.flows[flow].retransmits += 1;
                }
            }
            Event::State(ends, state) => self.on_state(now, ends, *state),
            Event::Queued(packet) => self.on_queue(now, packet, QueueAction::Enqueue),
            Event::Dequeued(packet) => self.on_queue(now, packet, QueueAction::Dequeue),
            Event::Lost(packet) => self.on_loss(now, packet),
        }
    }

    /// The flow and the connection whose sender is at the first of `ends`.
    fn connection(&mut self, ends: &Ends) -> Option<(usize, &mut Connection)> {
        let owner = self.sender(ends)?;
        let flow = &mut self.tally.flows[owner];
        Some((owner, flow.connection(ends, self.data[owner])))
    }

    fn sender(&self, ends: &Ends) -> Option<usize> {
        let owner = self.addresses.owner(ends)?;
        (!owner.backward).then_some(owner.flow)
    }

    fn on_state(&mut self, now: Time, ends: &Ends, state: u8) {
        // The port of a program's socket is not yet known to the event; addresses are.
        let flow = self.sender(ends).filter(|_| state == SYN_SENT);
        if let Some(flow) = flow.filter(|&flow| is_program(&self.run.orders.flows[flow])) {
            self.tally.flows[flow].started.get_or_insert(now);
        }
    }

    fn on_queue(&mut self, now: Time, packet: &AtQueue, action: QueueAction) {
        let queues = &self.run.orders.queues;
        let Some(index) = queues.iter().position(|q| q.handle == packet.handle) else {
            return;
        };
        let leaves = action == QueueAction::Dequeue;
        if leaves {
            let tally = &mut self.tally.queues[index];
            tally.sojourn.record(packet.sojourn);
            // One that did not wait found room on the link, and was no backlog.
            let own = if packet.sojourn > 0 { packet.len } else { 0 };
            let backlog = u64::from(packet.backlog) + u64::from(own);
            tally.backlog_max = tally.backlog_max.max(backlog);
        }
        if !self.recorder.wants_queue(now) {
            return;
        }
        if let Some(owner) = self.addresses.owner(&packet.ends) {
            let row = QueueEvent {
                link: queues[index].link,
                action,
                flow: owner.flow as u32,
                wire_len: packet.len,
                backlog: u64::from(packet.backlog),
                sojourn: leaves.then(|| Time::from_nanos(packet.sojourn)),
            };
            self.recorder.record(now, Row::Queue(row));
        }
    }

    fn on_loss(&mut self, now: Time, packet: &Lost) {
        let Some(owner) = self.addresses.owner(&packet.ends) else {
            return;
        };
        let (link, reason) = self.tally.places.lose(self.run, now, packet, owner);
        if self.recorder.wants_drops(now) {
            let row = DropEvent {
                link,
                reason,
                flow: owner.flow as u32,
                offset: self.offset(packet, owner),
                wire_len: packet.len + FRAMING,
            };
            self.recorder.record(now, Row::Drop(row));
        }
    }

    /// Offset of a lost packet's first byte of data. No data are sent before the handshake's
    /// acknowledgement, from which offsets are counted.
    fn offset(&self, packet: &Lost, owner: Owner) -> u64 {
        if packet.payload == 0 || owner.backward {
            return 0;
        }
        let ports = (packet.ends.source_port, packet.ends.destination_port);
        let mut connections = self.tally.flows[owner.flow].connections.iter().rev();
        let offsets = connections
            .find(|c| c.ports == ports)
            .and_then(|c| c.offsets);
        offsets.map_or(0, |offsets| offsets.of(packet.seq))
    }
}
