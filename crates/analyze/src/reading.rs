//! A capture is read and taken apart: by whoever counts and has time, or on a core of its own while what is in it
//! is counted on another.

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

/// How long nothing comes before whoever waits for it asks whether to go on.
pub const PATIENCE: Duration = Duration::from_millis(100);

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

/// A capture, and what was read of it.
pub(crate) struct Source {
    file: CaptureFile,
    dissector: Dissector,
    read: Read,
    /// Packets that were handed out.
    handed: u64,
}

impl Source {
    /// The capture in `file`, of which nothing was read.
    pub fn new(file: CaptureFile) -> Source {
        Source {
            file,
            dissector: Dissector::default(),
            read: Read::default(),
            handed: 0,
        }
    }

    /// Fills `batch`, which is empty; false if the capture ends in it.
    pub fn fill(&mut self, batch: &mut Batch) -> bool {
        batch.first = self.handed;
        let more = self.read_into(batch);
        batch.began = self.read.span.unwrap_or_default().0;
        self.handed += batch.len() as u64;
        more
    }

    fn read_into(&mut self, batch: &mut Batch) -> bool {
        while !batch.is_full() {
            let (read, dissector) = (&mut self.read, &mut self.dissector);
            if let Some(frame) = self.file.ordinary_frame() {
                read.take(&frame, dissector, batch);
                continue;
            }
            match self.file.next_frame() {
                Some(Ok(frame)) => read.take_another(&frame, dissector, batch),
                Some(Err(skipped)) => read.skips.add(skipped),
                None => return false,
            }
        }
        true
    }

    /// What was read, to its end.
    pub fn finish(mut self) -> Read {
        self.dissector.finish(&mut self.read.skips);
        self.read
    }
}

/// Hands what `source` holds to `take`, batch by batch in the order of the file, and None after each and while
/// none comes: `take` then tells whether to go on.
pub(crate) fn each_batch(source: Source, mut take: impl FnMut(Option<&Batch>) -> bool) -> Read {
    let (full, filled) = sync_channel(WAITING);
    // Batches go back when they are empty, so that their memory is used again.
    let (empty, emptied) = channel();
    let reader = thread::spawn(move || read(source, &full, &emptied));
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

fn read(mut source: Source, full: &SyncSender<Batch>, emptied: &Receiver<Batch>) -> Read {
    let mut more = true;
    while more {
        let mut batch = emptied.try_recv().unwrap_or_else(|_| Batch::new(1));
        more = source.fill(&mut batch);
        if full.send(batch).is_err() {
            // Nobody takes packets any more.
            break;
        }
    }
    source.finish()
}

impl Read {
    /// Takes what `frame` carries into `batch`.
    #[inline(always)]
    fn take(&mut self, frame: &Frame<'_>, dissector: &mut Dissector, batch: &mut Batch) {
        self.packets += 1;
        let (_, latest) = self.span.get_or_insert((frame.time, frame.time));
        *latest = frame.time.max(*latest);
        match PlainSegment::of(frame) {
            Some(segment) => {
                self.tcp_packets += 1;
                batch.push_plain(frame.time, segment);
            }
            None => self.look_into(&Frame { ..*frame }, dissector, batch),
        }
    }

    /// The same, of a frame that is not as nearly all are.
    #[inline(never)]
    fn take_another(&mut self, frame: &Frame<'_>, dissector: &mut Dissector, batch: &mut Batch) {
        self.take(frame, dissector, batch);
    }

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
