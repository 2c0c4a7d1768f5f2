//! What a module does that it must not ends its process, with a word on which module and hook did it.
//!
//! [`install`] is for a process that runs one simulation, in one thread. A division by zero, memory
//! that is not the module's, an instruction that is none and a hook that does not come back are
//! told as `FILE:LINE: HOOK: WHAT`, the line where it is known, and a newline to the file descriptor
//! given, and the process ends with [`EXIT`]. Faults elsewhere take the course that they took before.

#![allow(unsafe_code, reason = "signal handlers are set and run")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::hook::Hook;
use crate::place;

/// How a process ends that a module has ended.
pub const EXIT: i32 = 86;

/// Signals of faults, in the order of `PREVIOUS`.
const FAULTS: [c_int; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
];
/// The signal of the clock, which counts the processor's time that the process takes itself.
const TICK: c_int = libc::SIGVTALRM;
/// A hook that is there at so many ticks in a row does not come back.
const TICKS: u64 = 4;
/// How often it is looked at whether the same call is under way, asleep maybe.
const LOOK: Duration = Duration::from_millis(100);
/// Bits of `CALL`: the hook's number and one, the ticks that the call has seen, and the address of
/// the module's name, of which the highest byte is zero; and whether it was looked at.
const HOOK_BITS: u64 = 0xf;
const TICK_ONE: u64 = 0x10;
const NAME_SHIFT: u32 = 8;
const SEEN: u64 = 1 << 63;

/// The call that is under way; zero: none is. It is of the process, not of a thread: one store as a
/// hook begins and one as it ends.
static CALL: AtomicU64 = AtomicU64::new(0);
/// Where faults are told; negative: they are not.
static REPORT: AtomicI32 = AtomicI32::new(-1);
/// What faults led to before.
static PREVIOUS: Handlers = Handlers(std::sync::OnceLock::new());

struct Handlers(std::sync::OnceLock<[libc::sigaction; FAULTS.len()]>);

// SAFETY: a sigaction is plain data, written once.
unsafe impl Sync for Handlers {}
// SAFETY: see above.
unsafe impl Send for Handlers {}

/// From now on what modules do that they must not is told to the file descriptor `report`. A hook
/// may take `limit` of the processor's time, of which it has at most a third more, and `wall` on a clock,
/// asleep or waiting. A process that it forks ends at once.
///
/// It is called once, in the thread that runs the simulation, whose stack for signals it sets.
///
/// # Errors
/// The system refuses a handler, a clock or a thread.
pub fn install(report: RawFd, limit: Duration, wall: Duration) -> io::Result<()> {
    signal_stack()?;
    place::find_host();
    let mut previous = Vec::new();
    for signal in FAULTS {
        previous.push(handle(signal, on_fault, libc::SA_ONSTACK)?);
    }
    if let Ok(previous) = previous.try_into() {
        // A second call finds what the first has kept.
        let _ = PREVIOUS.0.set(previous);
    }
    handle(TICK, on_tick, libc::SA_ONSTACK | libc::SA_RESTART)?;
    let tick = limit.max(Duration::from_millis(40)) / (TICKS - 1) as u32;
    let tick = libc::timeval {
        tv_sec: tick.as_secs() as libc::time_t,
        tv_usec: tick.subsec_micros() as libc::suseconds_t,
    };
    let timer = libc::itimerval {
        it_interval: tick,
        it_value: tick,
    };
    // SAFETY: the timer lives through the call.
    checked(unsafe { libc::setitimer(libc::ITIMER_VIRTUAL, &timer, std::ptr::null_mut()) })?;
    // SAFETY: both functions are there as long as the process is.
    unsafe {
        checked(libc::pthread_atfork(None, None, Some(on_fork)))?;
        checked(libc::atexit(on_exit))?;
    }
    look_after(wall)?;
    REPORT.store(report, Relaxed);
    Ok(())
}

