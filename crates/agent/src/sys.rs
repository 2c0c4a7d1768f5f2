//! System calls that no library wraps. The only unsafe code of the agent.
#![allow(unsafe_code, reason = "system calls that no library wraps")]

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use libc::{c_char, c_int, c_void, socklen_t};
use nix::sys::signal::Signal;
use nix::unistd::ForkResult;

/// Types that are plain numbers: any bytes are a value.
///
/// # Safety
/// Only for types without padding rules, references or invalid bit patterns.
pub unsafe trait Plain: Copy {}

// SAFETY: numbers.
unsafe impl Plain for c_int {}
// SAFETY: arrays of numbers.
unsafe impl<const N: usize> Plain for [u8; N] {}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// getsockopt(2): the option's value, zeros beyond what the kernel gave, and how much it gave.
pub fn get_option<T: Plain>(socket: RawFd, level: c_int, name: c_int) -> io::Result<(T, usize)> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut len = size_of::<T>() as socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into `value`, whose type admits any bytes.
    unsafe {
        check(libc::getsockopt(
            socket,
            level,
            name,
            value.as_mut_ptr().cast::<c_void>(),
            &mut len,
        ))?;
        Ok((value.assume_init(), len as usize))
    }
}

/// setsockopt(2).
pub fn set_option<T: Plain>(socket: RawFd, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of `value`.
    check(unsafe {
        libc::setsockopt(
            socket,
            level,
            name,
            std::ptr::from_ref(value).cast::<c_void>(),
            size_of::<T>() as socklen_t,
        )
    })
    .map(drop)
}

/// Any protocol over Ethernet.
pub const ANY_PROTOCOL: u16 = libc::ETH_P_ALL as u16;

/// socket(2) of the packet family: packets of that protocol, without a link layer, that pass
/// `ifindex`.
pub fn packet_socket(ifindex: u32, protocol: u16) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the descriptor is owned by nobody else; the address is a whole sockaddr_ll.
    unsafe {
        let socket = OwnedFd::from_raw_fd(check(libc::socket(libc::AF_PACKET, kind, 0))?);
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = ifindex as c_int;
        check(libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as socklen_t,
        ))?;
        Ok(socket)
    }
}

/// Packets that a socket of the packet family dropped since it was last asked (struct
/// tpacket_stats: packets, drops).
pub fn packets_dropped(socket: RawFd) -> io::Result<u64> {
    let (counts, _) = get_option::<[u8; 8]>(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
    Ok(u64::from(crate::netlink::word(&counts, 4)))
}

/// Packets that any other socket dropped for want of room (`SO_MEMINFO`, `SO_MEMINFO`, include/uapi/linux/sock_diag.h).
pub fn dropped(socket: RawFd) -> io::Result<u64> {
    const WORDS: usize = 9;
    const DROPS: usize = 8;
    let (words, _) = get_option::<[u8; WORDS * 4]>(socket, libc::SOL_SOCKET, libc::SO_MEMINFO)?;
    Ok(u64::from(crate::netlink::word(&words, DROPS * 4)))
}

/// Has an interrupt end this process, and the program that it becomes, whatever started it.
pub fn heed_interrupts() {
    heed(Signal::SIGINT);
}

/// Has `signal` do to this process what it does by default.
pub fn heed(signal: Signal) {
    // SAFETY: the default is no handler of ours that could run at a bad moment.
    unsafe { libc::signal(signal as c_int, libc::SIG_DFL) };
}

/// Whether something, data or an error, waits at `descriptor`. In a guest, asking for what is not
/// there fails, and a call that fails costs virtual time; this one costs none.
pub fn is_ready(descriptor: RawFd) -> io::Result<bool> {
    polled(descriptor, libc::POLLIN)
}

/// Whether `descriptor` takes data, or has failed; if not, the kernel notes that somebody waits.
pub fn is_writable(descriptor: RawFd) -> io::Result<bool> {
    polled(descriptor, libc::POLLOUT)
}

fn polled(descriptor: RawFd, events: libc::c_short) -> io::Result<bool> {
    let mut asked = libc::pollfd {
        fd: descriptor,
        events,
        revents: 0,
    };
    // SAFETY: the pointer is to one pollfd, which outlives the call.
    let ready = check(unsafe { libc::poll(&raw mut asked, 1, 0) })?;
    Ok(ready > 0)
}

fn request(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: zeros are a value of ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::other(format!("{interface}: too long a name")));
    }
    for (to, &from) in request.ifr_name.iter_mut().zip(interface.as_bytes()) {
        *to = from as c_char;
    }
    Ok(request)
}

fn control_socket() -> io::Result<OwnedFd> {
    // SAFETY: the descriptor is owned by nobody else.
    unsafe {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        Ok(OwnedFd::from_raw_fd(check(libc::socket(
            libc::AF_INET,
            kind,
            0,
        ))?))
    }
}

#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// An ethtool command that takes or gives one number.
pub fn ethtool(interface: &str, command: u32, data: u32) -> io::Result<u32> {
    let socket = control_socket()?;
    let mut value = EthtoolValue { command, data };
    let mut request = request(interface)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast::<c_char>();
    // SAFETY: the kernel reads and writes one EthtoolValue, which lives until the call returns.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) })?;
    Ok(value.data)
}

/// Sets the IFF_UP flag.
pub fn interface_up(interface: &str) -> io::Result<()> {
    let socket = control_socket()?;
    let mut request = request(interface)?;
    // SAFETY: both calls read and write one ifreq; the flags are its active member.
    unsafe {
        check(libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCGIFFLAGS,
            &raw mut request,
        ))?;
        request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
        check(libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS,
            &raw mut request,
        ))?;
    }
    Ok(())
}

