//! pcap (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng) as one stream of frames.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use cclab_units::Time;
use pcap_parser::pcapng::{Block, InterfaceDescriptionBlock, OptionCode};
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{
    LegacyPcapBlock, LegacyPcapReader, PcapBlockOwned, PcapError, PcapHeader, PcapNGReader,
};

use super::source::{Failure, Source, decompressed};
use super::{CaptureError, Compression, Fault, Frame, LinkType};

/// Bytes that are read at once.
const BUFFER: usize = 256 * 1024;
/// The longest record that is believed: Wireshark takes none beyond 128 MiB, and none of a
/// network beyond 256 KiB.
const LONGEST_RECORD: usize = 16 * 1024 * 1024;
/// The most interfaces of a section that are believed.
const MOST_INTERFACES: usize = 1 << 16;
/// Type of pcapng's section header block, the same in both byte orders.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
/// Type of pcapng's interface description block.
const INTERFACE_DESCRIPTION: u32 = 1;
/// Type of pcapng's obsolete packet block.
const OBSOLETE_PACKET: u32 = 2;

/// The format of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Records of one link layer and one resolution.
    Pcap,
    /// Blocks, of any number of interfaces.
    Pcapng,
}

/// A capture that is open.
pub struct CaptureFile {
    format: Format,
    compression: Compression,
    reader: Box<dyn PcapReaderIterator>,
    failure: Failure,
    state: State,
}

/// What the records so far say about those to come.
#[derive(Default)]
struct State {
    /// pcap: the link layer, and nanoseconds per unit of the fraction of a second.
    header: Option<(LinkType, u64)>,
    /// pcapng: the interfaces of this section.
    interfaces: Vec<Option<Interface>>,
    /// pcapng: the byte order of this section.
    big_endian: bool,
    /// Size of the buffer.
    capacity: usize,
}

/// An interface of a pcapng section.
#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    /// Units of its clock per second.
    units: u128,
    /// What is added to its times.
    offset_s: i64,
}

/// What to do after a look at the reader.
enum Step {
    Consume(usize),
    Refill,
    Grow,
    Stop(Option<Fault>),
}

