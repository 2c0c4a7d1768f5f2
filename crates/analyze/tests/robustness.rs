//! Whatever becomes of the bytes of a capture, reading them does not fail by itself.

#[expect(dead_code, reason = "shared by several tests")]
mod wire;

use cclab_analyze::fuzzing::fuzz_capture;
use proptest::prelude::*;
use wire::{ACK, FIN, SYN, Segment, interface, packet, pcap, section};

/// A transfer of some segments with a retransmission, as pcap or pcapng.
fn capture(pcapng: bool, big: bool) -> Vec<u8> {
    let mut segments = vec![
        Segment::new(SYN, u32::MAX - 900, 0).options(&[2, 4, 5, 180, 3, 3, 7]),
        Segment::new(SYN | ACK, 70, u32::MAX - 899)
            .options(&[2, 4, 5, 180, 3, 3, 7])
            .back(),
    ];
    for n in [0, 1, 2, 1, 3, 4, 2] {
        let seq = (u32::MAX - 899).wrapping_add(n * 300);
        segments.push(Segment::new(ACK, seq, 71).data(300));
        segments.push(Segment::new(ACK, 71, seq.wrapping_add(300)).back());
    }
    segments.push(Segment::new(FIN | ACK, 600, 71));
    let packets = (0..)
        .map(|n| 1000 + n * 3)
        .zip(segments.iter().map(Segment::ipv4));
    if !pcapng {
        return pcap(0xa1b2_c3d4, big, 101, &packets.collect::<Vec<_>>());
    }
    let mut file = section(big);
    file.extend(interface(101, big, &[(9, &[3])]));
    for (ms, data) in packets {
        file.extend(packet(0, big, ms, &data));
    }
    file
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(11), ..ProptestConfig::default() })]

    #[test]
    fn mutated_captures_are_read_or_refused(
        pcapng in any::<bool>(),
        big in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        let mut file = capture(pcapng, big);
        for (at, to) in changes {
            // The first bytes say what it is: they are spared, so that the rest is looked at.
            let at = 12 + at.index(file.len() - 12);
            file[at] = to;
        }
        if !whole {
            file.truncate(cut.index(file.len()));
        }
        fuzz_capture(&file);
    }

    #[test]
    fn bytes_behind_a_right_beginning_are_read_or_refused(
        pcapng in any::<bool>(),
        big in any::<bool>(),
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let mut file = capture(pcapng, big);
        file.truncate(if pcapng { 28 + 24 } else { 24 });
        file.extend(bytes);
        fuzz_capture(&file);
    }
}

#[test]
fn the_capture_before_mutation_is_whole() {
    for (pcapng, big) in [(false, false), (false, true), (true, false), (true, true)] {
        let analysis = wire::read(&capture(pcapng, big)).expect("a capture");
        assert_eq!(analysis.problems, []);
        assert_eq!(analysis.connections[0].retransmitted_packets, 2);
        assert_eq!(analysis.connections[0].unique_bytes, 1500);
    }
}
