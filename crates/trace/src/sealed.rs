//! The sealed file of a run: a ZIP archive of what was asked, what it measured and its trace, that
//! carries its own digest.
//!
//! Members are `run.json`, `metrics.json` and every other file of the run's folder by name.
//! The archive's comment names the run and has the SHA-256 of all bytes before that and a checksum of
//! its own, so that no bit can flip unseen and no file is taken for that of another run.
//! Packet captures stay files beside the archive; its member `captures.json` has their digests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cclab_units::shown_path;
use flate2::{Compress, Compression, FlushCompress, Status};
use nix::unistd::syncfs;
use rawzip::{CompressionMethod, DataDescriptorOutput, ZipArchiveWriter, crc32};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use comment::Comment;
use members::{is_name, is_plain, member, members, opened};

pub use columns::{Cells, columns};
pub use comment::FORM;

mod columns;
mod comment;
mod members;

const ASKED: &str = "run.json";
const METRICS: &str = "metrics.json";
const CAPTURES: &str = "captures.json";
const ENDING: &str = ".zip";
const CAPTURE_ENDING: &str = ".pcapng";

/// A member below so many bytes is deflated: of a small table most is its footer. A larger one is
/// compressed by Parquet already.
const DEFLATED_BELOW: u64 = 64 << 10;

const CHUNK: usize = 64 << 10;

/// From so many files on, one flush of the file system is cheaper than one for each.
const MANY: usize = 4;

/// What is found where a run's file should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The file and the captures that it lists are as they were sealed.
    Sound,
    /// Something is there that is not.
    Damaged,
    /// The file is of another run than its name says.
    Foreign,
    /// There is nothing.
    Absent,
}

/// A capture beside a run's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Listed {
    bytes: u64,
    sha256: String,
}

type Captures = BTreeMap<String, Listed>;

/// What a run's file says of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The digest of the file.
    pub sha256: String,
    /// Bytes of the file and of the captures beside it.
    pub bytes: u64,
    /// `run.json`.
    pub asked: String,
    /// The version of the metrics' definitions.
    pub metrics_version: String,
    /// `metrics.json`.
    pub metrics: String,
}

/// The path of the sealed file of the run in `folder`, beside it.
pub fn file_of(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(ENDING);
    PathBuf::from(name)
}

/// The run whose sealed file is called `file`; none if no run's is.
fn run_of(file: &Path) -> Option<&str> {
    file.file_name()?.to_str()?.strip_suffix(ENDING)
}

/// The names of the runs that have a sealed file in `folder`, sorted, each with a zero byte behind
/// it, which no name has; none if there is no such folder.
///
/// # Errors
/// If the folder cannot be read to its end.
pub fn names(folder: &Path) -> io::Result<Vec<u8>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names: Vec<Vec<u8>> = Vec::new();
    for entry in entries {
        let mut name = entry?.file_name().into_vec();
        if let Some(stem) = name.strip_suffix(ENDING.as_bytes()) {
            name.truncate(stem.len());
            name.push(0);
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names.concat())
}

/// Makes the sealed file of the run in `folder` beside it. Captures stay in the folder, and all else
/// of it goes; a folder without captures goes, too.
///
/// The bytes depend on the files and `metrics` alone. Nothing is flushed: see [`sync`].
///
/// # Errors
/// If a file cannot be read or written.
pub fn seal(folder: &Path, metrics: &str, metrics_version: &str) -> io::Result<()> {
    let mut names = Vec::new();
    let mut captures = Captures::new();
    for found in fs::read_dir(folder)? {
        let name = found?.file_name().into_string().map_err(|name| {
            let problem = format!("{} is no UTF-8", shown_path(name.as_ref()));
            io::Error::new(ErrorKind::InvalidData, problem)
        })?;
        if name.ends_with(CAPTURE_ENDING) {
            let (bytes, sha256) = digest_of(&mut File::open(folder.join(&name))?, u64::MAX)?;
            captures.insert(name, Listed { bytes, sha256 });
        } else {
            names.push(name);
        }
    }
    names.sort();
    archive(folder, &names, &captures, metrics, metrics_version)?;
    for name in &names {
        fs::remove_file(folder.join(name))?;
    }
    if captures.is_empty() {
        fs::remove_dir(folder)?;
    }
    Ok(())
}

