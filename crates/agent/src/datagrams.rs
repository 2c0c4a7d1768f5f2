//! The datagrams of flows, seen as they leave a host and as they arrive at one.
//!
//! What leaves is seen by an interface that gets copies; what arrives by a raw socket, which the
//! kernel hands each whole datagram that the host accepts. Neither holds anything up: what they
//! saw is fetched when the kernel's other buffers are drained.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufWriter, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use cclab_testbed::Orders;
use cclab_testbed::records::{Datagram, HASHED, Seen, datagram_file};
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, SockaddrIn, bind, socket};

use crate::failure::{During, Step};
use crate::namespaces::Namespaces;
use crate::sys::{self, PacketBatch};

/// Room for datagrams between two drains. What does not fit is counted, and fails the run.
const ROOM: libc::c_int = 64 << 20;
/// The longest header of IP, and that of UDP (RFC 791, section 3.1; RFC 768).
const HEADERS: usize = 60 + UDP_HEADER;
const UDP_HEADER: usize = 8;
const UDP: u8 = 17;
/// The bits of a fragment's place in its packet.
const PLACE: u16 = 0x1fff;

/// The watched datagrams of a run.
pub struct Datagrams {
    points: Vec<Point>,
    flows: usize,
    batch: PacketBatch,
}

/// One host's side of one flow in one direction.
struct Point {
    flow: usize,
    socket: OwnedFd,
    file: BufWriter<File>,
    /// Whose datagrams are looked for: source and destination.
    ends: (Ipv4Addr, Ipv4Addr),
    seen: Seen,
}

impl Datagrams {
    /// Looks for the datagrams that `orders` names; the files lie in `dir`.
    pub fn open(orders: &Orders, namespaces: &Namespaces, dir: &Path) -> Step<Datagrams> {
        let mut points = Vec::new();
        for (index, flow) in orders.flows.iter().enumerate() {
            let Some(taps) = &flow.taps else { continue };
            let step = format!("datagrams of flow {}", flow.name);
            let there = (flow.source, flow.destination);
            let back = (flow.destination, flow.source);
            for (namespace, tap, leaving, arriving) in [
                (flow.sender, &taps.sender, there, back),
                (flow.receiver, &taps.receiver, back, there),
            ] {
                let [leaves, arrives] = namespaces.within(namespace, || {
                    let tap = if_nametoindex(tap.as_str()).during(&step)?;
                    let leaves = sys::packet_socket(tap).during(&step)?;
                    Ok([leaves, receiving(arriving.1).during(&step)?])
                })?;
                for (socket, ends, seen) in [
                    (leaves, leaving, Seen::Sent),
                    (arrives, arriving, Seen::Received),
                ] {
                    let descriptor = socket.as_raw_fd();
                    let set = |name, value| {
                        sys::set_option(descriptor, libc::SOL_SOCKET, name, &value).during(&step)
                    };
                    set(libc::SO_RCVBUFFORCE, ROOM)?;
                    set(libc::SO_TIMESTAMPNS, 1)?;
                    let name = datagram_file(index, ends == back, seen);
                    let file = File::create(dir.join(name)).during(&step)?;
                    points.push(Point {
                        flow: index,
                        socket,
                        file: BufWriter::with_capacity(1 << 18, file),
                        ends,
                        seen,
                    });
                }
            }
        }
        let snaplen = if points.is_empty() {
            1
        } else {
            HEADERS + HASHED
        };
        Ok(Datagrams {
            points,
            flows: orders.flows.len(),
            batch: PacketBatch::new(snaplen),
        })
    }

    /// Writes what has come since the last call.
    pub fn drain(&mut self) -> Step<()> {
        let Datagrams { points, batch, .. } = self;
        for point in points {
            let (file, ends) = (&mut point.file, point.ends);
            let mut keep = |at: u64, _: u32, packet: &[u8]| match read(at, packet, ends) {
                Some(datagram) => file.write_all(&datagram.to_bytes()),
                None => Ok(()),
            };
            let socket = point.socket.as_raw_fd();
            let step = "writing datagrams";
            while sys::is_ready(socket).during(step)?
                && batch.receive(socket, &mut keep).during(step)? > 0
            {}
        }
        Ok(())
    }

    /// Writes what is left; the datagrams of each flow that found no room.
    pub fn finish(mut self) -> Step<Vec<u64>> {
        self.drain()?;
        let step = "writing datagrams";
        let mut lost = vec![0; self.flows];
        for mut point in self.points {
            point.file.flush().during(step)?;
            let socket = point.socket.as_raw_fd();
            lost[point.flow] += match point.seen {
                Seen::Sent => sys::packets_dropped(socket).during(step)?,
                Seen::Received => sys::dropped(socket).during(step)?,
            };
        }
        Ok(lost)
    }
}

