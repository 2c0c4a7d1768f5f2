//! Captures as Wireshark's and tcptrace's eyes see them. Both must be installed.

use std::path::Path;
use std::process::Command;

use cclab_packet::{Ecn, Packet, flags};
use cclab_trace::schema::RunSummary;
use cclab_trace::{Event, Probe, Recorder, Recording, WireOptions, capture_file_name};
use cclab_units::Time;

const MSS: u16 = 1460;
/// Payload of a segment that carries timestamps.
const PAYLOAD: u16 = 1448;
/// Close to the end of the sequence space, so that the transfer wraps around it.
const ISN: u32 = u32::MAX - 3000;
const PEER_ISN: u32 = 77;
const SEGMENTS: u32 = 10;

/// A segment of the sender.
fn data(flow: u32) -> Packet {
    Packet {
        flow,
        window: 512,
        flags: flags::ACK,
        ecn: Ecn::Ect0,
        ..Packet::default()
    }
}

/// An acknowledgement of the receiver.
fn ack(flow: u32) -> Packet {
    Packet {
        flow,
        window: 400,
        flags: flags::ACK,
        backward: true,
        ..Packet::default()
    }
}

/// The sender's end of a connection: handshake, ten segments of which the third is lost and
/// sent again after SACKs, FIN both ways. Times in microseconds.
fn connection(flow: u32) -> Vec<(u64, Packet)> {
    let (first, peer) = (ISN.wrapping_add(1), PEER_ISN + 1);
    let offset = |segment: u32| first.wrapping_add(segment * u32::from(PAYLOAD));
    let segment = |n: u32, at: u32| Packet {
        seq: offset(n),
        ack: peer,
        tsval: at,
        tsecr: 6,
        payload: PAYLOAD,
        ..data(flow)
    };
    let acked = |n: u32, at: u32| Packet {
        seq: peer,
        ack: offset(n),
        tsval: at,
        tsecr: 5,
        ..ack(flow)
    };

    let syn = Packet {
        seq: ISN,
        tsval: 5,
        wscale_plus_one: 8,
        flags: flags::SYN | flags::ECE | flags::CWR,
        ecn: Ecn::NotEct,
        ..data(flow)
    };
    let syn_ack = Packet {
        seq: PEER_ISN,
        ack: first,
        tsval: 6,
        tsecr: 5,
        wscale_plus_one: 10,
        flags: flags::SYN | flags::ACK,
        ..ack(flow)
    };
    let mut packets = vec![
        (1, syn),
        (20_001, syn_ack),
        (
            20_001,
            Packet {
                seq: first,
                ack: peer,
                tsval: 25,
                tsecr: 6,
                ..data(flow)
            },
        ),
    ];
    for n in 0..SEGMENTS {
        packets.push((20_100 + u64::from(n), segment(n, 25)));
    }
    packets.push((40_100, acked(2, 45)));
    for n in 3..SEGMENTS {
        let mut duplicate = acked(2, 45);
        duplicate.sack_len = 1;
        duplicate.sack[0] = (offset(3), offset(n + 1));
        if n == 9 {
            duplicate.sack = [
                (offset(8), offset(10)),
                (offset(3), offset(5)),
                (offset(6), offset(7)),
                (0, 0),
            ];
            duplicate.sack_len = 3;
        }
        packets.push((40_100 + u64::from(n), duplicate));
    }
    packets.push((
        40_200,
        Packet {
            notes: cclab_packet::notes::RETRANSMISSION,
            ..segment(2, 45)
        },
    ));
    packets.push((60_200, acked(SEGMENTS, 65)));
    let fin = flags::FIN | flags::ACK;
    packets.push((
        60_300,
        Packet {
            seq: offset(SEGMENTS),
            ack: peer,
            tsval: 65,
            tsecr: 65,
            flags: fin,
            ..data(flow)
        },
    ));
    let end = offset(SEGMENTS).wrapping_add(1);
    packets.push((
        80_300,
        Packet {
            seq: peer,
            ack: end,
            tsval: 85,
            flags: fin,
            ..ack(flow)
        },
    ));
    packets.push((
        80_301,
        Packet {
            seq: end,
            ack: peer + 1,
            tsval: 85,
            ..data(flow)
        },
    ));
    packets
}

