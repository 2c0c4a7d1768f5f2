//! Connections and conversations beside each other: shares of the rate, overlap, and the time of congestion.
//!
//! What flows get while the link is congested is their share of it, and what they get before and
//! after is not: the study of 1999 that `studies/rtt-bias-1999` repeats cut that phase out by
//! hand.

use cclab_units::Time;
use serde::Serialize;

use crate::connection::Connection;
use crate::conversation::Conversation;
use crate::kept::Held;
use crate::timeline::Timeline;

/// Flows with less data than this share of the largest are left out: beside bulk transfers,
/// short ones would make any allocation look unfair.
pub const LEAST_SHARE: f64 = 0.01;

/// Bins of the grid at most.
const MOST_BINS: u64 = 1 << 12;

/// Flows that are told one by one.
const MOST_FLOWS: usize = 1000;

/// The link counts as full where the flows together carry this share of what they carry in their
/// best twentieth of the time.
const FULL: f64 = 0.9;
const BEST: f64 = 0.95;

/// Throughput is smoothed over this share of the time that flows overlap, which is longer than
/// a dip after a loss where there are many losses.
const SMOOTHED: f64 = 0.05;

/// The flows of a capture beside each other. Of each connection, and of each conversation over
/// UDP, the direction with more data counts, if it has a hundredth of the data of the largest.
#[derive(Clone, Debug, Serialize)]
pub struct Together {
    /// How many flows there are.
    pub flows: usize,
    /// Connections and conversations with data that are too small to count.
    pub left_out: usize,
    /// From the first data to the last.
    pub whole: Option<Interval>,
    /// While all flows last.
    pub overlap: Option<Interval>,
    /// The longest time in which two flows or more last, the link is full and data are lost.
    pub congested: Option<Interval>,
    /// The interval asked for, as far as the capture lasts.
    pub asked: Option<Interval>,
}

/// What flows got in an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Its beginning, since the capture's first packet. Borders other than those asked for lie
    /// on a grid of 2^n ns.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// Payload of all flows, each byte of a connection counted once, in bits over the interval's
    /// length.
    pub throughput_bps: f64,
    /// Jain's index of the throughputs of the flows that last in it: (sum x)^2 / (n sum x^2).
    pub jain: Option<f64>,
    /// Segments sent again or out of order; null where no connection is a flow: UDP does not tell.
    pub again_or_late_packets: Option<u64>,
    /// Each flow that lasts in it, connections in their order, then conversations; the first
    /// thousand.
    pub flows: Vec<Share>,
}

/// What a flow got.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Number of its connection; null over UDP.
    pub connection: Option<u32>,
    /// Number of its conversation; null over TCP.
    pub conversation: Option<u32>,
    /// Who sent it: 0 the end that sent the first packet, 1 the other.
    pub sender: u32,
    /// Payload, each byte of a connection counted once.
    pub bytes: u64,
    /// In bits over the interval's length.
    pub throughput_bps: f64,
    /// Share of what all flows got.
    pub share: Option<f64>,
}

/// Which flow.
#[derive(Clone, Copy)]
enum Of {
    Connection(u32),
    Conversation(u32),
}

/// What may be a flow.
struct Candidate<'a> {
    of: Of,
    sender: usize,
    bytes: u64,
    carried: &'a Timeline,
    /// Segments sent again or out of order, all over time and in the interval asked for; None over
    /// UDP.
    lost: Option<(&'a Timeline, u64)>,
    /// Bytes in the interval asked for.
    asked: u64,
}

impl Candidate<'_> {
    /// The direction of a connection that has more data, if any has.
    fn tcp(held: &Held<Connection>) -> Option<Candidate<'_>> {
        let [a, b] = held.of.sending.each_ref().map(|s| s.unique_bytes);
        let sender = usize::from(b > a);
        let sending = &held.of.sending[sender];
        (a.max(b) > 0).then_some(Candidate {
            of: Of::Connection(held.number),
            sender,
            bytes: sending.unique_bytes,
            carried: &sending.carried,
            lost: Some((&sending.lost, sending.interval_lost)),
            asked: sending.interval_bytes,
        })
    }

    /// That of a conversation.
    fn udp(held: &Held<Conversation>) -> Option<Candidate<'_>> {
        let [a, b] = held.of.sending.each_ref().map(|s| s.bytes);
        let sender = usize::from(b > a);
        let sending = &held.of.sending[sender];
        (a.max(b) > 0).then_some(Candidate {
            of: Of::Conversation(held.number),
            sender,
            bytes: sending.bytes,
            carried: &sending.carried,
            lost: None,
            asked: sending.interval_bytes,
        })
    }
}

