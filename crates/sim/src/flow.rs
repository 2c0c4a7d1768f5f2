//! A flow: what has its two ends, over TCP or UDP.

use std::mem::offset_of;

use cclab_net::{Host, Port, Side};
use cclab_packet::Packet;
use cclab_spec::Scenario;
use cclab_tcp::Receiver;
use cclab_units::Time;
use cclab_units::hint::rarely;
use cclab_units::memory::prefetch_part;

use crate::stack::Profiles;
use crate::tcp_flow::TcpFlow;
use crate::udp_flow::UdpFlow;

/// The side of a [`Flow`] that sends data, and that of the packets that come back to it.
pub const SENDER: Side = 0;
/// The side of a [`Flow`] that receives data.
pub const RECEIVER: Side = 1;

/// Both ends of a flow.
#[expect(
    clippy::large_enum_variant,
    reason = "most flows are over TCP, and each of their packets would follow one pointer more"
)]
pub enum Flow {
    /// Over TCP.
    Tcp(TcpFlow),
    /// Over UDP.
    Udp(Box<UdpFlow>),
}

/// What a flow over TCP is made of begins where the flow does: [`Flow::fetch`] counts on it.
const _: () = assert!(size_of::<Flow>() == size_of::<TcpFlow>());

impl Flow {
    /// The flow at `index` of `scenario`, not yet started.
    pub fn new(
        scenario: &Scenario,
        index: usize,
        ports: [Port; 2],
        seed: u64,
        profiles: &mut Profiles,
    ) -> Flow {
        let spec = &scenario.flows[index];
        match spec.udp {
            None => Flow::Tcp(TcpFlow::new(scenario, index, ports, seed, profiles)),
            Some(source) => {
                let flow = UdpFlow::new(scenario, index, source, ports, seed);
                Flow::Udp(Box::new(flow))
            }
        }
    }

    /// When it starts; later than the run's end for a flow that never does.
    pub fn start(&self) -> Time {
        match self {
            Flow::Tcp(flow) => flow.start,
            Flow::Udp(flow) => flow.start,
        }
    }

    /// It, if it is over TCP.
    pub fn tcp(&self) -> Option<&TcpFlow> {
        match self {
            Flow::Tcp(flow) => Some(flow),
            Flow::Udp(_) => None,
        }
    }

    /// Whether it has come to its end, which was not yet noted.
    #[inline]
    pub fn has_ended(&self, now: Time) -> bool {
        match self {
            Flow::Tcp(flow) => flow.has_ended(),
            Flow::Udp(flow) => {
                rarely();
                flow.has_ended(now)
            }
        }
    }

    /// Has the memory fetched that `packet` will touch first, of a flow over TCP, as nearly all are: to
    /// see what it is would be to wait for it.
    #[inline]
    pub fn fetch(&self, packet: &Packet) {
        let receiver = offset_of!(TcpFlow, receiver);
        let behind = receiver + size_of::<Receiver>();
        prefetch_part(self, behind..size_of::<TcpFlow>());
        match packet.backward {
            true => prefetch_part(self, 0..receiver),
            false => prefetch_part(self, receiver..behind),
        }
    }

    /// Has the memory fetched that `packet` will touch beyond the flow itself, and says where the flow
    /// sends then.
    #[inline]
    pub fn fetch_parts(&self, packet: &Packet) -> Option<Port> {
        let flow = self.tcp()?;
        if packet.backward {
            flow.fetch_parts();
        }
        Some(flow.ports[if packet.backward { SENDER } else { RECEIVER }])
    }
}

impl Flow {
    /// A time that is not after [`Host::deadline`], and cheaper to know.
    #[inline]
    pub fn least_deadline(&self, side: Side) -> Time {
        match self {
            Flow::Tcp(flow) => flow.least_deadline(side),
            Flow::Udp(flow) => {
                rarely();
                flow.deadline(side)
            }
        }
    }
}

impl Host for Flow {
    #[inline(always)] // at its only place for flows
    fn receive(&mut self, now: Time, packet: &Packet) -> Side {
        match self {
            Flow::Tcp(flow) => flow.receive(now, packet),
            Flow::Udp(flow) => {
                rarely();
                flow.receive(now, packet)
            }
        }
    }

    fn act(&mut self, now: Time, horizon: Time) {
        match self {
            Flow::Tcp(flow) => flow.act(now, horizon),
            Flow::Udp(flow) => flow.act(now, horizon),
        }
    }

    #[inline]
    fn transmit(&mut self, now: Time, side: Side, packet: &mut Packet) -> Option<Port> {
        match self {
            Flow::Tcp(flow) => flow.transmit(now, side, packet),
            Flow::Udp(flow) => {
                rarely();
                flow.transmit(now, side, packet)
            }
        }
    }

    #[inline]
    fn has_sent_all(&self, side: Side) -> bool {
        match self {
            Flow::Tcp(flow) => flow.has_sent_all(side),
            Flow::Udp(_) => {
                rarely();
                false
            }
        }
    }

    #[inline]
    fn deadline(&self, side: Side) -> Time {
        match self {
            Flow::Tcp(flow) => flow.deadline(side),
            Flow::Udp(flow) => {
                rarely();
                flow.deadline(side)
            }
        }
    }
}
