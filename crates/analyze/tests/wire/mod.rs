//! Packets and files made by hand, for the tests to read.

pub mod seeds;

use std::io::Cursor;
use std::path::Path;

use cclab_analyze::{Analysis, Options, analyze_file};
use cclab_trace::captured::{CaptureError, CaptureFile};

pub const SYN: u8 = 0x02;
pub const ACK: u8 = 0x10;
pub const FIN: u8 = 0x01;
pub const RST: u8 = 0x04;

/// A TCP segment over IPv4, `10.0.0.1:4000` to `10.0.0.2:80` or back.
#[derive(Clone, Debug)]
pub struct Segment {
    pub back: bool,
    pub flags: u8,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    pub options: Vec<u8>,
    pub payload: u16,
}

impl Segment {
    pub fn new(flags: u8, seq: u32, ack: u32) -> Segment {
        Segment {
            back: false,
            flags,
            seq,
            ack,
            window: 1000,
            options: Vec::new(),
            payload: 0,
        }
    }

    pub fn back(mut self) -> Segment {
        self.back = true;
        self
    }

    pub fn data(mut self, bytes: u16) -> Segment {
        self.payload = bytes;
        self
    }

    pub fn window(mut self, window: u16) -> Segment {
        self.window = window;
        self
    }

    /// With `options`, filled up to four bytes by no-operations.
    pub fn options(mut self, options: &[u8]) -> Segment {
        self.options = options.to_vec();
        self.options.resize(options.len().next_multiple_of(4), 1);
        self
    }

    fn ports(&self) -> [u16; 2] {
        if self.back { [80, 4000] } else { [4000, 80] }
    }

    /// The TCP header and its payload of zeros.
    pub fn tcp(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for port in self.ports() {
            bytes.extend(port.to_be_bytes());
        }
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        bytes.push((((20 + self.options.len()) / 4) << 4) as u8);
        bytes.push(self.flags);
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(&self.options);
        bytes.resize(bytes.len() + usize::from(self.payload), 0);
        bytes
    }

    /// The IPv4 packet.
    pub fn ipv4(&self) -> Vec<u8> {
        self.ipv4_with(&[])
    }

    /// The IPv4 packet with IP options, whose length is a multiple of four.
    pub fn ipv4_with(&self, options: &[u8]) -> Vec<u8> {
        let tcp = self.tcp();
        let header = 20 + options.len();
        let mut bytes = vec![0x40 | (header / 4) as u8, 0];
        bytes.extend(((header + tcp.len()) as u16).to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        let ends = if self.back { [2, 1] } else { [1, 2] };
        for end in ends {
            bytes.extend([10, 0, 0, end]);
        }
        bytes.extend(options);
        bytes.extend(tcp);
        bytes
    }

    /// The IPv6 packet, behind the extension headers in `extensions`, the first of kind `next`.
    pub fn ipv6_with(&self, next: u8, extensions: &[u8]) -> Vec<u8> {
        let tcp = self.tcp();
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend(((extensions.len() + tcp.len()) as u16).to_be_bytes());
        bytes.extend([next, 64]);
        let ends = if self.back { [2, 1] } else { [1, 2] };
        for end in ends {
            bytes.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, end]);
        }
        bytes.extend(extensions);
        bytes.extend(tcp);
        bytes
    }
}

/// A packet of a file: when it was seen, in milliseconds, and its bytes.
pub type Seen = (u64, Vec<u8>);

/// A pcap file of `link`: `magic` says its resolution, `big` its byte order.
pub fn pcap(magic: u32, big: bool, link: u32, packets: &[Seen]) -> Vec<u8> {
    let word = |value: u32| order(value, big);
    let per_ms = if magic == 0xa1b2_3c4d {
        1_000_000
    } else {
        1000
    };
    let mut file = word(magic).to_vec();
    // Versions 2 and 4.
    file.extend(if big { [0, 2, 0, 4] } else { [2, 0, 4, 0] });
    for value in [0, 0, 65_535, link] {
        file.extend(word(value));
    }
    for (ms, data) in packets {
        let fraction = (ms % 1000) as u32 * per_ms;
        let length = data.len() as u32;
        for value in [(ms / 1000) as u32, fraction, length, length] {
            file.extend(word(value));
        }
        if magic == 0xa1b2_cd34 {
            // The interface, the protocol and more.
            file.extend([0; 8]);
        }
        file.extend(data);
    }
    file
}

/// A pcapng block.
pub fn block(kind: u32, big: bool, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order(12 + padded as u32, big);
    let mut bytes = order(kind, big).to_vec();
    bytes.extend(length);
    bytes.extend(body);
    bytes.resize(8 + padded, 0);
    bytes.extend(length);
    bytes
}