/// A flow on the common grid.
struct Flow {
    of: Of,
    sender: u32,
    /// Numbers of its first bin and of the one after its last.
    lasts: (u64, u64),
    bytes: Vec<(u64, u64)>,
    /// None over UDP.
    lost: Option<Vec<(u64, u64)>>,
    asked: u64,
    asked_lost: u64,
}

impl Together {
    /// Of `connections` and `conversations` in a capture that `lasted` so long; `asked` is an
    /// interval since its beginning.
    pub(crate) fn new(
        connections: &[Box<Held<Connection>>],
        conversations: &[Box<Held<Conversation>>],
        lasted: Time,
        asked: Option<(Time, Time)>,
    ) -> Together {
        let over_tcp = connections.iter().filter_map(|held| Candidate::tcp(held));
        let over_udp = conversations.iter().filter_map(|held| Candidate::udp(held));
        let candidates: Vec<_> = over_tcp.chain(over_udp).collect();
        let most = candidates.iter().map(|flow| flow.bytes).max();
        let least = LEAST_SHARE * most.unwrap_or(0) as f64;
        let chosen = candidates.iter().filter(|flow| flow.bytes as f64 >= least);
        let chosen: Vec<_> = chosen.collect();
        let timelines = chosen
            .iter()
            .flat_map(|flow| [Some(flow.carried), flow.lost.map(|(all, _)| all)])
            .flatten();
        let mut shift = timelines.map(Timeline::shift).max().unwrap_or(0);
        let span = chosen.iter().fold((u64::MAX, 0), |(from, to), flow| {
            let (first, last) = flow.carried.span();
            (from.min(first), to.max(last))
        });
        while span.1.saturating_sub(span.0) >> shift >= MOST_BINS {
            shift += 1;
        }
        let flows = chosen.iter().map(|flow| {
            let bytes: Vec<_> = flow.carried.bins(shift).collect();
            let first = bytes.first().map_or(0, |(bin, _)| *bin);
            let last = bytes.last().map_or(0, |(bin, _)| bin + 1);
            Flow {
                of: flow.of,
                sender: flow.sender as u32,
                lasts: (first, last),
                bytes,
                lost: flow.lost.map(|(all, _)| all.bins(shift).collect()),
                asked: flow.asked,
                asked_lost: flow.lost.map_or(0, |(_, asked)| asked),
            }
        });
        let flows: Vec<_> = flows.collect();
        let grid = Grid {
            shift,
            lasted,
            flows,
        };
        Together {
            flows: grid.flows.len(),
            left_out: candidates.len() - grid.flows.len(),
            whole: grid.whole().map(|(from, to)| grid.interval(from, to)),
            overlap: grid.overlap().map(|(from, to)| grid.interval(from, to)),
            congested: grid.congested().map(|(from, to)| grid.interval(from, to)),
            asked: asked
                .filter(|&(from, _)| from < lasted)
                .map(|(from, to)| grid.asked(from, to.min(lasted))),
        }
    }
}

/// Flows over time, in bins of 2^shift ns.
struct Grid {
    shift: u32,
    /// How long the capture lasted.
    lasted: Time,
    flows: Vec<Flow>,
}

impl Grid {
    fn whole(&self) -> Option<(u64, u64)> {
        let from = self.flows.iter().map(|flow| flow.lasts.0).min()?;
        let to = self.flows.iter().map(|flow| flow.lasts.1).max()?;
        Some((from, to))
    }

    /// While all flows last, if there are two.
    fn overlap(&self) -> Option<(u64, u64)> {
        let from = self.flows.iter().map(|flow| flow.lasts.0).max()?;
        let to = self.flows.iter().map(|flow| flow.lasts.1).min()?;
        (self.flows.len() > 1 && from < to).then_some((from, to))
    }

