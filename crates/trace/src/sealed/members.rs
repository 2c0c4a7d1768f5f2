//! What is read of a run's sealed file: its members by name.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use flate2::read::DeflateDecoder;
use nix::fcntl::OFlag;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive};

use super::{invalid, refused};
use crate::captured::Expansion;

/// The file at `path`, to be read, or what a link there leads to.
///
/// # Errors
/// If the system refuses, or it is no regular file: whoever reads a pipe waits for its writer, and a
/// device has no end.
pub(super) fn opened(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(invalid("no regular file")),
    }
}

/// How many bytes the members of `file` may become: a few kilobytes can be gigabytes of zeros.
fn most(file: &File) -> io::Result<u64> {
    Ok(Expansion::Plausible.most(file.metadata()?.len()))
}

/// Whether the members are no more together than they may be, and each has a name of its own that
/// leads nowhere: of two with one name, one program reads the first and another the last.
pub(super) fn is_plain(file: &File) -> io::Result<bool> {
    let mut names = BTreeSet::new();
    let mut left = most(file)?;
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(file.try_clone()?, &mut buffer).map_err(refused)?;
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().map_err(refused)? {
        let path = entry.file_path();
        let name: &[u8] = path.as_ref();
        if !str::from_utf8(name).is_ok_and(is_name) || !names.insert(name.to_vec()) {
            return Ok(false);
        }
        match left.checked_sub(entry.uncompressed_size_hint()) {
            Some(others) => left = others,
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// Whether `name` is of a file in the folder at hand.
pub(super) fn is_name(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|last| last == name)
}

/// The texts of the members of an archive that are called by `names`.
pub(super) fn members<const N: usize>(file: &File, names: [&str; N]) -> io::Result<[String; N]> {
    let mut texts = [const { String::new() }; N];
    for (text, found) in texts.iter_mut().zip(contents(file, names)?) {
        let found = found.ok_or_else(|| invalid("a member lacks"))?;
        *text = String::from_utf8(found).map_err(|e| io::Error::new(ErrorKind::InvalidData, e))?;
    }
    Ok(texts)
}

/// What the member `name` of an archive says; none if there is no such member.
pub(super) fn member(file: &File, name: &str) -> io::Result<Option<Vec<u8>>> {
    let [found] = contents(file, [name])?;
    Ok(found)
}

/// What the members of an archive that are called by `names` say, as far as they are there.
fn contents<const N: usize>(file: &File, names: [&str; N]) -> io::Result<[Option<Vec<u8>>; N]> {
    let mut found: [Option<Vec<u8>>; N] = [const { None }; N];
    let most = most(file)?;
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
        let says = entry.uncompressed_size_hint();
        if says > most {
            return Err(invalid("a member becomes more than it may"));
        }
        // With one byte more it is not what the directory says, however many follow.
        let bound = says.saturating_add(1);
        let member = archive.get_entry(entry.wayfinder()).map_err(refused)?;
        let mut content = Vec::new();
        if method == CompressionMethod::DEFLATE {
            member
                .verifying_reader(DeflateDecoder::new(member.reader()).take(bound))
                .read_to_end(&mut content)?;
        } else {
            member
                .verifying_reader(member.reader().take(bound))
                .read_to_end(&mut content)?;
        }
        found[at] = Some(content);
    }
    Ok(found)
}
