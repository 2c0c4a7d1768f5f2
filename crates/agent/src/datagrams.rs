//! The datagrams of flows, seen as they leave a host and as they arrive at one.
//!
//! What leaves is seen by an interface that gets copies; what arrives by a raw socket, which the
//! kernel hands each whole datagram that the host accepts. Neither holds anything up: what they
//! saw is fetched when the kernel's other buffers are drained.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use cclab_testbed::Orders;
use cclab_testbed::records::{Datagram, Seen, datagram_file};
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, SockaddrIn, bind, socket};

use crate::failure::{During, Step};
use crate::namespaces::Namespaces;
use crate::sys::{self, PacketBatch};

/// Room for datagrams between two drains. What does not fit is counted, and fails the run.
const ROOM: libc::c_int = 64 << 20;

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
                    let leaves = sys::packet_socket(tap, sys::ANY_PROTOCOL).during(&step)?;
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
        let snaplen = if points.is_empty() { 1 } else { Datagram::READ };
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
            let mut keep = |at: u64, _: u32, packet: &[u8]| match Datagram::read(at, packet, ends) {
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