    /// The longest run of bins in which two flows last and the link is full, if data are lost
    /// in it.
    fn congested(&self) -> Option<(u64, u64)> {
        let (from, to) = self.whole()?;
        let length = (to - from) as usize;
        let mut carried = vec![0; length];
        let mut lost = vec![0; length];
        // How many flows begin less how many end with each bin.
        let mut changes = vec![0_i64; length + 1];
        for flow in &self.flows {
            for &(bin, bytes) in &flow.bytes {
                carried[(bin - from) as usize] += bytes;
            }
            for &(bin, packets) in flow.lost.iter().flatten() {
                if let Some(sum) = lost.get_mut(bin.saturating_sub(from) as usize) {
                    *sum += packets;
                }
            }
            changes[(flow.lasts.0 - from) as usize] += 1;
            changes[(flow.lasts.1 - from) as usize] -= 1;
        }
        let mut lasting = 0;
        let shared: Vec<bool> = changes[..length]
            .iter()
            .map(|change| {
                lasting += change;
                lasting >= 2
            })
            .collect();
        let shared_bins = shared.iter().filter(|shared| **shared).count();
        let smooth = ((shared_bins as f64 * SMOOTHED) as usize).max(1);
        let level = smoothed(&carried, smooth);
        let mut best = level.clone();
        best.sort_unstable_by(f64::total_cmp);
        let best = *best.get((length as f64 * BEST) as usize)?;
        let full = |bin: usize| shared[bin] && level[bin] >= FULL * best;
        let runs = (0..length).collect::<Vec<_>>();
        let longest = runs
            .chunk_by(|&a, &b| full(a) && full(b))
            .filter(|run| full(run[0]))
            .filter(|run| run.iter().any(|&bin| lost[bin] > 0))
            .max_by_key(|run| run.len())?;
        Some((
            from + longest[0] as u64,
            from + (longest[0] + longest.len()) as u64,
        ))
    }

    fn interval(&self, from: u64, to: u64) -> Interval {
        let within = |bins: &[(u64, u64)]| -> u64 {
            let within = bins.iter().filter(|(bin, _)| (from..to).contains(bin));
            within.map(|(_, sum)| sum).sum()
        };
        // The last bin may end after the capture; one that it ends in has some length.
        let end = self
            .lasted
            .max(Time::from_nanos(from.saturating_mul(1 << self.shift) + 1));
        let border = |bin: u64| Time::from_nanos(bin.saturating_mul(1 << self.shift)).min(end);
        self.shared(
            border(from),
            border(to),
            |flow| within(&flow.bytes),
            |flow| flow.lost.as_deref().map_or(0, within),
        )
    }

    fn asked(&self, from: Time, to: Time) -> Interval {
        self.shared(from, to, |flow| flow.asked, |flow| flow.asked_lost)
    }

    fn shared(
        &self,
        from: Time,
        to: Time,
        bytes: impl Fn(&Flow) -> u64,
        lost: impl Fn(&Flow) -> u64,
    ) -> Interval {
        // The difference of seconds would be 0 for an interval of nanoseconds after years.
        let lasted = (to - from).as_secs_f64();
        let of = |bytes: u64| bytes as f64 * 8.0 / lasted;
        // Those that carried something, and those that got nothing between what they got before
        // and afterwards.
        let (first, last) = (from.as_nanos() >> self.shift, to.as_nanos() >> self.shift);
        let lasts = |flow: &Flow| flow.lasts.0 <= first && last < flow.lasts.1;
        let all: Vec<(&Flow, u64)> = self
            .flows
            .iter()
            .map(|flow| (flow, bytes(flow)))
            .filter(|&(flow, bytes)| bytes > 0 || lasts(flow))
            .collect();
        let sum: u64 = all.iter().map(|(_, bytes)| bytes).sum();
        let squares: f64 = all.iter().map(|&(_, bytes)| (bytes as f64).powi(2)).sum();
        let shares = all.iter().take(MOST_FLOWS);
        let tcp = self.flows.iter().any(|flow| flow.lost.is_some());
        Interval {
            from_s: from.as_secs_f64(),
            to_s: to.as_secs_f64(),
            throughput_bps: of(sum),
            jain: (sum > 0).then(|| (sum as f64).powi(2) / (all.len() as f64 * squares)),
            again_or_late_packets: tcp.then(|| self.flows.iter().map(lost).sum()),
            flows: shares
                .map(|&(flow, bytes)| Share {
                    connection: match flow.of {
                        Of::Connection(number) => Some(number),
                        Of::Conversation(_) => None,
                    },
                    conversation: match flow.of {
                        Of::Conversation(number) => Some(number),
                        Of::Connection(_) => None,
                    },
                    sender: flow.sender,
                    bytes,
                    throughput_bps: of(bytes),
                    share: (sum > 0).then(|| bytes as f64 / sum as f64),
                })
                .collect(),
        }
    }
}

/// The mean over the `width` values around each.
fn smoothed(values: &[u64], width: usize) -> Vec<f64> {
    let mut sums = vec![0_u64];
    for value in values {
        sums.push(sums[sums.len() - 1] + value);
    }
    (0..values.len())
        .map(|at| {
            let from = at.saturating_sub(width / 2);
            let to = (from + width).min(values.len());
            (sums[to] - sums[from]) as f64 / (to - from) as f64
        })
        .collect()
}
