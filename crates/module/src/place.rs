//! The line of the user's file at which a signal stopped a module: asked of `addr2line`, which comes with
//! the compiler, by a handler of signals. Nothing here takes memory or waits for a lock.
//!
//! Where it stopped may be a function of ours or of the library's: the user's line is the one that called
//! it, to which an address on the stack returns, below those that return to this program: what lies
//! beyond may be left from earlier calls. A function that is called last, whose caller is gone from the
//! stack, is told of without a line.

#![allow(
    unsafe_code,
    reason = "a handler reads registers and the stack, and starts a program"
)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// What the compiler calls the folder of the user's texts, and that of ours.
pub(crate) const USERS: &str = "/users";
pub(crate) const OURS: &str = "/ours";

/// Shared objects that are known; of later ones no line is told.
const MOST: usize = 64;
/// No module is as large in memory.
const LARGEST: usize = 1 << 24;
const PROGRAM: &CStr = c"/usr/bin/addr2line";
/// Words of the stack that are looked at.
const WORDS: usize = 256;
/// Addresses among them of which the program is asked.
const ASKED: usize = 8;

/// A shared object of a module.
struct Object {
    /// The file, which lives as long as the cache does.
    path: CString,
    /// Where it is in memory.
    base: usize,
}

static OBJECTS: [AtomicPtr<Object>; MOST] = [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Where this program's own code is in memory, which calls modules.
static HOST: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Looks where this program's own code is.
pub(crate) fn find_host() {
    // SAFETY: the function is called for each object of the process, and gets what it says.
    unsafe { libc::dl_iterate_phdr(Some(is_host), std::ptr::null_mut()) };
}

/// Keeps the part of an object that has this function.
unsafe extern "C" fn is_host(object: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    // SAFETY: the loader lends the object for the time of the call, with as many parts as it says.
    let (base, parts) = unsafe {
        let object = &*object;
        let parts = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
        (object.dlpi_addr as usize, parts)
    };
    let own = is_host as *const () as usize;
    let loaded = parts.iter().filter(|part| part.p_type == libc::PT_LOAD);
    let mut ranges = loaded.map(|part| {
        let first = base + part.p_vaddr as usize;
        first..first + part.p_memsz as usize
    });
    match ranges.find(|range| range.contains(&own)) {
        Some(range) => {
            HOST[0].store(range.start, Ordering::Relaxed);
            HOST[1].store(range.end, Ordering::Relaxed);
            1
        }
        None => 0,
    }
}

/// Whether `address` is in this program's own code.
fn in_host(address: usize) -> bool {
    let [start, end] = [&HOST[0], &HOST[1]].map(|end| end.load(Ordering::Relaxed));
    (start..end).contains(&address)
}

/// From now on lines of the object at `path` are told, which has `function` in memory.
pub(crate) fn add(path: &std::path::Path, function: *const c_void) {
    let mut facts = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: it looks an address up and fills the structure, for which zero is a value.
    let (found, facts) = unsafe {
        let found = libc::dladdr(function, facts.as_mut_ptr());
        (found, facts.assume_init())
    };
    let path = CString::new(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()));
    let (Ok(path), true) = (path, found != 0) else {
        return;
    };
    let index = COUNT.fetch_add(1, Ordering::Relaxed);
    if let Some(place) = OBJECTS.get(index) {
        let base = facts.dli_fbase as usize;
        // Handlers may read it to the end of the process.
        let object = Box::leak(Box::new(Object { path, base }));
        place.store(object, Ordering::Release);
    }
}

/// Room for what the program says of an instruction.
pub(crate) type Room = [u8; 4_096];

/// A line of a user's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    /// The text, by its path from the user's folder.
    pub file: &'a [u8],
    /// The digits of its number.
    pub line: &'a [u8],
}

/// What a signal stopped: an instruction, where its function returns to if a register says that, and the
/// top of the stack.
#[derive(Clone, Copy)]
struct Stopped {
    instruction: usize,
    link: usize,
    top: usize,
}

/// What is known of where a signal came.
#[derive(Default)]
pub(crate) struct Found<'a> {
    /// The line of the user's text.
    pub place: Option<Place<'a>>,
    /// The function of ours in which the signal came.
    pub within: Option<&'a [u8]>,
}

