//! Writes a capture of any size to standard output: `bulk CONNECTIONS PACKETS`, for benchmarks.
//!
//! Each connection opens, sends full segments in windows of ten, of which every hundredth segment
//! is lost and sent again, has each second one acknowledged, and closes. Connections take turns.

use std::io::{self, BufWriter, Write};

/// Bytes kept of each packet: the headers.
const KEPT: u32 = 66;
const MSS: u32 = 1448;
const SYN: u8 = 2;
const ACK: u8 = 16;
const FIN: u8 = 1;
/// Segments of a window.
const WINDOW: u64 = 10;

struct Capture<W> {
    out: W,
    /// Microseconds since the beginning.
    now: u64,
    packets: u64,
}

/// A segment of a connection: to the server, or back.
struct Segment {
    connection: u32,
    back: bool,
    flags: u8,
    seq: u32,
    ack: u32,
    payload: u32,
}

impl<W: Write> Capture<W> {
    fn write(&mut self, segment: &Segment) -> io::Result<()> {
        let mut packet = [0; KEPT as usize];
        let (ethernet, ip) = packet.split_at_mut(14);
        ethernet[12] = 8;
        let length = (52 + segment.payload) as u16;
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&length.to_be_bytes());
        (ip[8], ip[9]) = (64, 6);
        let client = (0x0a00_0000 | segment.connection).to_be_bytes();
        let server = 0x0b00_0001_u32.to_be_bytes();
        let port = (1024 + (segment.connection % 60_000) as u16).to_be_bytes();
        let http = 80_u16.to_be_bytes();
        let ends = if segment.back {
            [server, client]
        } else {
            [client, server]
        };
        let ports = if segment.back {
            [http, port]
        } else {
            [port, http]
        };
        ip[12..16].copy_from_slice(&ends[0]);
        ip[16..20].copy_from_slice(&ends[1]);
        let tcp = &mut ip[20..];
        tcp[0..2].copy_from_slice(&ports[0]);
        tcp[2..4].copy_from_slice(&ports[1]);
        tcp[4..8].copy_from_slice(&segment.seq.to_be_bytes());
        tcp[8..12].copy_from_slice(&segment.ack.to_be_bytes());
        tcp[12] = 8 << 4;
        tcp[13] = segment.flags;
        tcp[14..16].copy_from_slice(&60_000_u16.to_be_bytes());
        // Timestamps behind two no-operations.
        tcp[20..24].copy_from_slice(&[1, 1, 8, 10]);
        tcp[24..28].copy_from_slice(&((self.now / 1000) as u32).to_be_bytes());
        for word in [
            (self.now / 1_000_000) as u32,
            (self.now % 1_000_000) as u32,
            KEPT,
            14 + u32::from(length),
        ] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.now += 1;
        self.packets += 1;
        self.out.write_all(&packet)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = || -> Result<u64, Box<dyn std::error::Error>> {
        Ok(arguments
            .next()
            .ok_or("usage: bulk CONNECTIONS PACKETS")?
            .parse()?)
    };
    let (connections, packets) = (number()? as u32, number()?);
    let mut capture = Capture {
        out: BufWriter::with_capacity(1 << 20, io::stdout().lock()),
        now: 0,
        packets: 0,
    };
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1_u32] {
        capture.out.write_all(&word.to_le_bytes())?;
    }
    let segment = |connection, back, flags, seq, ack, payload| Segment {
        connection,
        back,
        flags,
        seq,
        ack,
        payload,
    };
    for n in 0..connections {
        capture.write(&segment(n, false, SYN, 0, 0, 0))?;
        capture.write(&segment(n, true, SYN | ACK, 0, 1, 0))?;
        capture.write(&segment(n, false, ACK, 1, 1, 0))?;
    }
    let mut sent: u64 = 0;
    while capture.packets + 2 * u64::from(connections) < packets {
        for n in 0..connections {
            let at = |index: u64| 1_u32.wrapping_add((index as u32).wrapping_mul(MSS));
            for index in sent..sent + WINDOW {
                capture.write(&segment(n, false, ACK, at(index), 1, MSS))?;
                if index % 2 == 1 {
                    let lost = index % 100 == 99;
                    let acked = at(if lost { index } else { index + 1 });
                    capture.write(&segment(n, true, ACK, 1, acked, 0))?;
                    if lost {
                        capture.write(&segment(n, false, ACK, at(index), 1, MSS))?;
                        capture.write(&segment(n, true, ACK, 1, at(index + 1), 0))?;
                    }
                }
            }
        }
        sent += WINDOW;
    }
    let end = 1_u32.wrapping_add((sent as u32).wrapping_mul(MSS));
    for n in 0..connections {
        capture.write(&segment(n, false, FIN | ACK, end, 1, 0))?;
        capture.write(&segment(n, true, FIN | ACK, 1, end.wrapping_add(1), 0))?;
    }
    capture.out.flush()?;
    Ok(())
}
