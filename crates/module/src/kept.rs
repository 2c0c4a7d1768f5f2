//! Where what was compiled is kept: a folder of `$XDG_CACHE_HOME/cclab`, `~/.cache/cclab` without one.
//! Where nothing can be written there, a passing folder serves, and all is compiled anew.

use std::fs::{self, File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

/// A work folder that is older was left behind by a process that was killed.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 60 * 60);
/// How work folders, and files on their way, are called.
pub(crate) const WORK: &str = ".work-";
/// Folders that stay: those used last.
const FOLDERS: usize = 4;

/// A folder of what is kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// It need not exist; `None`: there is no place for one.
    folder: Option<PathBuf>,
    /// Files that stay: those used last.
    files: usize,
}

/// The time of day, by which files are forgotten.
#[allow(
    clippy::disallowed_methods,
    reason = "when a file was used says nothing of what it holds"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

impl Kept {
    /// The user's folder `name`, in which so many `files` stay.
    pub fn of(name: &str, files: usize) -> Kept {
        // The specification has relative paths ignored.
        let absolute = |name| {
            let value = std::env::var_os(name).map(PathBuf::from);
            value.filter(|path| path.is_absolute())
        };
        let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        Kept {
            folder: base.map(|base| base.join("cclab").join(name)),
            files,
        }
    }

    /// The folder at `folder`, in which so many `files` stay.
    pub fn at(folder: &Path, files: usize) -> Kept {
        Kept {
            folder: Some(folder.to_owned()),
            files,
        }
    }

    /// The file or folder `name`, if it is kept.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let path = self.folder.as_ref()?.join(name);
        let file = File::open(&path).ok()?;
        // Where that is not allowed, others do not forget either.
        let _ = file.set_times(FileTimes::new().set_modified(now()));
        Some(path)
    }

    /// A folder to compile in.
    ///
    /// # Errors
    /// Neither here nor where temporary files are can one be made.
    pub fn begin(&self) -> io::Result<Work> {
        let kept = self.folder.as_ref().and_then(|kept| {
            fs::create_dir_all(kept).ok()?;
            // Aliases of a path make no difference to a compiler.
            let kept = kept.canonicalize().ok()?;
            let folder = tempfile::Builder::new().prefix(WORK).tempdir_in(&kept);
            Some((folder.ok()?, kept))
        });
        let (folder, kept) = match kept {
            Some((folder, kept)) => (folder, Some(kept)),
            None => (TempDir::with_prefix("cclab-")?, None),
        };
        Ok(Work {
            folder: Arc::new(folder),
            kept,
            files: self.files,
        })
    }

    /// Forgets the file at `path`, which is of no use.
    pub fn discard(&self, path: &Path) {
        let _ = fs::remove_file(path);
    }
}

/// A folder to compile in, gone when the last of its copies is dropped.
#[derive(Clone, Debug)]
pub struct Work {
    folder: Arc<TempDir>,
    kept: Option<PathBuf>,
    files: usize,
}

impl Work {
    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Keeps the file `made`, which is whole, as `name`, unless somebody else did meanwhile: what a
    /// compiler may be reading is never another file. Returns where it is now.
    pub fn keep(&self, made: PathBuf, name: &str) -> PathBuf {
        let Some(kept) = &self.kept else {
            return made;
        };
        let path = kept.join(name);
        match fs::hard_link(&made, &path) {
            Ok(()) => self.forget(kept),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // A file system without links.
            Err(_) if fs::rename(&made, &path).is_ok() => self.forget(kept),
            Err(_) => return made,
        }
        path
    }

    /// Keeps the folder `made` likewise.
    pub fn keep_folder(&self, made: PathBuf, name: &str) -> PathBuf {
        let Some(kept) = &self.kept else {
            return made;
        };
        let path = kept.join(name);
        // No folder takes the place of one that has files.
        match fs::rename(&made, &path) {
            Err(_) if !path.is_dir() => made,
            _ => path,
        }
    }

    /// Removes what was not used for longest, and what was left behind.
    fn forget(&self, kept: &Path) {
        let now = now();
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(kept).into_iter().flatten().flatten() {
            let Ok(facts) = entry.metadata() else {
                continue;
            };
            let used = facts.modified().unwrap_or(now);
            let path = entry.path();
            if entry.file_name().to_string_lossy().starts_with(WORK) {
                if now.duration_since(used).is_ok_and(|age| age > LEFT_BEHIND) {
                    remove(&path);
                }
            } else if facts.is_file() {
                files.push((used, path));
            } else {
                folders.push((used, path));
            }
        }
        for (mut all, most) in [(files, self.files), (folders, FOLDERS)] {
            all.sort();
            all.iter()
                .rev()
                .skip(most)
                .for_each(|(_, path)| remove(path));
        }
    }
}

/// Removes what is at `path`; what cannot be removed stays.
fn remove(path: &Path) {
    let _ = match path.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
}
