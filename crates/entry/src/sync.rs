//! From memory to the disk.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use nix::unistd::syncfs;

/// From so many entries on, one flush of the file system is cheaper than one for each file.
const MANY: usize = 4;

/// Waits until the files in each of `folders`, and the folders, are on the disk.
pub fn sync(folders: &[impl AsRef<Path>]) -> io::Result<()> {
    if let [first, ..] = folders
        && folders.len() >= MANY
    {
        return Ok(syncfs(File::open(first)?)?);
    }
    for folder in folders {
        for file in fs::read_dir(folder)? {
            File::open(file?.path())?.sync_all()?;
        }
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_many_folders_are_flushed_and_a_missing_one_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let entries: Vec<_> = (0..2 * MANY)
            .map(|i| folder.path().join(i.to_string()))
            .collect();
        for entry in &entries {
            fs::create_dir(entry).expect("an entry");
            fs::write(entry.join("flows"), "trace").expect("written");
        }
        sync(&entries[..1]).expect("one");
        sync(&entries).expect("many");
        sync(&[] as &[&Path]).expect("none");
        assert!(sync(&[folder.path().join("nowhere")]).is_err());
    }
}
