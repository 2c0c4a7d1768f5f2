//! pcap (draft-ietf-opsawg-pcap): records of one link layer, one after the other.
//!
//! Nothing marks where a record begins, so that a length that is wrong makes nonsense of all that
//! follows. A record is therefore taken only together with the header of the next; where that one
//! makes no sense, the file is searched for the next few records in a row that do, first inside
//! the record whose length may be what is wrong, then behind it.

use cclab_units::Time;

use super::bytes::Order;
use super::record::{Found, Record};
use super::window::Window;
use super::{Fault, LinkType, Skipped};

/// Bytes of the file's header.
const FILE_HEADER: usize = 24;
/// The longest record that is believed: the most that libpcap and Wireshark take of a network.
const LONGEST: u32 = 256 * 1024;
/// The longest packet that is believed to have been on the wire.
const LONGEST_PACKET: u32 = 16 * 1024 * 1024;
/// Records in a row that are no accident.
const ROW: usize = 3;
/// Seconds between one record and the next, either way, that need no second look.
const DAY: u32 = 24 * 60 * 60;
/// Bytes that are searched before they are passed.
const SEARCHED: usize = 256 * 1024;

/// What the header of a file says of its records.
pub(super) struct Pcap {
    order: Order,
    link: LinkType,
    /// Bytes of a record's header.
    header: usize,
    /// Fractions of a second that make one.
    fractions: u32,
    /// Nanoseconds of one.
    nanos_each: u64,
    /// When the latest record was seen, in seconds.
    near: Option<u32>,
    /// The header of the next record, if it was looked at with the one before.
    ahead: Option<Header>,
    /// Whether the next record has to be searched for.
    lost: bool,
}

/// A record's header.
#[derive(Clone, Copy)]
struct Header {
    seconds: u32,
    fraction: u32,
    kept: u32,
    wire_len: u32,
}

/// How much is asked of a header.
#[derive(Clone, Copy)]
enum Belief {
    /// It is as the format has it, and near in time to the one before it.
    Strict,
    /// Its lengths can be.
    Lenient,
}

impl Pcap {
    /// The file that `window` shows, if it is one, and its header passed; None if the header is
    /// not whole. The caller has seen one of the magic numbers.
    pub fn open(window: &mut Window) -> Option<Pcap> {
        if !window.want(FILE_HEADER) {
            return None;
        }
        let data = window.data();
        let order = match data[0] {
            0xa1 => Order::Big,
            _ => Order::Little,
        };
        let (header, fractions) = match order.word(data, 0)? {
            0xa1b2_3c4d => (16, 1_000_000_000),
            // Records of Kuznetzov's libpcap tell the interface and more.
            0xa1b2_cd34 => (24, 1_000_000),
            _ => (16, 1_000_000),
        };
        // The upper half holds the length of the frame check sequence.
        let link = LinkType(order.word(data, 20)? as u16);
        window.pass(FILE_HEADER);
        Some(Pcap {
            order,
            link,
            header,
            fractions,
            nanos_each: u64::from(1_000_000_000 / fractions),
            near: None,
            ahead: None,
            lost: false,
        })
    }

    /// The next record, where it is as nearly all are: its header was looked at with the record
    /// before, and so is the one behind it now, which is there and as the format has it.
    #[inline(always)]
    pub fn ordinary(&mut self, window: &mut Window) -> Option<Record> {
        let header = self.ahead?;
        let end = self.header + header.kept as usize;
        let (_, behind) = window.data().split_at_checked(end)?;
        let next = self.at(behind, 0)?;
        if !self.is_believed(&next, self.near, Belief::Strict) {
            return None;
        }
        self.ahead = Some(next);
        Some(self.pass(&header, end, window))
    }

    /// The next record, if there is one.
    pub fn next(&mut self, window: &mut Window) -> Found {
        self.ahead = None;
        if self.lost {
            return self.search(window);
        }
        if !window.want(self.header) {
            return Found::End;
        }
        let Some(header) = self.at(window.data(), 0) else {
            return Found::End;
        };
        // The first record of a file is the only one that was not looked at with the one before.
        if self.near.is_none() && !self.believable(window, 0) {
            return self.search(window);
        }
        let mut end = self.header + header.kept as usize;
        let whole = window.want(end + self.header) || window.data().len() >= end;
        let mut skipped = None;
        if !whole || !self.believable(window, end) {
            let inside = self.header + 1..end;
            self.want_row(window, end);
            match self.find(window, inside) {
                Some(next) => {
                    end = next;
                    skipped = Some(Skipped {
                        fault: Fault::LostTrack,
                        bytes: 0,
                    });
                }
                None if !whole => return Found::End,
                None => self.lost = true,
            }
        }
        let record = self.pass(&header, end, window);
        if !self.lost {
            self.ahead = self.at(window.data(), 0);
        }
        Found::Record(record, skipped)
    }

