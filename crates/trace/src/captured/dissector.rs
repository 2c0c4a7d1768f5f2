//! From frames to TCP segments.

use cclab_units::Time;
use etherparse::IpNumber;

use super::fragments::Fragments;
use super::ip::{IpPacket, Payload, past_extensions};
use super::link::ip_packet;
use super::{Fault, Frame, Skips, TcpSegment, tunnel};

/// IP packets inside one another that are looked into: tunnels in tunnels are deep at three.
const MOST_LAYERS: u32 = 8;

/// Takes link layers, IP headers and tunnels off frames, and puts fragments together.
#[derive(Debug, Default)]
pub struct Dissector {
    fragments: Fragments,
}

impl Dissector {
    /// The TCP segment in `frame`; None if it carries something else, or a fragment of a packet
    /// of which pieces are still missing. A packet in pieces counts at the time of its last one.
    #[inline]
    pub fn segment(&mut self, frame: &Frame<'_>) -> Result<Option<TcpSegment>, Fault> {
        let Some(bytes) = ip_packet(frame.link, frame.data)? else {
            return Ok(None);
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

    /// The segment in the IP packet that `bytes` begin with.
    #[inline(always)]
    fn inside(
        &mut self,
        bytes: &[u8],
        wire_len: u32,
        now: Time,
        layers: u32,
    ) -> Result<Option<TcpSegment>, Fault> {
        let packet = IpPacket::parse(bytes, wire_len)?;
        if packet.payload.protocol == IpNumber::TCP && packet.payload.part.is_none() {
            return TcpSegment::parse(&packet);
        }
        // The few others are parsed again: nothing of those that are most goes through memory.
        self.inside_others(bytes, wire_len, now, layers)
    }

    /// The segment in a fragment or in a tunnel.
    #[inline(never)]
    fn inside_others(
        &mut self,
        bytes: &[u8],
        wire_len: u32,
        now: Time,
        layers: u32,
    ) -> Result<Option<TcpSegment>, Fault> {
        let packet = IpPacket::parse(bytes, wire_len)?;
        let Some(part) = packet.payload.part else {
            return self.tunnelled(&packet.payload, now, layers);
        };
        let protocol = packet.payload.protocol;
        if !may_carry_tcp(protocol) {
            return Ok(None);
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
            _ => self.tunnelled(&packet.payload, now, layers),
        }
    }

    fn tunnelled(
        &mut self,
        outer: &Payload<'_>,
        now: Time,
        layers: u32,
    ) -> Result<Option<TcpSegment>, Fault> {
        let tunnelled = match outer.protocol {
            IpNumber::IPV4 | IpNumber::IPV6 => Some(outer.bytes),
            IpNumber::GRE => tunnel::gre(outer.bytes)?,
            IpNumber::UDP => tunnel::udp(outer.bytes)?,
            _ => None,
        };
        let Some(bytes) = tunnelled else {
            return Ok(None);
        };
        if layers == 0 {
            return Err(Fault::BadHeader);
        }
        let before = (outer.bytes.len() - bytes.len()) as u32;
        let wire_len = outer.length.saturating_sub(before);
        self.inside(bytes, wire_len, now, layers - 1)
    }
}

/// Whether TCP may be in a packet of which a part tells this protocol. Tunnels over UDP are known
/// by a port that is in the first part only; no network fragments them.
fn may_carry_tcp(protocol: IpNumber) -> bool {
    matches!(
        protocol,
        IpNumber::TCP
            | IpNumber::IPV4
            | IpNumber::IPV6
            | IpNumber::GRE
            | IpNumber::AUTHENTICATION_HEADER
            | IpNumber::IPV6_ROUTE_HEADER
            | IpNumber::IPV6_DESTINATION_OPTIONS
    )
}
