//! A capture is read and taken apart on one core while what is in it is counted on another.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use cclab_trace::captured::{
    CaptureFile, Carried, Dissector, Fault, Frame, PlainSegment, Protocol, Skips,
};
use cclab_units::Time;

use crate::batch::Batch;

/// Batches that wait at most.
const WAITING: usize = 4;

/// How long nothing comes before `take` is asked whether to go on.
const PATIENCE: Duration = Duration::from_millis(100);

/// What was read.
#[derive(Default)]
pub(crate) struct Read {
    /// Packets.
    pub packets: u64,
    /// When the first of them was seen, and the latest time that one was.
    pub span: Option<(Time, Time)>,
    /// Those that are TCP segments, and whole enough to be counted.
    pub tcp_packets: u64,
    /// Those that are UDP datagrams, and whole enough to be counted.
    pub udp_packets: u64,
    /// Those that are something else.
    pub others: BTreeMap<Protocol, u64>,
    /// What was skipped.
    pub skips: Skips,
}

/// Hands what `file` holds to `take`, batch by batch in the order of the file, and None after each and while
/// none comes: `take` then tells whether to go on.
pub(crate) fn each_batch(file: CaptureFile, mut take: impl FnMut(Option<&Batch>) -> bool) -> Read {
    let (full, filled) = sync_channel(WAITING);
    // Batches go back when they are empty, so that their memory is used again.
    let (empty, emptied) = channel();
    let reader = thread::spawn(move || read(file, &full, &emptied));
    loop {
        match filled.recv_timeout(PATIENCE) {
            Ok(mut batch) => {
                take(Some(&batch));
                batch.clear();
                // The reader may be through.
                let _ = empty.send(batch);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if !take(None) {
            // The reader ends when it next has something to hand over; nobody waits for that.
            return Read::default();
        }
    }
    reader
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn read(mut file: CaptureFile, full: &SyncSender<Batch>, emptied: &Receiver<Batch>) -> Read {
    let mut dissector = Dissector::default();
    let mut read = Read::default();
    let mut batch = Batch::new();
    while let Some(next) = file.next_frame() {
        let frame = match next {
            Ok(frame) => frame,
            Err(skipped) => {
                read.skips.add(skipped);
                continue;
            }
        };
        read.packets += 1;
        let (began, latest) = read.span.get_or_insert((frame.time, frame.time));
        *latest = frame.time.max(*latest);
        batch.began = *began;
        if let Some(segment) = PlainSegment::of(&frame) {
            read.tcp_packets += 1;
            batch.push_plain(frame.time, segment);
        } else {
            read.look_into(&frame, &mut dissector, &mut batch);
        }
        if batch.is_full() {
            let next = emptied.try_recv().unwrap_or_else(|_| Batch::new());
            if full.send(std::mem::replace(&mut batch, next)).is_err() {
                // Nobody takes packets any more.
                return read;
            }
        }
    }
    dissector.finish(&mut read.skips);
    let _ = full.send(batch);
    read
}

impl Read {
    /// Takes what `frame` carries, which is no plain segment, into `batch`.
    #[inline(never)]
    fn look_into(&mut self, frame: &Frame<'_>, dissector: &mut Dissector, batch: &mut Batch) {
        // Looked at where it lies: to move it is to wait until all of it is written.
        match &dissector.carried(frame) {
            Ok(Some(carried)) => {
                match carried {
                    Carried::Tcp(segment) => {
                        self.tcp_packets += 1;
                        if segment.options_cut {
                            self.skips.add(Fault::OptionsCut.into());
                        }
                    }
                    Carried::Udp(_) => self.udp_packets += 1,
                    Carried::Other(protocol) => {
                        *self.others.entry(*protocol).or_default() += 1;
                        return;
                    }
                }
                batch.push(frame.time, carried);
            }
            Ok(None) => {}
            Err(fault) => self.skips.add((*fault).into()),
        }
    }
}
