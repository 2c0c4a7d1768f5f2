//! The agent as the first process of a guest.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use cclab_testbed::records::Outcome;
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};

use crate::failure::{During, Step, failure};
use crate::outcome;
use crate::program::Surroundings;
use crate::run::{self, Place};

/// Where the run's folder is mounted.
pub const DIR: &str = "/run/cclab";
pub const TRACEFS: &str = "/sys/kernel/tracing";

/// Carries the orders out and powers the guest off.
pub fn main() -> ! {
    std::panic::set_hook(Box::new(|panic| {
        println!("cclab failed agent: {panic}");
        power_off();
    }));
    let done = mount_all().and_then(|()| carry_out());
    outcome::write(Path::new(DIR), done);
    power_off()
}

fn power_off() -> ! {
    nix::unistd::sync();
    let refused = reboot(RebootMode::RB_POWER_OFF);
    panic!("the guest does not power off: {refused:?}")
}

/// A path that the command line of the kernel gives in hexadecimal digits, so that it can hold
/// any character.
fn path(name: &str) -> Step<PathBuf> {
    let wrong = || {
        failure(
            "starting",
            format_args!("{name} is not a path in hexadecimal digits"),
        )
    };
    let text = std::env::var(name).map_err(|_| wrong())?;
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(byte).collect();
    Ok(PathBuf::from(OsString::from_vec(bytes.ok_or_else(wrong)?)))
}

fn mount_all() -> Step<()> {
    let step = "mounting";
    let none = MsFlags::empty();
    for (kind, place) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tracefs", TRACEFS),
        ("tmpfs", "/run"),
    ] {
        mount(Some(kind), place, Some(kind), none, None::<&str>)
            .map_err(|error| failure(step, format_args!("{kind} on {place}: {error}")))?;
    }
    fs::create_dir(DIR).during(step)?;
    let dir = path("cclab_dir")?;
    mount(Some("none"), DIR, Some("hostfs"), none, Some(&dir))
        .map_err(|error| failure(step, format_args!("{}: {error}", dir.display())))
}

fn carry_out() -> Step<Outcome> {
    let orders = run::orders(Path::new(DIR))?;
    let temporary = PathBuf::from("/run/tmp");
    fs::create_dir(&temporary).during("starting")?;
    let place = Place {
        dir: Path::new(DIR),
        guest: true,
        tracefs: Some((PathBuf::from(TRACEFS), None)),
        surroundings: Surroundings::read(Path::new(DIR), temporary, Some(path("cclab_dir")?))?,
    };
    run::carry_out(&orders, &place)
}
