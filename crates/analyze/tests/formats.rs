//! Every format, link layer and IP header that is read gives the same connection.

#[expect(dead_code, reason = "shared by several tests")]
mod wire;

use cclab_analyze::Analysis;
use cclab_trace::captured::Fault;
use wire::seeds::{ipv4, link_layers, tunnelled, udp};
use wire::{
    ACK, SYN, Seen, Segment, block, interface, obsolete_packet, order, packet, pcap, read, section,
    simple_packet,
};

const ETHERNET: u32 = 1;
const RAW: u32 = 101;

/// A SYN, its answer after 20 ms, a segment of 500 bytes and its acknowledgement after 30 ms.
fn segments() -> Vec<(u64, Segment)> {
    vec![
        (1000, Segment::new(SYN, 10, 0)),
        (1020, Segment::new(SYN | ACK, 70, 11).back()),
        (1021, Segment::new(ACK, 11, 71).data(500)),
        (1051, Segment::new(ACK, 71, 511).back()),
    ]
}

/// Those with the link layer that `framed` gives them.
fn packets(framed: impl Fn(&Segment) -> Vec<u8>) -> Vec<Seen> {
    let segments = segments();
    segments.iter().map(|(ms, s)| (*ms, framed(s))).collect()
}

fn after(header: &[u8], rest: Vec<u8>) -> Vec<u8> {
    [header, &rest].concat()
}

/// Checks that `file` holds the connection, and nothing that was skipped.
fn assert_whole(what: &str, file: &[u8]) -> Analysis {
    let analysis = read(file).expect(what);
    assert_eq!(analysis.problems, [], "{what}");
    assert_eq!((analysis.packets, analysis.tcp_packets), (4, 4), "{what}");
    assert_eq!(analysis.connections.len(), 2, "{what}");
    let [there, back] = [&analysis.connections[0], &analysis.connections[1]];
    assert_eq!((there.source_port, back.source_port), (4000, 80), "{what}");
    assert_eq!((there.unique_bytes, back.unique_bytes), (500, 0), "{what}");
    assert_eq!(there.elapsed_s, 0.051, "{what}");
    assert_eq!(there.started_ns, 1_000_000_000, "{what}");
    assert_eq!(
        (there.rtt_samples, there.rtt_min_s, there.rtt_max_s),
        (2, Some(0.02), Some(0.03)),
        "{what}"
    );
    analysis
}

#[test]
fn both_byte_orders_and_both_resolutions_of_pcap() {
    for magic in [0xa1b2_c3d4, 0xa1b2_3c4d] {
        for big in [false, true] {
            let file = pcap(magic, big, RAW, &packets(Segment::ipv4));
            let analysis = assert_whole(&format!("{magic:x} {big}"), &file);
            assert_eq!(analysis.format, "pcap");
        }
    }
}

#[test]
fn the_modified_pcap_of_kuznetzov_has_longer_headers() {
    for big in [false, true] {
        let file = pcap(0xa1b2_cd34, big, RAW, &packets(Segment::ipv4));
        assert_whole(&format!("modified, big endian: {big}"), &file);
    }
}

#[test]
fn every_link_layer() {
    for (what, link, header) in link_layers() {
        let framed = packets(|s| after(&header, s.ipv4()));
        assert_whole(what, &pcap(0xa1b2_c3d4, false, link, &framed));
    }
}

#[test]
fn every_tunnel() {
    let ways = tunnelled(&[]).len();
    for way in 0..ways {
        let inside = packets(|s| tunnelled(&s.ipv4()).swap_remove(way));
        let file = pcap(0xa1b2_c3d4, false, RAW, &inside);
        assert_whole(&format!("tunnel {way}"), &file);
    }
    // Tunnels in tunnels end somewhere.
    let mut deep = segments()[2].1.ipv4();
    for _ in 0..20 {
        deep = ipv4(4, &deep);
    }
    let analysis = read(&pcap(0xa1b2_c3d4, false, RAW, &[(0, deep)])).expect("a capture");
    assert_eq!(analysis.problems[0].code, "bad-header");
    // Other packets of UDP, and other versions of GRE, are none.
    let others = [(0, ipv4(17, &udp(53, &[]))), (1, ipv4(47, &[0, 1, 8, 0]))];
    let analysis = read(&pcap(0xa1b2_c3d4, false, RAW, &others)).expect("a capture");
    assert_eq!((analysis.packets, analysis.problems), (2, vec![]));
}