/// Records [`connection`] for `flows` flows, one after the other.
fn capture(dir: &Path, snaplen: u32, flows: u32) -> std::path::PathBuf {
    let recording = Recording {
        capture: vec!["bulk.sender".into()],
        snaplen,
        wire: vec![
            WireOptions {
                mss: MSS,
                sack_permitted: true
            };
            flows as usize
        ],
        ..Recording::default()
    };
    let mut recorder = Recorder::create(dir, recording).expect("a directory");
    assert!(recorder.wants_packets(Time::ZERO));
    for flow in 0..flows {
        for (at, packet) in connection(flow) {
            let now = Time::from_nanos((u64::from(flow) * 100_000 + at) * 1000 + 7);
            recorder.record(now, Event::Packet(0, &packet));
        }
    }
    recorder
        .finish(&RunSummary::default())
        .expect("room on the disk");
    dir.join(capture_file_name("bulk.sender"))
}

/// The standard output of a tool that must be installed and succeed.
fn run(tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool)
        .args(arguments)
        .output()
        .unwrap_or_else(|e| panic!("{tool} must be installed for this test: {e}"));
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{tool} {arguments:?}: {out}{err}");
    out.into_owned()
}

/// The given fields of each packet as tshark dissects it, checksums verified.
fn fields(file: &Path, fields: &[&str], filter: &str) -> Vec<Vec<String>> {
    let file = file.to_str().expect("a UTF-8 path");
    let mut arguments = vec!["-n", "-r", file, "-T", "fields", "-E", "separator=|"];
    arguments.extend([
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "ip.check_checksum:TRUE",
    ]);
    arguments.extend(["-o", "tcp.relative_sequence_numbers:FALSE", "-Y", filter]);
    arguments.extend(fields.iter().flat_map(|field| ["-e", field]));
    let text = run("tshark", &arguments);
    text.lines()
        .map(|line| line.split('|').map(str::to_owned).collect())
        .collect()
}

/// tshark's word for a right checksum.
const GOOD: &str = "1";

#[test]
fn tshark_finds_right_checksums_lengths_times_and_no_malformed_packet() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = capture(dir.path(), 0, 3);
    let names = [
        "ip.checksum.status",
        "tcp.checksum.status",
        "frame.len",
        "ip.len",
        "tcp.len",
    ];
    let rows = fields(&file, &names, "tcp");
    let packets: Vec<_> = (0..3).flat_map(connection).collect();
    assert_eq!(rows.len(), packets.len());
    for (row, (_, packet)) in rows.iter().zip(&packets) {
        assert_eq!(
            (row[0].as_str(), row[1].as_str()),
            (GOOD, GOOD),
            "{packet:?}"
        );
        assert_eq!(row[2], row[3]);
        assert_eq!(row[4], packet.payload.to_string());
    }
    assert_eq!(
        fields(
            &file,
            &["frame.number"],
            "_ws.malformed || tcp.checksum.status == 0"
        )
        .len(),
        0
    );

    let times = fields(&file, &["frame.time_epoch", "frame.interface_name"], "tcp");
    assert_eq!(times[0], ["0.000001007", "bulk.sender"]);
    assert_eq!(times[1], ["0.020001007", "bulk.sender"]);
}

