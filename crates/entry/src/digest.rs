//! SHA-256, in the hexadecimal digits that manifests hold.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// Read at a time: most files of an entry are shorter.
const CHUNK: usize = 64 << 10;

/// The digest of a text.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

/// The length of the file at `path` and the digest of what it holds.
pub(crate) fn of_file(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    let mut length = 0;
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok((length, digits(&hasher.finalize()))),
            n => {
                hasher.update(&chunk[..n]);
                length += n as u64;
            }
        }
    }
}

fn digits(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4's own examples.
    #[test]
    fn the_digest_is_that_of_the_standard() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_bytes(b""), empty);
        assert_eq!(of_bytes(b"abc"), abc);
    }
}
