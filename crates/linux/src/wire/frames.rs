//! Frames of guests, kept while the network carries packets that stand for them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use etherparse::checksum::Sum16BitWords;

use cclab_packet::{Ecn, Packet, flags, notes};

use super::memory::Frame;

/// Bytes of Ethernet's header.
pub const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
/// Protocols of IP.
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Bytes of IP's header without options.
const IP_HEADER: usize = 20;
/// Bytes of UDP's header.
const UDP_HEADER: usize = 8;

/// Whose packets they are that go from one address to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The number of the flow or probe in the network.
    pub flow: u32,
    /// From its receiver to its sender.
    pub backward: bool,
    /// Whether programs send them, over as many connections as they like.
    pub programs: bool,
}

/// The frames that are on their way.
#[derive(Default)]
pub struct Frames {
    /// In the order of their ends.
    ways: Vec<Way>,
    kept: Vec<Kept>,
    free: Vec<u32>,
}

/// What goes from one address to another.
struct Way {
    ends: (Ipv4Addr, Ipv4Addr),
    route: Route,
    /// How far the data of each connection had come, by its ports.
    sent: BTreeMap<u32, Progress>,
    /// Bytes of datagrams so far.
    datagrams: u64,
}

/// How far a direction of a connection had come.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// The sequence number of its first byte of data.
    first: u32,
    /// Bytes from there to the end of what was sent.
    sent: u64,
}

impl Progress {
    /// How far from the first byte the byte with the number `seq` is, which is near those sent last.
    fn offset(&self, seq: u32) -> u64 {
        let last = self.first.wrapping_add(self.sent as u32);
        self.sent
            .saturating_add_signed(i64::from(seq.wrapping_sub(last) as i32))
    }
}

#[derive(Default)]
struct Kept {
    frame: Frame,
    /// Where its first byte of payload is among those of its flow.
    offset: u64,
    /// Packets that stand for it.
    uses: u32,
}

impl Frames {
    /// No frames yet, of flows and probes with these `routes`.
    pub fn new(routes: impl IntoIterator<Item = ((Ipv4Addr, Ipv4Addr), Route)>) -> Frames {
        let way = |(ends, route)| Way {
            ends,
            route,
            sent: BTreeMap::new(),
            datagrams: 0,
        };
        let mut ways: Vec<Way> = routes.into_iter().map(way).collect();
        ways.sort_unstable_by_key(|way| way.ends);
        Frames {
            ways,
            ..Frames::default()
        }
    }

