//! TCP sockets of flows.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, SockFlag, SockType, SockaddrIn, accept4, bind, connect,
    listen, recv, sendto, setsockopt, socket, sockopt,
};

use crate::sys;

/// `TCP_DISCARD` of the guest's kernel: it reads what arrives, at once.
const DISCARD: libc::c_int = 200;

fn tcp() -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    socket(AddressFamily::Inet, SockType::Stream, flags, None)
}

fn address(host: Ipv4Addr, port: u16) -> SockaddrIn {
    SockaddrIn::from(SocketAddrV4::new(host, port))
}

/// A socket that listens at `port` of `host`.
pub fn listener(host: Ipv4Addr, port: u16) -> io::Result<OwnedFd> {
    let socket = tcp()?;
    setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    bind(socket.as_raw_fd(), &address(host, port))?;
    listen(&socket, Backlog::new(64)?)?;
    Ok(socket)
}

/// A socket at `port` of `host` that takes in datagrams, which nobody reads: the kernel throws away
/// what has no room.
pub fn sink(host: Ipv4Addr, port: u16) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet, SockType::Datagram, flags, None)?;
    bind(socket.as_raw_fd(), &address(host, port))?;
    Ok(socket)
}

/// Bytes that may wait in a host for its own link, beyond which no link that is meant lies.
const WAITING: libc::c_int = 64 << 20;

/// A socket at `port` of `host` that sends datagrams.
pub fn datagrams(host: Ipv4Addr, port: u16) -> io::Result<OwnedFd> {
    let socket = sink(host, port)?;
    sys::set_option(
        socket.as_raw_fd(),
        libc::SOL_SOCKET,
        libc::SO_SNDBUFFORCE,
        &WAITING,
    )?;
    Ok(socket)
}

/// Sends a datagram to a port of a host.
pub fn send(socket: &OwnedFd, bytes: &[u8], to: (Ipv4Addr, u16)) -> io::Result<()> {
    sendto(
        socket.as_raw_fd(),
        bytes,
        &address(to.0, to.1),
        MsgFlags::MSG_DONTWAIT,
    )?;
    Ok(())
}

/// A socket on its way from `source` to `destination`: writable once it is connected. Its short
/// segments leave `at_once` although data is outstanding.
pub fn connecting(
    source: (Ipv4Addr, u16),
    destination: (Ipv4Addr, u16),
    at_once: bool,
) -> io::Result<OwnedFd> {
    let socket = tcp()?;
    setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    if at_once {
        setsockopt(&socket, sockopt::TcpNoDelay, &true)?;
    }
    bind(socket.as_raw_fd(), &address(source.0, source.1))?;
    match connect(socket.as_raw_fd(), &address(destination.0, destination.1)) {
        Ok(()) | Err(nix::Error::EINPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// The next connection at a listener; none if none waits.
pub fn accepted(listener: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    use std::os::fd::FromRawFd;
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    match accept4(listener.as_raw_fd(), flags) {
        // SAFETY: accept4 just made the descriptor; nobody else owns it.
        #[allow(unsafe_code, reason = "a descriptor that nobody else owns")]
        Ok(descriptor) => Ok(Some(unsafe { OwnedFd::from_raw_fd(descriptor) })),
        Err(nix::Error::EAGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Has the kernel read what arrives, at once; false if this kernel cannot.
pub fn discard(socket: &OwnedFd) -> bool {
    sys::set_option(socket.as_raw_fd(), libc::IPPROTO_TCP, DISCARD, &1).is_ok()
}

/// Lets the socket advertise at most `bytes`.
pub fn clamp_window(socket: &OwnedFd, bytes: u64) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    sys::set_option(
        socket.as_raw_fd(),
        libc::IPPROTO_TCP,
        libc::TCP_WINDOW_CLAMP,
        &bytes,
    )
}

/// Bytes of memory that are free in the socket's send buffer (`SO_MEMINFO`); 0 as long as it takes
/// none (`sk_stream_is_writeable`), and then the kernel says when it does.
pub fn free_to_send(socket: &OwnedFd) -> io::Result<u64> {
    if !sys::is_writable(socket.as_raw_fd())? {
        return Ok(0);
    }
    // Counts of four bytes each: SK_MEMINFO_SNDBUF and SK_MEMINFO_WMEM_QUEUED among them.
    let (counts, _) =
        sys::get_option::<[u8; 36]>(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO)?;
    let count = |place: usize| {
        let bytes = counts[4 * place..][..4].try_into().unwrap_or_default();
        u64::from(u32::from_ne_bytes(bytes))
    };
    Ok(count(3).saturating_sub(count(5)))
}

/// What came of reading.
pub enum ReadResult {
    /// So many bytes, and for now no more.
    Bytes(u64),
    /// So many bytes, and then the end.
    End(u64),
}

/// Reads and throws away what has arrived.
pub fn read_away(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<ReadResult> {
    let mut bytes = 0;
    loop {
        // MSG_TRUNC: TCP counts the bytes and does not copy them.
        match recv(socket.as_raw_fd(), buffer, MsgFlags::MSG_TRUNC) {
            Ok(0) => return Ok(ReadResult::End(bytes)),
            Ok(len) => bytes += len as u64,
            Err(nix::Error::EAGAIN) => return Ok(ReadResult::Bytes(bytes)),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The error that ended a connection; none if none did.
pub fn error_of(socket: &OwnedFd) -> Option<io::Error> {
    match nix::sys::socket::getsockopt(&socket.as_fd(), sockopt::SocketError) {
        Ok(0) => None,
        Ok(code) => Some(io::Error::from_raw_os_error(code)),
        Err(error) => Some(error.into()),
    }
}

/// The variant in force.
pub fn variant(socket: &OwnedFd) -> io::Result<String> {
    let (name, len) =
        sys::get_option::<[u8; 16]>(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION)?;
    let name = &name[..len.min(16)];
    let end = name
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(name.len());
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}
