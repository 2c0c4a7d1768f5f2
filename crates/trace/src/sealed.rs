//! The sealed file of a run: a ZIP archive of what was asked, what it measured and its trace, that
//! carries its own digest.
//!
//! Members are `run.json`, `metrics.json` and every other file of the run's folder by name.
//! The archive's comment ends in the SHA-256 of all bytes before it, so that no bit can flip unseen.
//! Packet captures stay files beside the archive; its member `captures.json` has their digests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use flate2::read::DeflateDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};
use nix::unistd::syncfs;
use rawzip::{
    CompressionMethod, DataDescriptorOutput, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveWriter,
    crc32,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use columns::{Cells, columns};

mod columns;

/// Name and version of the form, at the beginning of the comment.
pub const FORM: &str = "cclab-run/1";

const ASKED: &str = "run.json";
const METRICS: &str = "metrics.json";
const CAPTURES: &str = "captures.json";
const ENDING: &str = ".zip";
const CAPTURE_ENDING: &str = ".pcapng";

/// A member below so many bytes is deflated: of a small table most is its footer. A larger one is
/// compressed by Parquet already.
const DEFLATED_BELOW: usize = 64 << 10;

const DIGITS: usize = 64;
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

/// What the comment of a run's file says.
struct Comment {
    metrics_version: String,
    captures: usize,
    sha256: String,
}

impl Comment {
    /// All but the digest.
    fn head(metrics_version: &str, captures: usize) -> String {
        format!("{FORM}\nmetrics {metrics_version}\ncaptures {captures}\nsha256 ")
    }

    /// The comment at the end of `file`; none if there is no such comment.
    fn of(file: &mut File) -> io::Result<Option<Comment>> {
        let length = file.metadata()?.len();
        // No comment of this form is longer: the versions are numbers.
        file.seek(SeekFrom::Start(length.saturating_sub(256)))?;
        let mut tail = Vec::with_capacity(256);
        file.take(256).read_to_end(&mut tail)?;
        Ok(Comment::within(&tail))
    }

    fn within(tail: &[u8]) -> Option<Comment> {
        let (before, digest) = tail.split_at_checked(tail.len().checked_sub(DIGITS)?)?;
        let begins = (0..before.len()).rfind(|&at| before[at..].starts_with(FORM.as_bytes()))?;
        let head = std::str::from_utf8(&before[begins..]).ok()?;
        let mut lines = head.strip_prefix(FORM)?.strip_prefix('\n')?.split('\n');
        let metrics_version = lines.next()?.strip_prefix("metrics ")?.to_owned();
        let captures = lines.next()?.strip_prefix("captures ")?.parse().ok()?;
        if head != Comment::head(&metrics_version, captures) {
            return None;
        }
        let sha256 = std::str::from_utf8(digest).ok()?.to_owned();
        Some(Comment {
            metrics_version,
            captures,
            sha256,
        })
    }
}

/// The path of the sealed file of the run in `folder`, beside it.
pub fn file_of(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(ENDING);
    PathBuf::from(name)
}

/// The names of the runs that have a sealed file in `folder`, sorted, each with a zero byte behind
/// it, which no name has; none of a folder that cannot be read.
pub fn names(folder: &Path) -> Vec<u8> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<Vec<u8>> = entries
        .filter_map(|entry| {
            let mut name = entry.file_name().into_vec();
            let length = name.strip_suffix(ENDING.as_bytes())?.len();
            name.truncate(length);
            name.push(0);
            Some(name)
        })
        .collect();
    names.sort_unstable();
    names.concat()
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
            let problem = format!("{} is no UTF-8", name.display());
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
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(file_of(folder))?;
    let mut archive = ZipArchiveWriter::new(BufWriter::with_capacity(CHUNK, file));
    let mut deflater = Compress::new(Compression::default(), false);
    let mut add = |name: &str, content: &[u8]| add(&mut archive, &mut deflater, name, content);
    // What was asked and measured comes first, for whoever reads no further.
    if names.iter().any(|name| name == ASKED) {
        add(ASKED, &fs::read(folder.join(ASKED))?)?;
    }
    add(METRICS, metrics.as_bytes())?;
    for name in names.iter().filter(|name| *name != ASKED) {
        add(name, &fs::read(folder.join(name))?)?;
    }
    if !captures.is_empty() {
        add(CAPTURES, &serde_json::to_vec(&captures)?)?;
    }
    let head = Comment::head(metrics_version, captures.len());
    archive.set_comment(head + &"0".repeat(DIGITS));
    let mut file = archive.finish().map_err(refused)?;
    file.flush()?;
    let mut file = file.into_inner().map_err(|error| error.into_error())?;
    // In the place that the comment has left for it.
    let before = file.metadata()?.len() - DIGITS as u64;
    let (_, sha256) = digest_of(&mut file, before)?;
    file.seek(SeekFrom::Start(before))?;
    file.write_all(sha256.as_bytes())?;
    for name in &names {
        fs::remove_file(folder.join(name))?;
    }
    if captures.is_empty() {
        fs::remove_dir(folder)?;
    }
    Ok(())
}

