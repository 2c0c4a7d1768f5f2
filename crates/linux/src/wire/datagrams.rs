//! The datagrams of flows as their frames leave hosts and reach them, in the records that agents
//! leave where they look themselves.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::Ipv4Addr;
use std::path::Path;

use cclab_testbed::Orders;
use cclab_testbed::records::{Datagram, Seen, datagram_file};

use cclab_trace::captured::{Dissector, Frame, LinkType};
use cclab_units::Time;

use super::frames::{ETHERNET, Place};
use crate::RunError;

/// The files of all flows that are watched.
pub struct Datagrams {
    files: BTreeMap<(u32, bool), Way>,
    /// The first failure to write.
    error: Option<std::io::Error>,
}

/// One direction of one flow.
struct Way {
    ends: (Ipv4Addr, Ipv4Addr),
    sent: BufWriter<File>,
    received: BufWriter<File>,
    /// What puts together those that arrive in fragments.
    pieces: Dissector,
    /// By their identification, those of which the first fragment has arrived.
    begun: HashMap<u16, Datagram>,
}

impl Datagrams {
    /// Files in the folder `raw` for the flows of `orders` that are watched.
    ///
    /// # Errors
    /// If one cannot be made.
    pub fn create(orders: &Orders, raw: &Path) -> Result<Datagrams, RunError> {
        let mut files = BTreeMap::new();
        let flows = (0_u32..).zip(&orders.flows);
        for (index, flow) in flows.filter(|(index, _)| orders.watches(*index as usize)) {
            let (from, to) = (flow.source, flow.destination);
            for (backward, ends) in [(false, (from, to)), (true, (to, from))] {
                let file = |seen| {
                    let path = raw.join(datagram_file(index as usize, backward, seen));
                    let file = File::create(&path).map_err(RunError::io(path))?;
                    Ok::<_, RunError>(BufWriter::with_capacity(1 << 18, file))
                };
                let way = Way {
                    ends,
                    sent: file(Seen::Sent)?,
                    received: file(Seen::Received)?,
                    pieces: Dissector::default(),
                    begun: HashMap::new(),
                };
                files.insert((index, backward), way);
            }
        }
        Ok(Datagrams { files, error: None })
    }

    /// A `frame` of a flow leaves a host or reaches one at `at` of CLOCK_REALTIME.
    pub fn see(&mut self, flow: u32, backward: bool, seen: Seen, at: u64, frame: &[u8]) {
        let Some(way) = self.files.get_mut(&(flow, backward)) else {
            return;
        };
        let packet = &frame[ETHERNET..];
        let datagram = Datagram::read(at, packet, way.ends);
        let (file, datagram) = match seen {
            // One that leaves in fragments has left with the first.
            Seen::Sent => (&mut way.sent, datagram),
            Seen::Received if Place(u16::from_be_bytes([packet[6], packet[7]])).is_fragment() => {
                let whole = way.put_together(at, frame, datagram);
                (&mut way.received, whole)
            }
            Seen::Received => (&mut way.received, datagram),
        };
        let Some(datagram) = datagram else { return };
        if let Err(error) = file.write_all(&datagram.to_bytes()) {
            self.error.get_or_insert(error);
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// If something could not be written.
    pub fn finish(self, raw: &Path) -> Result<(), RunError> {
        let mut error = self.error;
        for mut way in self.files.into_values() {
            let flushed = way.sent.flush().and_then(|()| way.received.flush());
            error = error.or(flushed.err());
        }
        error.map_or(Ok(()), |error| Err(RunError::io(raw)(error)))
    }
}

impl Way {
    /// A fragment arrives in `frame`, with which the datagram `first` begins if it is its first one:
    /// the datagram, if no other is missing.
    fn put_together(&mut self, at: u64, frame: &[u8], first: Option<Datagram>) -> Option<Datagram> {
        let id = u16::from_be_bytes([frame[ETHERNET + 4], frame[ETHERNET + 5]]);
        if let Some(first) = first {
            self.begun.insert(id, first);
        }
        let piece = Frame {
            time: Time::from_nanos(at),
            link: LinkType::ETHERNET,
            wire_len: frame.len() as u32,
            data: frame,
        };
        match self.pieces.carried(&piece) {
            Ok(Some(_)) => {
                let whole = self.begun.remove(&id)?;
                Some(Datagram { at, ..whole })
            }
            // Others are missing, or it contradicts one that is there.
            Ok(None) | Err(_) => None,
        }
    }
}