    /// Passes the record of `header`, which ends at `end`, and gives it.
    #[inline]
    fn pass(&mut self, header: &Header, end: usize, window: &mut Window) -> Record {
        self.near = Some(header.seconds);
        let fraction = u64::from(header.fraction) * self.nanos_each;
        Record {
            time: Time::from_nanos(u64::from(header.seconds) * 1_000_000_000 + fraction),
            link: self.link,
            wire_len: header.wire_len.max(header.kept),
            data: window.pass(end).part(self.header, usize::MAX),
        }
    }

    /// Passes what makes no sense, up to the next records that do.
    fn search(&mut self, window: &mut Window) -> Found {
        self.lost = false;
        let mut bytes = 0;
        let mut start = 1;
        loop {
            self.want_row(window, SEARCHED);
            let end = window.data().len().min(SEARCHED);
            let found = self.find(window, start..end);
            let passed = found.unwrap_or(end);
            window.pass(passed);
            bytes += passed as u64;
            start = 0;
            if found.is_some() || end == 0 {
                // Its own header needs no second look.
                let next = self.at(window.data(), 0);
                self.near = next.map(|header| header.seconds).or(self.near);
                return Found::Skipped(Skipped {
                    fault: Fault::LostTrack,
                    bytes,
                });
            }
        }
    }

    /// Reads on until a row of records that begins before `end` is there as a whole, or the file
    /// ends.
    fn want_row(&self, window: &mut Window, end: usize) {
        window.want(end + ROW * (self.header + LONGEST as usize));
    }

    /// Where in `places` the first row of records begins.
    fn find(&self, window: &Window, mut places: std::ops::Range<usize>) -> Option<usize> {
        let data = window.data();
        places.find(|&at| self.row(data, at, Belief::Strict))
    }

    /// Whether what follows at `at` is a record, or the end of the file.
    #[inline]
    fn believable(&self, window: &mut Window, at: usize) -> bool {
        match self.at(window.data(), at) {
            Some(header) => {
                self.is_believed(&header, self.near, Belief::Strict)
                    || self.is_odd_but_right(window, at)
            }
            // What is left is too short for one: the file is cut off there.
            None => true,
        }
    }

    /// Whether records follow at `at` that are written in some program's own way: fractions of
    /// more than a second, lengths that contradict each other, a clock that was set.
    #[cold]
    fn is_odd_but_right(&self, window: &mut Window, at: usize) -> bool {
        self.want_row(window, at);
        self.row(window.data(), at, Belief::Lenient)
    }

    /// Whether a row of records begins at `at`: [`ROW`], or fewer that end where the file ends, or
    /// all but one of them if that is cut off. As many bytes were read as a row can have.
    fn row(&self, data: &[u8], mut at: usize, belief: Belief) -> bool {
        let mut near = self.near;
        for seen in 0..ROW {
            if at >= data.len() {
                return if at == data.len() { seen > 0 } else { seen > 1 };
            }
            let Some(header) = self.at(data, at) else {
                return seen > 1;
            };
            if !self.is_believed(&header, near, belief) {
                return false;
            }
            near = Some(header.seconds);
            at += self.header + header.kept as usize;
        }
        true
    }

    #[inline]
    fn is_believed(&self, header: &Header, near: Option<u32>, belief: Belief) -> bool {
        if header.kept > LONGEST {
            return false;
        }
        match belief {
            Belief::Strict => {
                header.kept <= header.wire_len
                    && (1..=LONGEST_PACKET).contains(&header.wire_len)
                    && header.fraction < self.fractions
                    && near.is_none_or(|near| near.abs_diff(header.seconds) <= DAY)
            }
            Belief::Lenient => header.kept > 0,
        }
    }

    /// The header at `at`, if there is a whole one.
    #[inline]
    fn at(&self, data: &[u8], at: usize) -> Option<Header> {
        let bytes = data.get(at..at + self.header)?.first_chunk::<16>()?;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let words = [word(0), word(4), word(8), word(12)];
        let [seconds, fraction, kept, wire_len] = match self.order {
            Order::Little => words,
            Order::Big => words.map(u32::swap_bytes),
        };
        Some(Header {
            seconds,
            fraction,
            kept,
            wire_len,
        })
    }
}
