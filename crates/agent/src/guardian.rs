//! The process that a guest's kernel runs beneath: with the guest, or with whoever started it, all
//! that the guest started ends. The kernel tells children of their parent's end, and nobody further
//! down; but no process of a guest can leave the group that is ended here (module `calls`).

use std::process::exit;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, Signal, killpg, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, getpgid, getpid, getppid, setpgid};

use crate::sys;

/// By what we learn that whoever started us has ended. A guest's kernel that gives up sends
/// `SIGTERM` to its group, which must not end it another way.
const ORPHANED: Signal = Signal::SIGUSR1;

/// This process is told of the end of whoever started it, rather than ended with it.
///
/// # Errors
/// If the kernel refuses.
pub fn told_of_the_end() -> nix::Result<()> {
    // It waits until we look.
    SigSet::all().thread_block()?;
    // Whoever ignores the end of his children is told nothing of it.
    sys::heed(Signal::SIGCHLD);
    prctl::set_pdeathsig(ORPHANED)
}

/// Goes on as a child in a group of this process. This process itself waits for the child's end,
/// ends the group, and then itself in the same way.
///
/// # Errors
/// If the kernel refuses.
pub fn guarded() -> nix::Result<()> {
    // A group of ours: whoever started us may have left us in his.
    setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    let guardian = getpid();
    match sys::fork()? {
        ForkResult::Parent { child } => guard(child),
        ForkResult::Child => {
            prctl::set_pdeathsig(Signal::SIGKILL)?;
            // One that ended before that is not told of.
            if getppid() != guardian {
                return Err(Errno::ESRCH);
            }
            SigSet::all().thread_unblock()
        }
    }
}

fn guard(guest: Pid) -> ! {
    let every = SigSet::all();
    loop {
        match every.wait() {
            Ok(ORPHANED) => end_all(),
            // Also if something was missed: the guest is asked for itself.
            _ => match waitpid(guest, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(_, status)) => {
                    end_others();
                    exit(status)
                }
                Ok(WaitStatus::Signaled(_, by, _)) => {
                    end_others();
                    end_by(by)
                }
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => end_all(),
            },
        }
    }
}

/// Ends the group, this process too.
fn end_all() -> ! {
    let _ = killpg(getpid(), Signal::SIGKILL);
    exit(1)
}

/// Ends the group but for this process, which leaves it. If it cannot, the group is left to whoever
/// started us, who ends it when he is told of our end.
fn end_others() {
    let group = getpid();
    let joined = getpgid(Some(getppid())).and_then(|theirs| setpgid(group, theirs));
    if joined.is_ok() {
        let _ = killpg(group, Signal::SIGKILL);
    }
}

/// Ends this process as the guest was, without an image of its memory.
fn end_by(by: Signal) -> ! {
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    if by != Signal::SIGKILL {
        sys::heed(by);
    }
    let _ = SigSet::all().thread_unblock();
    let _ = raise(by);
    exit(1)
}