impl CaptureFile {
    /// Opens the capture at `path`.
    pub fn open(path: &Path) -> Result<CaptureFile, CaptureError> {
        let io = |source| CaptureError::Io {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(io)?;
        CaptureFile::from_reader(file, path)
    }

    /// The capture that `bytes` hold; messages call it `name`.
    pub fn from_reader(
        bytes: impl Read + 'static,
        name: &Path,
    ) -> Result<CaptureFile, CaptureError> {
        let io = |source| CaptureError::Io {
            path: name.to_owned(),
            source,
        };
        let (mut source, compression, failure) = decompressed(bytes).map_err(io)?;
        let mut first = Vec::new();
        let begin = Read::take(&mut source, 4).read_to_end(&mut first);
        begin.map_err(io)?;
        let failed = failure.borrow_mut().take();
        if let Some(error) = failed {
            return Err(io(error));
        }
        let magic = <[u8; 4]>::try_from(first.as_slice()).map(u32::from_be_bytes);
        let found = beginning(&first);
        let source = Rejoined {
            first,
            rest: source,
        };
        let opened = match magic {
            Ok(SECTION_HEADER) => boxed(Format::Pcapng, PcapNGReader::new(BUFFER, source)),
            Ok(0xa1b2_c3d4 | 0xd4c3_b2a1 | 0xa1b2_3c4d | 0x4d3c_b2a1 | 0x34cd_b2a1) => {
                boxed(Format::Pcap, LegacyPcapReader::new(BUFFER, source))
            }
            _ => Err(found),
        };
        let (format, reader) = opened.map_err(|found| CaptureError::NotACapture {
            path: name.to_owned(),
            found,
        })?;
        Ok(CaptureFile {
            format,
            compression,
            reader,
            failure,
            state: State {
                capacity: BUFFER,
                ..State::default()
            },
        })
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How the file is compressed.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Hands every frame to `frame` and whatever is skipped to `fault`, in the order of the file.
    pub fn read(mut self, mut frame: impl FnMut(Frame<'_>), mut fault: impl FnMut(Fault)) {
        loop {
            match self.step(&mut frame, &mut fault) {
                Step::Consume(bytes) => self.reader.consume(bytes),
                Step::Refill => {
                    if self.reader.refill().is_err() {
                        fault(Fault::Unreadable);
                        return;
                    }
                }
                Step::Grow => {
                    self.state.capacity *= 2;
                    self.reader.grow(self.state.capacity);
                }
                Step::Stop(reason) => {
                    reason.into_iter().for_each(&mut fault);
                    return;
                }
            }
        }
    }

    fn step(&mut self, frame: &mut impl FnMut(Frame<'_>), fault: &mut impl FnMut(Fault)) -> Step {
        let error = match self.reader.next() {
            Ok((bytes, block)) => {
                match self.state.take(&block) {
                    Ok(Some(seen)) => frame(seen),
                    Ok(None) => {}
                    Err(reason) => fault(reason),
                }
                return Step::Consume(bytes);
            }
            Err(error) => Condition::from(error),
        };
        let data = self.reader.data();
        // The parser takes a block whose contents want more than its length for one that is not
        // whole yet.
        if self.format == Format::Pcapng
            && let Some(bytes) = whole_block(data, self.state.big_endian)
        {
            fault(Fault::DamagedBlock);
            self.state.pass_over(data);
            return Step::Consume(bytes);
        }
        match error {
            Condition::Incomplete if data.len() < self.state.capacity => Step::Refill,
            Condition::Incomplete | Condition::BufferTooSmall
                if self.state.capacity < LONGEST_RECORD =>
            {
                Step::Grow
            }
            Condition::End => Step::Stop(match (data.is_empty(), &*self.failure.borrow()) {
                (_, Some(error)) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                    Some(Fault::Unreadable)
                }
                // A compressed file that ends early is cut off as any other.
                (_, Some(_)) | (false, None) => Some(Fault::CutOff),
                (true, None) => None,
            }),
            Condition::Incomplete | Condition::BufferTooSmall | Condition::Damaged => {
                Step::Stop(Some(Fault::LostTrack))
            }
        }
    }
}

/// An error of the parser, without what it borrows.
enum Condition {
    Incomplete,
    BufferTooSmall,
    End,
    Damaged,
}

impl<I> From<PcapError<I>> for Condition {
    fn from(error: PcapError<I>) -> Condition {
        match error {
            PcapError::Incomplete(_) => Condition::Incomplete,
            PcapError::BufferTooSmall => Condition::BufferTooSmall,
            PcapError::Eof | PcapError::UnexpectedEof | PcapError::ReadError => Condition::End,
            _ => Condition::Damaged,
        }
    }
}

impl State {
    /// The frame in `block`, if it holds one.
    fn take<'a>(&mut self, block: &'a PcapBlockOwned<'a>) -> Result<Option<Frame<'a>>, Fault> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.header = Some(pcap_header(header));
                Ok(None)
            }
            PcapBlockOwned::Legacy(record) => self.record(record).map(Some),
            PcapBlockOwned::NG(block) => self.block(block),
        }
    }

    /// Takes note of the damaged block that `data` begins with: interfaces are known by number,
    /// so that one that cannot be read has to be counted.
    fn pass_over(&mut self, data: &[u8]) {
        let kind = data.first_chunk::<4>().map(|bytes| {
            if self.big_endian {
                u32::from_be_bytes(*bytes)
            } else {
                u32::from_le_bytes(*bytes)
            }
        });
        if kind == Some(INTERFACE_DESCRIPTION) && self.interfaces.len() < MOST_INTERFACES {
            self.interfaces.push(None);
        }
    }

