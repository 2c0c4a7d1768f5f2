//! The memory that a guest's wire and we have in common: what `wire_kern.c` says of it.
#![allow(
    unsafe_code,
    reason = "memory that another process writes to is reached by raw pointers"
)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use memmap2::{MmapOptions, MmapRaw};
use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};

/// `wir2`, little endian.
const MAGIC: u32 = 0x3272_6977;
/// Bytes before the rings.
const HEADER: usize = 4096;
/// Slots in each ring: as many as caches hold. When one is full the guest waits for us, or goes no
/// further.
const SLOTS: u32 = 1 << 10;
/// Bytes of a slot before its frame.
const SLOT_HEADER: usize = 24;
/// In place of a device: a mark of the agent's.
const MARK: u32 = u32::MAX;

// Where the header has what.
const REQUEST: usize = 64;
const PASSED: usize = 72;
const SENT_HEAD: usize = 80;
const CAME_TAIL: usize = 84;
const TURN: usize = 88;
const NOW: usize = 128;
const FREE_UNTIL: usize = 136;
const SENT_TAIL: usize = 144;
const CAME_HEAD: usize = 148;

// What the header says of the turn.
const GUESTS: u32 = 0;
const OURS: u32 = 1;

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The guest goes on.
    Guests,
    /// The guest waits.
    Ours,
    /// The guest is gone.
    Nobodys,
}

/// A frame but for zeros at its end, which are many: nobody looks at payload that is zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    /// Its bytes.
    pub kept: Vec<u8>,
    /// Bytes that it has, with those that are not kept.
    pub len: usize,
}

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

    /// Lets the guest go on.
    pub fn pass_turn(&self) {
        let turn = self.word(TURN);
        turn.store(GUESTS, Ordering::Release);
        // SAFETY: the word is in memory that stays, and nobody but waiters of it is touched.
        unsafe {
            libc::syscall(libc::SYS_futex, turn.as_ptr(), libc::FUTEX_WAKE, 1);
        }
    }

    /// Waits for the guest, for about `patience` at most; whose turn it is then.
    pub fn await_turn(&self, patience: Duration) -> Turn {
        let turn = self.word(TURN);
        if turn.load(Ordering::Acquire) == GUESTS {
            let patience = libc::timespec {
                tv_sec: patience.as_secs() as i64,
                tv_nsec: patience.subsec_nanos().into(),
            };
            // SAFETY: the word and the time are in memory that stays, and are read alone.
            unsafe {
                let op = libc::FUTEX_WAIT;
                libc::syscall(
                    libc::SYS_futex,
                    turn.as_ptr(),
                    op,
                    GUESTS,
                    &raw const patience,
                );
            }
        }
        match turn.load(Ordering::Acquire) {
            GUESTS => Turn::Guests,
            OURS => Turn::Ours,
            _ => Turn::Nobodys,
        }
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

    /// Takes it, and puts its bytes into `frame`.
    pub fn take(&mut self, frame: &mut Frame) -> Sent {
        let tail = self.word(SENT_TAIL).load(Ordering::Relaxed);
        let slot = self.slot(Ring::Sent, tail);
        let room = self.stride as usize - SLOT_HEADER;
        // SAFETY: as above; no more is read than a slot has.
        let device = unsafe {
            let long = |at: usize| slot.add(at).cast::<u32>().read() as usize;
            frame.len = long(12).min(room);
            let kept = std::slice::from_raw_parts(slot.add(SLOT_HEADER), long(16).min(frame.len));
            frame.kept.clear();
            frame.kept.extend_from_slice(kept);
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
    pub fn put(&mut self, at: u64, device: u32, frame: &Frame) {
        assert!(frame.len <= self.stride as usize - SLOT_HEADER && self.has_room());
        let Frame { kept, len } = frame;
        let head = self.word(CAME_HEAD).load(Ordering::Relaxed);
        let slot = self.slot(Ring::Came, head);
        // SAFETY: the slot lies in the map, has room for the frame, and the guest has read it.
        unsafe {
            slot.cast::<u64>().write(at);
            slot.add(8).cast::<u32>().write(device);
            slot.add(12).cast::<u32>().write(*len as u32);
            slot.add(16).cast::<u32>().write(kept.len() as u32);
            std::ptr::copy_nonoverlapping(kept.as_ptr(), slot.add(SLOT_HEADER), kept.len());
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
