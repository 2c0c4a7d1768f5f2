//! Damaged files: what follows the damage is found again, and what lies between is told in bytes.

#[expect(dead_code, reason = "shared by several tests")]
mod wire;

use cclab_analyze::Analysis;
use wire::{ACK, Segment, interface, packet, pcap, read, section};

const PACKETS: u32 = 40;
/// Bytes of a packet.
const PACKET: usize = 20 + 20 + 100;
/// Bytes of a record of pcap, and of a block of pcapng with a packet.
const RECORD: usize = 16 + PACKET;
const BLOCK: usize = 32 + PACKET;

/// Packets of 100 bytes of payload, one after the other.
fn packets() -> Vec<(u64, Vec<u8>)> {
    let of = |n: u32| Segment::new(ACK, 1 + n * 100, 1).data(100).ipv4();
    let timed = |n: u32| (1_600_000_000_000 + u64::from(n), of(n));
    (0..PACKETS).map(timed).collect()
}

fn pcap_file() -> Vec<u8> {
    pcap(0xa1b2_c3d4, false, 101, &packets())
}

fn pcapng_file() -> Vec<u8> {
    let mut file = section(false);
    file.extend(interface(101, false, &[(9, &[3])]));
    for (ms, data) in packets() {
        file.extend(packet(0, false, ms, &data));
    }
    file
}

/// Where the record of packet `n` begins.
fn record(n: usize) -> usize {
    24 + n * RECORD
}

fn block(n: usize) -> usize {
    pcapng_file().len() - (PACKETS as usize - n) * BLOCK
}

fn unique_bytes(analysis: &Analysis) -> u64 {
    analysis
        .connections
        .first()
        .map_or(0, |row| row.unique_bytes)
}

/// Checks that all but `lost` packets of `file` are read, and that what is told begins so.
fn assert_lost(what: &str, file: &[u8], lost: u64, told: &[(&str, u64)], bytes: Option<u64>) {
    let analysis = read(file).expect(what);
    let codes: Vec<(&str, u64)> = analysis
        .problems
        .iter()
        .map(|problem| (problem.code, problem.count))
        .collect();
    assert_eq!(codes, told, "{what}");
    let kept = u64::from(PACKETS) - lost;
    assert_eq!(unique_bytes(&analysis), kept * 100, "{what}");
    if let Some(bytes) = bytes {
        let message = &analysis.problems[0].message;
        let ending = format!("; {bytes} bytes were passed over");
        assert!(message.ends_with(&ending), "{what}: {message}");
    }
}

const LOST_TRACK: [(&str, u64); 1] = [("lost-track", 1)];

#[test]
fn the_files_are_whole_before_they_are_damaged() {
    assert_lost("pcap", &pcap_file(), 0, &[], None);
    assert_lost("pcapng", &pcapng_file(), 0, &[], None);
}

#[test]
fn a_record_header_of_nonsense_is_passed_over() {
    let mut file = pcap_file();
    file[record(7)..record(7) + 16].fill(0xff);
    assert_lost("header", &file, 1, &LOST_TRACK, Some(RECORD as u64));
    // The first record has none before it, and the last none behind it.
    for n in [0, PACKETS as usize - 1] {
        let mut file = pcap_file();
        file[record(n)..record(n) + 16].fill(0xff);
        assert_lost("at an end", &file, 1, &LOST_TRACK, Some(RECORD as u64));
    }
    let mut file = pcap_file();
    file[record(7)..record(12) - 20].fill(0);
    assert_lost("zeros", &file, 5, &LOST_TRACK, Some(5 * RECORD as u64));
}

#[test]
fn bytes_that_were_added_or_lost_shift_one_record_only() {
    // As by a transfer that takes the file for text.
    let mut file = pcap_file();
    let inside = record(7) + 16 + 90;
    file.insert(inside, b'\r');
    assert_lost("added", &file, 0, &LOST_TRACK, None);
    let mut file = pcap_file();
    file.remove(inside);
    assert_lost("lost", &file, 0, &LOST_TRACK, None);
    let mut file = pcap_file();
    file.drain(record(7) + 100..record(9) + 60);
    // The IP header of packet 7 is there, and its length.
    assert_lost("many lost", &file, 2, &LOST_TRACK, None);
}

#[test]
fn a_wrong_length_hides_no_other_record() {
    for (what, length) in [
        ("longer", PACKET as u32 + 1000),
        ("shorter", 30),
        ("beyond the end", 100_000),
        ("beyond all measure", u32::MAX),
    ] {
        let mut file = pcap_file();
        for at in [record(7) + 8, record(7) + 12] {
            file[at..at + 4].copy_from_slice(&length.to_le_bytes());
        }
        let analysis = read(&file).expect(what);
        let found = unique_bytes(&analysis);
        assert!(
            found >= u64::from(PACKETS - 1) * 100,
            "{what}: {found} bytes found"
        );
        assert!(
            analysis.problems.iter().any(|p| p.code == "lost-track"),
            "{what}"
        );
    }
}