    /// Keeps `frame` and leaves another one, which may be used again: the packet that stands for what
    /// is kept. `None` if no flow or probe has sent it.
    pub fn keep(&mut self, frame: &mut Frame) -> Option<Packet> {
        let (mut packet, offset, connection) = self.read(frame)?;
        let number = self.free.pop().unwrap_or_else(|| {
            self.kept.push(Kept::default());
            self.kept.len() as u32 - 1
        });
        let kept = &mut self.kept[number as usize];
        std::mem::swap(&mut kept.frame, frame);
        kept.offset = offset;
        kept.uses = 1;
        packet.stand_for(number, connection);
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

    /// Where the first byte of payload of `packet` is among those of its flow.
    pub fn offset(&self, packet: &Packet) -> u64 {
        let number = packet.frame();
        number.map_or(0, |number| self.kept[number as usize].offset)
    }

    /// The frame that `packet` stands for, with the mark that the packet has got on its way.
    pub fn of(&mut self, packet: &Packet) -> &Frame {
        self.marked(packet)
    }

    /// All bytes of it.
    pub fn whole(&mut self, packet: &Packet) -> &[u8] {
        let Frame { kept, len } = self.marked(packet);
        kept.resize(*len, 0);
        kept
    }

    fn marked(&mut self, packet: &Packet) -> &mut Frame {
        let number = packet.frame().expect("it stands for a frame");
        let frame = &mut self.kept[number as usize].frame;
        mark(&mut frame.kept, packet.ecn);
        frame
    }

    /// The IP packet of the frame that `packet` stands for, with the checksums that hosts leave to
    /// their interfaces.
    pub fn checked(&mut self, packet: &Packet) -> Vec<u8> {
        let Frame { kept, len } = self.of(packet);
        let mut ip = Vec::with_capacity(len - ETHERNET);
        ip.extend_from_slice(&kept[ETHERNET..]);
        ip.resize(len - ETHERNET, 0);
        fill_in_checksum(&mut ip);
        ip
    }

    /// The packet of a frame, the offset of its payload, and its connection.
    fn read(&mut self, frame: &Frame) -> Option<(Packet, u64, u32)> {
        let Frame { kept, len } = frame;
        let ip = kept.get(ETHERNET..).filter(|_| kept[12..14] == IPV4)?;
        let header = usize::from(ip.first()? & 0x0f) * 4;
        if header < IP_HEADER {
            return None;
        }
        let address = |at: usize| -> Option<Ipv4Addr> {
            let octets: [u8; 4] = ip.get(at..at + 4)?.try_into().ok()?;
            Some(octets.into())
        };
        let ends = (address(12)?, address(16)?);
        let found = self.ways.binary_search_by_key(&ends, |way| way.ends);
        let way = &mut self.ways[found.ok()?];
        let route = way.route;
        let total = usize::from(number(ip, 2)?);
        let protocol = *ip.get(9)?;
        let mut packet = Packet {
            flow: route.flow,
            backward: route.backward,
            wire_len: *len as u16,
            ecn: codepoint(ip[1]),
            ..Packet::default()
        };
        let place = Place(number(ip, 6)?);
        let carried = total.checked_sub(header)?;
        if ETHERNET + total > *len {
            return None;
        }
        let transport = ip.get(header..total.min(ip.len()))?;
        let mut offset = 0;
        match protocol {
            TCP if place.is_first() => offset = way.read_tcp(transport, carried, &mut packet)?,
            UDP => {
                packet.flags = flags::DATAGRAM;
                let header = if place.is_first() { UDP_HEADER } else { 0 };
                packet.payload = carried.saturating_sub(header) as u16;
                offset = way.datagrams;
                way.datagrams += u64::from(packet.payload);
            }
            ICMP => packet.flags = flags::ECHO,
            _ => packet.flags = flags::DATAGRAM,
        }
        let connection = match route.programs {
            true => connection(protocol, transport, place),
            false => 0,
        };
        Some((packet, offset, connection))
    }
}

impl Way {
    /// Reads a segment of `len` bytes into `packet`; the offset of its payload.
    fn read_tcp(&mut self, tcp: &[u8], len: usize, packet: &mut Packet) -> Option<u64> {
        let long = |at: usize| -> Option<u32> {
            Some(u32::from_be_bytes(tcp.get(at..at + 4)?.try_into().ok()?))
        };
        packet.seq = long(4)?;
        packet.ack = long(8)?;
        let data = usize::from(tcp.get(12)? >> 4) * 4;
        let accurate = if tcp[12] & 1 != 0 { flags::AE } else { 0 };
        packet.flags = tcp.get(13)? & !(flags::DATAGRAM | flags::AE) | accurate;
        packet.window = number(tcp, 14)?;
        packet.payload = len.checked_sub(data)? as u16;
        let connection = long(0)?;
        if packet.has(flags::SYN) {
            let first = packet.seq.wrapping_add(1);
            self.sent.insert(connection, Progress { first, sent: 0 });
        }
        if packet.payload == 0 {
            return Some(0);
        }
        let first = packet.seq;
        let progress = self.sent.entry(connection);
        let progress = progress.or_insert(Progress { first, sent: 0 });
        let offset = progress.offset(packet.seq);
        let end = offset + u64::from(packet.payload);
        match end <= progress.sent {
            true => packet.notes |= notes::RETRANSMISSION,
            false => progress.sent = end,
        }
        Some(offset)
    }
}

/// The place of a fragment in its packet, as the header of IP has it (RFC 791, section 3.1).
#[derive(Clone, Copy, Debug)]
pub struct Place(pub u16);

impl Place {
    /// Whether the packet begins with it; so does one that is whole.
    fn is_first(self) -> bool {
        self.0 & 0x1fff == 0
    }

