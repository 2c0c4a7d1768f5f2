//! What flows did.

use std::collections::BTreeMap;
use std::slice;

use cclab_testbed::orders::{Flow as Orders, Work};
use cclab_testbed::records::{FlowOutcome, Sample, TcpInfo};
use cclab_trace::Playback;
use cclab_trace::schema::{Carrier, FlowSummary, Frames, Limited};
use cclab_units::Time;

use crate::connection::{Connection, MICROSECOND};
use crate::datagrams::{self, BothWays, Progress, Way};
use crate::error::HarvestError;
use crate::limits::{NothingWaits, Told};
use crate::records::{Run, acked, is_program, payload, sent};
use crate::tally::{FlowTally, RoundTrips, Tally};

/// Counters of windows that were restored (include/uapi/linux/snmp.h).
const UNDOS: [&str; 4] = [
    "TCPFullUndo",
    "TCPPartialUndo",
    "TCPDSACKUndo",
    "TCPLossUndo",
];
/// The counter of tail loss probes.
const PROBES: &str = "TCPLossProbes";

/// What carried a flow's data.
#[derive(Debug, Default)]
pub struct Carried {
    /// What did.
    pub by: Carrier,
    /// Its datagrams, where they were looked for.
    ways: Option<BothWays>,
}

impl Carried {
    fn new(orders: &Orders, flow: &FlowOutcome, ways: Option<BothWays>) -> Carried {
        let by = match (&orders.work, &ways) {
            (Work::Datagrams { .. }, _) => Carrier::Udp,
            (_, None) => Carrier::Tcp,
            (_, Some(ways)) => carrier(flow, ways),
        };
        Carried { by, ways }
    }

    /// How far a flow over UDP had come, sample by sample; `None` of others.
    pub fn progress(&self) -> Option<slice::Iter<'_, Progress>> {
        let ways = self.ways.as_ref().filter(|_| self.by == Carrier::Udp);
        ways.map(|ways| ways.there.progress.iter())
    }
}

/// What carried the data of a program: that which sent most, both ways together. iperf3's two sides
/// agree over TCP and then send datagrams.
fn carrier(flow: &FlowOutcome, ways: &BothWays) -> Carrier {
    let sockets = || flow.sender.iter().chain(&flow.receiver);
    let segments: u64 = sockets().map(sent).sum();
    let both = [&ways.there.sum, &ways.back.sum];
    let bytes: u64 = both.iter().map(|way| way.sent_bytes).sum();
    let count: u64 = both.iter().map(|way| way.sent).sum();
    match (sockets().next(), count) {
        (None, 0) => Carrier::Nothing,
        (Some(_), 0) => Carrier::Tcp,
        (None, _) => Carrier::Udp,
        (Some(_), _) if bytes > segments => Carrier::Udp,
        (Some(_), _) => Carrier::Tcp,
    }
}

/// What carried the data of each flow; where that were datagrams, with their progress at its
/// samples.
///
/// # Errors
/// If the records of datagrams cannot be read or are damaged.
pub fn carried(run: &Run<'_>, samples: &[Sample]) -> Result<Vec<Carried>, HarvestError> {
    let flows = run.outcome.flows.iter().enumerate();
    flows
        .map(|(index, outcome)| {
            let instants = samples.iter().filter_map(|sample| match sample {
                Sample::Flow { at, flow, .. } if *flow as usize == index => {
                    Some(Time::from_nanos(*at))
                }
                _ => None,
            });
            let ways = datagrams::of(run, index, &instants.collect::<Vec<Time>>())?;
            Ok(Carried::new(&run.orders.flows[index], outcome, ways))
        })
        .collect()
}

/// One row per flow.
pub fn summaries(
    run: &Run<'_>,
    samples: &[Sample],
    tally: &Tally,
    carried: Vec<Carried>,
) -> Vec<FlowSummary> {
    let flows = carried.into_iter().enumerate();
    flows
        .map(|(index, carried)| {
            let warm = tally.warm.as_ref().map(|warm| &warm.flows[index]);
            let flow = Flow::new(run, index, samples, &tally.flows[index]);
            match (carried.by, carried.ways) {
                (Carrier::Udp, Some(ways)) => flow.over_udp(ways),
                (Carrier::Nothing, _) => flow.unseen(),
                _ => flow.summary(warm),
            }
        })
        .collect()
}