/// Adds the member `name`; `deflater` is kept from one to the next for its memory.
fn add<W: Write>(
    archive: &mut ZipArchiveWriter<W>,
    deflater: &mut Compress,
    name: &str,
    content: &[u8],
) -> io::Result<()> {
    let deflated = (content.len() < DEFLATED_BELOW).then(|| deflate(deflater, content));
    let (method, written) = match &deflated {
        Some(deflated) => (CompressionMethod::DEFLATE, &**deflated),
        None => (CompressionMethod::STORE, content),
    };
    let file = archive.new_file(name).compression_method(method);
    let (mut entry, _) = file.start().map_err(refused)?;
    entry.write_all(written)?;
    let descriptor = DataDescriptorOutput::new(crc32(content), content.len() as u64);
    entry.finish(descriptor).map_err(refused)?;
    Ok(())
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
    let mut digits = String::with_capacity(DIGITS);
    for byte in hasher.finalize() {
        write!(digits, "{byte:02x}").expect("writing to a string cannot fail");
    }
    Ok((length, digits))
}

/// What there is of the run whose file is `file`, with captures in the folder `captures`.
///
/// With `contents` every byte is read and the digests compared; without, files have to be at
/// their full lengths.
pub fn check(file: &Path, captures: &Path, contents: bool) -> State {
    match File::open(file) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            State::Absent
        }
        Err(_) => State::Damaged,
        Ok(mut file) => match is_sound(&mut file, captures, contents) {
            Ok(true) => State::Sound,
            Ok(false) | Err(_) => State::Damaged,
        },
    }
}

fn is_sound(file: &mut File, captures: &Path, contents: bool) -> io::Result<bool> {
    let Some(comment) = Comment::of(file)? else {
        return Ok(false);
    };
    if contents && !is_of(file, &comment)? {
        return Ok(false);
    }
    if comment.captures == 0 {
        return Ok(true);
    }
    let listed = captures_of(file)?;
    for (name, listed) in &listed {
        let place = captures.join(name);
        let same = if contents {
            digest_of(&mut File::open(place)?, u64::MAX)? == (listed.bytes, listed.sha256.clone())
        } else {
            fs::metadata(place)?.len() == listed.bytes
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(listed.len() == comment.captures)
}

fn is_of(file: &mut File, comment: &Comment) -> io::Result<bool> {
    let before = file.metadata()?.len() - DIGITS as u64;
    Ok(digest_of(file, before)?.1 == comment.sha256)
}

fn captures_of(file: &File) -> io::Result<Captures> {
    let [text] = members(file, [CAPTURES])?;
    let listed: Captures = serde_json::from_str(&text)?;
    let plain = |name: &String| {
        Path::new(name)
            .file_name()
            .is_some_and(|last| last == &**name)
    };
    match listed.keys().all(plain) {
        true => Ok(listed),
        // It may come from anywhere.
        false => Err(io::Error::new(
            ErrorKind::InvalidData,
            "a capture elsewhere",
        )),
    }
}

/// The texts of the members of an archive that are called by `names`.
fn members<const N: usize>(file: &File, names: [&str; N]) -> io::Result<[String; N]> {
    let mut texts = [const { String::new() }; N];
    for (text, found) in texts.iter_mut().zip(contents(file, names)?) {
        let found =
            found.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "a member lacks"))?;
        *text = String::from_utf8(found).map_err(|e| io::Error::new(ErrorKind::InvalidData, e))?;
    }
    Ok(texts)
}

/// What the member `name` of an archive says; none if there is no such member.
fn member(file: &File, name: &str) -> io::Result<Option<Vec<u8>>> {
    let [found] = contents(file, [name])?;
    Ok(found)
}

/// What the members of an archive that are called by `names` say, as far as they are there.
fn contents<const N: usize>(file: &File, names: [&str; N]) -> io::Result<[Option<Vec<u8>>; N]> {
    let mut found: [Option<Vec<u8>>; N] = [const { None }; N];
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(file.try_clone()?, &mut buffer).map_err(refused)?;
    let mut entries = archive.entries(&mut buffer);
    while found.iter().any(Option::is_none) {
        let Some(entry) = entries.next_entry().map_err(refused)? else {
            break;
        };
        let path = entry.file_path();
        let Some(at) = names
            .iter()
            .position(|name| path.as_ref() == name.as_bytes())
        else {
            continue;
        };
        let method = entry.compression_method();
        let member = archive.get_entry(entry.wayfinder()).map_err(refused)?;
        let mut content = Vec::new();
        if method == CompressionMethod::DEFLATE {
            member
                .verifying_reader(DeflateDecoder::new(member.reader()))
                .read_to_end(&mut content)?;
        } else {
            member
                .verifying_reader(member.reader())
                .read_to_end(&mut content)?;
        }
        found[at] = Some(content);
    }
    Ok(found)
}

/// What the run's file at `file` says; none if it is not there or not as it was sealed.
///
/// With `whole` every byte is read and the digest compared; without, what is read has the checksum
/// of the archive. Captures are not looked at.
pub fn read(file: &Path, whole: bool) -> Option<Told> {
    let mut file = File::open(file).ok()?;
    let comment = Comment::of(&mut file).ok()??;
    if whole && !is_of(&mut file, &comment).ok()? {
        return None;
    }
    let mut bytes = file.metadata().ok()?.len();
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
