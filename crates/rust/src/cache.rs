//! Where what was compiled is kept: `$XDG_CACHE_HOME/cclab/rust`, `~/.cache/cclab/rust` without
//! one. Where nothing can be written there, a passing folder serves, and all is compiled anew.

use std::fs::{self, File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

/// Shared objects that stay: those used last.
const KEPT: usize = 200;
/// A work folder that is older was left behind by a process that was killed.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 60 * 60);
/// How work folders are called.
const WORK: &str = ".work-";

/// The folder of what is kept, which need not exist; `None`: there is no place for one.
fn folder() -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).map(PathBuf::from);
    // The specification has relative paths ignored.
    let absolute = |path: &PathBuf| path.is_absolute();
    let base = named("XDG_CACHE_HOME").filter(absolute).or_else(|| {
        let home = named("HOME").filter(absolute)?;
        Some(home.join(".cache"))
    })?;
    Some(base.join("cclab").join("rust"))
}

/// The time of day, by which files are forgotten.
#[allow(
    clippy::disallowed_methods,
    reason = "when a file was used says nothing of what it holds"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

/// The file `name`, if it is kept.
pub(crate) fn kept(name: &str) -> Option<PathBuf> {
    let path = folder()?.join(name);
    let file = File::open(&path).ok()?;
    // Where that is not allowed, others do not forget either.
    let _ = file.set_times(FileTimes::new().set_modified(now()));
    Some(path)
}

/// A folder to compile in, gone when it is dropped.
pub(crate) struct Work {
    folder: TempDir,
    kept: Option<PathBuf>,
}

impl Work {
    /// An empty one.
    pub(crate) fn begin() -> io::Result<Work> {
        let kept = folder().and_then(|kept| {
            fs::create_dir_all(&kept).ok()?;
            let folder = tempfile::Builder::new().prefix(WORK).tempdir_in(&kept);
            Some((folder.ok()?, kept))
        });
        Ok(match kept {
            Some((folder, kept)) => Work {
                folder,
                kept: Some(kept),
            },
            None => Work {
                folder: TempDir::with_prefix("cclab-rust-")?,
                kept: None,
            },
        })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Keeps the file `made`, which is whole, as `name`, unless somebody else did meanwhile: what a
    /// compiler may be reading is never another file. Returns where it is now.
    pub(crate) fn keep(&self, made: PathBuf, name: &str) -> PathBuf {
        let Some(kept) = &self.kept else {
            return made;
        };
        let path = kept.join(name);
        match fs::hard_link(&made, &path) {
            Ok(()) => forget(kept),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // A file system without links.
            Err(_) if fs::rename(&made, &path).is_ok() => forget(kept),
            Err(_) => return made,
        }
        path
    }
}

/// Removes the file at `path`.
pub(crate) fn discard(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Removes what was not used for longest, and what was left behind.
fn forget(kept: &Path) {
    let now = now();
    let mut files = Vec::new();
    for entry in fs::read_dir(kept).into_iter().flatten().flatten() {
        let Ok(facts) = entry.metadata() else {
            continue;
        };
        let used = facts.modified().unwrap_or(now);
        let is_work = entry.file_name().to_string_lossy().starts_with(WORK);
        if facts.is_file() {
            files.push((used, entry.path()));
        } else if is_work && now.duration_since(used).is_ok_and(|age| age > LEFT_BEHIND) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    files.sort();
    for (_, path) in files.iter().rev().skip(KEPT) {
        discard(path);
    }
}
