//! tshark finds the same TCP segments in the same files: under every link layer, in tunnels, in
//! fragments, whole or cut by a snap length.

#[expect(dead_code, reason = "shared by several tests")]
mod wire;

use std::path::Path;
use std::process::Command;

use cclab_trace::captured::{CaptureFile, Carried, Dissector};
use wire::seeds::{ip_packets, link_layers, transfer};
use wire::{Seen, Segment, fragments_v4, fragments_v6, order, pcap};

/// Source port, sequence number and payload of each segment, in the order of the file.
type Segments = Vec<(u16, u32, u32)>;

fn ours(file: &Path) -> Segments {
    let mut file = CaptureFile::open(file).expect("a capture");
    let mut dissector = Dissector::default();
    let mut segments = Segments::new();
    while let Some(next) = file.next_frame() {
        let frame = next.expect("an undamaged file");
        let carried = dissector.carried(&frame).expect("an undamaged packet");
        if let Some(Carried::Tcp(segment)) = carried {
            segments.push((segment.source.port, segment.seq, segment.payload));
        }
    }
    segments
}

fn tsharks(what: &str, file: &Path) -> Segments {
    let done = Command::new("tshark")
        .arg("-nr")
        .arg(file)
        .args(["-Y", "tcp", "-T", "fields"])
        .args(["-o", "tcp.desegment_tcp_streams:FALSE"])
        .args(["-e", "tcp.srcport", "-e", "tcp.seq_raw", "-e", "tcp.len"])
        .output()
        .expect("tshark; `apt install tshark`");
    let text = String::from_utf8_lossy(&done.stdout);
    let row = |line: &str| {
        let mut fields = line.split('\t').map(|field| field.parse().ok());
        let mut next = || {
            let number = fields.next().flatten();
            number.unwrap_or_else(|| panic!("{what}: three numbers in {line:?}"))
        };
        let port: u32 = next();
        (port as u16, next(), next())
    };
    text.lines().map(row).collect()
}

fn assert_the_same(what: &str, file: &[u8], count: usize) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("capture.pcap");
    std::fs::write(&path, file).expect("to be written");
    let (ours, theirs) = (ours(&path), tsharks(what, &path));
    assert_eq!(ours, theirs, "{what}");
    assert_eq!(ours.len(), count, "{what}");
}

fn timed(packets: impl IntoIterator<Item = Vec<u8>>) -> Vec<Seen> {
    (0..).map(|n| 1000 + n).zip(packets).collect()
}

#[test]
fn under_every_link_layer() {
    // Of pppd's framing tshark takes off one byte; libpcap, as the registry of link types, two.
    let both_know = |link: u32| link != 166;
    for (what, link, header) in link_layers() {
        if !both_know(link) {
            continue;
        }
        let frames = transfer();
        let count = frames.len();
        // Four bytes more where the file says that a frame check sequence follows.
        let trailer = if link > 0xffff { &[0; 4][..] } else { &[] };
        let framed = frames
            .iter()
            .map(|s| [&header, &s.ipv4()[..], trailer].concat());
        assert_the_same(what, &pcap(0xa1b2_c3d4, false, link, &timed(framed)), count);
    }
}

#[test]
fn in_extension_headers_fragments_and_tunnels() {
    // One segment of fragments in order, one in reverse order, one of IPv6; seven tunnels.
    let count = transfer().len() + 4 + 3 + 7;
    assert_the_same(
        "all",
        &pcap(0xa1b2_c3d4, false, 101, &timed(ip_packets())),
        count,
    );
}

#[test]
fn in_fragments_of_many_packets_interleaved_and_cut_by_a_snap_length() {
    let mut pieces: Vec<(usize, Vec<u8>)> = Vec::new();
    for n in 0..40u16 {
        let segment = Segment::new(0x10, u32::from(n) * 1200, 1).data(1200);
        let sizes = [usize::from(n % 7 + 1) * 40, 400];
        let of_one = if n % 2 == 0 {
            fragments_v4(&segment.ipv4(), n, &sizes)
        } else {
            fragments_v6(&segment.ipv6_with(6, &[]), u32::from(n), &sizes)
        };
        // Those of one packet lie apart, in an order of its own.
        for (at, piece) in of_one.into_iter().enumerate() {
            pieces.push((usize::from(n) * 7 + (at * usize::from(n) * 31) % 97, piece));
        }
    }
    pieces.sort();
    let pieces: Vec<Vec<u8>> = pieces.into_iter().map(|(_, piece)| piece).collect();
    assert_the_same(
        "interleaved",
        &pcap(0xa1b2_c3d4, false, 101, &timed(pieces)),
        40,
    );
    // tshark puts no fragments together that were cut: whole packets only.
    let mut cut = pcap(0xa1b2_c3d4, false, 101, &[]);
    for segment in transfer() {
        let packet = segment.ipv4();
        let kept = &packet[..packet.len().min(60)];
        for value in [1, 0, kept.len() as u32, packet.len() as u32] {
            cut.extend(order(value, false));
        }
        cut.extend(kept);
    }
    assert_the_same("cut", &cut, transfer().len());
}
