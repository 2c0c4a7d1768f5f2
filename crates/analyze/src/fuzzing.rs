//! The entrance of fuzzers: whatever the bytes, a capture is refused or analysed, never a panic.

use std::io::Cursor;
use std::num::NonZeroUsize;
use std::path::Path;

use cclab_trace::captured::CaptureFile;
use cclab_units::Time;

use crate::analysis::analyze_on;
use crate::segments::{Datagram, Kind, Sack, Segment};
use crate::{Analysis, Options, Watch, analyze_file};

/// Analyses `data` as a capture file and checks what holds of every analysis.
pub fn fuzz_capture(data: &[u8]) {
    let capture = || CaptureFile::from_reader(Cursor::new(data.to_vec()), Path::new("fuzz"));
    let Ok(file) = capture() else {
        return;
    };
    // Few connections, so that some are given up.
    let options = Options {
        max_connections: NonZeroUsize::new(4).expect("not zero"),
        interval: Some((Time::from_secs(1), Time::from_secs(5))),
    };
    let mut told = Told::default();
    let analysis = analyze_file(file, options, &mut told);
    check(&analysis);
    told.check(&analysis);
    // Several cores count as one does, where all are kept.
    let counted = |parts: usize| {
        let file = capture().expect("it was opened before");
        let analysis = analyze_on(file, Options::default(), parts, &mut ());
        format!("{analysis:?}")
    };
    assert!(counted(3) == counted(1), "in parts it is another analysis");
}

/// Analyses `data` as a conversation, [`STEP`] bytes for a segment: sequence numbers lie near one
/// another, so that what TCP does is met more often than in any bytes.
pub fn fuzz_conversation(data: &[u8]) {
    let (mut time, mut next) = (0, [0u32, 0]);
    // Little endian, microseconds, IPv4 without a link layer.
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    for value in [0u32, 0, 65_535, 228] {
        file.extend(value.to_le_bytes());
    }
    for step in data.as_chunks::<STEP>().0 {
        let &[
            who,
            flags,
            wait_high,
            wait_low,
            seq_high,
            seq_low,
            ..,
            options,
        ] = step;
        let &[
            ..,
            ack_high,
            ack_low,
            window,
            size_high,
            size_low,
            sack_from,
            _,
        ] = step;
        let side = usize::from(who & 1);
        time += u64::from(u16::from_be_bytes([wait_high, wait_low])) * 100;
        let delta = i16::from_be_bytes([seq_high, seq_low]);
        let seq = next[side].wrapping_add_signed(i32::from(delta >> 4) * 100);
        let back = i16::from_be_bytes([ack_high, ack_low]);
        let ack = next[1 - side].wrapping_add_signed(i32::from(back >> 4) * 100);
        let payload = match flags & 0b110 {
            // Neither SYN nor RST.
            0 => u16::from_be_bytes([size_high, size_low]) % 1461,
            _ => 0,
        };
        let options = tcp_options(options, ack, sack_from);
        let header = 20 + options.len() as u16;
        let mut packet = vec![0x45, who >> 6];
        packet.extend((20 + header + payload).to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1 + side as u8]);
        packet.extend([10, 0, 0, 2 - side as u8]);
        // Two pairs of ports.
        let ports = [4000 + u16::from(who >> 1 & 1), 80];
        packet.extend(ports[side].to_be_bytes());
        packet.extend(ports[1 - side].to_be_bytes());
        packet.extend(seq.to_be_bytes());
        packet.extend(ack.to_be_bytes());
        packet.extend([((header / 4) << 4) as u8, flags, window, 0, 0, 0, 0, 0]);
        packet.extend(options);
        let controls = u32::from(flags & 1) + u32::from(flags >> 1 & 1);
        next[side] = seq.wrapping_add(u32::from(payload) + controls);
        let kept = packet.len() as u32;
        let (seconds, fraction) = (time / 1_000_000, time % 1_000_000);
        let wire_len = kept + u32::from(payload);
        for value in [seconds as u32, fraction as u32, kept, wire_len] {
            file.extend(value.to_le_bytes());
        }
        file.extend(packet);
    }
    fuzz_capture(&file);
}

/// Bytes of a segment of [`fuzz_conversation`].
const STEP: usize = 13;

/// The options that `which` has the bits of: of a SYN, timestamps, a SACK block near `ack`.
fn tcp_options(which: u8, ack: u32, sack_from: u8) -> Vec<u8> {
    let mut options = Vec::new();
    if which & 1 != 0 {
        options.extend([2, 4, 5, 180, 4, 2, 3, 3, which >> 4, 1, 1, 1]);
    }
    if which & 2 != 0 {
        options.extend([1, 1, 8, 10, 0, 0, 1, which, 0, 0, 0, 1]);
    }
    if which & 4 != 0 {
        let from = ack.wrapping_add_signed(i32::from(sack_from as i8) * 100);
        options.extend([1, 1, 5, 10]);
        options.extend(from.to_be_bytes());
        options.extend(from.wrapping_add(u32::from(which) * 10).to_be_bytes());
    }
    options
}

