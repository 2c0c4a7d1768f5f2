//! A flow's program in a guest: it has the network of its host, and of the rest what it needs.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, exit};

use caps::{Capability, CapsHashSet};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};

use crate::capabilities;
use crate::guest::{DIR, TRACEFS};

/// What a program keeps of what root may do: sockets of every kind, and files whoever owns them, as
/// far as they can be reached. The network is the study's: a program that changed it would make the
/// study tell of another.
const KEPT: [Capability; 9] = [
    Capability::CAP_NET_RAW,
    Capability::CAP_NET_BIND_SERVICE,
    Capability::CAP_CHOWN,
    Capability::CAP_FOWNER,
    Capability::CAP_DAC_OVERRIDE,
    Capability::CAP_KILL,
    Capability::CAP_SETUID,
    Capability::CAP_SETGID,
    Capability::CAP_SYS_NICE,
];

/// The kernel's settings, and those of them that belong to a program's own network.
const SETTINGS: &str = "/proc/sys";
const NETWORK: &str = "/proc/sys/net";
/// The largest file that a program may write, in bytes: what it prints goes to the host's disk.
const LARGEST_FILE: u64 = 1 << 30;

/// Becomes the program that the arguments name, after the folder that it may write to and that of
/// the run's records on the host.
pub fn main() -> ! {
    let arguments: Vec<OsString> = std::env::args_os().skip(2).collect();
    let [temporary, records, program, rest @ ..] = arguments.as_slice() else {
        fail("usage: cclab-agent --program TEMPORARY RECORDS PROGRAM ...")
    };
    if let Err(why) = hide(temporary, records) {
        fail(why)
    }
    if let Err(error) = give_up() {
        fail(format!("cannot give capabilities up: {error}"))
    }
    let error = Command::new(program).args(rest).exec();
    fail(format!("cannot run {}: {error}", program.display()))
}

/// Lays over what a program has no business with: the run's records, the kernel's settings but
/// those of the network, and what the kernel tells of itself. What is left to write to is
/// `temporary`. Whoever has not the capability to unmount cannot look beneath.
fn hide(temporary: &OsStr, records: &OsStr) -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNS).map_err(|error| format!("a view of its own: {error}"))?;
    let none = None::<&str>;
    let done = |at: &OsStr| {
        let at = at.display().to_string();
        move |error| format!("hiding {at}: {error}")
    };
    let bind = |from: &OsStr, at: &OsStr| {
        mount(Some(from), at, none, MsFlags::MS_BIND, none).map_err(done(at))
    };
    let change = |at: &OsStr, flags: MsFlags| {
        let flags = flags | MsFlags::MS_BIND | MsFlags::MS_REMOUNT;
        mount(Some("none"), at, none, flags, none).map_err(done(at))
    };
    let nothing = |at: &OsStr| {
        mount(Some("tmpfs"), at, Some("tmpfs"), MsFlags::MS_RDONLY, none).map_err(done(at))
    };
    let apart = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(Some("none"), "/", none, apart, none).map_err(done("/".as_ref()))?;
    for kept in [OsStr::new(SETTINGS), OsStr::new(NETWORK), temporary] {
        bind(kept, kept)?;
    }
    // What a kernel of the user's own may also have.
    for told in ["/proc/sysrq-trigger", "/proc/exitcode"] {
        if Path::new(told).exists() {
            bind("/dev/null".as_ref(), told.as_ref())?;
        }
    }
    for sealed in [SETTINGS, "/sys", "/dev", "/run"] {
        change(sealed.as_ref(), MsFlags::MS_RDONLY)?;
    }
    // The root file system is the host's, and has the records as well.
    [OsStr::new(TRACEFS), OsStr::new(DIR), records]
        .into_iter()
        .try_for_each(nothing)
}

/// Gives up what is not [`KEPT`], for good.
fn give_up() -> Result<(), Box<dyn std::error::Error>> {
    capabilities::bound(&CapsHashSet::from(KEPT))?;
    prctl::set_no_new_privs()?;
    setrlimit(Resource::RLIMIT_FSIZE, LARGEST_FILE, LARGEST_FILE)?;
    Ok(())
}

fn fail(why: impl AsRef<OsStr>) -> ! {
    eprintln!("{}", why.as_ref().display());
    exit(127)
}
