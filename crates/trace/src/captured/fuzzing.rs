//! The entrances of fuzzers: whatever the bytes, each layer gives what it can, never a panic.

use std::io::{self, Cursor, Read};
use std::path::Path;

use cclab_units::Time;

use super::{
    CaptureFile, Carried, Compression, Dissector, Fault, Format, Frame, LinkType, PlainSegment,
    Skips,
};

/// Reads `data` as a file of `format`, to its end.
pub fn fuzz_file(data: &[u8], format: Format) {
    let name = Path::new("fuzz");
    let pieces = Pieces(Cursor::new(data.to_vec()));
    let whole = Cursor::new(data.to_vec());
    let (Ok(mut file), Ok(mut slow)) = (
        CaptureFile::from_reader(pieces, name),
        CaptureFile::from_reader(whole, name),
    ) else {
        return;
    };
    if file.format() != format || file.compression() != Compression::None {
        return;
    }
    let (mut given, mut passed, mut steps) = (0, 0, 0);
    while let Some(next) = file.next_frame() {
        // The short ways give what the long one gives, wherever a read ends.
        assert_eq!(slow.next_of_any(), Some(next));
        steps += 1;
        match next {
            Ok(frame) => given += frame.data.len() as u64,
            Err(skipped) => passed += skipped.bytes,
        }
    }
    assert_eq!(slow.next_of_any(), None);
    // No byte is given twice, and none that was passed over is given.
    assert!(given + passed <= data.len() as u64);
    assert!(steps <= data.len());
}

/// Bytes that come as from a slow pipe, few at a time.
struct Pieces(Cursor<Vec<u8>>);

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let few = 61.min(buffer.len());
        self.0.read(&mut buffer[..few])
    }
}

/// Dissects `data` as a frame, behind two bytes with its link layer.
pub fn fuzz_frame(data: &[u8]) {
    if let Some((link, frame)) = data.split_first_chunk() {
        dissect(LinkType(u16::from_be_bytes(*link)), [(frame, 0)]);
    }
}

/// Dissects `data` as IP packets, each behind two bytes with its length and one with the seconds
/// since the one before it.
pub fn fuzz_packets(mut data: &[u8]) {
    let mut packets = Vec::new();
    while let Some((&[high, low, seconds], rest)) = data.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([high, low])).min(rest.len());
        let (packet, rest) = rest.split_at(length);
        packets.push((packet, seconds));
        data = rest;
    }
    dissect(LinkType::RAW, packets);
}

/// Dissects `data` as a TCP segment, behind an IPv4 header.
pub fn fuzz_segment(data: &[u8]) {
    let data = &data[..data.len().min(60_000)];
    let mut packet = vec![0x45, 0];
    packet.extend((20 + data.len() as u16).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(data);
    dissect(LinkType::IPV4, [(&packet[..], 0)]);
}

fn dissect<'a>(link: LinkType, frames: impl IntoIterator<Item = (&'a [u8], u8)>) {
    let mut dissector = Dissector::default();
    let mut skips = Skips::default();
    let (mut time, mut count) = (Time::ZERO, 0);
    for (data, seconds) in frames {
        time += Time::from_secs(u64::from(seconds));
        count += 1;
        let frame = Frame {
            time,
            link,
            wire_len: data.len() as u32,
            data,
        };
        let carried = dissector.carried(&frame);
        if let Some(plain) = PlainSegment::of(&frame) {
            assert_eq!(carried, Ok(Some(Carried::Tcp(plain.segment()))));
        }
        let payload = match carried {
            Ok(Some(Carried::Tcp(segment))) => segment.payload,
            Ok(Some(Carried::Udp(datagram))) => datagram.payload,
            Ok(_) => 0,
            Err(fault) => {
                skips.add(fault.into());
                0
            }
        };
        // A packet put together of fragments can be longer than the last of them.
        assert!(payload <= 65_535.max(frame.wire_len));
    }
    dissector.finish(&mut skips);
    let faults = skips.iter();
    let fragments = faults.filter(|(fault, ..)| {
        matches!(
            fault,
            Fault::Fragment | Fault::FragmentsCrowded | Fault::BadFragment
        )
    });
    // Each is counted once at most.
    assert!(fragments.map(|(_, times, _)| times).sum::<u64>() <= count);
}
