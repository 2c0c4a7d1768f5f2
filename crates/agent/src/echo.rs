//! Probes: the agent sends an echo at each interval and notes when its answer comes.
//!
//! The kernel stamps what arrives, which costs no virtual time. In a guest a request leaves at the
//! very instant that the timer was set to; on a host it leaves later, and the clock says when.

use std::io;
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, OwnedFd};

use cclab_testbed::orders::{Probe as Orders, ProbeKind};
use cclab_testbed::records::ProbeOutcome;
use cclab_units::Time;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, bind, connect, recvfrom,
    send, sendto, socket,
};

use crate::clock::RunClock;
use crate::failure::{During, Step};
use crate::namespaces::Namespaces;
use crate::sys::{self, PacketBatch};

/// ICMP types (RFC 792).
const REQUEST: u8 = 8;
/// See [`REQUEST`].
const ANSWER: u8 = 0;
/// Bytes of the header of an echo.
const HEADER: usize = 8;
/// Bytes of an answer that are looked at: headers of IP with all options, of the echo, and a number.
pub const LOOKED_AT: usize = 60 + HEADER + 4;

/// Both ends of a probe.
pub struct Echo {
    orders: Orders,
    /// By which echoes of ICMP are told from those of others on the same host.
    identifier: u16,
    asking: OwnedFd,
    /// What answers, where the kernel does not.
    answering: Option<OwnedFd>,
    due: Time,
    request: Vec<u8>,
    outcome: ProbeOutcome,
}

impl Echo {
    /// The probe at `index`, ready to send and to answer.
    pub fn open(orders: &Orders, index: usize, namespaces: &Namespaces) -> Step<Echo> {
        let step = format!("hosts of probe {}", orders.name);
        let from = SocketAddrV4::new(orders.source, orders.source_port);
        let to = SocketAddrV4::new(orders.destination, orders.destination_port);
        let asking = namespaces.within(orders.sender, || {
            asking(orders.kind, from.into(), to.into()).during(&step)
        })?;
        let answering = match orders.kind {
            ProbeKind::Ping => None,
            ProbeKind::Udp => Some(namespaces.within(orders.receiver, || {
                bound(SockType::Datagram, SockProtocol::Udp, &to.into()).during(&step)
            })?),
        };
        let header = match orders.kind {
            ProbeKind::Ping => HEADER,
            ProbeKind::Udp => 0,
        };
        Ok(Echo {
            identifier: index as u16 + 1,
            asking,
            answering,
            due: orders.start,
            request: vec![0; header + usize::from(orders.payload)],
            outcome: ProbeOutcome::default(),
            orders: orders.clone(),
        })
    }

    /// What becomes readable when an answer comes, and when there is one to give.
    pub fn descriptors(&self) -> (&OwnedFd, Option<&OwnedFd>) {
        (&self.asking, self.answering.as_ref())
    }

    /// When it acts next on its own.
    pub fn deadline(&self) -> Option<Time> {
        (self.due < self.orders.stop).then_some(self.due)
    }

    /// Sends the request that is due; `clock` says when, if that is not `now`.
    pub fn ask(&mut self, now: Time, clock: Option<&RunClock>) -> Step<()> {
        self.due += self.orders.interval;
        let number = self.outcome.sent.len() as u32;
        match self.orders.kind {
            ProbeKind::Ping => write_echo(&mut self.request, self.identifier, number as u16),
            ProbeKind::Udp => self.request[..4].copy_from_slice(&number.to_be_bytes()),
        }
        let sent = clock.map_or(now, RunClock::now);
        self.outcome.sent.push(sent.as_nanos());
        self.outcome.rtt.push(None);
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        match send(self.asking.as_raw_fd(), &self.request, flags) {
            // A host without room loses it, as a queue would.
            Ok(_) | Err(nix::Error::EAGAIN | nix::Error::ENOBUFS) => Ok(()),
            Err(error) => Err(error).during(&format!("probe {}", self.orders.name)),
        }
    }

    /// Takes in the answers that came. `zero` is CLOCK_REALTIME at the run's beginning.
    pub fn hear(&mut self, zero: u64, batch: &mut PacketBatch) -> Step<()> {
        let step = format!("probe {}", self.orders.name);
        let socket = self.asking.as_raw_fd();
        let Echo {
            orders,
            identifier,
            outcome,
            ..
        } = self;
        let mut take = |at: u64, _: u32, data: &[u8]| {
            let number = match orders.kind {
                ProbeKind::Ping => {
                    read_echo(data, *identifier).and_then(|low| whole(low, outcome.sent.len()))
                }
                ProbeKind::Udp => data
                    .first_chunk()
                    .map(|bytes| u32::from_be_bytes(*bytes) as usize),
            };
            let asked = number.and_then(|number| Some((number, *outcome.sent.get(number)?)));
            if let Some((number, sent)) = asked {
                // Of several answers to one request the first counts.
                outcome.rtt[number].get_or_insert(at.saturating_sub(zero).saturating_sub(sent));
            }
            Ok(())
        };
        while sys::is_ready(socket).during(&step)?
            && batch.receive(socket, &mut take).during(&step)? > 0
        {}
        Ok(())
    }

