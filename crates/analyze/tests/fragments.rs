//! TCP in fragments of IP packets is TCP, at the time of the last fragment; what stays in pieces
//! is counted.

#[expect(dead_code, reason = "shared by several tests")]
mod wire;

use cclab_analyze::Analysis;
use proptest::prelude::*;
use wire::{ACK, SYN, Seen, Segment, fragments_v4, fragments_v6, order, pcap, read};

fn raw(packets: &[Seen]) -> Analysis {
    read(&pcap(0xa1b2_c3d4, false, 101, packets)).expect("a capture")
}

fn codes(analysis: &Analysis) -> Vec<(&str, u64)> {
    let problems = analysis.problems.iter();
    problems
        .map(|problem| (problem.code, problem.count))
        .collect()
}

fn data() -> Segment {
    Segment::new(ACK, 11, 71).data(1000).options(&[1; 12])
}

/// The fragments of [`data`] in both versions of IP.
fn both(identification: u16, sizes: &[usize]) -> [Vec<Vec<u8>>; 2] {
    [
        fragments_v4(&data().ipv4(), identification, sizes),
        fragments_v6(&data().ipv6_with(6, &[]), u32::from(identification), sizes),
    ]
}

#[test]
fn a_packet_counts_at_the_time_of_its_last_piece() {
    for pieces in both(5, &[496, 400]) {
        assert_eq!(pieces.len(), 3);
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            let mut file: Vec<Seen> = (0..)
                .map(|n| 100 + 10 * n)
                .zip(order.map(|n: usize| pieces[n].clone()))
                .collect();
            file.push((200, Segment::new(ACK, 71, 1011).back().ipv4()));
            let analysis = raw(&file);
            assert_eq!(analysis.packets, 4);
            assert_eq!(analysis.tcp_packets, 2);
            assert_eq!(codes(&analysis), []);
            let row = &analysis.connections[0];
            assert_eq!(row.unique_bytes, 1000);
            assert_eq!(row.started_ns, 120_000_000);
        }
    }
}

#[test]
fn a_header_that_is_in_pieces_itself_is_put_together() {
    for pieces in both(5, &[8, 8, 8, 8, 8]) {
        let file: Vec<Seen> = (0..).zip(pieces).collect();
        let analysis = raw(&file);
        assert_eq!((analysis.tcp_packets, codes(&analysis)), (1, vec![]));
        assert_eq!(analysis.connections[0].unique_bytes, 1000);
        assert_eq!(analysis.connections[0].source_port, 4000);
    }
}

#[test]
fn a_snap_length_may_cut_the_pieces() {
    for pieces in both(5, &[496, 400]) {
        let whole = pcap(0xa1b2_c3d4, false, 101, &[]);
        let mut file = whole;
        for piece in pieces {
            let kept = &piece[..piece.len().min(96)];
            for value in [1, 0, kept.len() as u32, piece.len() as u32] {
                file.extend(order(value, false));
            }
            file.extend(kept);
        }
        let analysis = read(&file).expect("a capture");
        assert_eq!((analysis.tcp_packets, codes(&analysis)), (1, vec![]));
        assert_eq!(analysis.connections[0].unique_bytes, 1000);
    }
}

