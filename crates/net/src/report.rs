//! What a network was: the state of its queues, and what its links did.

use cclab_trace::Histogram;
use cclab_trace::schema::{BandSummary, LinkSummary, QueueSample};
use cclab_units::Time;

use crate::link::Link;
use crate::network::Network;

/// Packets appeared or vanished: a fault of the network, never of what it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotConserved {
    /// The link's name.
    pub link: String,
    /// Packets offered to it.
    pub offered: u64,
    /// Packets delivered, lost or still there.
    pub accounted: u64,
}

impl Network {
    /// The state of the link `index` now.
    pub fn queue_sample(&self, index: usize) -> QueueSample {
        let link = &self.links[index];
        let now = self.now;
        let backlog = link.backlog(now);
        QueueSample {
            link: index as u32,
            backlog: backlog.bytes,
            backlog_packets: backlog.packets,
            tx_bytes: link.tx_bytes(now),
            drops: link.aside.incidents.queue_drops,
            marks: link.marks(),
            capacity: link.capacity(now),
        }
    }

    /// How long packets have waited for the link `index` so far.
    pub fn sojourn(&self, index: usize) -> Histogram {
        self.links[index].sojourn(self.now)
    }

    /// What the named queues of the link `index` have counted so far.
    pub fn bands(&self, index: usize) -> Vec<BandSummary> {
        let link = &self.links[index];
        let kept = link.fittings.as_ref().map_or(&[][..], |of| &of.bands);
        let kept = kept.iter().map(|(name, sojourn)| (*name, sojourn.clone()));
        band_summaries(link, kept)
    }

    /// Ends a run now: the links' rows. The counters of links that run ahead then tell what has
    /// happened by now. Packets may go on, and are counted no more.
    ///
    /// # Errors
    /// When a packet that was offered to a link or born there was not delivered, is not lost, and
    /// is not there.
    pub fn finish(&mut self) -> Result<Vec<LinkSummary>, NotConserved> {
        let busy_until: Vec<Time> = self.links.iter().map(|link| link.busy_until).collect();
        self.settle();
        for (index, link) in self.links.iter().enumerate() {
            check_conservation(link, self.names.of(index))?;
        }
        let now = self.now;
        let links = self.links.iter_mut().zip(busy_until).enumerate();
        let rows = links.map(|(index, (link, busy_until))| {
            let row = link_summary(link, self.names.of(index), now);
            link.busy_until = busy_until;
            row
        });
        Ok(rows.collect())
    }

    fn settle(&mut self) {
        let mut on_wires = self.wires.remaining();
        // Those of one link stay in the order of their arrival.
        on_wires.sort_by_key(|arrival| arrival.link);
        let mut rest = on_wires.iter().peekable();
        for index in 0..self.links.len() {
            let link = &mut self.links[index];
            link.finish(self.now);
            let own = std::iter::from_fn(|| rest.next_if(|one| one.link as usize == index));
            let taken_back = link.finish_wire(own, self.now);
            if let Some(feeder) = link.aside.fed_by {
                self.links[feeder as usize].not_yet_there(taken_back);
            }
        }
    }
}

fn check_conservation(link: &Link, name: &str) -> Result<(), NotConserved> {
    let counters = &link.counters;
    let accounted = counters.delivered + link.aside.incidents.drops() + link.in_flight();
    if counters.offered + link.aside.incidents.duplicates == accounted {
        return Ok(());
    }
    Err(NotConserved {
        link: name.to_owned(),
        offered: counters.offered,
        accounted,
    })
}

fn link_summary(link: &mut Link, name: &str, now: Time) -> LinkSummary {
    let kept = link
        .fittings
        .as_mut()
        .map(|of| std::mem::take(&mut of.bands));
    let bands = band_summaries(link, kept.unwrap_or_default());
    let sojourn = link.fittings.as_mut().and_then(|of| of.sojourn.take());
    let counters = &link.counters;
    let incidents = &link.aside.incidents;
    LinkSummary {
        rate: link.aside.rate,
        offered: counters.offered,
        duplicates: incidents.duplicates,
        queue_drops: incidents.queue_drops,
        random_drops: incidents.random_drops,
        listed_drops: incidents.listed_drops,
        outage_drops: incidents.outage_drops,
        corrupt_drops: incidents.corrupt_drops,
        marks: link.marks(),
        delivered: counters.delivered,
        tx_bytes: link.tx_bytes(now),
        in_flight: link.in_flight(),
        backlog_max: link.aside.backlog_max,
        sojourn: sojourn.map(|sojourn| *sojourn).unwrap_or_default(),
        bands,
        name: name.to_owned(),
        ..LinkSummary::default()
    }
}

/// The rows of the named queues of `link`, with the names and sojourn times that were `kept`.
fn band_summaries(
    link: &Link,
    kept: impl IntoIterator<Item = (&'static str, Histogram)>,
) -> Vec<BandSummary> {
    let counted = link.bands().iter().zip(kept);
    let rows = counted.map(|(band, (name, sojourn))| BandSummary {
        name: name.to_owned(),
        packets: band.packets,
        drops: band.drops,
        marks: band.marks,
        sojourn,
        ..BandSummary::default()
    });
    rows.collect()
}
