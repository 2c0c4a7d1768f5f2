//! Fragments of IP packets, put together (RFC 791 section 3.2, RFC 8200 section 4.5).
//!
//! Only as much is kept of a packet as its headers can need, and which of its bytes were seen, so
//! that a snap length that cuts payload changes nothing, and memory stays small.
//!
//! `etherparse::defrag` keeps all bytes, and wants those that were not captured, too: with its buffer
//! for each packet, 4,096 packets of 60 kB that wait took 262 MB, not 5 MB (measured). Its pool reads
//! no tunnels, takes overlapping pieces for the packet, and has no bound and no order of age.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::ops::Range;

use cclab_units::Time;
use etherparse::IpNumber;

use super::Fault;
use super::ip::{IpPacket, Part, Payload};

/// How long the pieces of a packet are waited for, from the first that is seen, in the capture's
/// time: as Linux does (`ipfrag_time`).
const PATIENCE: Time = Time::from_secs(30);
/// Packets that wait for pieces at once; beyond, the oldest is given up.
const MOST_PACKETS: usize = 4096;
/// Stretches of a packet that were seen, each apart from the next; beyond, it is given up. A
/// packet has as many only if its pieces come in the worst order.
const MOST_STRETCHES: usize = 64;
/// Bytes of a packet that are kept: TCP's header with all options, or what of QUIC is read, behind a
/// tunnel's headers or
/// extension headers.
const KEPT: u32 = 256;
/// The longest packet that pieces can make.
const LONGEST: u32 = 65_535;

/// Packets of which not every piece was seen yet.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    /// By their number, in the order of their first pieces.
    waiting: BTreeMap<u64, Waiting>,
    numbers: HashMap<Key, u64>,
    next: u64,
    /// Pieces of packets that were given up since their other pieces did not come.
    pub unfinished: u64,
    /// Pieces of packets that were given up since too many were waiting.
    pub crowded_out: u64,
}

/// What tells a packet from others (RFC 791 section 3.2). RFC 8200 leaves the protocol out, which is
/// the same in all fragments of a packet wherever one is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    identification: u32,
    protocol: IpNumber,
}

#[derive(Debug)]
struct Waiting {
    key: Key,
    since: Time,
    pieces: u64,
    /// Which bytes were seen, whether kept or not.
    seen: Stretches,
    /// The first bytes, those that were not kept zero.
    head: Vec<u8>,
    /// Which of them were kept.
    kept: Stretches,
    /// Its length, once the last piece was seen.
    length: Option<u32>,
}

/// A packet of which every piece was seen.
#[derive(Debug)]
pub(super) struct Whole {
    /// Its first bytes, as far as all of them were kept.
    pub head: Vec<u8>,
    /// Its length.
    pub length: u32,
}

impl Fragments {
    /// Takes in `part` of the packet whose headers are those of `packet`, seen at `now`; the
    /// whole, if it is the last piece. An error tells of pieces that contradict one another: all
    /// of them are forgotten.
    pub fn take(
        &mut self,
        packet: &IpPacket<'_>,
        part: Part,
        now: Time,
    ) -> Result<Option<Whole>, Fault> {
        self.give_up_old(now);
        let key = Key {
            source: packet.ends.source(),
            destination: packet.ends.destination(),
            identification: part.identification,
            protocol: packet.payload.protocol,
        };
        let number = *self.numbers.entry(key).or_insert_with(|| {
            self.next += 1;
            self.next
        });
        let waiting = self.waiting.entry(number).or_insert_with(|| Waiting {
            key,
            since: now,
            pieces: 0,
            seen: Stretches::default(),
            head: Vec::new(),
            kept: Stretches::default(),
            length: None,
        });
        let added = waiting.add(&packet.payload, part);
        debug_assert!(self.waiting.len() <= MOST_PACKETS + 1);
        debug_assert_eq!(self.waiting.len(), self.numbers.len());
        match added {
            Ok(false) => {
                if self.waiting.len() > MOST_PACKETS {
                    self.crowded_out += self.forget_oldest();
                }
                Ok(None)
            }
            Ok(true) => Ok(self.forget(number).and_then(Waiting::into_whole)),
            Err(fault) => {
                // The other pieces wait for nothing now.
                let others = self.forget(number).map_or(0, |waiting| waiting.pieces - 1);
                self.unfinished += others;
                Err(fault)
            }
        }
    }