    fn record<'a>(&self, record: &LegacyPcapBlock<'a>) -> Result<Frame<'a>, Fault> {
        // The parser gives the header first.
        let (link, scale) = self.header.ok_or(Fault::UnknownInterface)?;
        let fraction = u64::from(record.ts_usec) * scale;
        Ok(Frame {
            time: Time::from_nanos(u64::from(record.ts_sec) * 1_000_000_000 + fraction),
            link,
            wire_len: record.origlen,
            data: record.data,
        })
    }

    fn block<'a>(&mut self, block: &'a Block<'a>) -> Result<Option<Frame<'a>>, Fault> {
        match block {
            Block::SectionHeader(section) => {
                self.big_endian = section.big_endian();
                self.interfaces.clear();
                Ok(None)
            }
            Block::InterfaceDescription(description) => {
                if self.interfaces.len() < MOST_INTERFACES {
                    self.interfaces
                        .push(interface(description, self.big_endian));
                }
                Ok(None)
            }
            Block::EnhancedPacket(packet) => {
                let described = self.interfaces.get(packet.if_id as usize);
                let interface = described.copied().flatten();
                let interface = interface.ok_or(Fault::UnknownInterface)?;
                let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                Ok(Some(Frame {
                    time: interface.time(units),
                    link: interface.link,
                    wire_len: packet.origlen,
                    data: packet.packet_data(),
                }))
            }
            Block::SimplePacket(_) => Err(Fault::NoTime),
            Block::Unknown(unknown) if unknown.block_type == OBSOLETE_PACKET => {
                Err(Fault::ObsoleteBlock)
            }
            _ => Ok(None),
        }
    }
}

impl Interface {
    /// `units` of its clock as a time; what lies outside the range of times becomes its end.
    fn time(self, units: u64) -> Time {
        let ns = u128::from(units) * 1_000_000_000 / self.units;
        // Below 2^64 * 10^9, far from the end of i128.
        let shifted = ns as i128 + i128::from(self.offset_s) * 1_000_000_000;
        Time::from_nanos(u64::try_from(shifted.max(0)).unwrap_or(u64::MAX))
    }
}

/// The link layer, and nanoseconds per unit of fractions of a second.
fn pcap_header(header: &PcapHeader) -> (LinkType, u64) {
    let scale = if header.is_nanosecond_precision() {
        1
    } else {
        1000
    };
    // The upper half holds the length of the frame check sequence.
    (LinkType(header.network.0 as u16), scale)
}

/// None if the clock's resolution is beyond all measure.
fn interface(description: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Option<Interface> {
    let resolution = description.if_tsresol;
    let exponent = u32::from(resolution & 0x7f);
    let units = if resolution & 0x80 == 0 {
        10u128.checked_pow(exponent)
    } else {
        2u128.checked_pow(exponent)
    };
    let offset = description
        .options
        .iter()
        .find(|option| option.code == OptionCode::IfTsoffset)
        .and_then(|option| <[u8; 8]>::try_from(option.value()).ok());
    let offset_s = match offset {
        Some(bytes) if big_endian => i64::from_be_bytes(bytes),
        Some(bytes) => i64::from_le_bytes(bytes),
        None => 0,
    };
    Some(Interface {
        link: LinkType(description.linktype.0 as u16),
        units: units?,
        offset_s,
    })
}

/// The length of the block that `data` begins with, if all of it is there and both its lengths
/// agree.
fn whole_block(data: &[u8], big_endian: bool) -> Option<usize> {
    let word = |at: usize| {
        let bytes = <[u8; 4]>::try_from(data.get(at..at.checked_add(4)?)?).ok()?;
        Some(if big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        })
    };
    let length = word(4)? as usize;
    let plausible = length >= 12 && length.is_multiple_of(4) && word(0)? != SECTION_HEADER;
    (plausible && word(length - 4)? as usize == length).then_some(length)
}

/// The parser of a file that began well; the error says what its header lacks.
fn boxed<R, E>(
    format: Format,
    opened: Result<R, E>,
) -> Result<(Format, Box<dyn PcapReaderIterator>), String>
where
    R: PcapReaderIterator + 'static,
{
    match opened {
        Ok(reader) => Ok((format, Box::new(reader))),
        Err(_) => Err("it begins as one, but its first header is cut off or damaged".to_owned()),
    }
}

/// What a file begins with, in words.
fn beginning(first: &[u8]) -> String {
    let bytes: Vec<String> = first.iter().map(|byte| format!("{byte:02x}")).collect();
    match first.len() {
        0 => "it is empty".to_owned(),
        length @ 1..4 => format!("it has {length} bytes only"),
        _ => format!("it begins with {}", bytes.join(" ")),
    }
}

/// A source whose first bytes have been looked at. One read gives both parts: the parser wants
/// the whole header at once.
struct Rejoined {
    first: Vec<u8>,
    rest: Source,
}

impl Read for Rejoined {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let again = self.first.len().min(buffer.len());
        buffer[..again].copy_from_slice(&self.first[..again]);
        self.first.drain(..again);
        Ok(again + self.rest.read(&mut buffer[again..])?)
    }
}
