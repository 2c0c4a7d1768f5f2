//! What an entry holds.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::ser::PrettyFormatter;

use crate::{MANIFEST, digest};

/// Name and version of the manifest.
const SCHEMA: &str = "cclab-entry/1";

/// `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// `cclab-entry/1`.
    pub schema: String,
    /// Id of the run whose entry it is.
    pub run: String,
    /// Every other file, by name.
    pub files: BTreeMap<String, Listed>,
}

/// A file of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Its length.
    pub bytes: u64,
    /// What it holds.
    pub sha256: String,
}

/// What an entry is known by once it is sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// SHA-256 of its manifest, and so of everything in it.
    pub digest: String,
    /// Bytes of all of its files, the manifest's too.
    pub bytes: u64,
}

impl Manifest {
    /// The manifest of the entry at `folder`; none if it has none, or one that cannot be read.
    ///
    /// One that lists no file, or a file elsewhere, is none: no run leaves such an entry.
    pub fn read(folder: &Path) -> Option<Manifest> {
        let text = fs::read(folder.join(MANIFEST)).ok()?;
        let found: Manifest = serde_json::from_slice(&text).ok()?;
        let whole = found.schema == SCHEMA
            && !found.files.is_empty()
            && found.files.keys().all(|name| is_plain(name));
        whole.then_some(found)
    }
}

/// Whether `name` is that of a file in a folder, not a way to another.
fn is_plain(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|last| last == name)
}

/// Lists the files in `folder` in its manifest, as the entry of `run`.
///
/// Nothing is flushed: see [`crate::sync`].
pub fn seal(folder: &Path, run: &str) -> io::Result<Seal> {
    let mut files = BTreeMap::new();
    let mut total = 0;
    for found in fs::read_dir(folder)? {
        let found = found?;
        let name = found.file_name().into_string().map_err(|name| {
            let problem = format!("{} is no UTF-8", name.display());
            io::Error::new(io::ErrorKind::InvalidData, problem)
        })?;
        let (bytes, sha256) = digest::of_file(&found.path())?;
        total += bytes;
        files.insert(name, Listed { bytes, sha256 });
    }
    let manifest = Manifest {
        schema: SCHEMA.to_owned(),
        run: run.to_owned(),
        files,
    };
    let text = text_of(&manifest)?;
    fs::write(folder.join(MANIFEST), &text)?;
    Ok(Seal {
        digest: digest::of_bytes(&text),
        bytes: total + text.len() as u64,
    })
}

/// The manifest as people can read it: a line for each value, indented by one space.
fn text_of(manifest: &Manifest) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut writer =
        serde_json::Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b" "));
    manifest.serialize(&mut writer)?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_lists_every_file_in_the_order_of_names() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("b"), "").expect("written");
        fs::write(folder.path().join("a"), "abc").expect("written");
        let sealed = seal(folder.path(), "cafe").expect("sealed");
        let text = fs::read_to_string(folder.path().join(MANIFEST)).expect("a manifest");
        let expected = r#"{
 "schema": "cclab-entry/1",
 "run": "cafe",
 "files": {
  "a": {
   "bytes": 3,
   "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
  },
  "b": {
   "bytes": 0,
   "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  }
 }
}
"#;
        assert_eq!(text, expected);
        assert_eq!(sealed.bytes, 3 + text.len() as u64);
        assert_eq!(sealed.digest, digest::of_bytes(text.as_bytes()));
    }
}