#[test]
fn extension_headers_behind_that_of_the_fragment_are_passed() {
    // Destination options in the part that is fragmented.
    let options = [6, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let packet = data().ipv6_with(60, &options);
    let file: Vec<Seen> = (0..).zip(fragments_v6(&packet, 5, &[8, 496])).collect();
    let analysis = raw(&file);
    assert_eq!((analysis.tcp_packets, codes(&analysis)), (1, vec![]));
    assert_eq!(analysis.connections[0].unique_bytes, 1000);
    // A header of the only fragment (RFC 6946) makes no difference.
    let file: Vec<Seen> = (0..)
        .zip(fragments_v6(&data().ipv6_with(6, &[]), 5, &[]))
        .collect();
    assert_eq!(file.len(), 1);
    assert_eq!(raw(&file).connections[0].unique_bytes, 1000);
}

#[test]
fn packets_of_one_number_are_told_apart_by_their_ends_and_pieces_may_come_twice() {
    let [pieces, _] = both(5, &[496]);
    let back = fragments_v4(&data().back().ipv4(), 5, &[496]);
    let order = [&pieces[0], &back[0], &pieces[0], &pieces[1], &back[1]];
    let file: Vec<Seen> = (0..).zip(order.map(Clone::clone)).collect();
    let analysis = raw(&file);
    assert_eq!((analysis.tcp_packets, codes(&analysis)), (2, vec![]));
    assert_eq!(analysis.connections[0].unique_bytes, 1000);
    assert_eq!(analysis.connections[1].unique_bytes, 1000);
}

#[test]
fn what_stays_in_pieces_is_counted_piece_by_piece() {
    for pieces in both(5, &[200, 200, 200]) {
        let lacking: Vec<Seen> = (0..).zip(pieces[..3].to_vec()).collect();
        assert_eq!(codes(&raw(&lacking)), [("ip-fragment", 3)]);
        // The last piece is too late: numbers are used again.
        let mut late: Vec<Seen> = (0..).zip(pieces.clone()).collect();
        late[3].0 = 30_001;
        assert_eq!(codes(&raw(&late)), [("ip-fragment", 4)]);
        late[3].0 = 30_000;
        assert_eq!(codes(&raw(&late)), []);
    }
}

#[test]
fn pieces_that_contradict_one_another_are_counted() {
    let packet = data().ipv4();
    let pieces = fragments_v4(&packet, 5, &[200, 200]);
    let overlapping = fragments_v4(&packet, 5, &[200, 208])[1].clone();
    let shifted = fragments_v4(&packet, 5, &[192])[1].clone();
    let longer = fragments_v4(&data().data(1200).ipv4(), 5, &[1000])[1].clone();
    for (what, bad) in [
        ("overlaps the last", overlapping),
        ("overlaps the first", shifted),
        ("ends elsewhere", longer),
    ] {
        let file = [(0, pieces[0].clone()), (1, pieces[2].clone()), (2, bad)];
        let analysis = raw(&file);
        assert_eq!(analysis.tcp_packets, 0, "{what}");
        assert_eq!(
            codes(&analysis),
            [("ip-fragment", 2), ("bad-ip-fragment", 1)],
            "{what}"
        );
    }
    // All but the last piece end at a multiple of eight.
    let mut ragged = pieces[0].clone();
    ragged[2..4].copy_from_slice(&219u16.to_be_bytes());
    assert_eq!(codes(&raw(&[(0, ragged)])), [("bad-ip-fragment", 1)]);
    // And no packet is longer than 65,535 bytes.
    let mut beyond = pieces[2].clone();
    beyond[6..8].copy_from_slice(&0x1fff_u16.to_be_bytes());
    assert_eq!(codes(&raw(&[(0, beyond)])), [("bad-ip-fragment", 1)]);
}

#[test]
fn only_so_many_packets_wait_for_their_pieces() {
    let count = 4096 + 10;
    let first_pieces = (0..count).map(|n| fragments_v4(&data().ipv4(), n, &[496]).swap_remove(0));
    let mut file: Vec<Seen> = (0..).zip(first_pieces).collect();
    // The oldest were given up, the newest not. The piece of one that was takes another's place.
    for n in [0, count - 1] {
        let last = fragments_v4(&data().ipv4(), n, &[496]).swap_remove(1);
        file.push((5000, last));
    }
    let analysis = raw(&file);
    assert_eq!(analysis.tcp_packets, 1);
    let expected = [("ip-fragment", 4095), ("ip-fragments-crowded", 11)];
    assert_eq!(codes(&analysis), expected);
}

#[test]
fn fragments_of_what_is_neither_tcp_nor_udp_are_no_fault() {
    let mut packet = data().ipv4();
    packet[9] = 1;
    let file: Vec<Seen> = (0..).zip(fragments_v4(&packet, 5, &[200])).collect();
    let analysis = raw(&file[..1]);
    assert_eq!((analysis.packets, codes(&analysis)), (1, vec![]));
}

#[test]
fn a_syn_of_the_next_connection_is_not_mixed_with_pieces_of_the_last() {
    let [pieces, _] = both(5, &[496]);
    let file = [
        (0, pieces[0].clone()),
        (1, Segment::new(SYN, 9999, 0).ipv4()),
        (2, pieces[1].clone()),
    ];
    let analysis = raw(&file);
    assert_eq!(analysis.tcp_packets, 2);
    assert_eq!(codes(&analysis), []);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    /// Whatever the pieces and their order, the packet is the one that was cut.
    #[test]
    fn pieces_in_any_order_give_the_packet(
        sizes in prop::collection::vec(1..40usize, 0..12),
        v6 in any::<bool>(),
        keys in prop::collection::vec(any::<u32>(), 26),
        twice in any::<prop::sample::Index>(),
    ) {
        let sizes: Vec<usize> = sizes.iter().map(|size| size * 8).collect();
        let [v4, six] = both(9, &sizes);
        let pieces = if v6 { six } else { v4 };
        let whole = if v6 { data().ipv6_with(6, &[]) } else { data().ipv4() };
        let mut shuffled: Vec<(u32, Vec<u8>)> = keys.iter().copied().zip(pieces.clone()).collect();
        shuffled.sort();
        if pieces.len() > 1 {
            // One that comes a second time, before the packet is whole.
            let again = shuffled[twice.index(shuffled.len() - 1)].clone();
            shuffled.insert(shuffled.len() - 1, again);
        }
        let file: Vec<Seen> = (0..).zip(shuffled.into_iter().map(|(_, piece)| piece)).collect();
        let (cut, uncut) = (raw(&file), raw(&[(0, whole)]));
        prop_assert_eq!(codes(&cut), []);
        prop_assert_eq!(cut.tcp_packets, 1);
        let told = |analysis: &Analysis| {
            let row = &analysis.connections[0];
            (row.source.clone(), row.source_port, row.unique_bytes, row.window_max_bytes)
        };
        prop_assert_eq!(told(&cut), told(&uncut));
    }
}
