//! The pages of the kernel's trace ring (include/linux/ring_buffer.h, kernel/trace/ring_buffer.c
//! of Linux), as read from `trace_pipe_raw`.
//!
//! A page begins with a time and a count of the bytes in use; then follow records of 5 bits of
//! type or length, 27 bits of time since the record before, and data. A processor's pages are
//! in the order of time; those of several processors are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::HarvestError;
use crate::format::{Field, Format};

/// Types of records that are not data.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of a record's header for its type or length; the rest is time.
const TYPE_BITS: u32 = 5;
/// Bits of time in a record's header.
const DELTA_BITS: u32 = 27;
/// Bits of an absolute time that only the page's own time has.
const PAGE_TIME_BITS: u64 = 0x1f << 59;
/// Events were lost before this page.
const MISSED_EVENTS: u64 = 1 << 31;
/// The bits of the count that are flags.
const FLAGS: u64 = 3 << 30;
/// The most processors whose pages are told apart; each costs an open file.
const MAX_STREAMS: usize = 512;
/// The largest page: the kernel's limit for a part of its ring.
const MAX_PAGE: usize = 1 << 24;

/// The layout of a page.
#[derive(Clone, Copy, Debug)]
pub struct PageFormat {
    size: usize,
    time: Field,
    commit: Field,
    data: usize,
}

impl PageFormat {
    /// Pages of `size` bytes, laid out as the text of `header_page` says.
    ///
    /// # Errors
    /// If the text is not what the kernel writes, or does not fit the size.
    pub fn new(size: usize, header_page: &str) -> Result<PageFormat, String> {
        let format = Format::parse(header_page)?;
        let required = |name| {
            let field = format.field(name);
            field.ok_or_else(|| format!("the ring's pages have no field {name}"))
        };
        let (time, commit) = (required("timestamp")?, required("commit")?);
        let data = required("data")?.offset();
        if size > MAX_PAGE || data >= size {
            return Err(format!("pages of {size} bytes cannot hold the ring"));
        }
        Ok(PageFormat {
            size,
            time,
            commit,
            data,
        })
    }

    /// The records of a page.
    fn open(&self, page: &[u8]) -> Result<Records, String> {
        let number = |field: Field| field.number(page).ok_or("a page without a header");
        let (time, commit) = (number(self.time)?, number(self.commit)?);
        let used = usize::try_from(commit & !FLAGS).unwrap_or(usize::MAX);
        if used > self.size - self.data {
            return Err(format!("{used} bytes in use of a page of {}", self.size));
        }
        Ok(Records {
            time,
            page_time: time,
            missed: commit & MISSED_EVENTS != 0,
            at: self.data,
            end: self.data + used,
        })
    }
}

/// Walks the records of one page.
#[derive(Clone, Copy, Debug, Default)]
struct Records {
    time: u64,
    page_time: u64,
    missed: bool,
    at: usize,
    end: usize,
}

impl Records {
    /// Time and place of the next event's data in `page`; `None` at the end.
    fn next(&mut self, page: &[u8]) -> Result<Option<(u64, Range<usize>)>, String> {
        while self.at < self.end {
            let header = self.word(page, 0)?;
            let kind = header & ((1 << TYPE_BITS) - 1);
            let delta = u64::from(header >> TYPE_BITS);
            match kind {
                PADDING if delta == 0 => break,
                PADDING => {
                    self.time = self.time.wrapping_add(delta);
                    let length = self.word(page, 1)? as usize;
                    self.skip(4, length)?;
                }
                TIME_EXTEND => {
                    let high = u64::from(self.word(page, 1)?) << DELTA_BITS;
                    self.time = self.time.wrapping_add(high + delta);
                    self.skip(8, 0)?;
                }
                TIME_STAMP => {
                    let high = u64::from(self.word(page, 1)?) << DELTA_BITS;
                    self.time = (high + delta) | (self.page_time & PAGE_TIME_BITS);
                    self.skip(8, 0)?;
                }
                // The length follows and counts itself.
                0 => {
                    self.time = self.time.wrapping_add(delta);
                    let length = (self.word(page, 1)? as usize)
                        .checked_sub(4)
                        .ok_or("a record without a length")?;
                    return Ok(Some((self.time, self.skip(8, length)?)));
                }
                words => {
                    self.time = self.time.wrapping_add(delta);
                    return Ok(Some((self.time, self.skip(4, words as usize * 4)?)));
                }
            }
        }
        Ok(None)
    }