#[test]
fn ipv4_options_and_ipv6_extension_headers() {
    let options = |s: &Segment| s.ipv4_with(&[1; 8]);
    assert_whole("options", &pcap(0xa1b2_c3d4, false, RAW, &packets(options)));
    // Hop-by-hop options of 8 bytes, then destination options of 16, then TCP.
    let mut extensions = vec![60, 0, 1, 4, 0, 0, 0, 0];
    extensions.extend([6, 1, 1, 12]);
    extensions.extend([0; 12]);
    let extended = |s: &Segment| s.ipv6_with(0, &extensions);
    let file = pcap(0xa1b2_c3d4, false, RAW, &packets(extended));
    let analysis = assert_whole("extension headers", &file);
    assert_eq!(analysis.connections[0].source, "fd00::1");
    let plain = |s: &Segment| s.ipv6_with(6, &[]);
    let ethernet = |s: &Segment| after(&[&[0; 12][..], &[0x86, 0xdd]].concat(), plain(s));
    let file = pcap(0xa1b2_c3d4, false, ETHERNET, &packets(ethernet));
    assert_whole("IPv6 on Ethernet", &file);
}

#[test]
fn padding_of_short_ethernet_frames_is_no_payload() {
    let padded = |s: &Segment| {
        let mut frame = after(&[&[0; 12][..], &[0x08, 0]].concat(), s.ipv4());
        frame.resize(frame.len().max(60), 0xaa);
        frame
    };
    assert_whole(
        "padding",
        &pcap(0xa1b2_c3d4, false, ETHERNET, &packets(padded)),
    );
}

#[test]
fn interfaces_of_pcapng_have_clocks_and_link_layers_of_their_own() {
    for big in [false, true] {
        // Milliseconds, 2^-10 s, and microseconds (the default) with an offset of one second.
        let offset: [u8; 8] = if big {
            1i64.to_be_bytes()
        } else {
            1i64.to_le_bytes()
        };
        let mut file = section(big);
        file.extend(interface(101, big, &[(2, b"first"), (9, &[3])]));
        file.extend(interface(1, big, &[(9, &[0x80 | 10])]));
        file.extend(interface(101, big, &[(14, &offset)]));
        // What is not known has a length, and is passed over.
        file.extend(block(0x0bad_cafe, big, b"whatever it is"));
        let times = [(0, 1000), (2, 20_000), (2, 21_000), (0, 1051)];
        for ((interface, units), (_, segment)) in times.iter().zip(segments()) {
            file.extend(packet(*interface, big, *units, &segment.ipv4()));
        }
        let analysis = assert_whole(&format!("big endian: {big}"), &file);
        assert_eq!(analysis.format, "pcapng");

        // A second section in the other byte order forgets the interfaces of the first.
        let mut second = section(!big);
        second.extend(interface(1, !big, &[(9, &[0x80 | 10])]));
        let frame = after(&[&[0; 12][..], &[0x08, 0]].concat(), segments()[3].1.ipv4());
        second.extend(packet(0, !big, 2048, &frame));
        second.extend(packet(1, !big, 2048, &frame));
        let analysis = read(&[file, second].concat()).expect("two sections");
        assert_eq!(analysis.connections[0].elapsed_s, 1.0);
        assert_eq!(analysis.problems.len(), 1);
        assert_eq!(analysis.problems[0].code, "unknown-interface");
    }
}

#[test]
fn obsolete_packet_blocks_are_read() {
    for big in [false, true] {
        let mut file = section(big);
        file.extend(interface(101, big, &[(9, &[3])]));
        for (ms, segment) in segments() {
            file.extend(obsolete_packet(0, big, ms, &segment.ipv4()));
        }
        assert_whole(&format!("big endian: {big}"), &file);
    }
}

#[test]
fn packets_without_a_time_count_at_that_of_the_one_before_and_are_told() {
    for big in [false, true] {
        let [first, second, third, fourth] = segments().try_into().expect("four");
        let mut file = section(big);
        // No snap length (0), and milliseconds.
        file.extend(interface(101, big, &[(9, &[3])]));
        file.extend(packet(0, big, 1000, &first.1.ipv4()));
        file.extend(simple_packet(big, &second.1.ipv4()));
        file.extend(simple_packet(big, &third.1.ipv4()));
        file.extend(packet(0, big, 1051, &fourth.1.ipv4()));
        let analysis = read(&file).expect("a capture");
        assert_eq!(analysis.tcp_packets, 4);
        assert_eq!(analysis.connections[0].unique_bytes, 500);
        assert_eq!(analysis.connections[0].elapsed_s, 0.051);
        let told = &analysis.problems;
        assert_eq!((told.len(), told[0].code, told[0].count), (1, "no-time", 2));
    }
    // The snap length cuts simple packets, which do not say how many bytes they have.
    let cut = segments()[2].1.ipv4();
    let mut short = interface(101, false, &[]);
    short[12..16].copy_from_slice(&60u32.to_le_bytes());
    let mut file = [section(false), short].concat();
    let kept = [&order(cut.len() as u32, false)[..], &cut[..60], &[0xee; 3]].concat();
    file.extend(block(3, false, &kept));
    let analysis = read(&file).expect("a capture");
    assert_eq!(analysis.connections[0].unique_bytes, 500);
}

