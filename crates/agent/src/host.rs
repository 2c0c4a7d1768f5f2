//! The agent as a process of a host: the same run, in real time.
//!
//! It is three processes. The first is the one that was started; it waits for the second, which
//! carries the orders out as the first process of a process namespace, so that whatever it started
//! ends with it. The third, where the kernel's events are recorded, waits for the end of the other
//! two, however they end, and removes the ring, the only thing that would outlive them.

use std::fs;
use std::io::{ErrorKind, PipeReader, PipeWriter, Read, pipe};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::thread::sleep;
use std::time::Duration;

use cclab_testbed::Outcome;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{
    ForkResult, Pid, dup2_stderr, dup2_stdin, dup2_stdout, getegid, geteuid, getppid, setsid,
};

use crate::failure::{During, Failure, Step, failure};
use crate::outcome;
use crate::program::Surroundings;
use crate::run::{self, Place};
use crate::sys;

const TRACEFS: &str = "/sys/kernel/tracing";
/// Prefix of our rings' names; the rest is the number of the process that owns one.
const INSTANCE: &str = "cclab-";
/// What the agent covers with a folder of its own, where `ip` looks for namespaces.
const RUN: &str = "/run";
const STARTING: &str = "starting";
/// How often the removal of a ring is tried, and how long apart: the kernel closes what a killed
/// process had open after its end was told.
const REMOVALS: u32 = 250;
/// See [`REMOVALS`].
const BETWEEN_REMOVALS: Duration = Duration::from_millis(20);

/// Carries the orders in the folder given as the argument out.
pub fn main() -> ! {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [dir] = arguments.as_slice() else {
        eprintln!("usage: cclab-agent FOLDER");
        exit(2)
    };
    match begin(dir) {
        Ok(Process::Outer(outer)) => exit(outer.wait()),
        Ok(Process::Inner(inner)) => {
            let done = carry_out(dir, &inner);
            exit(i32::from(!outcome::write(dir, done)))
        }
        Err(failure) => exit(i32::from(!outcome::write(dir, Err(failure)))),
    }
}

/// Which of the agent's processes this is.
enum Process {
    Outer(Outer),
    Inner(Inner),
}

/// The process that was started.
struct Outer {
    inner: Pid,
    guard: Option<Pid>,
    /// The ring is in use while this or the inner process's is open.
    in_use: PipeWriter,
    /// Closed by our end.
    _lives: PipeWriter,
}

/// The process that carries the orders out.
struct Inner {
    /// The name of its ring, where there is tracefs.
    ring: Option<String>,
    /// See [`Outer::in_use`].
    _in_use: PipeWriter,
}

impl Outer {
    /// Waits for the others to end; the exit status of the inner one.
    fn wait(self) -> i32 {
        let ended = waited(self.inner);
        drop(self.in_use);
        if let Some(guard) = self.guard {
            waited(guard);
        }
        match ended {
            Some(WaitStatus::Exited(_, status)) => status,
            other => {
                eprintln!("the run's process ended with {other:?}");
                1
            }
        }
    }
}

fn waited(process: Pid) -> Option<WaitStatus> {
    loop {
        match waitpid(process, None) {
            Err(Errno::EINTR) => {}
            ended => return ended.ok(),
        }
    }
}

/// Makes namespaces of our own and the processes in them; tells which of these this is.
fn begin(dir: &Path) -> Step<Process> {
    let own = std::process::id();
    let parent = getppid();
    prctl::set_pdeathsig(Signal::SIGKILL).during(STARTING)?;
    if getppid() != parent {
        return Err(orphaned());
    }
    if dir.starts_with(RUN) {
        let problem = format!(
            "the results folder lies in {RUN}, which the agent covers with its own; choose \
             another with --out"
        );
        return Err(failure(STARTING, problem));
    }
    make_namespaces()?;
    let ring = tracefs().then(|| format!("{INSTANCE}{own}"));
    let (used, in_use) = pipe().during(STARTING)?;
    let (guard, in_use) = match &ring {
        Some(name) => start_guard(name, used, in_use)?,
        None => (None, in_use),
    };
    unshare(CloneFlags::CLONE_NEWPID).during("a process namespace")?;
    let (alive, lives) = pipe().during(STARTING)?;
    match sys::fork().during(STARTING)? {
        ForkResult::Parent { child } => Ok(Process::Outer(Outer {
            inner: child,
            guard,
            in_use,
            _lives: lives,
        })),
        ForkResult::Child => {
            drop(lives);
            prctl::set_pdeathsig(Signal::SIGKILL).during(STARTING)?;
            // An outer process that ended before that could not be told by the signal.
            let mut ends = [PollFd::new(alive.as_fd(), PollFlags::POLLIN)];
            if poll(&mut ends, PollTimeout::ZERO).during(STARTING)? > 0 {
                return Err(orphaned());
            }
            // There programs find themselves by the numbers they know. Where parts of the host's
            // are covered, as in containers, users get no other; they have to do with it.
            let _ = mount(
                Some("proc"),
                "/proc",
                Some("proc"),
                MsFlags::empty(),
                None::<&str>,
            );
            Ok(Process::Inner(Inner {
                ring,
                _in_use: in_use,
            }))
        }
    }
}