    /// Whether there are others of its packet.
    pub fn is_fragment(self) -> bool {
        self.0 & 0x3fff != 0
    }
}

/// By what the kernel's flow dissector tells connections of two hosts apart: protocol and ports, of
/// fragments the protocol alone.
fn connection(protocol: u8, transport: &[u8], place: Place) -> u32 {
    let ports = match protocol {
        TCP | UDP if !place.is_fragment() => {
            transport.first_chunk().map(|b| u32::from_be_bytes(*b))
        }
        _ => None,
    };
    // No two of one protocol are alike.
    ports.unwrap_or(0).wrapping_mul(0x9e37_79b1) ^ u32::from(protocol)
}

/// Computes the checksum of the segment or datagram in an IPv4 packet (RFC 9293, section 3.1; RFC
/// 768), unless it is a fragment.
fn fill_in_checksum(ip: &mut [u8]) {
    let header = usize::from(ip[0] & 0x0f) * 4;
    let is_fragment = number(ip, 6).is_none_or(|place| Place(place).is_fragment());
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

#[cfg(test)]
mod tests {
    use etherparse::{Ipv4HeaderSlice, PacketBuilder, TcpHeaderSlice};

    use super::*;

    const FROM: [u8; 4] = [10, 0, 0, 1];
    const TO: [u8; 4] = [10, 1, 0, 1];
    const ROUTE: Route = Route {
        flow: 7,
        backward: false,
        programs: false,
    };

    /// A frame of etherparse's, whose checksums are right.
    fn segment(seq: u32, payload: usize, syn: bool) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([2; 6], [2; 6])
            .ipv4(FROM, TO, 64)
            .tcp(40_000, 5001, seq, 1000);
        let builder = if syn { builder.syn() } else { builder };
        let mut frame = Vec::new();
        let data: Vec<u8> = (0..payload).map(|n| n as u8).collect();
        builder.write(&mut frame, &data).expect("room");
        frame
    }

    /// All of `bytes` is kept.
    fn keep(frames: &mut Frames, bytes: &[u8]) -> Option<Packet> {
        frames.keep(&mut Frame {
            kept: bytes.to_vec(),
            len: bytes.len(),
        })
    }

    fn frames() -> Frames {
        Frames::new([((FROM.into(), TO.into()), ROUTE)])
    }

    #[test]
    fn a_segment_is_read_and_what_is_sent_again_is_known() {
        let mut frames = frames();
        // Numbers wrap on the way.
        let first = u32::MAX - 1000;
        let syn = keep(&mut frames, &segment(first - 1, 0, true)).expect("a packet");
        assert!(syn.has(flags::SYN) && syn.payload == 0);
        let mut offsets = Vec::new();
        for n in [0, 1, 2, 1, 3] {
            let frame = segment(first.wrapping_add(n * 1448), 1448, false);
            let packet = keep(&mut frames, &frame).expect("a packet");
            assert_eq!(
                (packet.flow, packet.payload, packet.wire_len),
                (7, 1448, 1502)
            );
            offsets.push((frames.offset(&packet) / 1448, packet.is_retransmission()));
        }
        let again = [(0, false), (1, false), (2, false), (1, true), (3, false)];
        assert_eq!(offsets, again);
    }

    #[test]
    fn a_mark_mends_the_checksum_of_its_header() {
        let mut frames = frames();
        let mut packet = keep(&mut frames, &segment(1, 100, false)).expect("a packet");
        for ecn in [Ecn::Ect0, Ecn::Ce, Ecn::Ect1, Ecn::NotEct] {
            packet.ecn = ecn;
            let frame = frames.whole(&packet).to_vec();
            let header = Ipv4HeaderSlice::from_slice(&frame[ETHERNET..]).expect("a header");
            assert_eq!(header.ecn().value(), ecn as u8);
            assert_eq!(
                header.header_checksum(),
                header.to_header().calc_header_checksum()
            );
        }
    }

    #[test]
    fn checksums_that_hosts_leave_out_are_filled_in() {
        let mut frames = frames();
        for payload in [0, 1, 1448] {
            let whole = segment(9, payload, false);
            let mut partial = whole.clone();
            partial[ETHERNET + 20 + 16] ^= 0x5a;
            let packet = keep(&mut frames, &partial).expect("a packet");
            assert_eq!(frames.checked(&packet), whole[ETHERNET..]);
            let ip = Ipv4HeaderSlice::from_slice(&whole[ETHERNET..]).expect("a header");
            assert!(
                TcpHeaderSlice::from_slice(&whole[ETHERNET + 20..]).is_ok(),
                "{ip:?}"
            );
        }
    }

    #[test]
    fn a_frame_is_kept_as_long_as_a_packet_stands_for_it() {
        let mut frames = frames();
        let packet = keep(&mut frames, &segment(1, 10, false)).expect("a packet");
        frames.copy(&packet);
        frames.release(&packet);
        assert_eq!(frames.of(&packet).len, 64);
        frames.release(&packet);
        let next = keep(&mut frames, &segment(11, 10, false)).expect("a packet");
        assert_eq!(next.frame(), packet.frame());
    }

    #[test]
    fn zeros_at_the_end_need_not_be_kept() {
        let builder = PacketBuilder::ethernet2([2; 6], [2; 6])
            .ipv4(FROM, TO, 64)
            .tcp(40_000, 5001, 1, 1000);
        let mut whole = Vec::new();
        builder.write(&mut whole, &[0; 1448]).expect("room");
        let mut frames = frames();
        let expected = keep(&mut frames, &whole).expect("a packet");
        let mut frame = Frame {
            kept: whole[..ETHERNET + 40].to_vec(),
            len: whole.len(),
        };
        let packet = frames.keep(&mut frame).expect("a packet");
        assert_eq!(
            (packet.payload, packet.wire_len, packet.seq),
            (expected.payload, expected.wire_len, expected.seq)
        );
        assert_eq!(frames.of(&packet).kept.len(), ETHERNET + 40);
        assert_eq!(frames.checked(&packet), whole[ETHERNET..]);
        assert_eq!(frames.whole(&packet), whole);
    }

    #[test]
    fn what_no_flow_sends_is_nothing() {
        let mut frames = frames();
        let good = segment(1, 10, false);
        for at in [12, ETHERNET + 15] {
            let mut other = good.clone();
            other[at] ^= 1;
            assert_eq!(keep(&mut frames, &other), None);
        }
        for len in 0..ETHERNET + 40 {
            assert_eq!(keep(&mut frames, &good[..len]), None, "{len} bytes");
        }
    }

    #[test]
    fn a_program_may_send_what_is_no_packet() {
        let good = segment(1, 10, false);
        for version_and_length in 0..=0xff {
            for total in 0..=70u16 {
                for protocol in [TCP, UDP, ICMP] {
                    let mut frame = good.clone();
                    frame[ETHERNET] = version_and_length;
                    frame[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&total.to_be_bytes());
                    frame[ETHERNET + 9] = protocol;
                    frame.truncate((ETHERNET + usize::from(total)).max(ETHERNET + 1));
                    let mut frames = frames();
                    if let Some(packet) = keep(&mut frames, &frame) {
                        frames.checked(&packet);
                    }
                }
            }
        }
    }
}