/// Writes the sealed file of the run in `folder`: of the files `names` in it, and with `captures`.
fn archive(
    folder: &Path,
    names: &[String],
    captures: &Captures,
    metrics: &str,
    metrics_version: &str,
) -> io::Result<()> {
    let place = file_of(folder);
    let run = run_of(&place).ok_or_else(|| invalid("the name of the run is no UTF-8"))?;
    let mut comment = Comment::unfinished(run, metrics_version, captures.len());
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&place)?;
    let mut archive = Archive::new(file);
    // What was asked and measured comes first, for whoever reads no further.
    if names.iter().any(|name| name == ASKED) {
        archive.add_file(folder, ASKED)?;
    }
    archive.add(METRICS, metrics.as_bytes())?;
    for name in names.iter().filter(|name| *name != ASKED) {
        archive.add_file(folder, name)?;
    }
    if !captures.is_empty() {
        archive.add(CAPTURES, &serde_json::to_vec(captures)?)?;
    }
    let text = comment.text();
    let mut file = archive.finish(&text)?;
    // The length and then the digest, in the places that the comment has left for them.
    comment.bytes = file.metadata()?.len();
    let begins = SeekFrom::Start(comment.bytes - text.len() as u64);
    file.seek(begins)?;
    file.write_all(comment.text().as_bytes())?;
    (_, comment.sha256) = digest_of(&mut file, comment.digested())?;
    file.seek(begins)?;
    file.write_all(comment.text().as_bytes())
}

/// An archive that is being written.
struct Archive {
    archive: ZipArchiveWriter<BufWriter<File>>,
    /// Kept from one member to the next for its memory.
    deflater: Compress,
}

impl Archive {
    fn new(file: File) -> Archive {
        Archive {
            archive: ZipArchiveWriter::new(BufWriter::with_capacity(CHUNK, file)),
            deflater: Compress::new(Compression::default(), false),
        }
    }

    /// Adds the file `name` in `folder`; a large one is never in memory as a whole.
    fn add_file(&mut self, folder: &Path, name: &str) -> io::Result<()> {
        let mut file = File::open(folder.join(name))?;
        if file.metadata()?.len() < DEFLATED_BELOW {
            let mut content = Vec::new();
            file.read_to_end(&mut content)?;
            return self.add(name, &content);
        }
        let member = self.archive.new_file(name);
        let member = member.compression_method(CompressionMethod::STORE);
        let (mut entry, config) = member.start().map_err(refused)?;
        let mut stored = config.wrap(&mut entry);
        io::copy(&mut file, &mut stored)?;
        let (_, descriptor) = stored.finish().map_err(refused)?;
        entry.finish(descriptor).map_err(refused)?;
        Ok(())
    }

    /// Adds the member `name`, deflated.
    fn add(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let member = self.archive.new_file(name);
        let member = member.compression_method(CompressionMethod::DEFLATE);
        let (mut entry, _) = member.start().map_err(refused)?;
        entry.write_all(&deflate(&mut self.deflater, content))?;
        let descriptor = DataDescriptorOutput::new(crc32(content), content.len() as u64);
        entry.finish(descriptor).map_err(refused)?;
        Ok(())
    }

    /// Ends the archive with `comment`: the file, all of it written.
    fn finish(mut self, comment: &str) -> io::Result<File> {
        self.archive.set_comment(comment);
        let file = self.archive.finish().map_err(refused)?;
        file.into_inner().map_err(|error| error.into_error())
    }
}

