//! The agent as a process of a host: the same run, in real time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::exit;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

use crate::failure::{During, Step, failure};
use crate::outcome;
use crate::program::Surroundings;
use crate::run::{self, Place};

const TRACEFS: &str = "/sys/kernel/tracing";
/// Prefix of our rings' names; the rest is the number of the process that owns one.
const INSTANCE: &str = "cclab-";

/// Carries the orders in the folder given as the argument out.
pub fn main() -> ! {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [dir] = arguments.as_slice() else {
        eprintln!("usage: cclab-agent FOLDER");
        exit(2)
    };
    let done = alone().and_then(|()| {
        let orders = run::orders(dir)?;
        let own = format!("{INSTANCE}{}", std::process::id());
        let place = Place {
            dir,
            guest: false,
            tracefs: tracefs().map(|mounted| (mounted, Some(own))),
            surroundings: Surroundings::read(dir, dir.clone())?,
        };
        run::carry_out(&orders, &place)
    });
    exit(i32::from(!outcome::write(dir, done)))
}

/// A view of the file system, and a network, of our own, which end with this process, which ends
/// with whoever started it.
fn alone() -> Step<()> {
    let step = "starting";
    let parent = getppid();
    prctl::set_pdeathsig(Signal::SIGKILL).during(step)?;
    if getppid() != parent {
        return Err(failure(step, "whoever started the agent is gone"));
    }
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET).map_err(|error| {
        failure(
            step,
            format_args!("no namespaces of our own: {error}; the agent must run as root"),
        )
    })?;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>).during(step)?;
    mount(
        Some("tmpfs"),
        "/run",
        Some("tmpfs"),
        MsFlags::empty(),
        None::<&str>,
    )
    .during(step)
}

/// Where tracefs is mounted, if we may use it; rings of agents that were killed are removed.
fn tracefs() -> Option<PathBuf> {
    let mounted = Path::new(TRACEFS);
    let entries = fs::read_dir(mounted.join("instances")).ok()?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(INSTANCE));
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
    Some(mounted.to_owned())
}
