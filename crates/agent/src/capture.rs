//! Packet capture at points of the network.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use cclab_testbed::Orders;
use cclab_testbed::records::capture_file;
use cclab_units::Time;
use nix::net::if_::if_nametoindex;

use crate::clock::RunClock;
use crate::failure::{During, Step};
use crate::namespaces::Namespaces;
use crate::sys::{self, PacketBatch};

/// Room for packets between two drains. What does not fit is counted, and fails the run.
const ROOM: libc::c_int = 256 << 20;
/// The largest IP packet.
const WHOLE: usize = 65_535;

/// The capture points of a run.
pub struct Captures {
    points: Vec<Point>,
    batch: PacketBatch,
    /// CLOCK_REALTIME between which packets are kept.
    from: u64,
    until: u64,
}

struct Point {
    socket: OwnedFd,
    file: BufWriter<File>,
}

impl Captures {
    /// Opens the capture points of `orders`, whose files lie in `dir`.
    pub fn open(
        orders: &Orders,
        namespaces: &Namespaces,
        clock: &RunClock,
        dir: &Path,
    ) -> Step<Captures> {
        let mut points = Vec::new();
        for (index, capture) in orders.captures.iter().enumerate() {
            let step = format!("capture at {}", capture.point);
            let socket = namespaces.within(capture.namespace, || {
                let interface = if_nametoindex(capture.interface.as_str()).during(&step)?;
                open(interface).during(&step)
            })?;
            let file = File::create(dir.join(capture_file(index))).during(&step)?;
            points.push(Point {
                socket,
                file: BufWriter::with_capacity(1 << 20, file),
            });
        }
        let snaplen = match orders.snaplen {
            0 => WHOLE,
            bytes => bytes as usize,
        };
        let zero = clock.realtime_zero;
        Ok(Captures {
            batch: PacketBatch::new(snaplen.min(if points.is_empty() { 1 } else { WHOLE })),
            points,
            from: zero + orders.capture_from.as_nanos(),
            until: orders.capture_until.map_or(u64::MAX, |until: Time| {
                zero.saturating_add(until.as_nanos())
            }),
        })
    }

    /// Writes what has come since the last call.
    pub fn drain(&mut self) -> Step<()> {
        let Captures {
            points,
            batch,
            from,
            until,
        } = self;
        for point in points {
            let file = &mut point.file;
            let mut keep = |at: u64, len: u32, data: &[u8]| {
                if at < *from || at > *until {
                    return Ok(());
                }
                file.write_all(&at.to_le_bytes())?;
                file.write_all(&len.to_le_bytes())?;
                file.write_all(&(data.len() as u32).to_le_bytes())?;
                file.write_all(data)
            };
            let socket = point.socket.as_raw_fd();
            let step = "writing captured packets";
            while sys::is_ready(socket).during(step)?
                && batch.receive(socket, &mut keep).during(step)? > 0
            {}
        }
        Ok(())
    }

    /// Writes what is left; the packets that each point lost.
    pub fn finish(mut self) -> Step<Vec<u64>> {
        self.drain()?;
        let step = "writing captured packets";
        let mut lost = Vec::new();
        for mut point in self.points {
            point.file.flush().during(step)?;
            lost.push(sys::packets_dropped(point.socket.as_raw_fd()).during(step)?);
        }
        Ok(lost)
    }
}

fn open(interface: u32) -> io::Result<OwnedFd> {
    let socket = sys::packet_socket(interface, sys::ANY_PROTOCOL)?;
    let descriptor = socket.as_raw_fd();
    sys::set_option(descriptor, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &ROOM)?;
    sys::set_option(descriptor, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)?;
    Ok(socket)
}
