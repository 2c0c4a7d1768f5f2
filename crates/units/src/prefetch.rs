//! Lines of the cache that will be needed soon.

/// Bytes of a line of the cache.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Lets the machine fetch `value` while it does other things. It changes nothing but the time
/// that the first look at `value` takes.
#[inline]
pub fn prefetch<T: ?Sized>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start: *const i8 = std::ptr::from_ref(value).cast();
        for offset in (0..size_of_val(value)).step_by(LINE) {
            #[expect(
                unsafe_code,
                reason = "the instruction takes an address; it can neither fault nor write"
            )]
            // SAFETY: the address lies within `value`.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(start.byte_add(offset));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