/// fork(2). The agent has one thread, so that nothing is left half done in the child.
pub fn fork() -> nix::Result<ForkResult> {
    // SAFETY: the process has no thread but this one.
    unsafe { nix::unistd::fork() }
}

/// A descriptor that becomes readable when the process ends.
pub fn watch_process(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: the descriptor is owned by nobody else.
    unsafe {
        let descriptor = libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0);
        Ok(OwnedFd::from_raw_fd(check(descriptor as c_int)?))
    }
}

/// Packets received at once.
const BATCH: usize = 512;

/// Room for a batch of packets, their lengths and their time stamps.
pub struct PacketBatch {
    data: Vec<u8>,
    controls: Vec<[u64; 8]>,
    snaplen: usize,
}

impl PacketBatch {
    /// Room for packets of which at most `snaplen` bytes are kept.
    pub fn new(snaplen: usize) -> PacketBatch {
        PacketBatch {
            data: vec![0; snaplen * BATCH],
            controls: vec![[0; 8]; BATCH],
            snaplen,
        }
    }

    /// Receives what waits at `socket`, up to a batch, and gives each packet to `take`:
    /// nanoseconds of CLOCK_REALTIME, its length, the bytes of it that are kept. The number of
    /// packets; zero when none waits.
    pub fn receive(
        &mut self,
        socket: RawFd,
        mut take: impl FnMut(u64, u32, &[u8]) -> io::Result<()>,
    ) -> io::Result<usize> {
        let mut pieces: Vec<libc::iovec> = self
            .data
            .chunks_exact_mut(self.snaplen)
            .map(|chunk| libc::iovec {
                iov_base: chunk.as_mut_ptr().cast::<c_void>(),
                iov_len: chunk.len(),
            })
            .collect();
        let mut messages: Vec<libc::mmsghdr> = pieces
            .iter_mut()
            .zip(&mut self.controls)
            .map(|(piece, control)| {
                // SAFETY: zeros are a value of mmsghdr.
                let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
                message.msg_hdr.msg_iov = piece;
                message.msg_hdr.msg_iovlen = 1;
                message.msg_hdr.msg_control = control.as_mut_ptr().cast::<c_void>();
                message.msg_hdr.msg_controllen = std::mem::size_of_val(control);
                message
            })
            .collect();
        // MSG_TRUNC: lengths are those of the packets, not of what is kept.
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: every message points to a piece of `data` and to a control buffer of its own,
        // which outlive the call.
        let received = unsafe {
            libc::recvmmsg(
                socket,
                messages.as_mut_ptr(),
                BATCH as libc::c_uint,
                flags,
                std::ptr::null_mut(),
            )
        };
        let count = match check(received) {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            Err(error) => return Err(error),
        };
        for (index, message) in messages[..count].iter().enumerate() {
            let len = message.msg_len;
            let kept = self.snaplen.min(len as usize);
            let at = index * self.snaplen;
            take(time_stamp(&message.msg_hdr), len, &self.data[at..at + kept])?;
        }
        Ok(count)
    }
}

/// The time stamp that SO_TIMESTAMPNS put beside a packet; zero without one.
fn time_stamp(header: &libc::msghdr) -> u64 {
    // SAFETY: the kernel filled the control buffer that `header` points to; the macros walk it
    // within its length.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while let Some(head) = control.as_ref() {
            if head.cmsg_level == libc::SOL_SOCKET && head.cmsg_type == libc::SCM_TIMESTAMPNS {
                let stamp = libc::CMSG_DATA(control)
                    .cast::<libc::timespec>()
                    .read_unaligned();
                return stamp.tv_sec as u64 * 1_000_000_000 + stamp.tv_nsec as u64;
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    0
}

/// personality(2): the kernel lays out what this process becomes as it did the last time.
pub fn keep_addresses() -> io::Result<()> {
    // SAFETY: this asks and sets flags of this process, no more.
    unsafe {
        let present = check(libc::personality(0xffff_ffff))?;
        check(libc::personality(
            (present | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong,
        ))
        .map(drop)
    }
}

/// Files that are open here but the first three end with what this process becomes.
pub fn leave_open_files() -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.parse::<c_int>().ok());
        if let Some(number) = number.filter(|&number| number > 2) {
            // SAFETY: this sets a flag of a number, whatever it is of.
            check(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) })?;
        }
    }
    Ok(())
}

/// dup2(2): `file` becomes the descriptor `number`, which stays open in what this process becomes.
/// What had that number is closed.
pub fn keep_open_as(file: std::fs::File, number: c_int) -> io::Result<()> {
    let own = std::os::fd::IntoRawFd::into_raw_fd(file);
    // SAFETY: `own` is ours alone; what has `number` is nobody's who is still here.
    unsafe {
        check(libc::dup2(own, number))?;
        // Two that are the same keep the flag.
        check(libc::fcntl(number, libc::F_SETFD, 0)).map(drop)
    }
}

/// setrlimit(2): this process, and what it starts, may have `files` open, if it could have fewer.
pub fn allow_open_files(files: u64) -> io::Result<()> {
    // SAFETY: both calls are given a whole structure.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        check(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit))?;
        limit.rlim_cur = limit.rlim_cur.max(files);
        limit.rlim_max = limit.rlim_max.max(files);
        check(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit)).map(drop)
    }
}

/// `RNDCLEARPOOL`: in a guest with a seed, randomness begins anew.
pub fn restart_randomness() -> io::Result<()> {
    const CLEAR_POOL: libc::Ioctl = 0x5206;
    let file = std::fs::File::open("/dev/random")?;
    // SAFETY: this command takes no argument.
    check(unsafe { libc::ioctl(file.as_raw_fd(), CLEAR_POOL) }).map(drop)
}
