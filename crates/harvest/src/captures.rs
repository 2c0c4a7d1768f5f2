//! Captured packets.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};

use cclab_testbed::orders::{Capture, Flow};
use cclab_testbed::records::FRAME_HEADER;
use cclab_trace::{Probe, Recorder};

use crate::error::HarvestError;
use crate::records::{Run, capture_path};

/// The largest packet of IPv4, with room to spare.
const MAX_PACKET: usize = 1 << 18;

/// Hands the packets of every capture point to `recorder`, whose points are those of the
/// scenario.
///
/// # Errors
/// If a file cannot be read or is damaged.
pub fn record(run: &Run<'_>, recorder: &mut Recorder) -> Result<(), HarvestError> {
    let points = &run.scenario.trace.capture;
    for (index, capture) in run.orders.captures.iter().enumerate() {
        if let Some(point) = points.iter().position(|point| *point == capture.point) {
            record_point(run, index, capture, point, recorder)?;
        }
    }
    Ok(())
}

fn record_point(
    run: &Run<'_>,
    index: usize,
    capture: &Capture,
    point: usize,
    recorder: &mut Recorder,
) -> Result<(), HarvestError> {
    let path = capture_path(run.raw, index);
    let file = File::open(&path).map_err(|e| HarvestError::io(&path, e))?;
    let mut file = BufReader::with_capacity(1 << 18, file);
    let flow = capture
        .flow
        .and_then(|flow| run.orders.flows.get(flow as usize));
    let mut data = Vec::new();
    let fault = |e: std::io::Error| match e.kind() {
        ErrorKind::UnexpectedEof => HarvestError::damaged(&path, "it ends inside a packet"),
        _ => HarvestError::io(&path, e),
    };
    while !at_end(&mut file).map_err(fault)? {
        let mut header = [0; FRAME_HEADER];
        file.read_exact(&mut header).map_err(fault)?;
        let [clock @ .., _, _, _, _, _, _, _, _] = header;
        let clock = u64::from_le_bytes(clock);
        let word = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (len, kept) = (word(8), word(12) as usize);
        if kept > MAX_PACKET || kept > len as usize {
            let reason = format!("{kept} bytes kept of a packet of {len}");
            return Err(HarvestError::damaged(&path, reason));
        }
        data.resize(kept, 0);
        file.read_exact(&mut data).map_err(fault)?;
        let wanted = flow.is_none_or(|flow| belongs(&data, flow));
        if let Some(now) = run.at_realtime(clock).filter(|_| wanted)
            && recorder.wants_packets(now)
        {
            recorder.frame(point, now, len, &data);
        }
    }
    Ok(())
}

/// Whether nothing more can be read.
fn at_end(file: &mut impl BufRead) -> std::io::Result<bool> {
    loop {
        match file.fill_buf() {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            bytes => return bytes.map(<[u8]>::is_empty),
        }
    }
}

/// Whether an IPv4 packet runs between the two addresses of `flow`.
fn belongs(packet: &[u8], flow: &Flow) -> bool {
    let address = |at: usize| -> Option<[u8; 4]> { packet.get(at..at + 4)?.try_into().ok() };
    let version = packet.first().map(|byte| byte >> 4);
    // RFC 791, section 3.1.
    let ends = (address(12), address(16));
    let (source, destination) = (flow.source.octets(), flow.destination.octets());
    version == Some(4)
        && (ends == (Some(source), Some(destination)) || ends == (Some(destination), Some(source)))
}
