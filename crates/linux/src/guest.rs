//! A User Mode Linux kernel, started for one run.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::statvfs::statvfs;

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
    /// The command that boots it. `dir` is the run's folder, where alone it writes.
    pub fn command(&self, dir: &Path) -> Result<Command, RunError> {
        let agent = self.agent.to_string_lossy();
        if agent.contains('"') || self.agent.to_str().is_none() {
            let error = std::io::Error::other("the kernel's command line cannot hold this path");
            return Err(RunError::io(self.agent)(error));
        }
        let mut command = process::tied_still(self.agent, self.kernel);
        command
            .current_dir(dir)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", dir)
            .env("TMPDIR", room_for(self.memory_mb * MIB))
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
            .args(&self.arguments);
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

/// The folder for the guest's memory, a file without a name: in memory if there is room.
fn room_for(bytes: u64) -> PathBuf {
    let free = |folder: &Path| {
        statvfs(folder).map_or(0, |found| found.blocks_available() * found.fragment_size())
    };
    let shared = Path::new("/dev/shm");
    if free(shared) >= bytes {
        shared.to_owned()
    } else {
        std::env::temp_dir()
    }
}
