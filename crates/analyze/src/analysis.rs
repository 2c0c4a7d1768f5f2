//! The document: what a capture holds, as numbers with names and units.

use std::num::NonZeroUsize;
use std::path::Path;

use cclab_trace::captured::{CaptureError, CaptureFile, Compression, Dissector, Format, Skips};
use cclab_units::Time;
use serde::Serialize;

use crate::connection::Connection;
use crate::table::Table;

/// What bounds an analysis.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Connections that are kept. Where there are more, those that were idle longest are given up.
    pub max_connections: NonZeroUsize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_connections: NonZeroUsize::new(100_000).expect("not zero"),
        }
    }
}

/// What a capture holds.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// Name and version of the document.
    pub schema: &'static str,
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// `gzip` or `zstd`; None if it is not compressed.
    pub compression: Option<&'static str>,
    /// Packets that were read.
    pub packets: u64,
    /// Those that are TCP segments, and whole enough to be counted.
    pub tcp_packets: u64,
    /// Two rows for each connection, in the order of first packets: what the end that sent the
    /// first packet sent, and what the other sent.
    pub connections: Vec<Direction>,
    /// What was skipped or is in doubt.
    pub problems: Vec<Problem>,
}

/// What is wrong with a capture, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Its name.
    pub code: &'static str,
    /// How often it was met.
    pub count: u64,
    /// What it means, and what would help.
    pub message: String,
}

/// How a connection ended, as far as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Both SYNs and both FINs were seen, and no RST.
    Complete,
    /// An RST was seen.
    Reset,
    /// Neither.
    Open,
}

/// One direction of a connection; `docs/analyze.md` defines each number. What was not seen is
/// None.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "defined once, in docs/analyze.md")]
pub struct Direction {
    pub connection: u64,
    pub source: String,
    pub source_port: u16,
    pub destination: String,
    pub destination_port: u16,
    pub end: End,
    pub started_ns: u64,
    pub elapsed_s: f64,
    pub first_packet_s: Option<f64>,
    pub last_packet_s: Option<f64>,
    pub packets: u64,
    pub data_packets: u64,
    pub pure_acks: u64,
    pub total_bytes: u64,
    pub unique_bytes: u64,
    pub throughput_bps: Option<f64>,
    pub retransmitted_packets: u64,
    pub retransmitted_bytes: u64,
    pub retransmitted_syn_fin: u64,
    pub timer_retransmits: u64,
    pub out_of_order_packets: u64,
    pub duplicate_acks: u64,
    pub window_probes: u64,
    pub syns: u64,
    pub fins: u64,
    pub rsts: u64,
    pub mss_announced_bytes: Option<u16>,
    pub window_scale_announced: Option<u8>,
    pub window_scaling: Option<bool>,
    pub sack_permitted: Option<bool>,
    pub timestamps: bool,
    pub segment_min_bytes: Option<u64>,
    pub segment_max_bytes: Option<u64>,
    pub window_min_bytes: Option<u64>,
    pub window_mean_bytes: Option<f64>,
    pub window_max_bytes: Option<u64>,
    pub zero_windows: u64,
    pub outstanding_mean_bytes: Option<f64>,
    pub outstanding_max_bytes: Option<u64>,
    pub initial_window_bytes: Option<u64>,
    pub initial_window_packets: Option<u64>,
    pub rtt_samples: u64,
    pub rtt_ambiguous: u64,
    pub rtt_min_s: Option<f64>,
    pub rtt_mean_s: Option<f64>,
    pub rtt_max_s: Option<f64>,
    pub rtt_stdev_s: Option<f64>,
}

/// Analyses the capture at `path`.
pub fn analyze(path: &Path, options: Options) -> Result<Analysis, CaptureError> {
    CaptureFile::open(path).map(|file| analyze_file(file, options))
}

/// Analyses a capture that is open.
pub fn analyze_file(mut file: CaptureFile, options: Options) -> Analysis {
    let (format, compression) = (file.format(), file.compression());
    let mut table = Table::new(options.max_connections);
    let mut dissector = Dissector::default();
    let mut skips = Skips::default();
    let (mut packets, mut tcp_packets) = (0, 0);
    while let Some(next) = file.next_frame() {
        let frame = match next {
            Ok(frame) => frame,
            Err(skipped) => {
                skips.add(skipped);
                continue;
            }
        };
        packets += 1;
        match dissector.segment(&frame) {
            Ok(Some(segment)) => {
                tcp_packets += 1;
                table.take(&segment, frame.time);
            }
            Ok(None) => {}
            Err(fault) => skips.add(fault.into()),
        }
    }
    dissector.finish(&mut skips);
    let evicted = table.evicted;
    let connections = table.into_connections();
    let backwards = connections.iter().map(|c| c.backwards).sum();
    Analysis {
        schema: "cclab-analyze/1",
        format: match format {
            Format::Pcap => "pcap",
            Format::Pcapng => "pcapng",
        },
        compression: match compression {
            Compression::None => None,
            Compression::Gzip => Some("gzip"),
            Compression::Zstd => Some("zstd"),
        },
        packets,
        tcp_packets,
        connections: (1..)
            .zip(&connections)
            .flat_map(|(number, connection)| rows(number, connection))
            .collect(),
        problems: problems(&skips, evicted, backwards),
    }
}