/// What a watcher was told.
#[derive(Default)]
struct Told {
    segments: u64,
    sacks: u64,
    payload: u64,
    datagrams: u64,
    datagram_bytes: u64,
}

impl Watch for Told {
    fn segment(&mut self, segment: Segment) {
        self.segments += 1;
        self.payload += u64::from(segment.payload);
        match segment.kind {
            Kind::New | Kind::Retransmit | Kind::Spurious | Kind::OutOfOrder => {}
            Kind::Ack | Kind::DuplicateAck => assert_eq!(segment.payload, 0),
            Kind::Syn => assert!(segment.flags.0.syn),
            Kind::Fin => assert!(segment.flags.0.fin),
            Kind::Rst => assert!(segment.flags.0.rst),
            Kind::Probe | Kind::KeepAlive => {}
        }
        assert!(segment.connection > 0 && segment.sender < 2);
    }
    fn sack(&mut self, sack: Sack) {
        self.sacks += 1;
        assert!(sack.connection > 0 && sack.sender < 2);
    }
    fn datagram(&mut self, datagram: Datagram) {
        self.datagrams += 1;
        self.datagram_bytes += u64::from(datagram.payload);
        assert!(datagram.conversation > 0 && datagram.sender < 2);
    }
}

impl Told {
    fn check(&self, analysis: &Analysis) {
        assert_eq!(self.segments, analysis.tcp_packets);
        assert_eq!(self.datagrams, analysis.udp_packets);
        let talks = &analysis.conversations;
        let of_talks = |count: fn(&crate::Talk) -> u64| talks.iter().map(count).sum::<u64>();
        assert!(of_talks(|row| row.total_bytes) <= self.datagram_bytes);
        let rows = &analysis.connections;
        let kept = |count: fn(&crate::Direction) -> u64| rows.iter().map(count).sum::<u64>();
        assert!(kept(|row| row.total_bytes) <= self.payload);
        assert!(kept(|row| row.sack_blocks) <= self.sacks);
        let given_up = |problem: &crate::Problem| problem.code == "connections-given-up";
        if !analysis.problems.iter().any(given_up) {
            assert_eq!(kept(|row| row.packets), self.segments);
            assert_eq!(kept(|row| row.total_bytes), self.payload);
            assert_eq!(kept(|row| row.sack_blocks), self.sacks);
            assert_eq!(of_talks(|row| row.packets), self.datagrams);
            assert_eq!(of_talks(|row| row.total_bytes), self.datagram_bytes);
        }
    }
}

fn check(analysis: &Analysis) {
    let all = |count: fn(&crate::Direction) -> u64| -> u64 {
        analysis.connections.iter().map(count).sum()
    };
    let together = &analysis.together;
    let intervals = [&together.whole, &together.overlap, &together.congested];
    for interval in intervals.into_iter().flatten() {
        assert!(interval.from_s <= interval.to_s, "{interval:?}");
        assert!(interval.throughput_bps.is_finite(), "{interval:?}");
        let least = 1.0 / together.flows as f64;
        let fair = interval
            .jain
            .is_none_or(|jain| (least - 1e-9..=1.0 + 1e-9).contains(&jain));
        assert!(fair, "{:?}", interval.jain);
    }
    let others: u64 = analysis.other_packets.values().sum();
    assert!(analysis.tcp_packets + analysis.udp_packets + others <= analysis.packets);
    assert!(all(|row| row.packets) <= analysis.tcp_packets);
    for row in &analysis.connections {
        assert!(row.data_packets + row.pure_acks <= row.packets);
        assert!(row.unique_bytes + row.retransmitted_bytes <= row.total_bytes);
        assert!(row.retransmitted_packets <= row.data_packets);
        assert!(row.timer_retransmits <= row.retransmitted_packets);
        assert!(row.rtt_min_s <= row.rtt_mean_s && row.rtt_mean_s <= row.rtt_max_s);
        assert!(row.window_min_bytes <= row.window_max_bytes);
        assert!(row.elapsed_s >= 0.0);
        assert!(row.spurious_retransmits <= row.retransmitted_packets);
        assert!(row.interval_bytes <= row.unique_bytes);
        assert!(row.dsacks <= row.sacks && row.sacks <= row.sack_blocks);
        let shares = [row.limited_cwnd, row.limited_rwnd, row.limited_application];
        if let [Some(cwnd), Some(rwnd), Some(application)] = shares {
            assert!((cwnd + rwnd + application - 1.0).abs() < 1e-6);
        }
        assert_eq!(row.limited_by.is_some(), row.limited_because.is_some());
    }
    for row in &analysis.conversations {
        assert!(row.elapsed_s >= 0.0);
        assert!(row.size_min_bytes <= row.size_max_bytes);
        assert!(row.gap_min_s <= row.gap_p50_s && row.gap_p99_s <= row.gap_max_s);
        assert!(row.ce_packets <= row.packets);
        let long = [
            row.quic_initial_packets,
            row.quic_zero_rtt_packets,
            row.quic_handshake_packets,
            row.quic_retry_packets,
            row.quic_negotiation_packets,
        ];
        assert!(long.into_iter().flatten().sum::<u64>() <= row.packets);
    }
}
