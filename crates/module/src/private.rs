//! The bytes that a module has for a flow.

#![allow(unsafe_code, reason = "pages are mapped")]

use std::ptr::NonNull;

/// `ICSK_CA_PRIV_SIZE`: bytes that the kernel gives a module for a connection.
const SIZE: usize = 104;

/// Zeroed bytes at whose end memory ends: who writes behind them is found out.
#[derive(Debug)]
pub(crate) struct Private {
    pages: NonNull<u8>,
    page: usize,
}

// SAFETY: it owns its pages.
unsafe impl Send for Private {}

impl Private {
    /// # Panics
    /// There is no memory.
    pub fn new() -> Private {
        // SAFETY: it asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }
            .try_into()
            .unwrap_or(4_096);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new pages, which nobody else has.
        let pages = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                2 * page,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            )
        };
        assert!(pages != libc::MAP_FAILED, "memory for a flow");
        // A process has a limited number of mappings: where it is reached, the second page stays
        // as it is, and what is written there is not found.
        // SAFETY: the second page is ours.
        unsafe { libc::mprotect(pages.byte_add(page), page, libc::PROT_NONE) };
        Private {
            pages: NonNull::new(pages.cast()).expect("mapped pages are not at zero"),
            page,
        }
    }

    /// Where the bytes begin.
    pub fn address(&self) -> u64 {
        self.pages.as_ptr() as u64 + (self.page - SIZE) as u64
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // SAFETY: they were mapped as one, and nobody uses them any more.
        unsafe { libc::munmap(self.pages.as_ptr().cast(), 2 * self.page) };
    }
}