    /// Sends back what came to the other host.
    pub fn answer(&mut self) -> Step<()> {
        let step = format!("answers of probe {}", self.orders.name);
        let Some(socket) = self.answering.as_ref().map(AsRawFd::as_raw_fd) else {
            return Ok(());
        };
        let mut data = [0; 2048];
        while sys::is_ready(socket).during(&step)? {
            match recvfrom::<SockaddrIn>(socket, &mut data) {
                Ok((len, Some(from))) => {
                    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
                    match sendto(socket, &data[..len], &from, flags) {
                        Ok(_) | Err(nix::Error::EAGAIN | nix::Error::ENOBUFS) => {}
                        Err(error) => return Err(error).during(&step),
                    }
                }
                Ok((_, None)) | Err(nix::Error::EAGAIN) => break,
                Err(error) => return Err(error).during(&step),
            }
        }
        Ok(())
    }

    /// What it came to.
    pub fn outcome(self) -> ProbeOutcome {
        self.outcome
    }
}

/// The socket by which requests leave and answers come.
fn asking(kind: ProbeKind, from: SockaddrIn, to: SockaddrIn) -> io::Result<OwnedFd> {
    let socket = match kind {
        ProbeKind::Ping => bound(SockType::Raw, SockProtocol::Icmp, &from)?,
        ProbeKind::Udp => bound(SockType::Datagram, SockProtocol::Udp, &from)?,
    };
    connect(socket.as_raw_fd(), &to)?;
    sys::set_option(
        socket.as_raw_fd(),
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPNS,
        &1,
    )?;
    Ok(socket)
}

fn bound(kind: SockType, protocol: SockProtocol, to: &SockaddrIn) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet, kind, flags, protocol)?;
    bind(socket.as_raw_fd(), to)?;
    Ok(socket)
}

/// Writes the header of an echo request over the first bytes of `packet`.
fn write_echo(packet: &mut [u8], identifier: u16, number: u16) {
    packet[..4].copy_from_slice(&[REQUEST, 0, 0, 0]);
    packet[4..6].copy_from_slice(&identifier.to_be_bytes());
    packet[6..8].copy_from_slice(&number.to_be_bytes());
    let sum = checksum(packet);
    packet[2..4].copy_from_slice(&sum.to_be_bytes());
}

/// The number of the request that `packet`, with its IP header, answers; `None` if it is no answer
/// to one of `identifier`.
fn read_echo(packet: &[u8], identifier: u16) -> Option<u16> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    let &[kind, _, _, _, own1, own2, low1, low2] = packet.get(header..)?.first_chunk()?;
    let ours = kind == ANSWER && u16::from_be_bytes([own1, own2]) == identifier;
    ours.then(|| u16::from_be_bytes([low1, low2]))
}

/// The latest of `sent` numbers that ends in the 16 bits `low`.
fn whole(low: u16, sent: usize) -> Option<usize> {
    let last = sent.checked_sub(1)?;
    let near = (last & !0xffff) | usize::from(low);
    match near <= last {
        true => Some(near),
        false => near.checked_sub(0x1_0000),
    }
}

/// The checksum of the internet (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks(2);
    let words = pairs.map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&b| b.into()));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_request_sums_to_nothing_and_its_answer_is_known() {
        let mut request = vec![0; HEADER + 3];
        write_echo(&mut request, 7, 0x1234);
        assert_eq!(checksum(&request), 0);
        let mut answer = vec![0; 20];
        answer[0] = 0x45;
        answer.extend(&request);
        assert_eq!(read_echo(&answer, 7), None, "a request is no answer");
        answer[20] = ANSWER;
        assert_eq!(read_echo(&answer, 7), Some(0x1234));
        assert_eq!(read_echo(&answer, 8), None);
        assert_eq!(read_echo(&answer[..24], 7), None);
    }

    #[test]
    fn numbers_go_on_beyond_sixteen_bits() {
        assert_eq!(whole(0, 0), None);
        assert_eq!(whole(5, 6), Some(5));
        assert_eq!(whole(6, 6), None, "it was not sent");
        assert_eq!(whole(3, 0x1_0004), Some(0x1_0003));
        assert_eq!(whole(0xffff, 0x1_0004), Some(0xffff));
    }
}
