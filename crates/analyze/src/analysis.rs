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
use crate::table::{Sighting, Table, are_near};
use crate::together::Together;

/// Parts that a capture is counted in at most: one core reads for no more.
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
    if parts > 1 && !watch.on() && !are_near(table.burdens(), most) {
        let tables = (0..parts).map(|_| new()).collect();
        let of_part = |table: &mut Table, batch: &Batch, part: usize| {
            batch.each_of(part, |number, now, packet| {
                take(table, batch, number, now, packet, &mut ());
            });
        };
        let Some(counted) = parts::count(source, tables, most, of_part, || watch.goes_on()) else {
            return (table, Read::default());
        };
        table = Table::joined(counted.tables, counted.ended).unwrap_or(table);
        source = counted.source;
        if counted.ended {
            return (table, source.finish());
        }
    }
    let read = reading::each_batch(source, |next| {
        let Some(batch) = next else {
            return watch.goes_on();
        };
        batch.each(|number, now, packet| take(&mut table, batch, number, now, packet, watch));
        table.batch_ends();
        true
    });
    (table, read)
}

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
        Handed::Plain(segment) => table.take(&segment.segment(), sighting, watch),
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

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read as _};

    use cclab_trace::Columns;

    use super::*;
    use crate::segments::{Datagram, Sack, Segment};

    /// A capture of `packets` packets of as many as `flows` connections and conversations each, in an
    /// order that follows from `seed`: new data, data again, acknowledgements, SYNs of new
    /// connections on old ports.
    fn capture(flows: u64, packets: u64, seed: u64) -> Vec<u8> {
        let mut state = seed;
        let mut dice = |sides: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % sides
        };
        let mut next = vec![[0u32; 2]; flows as usize];
        let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
        for value in [0u32, 0, 65_535, 228] {
            file.extend(value.to_le_bytes());
        }
        for number in 0..packets {
            let flow = dice(flows);
            let side = dice(2) as usize;
            let udp = dice(8) == 0;
            let sent = &mut next[flow as usize];
            let opens = sent[0] == 0 || dice(300) == 0;
            let (flags, payload) = match () {
                () if opens => (2, 0),
                () if side == 1 => (16, 0),
                () => (16, 100),
            };
            if opens {
                sent[0] = dice(1 << 20) as u32 + 1;
            }
            let again = dice(20) == 0;
            let seq = sent[side].wrapping_sub(if again { 100 } else { 0 });
            let ack = sent[1 - side];
            if !again {
                sent[side] = seq.wrapping_add(u32::from(opens) + u32::from(payload));
            }
            let ends = [[10, 0, (flow >> 8) as u8, flow as u8], [11, 0, 0, 1]];
            let ports = [4000 + (flow % 7) as u16, 80];
            let header: u16 = if udp { 8 } else { 20 };
            let mut packet = vec![0x45, 0];
            packet.extend((20 + header + payload).to_be_bytes());
            packet.extend([0, 0, 0x40, 0, 64, if udp { 17 } else { 6 }, 0, 0]);
            packet.extend(ends[side].iter().chain(&ends[1 - side]));
            packet.extend(ports[side].to_be_bytes());
            packet.extend(ports[1 - side].to_be_bytes());
            if udp {
                packet.extend((8 + payload).to_be_bytes());
                packet.extend([0, 0]);
            } else {
                packet.extend(seq.to_be_bytes());
                packet.extend(ack.to_be_bytes());
                packet.extend([5 << 4, flags, 200, 0, 0, 0, 0, 0]);
            }
            let kept = packet.len() as u32;
            for value in [number as u32 / 1000, number as u32 % 1000 * 1000] {
                file.extend(value.to_le_bytes());
            }
            for value in [kept, kept + u32::from(payload)] {
                file.extend(value.to_le_bytes());
            }
            file.extend(packet);
        }
        file
    }

    /// All that is told of `file`, and how many connections are.
    fn told(file: &[u8], most: usize, parts: usize, watch: &mut impl Watch) -> (String, usize) {
        let file = CaptureFile::from_reader(Cursor::new(file.to_vec()), Path::new("made"));
        let options = Options {
            max_connections: NonZeroUsize::new(most).expect("not zero"),
            interval: Some((Time::from_secs(2), Time::from_secs(9))),
        };
        let analysis = analyze_on(file.expect("a capture"), options, parts, watch);
        let document = serde_json::to_string(&analysis).expect("a document");
        let connections = Columns::of(&analysis.connections).csv();
        let conversations = Columns::of(&analysis.conversations).csv();
        let text = [document, connections, conversations].join("\n");
        (text, analysis.connections.len() / 2)
    }

    /// Keeps the number of each connection at its first segment.
    #[derive(Default)]
    struct Numbers(Vec<u32>);

    impl Watch for Numbers {
        fn segment(&mut self, segment: Segment) {
            if self.0.last().is_none_or(|last| segment.connection > *last) {
                self.0.push(segment.connection);
            }
        }
        fn sack(&mut self, _: Sack) {}
        fn datagram(&mut self, _: Datagram) {}
    }

    #[test]
    fn the_same_is_told_whatever_the_number_of_parts() {
        for (flows, seed) in [(1, 1), (2, 2), (9, 3), (700, 4)] {
            let file = capture(flows, 25_000, seed);
            let mut numbers = Numbers::default();
            let (alone, connections) = told(&file, 50_000, 1, &mut numbers);
            // In the order of their first packets.
            assert!(numbers.0.into_iter().eq(1..=connections as u32));
            for parts in 2..=4 {
                let (shared, _) = told(&file, 50_000, parts, &mut ());
                assert!(shared == alone, "{flows} flows in {parts} parts");
            }
        }
    }

    #[test]
    fn the_same_are_given_up_whatever_the_number_of_parts() {
        let file = capture(11_000, 60_000, 5);
        // Near enough to its bounds at once, and only after many batches.
        for most in [5_000, 9_000] {
            let (alone, connections) = told(&file, most, 1, &mut ());
            assert_eq!(connections, most);
            assert!(alone.contains("connections-given-up"));
            for parts in [2, 4] {
                let (shared, _) = told(&file, most, parts, &mut ());
                assert!(shared == alone, "{most} of them in {parts} parts");
            }
        }
    }

    #[test]
    fn an_analysis_in_parts_ends_when_it_is_told_to() {
        struct Stops;
        impl Watch for Stops {
            fn on(&self) -> bool {
                false
            }
            fn segment(&mut self, _: Segment) {}
            fn sack(&mut self, _: Sack) {}
            fn datagram(&mut self, _: Datagram) {}
            fn goes_on(&mut self) -> bool {
                false
            }
        }
        // The rest of the capture never comes.
        let (silent, held) = std::io::pipe().expect("a pipe");
        let begun = Cursor::new(capture(3, 10, 6)).chain(silent);
        let file = CaptureFile::from_reader(begun, Path::new("silent")).expect("a capture");
        let analysis = analyze_on(file, Options::default(), 2, &mut Stops);
        assert_eq!(analysis.packets, 0);
        drop(held);
    }
}
