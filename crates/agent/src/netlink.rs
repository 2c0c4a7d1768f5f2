//! Questions to the kernel over netlink (RFC 3549) whose answers are lists: only what counters
//! need, without a process per question.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    socket,
};

use crate::sys;

const HEADER: usize = 16;
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// A netlink socket; it stays in the namespace it was opened in.
pub struct Netlink {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Netlink {
    /// Opens a socket of `protocol`, a member of the multicast `groups` (bits).
    pub fn open(protocol: SockProtocol, groups: u32) -> io::Result<Netlink> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
        Ok(Netlink {
            socket,
            buffer: vec![0; 1 << 16],
        })
    }

    /// The socket, to wait for messages of the multicast groups.
    pub fn descriptor(&self) -> &OwnedFd {
        &self.socket
    }

    /// Asks for the list of `kind` with `body` and gives the body of each of its messages to
    /// `take`.
    pub fn dump(&mut self, kind: u16, body: &[u8], mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend_from_slice(&((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(&(REQUEST | DUMP).to_ne_bytes());
        message.extend_from_slice(&[0; 8]);
        message.extend_from_slice(body);
        send(self.socket.as_raw_fd(), &message, MsgFlags::empty())?;
        loop {
            let len = recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty())?;
            for (kind, body) in Messages(&self.buffer[..len]) {
                match kind {
                    DONE => return Ok(()),
                    ERROR => return Err(error_of(body)),
                    _ => take(body),
                }
            }
        }
    }

    /// Gives the body of each message that has come to the multicast groups to `take`.
    pub fn heard(&mut self, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        while sys::is_ready(self.socket.as_raw_fd())? {
            let received = recv(
                self.socket.as_raw_fd(),
                &mut self.buffer,
                MsgFlags::MSG_DONTWAIT,
            );
            let len = match received {
                Ok(len) => len,
                Err(nix::Error::EAGAIN) => break,
                Err(error) => return Err(error.into()),
            };
            for (kind, body) in Messages(&self.buffer[..len]) {
                if kind != DONE && kind != ERROR {
                    take(body);
                }
            }
        }
        Ok(())
    }
}

fn error_of(body: &[u8]) -> io::Error {
    let code = body.get(..4).map_or(0, |bytes| {
        i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    });
    io::Error::from_raw_os_error(-code)
}

/// The messages of a datagram: kind and body.
struct Messages<'a>(&'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let header = self.0.get(..HEADER)?;
        let len = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        let body = self.0.get(HEADER..len)?;
        self.0 = self.0.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, body))
    }
}

/// The attributes in `bytes`: kind and value.
pub struct Attributes<'a>(pub &'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let header = self.0.get(..4)?;
        let len = u16::from_ne_bytes([header[0], header[1]]) as usize;
        // The upper bits say how the value is coded.
        let kind = u16::from_ne_bytes([header[2], header[3]]) & 0x3fff;
        let value = self.0.get(4..len)?;
        self.0 = self.0.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    }
}

/// The 32-bit number at `offset` of `bytes`; zero beyond their end.
pub fn word(bytes: &[u8], offset: usize) -> u32 {
    bytes
        .get(offset..offset + 4)
        .map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
}

/// The 64-bit number at `offset` of `bytes`; zero beyond their end.
pub fn long(bytes: &[u8], offset: usize) -> u64 {
    bytes.get(offset..offset + 8).map_or(0, |b| {
        u64::from_ne_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]])
    })
}