#[test]
fn tshark_reads_every_option() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = capture(dir.path(), 0, 1);
    let names = [
        "tcp.options.mss_val",
        "tcp.options.wscale.shift",
        "tcp.hdr_len",
    ];
    let rows = fields(&file, &names, "tcp.flags.syn == 1 && tcp.options.sack_perm");
    assert_eq!(rows, [["1460", "7", "40"], ["1460", "9", "40"]]);

    let rows = fields(
        &file,
        &["tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr"],
        "tcp",
    );
    for (row, (_, packet)) in rows.iter().zip(connection(0)) {
        assert_eq!(*row, [packet.tsval.to_string(), packet.tsecr.to_string()]);
    }

    let names = ["tcp.options.sack_le", "tcp.options.sack_re", "tcp.hdr_len"];
    let rows = fields(&file, &names, "tcp.options.sack.count == 3");
    let packets = connection(0);
    let (_, expected) = packets
        .iter()
        .find(|(_, p)| p.sack_len == 3)
        .expect("three blocks");
    let edges = |edge: fn(&(u32, u32)) -> u32| {
        expected
            .sack_blocks()
            .iter()
            .map(|b| edge(b).to_string())
            .collect::<Vec<_>>()
            .join(",")
    };
    assert_eq!(rows, [[edges(|b| b.0), edges(|b| b.1), "60".to_owned()]]);

    let rows = fields(
        &file,
        &["ip.dsfield.ecn", "tcp.flags.ece"],
        "tcp.seq == 4294964296",
    );
    assert_eq!(rows[0], ["2", "0"], "data is ECT(0)");
    let syn = fields(
        &file,
        &["ip.dsfield.ecn", "tcp.flags.ece"],
        "tcp.seq == 4294964295",
    );
    assert_eq!(syn[0], ["0", "1"], "a SYN that offers ECN");
}

#[test]
fn tshark_sees_one_retransmission_and_no_gap() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = capture(dir.path(), 0, 1);
    let retransmitted = fields(&file, &["frame.number"], "tcp.analysis.retransmission");
    assert_eq!(retransmitted.len(), 1);
    assert_eq!(
        fields(&file, &["frame.number"], "tcp.analysis.lost_segment").len(),
        0
    );
    assert_eq!(
        fields(&file, &["frame.number"], "tcp.analysis.duplicate_ack").len(),
        7
    );
}

#[test]
fn a_snap_length_cuts_the_bytes_and_nothing_else() {
    let (cut, whole) = (
        tempfile::tempdir().expect("a"),
        tempfile::tempdir().expect("b"),
    );
    let (cut, whole) = (capture(cut.path(), 96, 1), capture(whole.path(), 0, 1));
    let names = [
        "frame.len",
        "frame.time_epoch",
        "ip.checksum",
        "tcp.checksum",
        "tcp.seq",
    ];
    assert_eq!(fields(&cut, &names, "tcp"), fields(&whole, &names, "tcp"));
    let lengths = fields(&cut, &["frame.cap_len", "frame.len"], "tcp.len > 0");
    assert_eq!(lengths.len(), SEGMENTS as usize + 1);
    assert!(
        lengths.iter().all(|row| *row == ["96", "1500"]),
        "{lengths:?}"
    );
}

#[test]
fn a_snap_length_inside_the_headers_is_possible() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = capture(dir.path(), 40, 1);
    let lengths = fields(
        &file,
        &["frame.cap_len", "frame.len"],
        "tcp.dstport == 5001",
    );
    assert!(lengths.iter().all(|row| row[0] == "40"), "{lengths:?}");
}

#[test]
fn tcptrace_reads_the_connection() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = capture(dir.path(), 0, 1);
    let classic = dir.path().join("classic.pcap");
    let (from, to) = (
        file.to_str().expect("UTF-8"),
        classic.to_str().expect("UTF-8"),
    );
    run("editcap", &["-F", "pcap", from, to]);
    let report = run("tcptrace", &["-l", "-n", to]);
    let words = |name: &str| {
        let line = report
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no line {name:?} in {report}"));
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert!(report.contains("complete conn: yes"), "{report}");
    assert!(
        report.contains("10.0.0.1:40000") && report.contains("10.1.0.1:5001"),
        "{report}"
    );
    let bytes = (SEGMENTS * u32::from(PAYLOAD)).to_string();
    assert_eq!(words("unique bytes sent:")[3], bytes);
    assert_eq!(words("rexmt data pkts:")[3], "1");
    assert_eq!(words("rexmt data bytes:")[3], PAYLOAD.to_string());
    assert_eq!(words("SYN/FIN pkts sent:")[3], "1/1");
    assert_eq!(words("req 1323 ws/ts:")[3], "Y/Y");
    assert_eq!(words("adv wind scale:")[3], "7");
    assert_eq!(words("req sack:")[2], "Y");
    assert_eq!(words("mss requested:")[2], MSS.to_string());
}