/// Where the user's text is that a signal stopped, by what its handler is told.
pub(crate) fn of(context: *const c_void, [room, callers]: &mut [Room; 2]) -> Found<'_> {
    let Some(stopped) = stopped(context) else {
        return Found::default();
    };
    let length = ask(stopped.instruction, room).unwrap_or(0);
    let mut inner = frames(&room[..length]);
    let place = users(inner.clone());
    let first = inner.next();
    let within = first
        .filter(|(_, file, _)| file.starts_with(OURS.as_bytes()))
        .map(|(name, ..)| name);
    if place.is_some() {
        return Found { place, within };
    }
    let mut words = [0; WORDS];
    words[0] = stopped.link;
    let count = 1 + copy(stopped.top, &mut words[1..]);
    let modules = words[..count].iter().take_while(|&&word| !in_host(word));
    let addresses = modules.filter(|&&word| object(word).is_some());
    for &address in addresses.take(ASKED) {
        // The call came before the instruction to which it returns.
        let length = ask(address - 1, callers).unwrap_or(0);
        if users(frames(&callers[..length])).is_some() {
            let place = users(frames(&callers[..length]));
            return Found { place, within };
        }
    }
    Found {
        place: None,
        within,
    }
}

/// The registers that a handler is told of.
fn stopped(context: *const c_void) -> Option<Stopped> {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel gives a handler with SA_SIGINFO its context.
    #[cfg(target_arch = "x86_64")]
    return unsafe { context.as_ref() }.map(|context| {
        let register = |which: c_int| context.uc_mcontext.gregs[which as usize] as usize;
        Stopped {
            instruction: register(libc::REG_RIP),
            link: 0,
            top: register(libc::REG_RSP),
        }
    });
    // SAFETY: see above.
    #[cfg(target_arch = "aarch64")]
    return unsafe { context.as_ref() }.map(|context| Stopped {
        instruction: context.uc_mcontext.pc as usize,
        link: context.uc_mcontext.regs[30] as usize,
        top: context.uc_mcontext.sp as usize,
    });
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = context;
        None
    }
}

/// Copies what lies in memory from `top` on to `words`; how many there are. Where there is no memory, as
/// after a recursion without end, the kernel says so.
fn copy(top: usize, words: &mut [usize]) -> usize {
    let mut pipe: [c_int; 2] = [0; 2];
    let size = std::mem::size_of_val(words);
    // SAFETY: system calls that are allowed in handlers; the kernel looks whether `top` is memory, and
    // writes to words that live through the call no more than they hold.
    let read = unsafe {
        if libc::pipe(pipe.as_mut_ptr()) != 0 {
            return 0;
        }
        let written = libc::write(pipe[1], top as *const c_void, size);
        libc::close(pipe[1]);
        match written {
            ..=0 => 0,
            _ => libc::read(pipe[0], words.as_mut_ptr().cast(), size),
        }
    };
    // SAFETY: it is this function's.
    unsafe { libc::close(pipe[0]) };
    usize::try_from(read).unwrap_or(0) / size_of::<usize>()
}

/// What `said` has of each function, the innermost first: its name, its file and its line.
fn frames(said: &[u8]) -> impl Iterator<Item = (&[u8], &[u8], &[u8])> + Clone {
    let lines = said.split(|byte| *byte == b'\n');
    let places = lines.clone().skip(1).step_by(2);
    lines.step_by(2).zip(places).filter_map(|(name, place)| {
        // FILE:LINE, a remark maybe.
        let colon = place.iter().rposition(|byte| *byte == b':')?;
        let (file, number) = (&place[..colon], &place[colon + 1..]);
        let end = number.iter().position(|byte| !byte.is_ascii_digit());
        Some((name, file, &number[..end.unwrap_or(number.len())]))
    })
}

/// The innermost line of a user's text.
fn users<'a>(
    mut frames: impl Iterator<Item = (&'a [u8], &'a [u8], &'a [u8])>,
) -> Option<Place<'a>> {
    frames.find_map(|(_, file, line)| {
        let file = file.strip_prefix(USERS.as_bytes())?.strip_prefix(b"/")?;
        (!line.is_empty() && line != b"0").then_some(Place { file, line })
    })
}

