//! From frames to TCP segments and UDP datagrams.

use cclab_units::Time;
use etherparse::IpNumber;

use super::fragments::Fragments;
use super::ip::{IpPacket, Payload, past_extensions};
use super::link::ip_packet;
use super::{Fault, Frame, Skips, TcpSegment, UdpDatagram, tunnel};

/// IP packets inside one another that are looked into: tunnels in tunnels are deep at three.
const MOST_LAYERS: u32 = 8;

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// A TCP segment.
    Tcp(TcpSegment),
    /// A UDP datagram.
    Udp(UdpDatagram),
    /// Something else.
    Other(Protocol),
}

/// What is neither TCP nor UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// A protocol over IP, by its number.
    Ip(u8),
    /// What is not IP: ARP most often.
    NotIp,
}

impl Protocol {
    /// Its name in lower case, or its number.
    pub fn name(self) -> String {
        match self {
            Protocol::Ip(number) => IpNumber(number)
                .keyword_str()
                .map_or_else(|| format!("ip-protocol-{number}"), str::to_lowercase),
            Protocol::NotIp => "not-ip".to_owned(),
        }
    }
}

/// Takes link layers, IP headers and tunnels off frames, and puts fragments together.
#[derive(Debug, Default)]
pub struct Dissector {
    fragments: Fragments,
}

impl Dissector {
    /// What `frame` carries; None if that is a fragment of a packet of which pieces are still
    /// missing. A packet in pieces counts at the time of its last one.
    #[inline]
    pub fn carried(&mut self, frame: &Frame<'_>) -> Result<Option<Carried>, Fault> {
        let Some(bytes) = ip_packet(frame.link, frame.data)? else {
            return Ok(Some(Carried::Other(Protocol::NotIp)));
        };
        let before = (frame.data.len() - bytes.len()) as u32;
        let wire_len = frame.wire_len.saturating_sub(before);
        self.inside(bytes, wire_len, frame.time, MOST_LAYERS)
    }

    /// What is left over at the end of a capture: pieces of packets that never became whole.
    pub fn finish(mut self, skips: &mut Skips) {
        self.fragments.finish();
        skips.add_many(Fault::Fragment, self.fragments.unfinished);
        skips.add_many(Fault::FragmentsCrowded, self.fragments.crowded_out);
    }

    /// What the IP packet carries that `bytes` begin with.
    #[inline(always)]
    fn inside(
        &mut self,
        bytes: &[u8],
        wire_len: u32,
        now: Time,
        layers: u32,
    ) -> Result<Option<Carried>, Fault> {
        let packet = IpPacket::parse(bytes, wire_len)?;
        if packet.payload.protocol == IpNumber::TCP && packet.payload.part.is_none() {
            return TcpSegment::parse(&packet);
        }
        // The few others are parsed again: nothing of those that are most goes through memory.
        self.inside_others(bytes, wire_len, now, layers)
    }

    /// What a fragment, a tunnel or a datagram carries.
    #[inline(never)]
    fn inside_others(
        &mut self,
        bytes: &[u8],
        wire_len: u32,
        now: Time,
        layers: u32,
    ) -> Result<Option<Carried>, Fault> {
        let packet = IpPacket::parse(bytes, wire_len)?;
        let Some(part) = packet.payload.part else {
            return self.tunnelled(&packet, now, layers);
        };
        let protocol = packet.payload.protocol;
        if !is_put_together(protocol) {
            return Ok(Some(Carried::Other(Protocol::Ip(protocol.0))));
        }
        let Some(whole) = self.fragments.take(&packet, part, now)? else {
            return Ok(None);
        };
        let packet = IpPacket {
            payload: past_extensions(protocol, &whole.head, whole.length)?,
            ..packet
        };
        match packet.payload.protocol {
            IpNumber::TCP => TcpSegment::parse(&packet),
            _ => self.tunnelled(&packet, now, layers),
        }
    }

    fn tunnelled(
        &mut self,
        packet: &IpPacket<'_>,
        now: Time,
        layers: u32,
    ) -> Result<Option<Carried>, Fault> {
        let outer: &Payload<'_> = &packet.payload;
        let tunnelled = match outer.protocol {
            IpNumber::IPV4 | IpNumber::IPV6 => Some(outer.bytes),
            IpNumber::GRE => tunnel::gre(outer.bytes)?,
            IpNumber::UDP => tunnel::udp(outer.bytes)?,
            _ => None,
        };
        let Some(bytes) = tunnelled else {
            return match outer.protocol {
                IpNumber::UDP => {
                    UdpDatagram::parse(packet).map(|datagram| Some(Carried::Udp(datagram)))
                }
                other => Ok(Some(Carried::Other(Protocol::Ip(other.0)))),
            };
        };
        if layers == 0 {
            return Err(Fault::BadHeader);
        }
        let before = (outer.bytes.len() - bytes.len()) as u32;
        let wire_len = outer.length.saturating_sub(before);
        self.inside(bytes, wire_len, now, layers - 1)
    }
}

/// Whether packets of which a part tells this protocol are put together: those that may carry TCP
/// or UDP.
fn is_put_together(protocol: IpNumber) -> bool {
    matches!(
        protocol,
        IpNumber::TCP
            | IpNumber::UDP
            | IpNumber::IPV4
            | IpNumber::IPV6
            | IpNumber::GRE
            | IpNumber::AUTHENTICATION_HEADER
            | IpNumber::IPV6_ROUTE_HEADER
            | IpNumber::IPV6_DESTINATION_OPTIONS
    )
}
