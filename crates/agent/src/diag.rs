//! TCP sockets of programs, which the agent does not own: asked of the kernel while they live,
//! and heard of when they end (sock_diag(7)).

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use cclab_testbed::records::TcpInfo;
use nix::sys::socket::SockProtocol;

use crate::netlink::{Attributes, Netlink, word};
use crate::tcp_info;

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// Bytes of `struct inet_diag_msg`.
const MESSAGE: usize = 72;
/// The groups of TCP sockets that end: of IPv4, and of IPv6, where sockets may speak IPv4.
const GROUPS: u32 = 1 << 0 | 1 << 2;
/// Attributes: TCP_INFO, the variant, and what variants tell of their inner state; asked for one of
/// these, each answers with its own.
const INFO: u16 = 2;
const VEGAS_INFO: u16 = 3;
const CONGESTION: u16 = 4;
const DCTCP_INFO: u16 = 9;
const BBR_INFO: u16 = 16;
/// Every state but LISTEN, CLOSE and TIME_WAIT.
const STATES: u32 = 0xfff & !(1 << 10) & !(1 << 7) & !(1 << 6);

/// A connection as one of its sides sees it.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// Its state.
    pub info: TcpInfo,
    /// Its variant; empty if it was not told.
    pub variant: String,
    /// Whether it has ended.
    pub ended: bool,
}

/// The connections between two addresses, in one namespace.
pub struct Connections {
    netlink: Netlink,
    local: Ipv4Addr,
    remote: Ipv4Addr,
    /// By the kernel's cookie, which a socket gets when one first asks for it: it says nothing of
    /// when the socket was made.
    found: BTreeMap<u64, Connection>,
}

impl Connections {
    /// Watches for connections from `local` to `remote` in the namespace the agent is in.
    pub fn watch(local: Ipv4Addr, remote: Ipv4Addr) -> io::Result<Connections> {
        Ok(Connections {
            netlink: Netlink::open(SockProtocol::NetlinkSockDiag, GROUPS)?,
            local,
            remote,
            found: BTreeMap::new(),
        })
    }

    /// What becomes readable when a connection has ended.
    pub fn descriptor(&self) -> &OwnedFd {
        self.netlink.descriptor()
    }

    /// Takes in what was told of ended connections.
    pub fn hear(&mut self) -> io::Result<()> {
        let Connections {
            netlink,
            local,
            remote,
            found,
        } = self;
        netlink.heard(|body| take(body, (*local, *remote), found, true))
    }

    /// Asks for the connections there are, and gives all there were.
    pub fn ask(&mut self) -> io::Result<impl Iterator<Item = &Connection>> {
        self.hear()?;
        let Connections {
            netlink,
            local,
            remote,
            found,
        } = self;
        for family in [libc::AF_INET, libc::AF_INET6] {
            let mut request = [0; 56];
            request[0] = family as u8;
            request[1] = libc::IPPROTO_TCP as u8;
            request[2] = 1 << (INFO - 1) | 1 << (VEGAS_INFO - 1) | 1 << (CONGESTION - 1);
            request[4..8].copy_from_slice(&STATES.to_ne_bytes());
            netlink.dump(BY_FAMILY, &request, |body| {
                take(body, (*local, *remote), found, false);
            })?;
        }
        Ok(self.found.values())
    }

    /// All connections there were, as they were last seen.
    pub fn seen(&self) -> impl Iterator<Item = &Connection> {
        self.found.values()
    }
}

/// The connection that sent most, which a program is there for; others are its own conversation.
pub fn busiest<'a>(connections: impl Iterator<Item = &'a Connection>) -> Option<&'a Connection> {
    connections.max_by_key(|connection| connection.info.bytes_sent)
}

fn take(
    body: &[u8],
    ends: (Ipv4Addr, Ipv4Addr),
    found: &mut BTreeMap<u64, Connection>,
    ended: bool,
) {
    if body.len() < MESSAGE || (address(body, 8), address(body, 24)) != ends {
        return;
    }
    let cookie = u64::from(word(body, 44)) | u64::from(word(body, 48)) << 32;
    let connection = found.entry(cookie).or_default();
    // What comes after the end is older than it.
    if connection.ended {
        return;
    }
    connection.ended = ended;
    for (name, value) in Attributes(&body[MESSAGE..]) {
        match name {
            INFO => {
                connection.info = TcpInfo {
                    cc_info: connection.info.cc_info,
                    ..tcp_info::parse(value)
                }
            }
            VEGAS_INFO | DCTCP_INFO | BBR_INFO => {
                connection.info.cc_info = tcp_info::words(value);
            }
            CONGESTION => {
                let text = String::from_utf8_lossy(value);
                connection.variant = text.trim_end_matches('\0').to_owned();
            }
            _ => {}
        }
    }
}

/// The address at `offset`: of IPv4, or of IPv4 within IPv6 (its last word).
fn address(body: &[u8], offset: usize) -> Ipv4Addr {
    let v6 = i32::from(body[0]) == libc::AF_INET6;
    let at = if v6 { offset + 12 } else { offset };
    Ipv4Addr::from(word(body, at).to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_connection_is_the_one_that_sent_most_not_the_last_that_was_heard_of() {
        let of = |variant: &str, bytes_sent| Connection {
            variant: variant.to_owned(),
            info: TcpInfo {
                bytes_sent,
                ..TcpInfo::default()
            },
            ..Connection::default()
        };
        let conversation = of("cubic", 300);
        let data = of("reno", 1_000_000);
        for both in [[&data, &conversation], [&conversation, &data]] {
            let found = busiest(both.into_iter()).expect("there are two");
            assert_eq!(found.variant, "reno");
        }
    }
}