/// `0x` and the digits of `number`, closed by a zero byte.
fn hexadecimal(number: usize, room: &mut [u8; 19]) {
    room[..2].copy_from_slice(b"0x");
    for (place, digit) in room[2..18].iter_mut().zip((0..16).rev()) {
        *place = b"0123456789abcdef"[number >> (4 * digit) & 0xf];
    }
    room[18] = 0;
}

/// The object that has `address` in memory.
fn object(address: usize) -> Option<&'static Object> {
    let objects = OBJECTS.iter().map(|place| place.load(Ordering::Acquire));
    // SAFETY: what `add` stored lives for ever.
    let objects = objects.filter_map(|object| unsafe { object.as_ref() });
    let within = |object: &&Object| address.wrapping_sub(object.base) < LARGEST;
    objects.filter(within).max_by_key(|object| object.base)
}

/// Asks the program of the instruction at `address` of a module; how many bytes it wrote.
fn ask(address: usize, room: &mut Room) -> Option<usize> {
    let object = object(address)?;
    let mut digits = [0; 19];
    hexadecimal(address - object.base, &mut digits);
    let words: [*const c_char; 7] = [
        PROGRAM.as_ptr(),
        c"-f".as_ptr(),
        c"-i".as_ptr(),
        c"-e".as_ptr(),
        object.path.as_ptr(),
        digits.as_ptr().cast(),
        std::ptr::null(),
    ];
    run(&words, room)
}

/// Runs the program with `words`; how many bytes it wrote.
fn run(words: &[*const c_char; 7], room: &mut Room) -> Option<usize> {
    let environment: [*const c_char; 1] = [std::ptr::null()];
    let mut pipe: [c_int; 2] = [0; 2];
    let mut length = 0;
    // SAFETY: system calls that are allowed in handlers, with memory that lives through them. The
    // child is made by the kernel alone, as the library's fork may wait for a lock that is held.
    unsafe {
        if libc::pipe(pipe.as_mut_ptr()) != 0 {
            return None;
        }
        match libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) {
            0 => {
                libc::dup2(pipe[1], 1);
                libc::execve(PROGRAM.as_ptr(), words.as_ptr(), environment.as_ptr());
                libc::_exit(1);
            }
            ..0 => return None,
            _ => {}
        }
        libc::close(pipe[1]);
        while length < room.len() {
            let rest = &mut room[length..];
            let read = libc::read(pipe[0], rest.as_mut_ptr().cast(), rest.len());
            match usize::try_from(read) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(_) if *libc::__errno_location() == libc::EINTR => {}
                Err(_) => break,
            }
        }
        libc::close(pipe[0]);
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_line_of_the_users_is_found() {
        let said = b"tcp_min_rtt\n/ours/include/net/tcp.h:131\nown_avoid\n/users/parts/own.c:7 \
                     (discriminator 3)\nown_all\n/users/own.c:20\n";
        let all: Vec<_> = frames(said).collect();
        assert_eq!(all.len(), 3);
        let place = users(all.into_iter());
        let expected = Place {
            file: b"parts/own.c",
            line: b"7",
        };
        assert_eq!(place, Some(expected));
        assert_eq!(users(frames(b"tcp_slow_start\n/ours/stack.c:9\n")), None);
        assert_eq!(users(frames(b"??\n??:0\n")), None);
        assert_eq!(users(frames(b"own\n/users/own.c:?\n")), None);
    }

    #[test]
    fn this_program_knows_its_own_code() {
        find_host();
        assert!(in_host(in_host as *const () as usize));
        assert!(!in_host(libc::abs as *const () as usize));
        assert!(!in_host(&raw const HOST as usize));
    }

    #[test]
    fn what_is_no_memory_is_not_read() {
        let stack: Vec<usize> = (1..600).collect();
        let mut words = [0; 255];
        assert_eq!(copy(stack.as_ptr() as usize, &mut words), 255);
        assert_eq!(words[..], stack[..255]);
        assert_eq!(copy(8, &mut words), 0);
    }
}
