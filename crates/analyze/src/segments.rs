//! Every segment and datagram with what it was, for those who want to see the course of a
//! connection or conversation.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use cclab_trace::captured::{LongType, TcpFlags};
use cclab_trace::table::{Cell, Kind as CellKind, Row, Values};
use cclab_trace::{TableWriter, TraceError, named_cell, table};
use cclab_units::Time;

/// What a segment was to its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Data above all that were seen before.
    New,
    /// Data that were seen before, in part or all.
    Retransmit,
    /// Data that were seen before, and acknowledged.
    Spurious,
    /// Data not seen before, below some that were.
    OutOfOrder,
    /// Into a window of zero.
    Probe,
    /// To see whether the other end is there (RFC 9293 section 3.8.4).
    KeepAlive,
    /// Nothing but an acknowledgement.
    #[default]
    Ack,
    /// An acknowledgement that repeats one (RFC 5681 section 2).
    DuplicateAck,
    /// It opens the connection.
    Syn,
    /// The end of the data, and none.
    Fin,
    /// It aborts the connection.
    Rst,
}

named_cell!(Kind {
    Kind::New = "new",
    Kind::Retransmit = "retransmit",
    Kind::Spurious = "spurious",
    Kind::OutOfOrder = "out-of-order",
    Kind::Probe = "probe",
    Kind::KeepAlive = "keep-alive",
    Kind::Ack = "ack",
    Kind::DuplicateAck = "duplicate-ack",
    Kind::Syn = "syn",
    Kind::Fin = "fin",
    Kind::Rst = "rst",
});

/// Control bits as tcpdump writes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub TcpFlags);

const LETTERS: &str = "FSRP.UEWe";

impl Flags {
    fn bits(self) -> [bool; 9] {
        let TcpFlags {
            syn,
            ack,
            fin,
            rst,
            psh,
            urg,
            ece,
            cwr,
            ae,
        } = self.0;
        [fin, syn, rst, psh, ack, urg, ece, cwr, ae]
    }
}

impl Cell for Flags {
    const KIND: CellKind = CellKind::Text;
    fn put(&self, column: &mut Values) {
        let set = LETTERS.chars().zip(self.bits());
        let text: String = set
            .filter_map(|(letter, set)| set.then_some(letter))
            .collect();
        text.put(column);
    }
    fn take(column: &mut Values) -> Option<Flags> {
        let text = column.take_text()?;
        let [fin, syn, rst, psh, ack, urg, ece, cwr, ae] =
            std::array::from_fn(|bit| text.contains(&LETTERS[bit..=bit]));
        Some(Flags(TcpFlags {
            syn,
            ack,
            fin,
            rst,
            psh,
            urg,
            ece,
            cwr,
            ae,
        }))
    }
}

/// A segment, and what it was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Segment {
    /// When it was seen, since the epoch of the capture.
    pub time: Time,
    /// Number of its connection, from 1.
    pub connection: u32,
    /// Who sent it: 0 the end that sent the connection's first packet, 1 the other.
    pub sender: u32,
    /// Its sequence number since the SYN's.
    pub seq: i64,
    /// Bytes of payload.
    pub payload: u32,
    /// Its control bits.
    pub flags: Flags,
    /// What it was.
    pub kind: Kind,
    /// What it acknowledges.
    pub ack: Option<i64>,
    /// The window that it advertises.
    pub window: Option<u64>,
    /// Payload in flight after it.
    pub outstanding: Option<u64>,
    /// The RTT that its acknowledgement measured.
    pub rtt: Option<Time>,
}

table! {
    "segments": "A TCP segment, in the order of the capture.",
    struct Segment,
    "time_ns": Time = time, "When it was seen, since the epoch of the capture.";
    "connection": u32 = connection, "The connection's number, from 1, as in `connections`.";
    "sender": u32 = sender, "Who sent it: 0 the end that sent the connection's first packet, 1 the other.";
    "seq": i64 = seq, "Sequence number of its first byte, without wraps, since that of its sender's SYN: the first byte of data is 1. Where no SYN was seen, the first byte seen is 1.";
    "payload": u32 = payload, "Bytes of payload.";
    "flags": Flags = flags, "Control bits in tcpdump's letters: F, S, R, P, `.` (ACK), U, E (ECE), W (CWR), e (AE, RFC 9768).";
    "kind": Kind = kind, "What it was: `new` data, `retransmit` (data seen before), `spurious` (data seen before and acknowledged), `out-of-order` (data not seen before, below some that were), `probe` (into a window of zero), `keep-alive`, `ack`, `duplicate-ack`, `syn`, `fin` (without data), `rst`.";
    "ack": Option<i64> = ack, "What it acknowledges, as a sequence number of the other end, counted as `seq`.";
    "window_bytes": Option<u64> = window, "The window it advertises, scaled; null in an RST.";
    "outstanding_bytes": Option<u64> = outstanding, "Payload that its sender has in flight after it; null unless it has new data in order.";
    "rtt_ns": Option<Time> = rtt, "RTT of data of the other end that its acknowledgement times.";
}

/// A block of a SACK option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    /// When it was seen, since the epoch of the capture.
    pub time: Time,
    /// Number of its connection, from 1.
    pub connection: u32,
    /// Who sent it.
    pub sender: u32,
    /// The first byte.
    pub start: i64,
    /// The byte after the last.
    pub end: i64,
    /// Whether it tells of a duplicate.
    pub duplicate: bool,
}

