//! What fuzzers and mutations start from: small inputs that reach every layer.

use super::*;

const HOP_BY_HOP: u8 = 0;
const DESTINATION_OPTIONS: u8 = 60;
const UDP: u8 = 17;

/// A transfer of some segments with a retransmission, a SACK, a probe and a FIN.
pub fn transfer() -> Vec<Segment> {
    let mss_and_more = [
        2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 1, 3, 3, 7,
    ];
    let first = u32::MAX - 899;
    let mut segments = vec![
        Segment::new(SYN, first.wrapping_sub(1), 0).options(&mss_and_more),
        Segment::new(SYN | ACK, 70, first)
            .options(&mss_and_more)
            .back(),
    ];
    for n in [0, 1, 2, 1, 3, 4, 2] {
        let seq = first.wrapping_add(n * 300);
        segments.push(Segment::new(ACK, seq, 71).data(300));
        let next = seq.wrapping_add(300);
        segments.push(Segment::new(ACK, 71, next).back());
    }
    let mut sack = vec![1, 1, 5, 18];
    for edge in [2000u32, 2300, 3000, 3300] {
        sack.extend(edge.to_be_bytes());
    }
    segments.push(Segment::new(ACK, 71, 600).options(&sack).window(0).back());
    segments.push(Segment::new(ACK, 600, 71).data(1));
    segments.push(Segment::new(FIN | ACK, 601, 71));
    segments.push(Segment::new(RST, 71, 0).back());
    segments
}

/// Packets that are 3 ms apart.
fn timed(packets: impl IntoIterator<Item = Vec<u8>>) -> Vec<Seen> {
    (0..).map(|n| 1000 + n * 3).zip(packets).collect()
}

/// IP packets of every kind: plain, with options and extension headers, fragmented, tunnelled.
pub fn ip_packets() -> Vec<Vec<u8>> {
    let segments = transfer();
    let mut packets: Vec<Vec<u8>> = segments.iter().map(Segment::ipv4).collect();
    let large = Segment::new(ACK, 600, 71).data(600);
    packets.push(segments[0].ipv4_with(&[1; 8]));
    packets.push(segments[0].ipv6_with(6, &[]));
    packets.push(segments[0].ipv6_with(HOP_BY_HOP, &[6, 0, 1, 4, 0, 0, 0, 0]));
    packets.push(segments[0].ipv6_with(
        DESTINATION_OPTIONS,
        &[6, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ));
    packets.extend(fragments_v4(&large.ipv4(), 7, &[24, 200]));
    packets.extend(
        fragments_v4(&large.ipv4(), 8, &[16, 8, 400])
            .into_iter()
            .rev(),
    );
    packets.extend(fragments_v6(&large.ipv6_with(6, &[]), 9, &[304, 8]));
    packets.extend(tunnelled(&segments[2].ipv4()));
    packets
}

/// `packet` in every tunnel.
pub fn tunnelled(packet: &[u8]) -> Vec<Vec<u8>> {
    let ethernet = [&[0; 12][..], &[0x08, 0x00], packet].concat();
    let vxlan = [&[8, 0, 0, 0, 0, 0, 5, 0][..], &ethernet].concat();
    let geneve = [&[1, 0, 0x65, 0x58, 0, 0, 5, 0, 1, 2, 3, 0][..], &ethernet].concat();
    vec![
        ipv4(4, packet),
        ipv6(4, packet),
        ipv4(47, &[&[0, 0, 0x08, 0x00][..], packet].concat()),
        // With a key and a sequence number.
        ipv4(
            47,
            &[&[0x30, 0, 0x08, 0x00, 0, 0, 0, 1, 0, 0, 0, 2][..], packet].concat(),
        ),
        ipv4(47, &[&[0, 0, 0x65, 0x58][..], &ethernet].concat()),
        ipv4(UDP, &udp(4789, &vxlan)),
        ipv6(UDP, &udp(6081, &geneve)),
    ]
}

/// An IPv4 packet of `protocol`.
pub fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend((20 + payload.len() as u16).to_be_bytes());
    bytes.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
    bytes.extend([192, 0, 2, 1, 192, 0, 2, 2]);
    bytes.extend(payload);
    bytes
}

