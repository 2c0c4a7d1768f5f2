//! The bytes of a capture: from a file, decompressed if they are compressed.

use std::io::{self, BufReader, Cursor, Read};

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

/// The decompressed bytes of `raw`, and how they were compressed.
pub(super) fn decompressed(
    mut raw: impl Read + Send + 'static,
) -> io::Result<(Box<dyn Read + Send>, Compression)> {
    let mut first = Vec::new();
    raw.by_ref().take(4).read_to_end(&mut first)?;
    let compression = Compression::of(&first);
    let whole = Cursor::new(first).chain(raw);
    let source: Box<dyn Read + Send> = match compression {
        Compression::None => Box::new(whole),
        Compression::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(
            COMPRESSED, whole,
        ))),
        Compression::Zstd => {
            let whole = BufReader::with_capacity(COMPRESSED, whole);
            let mut decoder = zstd::stream::read::Decoder::with_buffer(whole)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
    };
    Ok((source, compression))
}
