//! The agent as what starts another program: it becomes that program, which the kernel ends with
//! the process that started it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

use crate::sys;

/// Becomes the program that the arguments name, after the parent's number; if `still`, at the same
/// addresses each time.
pub fn main(still: bool) -> ! {
    let arguments: Vec<OsString> = std::env::args_os().skip(2).collect();
    let [parent, program, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: cclab-agent --tied PARENT PROGRAM ...");
        exit(2)
    };
    // A job in the background has had SIGINT ignored since it began; by it a run ends its programs.
    sys::heed_interrupts();
    let asked = prctl::set_pdeathsig(Signal::SIGKILL);
    // A parent that ended before that will not be told of.
    if asked.is_err() || getppid().to_string().as_str() != parent {
        eprintln!("whoever started it is gone");
        exit(1)
    }
    // A User Mode Linux has for memory what its heap leaves, which begins at random: its tables,
    // and what it draws for them, were of another size in another run.
    if still && let Err(error) = sys::keep_addresses() {
        eprintln!(
            "cannot let a program begin at the same addresses each time: {error}; cclab doctor says why"
        );
        exit(1)
    }
    let error = Command::new(program).args(rest).exec();
    eprintln!("cannot run {}: {error}", program.display());
    exit(1)
}
