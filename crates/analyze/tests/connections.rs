//! What is counted of connections that are made by hand.

#[expect(dead_code, reason = "shared by several tests")]
mod wire;

use std::io::Cursor;
use std::num::NonZeroUsize;
use std::path::Path;

use cclab_analyze::{Analysis, Direction, End, Options, analyze_file};
use cclab_trace::captured::CaptureFile;
use wire::{ACK, FIN, RST, SYN, Segment, analysis, pcap};

/// MSS 1460, window scale `shift`, SACK permitted, timestamps.
fn syn_options(shift: u8) -> Vec<u8> {
    let mut options = vec![2, 4, 0x05, 0xb4, 3, 3, shift, 4, 2, 8, 10];
    options.extend([0; 8]);
    options
}

/// The handshake of a connection whose ends begin at 1000 and 5000, with scale 3 and 7.
fn handshake() -> Vec<(u64, Segment)> {
    vec![
        (0, Segment::new(SYN, 1000, 0).options(&syn_options(3))),
        (
            10,
            Segment::new(SYN | ACK, 5000, 1001)
                .options(&syn_options(7))
                .window(60_000)
                .back(),
        ),
        (10, Segment::new(ACK, 1001, 5001)),
    ]
}

fn with_handshake(more: Vec<(u64, Segment)>) -> Vec<(u64, Segment)> {
    [handshake(), more].concat()
}

fn data(from: u32, bytes: u16) -> Segment {
    Segment::new(ACK, 1001 + from, 5001).data(bytes)
}

fn ack(upto: u32) -> Segment {
    Segment::new(ACK, 5001, 1001 + upto).back()
}

fn there_and_back(analysis: &Analysis) -> [&Direction; 2] {
    assert_eq!(analysis.connections.len(), 2);
    [&analysis.connections[0], &analysis.connections[1]]
}

#[test]
fn options_are_those_of_the_syn_and_windows_are_scaled_after_it() {
    let analysis = analysis(&with_handshake(vec![
        (20, data(0, 100)),
        (30, ack(100).window(500)),
        (31, ack(100).window(300)),
    ]));
    let [there, back] = there_and_back(&analysis);
    assert_eq!(there.mss_announced_bytes, Some(1460));
    assert_eq!(
        (there.window_scale_announced, back.window_scale_announced),
        (Some(3), Some(7))
    );
    assert_eq!(there.window_scaling, Some(true));
    assert_eq!((there.sack_permitted, there.timestamps), (Some(true), true));
    assert_eq!(back.window_max_bytes, Some(500 << 7));
    assert_eq!(back.window_min_bytes, Some(300 << 7));
    assert_eq!(back.window_mean_bytes, Some(400.0 * 128.0));
    assert_eq!(there.window_mean_bytes, Some(8000.0));
}

#[test]
fn one_end_without_window_scaling_is_none_at_all() {
    let mut packets = with_handshake(vec![(20, ack(0).window(500))]);
    packets[0].1.options.clear();
    let analysis = analysis(&packets);
    let [there, back] = there_and_back(&analysis);
    assert_eq!(
        (there.window_scaling, back.window_scaling),
        (Some(false), Some(false))
    );
    assert_eq!(back.window_mean_bytes, Some((60_000.0 + 500.0) / 2.0));
}

#[test]
fn without_its_syns_a_connection_has_no_options_and_no_initial_window() {
    let analysis = analysis(&[(0, data(0, 100)), (5, ack(100))]);
    let [there, _] = there_and_back(&analysis);
    assert_eq!(there.window_scaling, None);
    assert_eq!(there.mss_announced_bytes, None);
    assert_eq!(there.initial_window_bytes, None);
    assert_eq!((there.unique_bytes, there.rtt_min_s), (100, Some(0.005)));
}

#[test]
fn a_retransmission_after_an_acknowledgement_and_one_after_silence() {
    let analysis = analysis(&with_handshake(vec![
        (20, data(0, 100)),
        (21, data(100, 100)),
        (22, data(200, 100)),
        (30, ack(100)),
        (32, ack(100)),
        (33, ack(100)),
        // An update of the window is none.
        (33, ack(100).window(999)),
        (34, data(100, 100)),
        // Nothing comes back for 300 ms.
        (334, data(100, 100)),
        (344, ack(300)),
    ]));
    let [there, back] = there_and_back(&analysis);
    assert_eq!((there.data_packets, there.total_bytes), (5, 500));
    assert_eq!((there.unique_bytes, there.retransmitted_bytes), (300, 200));
    assert_eq!(
        (there.retransmitted_packets, there.timer_retransmits),
        (2, 1)
    );
    assert_eq!((there.duplicate_acks, back.duplicate_acks), (2, 0));
    // The SYN and the first segment; the last acknowledgement answers a segment that had waited.
    assert_eq!((there.rtt_samples, there.rtt_ambiguous), (2, 0));
    assert_eq!(there.outstanding_max_bytes, Some(300));
    assert_eq!(there.segment_max_bytes, Some(100));
}

