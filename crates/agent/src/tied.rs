//! The agent as what starts another program: it becomes that program, which the kernel ends with
//! the process that started it. With a guest's kernel all that it started ends as well.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, exit};

use cclab_testbed::{MEMORY, NO_MEMORY};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

use crate::{guardian, jail, sys};

/// Becomes the program that the arguments name, after the parent's number, or guards a guest's
/// kernel.
pub fn main(guest: bool) -> ! {
    let arguments: Vec<OsString> = std::env::args_os().skip(2).collect();
    let [parent, rest @ ..] = arguments.as_slice() else {
        usage()
    };
    // A job in the background has had SIGINT ignored since it began; by it a run ends its programs.
    sys::heed_interrupts();
    let asked = if guest {
        guardian::told_of_the_end()
    } else {
        prctl::set_pdeathsig(Signal::SIGKILL)
    };
    // A parent that ended before that will not be told of.
    if asked.is_err() || getppid().to_string().as_str() != parent {
        fail("whoever started it is gone")
    }
    let command = if guest {
        if let Err(error) = guardian::guarded() {
            fail(format_args!("cannot guard the guest: {error}"))
        }
        confine(rest)
    } else {
        rest
    };
    let [program, rest @ ..] = command else {
        usage()
    };
    let error = Command::new(program).args(rest).exec();
    fail(format_args!("cannot run {}: {error}", program.display()))
}

/// Confines this process to what a guest's kernel needs; what is left of `arguments`, the kernel's
/// command.
fn confine(arguments: &[OsString]) -> &[OsString] {
    let [dir, memory, wire, command @ ..] = arguments else {
        usage()
    };
    // A User Mode Linux has for memory what its heap leaves, which begins at random: its tables,
    // and what it draws for them, were of another size in another run.
    if let Err(error) = sys::keep_addresses() {
        fail(format_args!(
            "cannot let a program begin at the same addresses each time: {error}; cclab doctor says why"
        ))
    }
    // Whoever started us may have left files open, which no rule about paths holds back.
    if let Err(error) = sys::leave_open_files() {
        fail(format_args!("cannot leave open files: {error}"))
    }
    // Who is confined cannot look into the process that has it.
    if wire != OsStr::new(NO_MEMORY)
        && let Err(error) = shared(Path::new(wire))
    {
        fail(format_args!("cannot share {}: {error}", wire.display()))
    }
    if let Err(error) = jail::guest(Path::new(dir), Path::new(memory)) {
        fail(format_args!("cannot confine the guest: {error}"))
    }
    command
}

/// Opens the memory at `path`, which is then [`MEMORY`] for whatever this process becomes.
fn shared(path: &Path) -> std::io::Result<()> {
    let file = File::options().read(true).write(true).open(path)?;
    sys::keep_open_as(file, MEMORY)
}

fn usage() -> ! {
    eprintln!(
        "usage: cclab-agent --tied PARENT PROGRAM ...\n       \
         cclab-agent --tied-guest PARENT RUN MEMORY SHARED KERNEL ..."
    );
    exit(2)
}

fn fail(why: impl Display) -> ! {
    eprintln!("{why}");
    exit(1)
}
