//! The datagrams of flows as their frames leave hosts and reach them, in the records that agents
//! leave where they look themselves.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::Ipv4Addr;
use std::path::Path;

use cclab_testbed::Orders;
use cclab_testbed::records::{Datagram, Seen, datagram_file};

use super::frames::ETHERNET;
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
        let Some(datagram) = Datagram::read(at, &frame[ETHERNET..], way.ends) else {
            return;
        };
        let file = match seen {
            Seen::Sent => &mut way.sent,
            Seen::Received => &mut way.received,
        };
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