    /// The 32-bit word number `index` of the record at hand.
    fn word(&self, page: &[u8], index: usize) -> Result<u32, String> {
        let start = self.at + index * 4;
        let bytes = (start + 4 <= self.end).then(|| page.get(start..start + 4));
        let bytes = bytes.flatten().ok_or("a record that its page cuts off")?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Goes on behind a record of `head` and `length` bytes; returns where its data were.
    fn skip(&mut self, head: usize, length: usize) -> Result<Range<usize>, String> {
        let start = self.at + head;
        if length > self.end - start.min(self.end) {
            return Err("a record that its page cuts off".to_owned());
        }
        // Records begin at multiples of four bytes.
        self.at = (start + length).next_multiple_of(4);
        Ok(start..start + length)
    }
}

/// A file of pages.
#[derive(Debug)]
pub struct Ring {
    path: PathBuf,
    format: PageFormat,
    /// The pages of each stream in the order of time: of a processor, as far as can be told.
    streams: Vec<Stream>,
}

#[derive(Debug, Default)]
struct Stream {
    /// Page numbers in the file.
    pages: Vec<u64>,
    /// Time of its last event.
    last: u64,
}

impl Ring {
    /// Looks through the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read, is damaged, or lacks events that the kernel lost.
    pub fn open(path: &Path, format: PageFormat) -> Result<Ring, HarvestError> {
        let mut ring = Ring {
            path: path.to_owned(),
            format,
            streams: Vec::new(),
        };
        let mut file = ring.file()?;
        let mut page = vec![0; format.size];
        for number in 0.. {
            if !ring.read_page(&mut file, &mut page)? {
                break;
            }
            let (first, last) = ring.span(number, &page)?;
            ring.assign(number, first, last)?;
        }
        Ok(ring)
    }

    fn file(&self) -> Result<File, HarvestError> {
        File::open(&self.path).map_err(|e| HarvestError::io(&self.path, e))
    }

    /// Fills `page` from `file`; false at its end.
    fn read_page(&self, file: &mut File, page: &mut [u8]) -> Result<bool, HarvestError> {
        let mut filled = 0;
        while filled < page.len() {
            match file.read(&mut page[filled..]) {
                Ok(0) if filled == 0 => return Ok(false),
                Ok(0) => {
                    let reason = format!("it ends {filled} bytes into a page of {}", page.len());
                    return Err(HarvestError::damaged(&self.path, reason));
                }
                Ok(read) => filled += read,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(HarvestError::io(&self.path, e)),
            }
        }
        Ok(true)
    }

    /// Times of the first and the last event of a page; its own time where it has none.
    fn span(&self, number: u64, page: &[u8]) -> Result<(u64, u64), HarvestError> {
        let fault = |reason| self.damaged(number, reason);
        let mut records = self.format.open(page).map_err(fault)?;
        if records.missed {
            return Err(HarvestError::EventsLost(None));
        }
        let mut times: Option<(u64, u64)> = None;
        while let Some((time, _)) = records.next(page).map_err(fault)? {
            let first = times.map_or(time, |times| times.0);
            if times.is_some_and(|times| time < times.1) {
                return Err(self.damaged(number, "time runs backwards".to_owned()));
            }
            times = Some((first, time));
        }
        Ok(times.unwrap_or((records.page_time, records.page_time)))
    }