fn problems(skips: &Skips, evicted: u64, backwards: u64) -> Vec<Problem> {
    let of_file = skips.iter().map(|(fault, count, message)| Problem {
        code: fault.code(),
        count,
        message,
    });
    let own = [
        (
            "connections-given-up",
            evicted,
            "there are more connections than are kept: those idle longest are not shown; \
             raise max_connections to see them",
        ),
        (
            "time-backwards",
            backwards,
            "packets are earlier than one before them in the file; they count as simultaneous \
             with it. `reordercap OLD NEW` puts a file in order",
        ),
    ];
    let own = own.into_iter().filter(|(_, count, _)| *count > 0);
    of_file
        .chain(own.map(|(code, count, message)| Problem {
            code,
            count,
            message: message.to_owned(),
        }))
        .collect()
}

fn rows(number: u64, connection: &Connection) -> [Direction; 2] {
    [0, 1].map(|side| row(number, connection, side))
}

fn row(number: u64, connection: &Connection, side: usize) -> Direction {
    let (own, other) = (&connection.sending[side], &connection.sending[1 - side]);
    let (source, destination) = (connection.ends[side], connection.ends[1 - side]);
    let elapsed_s = (connection.last - connection.first).as_secs_f64();
    let since_first = |time: Option<Time>| time.map(|t| (t - connection.first).as_secs_f64());
    let syn = own.syn_options;
    let initial = |count| (own.isn.is_some() && own.data_packets > 0).then_some(count);
    Direction {
        connection: number,
        source: source.ip().to_string(),
        source_port: source.port(),
        destination: destination.ip().to_string(),
        destination_port: destination.port(),
        end: connection.end(),
        started_ns: connection.first.as_nanos(),
        elapsed_s,
        first_packet_s: since_first(own.first),
        last_packet_s: since_first(own.last),
        packets: own.packets,
        data_packets: own.data_packets,
        pure_acks: own.pure_acks,
        total_bytes: own.total_bytes,
        unique_bytes: own.unique_bytes,
        throughput_bps: (elapsed_s > 0.0).then(|| own.unique_bytes as f64 * 8.0 / elapsed_s),
        retransmitted_packets: own.retransmitted_packets,
        retransmitted_bytes: own.retransmitted_bytes,
        retransmitted_syn_fin: own.repeated_syn_fin,
        timer_retransmits: own.timer_retransmits,
        out_of_order_packets: own.out_of_order,
        duplicate_acks: own.duplicate_acks,
        window_probes: own.window_probes,
        syns: own.syns,
        fins: own.fins,
        rsts: own.rsts,
        mss_announced_bytes: syn.and_then(|options| options.mss),
        window_scale_announced: syn.and_then(|options| options.window_scale),
        window_scaling: own.scaling(other),
        sack_permitted: syn.map(|options| options.sack_permitted),
        timestamps: own.timestamps,
        segment_min_bytes: own.payload.min(),
        segment_max_bytes: own.payload.max(),
        window_min_bytes: own.window.min(),
        window_mean_bytes: own.window.mean(),
        window_max_bytes: own.window.max(),
        zero_windows: own.zero_windows,
        outstanding_mean_bytes: own.outstanding.mean(),
        outstanding_max_bytes: own.outstanding.max(),
        initial_window_bytes: initial(own.initial_window_bytes),
        initial_window_packets: initial(own.initial_window_packets),
        rtt_samples: own.rtt.count,
        rtt_ambiguous: own.rtt_ambiguous,
        rtt_min_s: own.rtt.min().map(|ns| seconds(ns as f64)),
        rtt_mean_s: own.rtt.mean().map(seconds),
        rtt_max_s: own.rtt.max().map(|ns| seconds(ns as f64)),
        rtt_stdev_s: own.rtt.stdev().map(seconds),
    }
}

fn seconds(ns: f64) -> f64 {
    ns / 1e9
}