/// Starts a thread that ends the process when a call has been under way for `wall`.
fn look_after(wall: Duration) -> io::Result<()> {
    let most = wall.as_millis().div_ceil(LOOK.as_millis());
    let look = move || {
        let mut looks = 0;
        loop {
            std::thread::sleep(LOOK);
            let call = CALL.load(Relaxed);
            if call & SEEN == 0 {
                looks = 0;
                if call != 0 {
                    // Another call may have begun meanwhile.
                    let _ = CALL.compare_exchange(call, call | SEEN, Relaxed, Relaxed);
                }
                continue;
            }
            looks += 1;
            if looks >= most {
                let what = format!("it does not come back within {} s", wall.as_secs_f64());
                end(&what, None, std::ptr::null());
            }
        }
    };
    // Signals are for the thread that runs the simulation: the new one inherits what is blocked.
    // SAFETY: the sets live through the calls, which fill the second one.
    unsafe {
        let mut all = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let begun = std::thread::Builder::new().spawn(look);
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        begun.map(drop)
    }
}

/// A process that a hook forked does not go on with the run, which is its parent's.
extern "C" fn on_fork() {
    if CALL.load(Relaxed) != 0 {
        // SAFETY: it ends the process at once.
        unsafe { libc::_exit(0) };
    }
}

/// The process ends in an orderly way: not by a hook.
extern "C" fn on_exit() {
    if CALL.load(Relaxed) != 0 {
        end("it ends its process", None, std::ptr::null());
    }
}

fn checked(done: c_int) -> io::Result<()> {
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Gives this thread a stack for signals: its own may be what is used up.
fn signal_stack() -> io::Result<()> {
    let size = libc::SIGSTKSZ.max(64 * 1024);
    let stack = libc::stack_t {
        // It serves the thread to its end.
        ss_sp: Box::leak(vec![0_u8; size].into_boxed_slice())
            .as_mut_ptr()
            .cast(),
        ss_flags: 0,
        ss_size: size,
    };
    // SAFETY: the memory is never freed.
    checked(unsafe { libc::sigaltstack(&stack, std::ptr::null_mut()) })
}

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

fn handle(signal: c_int, by: Handler, flags: c_int) -> io::Result<libc::sigaction> {
    // SAFETY: zero is a value of these structures; the handler has the signature of SA_SIGINFO.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut previous: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = by as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | flags;
        checked(libc::sigaction(signal, &action, &mut previous))?;
        Ok(previous)
    }
}

/// Whether faults are told: [`install`] was called.
pub fn is_installed() -> bool {
    REPORT.load(Relaxed) >= 0
}

/// A file whose hooks are called: [`CALL`] without the hook.
#[derive(Clone, Copy)]
pub struct Watched(u64);

impl Watched {
    /// The file called `name`, which lives for ever, as faults are told with it.
    pub fn new(name: &'static CStr) -> Watched {
        Watched((name.as_ptr() as u64) << NAME_SHIFT)
    }

    /// A hook of the file begins.
    #[inline]
    pub fn enter(self, hook: Hook) {
        CALL.store(self.0 | (hook as u64 + 1), Relaxed);
    }

    /// Tells what `hook` of the file did, and ends the process if it is guarded.
    ///
    /// # Panics
    /// The process is not guarded.
    #[cold]
    pub fn told(self, hook: Hook, what: &str) -> ! {
        if is_installed() {
            self.enter(hook);
            end(what, None, std::ptr::null());
        }
        panic!("{}: {}: {what}", self.name(), hook.name());
    }

    fn name(self) -> std::borrow::Cow<'static, str> {
        // SAFETY: `new` was given a string that lives for ever.
        unsafe { CStr::from_ptr((self.0 >> NAME_SHIFT) as *const c_char) }.to_string_lossy()
    }
}

/// The hook has ended.
#[inline]
pub fn leave() {
    CALL.store(0, Relaxed);
}

/// What a module calls that found its own condition broken (`BUG_ON`).
pub(crate) extern "C" fn on_bug(what: *const c_char) {
    // SAFETY: the module gives a literal.
    let what = unsafe { CStr::from_ptr(what) };
    let what = what.to_str().unwrap_or("BUG");
    if is_installed() {
        end(what, None, std::ptr::null());
    }
    eprintln!("{what}");
    std::process::abort();
}