    /// Puts a page behind the stream that ends closest before it.
    fn assign(&mut self, number: u64, first: u64, last: u64) -> Result<(), HarvestError> {
        let before = self.streams.iter_mut().filter(|s| s.last <= first);
        if let Some(stream) = before.max_by_key(|stream| stream.last) {
            stream.pages.push(number);
            stream.last = last;
            return Ok(());
        }
        if self.streams.len() == MAX_STREAMS {
            return Err(self.damaged(number, "the pages are in no order of time".to_owned()));
        }
        self.streams.push(Stream {
            pages: vec![number],
            last,
        });
        Ok(())
    }

    fn damaged(&self, page: u64, reason: String) -> HarvestError {
        HarvestError::damaged(&self.path, format!("page {page}: {reason}"))
    }
}

/// Calls `take` with the index of its ring, time and data of each event in `rings`, in the order of
/// time; those of one instant in the order of the rings, and of the file.
///
/// # Errors
/// If a file cannot be read or is damaged, or the first error of `take`.
pub fn for_each<'a>(
    rings: impl IntoIterator<Item = &'a Ring>,
    mut take: impl FnMut(usize, u64, &[u8]) -> Result<(), String>,
) -> Result<(), HarvestError> {
    let mut cursors: Vec<(usize, Cursor<'_>)> = Vec::new();
    let mut waiting = BinaryHeap::new();
    for (number, ring) in rings.into_iter().enumerate() {
        for stream in &ring.streams {
            let mut cursor = Cursor::new(ring, &stream.pages)?;
            if let Some(time) = cursor.advance()? {
                waiting.push(Reverse((time, cursors.len())));
            }
            cursors.push((number, cursor));
        }
    }
    while let Some(Reverse((mut time, index))) = waiting.pop() {
        let (number, cursor) = &mut cursors[index];
        loop {
            let taken = take(*number, time, cursor.data());
            taken.map_err(|e| cursor.ring.damaged(cursor.page_number(), e))?;
            let Some(next) = cursor.advance()? else { break };
            let other = waiting.peek().map_or((u64::MAX, usize::MAX), |top| top.0);
            if (next, index) > other {
                waiting.push(Reverse((next, index)));
                break;
            }
            time = next;
        }
    }
    Ok(())
}

/// A place in a stream.
struct Cursor<'a> {
    ring: &'a Ring,
    file: File,
    pages: &'a [u64],
    /// Pages read so far.
    read: usize,
    page: Vec<u8>,
    records: Records,
    data: Range<usize>,
}

impl<'a> Cursor<'a> {
    fn new(ring: &'a Ring, pages: &'a [u64]) -> Result<Cursor<'a>, HarvestError> {
        Ok(Cursor {
            ring,
            file: ring.file()?,
            pages,
            read: 0,
            page: vec![0; ring.format.size],
            records: Records::default(),
            data: 0..0,
        })
    }

    /// Goes to the next event; returns its time, or `None` at the end.
    fn advance(&mut self) -> Result<Option<u64>, HarvestError> {
        loop {
            let next = self.records.next(&self.page);
            match next.map_err(|e| self.ring.damaged(self.page_number(), e))? {
                Some((time, data)) => {
                    self.data = data;
                    return Ok(Some(time));
                }
                None if self.read == self.pages.len() => return Ok(None),
                None => self.next_page()?,
            }
        }
    }

    fn next_page(&mut self) -> Result<(), HarvestError> {
        let number = self.pages[self.read];
        self.read += 1;
        let at = SeekFrom::Start(number * self.page.len() as u64);
        self.file
            .seek(at)
            .map_err(|e| HarvestError::io(&self.ring.path, e))?;
        if !self.ring.read_page(&mut self.file, &mut self.page)? {
            return Err(self.ring.damaged(number, "it has gone".to_owned()));
        }
        let records = self.ring.format.open(&self.page);
        self.records = records.map_err(|e| self.ring.damaged(number, e))?;
        Ok(())
    }

    fn data(&self) -> &[u8] {
        &self.page[self.data.clone()]
    }

    fn page_number(&self) -> u64 {
        self.read
            .checked_sub(1)
            .map_or(0, |index| self.pages[index])
    }
}