fn ipv6(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend((payload.len() as u16).to_be_bytes());
    bytes.extend([protocol, 64]);
    bytes.extend([0xfe; 32]);
    bytes.extend(payload);
    bytes
}

pub fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x30, 0x39];
    bytes.extend(port.to_be_bytes());
    bytes.extend((8 + payload.len() as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    bytes
}

/// Files of pcap in all its forms.
pub fn pcap_files() -> Vec<Vec<u8>> {
    let packets = timed(ip_packets());
    let mut files = Vec::new();
    for magic in [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34] {
        for big in [false, true] {
            files.push(pcap(magic, big, 101, &packets[..12]));
        }
    }
    let mut damaged = pcap(0xa1b2_c3d4, false, 101, &packets);
    damaged.splice(700..740, [0xff; 50]);
    files.push(damaged);
    files
}

/// Files of pcapng with every kind of block.
pub fn pcapng_files() -> Vec<Vec<u8>> {
    let packets = timed(ip_packets());
    let mut files = Vec::new();
    for big in [false, true] {
        let mut file = section(big);
        file.extend(interface(101, big, &[(2, b"first"), (9, &[3])]));
        file.extend(interface(1, big, &[(9, &[0x80 | 10]), (14, &[0; 8])]));
        for (ms, data) in &packets[..8] {
            file.extend(packet(0, big, *ms, data));
        }
        file.extend(obsolete_packet(0, big, 2000, &packets[8].1));
        file.extend(simple_packet(big, &packets[9].1));
        for kind in [4, 5, 10, 0x0bad] {
            file.extend(block(kind, big, &[7; 9]));
        }
        let mut damaged = file.clone();
        damaged.drain(400..403);
        damaged.extend(&file);
        files.extend([file, damaged]);
    }
    files
}

/// Frames of each link layer, behind the number of it.
pub fn frames() -> Vec<Vec<u8>> {
    let packet = transfer()[2].ipv4();
    link_layers()
        .into_iter()
        .map(|(_, link, header)| [&(link as u16).to_be_bytes()[..], &header, &packet].concat())
        .collect()
}

/// Link layers: what it is, its number, and a header of it before an IPv4 packet.
pub fn link_layers() -> Vec<(&'static str, u32, Vec<u8>)> {
    let ethernet = |types: &[u8]| [&[0; 12][..], types].concat();
    vec![
        ("Ethernet", 1, ethernet(&[0x08, 0x00])),
        ("VLAN", 1, ethernet(&[0x81, 0x00, 0, 5, 0x08, 0x00])),
        (
            "QinQ",
            1,
            ethernet(&[0x88, 0xa8, 0, 5, 0x81, 0x00, 0, 6, 0x08, 0x00]),
        ),
        (
            "PPPoE",
            1,
            ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 4, 0, 0x00, 0x21]),
        ),
        ("MPLS", 1, ethernet(&[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64])),
        (
            "802.3 with SNAP",
            1,
            ethernet(&[5, 0xdc, 0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00]),
        ),
        // The upper half says that two 16-bit words of a frame check sequence follow.
        ("Ethernet with FCS", 0x2400_0001, ethernet(&[0x08, 0x00])),
        ("raw", 101, vec![]),
        ("raw IPv4", 228, vec![]),
        ("raw of OpenBSD", 14, vec![]),
        ("cooked", 113, [&[0; 14][..], &[0x08, 0]].concat()),
        (
            "cooked with VLAN",
            113,
            [&[0; 14][..], &[0x81, 0, 0, 5, 0x08, 0]].concat(),
        ),
        ("cooked 2", 276, [&[0x08, 0][..], &[0; 18]].concat()),
        (
            "cooked 2 with VLAN",
            276,
            [&[0x81, 0][..], &[0; 18], &[0, 5, 0x08, 0]].concat(),
        ),
        ("loopback, little endian", 0, vec![2, 0, 0, 0]),
        ("loopback, big endian", 0, vec![0, 0, 0, 2]),
        ("loopback of OpenBSD", 108, vec![0, 0, 0, 2]),
        ("PPP", 9, vec![0x00, 0x21]),
        ("PPP, short", 9, vec![0x21]),
        ("PPP as HDLC", 50, vec![0xff, 0x03, 0x00, 0x21]),
        ("PPP of pppd", 166, vec![0x01, 0x03, 0x00, 0x21]),
        ("PPPoE alone", 51, vec![0x11, 0, 0, 1, 4, 0, 0x00, 0x21]),
        ("Cisco HDLC", 104, vec![0x0f, 0, 0x08, 0x00]),
    ]
}

