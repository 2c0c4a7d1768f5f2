//! The comment at the end of a run's sealed file: which run it is of, how long it is and its digest.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use rawzip::crc32;

use super::run_of;

/// Name and version of the form, at the beginning of the comment.
pub const FORM: &str = "cclab-run/2";

/// Digits of a SHA-256.
const DIGITS: usize = 64;

/// What stands behind the digest: a line with the checksum of the comment.
const CHECKSUM: usize = "\ncrc32 01234567".len();

/// No comment is longer: no name of a file is longer than 255 bytes, and all else is numbers.
const LONGEST: u64 = 512;

/// What the comment of a run's file says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Comment {
    pub run: String,
    /// Length of the file, with the comment.
    pub bytes: u64,
    pub metrics_version: String,
    /// How many packet captures are beside the file.
    pub captures: usize,
    /// Digest of all that is before it.
    pub sha256: String,
}

impl Comment {
    /// The comment of a file whose length and digest are not known yet. It is as long as the final
    /// one.
    pub fn unfinished(run: &str, metrics_version: &str, captures: usize) -> Comment {
        Comment {
            run: run.to_owned(),
            bytes: 0,
            metrics_version: metrics_version.to_owned(),
            captures,
            sha256: "0".repeat(DIGITS),
        }
    }

    /// The comment at the end of `file`; none if there is none as it was written, or if the file has
    /// another length.
    pub fn of(file: &mut File) -> io::Result<Option<Comment>> {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LONGEST)))?;
        let mut tail = Vec::new();
        file.take(LONGEST).read_to_end(&mut tail)?;
        let comment = Comment::within(&tail);
        Ok(comment.filter(|comment| comment.bytes == length))
    }

    /// Whether `path` is called as the file of this run is.
    pub fn is_of(&self, path: &Path) -> bool {
        run_of(path) == Some(&self.run)
    }

    /// How many bytes of the file the digest is of.
    pub fn digested(&self) -> u64 {
        self.bytes.saturating_sub((DIGITS + CHECKSUM) as u64)
    }

    /// The comment itself, which ends in a checksum of what is before that.
    pub fn text(&self) -> String {
        let Comment {
            run,
            bytes,
            metrics_version,
            captures,
            sha256,
        } = self;
        // All digits that a length can have: the comment is written before the length is known.
        let text = format!(
            "{FORM}\nrun {run}\nbytes {bytes:020}\nmetrics {metrics_version}\n\
             captures {captures}\nsha256 {sha256}"
        );
        let checksum = crc32(text.as_bytes());
        format!("{text}\ncrc32 {checksum:08x}")
    }

    fn within(tail: &[u8]) -> Option<Comment> {
        let begins = (0..tail.len()).rfind(|&at| tail[at..].starts_with(FORM.as_bytes()))?;
        let text = std::str::from_utf8(&tail[begins..]).ok()?;
        let mut lines = text.split('\n').skip(1);
        let mut line = |name: &str| lines.next()?.strip_prefix(name);
        let comment = Comment {
            run: line("run ")?.to_owned(),
            bytes: line("bytes ")?.parse().ok()?,
            metrics_version: line("metrics ")?.to_owned(),
            captures: line("captures ")?.parse().ok()?,
            sha256: line("sha256 ")?.to_owned(),
        };
        (comment.text() == text).then_some(comment)
    }
}
