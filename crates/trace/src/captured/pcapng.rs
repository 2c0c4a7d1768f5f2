//! pcapng (draft-ietf-opsawg-pcapng): sections of blocks, each of which tells its length twice.
//!
//! Where the two lengths of a block differ, the file is searched for the next block that is whole.

use cclab_units::Time;

use super::bytes::Order;
use super::record::{Found, Record};
use super::window::Window;
use super::{Fault, LinkType, Skipped};

/// The longest block that is believed, as Wireshark does.
const LONGEST: u32 = 16 * 1024 * 1024;
/// The most interfaces of a section that are believed.
const MOST_INTERFACES: usize = 1 << 16;
/// Bytes of a block without its body.
const FRAME: usize = 12;
/// Bytes that are searched before they are passed.
const SEARCHED: usize = 256 * 1024;

/// Types of blocks. That of the section header is the same in both byte orders.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const PACKETS_AND_HEADERS: [u32; 5] = [
    SECTION_HEADER,
    INTERFACE_DESCRIPTION,
    OBSOLETE_PACKET,
    SIMPLE_PACKET,
    ENHANCED_PACKET,
];
/// Those that are searched for beside them: names, statistics, journal entries, secrets, custom.
const OTHERS: [u32; 6] = [4, 5, 9, 10, 0x0bad, 0x4000_0bad];
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Options of an interface.
const END_OF_OPTIONS: u16 = 0;
const RESOLUTION: u16 = 9;
const OFFSET: u16 = 14;

/// What the blocks so far say about those to come.
pub(super) struct Pcapng {
    /// The byte order of this section.
    order: Order,
    /// The interfaces of this section; None for one that cannot be understood.
    interfaces: Vec<Option<Interface>>,
    /// The time of the latest packet that has one.
    latest: Time,
}

/// An interface of a section.
#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    /// Bytes that are kept of a packet; 0 for all.
    snap_len: u32,
    clock: Clock,
    /// What is added to its times.
    offset_s: i64,
}

/// How units of a clock become nanoseconds.
#[derive(Clone, Copy)]
enum Clock {
    Times(u64),
    Parts(u64),
    /// Units of 2^-n s.
    Binary(u32),
}

impl Pcapng {
    /// The file that `window` shows, which begins as one; None if its first header is not whole.
    pub fn open(window: &mut Window) -> Option<Pcapng> {
        window.want(FRAME);
        Some(Pcapng {
            order: section_order(window.data())?,
            interfaces: Vec::new(),
            latest: Time::ZERO,
        })
    }

    /// The next packet, where it is as nearly all are: in an enhanced block that is there as a whole, of an interface that
    /// is understood.
    #[inline(always)]
    pub fn ordinary(&mut self, window: &mut Window) -> Option<Record> {
        const FIXED: usize = 28;
        let data = window.data();
        let head = &data.first_chunk::<FIXED>()?[..];
        let word = |at| self.order.word(head, at);
        let length = word(4)? as usize;
        let kept = word(20)? as usize;
        if word(0)? != ENHANCED_PACKET
            || length > LONGEST as usize
            || !length.is_multiple_of(4)
            || kept > length.checked_sub(FIXED + 4)?
            || self.order.word(data, length - 4)? as usize != length
        {
            return None;
        }
        let interface = (*self.interfaces.get(word(8)? as usize)?)?;
        self.latest = interface.time(u64::from(word(12)?) << 32 | u64::from(word(16)?));
        Some(Record {
            time: self.latest,
            link: interface.link,
            wire_len: word(24)?,
            data: window.pass(length).part(FIXED, kept),
        })
    }