/// Steps of conversations: who, flags, 100 us since the last, the distances of sequence and
/// acknowledgement number from those expected, window, payload, SACK and options.
fn conversations() -> Vec<Vec<u8>> {
    let (syn, answer) = (
        [0, SYN, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0, 1 | 7 << 4],
        [1, SYN | ACK, 0, 9, 0, 0, 0, 0, 200, 0, 0, 0, 1],
    );
    let data = |back: i8| {
        let [high, low] = (i16::from(back) * 16 * 10).to_be_bytes();
        [0, ACK, 0, 20, high, low, 0, 0, 200, 3, 0xe8, 0, 2]
    };
    let ack = |lost: i8, options: u8| {
        let [high, low] = (i16::from(lost) * 16 * 10).to_be_bytes();
        [1, ACK, 0, 90, 0, 0, high, low, 180, 0, 0, 10, options]
    };
    let closed = [1, ACK, 0, 90, 0, 0, 0, 0, 0, 0, 0, 0, 2];
    let fin = [0, FIN | ACK, 9, 90, 0, 0, 0, 0, 200, 0, 0, 0, 2];
    let rst = [1, RST, 0, 90, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let late = [0, ACK, 40, 0, 0xff, 0x60, 0, 0, 200, 3, 0xe8, 0, 2];
    vec![
        [syn, answer, data(0), data(0), ack(0, 2), fin, rst].concat(),
        [
            syn,
            answer,
            data(0),
            data(0),
            data(0),
            ack(-2, 6),
            ack(-2, 6),
            data(-2),
            ack(0, 2),
        ]
        .concat(),
        [syn, answer, data(0), late, ack(0, 2), data(-1), ack(0, 6)].concat(),
        [
            syn,
            syn,
            answer,
            data(0),
            closed,
            data(0),
            data(-1),
            ack(0, 2),
            fin,
            fin,
        ]
        .concat(),
        [data(0), data(0), ack(0, 2), data(1), data(-2), rst].concat(),
    ]
}

/// A seed of a fuzz target.
pub struct Seed {
    pub target: &'static str,
    pub data: Vec<u8>,
}

/// The seeds of all targets.
pub fn seeds() -> Vec<Seed> {
    let of = |target: &'static str, inputs: Vec<Vec<u8>>| {
        inputs.into_iter().map(move |data| Seed { target, data })
    };
    let behind_lengths = |packets: &[Vec<u8>]| -> Vec<u8> {
        let one = |packet: &Vec<u8>| {
            let length = (packet.len() as u16).to_be_bytes();
            [&length[..], &[1], packet].concat()
        };
        packets.iter().flat_map(one).collect()
    };
    let packets = ip_packets();
    let sequences = packets.chunks(6).map(behind_lengths).collect();
    let segments = transfer().iter().map(Segment::tcp).collect();
    let files = [pcap_files(), pcapng_files()].concat();
    of("pcap", pcap_files())
        .chain(of("pcapng", pcapng_files()))
        .chain(of("link", frames()))
        .chain(of("fragments", sequences))
        .chain(of("segment", segments))
        .chain(of("capture", files))
        .chain(of("conversation", conversations()))
        .collect()
}