/// A socket that gets what the host at `address` takes in of UDP. It is not connected: one that is
/// would also get errors, which are none of ours.
fn receiving(address: Ipv4Addr) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Udp)?;
    let address = SockaddrIn::from(SocketAddrV4::new(address, 0));
    bind(socket.as_raw_fd(), &address)?;
    Ok(socket)
}

/// The datagram in an IPv4 `packet`, or in its first fragment; `None` if it is of others.
fn read(at: u64, packet: &[u8], ends: (Ipv4Addr, Ipv4Addr)) -> Option<Datagram> {
    let short = |at: usize| Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]));
    let address = |at: usize| -> Option<Ipv4Addr> {
        let octets: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
        Some(octets.into())
    };
    // RFC 791, section 3.1.
    let (version, header) = (packet.first()? >> 4, usize::from(packet[0] & 0xf) * 4);
    let first = short(6)? & PLACE == 0;
    let own = (address(12)?, address(16)?) == ends;
    if version != 4 || *packet.get(9)? != UDP || !first || !own {
        return None;
    }
    let payload = short(header + 4)?.checked_sub(UDP_HEADER as u16)?;
    let bytes = packet.get(header + UDP_HEADER..)?;
    let bytes = &bytes[..bytes.len().min(HASHED).min(payload.into())];
    let mut head = [0; 8];
    let known = bytes.len().min(head.len());
    head[..known].copy_from_slice(&bytes[..known]);
    // Its keys are always the same ones.
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    Some(Datagram {
        at,
        hash: hasher.finish(),
        head: u64::from_be_bytes(head),
        payload,
        source_port: short(header)?,
        destination_port: short(header + 2)?,
        id: short(4)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const TO: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);

    /// A packet of `payload`, or its fragment at `place`, without checksums.
    fn packet(payload: &[u8], place: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0x12, 0x34];
        packet.extend(place.to_be_bytes());
        packet.extend([64, UDP, 0, 0]);
        packet.extend(FROM.octets());
        packet.extend(TO.octets());
        let len = (payload.len() + UDP_HEADER) as u16;
        for word in [40_000, 5001, len, 0] {
            packet.extend(u16::to_be_bytes(word));
        }
        packet.extend(payload);
        packet
    }

    fn seen(packet: &[u8]) -> Option<Datagram> {
        read(7, packet, (FROM, TO))
    }

    #[test]
    fn a_datagram_is_known_by_what_is_in_it() {
        let datagram = seen(&packet(&[1, 2, 3], 0)).expect("a datagram");
        assert_eq!((datagram.at, datagram.payload, datagram.id), (7, 3, 0x1234));
        assert_eq!(
            (datagram.source_port, datagram.destination_port),
            (40_000, 5001)
        );
        assert_eq!(datagram.head, 0x0102_0300_0000_0000);
        assert_eq!(seen(&packet(&[1, 2, 3], 0)), Some(datagram));
        let other = seen(&packet(&[1, 2, 4], 0)).expect("a datagram");
        assert_ne!(other.hash, datagram.hash);
        assert_eq!(Datagram::from_bytes(&datagram.to_bytes()), datagram);
    }

    #[test]
    fn the_first_fragment_stands_for_the_whole() {
        const MORE: u16 = 0x2000;
        let payload: Vec<u8> = (0..4000_u32).map(|n| n as u8).collect();
        let whole = packet(&payload, 0);
        let datagram = seen(&whole).expect("a datagram");
        assert_eq!(datagram.payload, 4000);
        let mut first = packet(&payload, MORE);
        first.truncate(1500);
        assert_eq!(seen(&first), Some(datagram));
        assert_eq!(seen(&packet(&payload, MORE | 185)), None);
        // Of a capture that keeps no more than it needs.
        assert_eq!(seen(&whole[..HEADERS + HASHED]), Some(datagram));
    }

    #[test]
    fn what_is_of_others_is_passed_over() {
        let good = packet(b"hello", 0);
        for (at, value) in [(0, 0x65), (9, 6), (15, 9), (19, 9)] {
            let mut other = good.clone();
            other[at] = value;
            assert_eq!(seen(&other), None, "byte {at}");
        }
        for len in 0..28 {
            assert_eq!(seen(&good[..len]), None, "{len} bytes");
        }
    }
}
