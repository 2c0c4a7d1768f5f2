//! The bytes of a capture: from a file, decompressed if they are compressed.

use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

/// How a capture is compressed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// By gzip (RFC 1952), one member or several.
    Gzip,
    /// By zstd (RFC 8878), one frame or several.
    Zstd,
}

impl Compression {
    fn of(first: &[u8]) -> Compression {
        if first.starts_with(&[0x1f, 0x8b]) {
            Compression::Gzip
        } else if first.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Compression::Zstd
        } else {
            Compression::None
        }
    }
}

/// log2 of the largest window that a zstd frame may ask for: 128 MiB, the default of the tool.
const ZSTD_WINDOW_LOG: u32 = 27;

/// Compressed bytes that are read at once.
const COMPRESSED: usize = 64 * 1024;

/// How much a compressed capture, or a run's file, may become.
///
/// A few hundred kilobytes can be gigabytes of zeros, which take minutes to be searched for packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expansion {
    /// Any number of times its compressed size up to [`Expansion::TIMES`], and [`Expansion::FREE`]
    /// bytes whatever that is.
    Plausible,
    /// So many bytes, however few they are of.
    AtMost(u64),
}

impl Expansion {
    /// Captures of headers become some 5 to 20 times smaller; of whole packets that repeat one
    /// text, as those of test programs, some 100 times.
    pub const TIMES: u64 = 200;

    /// What is read in a second or two.
    pub const FREE: u64 = 256 << 20;

    /// How many bytes so many `compressed` ones may become.
    pub fn most(self, compressed: u64) -> u64 {
        match self {
            Expansion::Plausible => compressed.saturating_mul(Self::TIMES).max(Self::FREE),
            Expansion::AtMost(bytes) => bytes,
        }
    }
}

/// Decompressed data are more than they may be.
#[derive(Debug, thiserror::Error)]
#[error("the compressed data become more than they may")]
pub(super) struct Expanded;

/// Counts the bytes that pass.
struct Counted<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// Ends what is decompressed, by an error, where it is more than it may be.
struct Bounded<R> {
    inner: R,
    expansion: Expansion,
    compressed: Arc<AtomicU64>,
    decompressed: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.expansion.most(self.compressed.load(Ordering::Relaxed));
        let left = most.saturating_sub(self.decompressed);
        let part = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        if part == 0 && !buffer.is_empty() {
            // It is too much only if there is more.
            return match self.inner.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(io::Error::other(Expanded)),
            };
        }
        let bytes = self.inner.read(&mut buffer[..part])?;
        self.decompressed += bytes as u64;
        Ok(bytes)
    }
}

/// The decompressed bytes of `raw`, no more than `expansion` allows, and how they were compressed.
pub(super) fn decompressed(
    mut raw: impl Read + Send + 'static,
    expansion: Expansion,
) -> io::Result<(Box<dyn Read + Send>, Compression)> {
    let mut first = Vec::new();
    raw.by_ref().take(4).read_to_end(&mut first)?;
    let compression = Compression::of(&first);
    let whole = Cursor::new(first).chain(raw);
    if compression == Compression::None {
        return Ok((Box::new(whole), compression));
    }
    let compressed = Arc::new(AtomicU64::new(0));
    let counted = Counted {
        inner: whole,
        bytes: Arc::clone(&compressed),
    };
    let counted = BufReader::with_capacity(COMPRESSED, counted);
    let inner: Box<dyn Read + Send> = match compression {
        Compression::None => unreachable!("it was handed on"),
        Compression::Gzip => Box::new(MultiGzDecoder::new(counted)),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(counted)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
    };
    let source = Bounded {
        inner,
        expansion,
        compressed,
        decompressed: 0,
    };
    Ok((Box::new(source), compression))
}
