//! Whether entries are as they were sealed.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::{Manifest, digest};

/// What is found where an entry should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Every file that the manifest lists is there, and as it says.
    Sound,
    /// Something is there that is not: a file missing, of another length or with other contents,
    /// no manifest, or that of another run.
    Damaged,
    /// There is nothing.
    Absent,
}

/// What there is of the entry of `run` in `folder`. With `contents` every file is read and its
/// SHA-256 compared; without, its length alone.
pub fn check(folder: &Path, run: &str, contents: bool) -> State {
    if let Err(error) = fs::symlink_metadata(folder) {
        return match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => State::Absent,
            _ => State::Damaged,
        };
    }
    let Some(manifest) = Manifest::read(folder) else {
        return State::Damaged;
    };
    let whole = manifest.run == run
        && manifest.files.iter().all(|(name, listed)| {
            let file = folder.join(name);
            if contents {
                digest::of_file(&file)
                    .is_ok_and(|found| found == (listed.bytes, listed.sha256.clone()))
            } else {
                fs::metadata(&file).is_ok_and(|found| found.len() == listed.bytes)
            }
        });
    if whole { State::Sound } else { State::Damaged }
}

/// [`check`] of the entries of `runs`, each in its folder below `folder`, on as many threads as
/// there are processors.
pub fn check_all(folder: &Path, runs: &[String], contents: bool) -> Vec<State> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(run) = runs.get(index) else {
                return found;
            };
            found.push((index, check(&folder.join(run), run, contents)));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut states = vec![State::Absent; runs.len()];
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(runs.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let mut found = work();
        for other in others {
            found.extend(other.join().expect("checking an entry does not panic"));
        }
        for (index, state) in found {
            states[index] = state;
        }
    });
    states
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MANIFEST, seal};

    fn sealed() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("cafe")).expect("an entry");
        fs::write(folder.path().join("cafe/flows"), "trace").expect("written");
        seal(&folder.path().join("cafe"), "cafe").expect("sealed");
        folder
    }

    fn both(folder: &Path) -> [State; 2] {
        [false, true].map(|contents| check(&folder.join("cafe"), "cafe", contents))
    }

    #[test]
    fn an_entry_is_sound_until_something_in_it_changes() {
        let folder = sealed();
        assert_eq!(both(folder.path()), [State::Sound; 2]);
        fs::write(folder.path().join("cafe/flows"), "trAce").expect("written");
        assert_eq!(both(folder.path()), [State::Sound, State::Damaged]);
        fs::write(folder.path().join("cafe/flows"), "trac").expect("written");
        assert_eq!(both(folder.path()), [State::Damaged; 2]);
        fs::remove_file(folder.path().join("cafe/flows")).expect("removed");
        assert_eq!(both(folder.path()), [State::Damaged; 2]);
    }

    #[test]
    fn what_is_no_entry_of_the_run_is_damaged_and_nothing_is_absent() {
        let folder = sealed();
        let check = |name: &str, run: &str| check(&folder.path().join(name), run, false);
        assert_eq!(check("beef", "beef"), State::Absent);
        assert_eq!(check("cafe", "beef"), State::Damaged);
        fs::write(folder.path().join("beef"), "a file").expect("written");
        assert_eq!(check("beef", "beef"), State::Damaged);
        fs::write(folder.path().join("cafe").join(MANIFEST), "[1").expect("written");
        assert_eq!(check("cafe", "cafe"), State::Damaged);
    }

    #[test]
    fn a_manifest_that_no_run_leaves_is_none() {
        let folder = sealed();
        let place = folder.path().join("cafe").join(MANIFEST);
        let whole = fs::read_to_string(&place).expect("a manifest");
        let mut wrong = vec![
            whole.replace("cclab-entry/1", "cclab-entry/2"),
            r#"{"schema": "cclab-entry/1", "run": "cafe", "files": {}}"#.to_owned(),
        ];
        // The same file, by ways out of the entry and back.
        for name in ["../cafe/flows", "./flows", "/etc/passwd", "..", "."] {
            wrong.push(whole.replace("\"flows\"", &format!("\"{name}\"")));
        }
        for text in wrong {
            assert_ne!(text, whole);
            fs::write(&place, &text).expect("written");
            assert_eq!(both(folder.path()), [State::Damaged; 2], "{text}");
        }
        fs::write(&place, &whole).expect("written");
        assert_eq!(both(folder.path()), [State::Sound; 2]);
    }

    #[test]
    fn many_are_checked_in_their_order() {
        let folder = sealed();
        let runs: Vec<String> = ["beef", "cafe", "dead"].map(String::from).to_vec();
        let expected = [State::Absent, State::Sound, State::Absent];
        assert_eq!(check_all(folder.path(), &runs, true), expected);
        assert_eq!(check_all(folder.path(), &[], true), []);
    }
}