/// What `signal` says of the code that it stopped.
pub(crate) fn what(signal: c_int) -> &'static str {
    match signal {
        libc::SIGFPE => "it divides by zero",
        libc::SIGSEGV | libc::SIGBUS => "it reads or writes memory that is not its own",
        libc::SIGILL | libc::SIGTRAP => {
            "it comes to a place where its compiler put no code, as after a division by zero or a BUG"
        }
        libc::SIGABRT => {
            "it aborts, as after a write beyond the end of a variable on the stack, after a wrong free, or \
             where there is no memory left"
        }
        libc::SIGXCPU | libc::SIGKILL => {
            "it does not come back: it took 5 s of the processor's time"
        }
        _ => "it ends its process",
    }
}

extern "C" fn on_fault(signal: c_int, told: *mut libc::siginfo_t, context: *mut c_void) {
    if CALL.load(Relaxed) == 0 || REPORT.load(Relaxed) < 0 {
        // Not a module's: the instruction runs again, under the handler that was there.
        let index = FAULTS.iter().position(|known| *known == signal);
        if let (Some(index), Some(previous)) = (index, PREVIOUS.0.get()) {
            // SAFETY: `previous` came from sigaction.
            unsafe { libc::sigaction(signal, &previous[index], std::ptr::null_mut()) };
        }
        if signal == libc::SIGABRT {
            // SAFETY: raising a signal is allowed in a handler.
            unsafe { libc::raise(signal) };
        }
        return;
    }
    let address = match signal {
        // SAFETY: the kernel fills the address of these signals.
        libc::SIGSEGV | libc::SIGBUS => Some(unsafe { (*told).si_addr() } as usize),
        _ => None,
    };
    end(what(signal), address, context);
}

extern "C" fn on_tick(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    let call = CALL.load(Relaxed);
    if call == 0 {
        return;
    }
    if call / TICK_ONE % 16 + 1 >= TICKS {
        end("it does not come back", None, context);
    }
    // The call may have ended in another thread meanwhile.
    let _ = CALL.compare_exchange(call, call + TICK_ONE, Relaxed, Relaxed);
}

/// Writes what the present call did, at which address in memory, and ends the process: in a handler, too,
/// which knows the `context` that it interrupted.
fn end(what: &str, address: Option<usize>, context: *const c_void) -> ! {
    let report = REPORT.load(Relaxed);
    let write = |text: &[u8]| {
        // SAFETY: the text lives through the call; write is allowed in handlers. Whom it cannot
        // reach, the code of the exit still tells.
        unsafe { libc::write(report, text.as_ptr().cast(), text.len()) };
    };
    let call = CALL.load(Relaxed);
    let mut rooms = [[0; 4_096]; 2];
    let found = place::of(context, &mut rooms);
    let module = ((call & !SEEN) >> NAME_SHIFT) as *const c_char;
    if let Some(place) = found.place {
        for part in [place.file, b":", place.line] {
            write(part);
        }
    } else if !module.is_null() {
        // SAFETY: `Watched` has a string that lives for ever.
        write(unsafe { CStr::from_ptr(module) }.to_bytes());
    }
    write(b": ");
    let hook = (call & HOOK_BITS).wrapping_sub(1);
    write(Hook::name_at(hook as u8).as_bytes());
    write(b": ");
    write(what.as_bytes());
    if let Some(within) = found.within {
        write(b" in ");
        write(within);
    }
    if let Some(address) = address {
        let mut digits = [0_u8; 16];
        write(b", at address 0x");
        write(hexadecimal(address, &mut digits));
        if address < 4_096 {
            write(b" (through a pointer that is NULL)");
        }
    }
    write(b"\n");
    // SAFETY: it ends the process at once.
    unsafe { libc::_exit(EXIT) }
}

fn hexadecimal(mut number: usize, room: &mut [u8; 16]) -> &[u8] {
    let mut at = room.len();
    loop {
        at -= 1;
        room[at] = b"0123456789abcdef"[number % 16];
        number /= 16;
        if number == 0 || at == 0 {
            return &room[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_without_memory() {
        let mut room = [0; 16];
        assert_eq!(hexadecimal(0, &mut room), b"0");
        assert_eq!(hexadecimal(0x1f, &mut room), b"1f");
        assert_eq!(hexadecimal(usize::MAX, &mut room), b"ffffffffffffffff");
    }
}