table! {
    "sacks": "A block of a SACK option, in the order of the capture.",
    struct Sack,
    "time_ns": Time = time, "When it was seen, since the epoch of the capture.";
    "connection": u32 = connection, "The connection's number, from 1, as in `connections`.";
    "sender": u32 = sender, "Who sent the block: 0 the end that sent the connection's first packet, 1 the other.";
    "start": i64 = start, "The first byte, a sequence number of the other end counted as `seq` of `segments`.";
    "end": i64 = end, "The byte after the last.";
    "duplicate": bool = duplicate, "Whether it tells of bytes that arrived twice (RFC 2883).";
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// When it was seen, since the epoch of the capture.
    pub time: Time,
    /// Number of its conversation, from 1.
    pub conversation: u32,
    /// Who sent it: 0 the end that sent the conversation's first datagram, 1 the other.
    pub sender: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// The type of the long header of QUIC that it begins with.
    pub long: Option<LongType>,
}

table! {
    "datagrams": "A UDP datagram, in the order of the capture.",
    struct Datagram,
    "time_ns": Time = time, "When it was seen, since the epoch of the capture.";
    "conversation": u32 = conversation, "The conversation's number, from 1, as in `conversations`.";
    "sender": u32 = sender, "Who sent it: 0 the end that sent the conversation's first datagram, 1 the other.";
    "payload": u32 = payload, "Bytes of payload.";
    "quic_long": Option<LongType> = long, "The type of the long header of QUIC that it begins with: `initial`, `0-rtt`, `handshake`, `retry`, `version-negotiation`; null where it has none, as packets of QUIC after the handshake.";
}

/// Takes note of segments and datagrams; `()` does not.
pub trait Watch {
    /// Whether it wants them.
    fn on(&self) -> bool {
        true
    }
    /// `segment` was seen.
    fn segment(&mut self, segment: Segment);
    /// `sack` was seen.
    fn sack(&mut self, sack: Sack);
    /// `datagram` was seen.
    fn datagram(&mut self, datagram: Datagram);
    /// Whether to go on: asked now and then.
    fn goes_on(&mut self) -> bool {
        true
    }
}

impl Watch for () {
    fn on(&self) -> bool {
        false
    }
    fn segment(&mut self, _: Segment) {}
    fn sack(&mut self, _: Sack) {}
    fn datagram(&mut self, _: Datagram) {}
}

/// Writes `segments.parquet`, `sacks.parquet` and `datagrams.parquet`; they have these names when
/// they are whole.
pub struct Series {
    paths: [Place; 3],
    segments: TableWriter<Segment>,
    sacks: TableWriter<Sack>,
    datagrams: TableWriter<Datagram>,
    /// The first failure; nothing is written after it.
    failed: Option<TraceError>,
}

impl Series {
    /// Creates the files in the folder `dir`.
    pub fn create(dir: &Path) -> Result<Series, TraceError> {
        let tables = [Segment::TABLE, Sack::TABLE, Datagram::TABLE];
        let paths = tables.map(|table| Place::new(dir, table.name));
        let [segments, sacks, datagrams] = &paths;
        Ok(Series {
            segments: TableWriter::new(segments.create()?, segments.part.clone())?,
            sacks: TableWriter::new(sacks.create()?, sacks.part.clone())?,
            datagrams: TableWriter::new(datagrams.create()?, datagrams.part.clone())?,
            failed: None,
            paths,
        })
    }

    /// Removes what was written; whole files of an earlier analysis stay.
    pub fn abandon(self) {
        for place in &self.paths {
            // Nothing is lost if it stays.
            let _ = fs::remove_file(&place.part);
        }
    }

    /// Ends the files.
    pub fn finish(self) -> Result<(), TraceError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.segments.finish()?;
        self.sacks.finish()?;
        self.datagrams.finish()?;
        self.paths.iter().try_for_each(Place::settle)
    }

    fn note(&mut self, done: Result<(), TraceError>) {
        if let Err(error) = done {
            self.failed.get_or_insert(error);
        }
    }
}

/// Where a file is, before and after it is whole.
struct Place {
    part: PathBuf,
    whole: PathBuf,
}

impl Place {
    fn new(dir: &Path, name: &str) -> Place {
        Place {
            part: dir.join(format!("{name}.parquet.part")),
            whole: dir.join(format!("{name}.parquet")),
        }
    }

    fn create(&self) -> Result<File, TraceError> {
        File::create(&self.part).map_err(|source| TraceError::Io {
            path: self.part.clone(),
            source,
        })
    }

    fn settle(&self) -> Result<(), TraceError> {
        fs::rename(&self.part, &self.whole).map_err(|source| TraceError::Io {
            path: self.whole.clone(),
            source,
        })
    }
}

impl Watch for Series {
    fn segment(&mut self, segment: Segment) {
        if self.failed.is_none() {
            let done = self.segments.push(&segment);
            self.note(done);
        }
    }
    fn sack(&mut self, sack: Sack) {
        if self.failed.is_none() {
            let done = self.sacks.push(&sack);
            self.note(done);
        }
    }
    fn datagram(&mut self, datagram: Datagram) {
        if self.failed.is_none() {
            let done = self.datagrams.push(&datagram);
            self.note(done);
        }
    }
}
