//! The memory that a guest's wire and we have in common: what `wire_kern.c` says of it.
#![allow(
    unsafe_code,
    reason = "memory that another process writes to is reached by raw pointers"
)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};
use nix::sys::memfd::{MFdFlags, memfd_create};

/// `wir1`, little endian.
const MAGIC: u32 = 0x3172_6977;
/// Bytes before the rings.
const HEADER: usize = 4096;
/// Slots in each ring.
const SLOTS: u32 = 1 << 13;
/// Bytes of a slot before its frame.
const SLOT_HEADER: usize = 16;
/// In place of a device: a mark of the agent's.
const MARK: u32 = u32::MAX;

// Where the header has what.
const REQUEST: usize = 64;
const PASSED: usize = 72;
const SENT_HEAD: usize = 80;
const CAME_TAIL: usize = 84;
const NOW: usize = 128;
const FREE_UNTIL: usize = 136;
const SENT_TAIL: usize = 144;
const CAME_HEAD: usize = 148;

/// A ring's place in the memory.
#[derive(Clone, Copy)]
enum Ring {
    Sent,
    Came,
}

/// What a guest has put on its wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// A frame.
    Frame,
    /// What the agent wrote to the parameter `mark`.
    Mark,
}

/// The memory, and both rings in it. All times are nanoseconds of the guest's CLOCK_MONOTONIC.
pub struct Memory {
    file: File,
    map: MmapRaw,
    stride: u32,
}

impl Memory {
    /// Memory for `devices` devices and for frames of up to `frame` bytes.
    ///
    /// # Errors
    /// If there is none.
    pub fn new(devices: u32, frame: usize) -> io::Result<Memory> {
        let stride = (SLOT_HEADER + frame).next_multiple_of(64) as u32;
        let len = HEADER + 2 * SLOTS as usize * stride as usize;
        let file = File::from(memfd_create(c"wire", MFdFlags::MFD_CLOEXEC)?);
        file.set_len(len as u64)?;
        let map = MmapOptions::new().len(len).map_raw(&file)?;
        let memory = Memory { file, map, stride };
        for (at, value) in [(4, SLOTS), (8, stride), (12, devices), (0, MAGIC)] {
            memory.word(at).store(value, Ordering::Release);
        }
        Ok(memory)
    }

    /// Its name for other processes, as long as it is there.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// The time that the guest waits for, once it does.
    pub fn request(&self) -> u64 {
        self.long(REQUEST).load(Ordering::Acquire)
    }

    /// How far the guest has come.
    pub fn passed(&self) -> u64 {
        self.long(PASSED).load(Ordering::Relaxed)
    }

    /// It is `now` for the guest, which may go on to, not including, `free_until`.
    pub fn grant(&self, now: u64, free_until: u64) {
        self.long(NOW).store(now, Ordering::Release);
        self.long(FREE_UNTIL).store(free_until, Ordering::Release);
    }

    /// When the guest sent what it has sent first of all that was not taken.
    pub fn first_sent(&self) -> Option<u64> {
        let tail = self.word(SENT_TAIL).load(Ordering::Relaxed);
        let is_there = tail != self.word(SENT_HEAD).load(Ordering::Acquire);
        is_there.then(|| {
            let slot = self.slot(Ring::Sent, tail);
            // SAFETY: the slot lies in the map, and the guest writes to it no more.
            unsafe { slot.cast::<u64>().read() }
        })
    }

    /// Takes it, and puts its bytes into `data`.
    pub fn take(&mut self, data: &mut Vec<u8>) -> Sent {
        let tail = self.word(SENT_TAIL).load(Ordering::Relaxed);
        let slot = self.slot(Ring::Sent, tail);
        let room = self.stride as usize - SLOT_HEADER;
        // SAFETY: as above; no more is read than a slot has.
        let device = unsafe {
            let len = (slot.add(12).cast::<u32>().read() as usize).min(room);
            data.clear();
            data.extend_from_slice(std::slice::from_raw_parts(slot.add(SLOT_HEADER), len));
            slot.add(8).cast::<u32>().read()
        };
        let next = tail.wrapping_add(1);
        self.word(SENT_TAIL).store(next, Ordering::Release);
        match device {
            MARK => Sent::Mark,
            _ => Sent::Frame,
        }
    }

    /// Whether a frame may be put.
    pub fn has_room(&self) -> bool {
        let head = self.word(CAME_HEAD).load(Ordering::Relaxed);
        head.wrapping_sub(self.word(CAME_TAIL).load(Ordering::Acquire)) < SLOTS
    }

    /// Lets `frame` reach `device` at `at`, no earlier than those put before. There is room.
    pub fn put(&mut self, at: u64, device: u32, frame: &[u8]) {
        assert!(frame.len() <= self.stride as usize - SLOT_HEADER && self.has_room());
        let head = self.word(CAME_HEAD).load(Ordering::Relaxed);
        let slot = self.slot(Ring::Came, head);
        // SAFETY: the slot lies in the map, has room for the frame, and the guest has read it.
        unsafe {
            slot.cast::<u64>().write(at);
            slot.add(8).cast::<u32>().write(device);
            slot.add(12).cast::<u32>().write(frame.len() as u32);
            std::ptr::copy_nonoverlapping(frame.as_ptr(), slot.add(SLOT_HEADER), frame.len());
        }
        let next = head.wrapping_add(1);
        self.word(CAME_HEAD).store(next, Ordering::Release);
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at + 4 <= HEADER && at.is_multiple_of(4));
        // SAFETY: it lies in the map, at its alignment, and nobody writes to it otherwise.
        unsafe { &*self.map.as_mut_ptr().add(at).cast() }
    }

    fn long(&self, at: usize) -> &AtomicU64 {
        assert!(at + 8 <= HEADER && at.is_multiple_of(8));
        // SAFETY: as above.
        unsafe { &*self.map.as_mut_ptr().add(at).cast() }
    }

    fn slot(&self, ring: Ring, count: u32) -> *mut u8 {
        let before = match ring {
            Ring::Sent => 0,
            Ring::Came => SLOTS as usize,
        };
        let index = before + (count & (SLOTS - 1)) as usize;
        // SAFETY: both rings lie in the map.
        unsafe {
            self.map
                .as_mut_ptr()
                .add(HEADER + index * self.stride as usize)
        }
    }
}
