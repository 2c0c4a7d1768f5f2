//! How a backend hands over what happens.

use cclab_packet::Packet;
use cclab_units::Time;

use crate::schema::{AckEvent, DropEvent, FlowSample, QueueEvent, QueueSample, Transfer};

/// One thing that happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The state of a flow at a sampling instant.
    FlowSample(FlowSample),
    /// The state of a queue at a sampling instant.
    QueueSample(QueueSample),
    /// A sender took in an acknowledgement.
    Ack(AckEvent),
    /// The inner state of a flow's variant: a number for each of its columns
    /// ([`Recording::states`](crate::Recording::states)).
    State(u32, &'a [f64]),
    /// A packet entered or left a queue.
    Queue(QueueEvent),
    /// A packet was lost.
    Drop(DropEvent),
    /// A transfer of cross traffic that began at that time is over, or the run is.
    Transfer(Time, Transfer),
    /// A packet passed the capture point of that index in the scenario's list.
    Packet(u32, &'a Packet),
}

/// Takes in events, of which it wants none unless it says so. `()` is the probe that is off: nothing is even
/// computed for it.
pub trait Probe {
    /// Whether it wants samples and transfers. What is counted after the warm-up is counted at a sample, so
    /// only where this is true.
    fn is_on(&self) -> bool {
        true
    }
    /// Whether anything is wanted at any time of packets, acknowledgements, queues, losses or states. If not,
    /// samples and transfers alone are told, and a run takes less time.
    fn looks_at_packets(&self) -> bool {
        true
    }
    /// Whether acknowledgements are wanted at `now`.
    fn wants_acks(&self, now: Time) -> bool {
        let _ = now;
        false
    }
    /// Whether the inner state of variants is wanted at `now`.
    fn wants_states(&self, now: Time) -> bool {
        let _ = now;
        false
    }
    /// Whether queue events are wanted at any time; none are computed otherwise.
    fn looks_at_queues(&self) -> bool {
        true
    }
    /// Whether queue events are wanted at `now`.
    fn wants_queue(&self, now: Time) -> bool {
        let _ = now;
        false
    }
    /// Whether drops are wanted at `now`.
    fn wants_drops(&self, now: Time) -> bool {
        let _ = now;
        false
    }
    /// Whether packets at capture points are wanted at `now`.
    fn wants_packets(&self, now: Time) -> bool {
        let _ = now;
        false
    }

    /// Takes in `event`, which happened at `now`; calls come in the order of time.
    fn record(&mut self, now: Time, event: Event<'_>);
}

impl Probe for () {
    fn is_on(&self) -> bool {
        false
    }
    fn looks_at_packets(&self) -> bool {
        false
    }
    fn looks_at_queues(&self) -> bool {
        false
    }
    fn record(&mut self, _: Time, _: Event<'_>) {}
}