/// SYNs that a flow sent again.
pub fn syns_again(tally: &FlowTally) -> u64 {
    tally.connections.iter().map(|c| c.syn_retransmits).sum()
}

struct Flow<'a> {
    run: &'a Run<'a>,
    index: usize,
    outcome: &'a FlowOutcome,
    tally: &'a FlowTally,
    samples: Vec<(Time, &'a TcpInfo)>,
}

impl<'a> Flow<'a> {
    fn new(
        run: &'a Run<'a>,
        index: usize,
        samples: &'a [Sample],
        tally: &'a FlowTally,
    ) -> Flow<'a> {
        let own = samples.iter().filter_map(|sample| match sample {
            Sample::Flow {
                at,
                flow,
                sender: Some(info),
                ..
            } if *flow as usize == index => Some((Time::from_nanos(*at), &**info)),
            _ => None,
        });
        Flow {
            run,
            index,
            outcome: &run.outcome.flows[index],
            tally,
            samples: own.collect(),
        }
    }

    fn summary(&self, warm: Option<&RoundTrips>) -> FlowSummary {
        let [whole, warm] = self.round_trips(warm);
        let orders = &self.run.orders.flows[self.index];
        let outcome = self.outcome;
        let started = self.tally.started.or(time(outcome.started));
        let ended = self.ended();
        let end = ended.unwrap_or(self.run.end());
        let label = |name: &str| cclab_testbed::label_of(self.run.scenario, name).to_owned();
        FlowSummary {
            name: orders.name.clone(),
            cc: label(&orders.cc),
            cc_in_force: label(&outcome.cc_in_force),
            started,
            first_byte: match self.arrivals() {
                Some((first, _)) => Some(first),
                None => time(outcome.first_byte),
            },
            last_byte: self.last_byte(),
            ended,
            aborted: outcome.error.is_some(),
            mss: self.main().map_or(0, |info| info.snd_mss),
            bytes_received: self.received(),
            bytes_acked: outcome.sender.iter().map(acked).sum(),
            segments_sent: self.sum(|info| info.data_segs_out.into()),
            retransmits: self.retransmits(),
            rtos: self.sum(|info| info.total_rto.into()),
            fast_recoveries: self.of_connections(|c| c.fast_recoveries),
            undos: self.undos(),
            tail_loss_probes: self
                .counter(&[PROBES])
                .unwrap_or_else(|| self.of_connections(|c| c.probes)),
            ecn_echoes: self.sum(|info| info.delivered_ce.into()),
            limited: self.limited(end - started.unwrap_or(end)),
            rtt_min: self.rtt_min(),
            srtt_mean: whole.srtt_mean(),
            warm_srtt_mean: warm.srtt_mean(),
            cwnd_mean: self.cwnd_mean(started.unwrap_or(end), end),
            rtt: whole.rtt,
            warm_rtt: warm.rtt,
            ..FlowSummary::default()
        }
    }

    /// Of a flow whose data went as datagrams: what TCP alone has is left out.
    fn over_udp(&self, ways: BothWays) -> FlowSummary {
        let BothWays { there, back } = ways;
        let started = [there.started, back.started].into_iter().flatten().min();
        let [frames, warm_frames] = self.frames(&there).unwrap_or_default();
        FlowSummary {
            transport: Carrier::Udp,
            started,
            first_byte: there.sum.first,
            last_byte: there.sum.last,
            bytes_received: there.sum.received_bytes,
            segments_sent: there.sum.sent,
            datagrams: there.sum.into(),
            back: back.sum.into(),
            frames,
            warm_datagrams: there.warm.into(),
            warm_back: back.warm.into(),
            warm_frames,
            ..self.unseen()
        }
    }

    /// What became of the frames of a video, whose datagrams begin with their numbers, and of those
    /// made after the warm-up.
    fn frames(&self, there: &Way) -> Option<[Frames; 2]> {
        let orders = &self.run.orders.flows[self.index];
        let Work::Datagrams { source, .. } = &orders.work else {
            return None;
        };
        let mut playback = Playback::new(*source.video()?, orders.start);
        let sent = there.sum.sent;
        let arrived = there.arrived.iter().filter(|one| one.head < sent);
        arrived.for_each(|one| playback.take(one.at, one.head));
        let lost = there.lost.iter().filter(|&&number| number < sent);
        lost.for_each(|&number| playback.lose(number));
        let warmup = self.run.scenario.warmup;
        Some(playback.finish(sent, self.run.end(), warmup))
    }

    /// Of a program of which nothing was seen.
    fn unseen(&self) -> FlowSummary {
        FlowSummary {
            name: self.run.orders.flows[self.index].name.clone(),
            transport: Carrier::Nothing,
            started: time(self.outcome.started),
            ended: time(self.outcome.ended),
            ..FlowSummary::default()
        }
    }

    /// TCP_INFO of the connection that carried most.
    fn main(&self) -> Option<&TcpInfo> {
        // The first of equals.
        self.outcome
            .sender
            .iter()
            .rev()
            .max_by_key(|info| acked(info))
    }

    fn sum(&self, of: fn(&TcpInfo) -> u64) -> u64 {
        self.outcome.sender.iter().map(of).sum()
    }

    fn of_connections(&self, of: fn(&Connection) -> u64) -> u64 {
        self.tally.connections.iter().map(of).sum()
    }

    /// When the last byte was acknowledged: to the event, where events tell.
    fn ended(&self) -> Option<Time> {
        let seen = time(self.outcome.ended)?;
        let exact = match self.tally.connections.as_slice() {
            [only] if only.data == Some(only.acked) => Some(only.acked_at),
            _ => None,
        };
        Some(exact.unwrap_or(seen))
    }

    /// When the first and the last data of a program arrived, by its acknowledgements: its sockets
    /// are its own. Connections with less than a hundredth of what all carried, such as those by
    /// which iperf3's two sides agree, do not stretch the time.
    fn arrivals(&self) -> Option<(Time, Time)> {
        if !is_program(&self.run.orders.flows[self.index]) {
            return None;
        }
        let all = self.of_connections(|c| c.acked);
        let connections = self.tally.connections.iter();
        let telling = connections.filter(|c| c.acked * 100 >= all);
        let spans: Vec<(Time, Time)> = telling.filter_map(Connection::arrivals).collect();
        let first = spans.iter().map(|(first, _)| *first).min()?;
        let last = spans.iter().map(|(_, last)| *last).max()?;
        Some((first, last))
    }

    /// When the last byte so far arrived; the kernel tells milliseconds since then.
    fn last_byte(&self) -> Option<Time> {
        if let Some((_, last)) = self.arrivals() {
            return Some(last);
        }
        let ages = self.outcome.receiver.iter();
        let ages = ages.filter(|info| info.bytes_received > 0);
        let age = ages
            .map(|info| Time::from_millis(info.last_data_recv.into()))
            .min();
        time(self.outcome.received_all).or_else(|| Some(self.run.end() - age?))
    }

    /// In-order bytes that arrived.
    fn received(&self) -> u64 {
        let receivers = self.outcome.receiver.iter();
        let counted = receivers.map(|info| info.bytes_received).sum();
        let known = self.outcome.sender.iter().map(sent).sum();
        payload(counted, known, self.outcome.receiver.len())
    }

    /// Segments with data sent again. The kernel counts SYN and FIN too.
    fn retransmits(&self) -> u64 {
        if self.sum(|info| info.bytes_retrans) == 0 {
            return 0;
        }
        let bare = self.of_connections(|c| c.syn_retransmits + c.fin_retransmits);
        self.sum(|info| info.total_retrans.into())
            .saturating_sub(bare)
    }

    /// The sum of the sender's host's counters, if the host sends for no other flow.
    fn counter(&self, names: &[&str]) -> Option<u64> {
        let flows = &self.run.orders.flows;
        let host = flows[self.index].sender;
        let alone = flows.iter().filter(|flow| flow.sender == host).count() == 1;
        let counters: &BTreeMap<String, u64> =
            self.run.outcome.counters.get(host).filter(|_| alone)?;
        let counts = names.iter().map(|name| counters.get(*name));
        // A kernel that lacks one of them says nothing of the sum.
        counts.sum::<Option<u64>>()
    }

    fn undos(&self) -> u64 {
        self.counter(&UNDOS)
            .unwrap_or_else(|| self.of_connections(|c| c.undos))
    }

    /// What held the flow back during its life of `life`.
    fn limited(&self, life: Time) -> Limited {
        let told = Told {
            sockets: &self.outcome.sender,
            open: self.tally.connections.iter().map(|c| c.open.time()).sum(),
            paces: cclab_testbed::paces(self.run.scenario, &self.outcome.cc_in_force),
            nothing_waits: nothing_waits(&self.run.orders.flows[self.index].work),
            samples: &self.samples,
        };
        told.limited(life)
    }

    /// The round trips of its whole life, and those after the warm-up if there is one: those of
    /// acknowledgements, or, where no event tells of them, the smoothed ones of the samples.
    fn round_trips(&self, warm: Option<&RoundTrips>) -> [RoundTrips; 2] {
        let mut whole = self.tally.round_trips();
        let mut after = warm.map_or_else(RoundTrips::default, |before| whole.since(before));
        let warmup = self.run.scenario.warmup;
        let sampled = self.samples.iter().filter(|(_, info)| info.rtt > 0);
        let sampled = sampled.map(|(at, info)| (*at, u64::from(info.rtt) * MICROSECOND));
        let [no_rtt, no_srtt] = [whole.rtt.count() == 0, whole.srtt.1 == 0];
        for (at, nanos) in sampled {
            let is_warm = warmup > Time::ZERO && at > warmup;
            let counted = [Some(&mut whole), Some(&mut after).filter(|_| is_warm)];
            for round_trips in counted.into_iter().flatten() {
                if no_rtt {
                    round_trips.rtt.record(nanos);
                }
                if no_srtt {
                    round_trips.srtt.0 += u128::from(nanos);
                    round_trips.srtt.1 += 1;
                }
            }
        }
        [whole, after]
    }

    fn rtt_min(&self) -> Option<Time> {
        let known = self.outcome.sender.iter().map(|info| info.min_rtt);
        let known = known.filter(|&rtt| rtt > 0 && rtt < u32::MAX);
        let exact = known.min().map(|rtt| Time::from_micros(rtt.into()));
        // The kernel forgets what is older than some minutes (tcp_min_rtt_wlen).
        let seen = self.tally.connections.iter().filter_map(|c| c.rtt_min);
        seen.chain(exact).min()
    }

    fn cwnd_mean(&self, start: Time, end: Time) -> f64 {
        let main = self.tally.main().and_then(|c| c.cwnd_mean(start, end));
        main.unwrap_or_else(|| {
            // Each sample stands for the time until the next.
            let nexts = self.samples.iter().skip(1).map(|(at, _)| *at).chain([end]);
            let (mut area, mut span) = (0_u128, 0_u64);
            for ((at, info), next) in self.samples.iter().zip(nexts) {
                let time = (next.min(end) - *at).as_nanos();
                let cwnd = u64::from(info.snd_cwnd) * u64::from(info.snd_mss);
                area += u128::from(cwnd) * u128::from(time);
                span += time;
            }
            if span > 0 {
                area as f64 / span as f64
            } else {
                0.0
            }
        })
    }
}

/// What it means of such an application that nothing waits.
fn nothing_waits(work: &Work) -> NothingWaits {
    match work {
        Work::Bulk {
            writes_per_second: Some(_),
            ..
        } => NothingWaits::Pause,
        // Whether it pauses or its buffer is full depends on the time.
        Work::Bulk { schedule, .. } if !schedule.is_empty() => NothingWaits::Unknown,
        Work::Bulk { transfer: None, .. } => NothingWaits::FullBuffer,
        _ => NothingWaits::Unknown,
    }
}

fn time(nanos: Option<u64>) -> Option<Time> {
    nanos.map(Time::from_nanos)
}