#[test]
fn the_initial_window_ends_with_the_first_acknowledgement_of_data() {
    let analysis = analysis(&with_handshake(vec![
        (20, data(0, 100)),
        (21, data(100, 50)),
        (30, ack(100)),
        (31, data(150, 100)),
    ]));
    let [there, back] = there_and_back(&analysis);
    assert_eq!(there.initial_window_bytes, Some(150));
    assert_eq!(there.initial_window_packets, Some(2));
    assert_eq!(back.initial_window_bytes, None);
}

#[test]
fn what_is_sent_into_a_closed_window_is_a_probe_and_no_retransmission() {
    let analysis = analysis(&with_handshake(vec![
        (20, data(0, 100)),
        (30, ack(100).window(0)),
        (250, data(100, 1)),
        (260, ack(100).window(0)),
        (500, data(100, 1)),
        (510, ack(100).window(10)),
        (511, data(100, 100)),
        (520, ack(200).window(10)),
    ]));
    let [there, back] = there_and_back(&analysis);
    assert_eq!((there.window_probes, there.retransmitted_packets), (2, 0));
    assert_eq!(there.unique_bytes, 200);
    assert_eq!(back.zero_windows, 2);
}

#[test]
fn how_a_connection_ended() {
    let fins = vec![
        (20, Segment::new(FIN | ACK, 1001, 5001)),
        (30, Segment::new(FIN | ACK, 5001, 1002).back()),
        (31, Segment::new(ACK, 1002, 5002)),
    ];
    let end = |more: Vec<(u64, Segment)>| analysis(&with_handshake(more)).connections[0].end;
    assert_eq!(end(fins.clone()), End::Complete);
    assert_eq!(end(fins[..1].to_vec()), End::Open);
    let aborted = vec![(20, Segment::new(RST | ACK, 1001, 5001))];
    assert_eq!(end(aborted), End::Reset);
}

#[test]
fn repeated_syns_and_fins_are_no_retransmitted_data() {
    let mut packets = handshake();
    packets.insert(1, (5, packets[0].1.clone()));
    packets.extend([
        (20, Segment::new(FIN | ACK, 1001, 5001).data(100)),
        (40, Segment::new(FIN | ACK, 1001, 5001).data(100)),
        (60, Segment::new(FIN | ACK, 1101, 5001)),
    ]);
    let analysis = analysis(&packets);
    let [there, _] = there_and_back(&analysis);
    assert_eq!((there.syns, there.fins), (2, 3));
    assert_eq!(there.retransmitted_syn_fin, 3);
    assert_eq!(
        (there.retransmitted_packets, there.retransmitted_bytes),
        (1, 100)
    );
    assert_eq!(there.unique_bytes, 100);
}

#[test]
fn another_syn_on_the_same_ports_is_another_connection() {
    let mut second = handshake();
    second[0].1.seq = 90_000;
    let analysis = analysis(&[handshake(), second].concat());
    let numbers: Vec<_> = analysis
        .connections
        .iter()
        .map(|row| row.connection)
        .collect();
    assert_eq!(numbers, [1, 1, 2, 2]);
    assert_eq!(analysis.connections[2].packets, 2);
}

#[test]
fn connections_that_were_idle_longest_are_given_up_and_counted() {
    let mut packets = Vec::new();
    for port in 0..5u16 {
        let mut packet = handshake()[0].1.ipv4();
        packet[20..22].copy_from_slice(&(2000 + port).to_be_bytes());
        packets.push((u64::from(port), packet));
    }
    // The first is busy again before the last comes.
    packets.insert(4, packets[0].clone());
    let file = pcap(0xa1b2_c3d4, false, 101, &packets);
    let file = CaptureFile::from_reader(Cursor::new(file), Path::new("many")).expect("a capture");
    let options = Options {
        max_connections: NonZeroUsize::new(2).expect("two"),
        ..Options::default()
    };
    let analysis = analyze_file(file, options, &mut ());
    let ports: Vec<_> = analysis
        .connections
        .iter()
        .map(|row| row.source_port)
        .collect();
    assert_eq!(ports, [2000, 80, 2004, 80]);
    assert_eq!(analysis.problems[0].code, "connections-given-up");
}

#[test]
fn time_that_runs_backwards_stands_still_and_is_told() {
    let analysis = analysis(&with_handshake(vec![(5, data(0, 100)), (40, ack(100))]));
    let [there, _] = there_and_back(&analysis);
    assert_eq!(there.elapsed_s, 0.04);
    assert_eq!(there.rtt_max_s, Some(0.03));
    assert_eq!(analysis.problems[0].code, "time-backwards");
}
