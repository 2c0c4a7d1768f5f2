//! A capture file as one stream of frames.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use super::pcap::Pcap;
use super::pcapng::Pcapng;
use super::record::{Found, Record};
use super::source::{Expanded, Expansion, decompressed};
use super::window::Window;
use super::{CaptureError, Compression, Fault, Frame, Skipped};

/// The path that stands for standard input.
const STANDARD_INPUT: &str = "-";

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
    compression: Compression,
    window: Window,
    records: Records,
    /// What is to be told after the frame that was given.
    pending: Option<Skipped>,
    ended: bool,
}

enum Records {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl CaptureFile {
    /// Opens the capture at `path`, or on standard input if that is `-`. It is read once, from
    /// its beginning to its end, so that a pipe does as well as a file.
    pub fn open(path: &Path) -> Result<CaptureFile, CaptureError> {
        CaptureFile::open_within(path, Expansion::Plausible)
    }

    /// As `open`; a compressed capture may become as much as `expansion` says.
    pub fn open_within(path: &Path, expansion: Expansion) -> Result<CaptureFile, CaptureError> {
        if path == Path::new(STANDARD_INPUT) {
            let input = std::io::stdin();
            if input.is_terminal() {
                return Err(CaptureError::Terminal);
            }
            return CaptureFile::read_within(input, Path::new("standard input"), expansion);
        }
        if path.is_dir() {
            return Err(CaptureError::NotACapture {
                path: path.to_owned(),
                found: "it is a folder".to_owned(),
            });
        }
        let file = File::open(path).map_err(|source| CaptureError::Io {
            path: path.to_owned(),
            source,
        })?;
        CaptureFile::read_within(file, path, expansion)
    }

    /// The capture that `bytes` hold; messages call it `name`.
    pub fn from_reader(
        bytes: impl Read + Send + 'static,
        name: &Path,
    ) -> Result<CaptureFile, CaptureError> {
        CaptureFile::read_within(bytes, name, Expansion::Plausible)
    }

    /// As `from_reader`; compressed bytes may become as much as `expansion` says.
    pub fn read_within(
        bytes: impl Read + Send + 'static,
        name: &Path,
        expansion: Expansion,
    ) -> Result<CaptureFile, CaptureError> {
        let path = || PathBuf::from(name);
        let io = |source| CaptureError::Io {
            path: path(),
            source,
        };
        let (source, compression) = decompressed(bytes, expansion).map_err(io)?;
        let mut window = Window::new(source);
        let whole = window.want(4);
        if !whole && window.failure().is_some() {
            return Err(window
                .into_failure()
                .map_or_else(|| unreachable!("there is one"), io));
        }
        let magic = window.data().first_chunk().copied();
        let records = match magic.map(u32::from_be_bytes) {
            Some(0x0a0d_0d0a) => Pcapng::open(&mut window).map(Records::Pcapng),
            Some(
                0xa1b2_c3d4 | 0xd4c3_b2a1 | 0xa1b2_3c4d | 0x4d3c_b2a1 | 0xa1b2_cd34 | 0x34cd_b2a1,
            ) => Pcap::open(&mut window).map(Records::Pcap),
            _ => {
                return Err(CaptureError::NotACapture {
                    path: path(),
                    found: beginning(window.data()),
                });
            }
        };
        let records = records.ok_or_else(|| CaptureError::NotACapture {
            path: path(),
            found: "it begins as one, but its first header is cut off or damaged".to_owned(),
        })?;
        Ok(CaptureFile {
            compression,
            window,
            records,
            pending: None,
            ended: false,
        })
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        match self.records {
            Records::Pcap(_) => Format::Pcap,
            Records::Pcapng(_) => Format::Pcapng,
        }
    }

    /// How the file is compressed.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// The next frame, or what was skipped, in the order of the file; None at its end.
    #[inline]
    pub fn next_frame(&mut self) -> Option<Result<Frame<'_>, Skipped>> {
        match self.ordinary_record() {
            Some(record) => Some(Ok(self.frame(&record))),
            None => self.next_of_any(),
        }
    }

    /// The next frame, if it is as nearly all are; where it is not, [`CaptureFile::next_frame`] tells what follows.
    /// Whoever asks has code for these alone.
    #[inline(always)]
    pub fn ordinary_frame(&mut self) -> Option<Frame<'_>> {
        let record = self.ordinary_record()?;
        Some(self.frame(&record))
    }

    #[inline(always)]
    fn ordinary_record(&mut self) -> Option<Record> {
        if self.pending.is_some() {
            return None;
        }
        match &mut self.records {
            Records::Pcap(pcap) => pcap.ordinary(&mut self.window),
            Records::Pcapng(pcapng) => pcapng.ordinary(&mut self.window),
        }
    }

    /// The next frame or what was skipped, whatever it is.
    #[inline(never)]
    pub(super) fn next_of_any(&mut self) -> Option<Result<Frame<'_>, Skipped>> {
        if let Some(skipped) = self.pending.take() {
            return Some(Err(skipped));
        }
        if self.ended {
            return None;
        }
        let found = match &mut self.records {
            Records::Pcap(pcap) => pcap.next(&mut self.window),
            Records::Pcapng(pcapng) => pcapng.next(&mut self.window),
        };
        match found {
            Found::Record(record, skipped) => {
                self.pending = skipped;
                Some(Ok(self.frame(&record)))
            }
            Found::Skipped(skipped) => Some(Err(skipped)),
            Found::End => {
                self.ended = true;
                self.at_end().map(Err)
            }
        }
    }

    #[inline]
    fn frame(&self, record: &Record) -> Frame<'_> {
        Frame {
            time: record.time,
            link: record.link,
            wire_len: record.wire_len,
            data: self.window.passed(record.data),
        }
    }

    /// What is wrong with the end of the file.
    fn at_end(&self) -> Option<Skipped> {
        let bytes = self.window.data().len() as u64;
        let is_bound =
            |error: &std::io::Error| error.get_ref().is_some_and(|inner| inner.is::<Expanded>());
        let fault = match self.window.failure() {
            Some(error) if is_bound(error) => Fault::Expanded,
            // A compressed file that ends early is cut off as any other.
            Some(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => Fault::Unreadable,
            None if bytes == 0 => return None,
            _ => Fault::CutOff,
        };
        Some(Skipped { fault, bytes })
    }
}

/// What a file that is no capture begins with, in words.
fn beginning(data: &[u8]) -> String {
    let first = &data[..data.len().min(4)];
    let known: [(&[u8], &str); 4] = [
        (
            b"\xfd7zX",
            "it is compressed by xz, which is not undone here",
        ),
        (
            b"BZh",
            "it is compressed by bzip2, which is not undone here",
        ),
        (
            b"\x04\x22\x4d\x18",
            "it is compressed by lz4, which is not undone here",
        ),
        (
            b"snoo",
            "it is a snoop file; `editcap -F pcapng OLD NEW` converts it",
        ),
    ];
    if let Some((_, what)) = known.iter().find(|(magic, _)| data.starts_with(magic)) {
        return (*what).to_owned();
    }
    let bytes: Vec<String> = first.iter().map(|byte| format!("{byte:02x}")).collect();
    match first.len() {
        0 => "it is empty".to_owned(),
        length @ 1..4 => format!("it has {length} bytes only"),
        _ => format!("it begins with {}", bytes.join(" ")),
    }
}