#[test]
fn compressed_files_are_read_as_they_are() {
    let plain = pcap(0xa1b2_c3d4, false, RAW, &packets(Segment::ipv4));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &plain).expect("memory");
    let gzip = gzip.finish().expect("memory");
    assert_eq!(assert_whole("gzip", &gzip).compression, Some("gzip"));
    let zstd = zstd::encode_all(&plain[..], 1).expect("memory");
    assert_eq!(assert_whole("zstd", &zstd).compression, Some("zstd"));

    let cut = read(&gzip[..gzip.len() - 12]).expect("a part of a capture");
    assert_eq!(cut.problems[0].code, "cut-off");
}

#[test]
fn a_snap_length_that_cuts_payload_changes_nothing_and_one_that_cuts_options_is_told() {
    let whole = pcap(0xa1b2_c3d4, false, RAW, &packets(Segment::ipv4));
    let mut cut = whole[..24].to_vec();
    for (ms, data) in packets(|s| s.clone().options(&[1; 12]).ipv4()) {
        let kept = &data[..data.len().min(44)];
        let fraction = (ms % 1000) as u32 * 1000;
        for value in [1, fraction, kept.len() as u32, data.len() as u32] {
            cut.extend(order(value, false));
        }
        cut.extend(kept);
    }
    let analysis = read(&cut).expect("a capture");
    let told: Vec<_> = analysis
        .problems
        .iter()
        .map(|p| (p.code, p.count))
        .collect();
    assert_eq!(told, [("options-cut", 4)]);
    let there = &analysis.connections[0];
    assert_eq!((there.unique_bytes, there.rtt_samples), (500, 2));
    assert_eq!((there.window_scaling, there.sack_permitted), (None, None));
}

#[test]
fn packets_before_segmentation_offload_have_the_length_of_the_frame() {
    let unset = |s: &Segment| {
        let mut packet = s.ipv4();
        packet[2..4].fill(0);
        packet
    };
    assert_whole("length 0", &pcap(0xa1b2_c3d4, false, RAW, &packets(unset)));
}

#[test]
fn what_cannot_be_read_is_counted_by_reason_and_the_rest_is_read() {
    let codes = |file: &[u8]| -> Vec<(&str, u64)> {
        let analysis = read(file).expect("a capture");
        let problems = analysis.problems.iter();
        problems
            .map(|problem| (problem.code, problem.count))
            .collect()
    };
    let good = packets(Segment::ipv4);
    let file = |more: Vec<u8>| {
        let all = [good.clone(), vec![(1100, more)]].concat();
        pcap(0xa1b2_c3d4, false, RAW, &all)
    };
    let segment = segments()[2].1.ipv4();
    let changed = |at: usize, to: u8| {
        let mut packet = segment.clone();
        packet[at] = to;
        packet
    };
    assert_eq!(codes(&file(segment[..39].to_vec())), [("header-cut", 1)]);
    assert_eq!(codes(&file(changed(0, 0x43))), [("bad-header", 1)]);
    assert_eq!(codes(&file(changed(6, 0x20))), [("ip-fragment", 1)]);
    assert_eq!(codes(&file(changed(32, 0x40))), [("bad-tcp-header", 1)]);
    // UDP is no fault.
    assert_eq!(codes(&file(changed(9, 17))), []);
    let other = pcap(0xa1b2_c3d4, false, 127, &good);
    assert_eq!(codes(&other), [("unknown-link-layer", 4)]);

    let whole = pcap(0xa1b2_c3d4, false, RAW, &good);
    assert_eq!(codes(&whole[..whole.len() - 1]), [("cut-off", 1)]);
    let absurd = [&whole[..], &[0xff; 16]].concat();
    assert_eq!(codes(&absurd), [("lost-track", 1)]);

    // A block that claims more data than it has, between good ones.
    let mut damaged = section(false);
    damaged.extend(interface(101, false, &[]));
    let mut bad = packet(0, false, 5, &segment);
    bad[20..24].fill(0x7f);
    damaged.extend(packet(0, false, 1, &segments()[0].1.ipv4()));
    damaged.extend(bad);
    damaged.extend(packet(0, false, 9, &segments()[1].1.ipv4()));
    let length = order(segment.len() as u32, false);
    damaged.extend(block(3, false, &[&length[..], &segment].concat()));
    let analysis = read(&damaged).expect("a capture");
    assert_eq!(analysis.tcp_packets, 3);
    assert_eq!(codes(&damaged), [("damaged-block", 1), ("no-time", 1)]);
}

#[test]
fn what_is_no_capture_is_refused_with_its_name() {
    for (bytes, why) in [
        (&b""[..], "it is empty"),
        (b"ab", "it has 2 bytes only"),
        (b"# cclab\n", "it begins with 23 20 63 63"),
        (
            &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0],
            "its first header is cut off",
        ),
    ] {
        let message = read(bytes).expect_err("no capture").to_string();
        assert!(
            message.starts_with("test.pcap: not a packet capture"),
            "{message}"
        );
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn every_fault_stands_on_the_page() {
    let page = include_str!("../../../docs/analyze.md");
    for fault in Fault::ALL {
        let row = format!("\n| `{}` |", fault.code());
        assert!(page.contains(&row), "docs/analyze.md: nothing on {row}");
    }
}