/// The block that begins a section.
pub fn section(big: bool) -> Vec<u8> {
    let mut body = order(0x1a2b_3c4d, big).to_vec();
    body.extend(if big { [0, 1, 0, 0] } else { [1, 0, 0, 0] });
    body.extend([0xff; 8]);
    block(0x0a0d_0d0a, big, &body)
}

/// The block of an interface of `link` with the options (code and value) given.
pub fn interface(link: u16, big: bool, options: &[(u16, &[u8])]) -> Vec<u8> {
    let half = |value: u16| half_order(value, big);
    let mut body = half(link).to_vec();
    body.extend([0; 6]);
    for (code, value) in options {
        body.extend(half(*code));
        body.extend(half(value.len() as u16));
        body.extend(*value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    block(1, big, &body)
}

/// The block of a packet of interface number `interface`, seen after `units` of its clock.
pub fn packet(interface: u32, big: bool, units: u64, data: &[u8]) -> Vec<u8> {
    let length = data.len() as u32;
    let (high, low) = ((units >> 32) as u32, units as u32);
    let mut body = Vec::new();
    for value in [interface, high, low, length, length] {
        body.extend(order(value, big));
    }
    body.extend(data);
    block(6, big, &body)
}

/// pcapng's obsolete block of a packet.
pub fn obsolete_packet(interface: u16, big: bool, units: u64, data: &[u8]) -> Vec<u8> {
    let length = data.len() as u32;
    // No packet was dropped before it.
    let mut body = [half_order(interface, big), [0, 0]].concat();
    for value in [(units >> 32) as u32, units as u32, length, length] {
        body.extend(order(value, big));
    }
    body.extend(data);
    block(2, big, &body)
}

/// The block of a packet without a time.
pub fn simple_packet(big: bool, data: &[u8]) -> Vec<u8> {
    let length = order(data.len() as u32, big);
    block(3, big, &[&length[..], data].concat())
}

/// The analysis of a file's bytes.
pub fn read(file: &[u8]) -> Result<Analysis, CaptureError> {
    let file = CaptureFile::from_reader(Cursor::new(file.to_vec()), Path::new("test.pcap"))?;
    Ok(analyze_file(file, Options::default(), &mut ()))
}

/// The analysis of `packets` of raw IPv4.
pub fn analysis(packets: &[(u64, Segment)]) -> Analysis {
    let packets: Vec<Seen> = packets.iter().map(|(ms, s)| (*ms, s.ipv4())).collect();
    read(&pcap(0xa1b2_c3d4, false, 101, &packets)).expect("a capture")
}

pub fn order(value: u32, big: bool) -> [u8; 4] {
    if big {
        value.to_be_bytes()
    } else {
        value.to_le_bytes()
    }
}

fn half_order(value: u16, big: bool) -> [u8; 2] {
    if big {
        value.to_be_bytes()
    } else {
        value.to_le_bytes()
    }
}

/// The fragments of an IPv4 packet without options: `sizes` bytes of payload each, multiples of
/// eight, and what is left.
pub fn fragments_v4(packet: &[u8], identification: u16, sizes: &[usize]) -> Vec<Vec<u8>> {
    let (header, payload) = packet.split_at(20);
    let parts = parts(payload.len(), sizes);
    parts
        .map(|(start, end)| {
            let mut piece = header.to_vec();
            let more = u16::from(end < payload.len()) << 13;
            piece[2..4].copy_from_slice(&(20 + (end - start) as u16).to_be_bytes());
            piece[4..6].copy_from_slice(&identification.to_be_bytes());
            piece[6..8].copy_from_slice(&(more | (start / 8) as u16).to_be_bytes());
            piece.extend(&payload[start..end]);
            piece
        })
        .collect()
}

/// The fragments of an IPv6 packet without extension headers before the fragment header.
pub fn fragments_v6(packet: &[u8], identification: u32, sizes: &[usize]) -> Vec<Vec<u8>> {
    const FRAGMENT: u8 = 44;
    let (header, payload) = packet.split_at(40);
    let parts = parts(payload.len(), sizes);
    parts
        .map(|(start, end)| {
            let mut piece = header.to_vec();
            piece[4..6].copy_from_slice(&(8 + (end - start) as u16).to_be_bytes());
            piece[6] = FRAGMENT;
            piece.extend([header[6], 0]);
            let more = u16::from(end < payload.len());
            piece.extend((start as u16 | more).to_be_bytes());
            piece.extend(identification.to_be_bytes());
            piece.extend(&payload[start..end]);
            piece
        })
        .collect()
}

fn parts(length: usize, sizes: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    let mut ends: Vec<usize> = Vec::new();
    for size in sizes {
        let end = ends.last().unwrap_or(&0) + size;
        if end < length {
            ends.push(end);
        }
    }
    ends.push(length);
    let starts = [vec![0], ends.clone()].concat();
    starts.into_iter().zip(ends)
}