    /// Gives up all that waits: the capture is at its end.
    pub fn finish(&mut self) {
        while !self.waiting.is_empty() {
            self.unfinished += self.forget_oldest();
        }
    }

    fn give_up_old(&mut self, now: Time) {
        while let Some((_, oldest)) = self.waiting.first_key_value()
            && now > oldest.since
            && now - oldest.since > PATIENCE
        {
            self.unfinished += self.forget_oldest();
        }
    }

    /// Forgets the packet that waits longest, and tells how many pieces it has.
    fn forget_oldest(&mut self) -> u64 {
        let oldest = self.waiting.first_key_value().map(|(number, _)| *number);
        let forgotten = oldest.and_then(|number| self.forget(number));
        forgotten.map_or(0, |waiting| waiting.pieces)
    }

    fn forget(&mut self, number: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&number)?;
        self.numbers.remove(&waiting.key);
        Some(waiting)
    }
}

impl Waiting {
    /// Adds a piece, and tells whether it is the last that was missing.
    fn add(&mut self, piece: &Payload<'_>, part: Part) -> Result<bool, Fault> {
        self.pieces += 1;
        let start = part.offset;
        let end = start.checked_add(piece.length).ok_or(Fault::BadFragment)?;
        // All but the last end at a multiple of eight, and nothing reaches beyond the last.
        let ragged = part.more && (piece.length == 0 || !piece.length.is_multiple_of(8));
        let beyond = match self.length {
            Some(length) if part.more => end > length,
            Some(length) => end != length,
            None => !part.more && self.seen.end() > end,
        };
        if ragged || beyond || end > LONGEST {
            return Err(Fault::BadFragment);
        }
        if !part.more {
            self.length = Some(end);
        }
        // A piece that was seen before, sent or captured twice, is no contradiction; one that
        // overlaps others in part is (RFC 8200 section 4.5).
        if !self.seen.contains(start..end) {
            if self.seen.overlaps(start..end) {
                return Err(Fault::BadFragment);
            }
            self.seen.add(start..end)?;
            let kept = start..end.min(start + piece.bytes.len() as u32).min(KEPT);
            if kept.start < kept.end {
                let (from, to) = (kept.start as usize, kept.end as usize);
                self.head.resize(self.head.len().max(to), 0);
                self.head[from..to].copy_from_slice(&piece.bytes[..to - from]);
                self.kept.add(kept)?;
            }
        }
        let length = self.length;
        Ok(length.is_some_and(|length| self.seen.contains(0..length)))
    }

    fn into_whole(mut self) -> Option<Whole> {
        self.head.truncate(self.kept.first_end() as usize);
        Some(Whole {
            head: self.head,
            length: self.length?,
        })
    }
}

/// Ranges in ascending order, none touching the next.
#[derive(Debug, Default)]
struct Stretches(Vec<Range<u32>>);

impl Stretches {
    fn contains(&self, range: Range<u32>) -> bool {
        range.is_empty()
            || self
                .0
                .iter()
                .any(|own| own.start <= range.start && range.end <= own.end)
    }

    fn overlaps(&self, range: Range<u32>) -> bool {
        self.0
            .iter()
            .any(|own| own.start < range.end && range.start < own.end)
    }

    /// Adds a range that overlaps none.
    fn add(&mut self, mut range: Range<u32>) -> Result<(), Fault> {
        self.0.retain(|own| {
            let touches = own.end == range.start || range.end == own.start;
            if touches {
                range = own.start.min(range.start)..own.end.max(range.end);
            }
            !touches
        });
        let at = self.0.partition_point(|own| own.start < range.start);
        self.0.insert(at, range);
        if self.0.len() > MOST_STRETCHES {
            return Err(Fault::BadFragment);
        }
        Ok(())
    }

    /// The end of the last.
    fn end(&self) -> u32 {
        self.0.last().map_or(0, |range| range.end)
    }

    /// The end of the one that begins at 0.
    fn first_end(&self) -> u32 {
        match self.0.first() {
            Some(range) if range.start == 0 => range.end,
            _ => 0,
        }
    }
}
