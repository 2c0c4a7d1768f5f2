//! The bytes of a capture: from a file, decompressed if they are compressed.

use std::cell::RefCell;
use std::io::{self, BufReader, Cursor, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

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

/// The error that ended a source early, if one did.
pub(super) type Failure = Rc<RefCell<Option<io::Error>>>;

/// A source that fills the whole buffer it is given as long as it can, and that ends where it
/// fails: [`Failure`] tells one from the other.
pub(super) struct Source {
    inner: Box<dyn Read>,
    failure: Failure,
}

/// The decompressed bytes of `raw`, how they were compressed, and where an error will be found.
pub(super) fn decompressed(
    mut raw: impl Read + 'static,
) -> io::Result<(Source, Compression, Failure)> {
    let mut first = Vec::new();
    raw.by_ref().take(4).read_to_end(&mut first)?;
    let compression = Compression::of(&first);
    let whole = BufReader::new(Cursor::new(first).chain(raw));
    let inner: Box<dyn Read> = match compression {
        Compression::None => Box::new(whole),
        Compression::Gzip => Box::new(MultiGzDecoder::new(whole)),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(whole)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
    };
    let failure = Failure::default();
    let source = Source {
        inner,
        failure: Rc::clone(&failure),
    };
    Ok((source, compression, failure))
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() && self.failure.borrow().is_none() {
            match self.inner.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => *self.failure.borrow_mut() = Some(error),
            }
        }
        Ok(filled)
    }
}
