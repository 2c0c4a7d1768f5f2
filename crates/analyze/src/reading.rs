//! A capture is read and taken apart on one core while its segments are counted on another.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

use cclab_trace::captured::{CaptureFile, Dissector, Skips, TcpSegment};
use cclab_units::Time;

/// Segments that are handed over at once: few enough to stay in a core's cache.
const BATCH: usize = 1024;

/// Batches that wait at most.
const WAITING: usize = 4;

type Batch = Vec<(Time, TcpSegment)>;

/// What was read.
pub(crate) struct Read {
    /// Packets.
    pub packets: u64,
    /// Those that are TCP segments, and whole enough to be counted.
    pub tcp_packets: u64,
    /// What was skipped.
    pub skips: Skips,
}

/// Hands every segment of `file` to `take`, in the order of the file.
pub(crate) fn each_segment(file: CaptureFile, mut take: impl FnMut(&TcpSegment, Time)) -> Read {
    let (full, filled) = sync_channel(WAITING);
    // Batches go back when they are empty, so that their memory is used again.
    let (empty, emptied) = channel();
    thread::scope(|scope| {
        let reader = scope.spawn(move || read(file, &full, &emptied));
        for mut batch in filled {
            for (time, segment) in &batch {
                take(segment, *time);
            }
            batch.clear();
            // The reader may be through.
            let _ = empty.send(batch);
        }
        reader
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn read(mut file: CaptureFile, full: &SyncSender<Batch>, emptied: &Receiver<Batch>) -> Read {
    let mut dissector = Dissector::default();
    let mut read = Read {
        packets: 0,
        tcp_packets: 0,
        skips: Skips::default(),
    };
    let mut batch = Batch::with_capacity(BATCH);
    while let Some(next) = file.next_frame() {
        let frame = match next {
            Ok(frame) => frame,
            Err(skipped) => {
                read.skips.add(skipped);
                continue;
            }
        };
        read.packets += 1;
        match dissector.segment(&frame) {
            Ok(Some(segment)) => {
                read.tcp_packets += 1;
                batch.push((frame.time, segment));
            }
            Ok(None) => {}
            Err(fault) => read.skips.add(fault.into()),
        }
        if batch.len() == BATCH {
            let next = emptied
                .try_recv()
                .unwrap_or_else(|_| Batch::with_capacity(BATCH));
            if full.send(std::mem::replace(&mut batch, next)).is_err() {
                // Nobody takes segments any more: the other side panicked, and will say so.
                return read;
            }
        }
    }
    dissector.finish(&mut read.skips);
    let _ = full.send(batch);
    read
}
