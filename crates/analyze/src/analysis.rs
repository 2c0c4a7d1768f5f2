//! The document: what a capture holds, as numbers with names and units.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

use cclab_trace::captured::{CaptureError, CaptureFile, Carried, Compression, Format, Skips};
use cclab_units::Time;
use serde::Serialize;

use crate::batch::{Batch, Handed};
use crate::connection::Connection;
use crate::connections::Direction;
use crate::conversation::Conversation;
use crate::conversations::Talk;
use crate::kept::Kept;
use crate::parts;
use crate::reading::{self, Read, Source};
use crate::row;
use crate::segments::Watch;
use crate::table::{Sighting, Table};
use crate::together::Together;

/// Parts that a capture is counted in at most: reading takes a fifth of the work, and one at a time reads.
const MOST_PARTS: usize = 4;

/// What bounds an analysis, and what it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Connections that are kept, and conversations. Where there are more, those that were idle
    /// longest are given up.
    pub max_connections: NonZeroUsize,
    /// An interval, since the capture's first packet, whose shares are asked for.
    pub interval: Option<(Time, Time)>,
}

impl Options {
    /// Bytes of memory that an analysis takes whose `max_connections` are all there, and as many
    /// conversations.
    pub fn memory(&self) -> u64 {
        let each = Kept::<Connection>::EACH + Kept::<Conversation>::EACH;
        (each as u64).saturating_mul(self.max_connections.get() as u64)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_connections: NonZeroUsize::new(50_000).expect("not zero"),
            interval: None,
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
    /// Those that are UDP datagrams, and whole enough to be counted.
    pub udp_packets: u64,
    /// How many carry what else, by its name.
    pub other_packets: BTreeMap<String, u64>,
    /// Time of the first packet, whatever it carries, nanoseconds since the epoch.
    pub started_ns: u64,
    /// From there to the latest, in seconds.
    pub lasted_s: f64,
    /// Two rows for each connection, in the order of first packets: what the end that sent the
    /// first packet sent, and what the other sent.
    #[serde(skip)]
    pub connections: Vec<Direction>,
    /// Two rows for each conversation over UDP, likewise.
    #[serde(skip)]
    pub conversations: Vec<Talk>,
    /// The connections and conversations beside each other.
    pub together: Together,
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

/// Analyses the capture at `path`.
pub fn analyze(
    path: &Path,
    options: Options,
    watch: &mut impl Watch,
) -> Result<Analysis, CaptureError> {
    CaptureFile::open(path).map(|file| analyze_file(file, options, watch))
}

/// Analyses a capture that is open, and tells `watch` of each segment and datagram.
pub fn analyze_file(file: CaptureFile, options: Options, watch: &mut impl Watch) -> Analysis {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    analyze_on(file, options, cores.min(MOST_PARTS), watch)
}

/// The same in so many parts; a `watch` that wants all is told by one, in the order of the capture.
pub(crate) fn analyze_on(
    file: CaptureFile,
    options: Options,
    parts: usize,
    watch: &mut impl Watch,
) -> Analysis {
    let (format, compression) = (file.format(), file.compression());
    let (table, read) = counted(file, options, parts, watch);
    let Read {
        packets,
        tcp_packets,
        udp_packets,
        others,
        skips,
        span,
    } = read;
    let evicted = table.connections.evicted + table.conversations.evicted;
    let (began, latest) = span.unwrap_or_default();
    let lasted = latest - began;
    let connections = table.connections.in_order();
    let conversations = table.conversations.in_order();
    let backwards = connections
        .iter()
        .map(|held| held.of.backwards)
        .sum::<u64>()
        + conversations
            .iter()
            .map(|held| held.of.backwards)
            .sum::<u64>();
    let together = Together::new(&connections, &conversations, lasted, options.interval);
    Analysis {
        schema: "cclab-analyze/3",
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
        udp_packets,
        other_packets: others
            .into_iter()
            .map(|(protocol, count)| (protocol.name(), count))
            .collect(),
        started_ns: began.as_nanos(),
        lasted_s: lasted.as_secs_f64(),
        together,
        // Each is let go as soon as its rows are there.
        connections: connections
            .into_iter()
            .flat_map(|mut held| row::rows(held.number, &mut held.of))
            .collect(),
        conversations: conversations
            .into_iter()
            .flat_map(|held| held.of.rows(held.number))
            .collect(),
        problems: problems(&skips, evicted, backwards),
    }
}

/// What `file` holds; of an analysis that does not go on, anything.
fn counted(
    file: CaptureFile,
    options: Options,
    parts: usize,
    watch: &mut impl Watch,
) -> (Table, Read) {
    let Options {
        max_connections: most,
        interval,
    } = options;
    let new = || Table::new(most, interval);
    let mut source = Source::new(file);
    let mut table = new();
    if parts > 1 && !watch.on() && !table.is_bounded() {
        let tables = (0..parts).map(|_| new()).collect();
        let Some(counted) = parts::count(source, tables, take_part, || watch.goes_on()) else {
            return (table, Read::default());
        };
        table.join(counted.tables, counted.ended);
        source = counted.source;
        if counted.ended {
            return (table, source.finish());
        }
    }
    let read = reading::each_batch(source, |next| {
        let Some(batch) = next else {
            return watch.goes_on();
        };
        if watch.on() {
            batch.each_of(0, |number, now, packet| {
                take(&mut table, batch, number, now, packet, watch);
            });
        } else {
            take_part(&mut table, batch, 0);
        }
        table.batch_ends();
        true
    });
    (table, read)
}

/// Counts a part's packets in `table`, of which nobody is told. One core and several run this same code: a compiler
/// that learns from a run on one core knows of both.
#[inline(never)]
fn take_part(table: &mut Table, batch: &Batch, part: usize) {
    batch.each_of(part, |number, now, packet| {
        take(table, batch, number, now, packet, &mut ());
    });
}

/// Counts a packet in `table`.
#[inline(always)]
fn take(
    table: &mut Table,
    batch: &Batch,
    number: u64,
    now: Time,
    packet: Handed<'_>,
    watch: &mut impl Watch,
) {
    let sighting = Sighting {
        number,
        now,
        origin: batch.began,
    };
    match packet {
        Handed::Plain(segment) => table.take_plain(segment, sighting, watch),
        Handed::Other(Carried::Tcp(segment)) => table.take(segment, sighting, watch),
        Handed::Other(Carried::Udp(datagram)) => table.take_datagram(datagram, sighting, watch),
        Handed::Other(Carried::Other(_)) => {}
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
            "there are more connections or conversations than are kept, or than memory is meant for: those idle \
             longest are not shown; --max-connections raises the number, a filter such as \
             `tcpdump -r FILE -w PART tcp port 80` leaves less",
        ),
        (
            "time-backwards",
            backwards,
            "packets are earlier than one before them of their connection or conversation; they count \
             as simultaneous with it. `reordercap OLD NEW` puts a file in order",
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

#[cfg(test)]
mod tests;
