//! A User Mode Linux kernel, started for one run.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use cclab_testbed::{MEMORY, NO_MEMORY, TIED_GUEST};
use nix::sys::statvfs::statvfs;
use nix::unistd::geteuid;

use crate::RunError;
use crate::process;

/// The guest's wall clock at its boot: nothing may depend on the host's.
pub const BOOT_TIME_NS: u64 = 1_700_000_000_000_000_000;
/// Name of the folder that the kernel makes for itself in its working directory.
const OWN_FOLDER: &str = "guest";
const MIB: u64 = 1 << 20;

/// A kernel and what runs on it.
#[derive(Clone, Debug)]
pub struct Guest<'a> {
    /// The kernel's program.
    pub kernel: &'a Path,
    /// The agent's program.
    pub agent: &'a Path,
    /// Seed of the guest's randomness.
    pub seed: u64,
    /// What else it boots with.
    pub arguments: Vec<String>,
    /// Megabytes of memory, taken from the host as they are touched.
    pub memory_mb: u64,
}

impl Guest<'_> {
    /// The command that boots it. `dir` is the run's folder, where alone it writes, and `wire` the
    /// memory that it shares with its network, if that is ours.
    pub fn command(&self, dir: &Path, wire: Option<&str>) -> Result<Command, RunError> {
        let agent = self.agent.to_string_lossy();
        if agent.contains('"') || self.agent.to_str().is_none() {
            let error = std::io::Error::other("the kernel's command line cannot hold this path");
            return Err(RunError::io(self.agent)(error));
        }
        // Neither the guest's kernel nor the host's lets a guest write by way of links.
        let dir = fs::canonicalize(dir).map_err(RunError::io(dir))?;
        let dir = dir.as_path();
        let memory = room_for(self.memory_mb * MIB).unwrap_or_else(|| dir.to_owned());
        let mut command = process::tied_as(TIED_GUEST, self.agent);
        command
            .args([dir, &memory])
            .arg(wire.unwrap_or(NO_MEMORY))
            .arg(self.kernel)
            .current_dir(dir)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", dir)
            .env("TMPDIR", memory)
            .arg(format!("mem={}M", self.memory_mb))
            .arg("time-travel=inf-cpu")
            .arg(format!("time-travel-start={BOOT_TIME_NS}"))
            .arg(format!("random-seed={}", self.seed))
            // A name that is no device: 6.1 takes a number for one, and mounts nothing.
            .args(["root=hostfs", "rootfstype=hostfs", "rootflags=/", "ro"])
            .arg(format!("\"init={agent}\""))
            .args(["uml_dir=.", &format!("umid={OWN_FOLDER}")])
            .args(["con=null", "con0=fd:0,fd:1", "quiet", "panic=-1"])
            .arg(format!("cclab_dir={}", digits(dir)))
            .arg(writes(dir))
            .args(&self.arguments)
            .args(wire.map(|_| format!("wire=/proc/self/fd/{MEMORY}")));
        Ok(command)
    }
}

/// Removes what the kernel left in the run's folder.
pub fn tidy(dir: &Path) {
    // There only if the guest did not power itself off.
    let _ = fs::remove_dir_all(dir.join(OWN_FOLDER));
}

/// A path in hexadecimal digits: the kernel's command line splits at spaces.
fn digits(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The argument that names the one folder of the host in which hostfs changes anything. It is read
/// before the command line is, and may hold any character.
fn writes(dir: &Path) -> OsString {
    let mut argument = OsString::from("hostfs_writes=");
    argument.push(dir);
    argument
}

/// The folder for the guest's memory, a file without a name: in the host's memory if there is room.
/// It is our user's own, so that a guest that may write to it can write to nobody else's files.
/// None if neither place has such a folder.
fn room_for(bytes: u64) -> Option<PathBuf> {
    let free = |folder: &Path| {
        statvfs(folder).map_or(0, |space| space.blocks_available() * space.fragment_size())
    };
    let shared = Path::new("/dev/shm");
    let in_memory = (free(shared) >= bytes).then(|| shared.to_owned());
    in_memory
        .into_iter()
        .chain([std::env::temp_dir()])
        .find_map(own_folder_in)
}

/// Our user's own folder in `place`, which is made if need be.
fn own_folder_in(place: PathBuf) -> Option<PathBuf> {
    let user = geteuid().as_raw();
    let folder = place.join(format!("cclab-{user}"));
    // It may be there, ours or somebody's who was quicker.
    let _ = DirBuilder::new().mode(0o700).create(&folder);
    let ours =
        |place: fs::Metadata| place.is_dir() && place.uid() == user && place.mode() & 0o77 == 0;
    fs::symlink_metadata(&folder)
        .is_ok_and(ours)
        .then_some(folder)
}