    /// The next packet, if there is one.
    pub fn next(&mut self, window: &mut Window) -> Found {
        loop {
            if !window.want(FRAME) {
                return Found::End;
            }
            let Some((kind, length)) = self.block(window, 0) else {
                return self.search(window);
            };
            let block = window.pass(length);
            let body = window.passed(block);
            let body = &body[8..length - 4];
            let taken = match kind {
                SECTION_HEADER => {
                    self.order = section_order(window.passed(block)).unwrap_or(self.order);
                    self.interfaces.clear();
                    continue;
                }
                INTERFACE_DESCRIPTION => {
                    let interface = Interface::read(body, self.order);
                    let understood = interface.is_some();
                    // They are known by number, so that one that cannot be read is counted too.
                    if self.interfaces.len() < MOST_INTERFACES {
                        self.interfaces.push(interface);
                    }
                    if understood {
                        continue;
                    }
                    Err(Fault::DamagedBlock)
                }
                ENHANCED_PACKET => self.packet(body, Order::word),
                OBSOLETE_PACKET => {
                    self.packet(body, |order, body, at| order.half(body, at).map(u32::from))
                }
                SIMPLE_PACKET => self.simple_packet(body),
                _ => continue,
            };
            return match taken {
                Ok(packet) => Found::Record(
                    Record {
                        time: packet.time,
                        link: packet.link,
                        wire_len: packet.wire_len,
                        data: block.part(8 + packet.before, packet.kept),
                    },
                    packet.doubt.map(Skipped::from),
                ),
                Err(fault) => Found::Skipped(fault.into()),
            };
        }
    }

    /// A packet with the number of its interface, which `number` reads, and its time.
    fn packet(
        &mut self,
        body: &[u8],
        number: impl Fn(Order, &[u8], usize) -> Option<u32>,
    ) -> Result<Packet, Fault> {
        const FIXED: usize = 20;
        let word = |at| self.order.word(body, at).ok_or(Fault::DamagedBlock);
        let (high, low) = (word(4)?, word(8)?);
        let (kept, wire_len) = (word(12)? as usize, word(16)?);
        if kept > body.len() - FIXED {
            return Err(Fault::DamagedBlock);
        }
        let number = number(self.order, body, 0).ok_or(Fault::DamagedBlock)?;
        let described = self.interfaces.get(number as usize).copied().flatten();
        let interface = described.ok_or(Fault::UnknownInterface)?;
        self.latest = interface.time(u64::from(high) << 32 | u64::from(low));
        Ok(Packet {
            time: self.latest,
            link: interface.link,
            wire_len,
            before: FIXED,
            kept,
            doubt: None,
        })
    }

    /// A packet of the first interface, without a time.
    fn simple_packet(&self, body: &[u8]) -> Result<Packet, Fault> {
        const FIXED: usize = 4;
        let wire_len = self.order.word(body, 0).ok_or(Fault::DamagedBlock)?;
        let described = self.interfaces.first().copied().flatten();
        let interface = described.ok_or(Fault::UnknownInterface)?;
        let limit = match interface.snap_len {
            0 => u32::MAX,
            bytes => bytes,
        };
        Ok(Packet {
            time: self.latest,
            link: interface.link,
            wire_len,
            before: FIXED,
            kept: (body.len() - FIXED).min(wire_len.min(limit) as usize),
            doubt: Some(Fault::NoTime),
        })
    }

    /// Passes what makes no sense, up to the next block that does.
    fn search(&self, window: &mut Window) -> Found {
        let claimed = self.length(window.data(), 0);
        // If nothing is found inside a block that goes on beyond the end, the file is cut off.
        let cut = claimed.is_some_and(|(_, length)| window.data().len() < length);
        let mut bytes = 0;
        let mut at = 1;
        while window.want(at + FRAME) {
            if self.is_known(window.data(), at) && self.block(window, at).is_some() {
                window.pass(at);
                return Found::Skipped(Skipped {
                    fault: Fault::LostTrack,
                    bytes: bytes + at as u64,
                });
            }
            at += 1;
            if at > SEARCHED && !cut {
                window.pass(at);
                bytes += at as u64;
                at = 0;
            }
        }
        if cut {
            return Found::End;
        }
        bytes += window.data().len() as u64;
        window.pass(window.data().len());
        Found::Skipped(Skipped {
            fault: Fault::LostTrack,
            bytes,
        })
    }

