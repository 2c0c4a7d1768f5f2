//! Conversations over UDP: counted by hand, and beside tshark.

#[expect(dead_code, reason = "shared by several tests")]
mod wire;

use std::io::Cursor;
use std::path::Path;
use std::process::Command;

use cclab_analyze::{Analysis, Options, Speaks, Talk, analyze_file};
use cclab_trace::captured::CaptureFile;
use cclab_units::Time;
use wire::seeds::{ipv4, udp};
use wire::{ACK, Seen, Segment, fragments_v4, pcap, read};

/// A datagram from 192.0.2.1:12345 to 192.0.2.2:443, or back.
fn datagram(back: bool, payload: &[u8]) -> Vec<u8> {
    let mut packet = ipv4(17, &udp(443, payload));
    if back {
        packet[12..20].copy_from_slice(&[192, 0, 2, 2, 192, 0, 2, 1]);
        packet[20..24].copy_from_slice(&[1, 0xbb, 0x30, 0x39]);
    }
    packet
}

/// A packet of QUIC with a long header, IDs of 8 bytes, and zeros.
fn long_header(first: u8, version: u32, length: usize) -> Vec<u8> {
    let mut packet = vec![first];
    packet.extend(version.to_be_bytes());
    packet.extend([8, 1, 2, 3, 4, 5, 6, 7, 8, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
    if first & 0x30 == 0 {
        // No token.
        packet.push(0);
    }
    // What follows, as a number of two bytes (RFC 9000 section 16).
    let rest = (length - packet.len() - 2) as u16 | 0x4000;
    packet.extend(rest.to_be_bytes());
    packet.resize(length, 0);
    packet
}

fn file(packets: &[Seen]) -> Vec<u8> {
    pcap(0xa1b2_c3d4, false, 101, packets)
}

fn analysis(packets: &[Seen]) -> Analysis {
    read(&file(packets)).expect("a capture")
}

fn both(analysis: &Analysis) -> [&Talk; 2] {
    let rows: Vec<&Talk> = analysis.conversations.iter().collect();
    rows.try_into().expect("one conversation")
}

#[test]
fn rates_sizes_and_gaps_of_each_direction() {
    let seen = [
        (1000, datagram(false, &[0; 100])),
        (1010, datagram(false, &[0; 300])),
        (1015, datagram(true, &[0; 50])),
        (1040, datagram(false, &[0; 200])),
        (1100, datagram(true, &[0; 50])),
    ];
    let analysis = analysis(&seen);
    assert_eq!((analysis.packets, analysis.udp_packets), (5, 5));
    assert_eq!(analysis.started_ns, 1_000_000_000);
    assert!((analysis.lasted_s - 0.1).abs() < 1e-12);
    let [there, back] = both(&analysis);
    assert_eq!(
        (there.source.as_str(), there.source_port),
        ("192.0.2.1", 12_345)
    );
    assert_eq!((back.source.as_str(), back.source_port), ("192.0.2.2", 443));
    assert_eq!((there.packets, there.total_bytes), (3, 600));
    assert_eq!((back.packets, back.total_bytes), (2, 100));
    // 4,800 bits in the 0.1 s of the conversation, and in the 0.04 s of the direction.
    assert_eq!(there.throughput_bps.map(f64::round), Some(48_000.0));
    assert_eq!(there.rate_bps.map(f64::round), Some(120_000.0));
    assert_eq!(there.size_min_bytes, Some(100));
    assert_eq!(there.size_mean_bytes, Some(200.0));
    assert_eq!(there.size_max_bytes, Some(300));
    assert_eq!(there.size_stdev_bytes, Some(100.0));
    // Gaps of 10 and 30 ms.
    assert_eq!(there.gap_min_s, Some(0.01));
    assert_eq!(there.gap_mean_s, Some(0.02));
    assert_eq!(there.gap_max_s, Some(0.03));
    assert_eq!(back.gap_p95_s, Some(0.085), "the only one");
    assert_eq!(back.first_packet_s, Some(0.015));
    assert_eq!(there.speaks, Speaks::Udp);
    assert_eq!(there.quic_initial_packets, None);
}

#[test]
fn quic_is_named_with_its_version() {
    let analysis = analysis(&[
        (0, datagram(false, &long_header(0xc0, 1, 1200))),
        (10, datagram(true, &long_header(0xc0, 1, 1200))),
        (11, datagram(true, &long_header(0xe0, 1, 800))),
        (20, datagram(false, &long_header(0xe0, 1, 100))),
        // A short header.
        (30, datagram(true, &[0x41; 1000])),
    ]);
    let [there, back] = both(&analysis);
    for row in [there, back] {
        assert_eq!(row.speaks, Speaks::Quic);
        assert_eq!(row.quic_version.as_deref(), Some("v1"));
        assert_eq!(row.quic_initial_packets, Some(1));
        assert_eq!(row.quic_handshake_packets, Some(1));
        assert_eq!(row.quic_retry_packets, Some(0));
    }
}

#[test]
fn marks_are_counted() {
    let mut marked = datagram(false, &[0; 10]);
    marked[1] = 3;
    let analysis = analysis(&[(0, datagram(false, &[0; 10])), (1, marked)]);
    assert_eq!(both(&analysis).map(|row| row.ce_packets), [1, 0]);
}

#[test]
fn a_datagram_in_fragments_is_one() {
    let packet = datagram(false, &[7; 3000]);
    let pieces = fragments_v4(&packet, 9, &[1480, 1480]);
    assert_eq!(pieces.len(), 3);
    let analysis = analysis(&(0..).zip(pieces).collect::<Vec<_>>());
    let [there, _] = both(&analysis);
    assert_eq!((there.packets, there.total_bytes), (1, 3000));
    assert_eq!(analysis.problems, []);
}

#[test]
fn what_is_neither_is_counted_by_name() {
    let analysis = analysis(&[
        (0, ipv4(1, &[8; 64])),
        (1, ipv4(1, &[0; 64])),
        (2, ipv4(132, &[0; 32])),
        (3, ipv4(253, &[0; 32])),
        (4, Segment::new(ACK, 1, 1).ipv4()),
    ]);
    assert_eq!((analysis.tcp_packets, analysis.udp_packets), (1, 0));
    let others: Vec<(&str, u64)> = analysis
        .other_packets
        .iter()
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    assert_eq!(others, [("icmp", 2), ("ip-protocol-253", 1), ("sctp", 1)]);
}

#[test]
fn a_length_beyond_the_packet_is_told() {
    let mut long = datagram(false, &[0; 10]);
    long[24..26].copy_from_slice(&100u16.to_be_bytes());
    let mut short = datagram(false, &[0; 10]);
    short[24..26].copy_from_slice(&7u16.to_be_bytes());
    let analysis = analysis(&[(0, long), (1, short), (2, datagram(false, &[0; 10]))]);
    let told: Vec<(&str, u64)> = analysis
        .problems
        .iter()
        .map(|p| (p.code, p.count))
        .collect();
    assert_eq!(told, [("bad-udp-header", 2)]);
    assert_eq!(both(&analysis)[0].packets, 1);
}

/// tshark's source port, length, version and type of the long header of each datagram.
#[test]
fn tshark_sees_the_same() {
    let types = [(0xc0, "0"), (0xd0, "1"), (0xe0, "2")];
    let mut seen: Vec<Seen> = vec![(0, datagram(false, &long_header(0xc0, 1, 1200)))];
    for (n, (first, _)) in (1..).zip(types) {
        seen.push((n, datagram(true, &long_header(first, 1, 1200))));
    }
    seen.push((9, datagram(false, &[0x45; 700])));
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("quic.pcap");
    std::fs::write(&path, file(&seen)).expect("to be written");
    let done = Command::new("tshark")
        .arg("-nr")
        .arg(&path)
        .args(["-Y", "udp", "-T", "fields", "-E", "occurrence=f"])
        .args(["-e", "udp.srcport", "-e", "udp.length"])
        .args(["-e", "quic.version", "-e", "quic.long.packet_type"])
        .output()
        .expect("tshark; `apt install tshark`");
    let text = String::from_utf8_lossy(&done.stdout);
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(rows.len(), seen.len(), "{text}");
    let analysis = analysis(&seen);
    let [there, back] = both(&analysis);
    for (row, port) in [(there, "12345"), (back, "443")] {
        let own = || rows.iter().filter(|fields| fields[0] == port);
        let lengths = own().map(|fields| fields[1].parse::<u64>().expect("a length") - 8);
        assert_eq!(row.packets, own().count() as u64);
        assert_eq!(row.total_bytes, lengths.sum::<u64>());
        let of = |kind: &str| {
            let long = own().filter(|fields| fields[2] == "0x00000001" && fields[3] == kind);
            Some(long.count() as u64)
        };
        assert_eq!(row.quic_initial_packets, of("0"), "{text}");
        assert_eq!(row.quic_zero_rtt_packets, of("1"), "{text}");
        assert_eq!(row.quic_handshake_packets, of("2"), "{text}");
    }
}

/// Data from 192.0.2.1:12345 to port 80, from that byte on.
fn data(from: u32, bytes: u16) -> Vec<u8> {
    Segment::new(ACK, 1 + from, 1).data(bytes).ipv4()
}

#[test]
fn time_begins_with_the_first_packet_whatever_it_carries() {
    let analysis = analysis(&[
        (1000, ipv4(1, &[8; 64])),
        (1500, datagram(false, &[0; 1000])),
        (2000, data(0, 1000)),
        (3000, data(1000, 1000)),
        (4000, ipv4(1, &[0; 64])),
    ]);
    assert_eq!(analysis.started_ns, 1_000_000_000);
    assert!((analysis.lasted_s - 3.0).abs() < 1e-12);
    let whole = analysis.together.whole.expect("two flows");
    // Borders lie on a grid.
    assert!((0.4..=0.5).contains(&whole.from_s), "{whole:?}");
    assert!((2.0..=2.1).contains(&whole.to_s), "{whole:?}");
}

#[test]
fn what_is_earlier_than_the_first_packet_counts_as_simultaneous() {
    let analysis = analysis(&[
        (1000, ipv4(1, &[8; 64])),
        (500, datagram(false, &[0; 10])),
        (1100, datagram(false, &[0; 10])),
    ]);
    let [there, _] = both(&analysis);
    assert_eq!(there.started_ns, 1_000_000_000);
    assert!((there.elapsed_s - 0.1).abs() < 1e-12);
    let told: Vec<&str> = analysis.problems.iter().map(|p| p.code).collect();
    assert_eq!(told, ["time-backwards"]);
}

#[test]
fn conversations_are_flows_beside_connections() {
    let mut seen: Vec<Seen> = (0..10)
        .flat_map(|n| {
            [
                (100 * n, data(1000 * n as u32, 1000)),
                (100 * n + 50, datagram(false, &[0; 500])),
            ]
        })
        .collect();
    seen.push((990, datagram(true, &[0; 4])));
    let file =
        CaptureFile::from_reader(Cursor::new(file(&seen)), Path::new("-")).expect("a capture");
    let interval = Some((Time::from_millis(200), Time::from_millis(451)));
    let options = Options {
        interval,
        ..Options::default()
    };
    let analysis = analyze_file(file, options, &mut ());
    let together = &analysis.together;
    assert_eq!((together.flows, together.left_out), (2, 0));
    let whole = together.whole.as_ref().expect("two flows");
    let flows: Vec<_> = whole.flows.iter().collect();
    let told: Vec<_> = flows
        .iter()
        .map(|flow| (flow.connection, flow.conversation, flow.sender, flow.bytes))
        .collect();
    assert_eq!(told, [(Some(1), None, 0, 10_000), (None, Some(1), 0, 5000)]);
    // 15^2 / (2 (10^2 + 5^2))
    assert_eq!(whole.jain, Some(0.9));
    assert_eq!(flows[1].share, Some(1.0 / 3.0));
    let asked = together.asked.as_ref().expect("it is in the capture");
    let bytes: Vec<u64> = asked.flows.iter().map(|flow| flow.bytes).collect();
    assert_eq!(bytes, [3000, 1500]);
    assert_eq!(asked.again_or_late_packets, Some(0));
    assert_eq!(both(&analysis).map(|row| row.interval_bytes), [1500, 0]);
}

#[test]
fn what_was_sent_again_in_the_interval_asked_for_is_counted() {
    let again = [(0, 0), (100, 1000), (200, 1000), (300, 1000), (400, 2000)];
    let seen: Vec<Seen> = again.map(|(at, from)| (at, data(from, 1000))).into();
    let file =
        CaptureFile::from_reader(Cursor::new(file(&seen)), Path::new("-")).expect("a capture");
    let options = Options {
        interval: Some((Time::from_millis(250), Time::from_millis(350))),
        ..Options::default()
    };
    let together = analyze_file(file, options, &mut ()).together;
    let asked = together.asked.expect("it is in the capture");
    assert_eq!(asked.again_or_late_packets, Some(1));
    let whole = together.whole.expect("a flow");
    assert_eq!(whole.again_or_late_packets, Some(2));
}

#[test]
fn nothing_is_said_of_losses_where_all_is_udp() {
    let together =
        analysis(&[(0, datagram(false, &[0; 9])), (9, datagram(false, &[0; 9]))]).together;
    let whole = together.whole.expect("a flow");
    assert_eq!(whole.again_or_late_packets, None);
}

/// The RTT of the handshake in either row.
fn handshake_rtt(seen: &[Seen]) -> [Option<f64>; 2] {
    both(&analysis(seen)).map(|row| row.quic_handshake_rtt_s)
}

#[test]
fn the_handshake_of_quic_times_the_path_to_the_server() {
    let initial = || long_header(0xc0, 1, 1200);
    let hello = |at| (at, datagram(false, &initial()));
    let answer = |at| (at, datagram(true, &initial()));
    assert_eq!(handshake_rtt(&[hello(0), answer(40)]), [Some(0.04), None]);
    // A ClientHello of two datagrams: which was answered makes little difference.
    assert_eq!(
        handshake_rtt(&[hello(0), hello(2), answer(40), answer(41)]),
        [Some(0.04), None]
    );
    // Sent again: the answer may be to either.
    assert_eq!(
        handshake_rtt(&[hello(0), hello(999), answer(1040)]),
        [None, None]
    );
    // What begins in the middle, or is answered by what is no long header.
    let short = |at| (at, datagram(true, &[0x41; 100]));
    assert_eq!(
        handshake_rtt(&[short(0), hello(10), answer(50)]),
        [None, None]
    );
    assert_eq!(
        handshake_rtt(&[hello(0), short(10), answer(50)]),
        [None, None]
    );
    // A Retry is an answer, and what comes later changes nothing.
    let retry = (30, datagram(true, &long_header(0xf0, 1, 100)));
    assert_eq!(
        handshake_rtt(&[hello(0), retry, hello(31), answer(90)]),
        [Some(0.03), None]
    );
}