fn deflate(deflater: &mut Compress, content: &[u8]) -> Vec<u8> {
    // What cannot be made shorter is stored, with a few bytes for each block of it.
    let mut deflated = Vec::with_capacity(content.len() + content.len() / 8 + 128);
    deflater.reset();
    let status = deflater.compress_vec(content, &mut deflated, FlushCompress::Finish);
    assert_eq!(
        status.ok(),
        Some(Status::StreamEnd),
        "there is room for all"
    );
    deflated
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

/// What the system refused, with its number, or what is wrong with an archive.
fn refused(error: rawzip::Error) -> io::Error {
    match error.into_kind() {
        rawzip::ErrorKind::IO(error) => error,
        kind => io::Error::new(ErrorKind::InvalidData, kind.to_string()),
    }
}

/// The length of the first `most` bytes of `file` and the digest of them.
fn digest_of(file: &mut File, most: u64) -> io::Result<(u64, String)> {
    file.seek(SeekFrom::Start(0))?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    let mut length = 0;
    let mut first = file.take(most);
    loop {
        match first.read(&mut chunk)? {
            0 => break,
            n => {
                hasher.update(&chunk[..n]);
                length += n as u64;
            }
        }
    }
    let mut digits = String::new();
    for byte in hasher.finalize() {
        write!(digits, "{byte:02x}").expect("writing to a string cannot fail");
    }
    Ok((length, digits))
}

/// What there is of the run whose file is `file`, with captures in the folder `captures`.
///
/// With `contents` every byte is read and the digests compared; without, files have to be at
/// their full lengths. Of a file of another run, no more than its comment is read.
pub fn check(file: &Path, captures: &Path, contents: bool) -> State {
    match opened(file) {
        // A link may lead nowhere.
        Err(_) => match file.symlink_metadata() {
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                State::Absent
            }
            _ => State::Damaged,
        },
        Ok(mut opened) => match Comment::of(&mut opened) {
            Ok(Some(comment)) if !comment.is_of(file) => State::Foreign,
            Ok(Some(comment)) => match is_sound(&mut opened, &comment, captures, contents) {
                Ok(true) => State::Sound,
                Ok(false) | Err(_) => State::Damaged,
            },
            Ok(None) | Err(_) => State::Damaged,
        },
    }
}

fn is_sound(
    file: &mut File,
    comment: &Comment,
    captures: &Path,
    contents: bool,
) -> io::Result<bool> {
    if contents && !is_whole(file, comment)? {
        return Ok(false);
    }
    if comment.captures == 0 {
        return Ok(true);
    }
    let listed = captures_of(file)?;
    for (name, listed) in &listed {
        let place = captures.join(name);
        let same = if contents {
            digest_of(&mut opened(&place)?, u64::MAX)? == (listed.bytes, listed.sha256.clone())
        } else {
            opened(&place)?.metadata()?.len() == listed.bytes
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(listed.len() == comment.captures)
}

fn is_whole(file: &mut File, comment: &Comment) -> io::Result<bool> {
    Ok(digest_of(file, comment.digested())?.1 == comment.sha256 && is_plain(file)?)
}

fn captures_of(file: &File) -> io::Result<Captures> {
    let [text] = members(file, [CAPTURES])?;
    let listed: Captures = serde_json::from_str(&text)?;
    match listed.keys().all(|name| is_name(name)) {
        true => Ok(listed),
        // It may come from anywhere.
        false => Err(invalid("a capture elsewhere")),
    }
}

/// What the run's file at `file` says; none if it is not there, not as it was sealed, or of another
/// run than its name says.
///
/// With `whole` every byte is read and the digest compared; without, all that is told has a checksum,
/// of the comment or of the archive. Captures are not looked at.
pub fn read(file: &Path, whole: bool) -> Option<Told> {
    let path = file;
    let mut file = opened(path).ok()?;
    let comment = Comment::of(&mut file).ok()??;
    if !comment.is_of(path) || whole && !is_whole(&mut file, &comment).ok()? {
        return None;
    }
    let mut bytes = comment.bytes;
    if comment.captures > 0 {
        bytes += captures_of(&file)
            .ok()?
            .values()
            .map(|one| one.bytes)
            .sum::<u64>();
    }
    let [asked, metrics] = members(&file, [ASKED, METRICS]).ok()?;
    Some(Told {
        sha256: comment.sha256,
        bytes,
        asked,
        metrics_version: comment.metrics_version,
        metrics,
    })
}

/// What `of` gives for each of `items`, on as many threads as there are processors.
pub fn each<T: Sync, R: Send>(items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return found;
            };
            found.push((index, of(item)));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut found = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(items.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let mut found = work();
        for other in others {
            found.extend(other.join().expect("a file that is read does not panic"));
        }
        found
    });
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, value)| value).collect()
}

/// Waits until each of `paths`, a file or a folder with the files in it, is on the disk.
///
/// # Errors
/// If the system refuses.
pub fn sync(paths: &[impl AsRef<Path>]) -> io::Result<()> {
    if let [first, ..] = paths
        && paths.len() >= MANY
    {
        return Ok(syncfs(File::open(first)?)?);
    }
    for path in paths {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            for inner in fs::read_dir(path)? {
                File::open(inner?.path())?.sync_all()?;
            }
        }
        file.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
