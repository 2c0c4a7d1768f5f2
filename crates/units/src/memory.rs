//! Hints on memory: what will be needed soon, and what is large. They change nothing but the time
//! that a program takes, and do nothing where a machine has no such thing.

use std::collections::VecDeque;
use std::ops::Range;

/// Bytes of a line of the cache.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Bytes of the large pages that a Linux kernel has on most machines.
#[cfg(target_os = "linux")]
const LARGE_PAGE: usize = 2 << 20;

/// Lets the machine fetch `value` while it does other things.
#[inline]
pub fn prefetch<T: ?Sized>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of_val(value)).step_by(LINE) {
        prefetch_line(std::ptr::from_ref(value).cast(), offset);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// The same of those bytes of `value` that are in `part`, if it has them. `value` itself is not looked
/// at: whatever tells what it is may be far away, too.
#[inline]
pub fn prefetch_part<T>(value: &T, part: Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    for offset in (part.start..part.end.min(size_of::<T>())).step_by(LINE) {
        prefetch_line(std::ptr::from_ref(value).cast(), offset);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (value, part);
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch_line(start: *const i8, offset: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    #[expect(
        unsafe_code,
        reason = "the instruction takes an address; it can neither fault nor write"
    )]
    // SAFETY: nothing is asked of the address, which is never looked at.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(start.wrapping_byte_add(offset));
    }
}

/// Puts `value` last. Its first place is one alone, where a `VecDeque` by itself takes four: most of
/// many thousand queues never have two values at once.
#[inline(always)] // handed to a call in memory, a value would be read while its parts are still being written
pub fn push_back<T>(queue: &mut VecDeque<T>, value: T) {
    if queue.capacity() == 0 {
        queue.reserve_exact(1);
    }
    queue.push_back(value);
}

/// An empty vector with room for `room` values, on large pages where it fills several: who goes
/// through it in no order then finds where its pages are without asking the page tables.
pub fn with_room_on_large_pages<T>(room: usize) -> Vec<T> {
    let values: Vec<T> = Vec::with_capacity(room);
    #[cfg(target_os = "linux")]
    if size_of::<T>() * values.capacity() >= 2 * LARGE_PAGE {
        let start = values.as_ptr().cast::<u8>();
        let before = start.align_offset(LARGE_PAGE);
        let length = size_of::<T>() * values.capacity() - before;
        #[expect(
            unsafe_code,
            reason = "the system call takes an address; the advice changes no content"
        )]
        // SAFETY: the range lies within the vector's own memory. A refusal leaves small pages.
        unsafe {
            let start = start.byte_add(before).cast_mut();
            libc::madvise(
                start.cast(),
                length / LARGE_PAGE * LARGE_PAGE,
                libc::MADV_HUGEPAGE,
            );
        }
    }
    values
}
