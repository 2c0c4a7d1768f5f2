//! One processor for a guest and for the thread that waits for it.
//!
//! The processes of a guest, and a guest and we, take turns: whoever goes on wakes the next and sleeps.
//! Between two processors each turn costs an interrupt, and often the wake of a processor that has
//! gone to sleep. On one it is a change of processes, and caches stay warm.

use std::fs::File;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;

/// The calling thread.
const THIS: Pid = Pid::from_raw(0);

/// The calling thread on one processor, until this is dropped; what it starts meanwhile stays there.
pub struct Pinned {
    /// Where the thread could run before.
    before: CpuSet,
    /// The processor, where no other run has it.
    _claim: Option<Flock<File>>,
}

impl Pinned {
    /// Pins the calling thread to a processor of those that it may use: to one that no other run of
    /// this machine has, if there is one. No result depends on it: where it cannot be done, `None`.
    pub fn new() -> Option<Pinned> {
        let before = sched_getaffinity(THIS).ok()?;
        // The scheduler's choice comes first: it knows what else is busy.
        let here = sched_getcpu().ok()?;
        let (own, claim) = match free(&before, here) {
            Some((own, claim)) => (own, Some(claim)),
            None => (here, None),
        };
        let mut only = CpuSet::new();
        only.set(own).ok()?;
        sched_setaffinity(THIS, &only).ok()?;
        Some(Pinned {
            before,
            _claim: claim,
        })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // Processors that are no more cannot be given back.
        let _ = sched_setaffinity(THIS, &self.before);
    }
}

/// The first of the `allowed` processors, from `here` on, that no other run has, and its claim.
fn free(allowed: &CpuSet, here: usize) -> Option<(usize, Flock<File>)> {
    let order = (here..CpuSet::count()).chain(0..here);
    let mut allowed = order.filter(|&one| allowed.is_set(one) == Ok(true));
    allowed.find_map(|one| Some((one, claim(&place(one))?)))
}

/// Where the host shows a processor. A lock there is seen by all processes, whoever they are of, and
/// goes with the one that holds it.
fn place(processor: usize) -> PathBuf {
    format!("/sys/devices/system/cpu/cpu{processor}").into()
}

fn claim(place: &Path) -> Option<Flock<File>> {
    let file = File::open(place).ok()?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn allowed() -> Vec<usize> {
        let set = sched_getaffinity(THIS).expect("its own");
        let is_set = |&one: &usize| set.is_set(one).expect("within the set");
        (0..CpuSet::count()).filter(is_set).collect()
    }

    #[test]
    fn a_thread_has_one_processor_as_long_as_it_is_pinned() {
        let before = allowed();
        let pinned = Pinned::new().expect("a processor");
        let own = allowed();
        assert_eq!(own.len(), 1);
        assert!(before.contains(&own[0]));
        assert_eq!(thread::spawn(allowed).join().expect("no panic"), own);
        drop(pinned);
        assert_eq!(allowed(), before);
    }

    #[test]
    fn a_thread_that_may_use_one_processor_alone_keeps_it() {
        let one = *allowed().last().expect("a processor");
        let mut only = CpuSet::new();
        only.set(one).expect("within the set");
        sched_setaffinity(THIS, &only).expect("one of those allowed");
        // Beside a run that has it, too.
        let first = Pinned::new();
        let second = Pinned::new();
        assert!(first.is_some() && second.is_some());
        assert_eq!(allowed(), [one]);
        drop((first, second));
        assert_eq!(allowed(), [one]);
    }

    #[test]
    fn what_one_run_has_claimed_another_does_not_get() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = claim(folder.path());
        assert!(first.is_some());
        assert!(claim(folder.path()).is_none());
        drop(first);
        assert!(claim(folder.path()).is_some());
        assert!(claim(&folder.path().join("none")).is_none());
    }
}
