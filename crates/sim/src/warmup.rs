//! The end of the warm-up: what had been counted by then is taken off what is counted in all, so
//! that a run without a warm-up, and each packet of one with it, pays nothing.

use cclab_net::Network;
use cclab_trace::Histogram;
use cclab_trace::schema::{BandSummary, LinkSummary};

use crate::flow::Flow;

/// What flows and bottlenecks had counted when the warm-up ended.
#[derive(Debug)]
pub struct Counted {
    /// One per flow.
    pub flows: Vec<RoundTrips>,
    /// Of the bottlenecks.
    pub queues: CountedQueues,
}

/// What the queues of a network's first links, which are the bottlenecks, had counted when the
/// warm-up ended.
#[derive(Debug)]
pub struct CountedQueues {
    sojourns: Vec<Histogram>,
    /// Of named queues.
    bands: Vec<Vec<BandSummary>>,
}

/// The round trips that a flow had counted: none over UDP.
#[derive(Debug, Default)]
pub struct RoundTrips {
    /// RTT samples.
    pub rtt: Histogram,
    /// Sum and count of srtt over acknowledgements.
    pub srtt: (u128, u64),
}

impl Counted {
    /// What is counted now, of `flows` and of the first `links` links of `net`.
    pub fn by_now(flows: &[Flow], net: &Network, links: usize) -> Counted {
        let round_trips = |flow: &Flow| match flow {
            Flow::Tcp(flow) => RoundTrips {
                rtt: flow.rtt.clone(),
                srtt: (flow.srtt_sum, flow.srtt_count),
            },
            Flow::Udp(_) => RoundTrips::default(),
        };
        Counted {
            flows: flows.iter().map(round_trips).collect(),
            queues: CountedQueues::by_now(net, links),
        }
    }
}

impl CountedQueues {
    /// What is counted now of the first `links` links of `net`.
    pub fn by_now(net: &Network, links: usize) -> CountedQueues {
        CountedQueues {
            sojourns: (0..links).map(|index| net.sojourn(index)).collect(),
            bands: (0..links).map(|index| net.bands(index)).collect(),
        }
    }

    /// Adds to the rows of links what they counted since.
    pub fn complete(&self, links: &mut [LinkSummary]) {
        for (row, before) in links.iter_mut().zip(&self.sojourns) {
            row.warm_sojourn = row.sojourn.since(before);
        }
        for (row, before) in links.iter_mut().zip(&self.bands) {
            for (band, before) in row.bands.iter_mut().zip(before) {
                band.warm_since(before);
            }
        }
    }
}
