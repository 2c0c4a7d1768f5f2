//! The line of the user's file that an instruction is of: asked of `addr2line`, which comes with the
//! compiler, by a handler of signals. Nothing here takes memory or waits for a lock.

#![allow(unsafe_code, reason = "a handler reads registers and starts a program")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Shared objects that are known; of later ones no line is told.
const MOST: usize = 64;
/// No module is as large in memory.
const LARGEST: usize = 1 << 24;
const PROGRAM: &CStr = c"/usr/bin/addr2line";

/// A shared object of a module.
struct Object {
    /// The file, which lives as long as the cache does.
    path: CString,
    /// Where it is in memory.
    base: usize,
}

static OBJECTS: [AtomicPtr<Object>; MOST] = [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

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

/// The instruction that a signal stopped, by what its handler is told.
pub(crate) fn instruction(context: *const c_void) -> Option<usize> {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel gives a handler with SA_SIGINFO its context.
    #[cfg(target_arch = "x86_64")]
    return unsafe { context.as_ref() }
        .map(|context| context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize);
    // SAFETY: see above.
    #[cfg(target_arch = "aarch64")]
    return unsafe { context.as_ref() }.map(|context| context.uc_mcontext.pc as usize);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = context;
        None
    }
}

/// The digits of the line of the instruction at `address`, written to `room`.
pub(crate) fn line(address: usize, room: &mut [u8; 512]) -> Option<&[u8]> {
    let objects = OBJECTS.iter().map(|place| place.load(Ordering::Acquire));
    // SAFETY: what `add` stored lives for ever.
    let objects = objects.filter_map(|object| unsafe { object.as_ref() });
    let within = |object: &&Object| address.wrapping_sub(object.base) < LARGEST;
    let object = objects.filter(within).max_by_key(|object| object.base)?;
    let mut digits = [0; 19];
    hexadecimal(address - object.base, &mut digits);
    let length = ask(&object.path, &digits, room)?;
    let said = &room[..length];
    // FILE:LINE, a remark maybe, and a newline.
    let colon = said.iter().rposition(|byte| *byte == b':')?;
    let number = &said[colon + 1..];
    let end = number.iter().position(|byte| !byte.is_ascii_digit());
    let number = &number[..end.unwrap_or(number.len())];
    (!number.is_empty() && number != b"0").then_some(number)
}

/// `0x` and the digits of `number`, closed by a zero byte.
fn hexadecimal(number: usize, room: &mut [u8; 19]) {
    room[..2].copy_from_slice(b"0x");
    for (place, digit) in room[2..18].iter_mut().zip((0..16).rev()) {
        *place = b"0123456789abcdef"[number >> (4 * digit) & 0xf];
    }
    room[18] = 0;
}

/// Runs the program on the object at `path`; how many bytes it wrote.
fn ask(path: &CStr, address: &[u8; 19], room: &mut [u8; 512]) -> Option<usize> {
    let words: [*const c_char; 5] = [
        PROGRAM.as_ptr(),
        c"-e".as_ptr(),
        path.as_ptr(),
        address.as_ptr().cast(),
        std::ptr::null(),
    ];
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
    }
    Some(length)
}
