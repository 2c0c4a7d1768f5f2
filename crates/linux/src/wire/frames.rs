//! Frames of guests, kept while the network carries packets that stand for them.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use etherparse::checksum::Sum16BitWords;

use cclab_packet::{Ecn, Packet, flags, notes};

/// Bytes of Ethernet's header.
pub const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
/// Protocols of IP.
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Whose packets they are that go from one address to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The number of the flow or probe in the network.
    pub flow: u32,
    /// From its receiver to its sender.
    pub backward: bool,
}

/// The frames that are on their way.
#[derive(Default)]
pub struct Frames {
    routes: HashMap<(Ipv4Addr, Ipv4Addr), Route>,
    kept: Vec<Kept>,
    free: Vec<u32>,
    /// How far each flow's data had come, to know what is sent again: by flow and direction, and
    /// ports.
    sent: HashMap<(Route2, u32), u32>,
}

type Route2 = (u32, bool);

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    /// Packets that stand for it.
    uses: u32,
}

impl Frames {
    /// No frames yet, of flows and probes with these `routes`.
    pub fn new(routes: impl IntoIterator<Item = ((Ipv4Addr, Ipv4Addr), Route)>) -> Frames {
        Frames {
            routes: routes.into_iter().collect(),
            ..Frames::default()
        }
    }

    /// Keeps a frame: the packet that stands for it. `None` if no flow or probe has sent it.
    pub fn keep(&mut self, frame: &[u8]) -> Option<Packet> {
        let mut packet = self.read(frame)?;
        let number = self.free.pop().unwrap_or_else(|| {
            self.kept.push(Kept::default());
            self.kept.len() as u32 - 1
        });
        let kept = &mut self.kept[number as usize];
        kept.bytes.clear();
        kept.bytes.extend_from_slice(frame);
        kept.uses = 1;
        packet.stand_for(number);
        Some(packet)
    }

    /// One more packet stands for the frame of `packet`.
    pub fn copy(&mut self, packet: &Packet) {
        if let Some(number) = packet.frame() {
            self.kept[number as usize].uses += 1;
        }
    }

    /// `packet` is no more.
    pub fn release(&mut self, packet: &Packet) {
        let Some(number) = packet.frame() else { return };
        let kept = &mut self.kept[number as usize];
        kept.uses -= 1;
        if kept.uses == 0 {
            self.free.push(number);
        }
    }

    /// The frame that `packet` stands for, with the mark that the packet has got on its way.
    pub fn of(&mut self, packet: &Packet) -> &[u8] {
        let number = packet.frame().expect("it stands for a frame");
        let bytes = &mut self.kept[number as usize].bytes;
        mark(bytes, packet.ecn);
        bytes
    }

    /// The IP packet of the frame that `packet` stands for, with the checksums that hosts leave to
    /// their interfaces.
    pub fn checked(&mut self, packet: &Packet) -> Vec<u8> {
        let mut ip = self.of(packet)[ETHERNET..].to_vec();
        fill_in_checksum(&mut ip);
        ip
    }

    fn read(&mut self, frame: &[u8]) -> Option<Packet> {
        let ip = frame.get(ETHERNET..).filter(|_| frame[12..14] == IPV4)?;
        let header = usize::from(ip.first()? & 0x0f) * 4;
        let address = |at: usize| -> Option<Ipv4Addr> {
            let octets: [u8; 4] = ip.get(at..at + 4)?.try_into().ok()?;
            Some(octets.into())
        };
        let route = *self.routes.get(&(address(12)?, address(16)?))?;
        let total = usize::from(number(ip, 2)?);
        let protocol = *ip.get(9)?;
        let mut packet = Packet {
            flow: route.flow,
            backward: route.backward,
            wire_len: frame.len() as u16,
            ecn: codepoint(ip[1]),
            ..Packet::default()
        };
        let is_fragment = number(ip, 6)? & 0x1fff != 0;
        let transport = ip.get(header..total)?;
        match protocol {
            TCP if !is_fragment => self.read_tcp(transport, route, &mut packet)?,
            UDP => {
                packet.flags = flags::DATAGRAM;
                packet.payload = transport.len().saturating_sub(8) as u16;
            }
            ICMP => packet.flags = flags::ECHO,
            _ => packet.flags = flags::DATAGRAM,
        }
        Some(packet)
    }

    fn read_tcp(&mut self, tcp: &[u8], route: Route, packet: &mut Packet) -> Option<()> {
        let long = |at: usize| -> Option<u32> {
            Some(u32::from_be_bytes(tcp.get(at..at + 4)?.try_into().ok()?))
        };
        packet.seq = long(4)?;
        packet.ack = long(8)?;
        let data = usize::from(tcp.get(12)? >> 4) * 4;
        packet.flags = tcp[13] & !(flags::DATAGRAM | flags::ECHO);
        packet.window = number(tcp, 14)?;
        packet.payload = tcp.len().checked_sub(data)? as u16;
        let end = packet.seq.wrapping_add(packet.seq_len());
        if packet.seq_len() > 0 {
            let far = self
                .sent
                .entry(((route.flow, route.backward), long(0)?))
                .or_insert(packet.seq);
            let syn = packet.has(flags::SYN);
            if !syn && (packet.seq.wrapping_sub(*far) as i32) < 0 {
                packet.notes |= notes::RETRANSMISSION;
            }
            if syn || (end.wrapping_sub(*far) as i32) > 0 {
                *far = end;
            }
        }
        Some(())
    }
}

/// Computes the checksum of the segment or datagram in an IPv4 packet (RFC 9293, section 3.1; RFC
/// 768), unless it is a fragment.
fn fill_in_checksum(ip: &mut [u8]) {
    let header = usize::from(ip[0] & 0x0f) * 4;
    let is_fragment = number(ip, 6).is_none_or(|place| place & 0x3fff != 0);
    let at = match ip[9] {
        TCP => 16,
        UDP => 6,
        _ => return,
    };
    if is_fragment || ip.len() < header + at + 2 {
        return;
    }
    let (ip, transport) = ip.split_at_mut(header);
    transport[at..at + 2].fill(0);
    let addresses = [12, 16].map(|at| [ip[at], ip[at + 1], ip[at + 2], ip[at + 3]]);
    let sum = Sum16BitWords::new()
        .add_4bytes(addresses[0])
        .add_4bytes(addresses[1])
        .add_2bytes([0, ip[9]])
        .add_2bytes((transport.len() as u16).to_be_bytes())
        .add_slice(transport)
        .ones_complement();
    // Of a datagram zero would say that there is none.
    let sum = match sum.to_be() {
        0 if ip[9] == UDP => 0xffff,
        sum => sum,
    };
    transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn codepoint(traffic_class: u8) -> Ecn {
    match traffic_class & 0b11 {
        0b00 => Ecn::NotEct,
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Sets the ECN field of a frame's IP header, and mends the header's checksum (RFC 1624).
fn mark(frame: &mut [u8], ecn: Ecn) {
    let ip = &mut frame[ETHERNET..];
    if codepoint(ip[1]) == ecn {
        return;
    }
    let before = u16::from_be_bytes([ip[0], ip[1]]);
    ip[1] = ip[1] & !0b11 | ecn as u8;
    let after = u16::from_be_bytes([ip[0], ip[1]]);
    let sum =
        u32::from(!u16::from_be_bytes([ip[10], ip[11]])) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    let checksum = !(folded as u16);
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
}