#[test]
fn what_is_odd_in_every_record_is_no_damage() {
    let change = |at: usize, value: u32| {
        let mut file = pcap_file();
        for n in 0..PACKETS as usize {
            let at = record(n) + at;
            file[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        file
    };
    // Nanoseconds where microseconds are meant; less on the wire than kept.
    assert_lost("fractions", &change(4, 999_999_999), 0, &[], None);
    assert_lost("lengths", &change(12, 60), 0, &[], None);
    assert_lost("no length", &change(12, 0), 0, &[], None);
    // A clock that was set in the middle.
    let mut file = pcap_file();
    for n in 20..PACKETS as usize {
        file[record(n)..record(n) + 4].copy_from_slice(&[0, 0, 0, 0x10]);
    }
    assert_lost("clock", &file, 0, &[("time-backwards", 20)], None);
}

#[test]
fn what_is_left_at_the_end_is_cut_off() {
    for cut in [1, PACKET - 1, PACKET, RECORD - 1] {
        let file = pcap_file();
        let left = (RECORD - cut) as u64;
        let told = [("cut-off", 1)];
        let bytes = (left > 1).then_some(left);
        assert_lost("pcap", &file[..file.len() - cut], 1, &told, bytes);
    }
    for cut in [1, PACKET, BLOCK - 1] {
        let file = pcapng_file();
        assert_lost(
            "pcapng",
            &file[..file.len() - cut],
            1,
            &[("cut-off", 1)],
            None,
        );
    }
}

#[test]
fn a_block_whose_lengths_differ_is_passed_over() {
    let mut file = pcapng_file();
    let end = block(8) - 4;
    file[end] ^= 1;
    assert_lost("pcapng", &file, 1, &LOST_TRACK, Some(BLOCK as u64));
    for length in [0u32, 13, 5000, u32::MAX - 3] {
        let mut file = pcapng_file();
        let at = block(7) + 4;
        file[at..at + 4].copy_from_slice(&length.to_le_bytes());
        assert_lost("length", &file, 1, &LOST_TRACK, Some(BLOCK as u64));
    }
    let mut file = pcapng_file();
    file.drain(block(7) + 50..block(9) + 61);
    assert_lost("bytes lost", &file, 3, &LOST_TRACK, None);
    // A section in the other byte order is found too.
    let mut file = pcapng_file();
    let mut second = section(true);
    second.extend(interface(101, true, &[(9, &[3])]));
    let next = Segment::new(ACK, 1 + PACKETS * 100, 1).data(100).ipv4();
    second.extend(packet(0, true, 1_600_000_001_000, &next));
    file.truncate(block(20) + 40);
    file.extend(second);
    let analysis = read(&file).expect("two sections");
    assert_eq!(unique_bytes(&analysis), 2100);
}

#[test]
fn damage_over_more_than_is_looked_at_at_once_is_passed_over() {
    for fill in [0u8, 0xff, 1] {
        let (mut one, mut other) = (pcap_file(), pcapng_file());
        let noise = vec![fill; 3_000_001];
        one.splice(record(7)..record(7), noise.iter().copied());
        other.splice(block(7)..block(7), noise.iter().copied());
        let bytes = Some(noise.len() as u64);
        assert_lost("pcap", &one, 0, &LOST_TRACK, bytes);
        assert_lost("pcapng", &other, 0, &LOST_TRACK, bytes);
    }
}

#[test]
fn compressed_files_that_end_early_or_are_damaged_give_what_they_have() {
    let plain = pcap_file();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    std::io::Write::write_all(&mut gzip, &plain).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let analysis = read(&gzip[..gzip.len() - 1000]).expect("gzip");
    assert_eq!(analysis.problems[0].code, "cut-off");
    assert!(analysis.tcp_packets >= 30, "{}", analysis.tcp_packets);
    // zstd gives whole blocks of 128 KiB.
    let long: Vec<(u64, Vec<u8>)> = packets().into_iter().cycle().take(4000).collect();
    let long = pcap(0xa1b2_c3d4, false, 101, &long);
    let zstd = zstd::encode_all(&long[..], 1).expect("memory");
    let analysis = read(&zstd[..zstd.len() - 10]).expect("zstd");
    assert_eq!(analysis.problems[0].code, "cut-off");
    assert!(analysis.tcp_packets >= 3000, "{}", analysis.tcp_packets);
    // The checksum at the end tells of damage in the middle.
    let mut bad = gzip.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 0x40;
    let analysis = read(&bad).expect("gzip");
    assert_eq!(analysis.problems.last().map(|p| p.code), Some("unreadable"));
}