    /// Type and length of the block at `at`, if it is whole.
    #[inline]
    fn block(&self, window: &mut Window, at: usize) -> Option<(u32, usize)> {
        let (order, length) = self.length(window.data(), at)?;
        if !window.want(at + length) {
            return None;
        }
        let data = window.data();
        let again = order.word(data, at + length - 4)?;
        (again as usize == length).then_some((order.word(data, at)?, length))
    }

    /// Byte order and length of the block at `at`, if it can have that length.
    #[inline]
    fn length(&self, data: &[u8], at: usize) -> Option<(Order, usize)> {
        let order = match self.order.word(data, at)? {
            SECTION_HEADER => section_order(&data[at..])?,
            _ => self.order,
        };
        let length = order.word(data, at + 4)?;
        let plausible = length as usize >= FRAME && length <= LONGEST && length.is_multiple_of(4);
        plausible.then_some((order, length as usize))
    }

    /// Whether the block at `at` is of a type that is searched for.
    fn is_known(&self, data: &[u8], at: usize) -> bool {
        let kind = self.order.word(data, at);
        kind.is_some_and(|kind| PACKETS_AND_HEADERS.contains(&kind) || OTHERS.contains(&kind))
    }
}

/// A packet in a block.
struct Packet {
    time: Time,
    link: LinkType,
    wire_len: u32,
    /// Bytes of the body before it.
    before: usize,
    kept: usize,
    doubt: Option<Fault>,
}

impl Interface {
    /// The interface that `body` describes; None if it is damaged, or the clock's resolution
    /// beyond all measure.
    fn read(body: &[u8], order: Order) -> Option<Interface> {
        let mut interface = Interface {
            link: LinkType(order.half(body, 0)?),
            snap_len: order.word(body, 4)?,
            clock: Clock::Times(1000),
            offset_s: 0,
        };
        let mut rest = &body[8..];
        // Options are read as far as they make sense.
        while let (Some(code), Some(length)) = (order.half(rest, 0), order.half(rest, 2)) {
            let length = usize::from(length);
            let Some(value) = rest.get(4..4 + length) else {
                break;
            };
            match (code, value) {
                (END_OF_OPTIONS, _) => break,
                (RESOLUTION, &[resolution, ..]) => interface.clock = Clock::new(resolution)?,
                (OFFSET, _) => interface.offset_s = order.signed(value).unwrap_or(0),
                _ => {}
            }
            rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or(&[]);
        }
        Some(interface)
    }

    /// `units` of its clock as a time; what lies outside the range of times becomes its end.
    #[inline]
    fn time(self, units: u64) -> Time {
        let ns = self.clock.nanoseconds(units);
        if self.offset_s == 0 {
            return Time::from_nanos(ns);
        }
        let shifted = i128::from(ns) + i128::from(self.offset_s) * 1_000_000_000;
        Time::from_nanos(u64::try_from(shifted.max(0)).unwrap_or(u64::MAX))
    }
}

impl Clock {
    /// Powers of ten, or of two if the highest bit is set.
    fn new(resolution: u8) -> Option<Clock> {
        let exponent = u32::from(resolution & 0x7f);
        if resolution & 0x80 != 0 {
            return Some(Clock::Binary(exponent));
        }
        match exponent.checked_sub(9) {
            None => Some(Clock::Times(10u64.pow(9 - exponent))),
            Some(finer) => 10u64.checked_pow(finer).map(Clock::Parts),
        }
    }

    #[inline]
    fn nanoseconds(self, units: u64) -> u64 {
        match self {
            Clock::Times(ns) => units.saturating_mul(ns),
            Clock::Parts(parts) => units / parts,
            Clock::Binary(exponent) => {
                let ns = (u128::from(units) * 1_000_000_000) >> exponent;
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
        }
    }
}

/// The byte order of the section whose header `block` begins with.
fn section_order(block: &[u8]) -> Option<Order> {
    let order = [Order::Little, Order::Big];
    order
        .into_iter()
        .find(|order| order.word(block, 8) == Some(BYTE_ORDER_MAGIC))
}