fn orphaned() -> Failure {
    failure(STARTING, "whoever started the agent is gone")
}

/// A view of the file system, and a network, of our own, which end with the last of our
/// processes. Whoever may not have them as he is becomes root of a user namespace.
fn make_namespaces() -> Step<()> {
    let (user, group) = (geteuid(), getegid());
    let ours = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET;
    match unshare(ours) {
        Ok(()) => {}
        Err(Errno::EPERM) => {
            unshare(ours | CloneFlags::CLONE_NEWUSER).map_err(|error| {
                let problem = format!(
                    "no namespaces of our own: {error}; run as root, or let users make \
                     namespaces (`cclab doctor` says how)"
                );
                failure(STARTING, problem)
            })?;
            let maps = [
                // Groups cannot be mapped by one who could then drop them.
                ("setgroups", "deny".to_owned()),
                ("uid_map", format!("0 {user} 1")),
                ("gid_map", format!("0 {group} 1")),
            ];
            for (name, text) in maps {
                let path = format!("/proc/self/{name}");
                fs::write(&path, text)
                    .map_err(|error| failure(STARTING, format_args!("{path}: {error}")))?;
            }
        }
        Err(error) => {
            return Err(failure(
                STARTING,
                format_args!("no namespaces of our own: {error}"),
            ));
        }
    }
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>).during("a view of our own")?;
    mount(
        Some("tmpfs"),
        RUN,
        Some("tmpfs"),
        MsFlags::empty(),
        None::<&str>,
    )
    .during("a folder of namespaces")
}

/// Whether we may use tracefs, mounted for us alone if need be; rings of agents that were killed
/// together with their guards are removed.
fn tracefs() -> bool {
    let instances = Path::new(TRACEFS).join("instances");
    if !instances.is_dir() {
        // Where this is refused, there is none for us.
        let _ = mount(
            Some("tracefs"),
            TRACEFS,
            Some("tracefs"),
            MsFlags::empty(),
            None::<&str>,
        );
    }
    let Ok(entries) = fs::read_dir(&instances) else {
        return false;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(INSTANCE));
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // The kernel keeps one that somebody reads.
            let _ = fs::remove_dir(entry.path());
        }
    }
    true
}

/// Starts the process that removes the ring called `name` once nobody holds `in_use` open.
fn start_guard(
    name: &str,
    used: PipeReader,
    in_use: PipeWriter,
) -> Step<(Option<Pid>, PipeWriter)> {
    let nothing = fs::File::open("/dev/null").during(STARTING)?;
    match sys::fork().during(STARTING)? {
        ForkResult::Parent { child } => Ok((Some(child), in_use)),
        ForkResult::Child => {
            // Whoever ends the run by its process group, or reads its output to the end, does not
            // mean the guard.
            drop(in_use);
            let apart = setsid().and_then(|_| {
                dup2_stdin(&nothing)?;
                dup2_stdout(&nothing)?;
                dup2_stderr(&nothing)
            });
            if apart.is_ok() {
                guard(name, used);
            }
            exit(i32::from(apart.is_err()))
        }
    }
}

/// Removes the ring called `name` when `used` is at its end.
fn guard(name: &str, mut used: PipeReader) {
    // Nothing is ever written into it.
    let _ = used.read(&mut [0]);
    let ring = Path::new(TRACEFS).join("instances").join(name);
    for _ in 0..REMOVALS {
        match fs::remove_dir(&ring) {
            Err(error) if error.kind() != ErrorKind::NotFound => sleep(BETWEEN_REMOVALS),
            _ => return,
        }
    }
}

/// Carries the orders in `dir` out, in namespaces of our own.
fn carry_out(dir: &Path, inner: &Inner) -> Step<Outcome> {
    let orders = run::orders(dir)?;
    let place = Place {
        dir,
        guest: false,
        tracefs: inner
            .ring
            .clone()
            .map(|name| (PathBuf::from(TRACEFS), Some(name))),
        surroundings: Surroundings::read(dir, dir.to_owned(), None)?,
    };
    run::carry_out(&orders, &place)
}
