//! One core or several: the same is told.

use std::io::{Cursor, Read as _};

use cclab_trace::Columns;

use super::*;
use crate::segments::{Datagram, Sack, Segment};

/// A capture of `packets` packets of as many as `flows` connections and conversations each, in an
/// order that follows from `seed`: new data, data again, acknowledgements, SYNs of new
/// connections on old ports.
fn capture(flows: u64, packets: u64, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut dice = |sides: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % sides
    };
    let mut next = vec![[0u32; 2]; flows as usize];
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    for value in [0u32, 0, 65_535, 228] {
        file.extend(value.to_le_bytes());
    }
    for number in 0..packets {
        let flow = dice(flows);
        let side = dice(2) as usize;
        let udp = dice(8) == 0;
        let sent = &mut next[flow as usize];
        let opens = sent[0] == 0 || dice(300) == 0;
        let (flags, payload) = match () {
            () if opens => (2, 0),
            () if side == 1 => (16, 0),
            () => (16, 100),
        };
        if opens {
            sent[0] = dice(1 << 20) as u32 + 1;
        }
        let again = dice(20) == 0;
        let seq = sent[side].wrapping_sub(if again { 100 } else { 0 });
        let ack = sent[1 - side];
        if !again {
            sent[side] = seq.wrapping_add(u32::from(opens) + u32::from(payload));
        }
        let ends = [[10, 0, (flow >> 8) as u8, flow as u8], [11, 0, 0, 1]];
        let ports = [4000 + (flow % 7) as u16, 80];
        let header: u16 = if udp { 8 } else { 20 };
        let mut packet = vec![0x45, 0];
        packet.extend((20 + header + payload).to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, if udp { 17 } else { 6 }, 0, 0]);
        packet.extend(ends[side].iter().chain(&ends[1 - side]));
        packet.extend(ports[side].to_be_bytes());
        packet.extend(ports[1 - side].to_be_bytes());
        if udp {
            packet.extend((8 + payload).to_be_bytes());
            packet.extend([0, 0]);
        } else {
            packet.extend(seq.to_be_bytes());
            packet.extend(ack.to_be_bytes());
            packet.extend([5 << 4, flags, 200, 0, 0, 0, 0, 0]);
        }
        let kept = packet.len() as u32;
        for value in [number as u32 / 1000, number as u32 % 1000 * 1000] {
            file.extend(value.to_le_bytes());
        }
        for value in [kept, kept + u32::from(payload)] {
            file.extend(value.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// All that is told of `file`, and how many connections are.
fn told(file: &[u8], most: usize, parts: usize, watch: &mut impl Watch) -> (String, usize) {
    let file = CaptureFile::from_reader(Cursor::new(file.to_vec()), Path::new("made"));
    let options = Options {
        max_connections: NonZeroUsize::new(most).expect("not zero"),
        interval: Some((Time::from_secs(2), Time::from_secs(9))),
    };
    let analysis = analyze_on(file.expect("a capture"), options, parts, watch);
    let document = serde_json::to_string(&analysis).expect("a document");
    let connections = Columns::of(&analysis.connections).csv();
    let conversations = Columns::of(&analysis.conversations).csv();
    let text = [document, connections, conversations].join("\n");
    (text, analysis.connections.len() / 2)
}

/// Keeps the number of each connection at its first segment.
#[derive(Default)]
struct Numbers(Vec<u32>);

impl Watch for Numbers {
    fn segment(&mut self, segment: Segment) {
        if self.0.last().is_none_or(|last| segment.connection > *last) {
            self.0.push(segment.connection);
        }
    }
    fn sack(&mut self, _: Sack) {}
    fn datagram(&mut self, _: Datagram) {}
}

#[test]
fn the_same_is_told_whatever_the_number_of_parts() {
    for (flows, seed) in [(1, 1), (2, 2), (9, 3), (700, 4)] {
        let file = capture(flows, 25_000, seed);
        let mut numbers = Numbers::default();
        let (alone, connections) = told(&file, 50_000, 1, &mut numbers);
        // In the order of their first packets.
        assert!(numbers.0.into_iter().eq(1..=connections as u32));
        for parts in 2..=4 {
            let (shared, _) = told(&file, 50_000, parts, &mut ());
            assert!(shared == alone, "{flows} flows in {parts} parts");
        }
    }
}

#[test]
fn the_same_are_given_up_whatever_the_number_of_parts() {
    let file = capture(11_000, 60_000, 5);
    for most in [5_000, 9_000] {
        let (alone, connections) = told(&file, most, 1, &mut ());
        assert_eq!(connections, most);
        assert!(alone.contains("connections-given-up"));
        for parts in [2, 4] {
            let (shared, _) = told(&file, most, parts, &mut ());
            assert!(shared == alone, "{most} of them in {parts} parts");
        }
    }
}

/// Conversations of four datagrams each, with gaps from a microsecond to ninety seconds, which take memory; old
/// ones come back.
fn hungry(flows: u64, v6: bool) -> Vec<u8> {
    let mut all = Vec::new();
    for group in 0..flows.div_ceil(500) {
        for (round, at) in [(0, 0), (1, 1), (2, 1_000_001), (3, 90_000_000)] {
            for flow in group * 500..((group + 1) * 500).min(flows) {
                all.push((group * 100_000_000 + at, flow, round));
                if flow % 5 == 0 && group > 0 {
                    let old = flow.wrapping_mul(2_654_435_761) % (group * 500);
                    all.push((group * 100_000_000 + at, old, round));
                }
            }
        }
    }
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    for value in [0u32, 0, 65_535, if v6 { 229 } else { 228 }] {
        file.extend(value.to_le_bytes());
    }
    for (micros, flow, round) in all {
        let mut ends = [[10, 0, (flow >> 8) as u8, flow as u8], [11, 0, 0, 1]];
        let mut ports = [4000 + (flow % 7) as u16, 53];
        if flow % 3 == 0 && round == 2 {
            ends.reverse();
            ports.reverse();
        }
        let mut packet = if v6 {
            vec![0x60, 0, 0, 0, 0, 8, 17, 64]
        } else {
            vec![0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0]
        };
        for end in ends {
            if v6 {
                packet.extend([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0]);
            }
            packet.extend(end);
        }
        packet.extend(ports.into_iter().flat_map(u16::to_be_bytes));
        packet.extend([0, 8, 0, 0]);
        let kept = packet.len() as u32;
        for value in [(micros / 1_000_000) as u32, (micros % 1_000_000) as u32] {
            file.extend(value.to_le_bytes());
        }
        for value in [kept, kept] {
            file.extend(value.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

#[test]
fn the_same_are_given_up_for_their_memory_whatever_the_number_of_parts() {
    for (flows, most, v6) in [(6_000, 11_000, false), (6_000, 11_000, true)] {
        let file = hungry(flows, v6);
        let (alone, _) = told(&file, most, 1, &mut ());
        assert!(alone.contains("connections-given-up"));
        for parts in 2..=4 {
            let (shared, _) = told(&file, most, parts, &mut ());
            assert!(shared == alone, "{parts} parts, IPv6: {v6}");
        }
    }
}

#[test]
fn what_looks_on_is_told_all_in_order_whatever_the_number_of_parts() {
    let file = capture(9, 5_000, 7);
    let mut numbers = Numbers::default();
    let (alone, connections) = told(&file, 50_000, 4, &mut numbers);
    assert!(numbers.0.into_iter().eq(1..=connections as u32));
    assert!(alone == told(&file, 50_000, 1, &mut ()).0);
}

#[test]
#[should_panic(expected = "it cannot count")]
fn a_panic_is_told_although_nothing_more_comes() {
    fn panics(_: &mut Table, _: &Batch, _: usize) {
        panic!("it cannot count");
    }
    // Enough for one batch, and then silence.
    let (silent, held) = std::io::pipe().expect("a pipe");
    let begun = Cursor::new(capture(9, 5_000, 8)).chain(silent);
    let file = CaptureFile::from_reader(begun, Path::new("silent")).expect("a capture");
    let most = NonZeroUsize::new(50_000).expect("not zero");
    let tables = (0..2).map(|_| Table::new(most, None)).collect();
    parts::count(Source::new(file), tables, panics, || true);
    drop(held);
}

#[test]
fn an_analysis_in_parts_ends_when_it_is_told_to() {
    struct Stops;
    impl Watch for Stops {
        fn on(&self) -> bool {
            false
        }
        fn segment(&mut self, _: Segment) {}
        fn sack(&mut self, _: Sack) {}
        fn datagram(&mut self, _: Datagram) {}
        fn goes_on(&mut self) -> bool {
            false
        }
    }
    // The rest of the capture never comes.
    let (silent, held) = std::io::pipe().expect("a pipe");
    let begun = Cursor::new(capture(3, 10, 6)).chain(silent);
    let file = CaptureFile::from_reader(begun, Path::new("silent")).expect("a capture");
    let analysis = analyze_on(file, Options::default(), 2, &mut Stops);
    assert_eq!(analysis.packets, 0);
    drop(held);
}
